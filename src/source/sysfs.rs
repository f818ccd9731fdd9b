//! What /sys says of the devices: which are partitions.

use std::fs::read_dir;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use crate::capture::partition_parents;
use crate::counters::Device;
use crate::topology::{Key, Named, Topology};

/// Which of `devices` are partitions, by `ROOT/sys/block`: what is listed there is a whole device, what lies in
/// the folder of one is a partition. A root without it leaves only the names to judge by.
pub fn read_topology(root: &Path, devices: &[Device]) -> Topology {
    let block = root.join("sys/block");
    let Ok(entries) = read_dir(&block) else { return topology_by_names(devices) };
    let listed: std::collections::HashSet<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let folder = |name: &str| name.replace('/', "!");
    let guesses = partition_parents(devices);
    let parts = devices.iter().zip(guesses).filter(|(device, _)| !listed.contains(&folder(&device.name)));
    Topology::new(parts.map(|(device, guess)| {
        let holds = |disk: &String| block.join(folder(disk)).join(folder(&device.name)).is_dir();
        let guess = guess.map(|index| devices[index].name.clone()).filter(holds);
        let disk =
            guess.or_else(|| listed.iter().find(|disk| holds(disk)).map(|disk| disk.replace('!', "/")));
        // A name that /sys does not know is no whole device either.
        (device.name.clone(), disk.unwrap_or_default())
    }))
}

/// Which of `devices` are partitions, by their names alone.
pub(super) fn topology_by_names(devices: &[Device]) -> Topology {
    let disks = partition_parents(devices);
    Topology::new(
        devices.iter().zip(disks).filter_map(|(device, disk)| {
            disk.map(|index| (device.name.clone(), devices[index].name.clone()))
        }),
    )
}

/// The device that `word` names on the machine below `root`, as iostat understands it; `None` for none.
///
/// A path is followed to its node in /dev. Another word is a name in /sys/block, else a node in /dev, which gives
/// the numbers of the device; the report calls the device as it was named.
pub fn resolve_name(root: &Path, word: &str, devices: &[Device]) -> Option<Named> {
    let dev = root.join("dev");
    let name = if word.starts_with('/') {
        let path = root.join(word.trim_start_matches('/')).canonicalize().ok()?;
        path.strip_prefix(dev.canonicalize().ok()?).ok()?.to_str()?.to_owned()
    } else if word.contains('/') && root.join("sys/block").join(word.replace('/', "!")).exists() {
        // iostat looks for its counters in a folder that is not there.
        return None;
    } else {
        word.to_owned()
    };
    if root.join("sys/block").join(name.replace('/', "!")).exists() {
        return Some(Named::plain(&name.replace('!', "/")));
    }
    if let Ok(node) = dev.join(&name).metadata()
        && node.file_type().is_block_device()
    {
        let number = node.rdev();
        let key = Key::Number(rustix::fs::major(number), rustix::fs::minor(number));
        return Some(Named { shown: name, key, partitions: false });
    }
    // A root that is a copy has no nodes; there the name alone must do.
    let is_copy = root != Path::new("/");
    (is_copy && devices.iter().any(|device| device.name == name)).then(|| Named::plain(&name))
}
