//! The device that a name typed by the user refers to.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::counters::Device;
use crate::sanitize::sanitize;
use crate::source::DeviceResolver;
use crate::topology::Topology;

/// Returns the index of the device that `word` names: by the kernel's name, by its alias, on the running system by a node
/// in /dev, or by a path of a file system on it.
pub fn find_device(
    word: &str,
    devices: &[Device],
    topology: &Topology,
    resolver: Option<&DeviceResolver>,
) -> Option<usize> {
    let name = without_directory(word);
    let alias = |device: &Device| {
        topology
            .node(&device.name)
            .and_then(|node| node.alias.as_deref())
    };
    let has_name = |device: &Device| device.name == name || alias(device) == Some(name);
    let by_node = || {
        let named = resolver?.resolve(word, None, false, devices)?;
        devices.iter().position(|device| named.is(device))
    };
    devices
        .iter()
        .position(has_name)
        .or_else(by_node)
        .or_else(|| find_by_path(word, devices, topology, resolver))
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
    let path = resolver
        .and_then(|resolver| resolver.real_path(word))
        .unwrap_or_else(|| PathBuf::from(word));
    if let Some(number) = resolver.and_then(|resolver| resolver.number_below(&path)) {
        let found = devices
            .iter()
            .position(|device| (device.major, device.minor) == number);
        if found.is_some() {
            return found;
        }
    }
    let is_above = |mountpoint: &Path| {
        mountpoint == path || mountpoint != Path::new("/") && path.starts_with(mountpoint)
    };
    let mounts = topology.nodes().iter().flat_map(|node| {
        node.mountpoints
            .iter()
            .map(move |mountpoint| (Path::new(mountpoint), node.name.as_str()))
    });
    let (_, name) = mounts
        .filter(|(mountpoint, _)| mountpoint.is_absolute() && is_above(mountpoint))
        .max_by_key(|(mountpoint, _)| mountpoint.components().count())?;
    devices.iter().position(|device| device.name == name)
}

/// Returns a device name without `/dev/` and `mapper/`.
pub(super) fn without_directory(word: &str) -> &str {
    let name = word.strip_prefix("/dev/").unwrap_or(word);
    name.strip_prefix("mapper/").unwrap_or(name)
}

/// Returns the name most similar to a mistyped one; `None` if none is similar.
fn similar_name<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |name: &&str| strsim::damerau_levenshtein(name, word);
    let max_distance = 1 + word.len() / 3;
    names
        .filter(|name| distance(name) <= max_distance)
        .min_by_key(distance)
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
        let similar = similar_name(name, known);
        let quoted = sanitize(name);
        let message = match similar {
            Some(similar) => format!(
                "no such device '{quoted}'; did you mean '{}'?",
                sanitize(similar)
            ),
            None if Path::new(name).is_dir() => format!("no device below '{quoted}'"),
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
