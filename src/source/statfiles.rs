//! Devices as `iostat -f DIR` reads them: one file a device in DIR/block, in place of /proc/diskstats.

use std::fs::read_dir;
use std::path::{Path, PathBuf};

use super::small_file::read_text;
use super::topology::device_name;
use crate::capture::parse_line;
use crate::counters::Device;

/// A folder that stands for both /proc and /sys.
pub struct StatFiles {
    folder: PathBuf,
}

impl StatFiles {
    /// The devices of this folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The file that lists devices and partitions, as /proc/diskstats does.
    pub fn diskstats(&self) -> PathBuf {
        self.folder.join("diskstats")
    }

    /// Reads DIR/block/NAME/stat of every whole device, and the same of its partitions.
    ///
    /// A file without enough numbers gives a device whose counters are zero, as in iostat. `known` gives a device's
    /// numbers where DIR does not.
    pub fn read(&self, known: impl Fn(&str) -> Option<(u32, u32)>) -> Vec<Device> {
        let mut devices = Vec::new();
        let block = self.folder.join("block");
        for disk in folders(&block) {
            devices.push(self.device(&block.join(&disk), &disk, &known));
            for part in folders(&block.join(&disk)) {
                let folder = block.join(&disk).join(&part);
                if folder.join("stat").exists() {
                    devices.push(self.device(&folder, &part, &known));
                }
            }
        }
        devices
    }

    fn device(&self, folder: &Path, name: &str, known: &impl Fn(&str) -> Option<(u32, u32)>) -> Device {
        let name = device_name(name);
        let in_folder = || {
            let text = read_text(&folder.join("dev"))?;
            let (major, minor) = text.trim().split_once(':')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        let (major, minor) = in_folder().or_else(|| known(&name)).unwrap_or((0, 0));
        let mut device = Device::default();
        let line =
            format!("{major} {minor} {name} {}", read_text(&folder.join("stat")).unwrap_or_default().trim());
        if parse_line(line.as_bytes(), &mut device).is_err() {
            device = Device { major, minor, name, ..Device::default() };
        }
        device
    }
}

/// The names of the folders in a folder, links to folders too.
fn folders(folder: &Path) -> Vec<String> {
    let entries = read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
