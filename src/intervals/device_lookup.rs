//! The device that a name typed by the user refers to.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::counters::Device;
use crate::sanitize::sanitize;
use crate::source::DeviceResolver;
use crate::topology::Topology;
use crate::typo::most_similar;

/// Returns the index of the device that `word` names: by the kernel's name, by its alias, on the running system by a node
/// in /dev, or by a path of a file system on it.
pub(super) fn find_device(
    word: &str,
    devices: &[Device],
    topology: &Topology,
    resolver: Option<&DeviceResolver>,
) -> Option<usize> {
    let name = without_directory(word);
    for (index, device) in devices.iter().enumerate() {
        if device.name == name {
            return Some(index);
        }
        if let Some(node) = topology.node(&device.name)
            && node.alias.as_deref() == Some(name)
        {
            return Some(index);
        }
    }
    if let Some(resolver) = resolver
        && let Some(node) = resolver.resolve(word, None, false, devices)
        && let Some(index) = devices.iter().position(|device| node.is(device))
    {
        return Some(index);
    }
    find_by_path(word, devices, topology, resolver)
}

/// Returns the indices of the devices that words name: see `find_device`.
///
/// # Errors
/// The first word that no device has.
pub fn find_devices(
    words: &[String],
    devices: &[Device],
    topology: &Topology,
    resolver: Option<&DeviceResolver>,
) -> Result<Vec<usize>, NotFound> {
    let mut found = Vec::new();
    for word in words {
        let Some(index) = find_device(word, devices, topology, resolver) else {
            let names = devices.iter().map(|device| device.name.as_str());
            let aliases = topology
                .nodes()
                .iter()
                .filter_map(|node| node.alias.as_deref());
            return Err(NotFound::name(
                word,
                names.chain(aliases),
                "blkstat devices",
            ));
        };
        found.push(index);
    }
    Ok(found)
}

/// Returns the index of the device below a path: the one whose number its file system has, or else the one that is mounted
/// there. On which device a path below `/` is that is not known otherwise cannot be told: it may be in a file system
/// without a device.
fn find_by_path(
    word: &str,
    devices: &[Device],
    topology: &Topology,
    resolver: Option<&DeviceResolver>,
) -> Option<usize> {
    if !word.contains('/') {
        return None;
    }
    let mut path = PathBuf::from(word);
    if let Some(resolver) = resolver {
        path = resolver.real_path(word).unwrap_or(path);
        if let Some(number) = resolver.number_below(&path)
            && let Some(index) = devices
                .iter()
                .position(|device| (device.major, device.minor) == number)
        {
            return Some(index);
        }
    }
    let (mut depth, mut name) = (0, None);
    for node in topology.nodes() {
        for mountpoint in node.mountpoints.iter().map(Path::new) {
            let is_above =
                mountpoint == path || mountpoint != Path::new("/") && path.starts_with(mountpoint);
            let components = mountpoint.components().count();
            if mountpoint.is_absolute() && is_above && components >= depth {
                (depth, name) = (components, Some(&node.name));
            }
        }
    }
    let name = name?;
    devices.iter().position(|device| device.name == *name)
}

/// Returns a device name without `/dev/` and `mapper/`.
pub(super) fn without_directory(word: &str) -> &str {
    let name = word.strip_prefix("/dev/").unwrap_or(word);
    name.strip_prefix("mapper/").unwrap_or(name)
}

/// Devices that were requested but not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// Their names as they were typed; none if no device matches the pattern.
    pub names: Vec<String>,
    /// True if a device has a similar name.
    pub has_similar: bool,
    pub message: String,
}

impl NotFound {
    /// No device has this name, which may be a mistyped one of those that are `known`; `list_command` lists them.
    pub fn name<'a>(name: &str, known: impl Iterator<Item = &'a str>, list_command: &str) -> Self {
        // In a short name, another letter is another device.
        let similar = most_similar(name, known, 1.max(name.len() / 4));
        let quoted = sanitize(name);
        let message = match similar {
            Some(similar) => format!(
                "no such device '{quoted}'; did you mean '{}'?",
                sanitize(similar)
            ),
            None if Path::new(name).is_dir() && !name.contains('/') => {
                format!("no such device '{quoted}'; ./{quoted} is the device below this directory")
            }
            None if Path::new(name).is_dir() => format!("no device below '{quoted}'"),
            None if Path::new(name).is_file() => {
                format!("'{quoted}' is no device; -f '{quoted}' reads it as a capture")
            }
            // Not even whether it exists may be known.
            None if Path::new(name).try_exists().is_err() => {
                format!("no device '{quoted}', and such a file cannot be read: permission denied")
            }
            None => {
                // A word like a path may have been meant as a file.
                let is_path = name.contains(['/', '.']) && !name.starts_with("/dev/");
                let or_file = if is_path { " or file" } else { "" };
                format!("no such device{or_file} '{quoted}'; run '{list_command}' for a list")
            }
        };
        Self {
            names: vec![name.to_owned()],
            has_similar: similar.is_some(),
            message,
        }
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Node;

    #[test]
    fn a_path_names_the_device_that_is_mounted_above_it() {
        let node = |name: &str, mountpoint: &str| Node {
            name: name.into(),
            mountpoints: vec![mountpoint.into()],
            ..Node::default()
        };
        let nodes = [
            node("sda", "/"),
            node("sdb", "/var/lib"),
            node("sdc", "/var/lib/mysql"),
            node("sdd", "[SWAP]"),
        ];
        let devices = ["sda", "sdb", "sdc", "sdd"].map(|name| Device {
            name: name.into(),
            ..Device::default()
        });
        let topology = Topology::new(nodes.to_vec());
        let found = |word: &str| {
            find_device(word, &devices, &topology, None).map(|at| devices[at].name.as_str())
        };
        for (word, name) in [
            ("/", Some("sda")),
            ("/var/lib", Some("sdb")),
            ("/var/lib/", Some("sdb")),
            ("/var/lib/mysql/ibdata1", Some("sdc")),
            ("/var/lib/mysql2", Some("sdb")),
            // Perhaps a file system without a device.
            ("/tmp", None),
            ("var/lib", None),
            ("[SWAP]", None),
            ("/dev/sda", Some("sda")),
        ] {
            assert_eq!(found(word), name, "{word}");
        }
    }
}
