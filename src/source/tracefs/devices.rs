//! The devices whose requests are traced.

use std::fs;
use std::path::Path;

use crate::counters::DeviceNumber;
use crate::source::small_file::read_line;

/// Returns the whole devices that pass bios on instead of making requests: those of device-mapper, md and the like. A device
/// with requests has a directory `mq` in sysfs.
pub(super) fn bio_devices(root: &Path) -> Vec<DeviceNumber> {
    let entries = fs::read_dir(root.join("sys/block")).into_iter().flatten().flatten();
    let mut found: Vec<DeviceNumber> = entries
        .map(|entry| entry.path())
        .filter(|path| !path.join("mq").exists())
        .filter_map(|path| {
            let line = read_line(&path.join("dev"))?;
            let (major, minor) = line.split_once(':')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        })
        .collect();
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_hardware_queues_passes_bios_on() {
        let root = tempfile::tempdir().unwrap();
        for (name, dev) in [("dm-1", "253:1"), ("dm-0", "253:0"), ("nvme0n1", "259:0")] {
            let path = root.path().join("sys/block").join(name);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("dev"), format!("{dev}\n")).unwrap();
        }
        fs::create_dir(root.path().join("sys/block/nvme0n1/mq")).unwrap();
        assert_eq!(bio_devices(root.path()), [(253, 0), (253, 1)]);
    }
}
