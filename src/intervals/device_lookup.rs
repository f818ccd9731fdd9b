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
    let alias = |device: &Device| topology.node(&device.name).and_then(|node| node.alias.as_deref());
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
    let path = resolver.and_then(|resolver| resolver.real_path(word)).unwrap_or_else(|| PathBuf::from(word));
    if let Some(number) = resolver.and_then(|resolver| resolver.number_below(&path)) {
        let found = devices.iter().position(|device| (device.major, device.minor) == number);
        if found.is_some() {
            return found;
        }
    }
    let is_above = |mountpoint: &Path| {
        mountpoint == path || mountpoint != Path::new("/") && path.starts_with(mountpoint)
    };
    let mounts = topology.nodes().iter().flat_map(|node| {
        node.mountpoints.iter().map(move |mountpoint| (Path::new(mountpoint), node.name.as_str()))
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
pub fn similar_name<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |name: &&str| strsim::damerau_levenshtein(name, word);
    let max_distance = 1 + word.len() / 3;
    names.filter(|name| distance(name) <= max_distance).min_by_key(distance)
}

/// Devices that were requested but not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// No device has this name.
    Name {
        /// The name as it was typed.
        name: String,
        /// A similar name, if there is one.
        similar: Option<String>,
        /// The command that lists the devices.
        list_command: String,
    },
    /// Devices of these names were not in the intervals that COUNT allows.
    NotInTime {
        /// The names as they were typed.
        names: Vec<String>,
        intervals: u64,
    },
    /// No device matches the pattern; `intervals` if COUNT ended the search.
    Pattern {
        pattern: String,
        /// The number of intervals searched, if COUNT ended the search.
        intervals: Option<u64>,
    },
    /// No device has any of these names.
    Names {
        /// The names as they were typed.
        names: Vec<String>,
        /// The command that lists the devices.
        list_command: String,
    },
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |names: &[String]| {
            names.iter().map(|name| format!("'{}'", sanitize(name))).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::Name { name, similar: Some(similar), .. } => {
                write!(f, "no such device '{}'; did you mean '{}'?", sanitize(name), sanitize(similar))
            }
            Self::Name { name, similar: None, .. } if Path::new(name).is_dir() => {
                write!(f, "no device below '{}'", sanitize(name))
            }
            Self::Name { name, similar: None, list_command } => {
                // A word like a path may have been meant as a file.
                let is_path = name.contains(['/', '.']) && !name.starts_with("/dev/");
                let or_file = if is_path { " or file" } else { "" };
                write!(f, "no such device{or_file} '{}'; run '{list_command}' for a list", sanitize(name))
            }
            Self::Names { names, list_command } => {
                write!(f, "no such devices: {}; run '{list_command}' for a list", quoted(names))
            }
            Self::NotInTime { names, intervals } => {
                write!(f, "{} not found in the first {}", quoted(names), intervals_text(*intervals))
            }
            Self::Pattern { pattern, intervals: None } => {
                write!(f, "no device matches '{}'", sanitize(pattern))
            }
            Self::Pattern { pattern, intervals: Some(intervals) } => {
                let searched = intervals_text(*intervals);
                write!(f, "no device matches '{}' in the first {searched}", sanitize(pattern))
            }
        }
    }
}

fn intervals_text(count: u64) -> String {
    if count == 1 { "interval".to_owned() } else { format!("{count} intervals") }
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
        let nodes =
            [node("sda", "/"), node("sdb", "/var/lib"), node("sdc", "/var/lib/mysql"), node("sdd", "[SWAP]")];
        let devices =
            ["sda", "sdb", "sdc", "sdd"].map(|name| Device { name: name.into(), ..Device::default() });
        let topology = Topology::new(nodes.to_vec());
        let found =
            |word: &str| find_device(word, &devices, &topology, None).map(|at| devices[at].name.as_str());
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
