//! The device that a name typed by the user refers to.

use std::fmt;

use crate::counters::Device;
use crate::sanitize::sanitize;
use crate::source::DeviceResolver;

/// Returns the index of the device that `word` names: by the kernel's name, by its `alias`, or, on the running system,
/// by a node in /dev.
pub fn find_device<'a>(
    word: &str,
    devices: &[Device],
    alias: impl Fn(&Device) -> Option<&'a str>,
    resolver: Option<&DeviceResolver>,
) -> Option<usize> {
    let name = without_directory(word);
    let has_name = |device: &Device| device.name == name || alias(device) == Some(name);
    let by_node = || {
        let named = resolver?.resolve(word, None, false, devices)?;
        devices.iter().position(|device| named.is(device))
    };
    devices.iter().position(has_name).or_else(by_node)
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
            Self::Name { name, similar: None, list_command } => {
                write!(f, "no such device '{}'; run '{list_command}' for a list", sanitize(name))
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
