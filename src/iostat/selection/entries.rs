//! The entries of a report, and the list that puts them in order.

use std::collections::HashSet;

use crate::counters::{Counters, Device};
use crate::topology::NamedDevice;

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
    /// Returns the entries of default devices outside groups.
    pub(super) fn defaults(indexes: &[usize], only_if_used: bool) -> Vec<ReportEntry> {
        let entry =
            |&index| ReportEntry::Device(DeviceEntry { index, alias: None, group: None, only_if_used });
        indexes.iter().map(entry).collect()
    }

    /// Returns whether the device, with these counters, is hidden because it has not been used yet.
    pub(crate) fn is_hidden_unused(&self, now: &Counters) -> bool {
        self.only_if_used && now.completed() == [0; 4]
    }

    /// Returns the name that the entry is sorted by.
    pub(super) fn sort_key<'a>(&'a self, devices: &'a [Device]) -> &'a str {
        self.alias.as_deref().unwrap_or(&devices[self.index].name)
    }
}

/// Entries in their order, each device once.
pub(super) struct EntryList<'a> {
    devices: &'a [Device],
    entries: Vec<ReportEntry>,
    names: HashSet<String>,
}

impl<'a> EntryList<'a> {
    /// Returns an empty list for these devices.
    pub(super) fn new(devices: &'a [Device]) -> Self {
        Self { devices, entries: Vec::new(), names: HashSet::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Appends the sum of a group, if there is one.
    pub(super) fn push_group(&mut self, group: Option<usize>) {
        self.entries.extend(group.map(ReportEntry::Group));
    }

    /// Inserts a device by name, if the sample has it.
    pub(super) fn insert_named(
        &mut self,
        named: &NamedDevice,
        group: Option<usize>,
        sorts_as: Option<&str>,
        is_sorted: bool,
    ) {
        if let Some(index) = self.devices.iter().position(|device| named.is(device)) {
            let entry = DeviceEntry { index, alias: named.alias(), group, only_if_used: false };
            self.insert(entry, sorts_as, is_sorted);
        }
    }

    /// Inserts a device, unless the list has it: before the first one with a greater name, or at the end if the
    /// order is not by name. `sorts_as` replaces its own name in the comparison.
    pub(super) fn insert(&mut self, entry: DeviceEntry, sorts_as: Option<&str>, is_sorted: bool) {
        let key = entry.sort_key(self.devices);
        if !self.names.insert(key.to_owned()) {
            return;
        }
        let key = sorts_as.unwrap_or(key);
        let is_greater = |other: &ReportEntry| match other {
            ReportEntry::Device(other) => other.sort_key(self.devices) > key,
            ReportEntry::Group(_) => false,
        };
        let at = if is_sorted { self.entries.iter().position(is_greater) } else { None };
        self.entries.insert(at.unwrap_or(self.entries.len()), ReportEntry::Device(entry));
    }

    /// Returns the entries, after closing the group that is still open.
    pub(super) fn into_entries(mut self, group: Option<usize>) -> Vec<ReportEntry> {
        self.push_group(group);
        self.entries
    }
}
