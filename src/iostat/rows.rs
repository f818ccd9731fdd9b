//! The device report of two samples: devices and groups with their numbers.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::options::Options;
use super::rates::{IostatRates, was_replugged};
use super::selection::{DeviceEntry, ReportEntry, SelectedItem, Selection};
use super::text::Row;
use crate::counters::{Counters, Sample};
use crate::metrics::DeviceMatch;
use crate::topology::Topology;
use crate::units::Span;

/// The names to show, by the kernel's names.
pub(super) type DisplayNames = HashMap<String, String>;

/// Turns pairs of samples into the rows of a report.
pub(super) struct DeviceRows<'a> {
    options: &'a Options,
    selection: Selection,
    /// A device that the older sample lacks is hot-plugged, and its counters started at zero. In a capture, which may lack a
    /// line, it is omitted.
    is_live: bool,
    device_match: DeviceMatch,
    entries: Vec<ReportEntry>,
    slots: CounterSlots,
    /// Device names, ranked by their first appearance.
    first_seen: HashMap<String, usize>,
    /// The names to show instead of the kernel's.
    pub display_names: DisplayNames,
    /// The major number of devices whose display names cannot be read; a report ends before the first of them.
    pub unreadable_major: Option<u32>,
    /// The sums of the groups in the previous sample.
    previous_sums: HashMap<usize, Counters>,
    /// The groups that have ever had a device.
    groups_with_devices: HashSet<usize>,
}

/// The sum of the devices in a group.
#[derive(Default)]
struct GroupSum {
    older: Counters,
    newer: Counters,
    devices: u32,
}

impl<'a> DeviceRows<'a> {
    /// Returns the rows of a selection, before the first sample.
    pub(super) fn new(options: &'a Options, selection: Selection, is_live: bool) -> Self {
        Self {
            options,
            selection,
            is_live,
            device_match: DeviceMatch::Identical,
            entries: Vec::new(),
            slots: CounterSlots::default(),
            first_seen: HashMap::new(),
            display_names: DisplayNames::new(),
            unreadable_major: None,
            previous_sums: HashMap::new(),
            groups_with_devices: HashSet::new(),
        }
    }

    /// Matches the devices of two samples; `oldest` is the sample before them. Returns whether device names changed:
    /// then the caller must call [`Self::update_entries`].
    pub(super) fn match_devices(
        &mut self,
        oldest: &Sample,
        older: &Sample,
        newer: &Sample,
    ) -> bool {
        self.device_match = DeviceMatch::between(&older.devices, &newer.devices);
        let names_changed = self.device_match != DeviceMatch::Identical;
        // A replay does not need absent devices, and a capture may have any number of names.
        if self.is_live {
            self.slots.advance(oldest, older, newer, names_changed);
        }
        names_changed || self.entries.is_empty()
    }

    /// Determines the entries of a report for the devices of a sample.
    pub(super) fn update_entries(&mut self, newer: &Sample, topology: &Topology) {
        let mut devices: Vec<_> = newer.devices.iter().collect();
        if !self.options.lists_all() {
            devices.sort_by_key(|device| topology.index_of(&device.name));
        }
        for device in devices {
            let rank = self.first_seen.len();
            self.first_seen.entry(device.name.clone()).or_insert(rank);
        }
        self.entries =
            self.selection
                .entries(self.options, &newer.devices, topology, &self.first_seen);
    }

    /// Returns the rows of the report on two matched samples, and whether they end early: before a device whose
    /// display name cannot be read.
    pub(super) fn between<'s>(
        &'s self,
        older: &Sample,
        newer: &'s Sample,
        interval: Span,
    ) -> (Vec<Row<'s>>, bool) {
        let mut rows = Vec::with_capacity(self.entries.len());
        let mut sums: HashMap<usize, GroupSum> = HashMap::new();
        for entry in &self.entries {
            match entry {
                ReportEntry::Device(entry) => {
                    let now = &newer.devices[entry.index].counters;
                    let Some(before) = self.previous_counters(entry, older, newer) else {
                        continue;
                    };
                    let is_unused = entry.is_hidden_unused(now);
                    if let Some(group) = entry.group {
                        let sum = sums.entry(group).or_default();
                        sum.devices += 1;
                        if !is_unused {
                            sum.older = sum.older.plus(before);
                            sum.newer = sum.newer.plus(now);
                        }
                    }
                    let is_hidden =
                        is_unused || (self.options.groups_only && entry.group.is_some());
                    if !is_hidden && !self.is_omitted(before, now) {
                        if self.unreadable_major == Some(newer.devices[entry.index].major) {
                            return (rows, true);
                        }
                        let rates = Some(rates(before, now, interval));
                        let name = &newer.devices[entry.index].name;
                        let shown = self
                            .display_names
                            .get(name)
                            .or(entry.alias.as_ref())
                            .unwrap_or(name);
                        rows.push(Row {
                            name: Cow::Borrowed(shown),
                            is_group: false,
                            rates,
                        });
                    }
                }
                ReportEntry::Group(at) => {
                    let sum = sums.remove(at).unwrap_or_default();
                    rows.extend(self.group_row(*at, &sum, interval));
                }
            }
        }
        (rows, false)
    }

    /// Stores the sums of the groups for the next report.
    pub(super) fn store_sums(&mut self, newer: &Sample) {
        self.previous_sums.clear();
        for entry in &self.entries {
            let ReportEntry::Device(entry) = entry else {
                continue;
            };
            let now = &newer.devices[entry.index].counters;
            if let Some(group) = entry.group.filter(|_| !entry.is_hidden_unused(now)) {
                let sum = self.previous_sums.entry(group).or_default();
                *sum = sum.plus(now);
            }
        }
        self.groups_with_devices.extend(self.previous_sums.keys());
    }

    /// Returns the counters that a device is compared with; `None` if the device is omitted.
    fn previous_counters<'s>(
        &'s self,
        entry: &DeviceEntry,
        older: &'s Sample,
        newer: &Sample,
    ) -> Option<&'s Counters> {
        match self.device_match.previous_index(entry.index) {
            Some(at) => Some(&older.devices[at].counters),
            None => self.is_live.then(|| {
                self.slots
                    .previous_counters(&newer.devices[entry.index].name)
            }),
        }
    }

    fn is_omitted(&self, before: &Counters, now: &Counters) -> bool {
        (self.options.style.active_only && before.completed() == now.completed())
            || (self.options.style.extended && self.options.lists_all() && now.is_old_partition())
    }

    fn group_row(&self, at: usize, sum: &GroupSum, interval: Span) -> Option<Row<'static>> {
        let Some(SelectedItem::Group(name)) = self.selection.items.get(at) else {
            return None;
        };
        let row = |rates| Row {
            name: Cow::Owned(format!(" {name}")),
            is_group: true,
            rates,
        };
        let now = &sum.newer;
        if self.options.style.used_only && now.completed() == [0; 4] {
            // A group is hidden like a device that has not been used yet.
            return None;
        }
        // In a live run, iostat compares the sum with that of the previous members, even if the members changed. When it
        // prints four tables, it has lost the previous sum.
        let before = match self.is_live {
            true if self.options.style.is_split() => &Counters::ZERO,
            true => self.previous_sums.get(&at).unwrap_or(&Counters::ZERO),
            false => &sum.older,
        };
        if self.is_omitted(before, now) {
            return None;
        }
        if sum.devices == 0
            && self.options.style.extended
            && !self.groups_with_devices.contains(&at)
        {
            return Some(row(None));
        }
        Some(row(Some(
            rates(before, now, interval).with_devices(sum.devices),
        )))
    }
}

/// Returns the numbers of a device or a group; for a replugged device, those since it was plugged in.
fn rates(before: &Counters, now: &Counters, interval: Span) -> IostatRates {
    let before = if was_replugged(before, now) {
        &Counters::ZERO
    } else {
        before
    };
    IostatRates::between(before, now, interval)
}

/// iostat keeps two readings of each device and overwrites them in turn. A device that was absent and returns is
/// therefore compared with the last content of its other slot, which may be two readings old, or zero.
#[derive(Default)]
struct CounterSlots {
    /// The slot of the latest sample: 0 or 1.
    current: usize,
    absent: HashMap<String, [Counters; 2]>,
}

impl CounterSlots {
    /// Advances to `newer` and stores the devices that have disappeared since `older`. Must be called for every
    /// sample.
    fn advance(&mut self, oldest: &Sample, older: &Sample, newer: &Sample, names_changed: bool) {
        self.current ^= 1;
        if !names_changed {
            return;
        }
        let present: HashSet<&str> = newer
            .devices
            .iter()
            .map(|device| device.name.as_str())
            .collect();
        for device in older
            .devices
            .iter()
            .filter(|device| !present.contains(device.name.as_str()))
        {
            let slots = self.absent.entry(device.name.clone()).or_default();
            if let Some(earlier) = oldest.device(&device.name) {
                slots[self.current] = earlier.counters;
            }
            slots[self.current ^ 1] = device.counters;
        }
    }

    /// Returns the counters that a device which was absent in the previous sample is compared with.
    fn previous_counters(&self, name: &str) -> &Counters {
        self.absent
            .get(name)
            .map_or(&Counters::ZERO, |slots| &slots[self.current ^ 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{Device, Requests};

    fn sample(reads: Option<u64>) -> Sample {
        let counters = |ios| Counters {
            reads: Requests {
                ios,
                ..Requests::default()
            },
            ..Counters::default()
        };
        let device = reads.map(|ios| Device {
            name: "sdb".into(),
            counters: counters(ios),
            ..Device::default()
        });
        Sample {
            devices: device.into_iter().collect(),
            ..Sample::default()
        }
    }

    /// Returns what each reading is compared with if the device was absent before; a reading of `None` is an absent
    /// device.
    fn bases(readings: &[Option<u64>]) -> Vec<Option<u64>> {
        let mut samples = vec![sample(None), sample(None)];
        samples.extend(readings.iter().map(|reads| sample(*reads)));
        let mut slots = CounterSlots::default();
        let mut bases = Vec::new();
        for window in samples.windows(3) {
            let [oldest, older, newer] = window else {
                continue;
            };
            slots.advance(
                oldest,
                older,
                newer,
                older.devices.len() != newer.devices.len(),
            );
            let is_new = !newer.devices.is_empty() && older.devices.is_empty();
            bases.push(is_new.then(|| slots.previous_counters("sdb").reads.ios));
        }
        bases
    }

    #[test]
    fn a_new_device_is_compared_with_zero() {
        assert_eq!(bases(&[None, Some(5)]), [None, Some(0)]);
    }

    #[test]
    fn a_device_that_returns_is_compared_with_its_other_slot() {
        assert_eq!(
            bases(&[Some(1), Some(2), None, Some(9)]),
            [Some(0), None, None, Some(1)]
        );
        assert_eq!(
            bases(&[Some(1), Some(2), None, None, Some(9)]),
            [Some(0), None, None, None, Some(2)]
        );
        assert_eq!(bases(&[Some(1), None, Some(9)]), [Some(0), None, Some(0)]);
        assert_eq!(
            bases(&[Some(1), None, None, Some(9), None, Some(10)])[5],
            Some(1)
        );
    }
}
