//! The directory of block devices, `/sys/block` or that of `iostat -f`. It has an entry for each whole device, which
//! contains the entries of its partitions.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::read_dir;
use std::io;
use std::path::{Path, PathBuf};

use crate::counters::{Device, parse_device_number};
use crate::source::small_file::read_line;
use crate::topology::{Kind, Node, Topology, possible_disks};

/// Returns the directory of a device below `block`, or of a partition below its disk. A name in sysfs cannot contain
/// a slash; the kernel replaces it by `!`.
pub(in crate::source) fn device_dir(block: &Path, name: &str) -> PathBuf {
    let entry = if name.contains('/') { Cow::Owned(name.replace('/', "!")) } else { Cow::Borrowed(name) };
    block.join(&*entry)
}

/// Returns the name in /proc/diskstats of the device of a sysfs entry.
pub(in crate::source) fn device_name(entry: &str) -> String {
    entry.replace('!', "/")
}

/// Reads the device number (major, minor) in the directory of a device; `None` if there is none.
pub(in crate::source) fn read_devno(dir: &Path) -> Option<(u32, u32)> {
    parse_device_number(&read_line(&dir.join("dev"))?)
}

/// Lists the device names of the entries in a directory, in the order in which the kernel lists them.
///
/// # Errors
/// If the directory cannot be read.
pub fn list_devices(dir: &Path) -> io::Result<Vec<String>> {
    let entries = read_dir(dir)?.flatten();
    Ok(entries.filter_map(|entry| Some(device_name(entry.file_name().to_str()?))).collect())
}

/// Checks that a directory of block devices can be listed.
///
/// # Errors
/// If it does not exist or cannot be read.
pub fn check_block_dir(dir: &Path) -> io::Result<()> {
    read_dir(dir).map(drop)
}

/// Reads which devices are whole and which are partitions. It only lists `sys/block` and looks up each partition, so it
/// is cheap even with hundreds of devices, for reports that need nothing else.
///
/// The entries of `sys/block` are whole devices, in the order listed. Any other of `devices` is a partition of the disk
/// whose directory contains it, or of an unknown disk. Without `sys/block`, partitions are inferred from the names.
pub fn read_partitions(sys: &Path, devices: &[Device]) -> Topology {
    let block = sys.join("block");
    let Ok(listed) = list_devices(&block) else { return partitions_from_names(devices) };
    let disks: HashSet<&str> = listed.iter().map(String::as_str).collect();
    let others = devices.iter().filter(|device| !disks.contains(device.name.as_str()));
    let partitions: Vec<Node> = others
        .map(|device| Node {
            name: device.name.clone(),
            kind: Kind::Partition,
            backing_devices: find_disk(&block, &listed, &disks, &device.name).into_iter().collect(),
            ..Node::default()
        })
        .collect();
    let whole = |name: String| Node { kind: Kind::from_name(&name), name, ..Node::default() };
    Topology::new(listed.into_iter().map(whole).chain(partitions).collect())
}

/// Infers the partitions from the names. Whole devices are omitted, because no listing gives their order.
fn partitions_from_names(devices: &[Device]) -> Topology {
    let nodes: Vec<Node> = Topology::from_names(devices).into();
    Topology::new(nodes.into_iter().filter(|node| node.kind == Kind::Partition).collect())
}

/// Returns the disk whose directory contains `partition`; disks that its name suggests are tried first. `disks` is
/// `listed` as a set.
fn find_disk(block: &Path, listed: &[String], disks: &HashSet<&str>, partition: &str) -> Option<String> {
    let holds = |disk: &&str| device_dir(&device_dir(block, disk), partition).is_dir();
    let by_name = possible_disks(partition).into_iter().flatten().filter(|disk| disks.contains(disk));
    by_name.chain(listed.iter().map(String::as_str)).find(holds).map(str::to_owned)
}
