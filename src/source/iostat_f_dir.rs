//! Devices as `iostat -f DIR` reads them: from one file per device in DIR/block, instead of /proc/diskstats.

use std::collections::HashMap;
use std::fs::read_dir;
use std::path::{Path, PathBuf};

use super::link::{file_name, link_target_name};
use super::small_file::read_text;
use super::topology::{device_name, parse_devno, read_devno};
use crate::capture::parse_line;
use crate::counters::Device;

/// The directory of `iostat -f`, which replaces both /proc and /sys.
pub(super) struct IostatFDir {
    path: PathBuf,
}

impl IostatFDir {
    /// Returns the directory at this path.
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Returns the path of the file that lists devices and partitions, in the format of /proc/diskstats.
    pub(super) fn diskstats(&self) -> PathBuf {
        self.path.join("diskstats")
    }

    /// Returns the directory of whole devices.
    pub(super) fn block(&self) -> PathBuf {
        self.path.join("block")
    }

    /// Reads DIR/block/NAME/stat of every whole device, and DIR/block/NAME/PARTITION/stat of every partition. Like in
    /// iostat, a file without enough numbers gives a device whose counters are zero.
    ///
    /// The number (major, minor) of a device is that of its link DIR/dev/block/MAJOR:MINOR; for a device without such a
    /// link, `find_devno` returns it.
    pub(super) fn read(&self, find_devno: impl Fn(&str) -> Option<(u32, u32)>) -> Vec<Device> {
        let mut devices = Vec::new();
        let block = self.block();
        let linked = linked_devnos(&self.path.join("dev/block"));
        let find_devno = |name: &str| linked.get(name).copied().or_else(|| find_devno(name));
        for disk in subdirectories(&block) {
            let disk_dir = block.join(&disk);
            if disk_dir.join("stat").exists() {
                devices.push(read_device(&disk_dir, &disk, &find_devno));
            }
            for partition in subdirectories(&disk_dir) {
                let partition_dir = disk_dir.join(&partition);
                if partition_dir.join("stat").exists() {
                    devices.push(read_device(&partition_dir, &partition, &find_devno));
                }
            }
        }
        devices
    }
}

fn read_device(dir: &Path, file_name: &str, find_devno: &impl Fn(&str) -> Option<(u32, u32)>) -> Device {
    let name = device_name(file_name);
    let (major, minor) = read_devno(dir).or_else(|| find_devno(&name)).unwrap_or((0, 0));
    let stat = read_text(&dir.join("stat")).unwrap_or_default();
    let mut device = Device::default();
    let line = format!("{major} {minor} {name} {}", stat.trim());
    if parse_line(line.as_bytes(), &mut device).is_err() {
        device = Device { major, minor, name, ..Device::default() };
    }
    device
}

/// Returns the device numbers by name, from links such as `8:1 -> ../../block/sda/sda1`.
fn linked_devnos(dir: &Path) -> HashMap<String, (u32, u32)> {
    let links = read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let devno = |link: PathBuf| Some((link_target_name(&link)?, parse_devno(&file_name(&link)?)?));
    links.filter_map(devno).map(|(target, devno)| (device_name(&target), devno)).collect()
}

/// Returns the names of the directories in a directory, including links to directories.
fn subdirectories(dir: &Path) -> Vec<String> {
    let entries = read_dir(dir).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
