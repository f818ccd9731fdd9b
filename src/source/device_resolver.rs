//! Names of devices: finds the device that a word names, and the name that a report shows for a device.

use std::collections::HashMap;
use std::fs::read_dir;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use super::small_file::{file_name, link_target_name, paths_in, read_text};
use super::topology::{device_dir, device_name, list_devices};
use crate::counters::Device;
use crate::topology::{DeviceKey, NamedDevice};

/// Resolves device names of the system below a root.
pub struct DeviceResolver {
    root: PathBuf,
    /// The directories of block devices, in the order in which they are searched.
    blocks: Vec<PathBuf>,
}

impl DeviceResolver {
    /// Creates a resolver for the system below `root`. Each of `sys` describes devices: `root/sys`, and the directory
    /// of `iostat -f`.
    pub fn new(root: &Path, sys: &[PathBuf]) -> Self {
        Self {
            root: root.to_owned(),
            blocks: sys.iter().map(|sys| sys.join("block")).collect(),
        }
    }

    /// Returns the device that `word` names, by iostat's rules; `None` if there is none.
    ///
    /// With a `persistent` type, `word` may be a name in /dev/disk/by-TYPE; with `mapper`, one in /dev/mapper. A path
    /// is resolved to its node in /dev. Any other word is a name in /sys/block or, failing that, a node in /dev, whose
    /// device number identifies the device; a report then shows the name of the node.
    pub fn resolve(
        &self,
        word: &str,
        persistent: Option<&str>,
        mapper: bool,
        devices: &[Device],
    ) -> Option<NamedDevice> {
        let dev = self.root.join("dev");
        if mapper && !word.starts_with('/') && dev.join("mapper").join(word).exists() {
            let kernel_name = link_target_name(&dev.join("mapper").join(word))?;
            // iostat sorts this device by the word, but compares later words with the kernel's name.
            let named = self.by_node(&kernel_name, devices)?;
            return Some(NamedDevice {
                sorts_as: Some(word.to_owned()),
                ..named
            });
        }
        let mut name = word.to_owned();
        if let Some(kind) = persistent
            && let Some(target) = link_target_name(&dev.join(format!("disk/by-{kind}")).join(word))
        {
            name = target;
        }
        if name.starts_with('/') {
            name = name_below(&dev, &self.root.join(name.trim_start_matches('/')))?;
        } else if name.contains('/') {
            if let Some(node) = name_below(&dev, Path::new(&name)) {
                name = node;
            } else if self.directory_of(&name).is_some() {
                // iostat would then read counters from a directory with a slash in its name, which does not exist.
                return None;
            }
        }
        if self.directory_of(&name).is_some() {
            return Some(NamedDevice::plain(&device_name(&name)));
        }
        self.by_node(&name, devices)
    }

    /// Returns the device of the node `name` in /dev, which a report shows by that name.
    fn by_node(&self, name: &str, devices: &[Device]) -> Option<NamedDevice> {
        let node = self.root.join("dev").join(name);
        // A copied tree has no device nodes, only names.
        let (major, minor) = match node_devno(&node) {
            Some(devno) => devno,
            None if self.is_copy() => devno_of(name, devices)?,
            None => return None,
        };
        if (major, minor) == (0, 0) {
            // A device of `iostat -f` may have no number.
            return None;
        }
        Some(NamedDevice {
            key: DeviceKey::Number(major, minor),
            ..NamedDevice::plain(name)
        })
    }

    /// Returns a path of the running system without links; `None` if it does not exist, or describes another system.
    pub fn real_path(&self, path: &str) -> Option<PathBuf> {
        if self.is_copy() {
            None
        } else {
            Path::new(path).canonicalize().ok()
        }
    }

    /// Returns the number of the device that holds the file system of a path of the running system.
    pub fn number_below(&self, path: &Path) -> Option<(u32, u32)> {
        if self.is_copy() {
            return None;
        }
        let device = path.metadata().ok()?.dev();
        Some((major(device), minor(device)))
    }

    fn is_copy(&self) -> bool {
        self.root != Path::new("/")
    }

    /// Lists the entries of a disk in sysfs, its partitions among them, in the kernel's order.
    pub fn partitions(&self, disk: &str) -> Vec<String> {
        match self.directory_of(disk) {
            Some(dir) => list_devices(&dir).unwrap_or_default(),
            None => Vec::new(),
        }
    }

    /// Returns the directory of a whole device; `None` if it is not listed.
    fn directory_of(&self, name: &str) -> Option<PathBuf> {
        for block in &self.blocks {
            let dir = device_dir(block, name);
            if dir.exists() {
                return Some(dir);
            }
        }
        None
    }

    /// Returns the names in /dev/disk/by-TYPE by kernel name, for the devices that have one.
    pub fn persistent(&self, kind: &str, devices: &[Device]) -> HashMap<String, String> {
        // The first of several links to a device is used.
        let mut by_target = HashMap::new();
        for link in paths_in(&self.root.join(format!("dev/disk/by-{kind}"))) {
            if let Some(target) = link_target_name(&link)
                && let Some(name) = file_name(&link)
                && (link.exists() || self.is_copy())
            {
                by_target.entry(target).or_insert(name);
            }
        }
        let mut names = HashMap::new();
        let numbers = self.root.join("sys/dev/block");
        for device in devices {
            let link = numbers.join(format!("{}:{}", device.major, device.minor));
            if let Some(target) = link_target_name(&link)
                && let Some(name) = by_target.get(&target)
            {
                names.insert(device.name.clone(), name.clone());
            }
        }
        names
    }

    /// Returns the names in /dev/mapper by kernel name, for the device-mapper devices.
    ///
    /// # Errors
    /// If there are such devices and /dev/mapper cannot be read: their major number and the system's error.
    pub fn mapper(&self, devices: &[Device]) -> Result<HashMap<String, String>, (u32, io::Error)> {
        let mut names = HashMap::new();
        let Some(major) = self.mapper_major() else {
            return Ok(names);
        };
        if !devices.iter().any(|device| device.major == major) {
            return Ok(names);
        }
        let mut by_devno: HashMap<(u32, u32), String> = HashMap::new();
        let entries = read_dir(self.root.join("dev/mapper")).map_err(|error| (major, error))?;
        for entry in entries.flatten() {
            if let Some(devno) = self.mapper_devno(&entry.path(), devices)
                && let Ok(name) = entry.file_name().into_string()
            {
                by_devno.entry(devno).or_insert(name);
            }
        }
        for device in devices {
            if device.major == major
                && let Some(name) = by_devno.get(&(major, device.minor))
            {
                names.insert(device.name.clone(), name.clone());
            }
        }
        Ok(names)
    }

    /// Returns the major number of device-mapper devices.
    fn mapper_major(&self) -> Option<u32> {
        for line in read_text(&self.root.join("proc/devices"))?.lines() {
            if let Some((major, "device-mapper")) = line.trim().split_once(' ') {
                return major.parse().ok();
            }
        }
        None
    }

    fn mapper_devno(&self, path: &Path, devices: &[Device]) -> Option<(u32, u32)> {
        match node_devno(path) {
            None if self.is_copy() => devno_of(&link_target_name(path)?, devices),
            devno => devno,
        }
    }
}

/// Returns the name of a path relative to a directory; `None` if it does not exist there.
fn name_below(dir: &Path, path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let name = path.strip_prefix(dir.canonicalize().ok()?).ok()?;
    Some(name.to_str()?.to_owned())
}

fn devno_of(name: &str, devices: &[Device]) -> Option<(u32, u32)> {
    let device = devices.iter().find(|device| device.name == name)?;
    Some((device.major, device.minor))
}

/// Returns the device number of a block device node, links followed.
fn node_devno(path: &Path) -> Option<(u32, u32)> {
    let metadata = path.metadata().ok()?;
    if !metadata.file_type().is_block_device() {
        return None;
    }
    Some((major(metadata.rdev()), minor(metadata.rdev())))
}
