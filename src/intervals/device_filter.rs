//! Device selection: which devices are listed, in which order, and under which names.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use regex_lite::Regex;

use super::device_lookup::{NotFound, find_device, without_directory};
use super::options::DeviceSelection;
use super::total::{TotalRole, total_roles};
use crate::counters::{Counters, Device};
use crate::sanitize::{path_text, sanitize};
use crate::source::DeviceResolver;
use crate::topology::DeviceNames;
use crate::topology::{Kind, Node, Topology, natural_key};

/// The properties of a device that hold until names or topology change.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceAttributes {
    pub(super) names: Arc<DeviceNames>,
    /// See [`Topology::identity`].
    pub(super) identity: Option<String>,
    /// The kernel does not count its requests.
    pub(super) is_accounting_off: bool,
    /// Its part in a total.
    pub(super) total_role: TotalRole,
    is_listed_only_after_io: bool,
    /// Requested by name or by pattern.
    is_requested: bool,
    is_excluded: bool,
}

/// Returns the mount points of a device, then the file behind it, separated by commas.
fn mountpoints(node: &Node) -> String {
    let mut texts = node.mountpoints.clone();
    texts.extend(node.backing_file.clone());
    texts.join(",")
}

fn alias<'a>(name: &str, topology: &'a Topology) -> Option<&'a str> {
    topology.node(name)?.alias.as_deref()
}

/// Returns whether a pattern matches a device by its name or its alias.
fn matches_name(pattern: &Regex, name: &str, topology: &Topology) -> bool {
    pattern.is_match(name) || alias(name, topology).is_some_and(|alias| pattern.is_match(alias))
}

/// Compiles the pattern of an option, if it is given.
///
/// # Errors
/// When it is not a regular expression.
fn compile(option: &str, pattern: Option<&str>) -> Result<Option<Regex>> {
    let Some(pattern) = pattern else {
        return Ok(None);
    };
    match Regex::new(pattern) {
        Ok(regex) => Ok(Some(regex)),
        Err(error) => {
            let pattern = sanitize(pattern);
            bail!("{option} '{pattern}' is not a regular expression: {error}")
        }
    }
}

/// Applies a [`DeviceSelection`].
pub(super) struct DeviceFilter<'a> {
    selection: &'a DeviceSelection,
    regex: Option<Regex>,
    exclude: Option<Regex>,
    /// For each requested name, true if a device was found.
    found: Vec<bool>,
    /// True if the pattern matched a device.
    has_match: bool,
    /// True if `--exclude` left a device.
    has_remaining: bool,
}

impl<'a> DeviceFilter<'a> {
    /// Compiles the selection.
    ///
    /// # Errors
    /// When the pattern is not a regular expression.
    pub(super) fn new(selection: &'a DeviceSelection) -> Result<Self> {
        Ok(Self {
            selection,
            regex: compile("--devices-regex", selection.regex.as_deref())?,
            exclude: compile("--exclude", selection.exclude.as_deref())?,
            found: vec![false; selection.devices.len()],
            has_match: false,
            has_remaining: false,
        })
    }

    /// Returns the attributes of each device, and the order of the devices: by the number of layers below, then by
    /// name.
    pub(super) fn attributes(
        &mut self,
        devices: &[Device],
        topology: &Topology,
        resolver: Option<&DeviceResolver>,
    ) -> (Vec<DeviceAttributes>, Vec<usize>) {
        let requested = self.requested(devices, topology, resolver);
        let excluded = self.excluded(devices, topology);
        let is_restricted = self.is_restricted();
        let roles = total_roles(
            devices,
            topology,
            is_restricted.then_some(requested.as_slice()),
        );
        let mut attributes = Vec::with_capacity(devices.len());
        for (index, device) in devices.iter().enumerate() {
            let node = topology.node(&device.name);
            let kind = node.map_or_else(|| Kind::from_name(&device.name), |node| node.kind);
            let alias = node.and_then(|node| node.alias.clone());
            let is_partition = kind == Kind::Partition;
            let is_often_idle = kind.is_memory() || kind == Kind::Loop || is_partition;
            attributes.push(DeviceAttributes {
                names: Arc::new(DeviceNames {
                    device: device.name.clone(),
                    label: alias.unwrap_or_else(|| device.name.clone()),
                    mountpoints: node.map(mountpoints).unwrap_or_default(),
                }),
                identity: topology.identity(&device.name).map(str::to_owned),
                is_accounting_off: node.is_some_and(Node::is_accounting_off),
                total_role: if excluded[index] {
                    TotalRole::Excluded
                } else {
                    roles[index]
                },
                is_listed_only_after_io: is_often_idle
                    && !(is_partition && self.selection.partitions),
                is_requested: requested[index],
                is_excluded: excluded[index],
            });
            self.has_remaining |= !excluded[index];
        }
        let mut order: Vec<usize> = (0..devices.len()).collect();
        order.sort_by_cached_key(|index| {
            (
                topology.depth(&devices[*index].name),
                natural_key(&attributes[*index].names.label),
            )
        });
        (attributes, order)
    }

    /// Returns for each device whether it was requested, by any of its names or by the pattern.
    fn requested(
        &mut self,
        devices: &[Device],
        topology: &Topology,
        resolver: Option<&DeviceResolver>,
    ) -> Vec<bool> {
        let mut requested = vec![false; devices.len()];
        if let Some(regex) = &self.regex {
            for (requested, device) in requested.iter_mut().zip(devices) {
                *requested = matches_name(regex, &device.name, topology);
            }
        }
        self.has_match |= requested.contains(&true);
        for (word, found) in self.selection.devices.iter().zip(&mut self.found) {
            if let Some(index) = find_device(word, devices, topology, resolver) {
                requested[index] = true;
                *found = true;
            }
        }
        requested
    }

    /// Returns for each device whether the pattern of `--exclude` matches one of its names. A device that is named as an
    /// operand is never excluded.
    fn excluded(&self, devices: &[Device], topology: &Topology) -> Vec<bool> {
        let mut excluded = vec![false; devices.len()];
        let Some(pattern) = &self.exclude else {
            return excluded;
        };
        for (excluded, device) in excluded.iter_mut().zip(devices) {
            let alias = alias(&device.name, topology);
            let is_named =
                self.is_named(&device.name) || alias.is_some_and(|one| self.is_named(one));
            *excluded = matches_name(pattern, &device.name, topology) && !is_named;
        }
        excluded
    }

    /// Returns whether an operand is this name.
    fn is_named(&self, name: &str) -> bool {
        let mut words = self.selection.devices.iter();
        words.any(|word| without_directory(word) == name)
    }

    /// Returns whether only requested devices are listed.
    fn is_restricted(&self) -> bool {
        self.regex.is_some() || !self.selection.devices.is_empty()
    }

    /// Returns whether a report lists a device in an interval; `was_active` tells whether it was active in this interval
    /// or an earlier one: lines that come and go would move the others.
    pub(super) fn is_listed(
        &self,
        attributes: &DeviceAttributes,
        counters: &Counters,
        was_active: bool,
    ) -> bool {
        if self.is_restricted() || attributes.is_excluded {
            return self.is_selected(attributes);
        }
        let was_ever_active = counters.completed() != [0; 4] || counters.in_flight > 0;
        self.selection.all
            || was_active
            || !attributes.is_listed_only_after_io
                && (was_ever_active || attributes.is_accounting_off)
    }

    /// Returns whether a device is selected, active or not.
    pub(super) fn is_selected(&self, attributes: &DeviceAttributes) -> bool {
        !attributes.is_excluded && (!self.is_restricted() || attributes.is_requested)
    }

    /// Returns whether a device is selected, judging only by its name.
    pub(super) fn is_name_selected(&self, name: &str) -> bool {
        if self.is_named(name) {
            return true;
        }
        if let Some(pattern) = &self.exclude
            && pattern.is_match(name)
        {
            return false;
        }
        match &self.regex {
            Some(pattern) => pattern.is_match(name),
            None => !self.is_restricted(),
        }
    }

    /// Returns the requested devices that were never found; `None` if all were. `searched` is the number of intervals,
    /// if COUNT ended the search; `capture` is the file that was replayed.
    pub(super) fn not_found(
        &self,
        devices: &[Device],
        attributes: &[DeviceAttributes],
        searched: Option<u64>,
        capture: Option<&Path>,
    ) -> Option<NotFound> {
        let (mut names, mut quoted) = (Vec::new(), Vec::new());
        for (word, found) in self.selection.devices.iter().zip(&self.found) {
            if !found {
                names.push(word.clone());
                quoted.push(format!("'{}'", sanitize(word)));
            }
        }
        let mut list_command = "blkstat devices".to_owned();
        if let Some(path) = capture {
            list_command += &format!(" --from {}", path_text(path));
        }
        let searched = match searched {
            None => String::new(),
            Some(1) => " in the first interval".to_owned(),
            Some(count) => format!(" in the first {count} intervals"),
        };
        let message = match names.as_slice() {
            [] => match (&self.selection.regex, &self.selection.exclude) {
                (Some(pattern), _) if !self.has_match => {
                    format!("no device matches '{}'{searched}", sanitize(pattern))
                }
                // On the running system, others may appear.
                (_, Some(pattern)) if !self.has_remaining && capture.is_some() => {
                    format!(
                        "--exclude '{}' leaves no device{searched}",
                        sanitize(pattern)
                    )
                }
                _ => return None,
            },
            _ if !searched.is_empty() => format!("{} not found{searched}", quoted.join(", ")),
            [name] => {
                let mut known = Vec::new();
                for device in devices {
                    known.push(device.name.as_str());
                }
                for attributes in attributes {
                    known.push(attributes.names.label.as_str());
                }
                return Some(NotFound::name(name, known.into_iter(), &list_command));
            }
            _ => {
                let quoted = quoted.join(", ");
                format!("no such devices: {quoted}; run '{list_command}' for a list")
            }
        };
        Some(NotFound {
            names,
            has_similar: false,
            message,
        })
    }

    /// Returns whether a total is wanted.
    pub(super) fn has_total(&self) -> bool {
        self.selection.total
    }

    /// Returns whether any selected device was ever found.
    pub(super) fn has_found_any(&self) -> bool {
        !self.is_restricted() || self.has_match || self.found.contains(&true)
    }
}

/// Returns whether the kernel counts the requests of every device and the samples have every disk of the host, unlike a
/// recording of only a few devices. Paths of NVMe disks may be missing, because their disks count their requests.
pub(super) fn are_all_requests_counted(topology: &Topology, devices: &[Device]) -> bool {
    let names: HashSet<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    for node in topology.nodes() {
        let has_size = !matches!(node.size_bytes, None | Some(0));
        let is_disk = node.backing_devices.is_empty() && node.kind != Kind::NvmePath && has_size;
        if node.is_accounting_off() || is_disk && !names.contains(node.name.as_str()) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_missing_or_not_counted_may_have_any_requests() {
        let node = |name: &str, size_bytes| Node {
            name: name.into(),
            size_bytes,
            ..Node::default()
        };
        let device = |name: &str| Device {
            name: name.into(),
            ..Device::default()
        };
        let two = || vec![node("sda", Some(512)), node("sdb", Some(512))];
        let is_complete =
            |nodes, devices: &[Device]| are_all_requests_counted(&Topology::new(nodes), devices);
        assert!(is_complete(two(), &[device("sdb"), device("sda")]));
        assert!(!is_complete(two(), &[device("sda")]));
        // An empty drive, and a partition of a disk that is in the samples.
        let partition = Node {
            backing_devices: vec!["sda".into()],
            ..node("sda1", Some(512))
        };
        assert!(is_complete(
            vec![node("sda", Some(512)), node("sr0", Some(0)), partition],
            &[device("sda")]
        ));
        let off = |ignores| Node {
            iostats_enabled: Some(false),
            ignores_iostats: Some(ignores),
            ..node("sda", Some(512))
        };
        assert!(is_complete(vec![off(true)], &[device("sda")]));
        assert!(!is_complete(vec![off(false)], &[device("sda")]));
    }
}
