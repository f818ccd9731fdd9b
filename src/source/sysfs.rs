//! What /sys says of the devices: which are whole devices and which are partitions.

use std::collections::HashSet;
use std::fs::read_dir;
use std::path::Path;

use crate::counters::Device;
use crate::topology::PartitionMap;
use crate::topology::partition_parents;

/// What `devices` are, by the folders below `sys`/block: what is listed there is a whole device, what lies in the
/// folder of one is a partition. A `sys` without it leaves only the names to judge by.
pub fn read_partition_map(sys: &Path, devices: &[Device]) -> PartitionMap {
    let block = sys.join("block");
    let Ok(entries) = read_dir(&block) else { return partition_map_from_names(devices) };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let listed: Vec<String> = names.map(|name| shown_name(&name)).collect();
    let whole: HashSet<&str> = listed.iter().map(String::as_str).collect();
    let guesses = partition_parents(devices);
    let parts = devices.iter().zip(guesses).filter(|(device, _)| !whole.contains(device.name.as_str()));
    let parts: Vec<_> = parts
        .map(|(device, guess)| {
            let holds = |disk: &&String| block.join(folder(disk)).join(folder(&device.name)).is_dir();
            let guess = guess.map(|index| &devices[index].name).filter(holds);
            let disk = guess.or_else(|| listed.iter().find(holds)).cloned();
            // A name that /sys does not know is no whole device either.
            (device.name.clone(), disk.unwrap_or_default())
        })
        .collect();
    PartitionMap::new(parts).with_listing(listed)
}

/// Which of `devices` are partitions, by their names alone.
pub(super) fn partition_map_from_names(devices: &[Device]) -> PartitionMap {
    let disks = partition_parents(devices);
    PartitionMap::new(
        devices.iter().zip(disks).filter_map(|(device, disk)| {
            disk.map(|index| (device.name.clone(), devices[index].name.clone()))
        }),
    )
}

/// The folder in /sys of a device: a name there cannot hold a slash.
pub(super) fn folder(name: &str) -> String {
    name.replace('/', "!")
}

/// The name of the device of a folder in /sys, as /proc/diskstats has it.
pub(super) fn shown_name(folder: &str) -> String {
    folder.replace('!', "/")
}
