//! What a device is called: from a word that names it to the device, and from a device to the name that is shown.

use std::collections::HashMap;
use std::fs::{OpenOptions, read_dir, read_link};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use super::sysfs::{folder, shown_name};
use crate::counters::Device;
use crate::topology::{Key, Named};

/// The names of devices of a machine, below a root.
pub struct DeviceResolver {
    root: PathBuf,
    sys: PathBuf,
}

impl DeviceResolver {
    /// DeviceResolver of the machine below `root`; its devices are described below `sys`, which is `root/sys` but for
    /// `iostat -f`.
    pub fn new(root: &Path, sys: &Path) -> Self {
        Self { root: root.to_owned(), sys: sys.to_owned() }
    }

    /// The device that `word` names, as iostat understands it; `None` for none.
    ///
    /// With a `persistent` kind the word may be a name in /dev/disk/by-KIND, with `mapper` one in /dev/mapper. A
    /// path is followed to its node in /dev. Another word is a name in /sys/block, else a node in /dev, which
    /// gives the numbers of the device; the report calls that device as it was named.
    pub fn resolve(
        &self,
        word: &str,
        persistent: Option<&str>,
        mapper: bool,
        devices: &[Device],
    ) -> Option<Named> {
        let dev = self.root.join("dev");
        let by_link = |link: PathBuf| file_name(&read_link(link).ok()?);
        if mapper && !word.starts_with('/') && dev.join("mapper").join(word).exists() {
            let kernel_name = by_link(dev.join("mapper").join(word))?;
            // iostat finds its place by the word, and compares later ones with the kernel's name.
            let named = self.by_node(&kernel_name, devices)?;
            return Some(Named { sorts_as: Some(word.to_owned()), ..named });
        }
        let translated = persistent.and_then(|kind| by_link(dev.join(format!("disk/by-{kind}")).join(word)));
        let word = translated.as_deref().unwrap_or(word);
        let is_listed = |name: &str| self.sys.join("block").join(folder(name)).exists();
        let in_dev = |path: PathBuf| {
            let path = path.canonicalize().ok()?;
            Some(path.strip_prefix(dev.canonicalize().ok()?).ok()?.to_str()?.to_owned())
        };
        let name = if word.starts_with('/') {
            in_dev(self.root.join(word.trim_start_matches('/')))?
        } else if let Some(name) = in_dev(PathBuf::from(word)).filter(|_| word.contains('/')) {
            name
        } else if word.contains('/') && is_listed(word) {
            // iostat looks for its counters in a folder that is not there.
            return None;
        } else {
            word.to_owned()
        };
        if is_listed(&name) {
            return Some(Named::plain(&shown_name(&name)));
        }
        self.by_node(&name, devices)
    }

    /// The device of the node `name` in /dev, to be called so.
    fn by_node(&self, name: &str, devices: &[Device]) -> Option<Named> {
        let number = node_number(&self.root.join("dev").join(name)).or_else(|| {
            // A root that is a copy has no nodes; there the name alone must do.
            let device = devices.iter().find(|device| self.is_copy() && device.name == name)?;
            Some((device.major, device.minor))
        });
        number.map(|(major, minor)| Named { key: Key::Number(major, minor), ..Named::plain(name) })
    }

    fn is_copy(&self) -> bool {
        self.root != Path::new("/")
    }

    /// The partitions of a disk in the order in which /sys lists them.
    pub fn partitions(&self, disk: &str) -> Vec<String> {
        let entries = read_dir(self.sys.join("block").join(folder(disk))).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .map(|name| shown_name(&name))
            .collect()
    }

    /// The names in /dev/disk/by-KIND of the devices that have one, by the names that they have otherwise.
    pub fn persistent(&self, kind: &str, devices: &[Device]) -> HashMap<String, String> {
        let Ok(entries) = read_dir(self.root.join(format!("dev/disk/by-{kind}"))) else {
            return HashMap::new();
        };
        let mut links: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        links.sort();
        // The last to be put in stays, and that must be the first.
        let targets = links.iter().rev().filter(|link| link.exists() || self.is_copy());
        let by_target: HashMap<String, String> =
            targets.filter_map(|link| Some((file_name(&read_link(link).ok()?)?, file_name(link)?))).collect();
        let name_of = |device: &Device| {
            let link = self.root.join("sys").join(format!("dev/block/{}:{}", device.major, device.minor));
            by_target.get(&file_name(&read_link(link).ok()?)?).cloned()
        };
        devices.iter().filter_map(|device| Some((device.name.clone(), name_of(device)?))).collect()
    }

    /// The names in /dev/mapper of the device-mapper devices, by the names that they have otherwise.
    ///
    /// # Errors
    /// When there are such devices and /dev/mapper cannot be read: their major number, and what the system says.
    pub fn mapper(&self, devices: &[Device]) -> Result<HashMap<String, String>, (u32, io::Error)> {
        let Some(major) = self.mapper_major() else { return Ok(HashMap::new()) };
        let mapped: Vec<&Device> = devices.iter().filter(|device| device.major == major).collect();
        if mapped.is_empty() {
            return Ok(HashMap::new());
        }
        let mut by_number: HashMap<(u32, u32), String> = HashMap::new();
        for entry in read_dir(self.root.join("dev/mapper")).map_err(|error| (major, error))?.flatten() {
            if let (Some(number), Ok(name)) =
                (self.mapper_number(&entry.path(), devices), entry.file_name().into_string())
            {
                by_number.entry(number).or_insert(name);
            }
        }
        let name_of = |device: &Device| by_number.get(&(device.major, device.minor)).cloned();
        Ok(mapped.into_iter().filter_map(|device| Some((device.name.clone(), name_of(device)?))).collect())
    }

    fn mapper_number(&self, path: &Path, devices: &[Device]) -> Option<(u32, u32)> {
        let in_copy = || {
            let name = file_name(&read_link(path).ok()?)?;
            devices.iter().find(|device| device.name == name).map(|device| (device.major, device.minor))
        };
        node_number(path).or_else(|| if self.is_copy() { in_copy() } else { None })
    }

    /// The major number that /proc/devices gives the device-mapper.
    fn mapper_major(&self) -> Option<u32> {
        let mut text = String::new();
        OpenOptions::new()
            .read(true)
            .open(self.root.join("proc/devices"))
            .ok()?
            .read_to_string(&mut text)
            .ok()?;
        let lines = text.lines().filter_map(|line| line.trim().split_once(' '));
        lines.into_iter().find(|(_, name)| *name == "device-mapper").and_then(|(major, _)| major.parse().ok())
    }
}

fn file_name(path: &Path) -> Option<String> {
    path.file_name().and_then(|name| name.to_str()).map(str::to_owned)
}

/// The device number of a block node, links followed.
fn node_number(path: &Path) -> Option<(u32, u32)> {
    let about = path.metadata().ok().filter(|about| about.file_type().is_block_device())?;
    Some((major(about.rdev()), minor(about.rdev())))
}
