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
        let translated = persistent
            .and_then(|kind| link_target_name(&dev.join(format!("disk/by-{kind}")).join(word)));
        let word = translated.as_deref().unwrap_or(word);
        let is_listed = |name: &str| self.directory_of(name).is_some();
        let name_in_dev = |path: PathBuf| {
            let path = path.canonicalize().ok()?;
            Some(
                path.strip_prefix(dev.canonicalize().ok()?)
                    .ok()?
                    .to_str()?
                    .to_owned(),
            )
        };
        let name = if word.starts_with('/') {
            name_in_dev(self.root.join(word.trim_start_matches('/')))?
        } else if let Some(name) = name_in_dev(PathBuf::from(word)).filter(|_| word.contains('/')) {
            name
        } else if word.contains('/') && is_listed(word) {
            // iostat would then read counters from a directory with a slash in its name, which does not exist.
            return None;
        } else {
            word.to_owned()
        };
        if is_listed(&name) {
            return Some(NamedDevice::plain(&device_name(&name)));
        }
        self.by_node(&name, devices)
    }

    /// Returns the device of the node `name` in /dev, which a report shows by that name.
    fn by_node(&self, name: &str, devices: &[Device]) -> Option<NamedDevice> {
        let devno = node_devno(&self.root.join("dev").join(name)).or_else(|| {
            // A copied tree has no device nodes, only names.
            let device = devices
                .iter()
                .find(|device| self.is_copy() && device.name == name)?;
            // A device of `iostat -f` may have no number.
            Some((device.major, device.minor)).filter(|devno| *devno != (0, 0))
        });
        devno.map(|(major, minor)| NamedDevice {
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
        let metadata = path.metadata().ok().filter(|_| !self.is_copy())?;
        Some((major(metadata.dev()), minor(metadata.dev())))
    }

    fn is_copy(&self) -> bool {
        self.root != Path::new("/")
    }

    /// Lists the entries of a disk in sysfs, its partitions among them, in the kernel's order.
    pub fn partitions(&self, disk: &str) -> Vec<String> {
        self.directory_of(disk)
            .and_then(|dir| list_devices(&dir).ok())
            .unwrap_or_default()
    }

    /// Returns the directory of a whole device; `None` if it is not listed.
    fn directory_of(&self, name: &str) -> Option<PathBuf> {
        self.blocks
            .iter()
            .map(|block| device_dir(block, name))
            .find(|dir| dir.exists())
    }

    /// Returns the names in /dev/disk/by-TYPE by kernel name, for the devices that have one.
    pub fn persistent(&self, kind: &str, devices: &[Device]) -> HashMap<String, String> {
        let links = paths_in(&self.root.join(format!("dev/disk/by-{kind}")));
        // The first of several links to a device is used: inserted last, it replaces the others.
        let links = links
            .iter()
            .rev()
            .filter(|link| link.exists() || self.is_copy());
        let by_target: HashMap<String, String> = links
            .filter_map(|link| Some((link_target_name(link)?, file_name(link)?)))
            .collect();
        let name_of = |device: &Device| {
            let link = self
                .root
                .join("sys")
                .join(format!("dev/block/{}:{}", device.major, device.minor));
            by_target.get(&link_target_name(&link)?).cloned()
        };
        devices
            .iter()
            .filter_map(|device| Some((device.name.clone(), name_of(device)?)))
            .collect()
    }

    /// Returns the names in /dev/mapper by kernel name, for the device-mapper devices.
    ///
    /// # Errors
    /// If there are such devices and /dev/mapper cannot be read: their major number and the system's error.
    pub fn mapper(&self, devices: &[Device]) -> Result<HashMap<String, String>, (u32, io::Error)> {
        let drivers = read_text(&self.root.join("proc/devices")).unwrap_or_default();
        let mut drivers = drivers
            .lines()
            .filter_map(|line| line.trim().split_once(' '));
        let driver = drivers.find(|(_, name)| *name == "device-mapper");
        let Some(major) = driver.and_then(|(major, _)| major.parse().ok()) else {
            return Ok(HashMap::new());
        };
        let mapped: Vec<&Device> = devices
            .iter()
            .filter(|device| device.major == major)
            .collect();
        if mapped.is_empty() {
            return Ok(HashMap::new());
        }
        let mut by_devno: HashMap<(u32, u32), String> = HashMap::new();
        for entry in read_dir(self.root.join("dev/mapper"))
            .map_err(|error| (major, error))?
            .flatten()
        {
            if let (Some(devno), Ok(name)) = (
                self.mapper_devno(&entry.path(), devices),
                entry.file_name().into_string(),
            ) {
                by_devno.entry(devno).or_insert(name);
            }
        }
        let name_of = |device: &Device| by_devno.get(&(device.major, device.minor)).cloned();
        Ok(mapped
            .into_iter()
            .filter_map(|device| Some((device.name.clone(), name_of(device)?)))
            .collect())
    }

    fn mapper_devno(&self, path: &Path, devices: &[Device]) -> Option<(u32, u32)> {
        let in_copy = || {
            let name = link_target_name(path)?;
            devices
                .iter()
                .find(|device| device.name == name)
                .map(|device| (device.major, device.minor))
        };
        node_devno(path).or_else(|| if self.is_copy() { in_copy() } else { None })
    }
}

/// Returns the device number of a block device node, links followed.
fn node_devno(path: &Path) -> Option<(u32, u32)> {
    let metadata = path
        .metadata()
        .ok()
        .filter(|metadata| metadata.file_type().is_block_device())?;
    Some((major(metadata.rdev()), minor(metadata.rdev())))
}
