//! The devices whose requests are traced.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::counters::DeviceNumber;
use crate::source::small_file::read_line;
use crate::topology::nvme_head;

/// Returns the whole devices that pass bios on instead of making requests of them, such as those of device-mapper and
/// md. A device with requests has a directory `mq` in sysfs. An NVMe disk with several paths is not among them: it
/// hands its bios over to a path, where they complete as requests with their own latencies.
pub(super) fn bio_devices(root: &Path) -> Vec<DeviceNumber> {
    let entries = fs::read_dir(root.join("sys/block")).into_iter().flatten().flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let heads: HashSet<String> = names.iter().filter_map(|name| nvme_head(name)).collect();
    let mut found: Vec<DeviceNumber> = names
        .iter()
        .filter(|name| !heads.contains(*name))
        .map(|name| root.join("sys/block").join(name))
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
        for (name, dev) in [("dm-1", "253:1"), ("dm-0", "253:0"), ("nvme0n1", "259:0"), ("nvme1n1", "259:1")]
        {
            let path = root.path().join("sys/block").join(name);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("dev"), format!("{dev}\n")).unwrap();
        }
        // A path of nvme1n1, which has no number in sysfs.
        for name in ["nvme0n1/mq", "nvme1c0n1/mq"] {
            fs::create_dir_all(root.path().join("sys/block").join(name)).unwrap();
        }
        assert_eq!(bio_devices(root.path()), [(253, 0), (253, 1)]);
    }
}
