//! The devices and groups of a report, and their order.

use std::collections::{HashMap, HashSet};

use super::options::{DefaultDevices, Options, RequestedItem};
use crate::counters::{Counters, Device};
use crate::topology::{DeviceKey, NamedDevice, Topology};

/// A device or a group that was selected by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SelectedItem {
    /// A device, used or not.
    Device(NamedDevice),
    /// The start of a group with this name. Its devices are those up to the next group.
    Group(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// Devices and groups in the order of the command line.
    pub items: Vec<SelectedItem>,
    /// The partitions at the start of the run; see [`Selection::fix_partitions`].
    pub partitions: Vec<NamedDevice>,
}

impl Selection {
    /// Returns the selection of a command line. `resolve` finds the device of a name, given the type of persistent
    /// names that it may be one of.
    pub(super) fn from_options(
        options: &Options,
        resolve: impl Fn(&str, Option<&str>) -> Option<NamedDevice>,
    ) -> Self {
        let select = |item: &RequestedItem| match item {
            RequestedItem::Group(name) => SelectedItem::Group(name.clone()),
            RequestedItem::Device {
                name,
                partitions,
                persistent,
            } => {
                // An unknown device remains as a placeholder, because `unsorted_from` counts the items.
                let device =
                    resolve(name, persistent.as_deref()).unwrap_or_else(|| NamedDevice::plain(""));
                SelectedItem::Device(NamedDevice {
                    partitions: *partitions,
                    ..device
                })
            }
        };
        Self {
            items: options.items.iter().map(select).collect(),
            partitions: Vec::new(),
        }
    }

    /// Returns the entries of a report in order: by name, except from the first group or the first `-p` without devices
    /// onwards, where the order is that of the command line and then of /proc/diskstats or /sys.
    ///
    /// They are valid as long as the names of the devices do not change. `first_seen` ranks names by their first
    /// appearance: a device keeps its position while it is absent, and new ones come last.
    pub(super) fn entries(
        &self,
        options: &Options,
        devices: &[Device],
        topology: &Topology,
        first_seen: &HashMap<String, usize>,
    ) -> Vec<ReportEntry> {
        let mut list = EntryList {
            devices,
            entries: Vec::new(),
            names: HashSet::new(),
        };
        let last_group = self
            .items
            .iter()
            .rposition(|item| matches!(item, SelectedItem::Group(_)));
        let group = self.push_items(options, &mut list);
        let is_sorted = options.unsorted_from.is_none();
        let found = self.partitions_of_items(devices, topology);
        for named in self.partitions.iter().chain(&found) {
            list.insert_named(named, last_group, None, is_sorted);
        }
        let only_if_used = options.style.used_only;
        let is_default = |index: &usize| match options.default_devices {
            DefaultDevices::None => false,
            DefaultDevices::Whole => topology.is_whole(&devices[*index].name),
            DefaultDevices::WithPartitions => true,
        };
        let mut defaults: Vec<usize> = (0..devices.len()).filter(is_default).collect();
        if is_sorted {
            defaults.sort_by(|&a, &b| devices[a].name.cmp(&devices[b].name));
        } else {
            defaults.sort_by_key(|&index| {
                first_seen
                    .get(&devices[index].name)
                    .copied()
                    .unwrap_or(usize::MAX)
            });
        }
        if is_sorted && list.entries.is_empty() {
            // The usual case. Inserting the devices one by one would be slow.
            let entry = |index| DeviceEntry {
                index,
                alias: None,
                group: None,
                only_if_used,
            };
            return defaults
                .into_iter()
                .map(entry)
                .map(ReportEntry::Device)
                .collect();
        }
        for index in defaults {
            list.insert(
                DeviceEntry {
                    index,
                    alias: None,
                    group: last_group,
                    only_if_used,
                },
                None,
                is_sorted,
            );
        }
        list.entries.extend(group.map(ReportEntry::Group));
        list.entries
    }

    /// Adds the items of the command line. Returns the group that is still open.
    fn push_items(&self, options: &Options, list: &mut EntryList<'_>) -> Option<usize> {
        let mut group = None;
        for (at, item) in self.items.iter().enumerate() {
            match item {
                SelectedItem::Group(_) => list
                    .entries
                    .extend(group.replace(at).map(ReportEntry::Group)),
                SelectedItem::Device(named) => {
                    let is_sorted = options.unsorted_from.is_none_or(|from| at < from);
                    list.insert_named(named, group, named.sorts_as.as_deref(), is_sorted);
                }
            }
        }
        group
    }

    /// Returns the partitions of the disks that were selected together with their partitions.
    fn partitions_of_items(&self, devices: &[Device], topology: &Topology) -> Vec<NamedDevice> {
        let mut found = Vec::new();
        let mut owners: HashMap<&str, &DeviceKey> = HashMap::new();
        for item in &self.items {
            let SelectedItem::Device(named) = item else {
                continue;
            };
            // A name belongs to the device that has it first.
            let owner = owners.entry(&named.shown).or_insert(&named.key);
            let DeviceKey::Name(disk) = &named.key else {
                continue;
            };
            if named.partitions && *owner == &named.key && !disk.is_empty() {
                let is_part = |device: &&Device| topology.disk_of(&device.name) == Some(disk);
                found.extend(devices.iter().filter(is_part).map(named_partition));
            }
        }
        found
    }

    /// Finds the partitions that the selected disks have at the start. iostat identifies them by device number, and
    /// shows them before those that are added later. `list_partitions` returns the names in a disk's /sys directory, in
    /// order.
    pub(super) fn fix_partitions(
        &mut self,
        devices: &[Device],
        topology: &Topology,
        list_partitions: impl Fn(&str) -> Vec<String>,
    ) {
        let mut partitions = self.partitions_of_items(devices, topology);
        partitions.sort_by_cached_key(|partition| {
            let disk = topology.disk_of(&partition.shown).unwrap_or_default();
            let is_disk =
                |item: &SelectedItem| matches!(item, SelectedItem::Device(named) if named.shown == disk);
            let listed = list_partitions(disk);
            (self.items.iter().position(is_disk), listed.iter().position(|name| *name == partition.shown))
        });
        self.partitions = partitions;
    }
}

fn named_partition(partition: &Device) -> NamedDevice {
    match (partition.major, partition.minor) {
        // A device of `-f` may have no number.
        (0, 0) => NamedDevice::plain(&partition.name),
        (major, minor) => NamedDevice {
            key: DeviceKey::Number(major, minor),
            ..NamedDevice::plain(&partition.name)
        },
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReportEntry {
    Device(DeviceEntry),
    /// The sum of the group with this index among the items.
    Group(usize),
}

/// A device that is shown, or counted in its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceEntry {
    /// Its index among the devices of the sample.
    pub(crate) index: usize,
    /// The name on the command line, if it is not the kernel's.
    pub(crate) alias: Option<String>,
    /// The index of its group among the items; `None` outside groups.
    pub(crate) group: Option<usize>,
    /// True if it is shown only once it has completed a request since boot.
    pub(crate) only_if_used: bool,
}

impl DeviceEntry {
    /// Returns whether the device, with these counters, is hidden because it has not been used yet.
    pub(crate) fn is_hidden_unused(&self, now: &Counters) -> bool {
        self.only_if_used && now.completed() == [0; 4]
    }

    /// Returns the name that the entry is sorted by.
    pub(super) fn sort_key<'a>(&'a self, devices: &'a [Device]) -> &'a str {
        self.alias.as_deref().unwrap_or(&devices[self.index].name)
    }
}

/// Entries in their order, each device once; see [`Self::insert`].
struct EntryList<'a> {
    devices: &'a [Device],
    entries: Vec<ReportEntry>,
    names: HashSet<String>,
}

impl EntryList<'_> {
    /// Inserts a device by name, if the sample has it.
    fn insert_named(
        &mut self,
        named: &NamedDevice,
        group: Option<usize>,
        sorts_as: Option<&str>,
        is_sorted: bool,
    ) {
        if let Some(index) = self.devices.iter().position(|device| named.is(device)) {
            let entry = DeviceEntry {
                index,
                alias: named.alias(),
                group,
                only_if_used: false,
            };
            self.insert(entry, sorts_as, is_sorted);
        } else {
            // Its place is taken all the same.
            self.names.insert(named.shown.clone());
        }
    }

    /// Inserts a device, unless the list has it: before the first one with a greater name, or at the end if the
    /// order is not by name. `sorts_as` replaces its own name in comparisons with those before it, so that iostat lists
    /// a device again that is named by its mapped name.
    fn insert(&mut self, entry: DeviceEntry, sorts_as: Option<&str>, is_sorted: bool) {
        let key = entry.sort_key(self.devices);
        if !self.names.insert(key.to_owned()) && sorts_as.is_none() {
            return;
        }
        let key = sorts_as.unwrap_or(key);
        let is_greater = |other: &ReportEntry| match other {
            ReportEntry::Device(other) => other.sort_key(self.devices) > key,
            ReportEntry::Group(_) => false,
        };
        let at = if is_sorted {
            self.entries.iter().position(is_greater)
        } else {
            None
        };
        self.entries
            .insert(at.unwrap_or(self.entries.len()), ReportEntry::Device(entry));
    }
}

#[cfg(test)]
mod tests;
