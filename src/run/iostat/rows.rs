//! The device report of two samples: which devices and groups, and their numbers.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::slots::Slots;
use crate::counters::{Columns, Counters, Sample};
use crate::metrics::{DeviceMatch, IostatRates, was_replugged};
use crate::plan::Iostat;
use crate::report::iostat::Row;
use crate::select::{DevicePlace, Item, ReportEntry, Selection};
use crate::topology::Topology;
use crate::units::Interval;

/// DeviceResolver to show, by the kernel's names.
pub(super) type ShownNames = HashMap<String, String>;

/// What to make of a device that the earlier sample does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NewDevice {
    /// It was plugged in since: its counters began at zero.
    FromZero,
    /// Nobody knows since when it counts: a capture may lack a line.
    Excluded,
}

/// Finds the rows of a report.
pub(super) struct DeviceRows<'a> {
    plan: &'a Iostat,
    wanted: Selection,
    new_device: NewDevice,
    pairs: DeviceMatch,
    places: Vec<ReportEntry>,
    slots: Slots,
    /// The names that were seen, numbered as they came.
    came: HashMap<String, usize>,
    /// DeviceResolver to show in place of the kernel's.
    pub(super) shown: ShownNames,
    /// Devices of this major number should be shown by other names, which cannot be read.
    pub(super) nameless_major: Option<u32>,
    /// What the devices of a group added up to in the sample before.
    sums_before: HashMap<usize, Counters>,
    /// The groups that have had a device.
    had_devices: HashSet<usize>,
}

/// The devices of a group added up.
#[derive(Default)]
struct Sum {
    older: Counters,
    newer: Counters,
    devices: u32,
}

impl<'a> DeviceRows<'a> {
    pub(super) fn new(plan: &'a Iostat, wanted: Selection, new_device: NewDevice) -> Self {
        Self {
            plan,
            wanted,
            new_device,
            pairs: DeviceMatch::Identical,
            places: Vec::new(),
            slots: Slots::default(),
            came: HashMap::new(),
            shown: ShownNames::new(),
            nameless_major: None,
            sums_before: HashMap::new(),
            had_devices: HashSet::new(),
        }
    }

    /// Finds out which device is which in two samples, after the sample before these. Whether names changed: then
    /// [`Self::place`] must follow.
    pub(super) fn pair(&mut self, oldest: &Sample, older: &Sample, newer: &Sample) -> bool {
        self.pairs = DeviceMatch::between(&older.devices, &newer.devices);
        let names_changed = self.pairs != DeviceMatch::Identical;
        // A replay never asks what was away, and a capture may hold any number of names.
        if self.new_device == NewDevice::FromZero {
            self.slots.step(oldest, older, newer, names_changed);
        }
        names_changed || self.places.is_empty()
    }

    /// Finds the places of the report for the devices of a sample.
    pub(super) fn place(&mut self, newer: &Sample, topology: &Topology) {
        if self.plan.others.are_as_listed() {
            for device in &newer.devices {
                let next = self.came.len();
                self.came.entry(device.name.clone()).or_insert(next);
            }
        }
        self.places = self.wanted.places(&newer.devices, topology, &self.came);
    }

    /// The rows of the report on two samples that [`Self::pair`] has seen; up to the first device, if there is
    /// one, whose name cannot be told, which is said by `true`.
    pub(super) fn between<'s>(
        &'s self,
        older: &Sample,
        newer: &'s Sample,
        interval: Interval,
    ) -> (Vec<Row<'s>>, bool) {
        let mut rows = Vec::with_capacity(self.places.len());
        let mut sums: HashMap<usize, Sum> = HashMap::new();
        for place in &self.places {
            match place {
                ReportEntry::Device(place) => {
                    let now = &newer.devices[place.index].counters;
                    let Some(before) = self.before(place, older, newer) else { continue };
                    let is_unused = place.is_unused(now);
                    if let Some(group) = place.group {
                        let sum = sums.entry(group).or_default();
                        sum.devices += 1;
                        if !is_unused {
                            sum.older = sum.older.plus(before);
                            sum.newer = sum.newer.plus(now);
                        }
                    }
                    let is_hidden = is_unused || (self.plan.groups_only && place.group.is_some());
                    if !is_hidden && !self.is_left_out(before, now) {
                        if self.nameless_major == Some(newer.devices[place.index].major) {
                            return (rows, true);
                        }
                        let rates = rates(before, now, interval);
                        rows.push(Row { name: self.name(place, newer), is_group: false, rates });
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

    /// Remembers what the groups add up to, for the next report.
    pub(super) fn remember(&mut self, newer: &Sample) {
        self.sums_before.clear();
        for place in &self.places {
            let ReportEntry::Device(place) = place else { continue };
            let now = &newer.devices[place.index].counters;
            if let Some(group) = place.group.filter(|_| !place.is_unused(now)) {
                let sum = self.sums_before.entry(group).or_default();
                *sum = sum.plus(now);
            }
        }
        self.had_devices.extend(self.sums_before.keys());
    }

    fn name<'s>(&'s self, place: &'s DevicePlace, newer: &'s Sample) -> Cow<'s, str> {
        let name = &newer.devices[place.index].name;
        let shown = self.shown.get(name).or(place.alias.as_ref());
        Cow::Borrowed(shown.unwrap_or(name))
    }

    /// What a device is compared with.
    fn before<'s>(&'s self, place: &DevicePlace, older: &'s Sample, newer: &Sample) -> Option<&'s Counters> {
        match (self.pairs.previous_index(place.index), self.new_device) {
            (Some(at), _) => Some(&older.devices[at].counters),
            (None, NewDevice::FromZero) => Some(self.slots.before(&newer.devices[place.index].name)),
            (None, NewDevice::Excluded) => None,
        }
    }

    fn is_left_out(&self, before: &Counters, now: &Counters) -> bool {
        let has_no_times = now.columns == Columns::Partition;
        (self.plan.style.active_only && before.completed() == now.completed())
            || (self.plan.style.extended && self.plan.others.are_as_listed() && has_no_times)
    }

    fn group_row(&self, at: usize, sum: &Sum, interval: Interval) -> Option<Row<'static>> {
        let Some(Item::Group(name)) = self.wanted.items.get(at) else { return None };
        if sum.devices == 0 && self.plan.style.extended && !self.had_devices.contains(&at) {
            // Only the short report has a row for a group that never had a device.
            return None;
        }
        let now = &sum.newer;
        let before = match self.new_device {
            // Live, the sum is compared with what the members before added up to, whoever they were; iostat has
            // forgotten that where it prints four tables.
            NewDevice::FromZero if self.plan.style.is_broken_up() => &Counters::ZERO,
            NewDevice::FromZero => self.sums_before.get(&at).unwrap_or(&Counters::ZERO),
            NewDevice::Excluded => &sum.older,
        };
        if self.is_left_out(before, now) {
            return None;
        }
        let rates = rates(before, now, interval).of_devices(sum.devices);
        Some(Row { name: Cow::Owned(format!(" {name}")), is_group: true, rates })
    }
}

/// The numbers of a device, or of a group; those of a replugged one since it was plugged in.
fn rates(before: &Counters, now: &Counters, interval: Interval) -> IostatRates {
    let before = if was_replugged(before, now) { &Counters::ZERO } else { before };
    IostatRates::between(before, now, interval)
}
