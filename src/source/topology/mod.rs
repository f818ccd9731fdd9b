//! The block-device tree of a live system or of copies of `/sys` and `/proc`. Only this module walks `/sys/block`.
//!
//! [`read_partitions`] reads only names and partitions. [`read_topology`] adds the details of each device, then values
//! that several sources determine together: identities, mount points, backing devices of loop devices, NVMe paths.

mod identity;
mod mounts;
mod sysfs_device;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use self::identity::{
    add_partition_identities, add_serials_of_identities, add_virtio_serials, identity, serial,
};
use self::mounts::{DeviceIndex, Mounts};
use self::sysfs_device::SysfsDevice;
use super::small_file::{links_in, read_line, resolve_in_root};
use crate::topology::{Kind, Node, Topology, link_nvme_paths, natural_key, possible_disks};

pub(super) use mounts::unescape;
pub(super) use sysfs_device::{device_dir, device_name, read_devno};
pub use sysfs_device::{list_devices, read_partitions};

/// Reads the block devices of the system below `root`: whole devices in natural order, each followed by its partitions.
///
/// Reads `ROOT/sys/block`, mounts, swap areas and the kernel version in `ROOT/proc`, and links in `ROOT/dev`. A value
/// that is missing, unreadable or malformed is `None` or empty; without `ROOT/sys/block` there are no devices.
pub fn read_topology(root: &Path) -> Topology {
    reread_topology(root, &Topology::default())
}

/// Like [`read_topology`]. `previous` is the result of an earlier call: devices that it knows are not asked for their
/// serial number again.
pub fn reread_topology(root: &Path, previous: &Topology) -> Topology {
    let mut nodes = read_nodes(root, previous);
    add_aliases(root, &mut nodes);
    let mounts = Mounts::read(root);
    let index = DeviceIndex {
        root,
        nodes: &nodes,
    };
    let mountpoints = mounts.by_device(&index);
    let mut below_loops = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        if node.kind == Kind::Loop
            && let Some(file) = &node.backing_file
            && let Some(below) = mounts.device_of_file(file, &index)
        {
            below_loops.push((at, nodes[below].name.clone()));
        }
    }
    for (node, mountpoints) in std::iter::zip(&mut nodes, mountpoints) {
        node.mountpoints = mountpoints;
    }
    for (at, below) in below_loops {
        nodes[at].backing_devices.push(below);
    }
    link_nvme_paths(&mut nodes);
    Topology::new(nodes)
}

/// Reads the properties of each device in sysfs.
fn read_nodes(root: &Path, previous: &Topology) -> Vec<Node> {
    let block = resolve_in_root(root, root.join("sys/block"));
    let kernel = kernel_version(root);
    let mut names = list_devices(&block).unwrap_or_default();
    names.sort_by_cached_key(|name| natural_key(name));
    let listed: HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut nodes = Vec::with_capacity(names.len());
    let mut serial_files = Vec::new();
    for name in &names {
        let device = SysfsDevice::open(root, &block, name);
        let mut disk = device.node(kernel);
        if disk.kind == Kind::Partition {
            // A copy without links may list partitions next to their disks.
            let mut disks = possible_disks(name).into_iter().flatten();
            if let Some(parent) = disks.find(|disk| listed.contains(disk)) {
                disk.backing_devices.push(parent.to_owned());
            }
        }
        disk.identity = identity(root, &device, disk.kind);
        disk.serial = serial(root, &device, disk.kind);
        if disk.identity.is_none() && device.has("serial") {
            serial_files.push((nodes.len(), device.file("serial")));
        }
        let mut partitions = device.partitions(&disk);
        partitions.retain(|part| !listed.contains(part.name.as_str()));
        nodes.push(disk);
        nodes.extend(partitions);
    }
    add_virtio_serials(root, &mut nodes, &serial_files, previous);
    add_serials_of_identities(&mut nodes);
    add_partition_identities(&mut nodes);
    nodes
}

/// Reads the kernel version as major and minor number: 6 and 12 of `6.12.117+deb12-amd64`.
fn kernel_version(root: &Path) -> Option<(u32, u32)> {
    let release = read_line(&root.join("proc/sys/kernel/osrelease"))?;
    let (major, rest) = release.split_once('.')?;
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    Some((major.parse().ok()?, rest[..digits].parse().ok()?))
}

/// Sets the aliases of devices that have none, from links below `root/dev`: `md/home` for `md127`, and `vg0-root` from
/// /dev/mapper if sysfs has no name for the device.
fn add_aliases(root: &Path, nodes: &mut [Node]) {
    let mut aliases = HashMap::new();
    for (dir, prefix) in [("md", "md/"), ("mapper", "")] {
        for (name, target) in links_in(&root.join("dev").join(dir)) {
            // The name `md/0` says no more than `md0`.
            if !is_number(&name) {
                aliases.entry(target).or_insert(format!("{prefix}{name}"));
            }
        }
    }
    for node in nodes {
        if node.alias.is_none() {
            node.alias = aliases.remove(&node.name);
        }
    }
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
