//! Device state that lasts from one interval to the next.

use std::collections::HashSet;

use super::baseline_store::BaselineStore;
use super::device_filter::{DeviceAttributes, DeviceFilter};
use super::device_interval::{DeviceActivity, DeviceEvent, DeviceInterval, DeviceState, EventKind};
use super::device_judge::IntervalVerdict;
use super::device_record::{DepartedDevices, DeviceRecord};
use super::options::Detail;
use super::sample_pair::SamplePair;
use super::summary::DeviceSummary;
use super::total::{Total, counts_in_total};
use crate::analysis::{KnownDevice, LiveVerdict, Settings, SinceBoot};
use crate::baselines::RecordedBaselines;
use crate::counters::Device;
use crate::metrics::{CountedTime, DeviceMatch, HostStats, Interval};
use crate::source::DeviceResolver;
use crate::topology::Topology;

/// Follows each device through the samples.
pub(super) struct DeviceTracker<'b> {
    detail: Detail,
    baselines: &'b BaselineStore,
    attributes: Vec<DeviceAttributes>,
    /// The order in which devices are listed, as indices of the last sample.
    order: Vec<usize>,
    /// The records, by index of the last sample.
    records: Vec<DeviceRecord>,
    /// The facts about the devices of the last sample.
    known_devices: Vec<KnownDevice>,
    departed: DepartedDevices,
    /// The baselines of the recording that is replayed.
    recorded: RecordedBaselines,
    /// The counters of a device were reset since the attributes were learned.
    had_reset: bool,
}

/// Settings of one interval that affect every device.
#[derive(Clone, Copy)]
pub(super) struct RowOptions {
    /// True if the interval is too short for util.
    pub(super) without_util: bool,
    /// True to add up a total.
    pub(super) with_total: bool,
}

pub(super) struct Rows<'a> {
    pub(super) listed: Vec<DeviceInterval<'a>>,
    /// Active devices stacked on these or below them that are not listed.
    pub(super) neighbors: Vec<DeviceInterval<'a>>,
    /// The total, if wanted.
    pub(super) total: Option<DeviceInterval<'a>>,
}

impl<'b> DeviceTracker<'b> {
    pub(super) fn new(detail: Detail, baselines: &'b BaselineStore) -> Self {
        Self {
            detail,
            baselines,
            attributes: Vec::new(),
            order: Vec::new(),
            records: Vec::new(),
            known_devices: Vec::new(),
            departed: DepartedDevices::default(),
            recorded: RecordedBaselines::default(),
            had_reset: false,
        }
    }

    /// The level of detail: which devices are listed, and with which values.
    pub(super) fn detail(&self) -> Detail {
        self.detail
    }

    /// The attributes of the devices of the last sample.
    pub(super) fn attributes(&self) -> &[DeviceAttributes] {
        &self.attributes
    }

    /// Learns the attributes of the devices of the last sample.
    pub(super) fn learn(
        &mut self,
        devices: &[Device],
        topology: &Topology,
        recorded: Option<&RecordedBaselines>,
        resolver: Option<&DeviceResolver>,
        filter: &mut DeviceFilter<'_>,
    ) {
        (self.attributes, self.order) = filter.attributes(devices, topology, resolver);
        if self.detail.lists_all() {
            // An analysis lists devices in the order of the capture.
            self.order = (0..devices.len()).collect();
        }
        self.had_reset = false;
        let none = RecordedBaselines::default();
        let recorded = recorded.unwrap_or(&none);
        for ((record, attributes), device) in self.records.iter_mut().zip(&self.attributes).zip(devices) {
            record.identify(attributes.identity.as_deref());
            if self.recorded.get(&device.name) != recorded.get(&device.name) {
                record.reset();
            }
        }
        self.recorded.clone_from(recorded);
    }

    /// Returns whether the counters of any device were reset since the attributes were learned, so that it may be
    /// another one.
    pub(super) fn had_reset(&self) -> bool {
        self.had_reset
    }

    /// Sets the facts about the devices of the last sample, which decide which known limits may apply to them.
    pub(super) fn set_known_devices(&mut self, known_devices: Vec<KnownDevice>) {
        self.known_devices = known_devices;
    }

    /// Notes the beginning of a segment: the next interval does not follow the latest.
    pub(super) fn interrupt(&mut self) {
        self.records.iter_mut().for_each(DeviceRecord::interrupt);
    }

    /// Forgets the summaries of all devices, because the range of time that is shown begins.
    pub(super) fn clear_summaries(&mut self) {
        self.records.iter_mut().for_each(|record| record.summary = DeviceSummary::default());
        self.departed = DepartedDevices::default();
    }

    /// Moves the records to the indices of their devices in the newer sample. If devices changed, returns the
    /// attributes of the older sample; [`Self::learn`] must follow.
    pub(super) fn follow(
        &mut self,
        older: &[Device],
        newer: &[Device],
        device_match: &DeviceMatch,
    ) -> Option<Vec<DeviceAttributes>> {
        if *device_match == DeviceMatch::Identical && self.records.len() == newer.len() {
            return None;
        }
        let mut records = std::mem::take(&mut self.records);
        records.resize(older.len(), DeviceRecord::default());
        let stays = stays(older.len(), newer.len(), device_match);
        for (index, device) in older.iter().enumerate().filter(|(index, _)| !stays[*index]) {
            let label = self.attributes.get(index).map_or(&device.name, |attributes| &attributes.label);
            self.departed.insert(&device.name, label, records[index].summary);
        }
        let departed = &mut self.departed;
        let record_of = |index: usize| match device_match.previous_index(index) {
            Some(previous) => std::mem::take(&mut records[previous]),
            None => DeviceRecord::with_summary(departed.remove(&newer[index].name).unwrap_or_default()),
        };
        self.records = (0..newer.len()).map(record_of).collect();
        Some(std::mem::take(&mut self.attributes))
    }

    /// Returns the selected devices that appeared or disappeared. `old_attributes` are those of the older sample.
    pub(super) fn events(
        &self,
        pair: &SamplePair<'_>,
        filter: &DeviceFilter<'_>,
        old_attributes: &[DeviceAttributes],
    ) -> Vec<DeviceEvent> {
        let (older, newer) = (&pair.older.devices, &pair.newer.devices);
        let stays = stays(older.len(), newer.len(), pair.device_match);
        let gone: Vec<usize> = (0..older.len()).filter(|index| !stays[*index]).collect();
        let gone_names: HashSet<&str> = gone.iter().map(|index| older[*index].name.as_str()).collect();
        let mut events = Vec::new();
        let mut back = HashSet::new();
        for index in self.order.iter().copied().filter(|index| pair.device(*index).is_none()) {
            let (name, attributes) = (newer[index].name.as_str(), &self.attributes[index]);
            if !filter.is_selected(attributes) {
                continue;
            }
            let is_back = gone_names.contains(name);
            if is_back {
                back.insert(name);
            }
            let kind = if is_back { EventKind::Reappeared } else { EventKind::Appeared };
            events.push(event(name, attributes, kind));
        }
        for index in gone {
            let Some(attributes) = old_attributes.get(index) else { continue };
            let name = older[index].name.as_str();
            if filter.is_selected(attributes) && !back.contains(name) {
                events.push(event(name, attributes, EventKind::Disappeared));
            }
        }
        events
    }

    /// Assesses the devices in a sample within an interval, or at the end of an interval of several samples.
    pub(super) fn judge_samples(&mut self, step: &SamplePair<'_>, without_util: bool) {
        if !self.detail.has_verdicts() {
            return;
        }
        let end = step.newer.at.wall;
        let host = HostStats::between(step.older, step.newer, step.span);
        for (index, record) in self.records.iter_mut().enumerate() {
            let Some(device) = step.device(index) else { continue };
            let attributes = &self.attributes[index];
            let known = self.known_devices.get(index).copied().unwrap_or_default();
            let is_accounting_off = attributes.is_accounting_off;
            if step.is_unchanged(&device) && device.newer.counters.in_flight == 0 {
                if !is_accounting_off {
                    record.judge_idle_sample(step.span, end);
                }
                continue;
            }
            let Some(stats) = step.interval(&device).map(|interval| shown_util(interval, without_util))
            else {
                record.reset_judge();
                self.had_reset = true;
                continue;
            };
            if !is_accounting_off || stats.completed() > 0 {
                record.judge_sample(&stats, &host, end, || {
                    new_live_verdict(self.baselines, attributes, known, &self.recorded, device.older)
                });
            }
        }
    }

    /// Returns the devices of an interval. If it has several samples, each must have been assessed.
    pub(super) fn rows<'a>(
        &'a mut self,
        pair: &SamplePair<'a>,
        filter: &DeviceFilter<'_>,
        options: RowOptions,
    ) -> Rows<'a> {
        let (mut rows, mut neighbors) = (Vec::new(), Vec::new());
        let mut total = Total::default();
        let seconds = pair.span.seconds();
        for index in self.order.iter().copied() {
            let attributes = &self.attributes[index];
            let is_selected = filter.is_selected(attributes);
            let is_needed = is_selected || self.detail.has_verdicts() && attributes.is_neighbor;
            if self.detail.lists_all() && !is_needed {
                continue;
            }
            let record = &mut self.records[index];
            let verdict = record.take_verdict(seconds);
            let Some(device) = pair.device(index) else {
                if self.detail.lists_all() && is_selected {
                    rows.push(row(
                        &pair.newer.devices[index],
                        attributes,
                        DeviceState::Event(EventKind::Appeared),
                    ));
                }
                continue;
            };
            let counters = &device.newer.counters;
            let is_in_total = options.with_total && counts_in_total(attributes.total_role, pair.newer);
            // The fast path for devices that are not listed: most devices of a large host are idle.
            if self.detail == Detail::Report
                && pair.is_unchanged(&device)
                && counters.in_flight == 0
                && !filter.is_listed(attributes, counters, None)
            {
                if !attributes.is_accounting_off {
                    record.summary.observe_idle(pair.span);
                }
                if is_in_total && let Some(interval) = pair.interval(&device) {
                    total.add(&interval);
                }
                continue;
            }
            let stats = pair.interval(&device).map(|interval| shown_util(interval, options.without_util));
            let state = match stats {
                None => {
                    record.interrupt_statistics();
                    self.had_reset |= !self.detail.has_verdicts();
                    DeviceState::Reset
                }
                Some(stats) if attributes.is_accounting_off && stats.completed() == 0 => {
                    DeviceState::AccountingOff(Box::new(stats))
                }
                Some(stats) => {
                    let mut activity = Box::new(DeviceActivity { stats, ..DeviceActivity::default() });
                    if self.detail.has_verdicts() {
                        verdict.unwrap_or_else(|| IntervalVerdict::idle(seconds)).assign_to(&mut activity);
                    }
                    record.observe(&mut activity, pair.max_in_flight(&device), pair.newer.at.wall);
                    DeviceState::Active(activity)
                }
            };
            match &state {
                DeviceState::Active(activity) if is_in_total => total.add(&activity.stats),
                _ if is_in_total => total.add_unknown(&state),
                _ => {}
            }
            let row = row(device.newer, attributes, state);
            let is_listed = filter.is_listed(attributes, counters, row.stats())
                || matches!(row.state, DeviceState::Reset) && is_selected;
            if is_listed || self.detail.lists_all() && is_selected {
                rows.push(row);
            } else if attributes.is_neighbor {
                neighbors.push(row);
            }
        }
        let total = if options.with_total { total.finish() } else { None };
        Rows { listed: rows, neighbors, total }
    }

    /// Returns the summaries of the selected devices, worst first.
    pub(super) fn summaries(&self, filter: &DeviceFilter<'_>) -> Vec<(String, DeviceSummary)> {
        let present = self.order.iter().filter_map(|index| {
            let attributes = self.attributes.get(*index).filter(|it| filter.is_selected(it))?;
            Some((attributes.label.clone(), self.records.get(*index)?.summary))
        });
        let departed = self.departed.iter().filter_map(|(name, label, summary)| {
            let is_selected = filter.is_name_selected(name) || filter.is_name_selected(label);
            is_selected.then(|| (label.to_owned(), summary))
        });
        let mut summaries: Vec<_> = present.chain(departed).collect();
        summaries.sort_by(|(_, a), (_, b)| a.worst_first(b));
        summaries
    }
}

fn event(name: &str, attributes: &DeviceAttributes, kind: EventKind) -> DeviceEvent {
    DeviceEvent { device: name.to_owned(), label: attributes.label.clone(), kind }
}

fn row<'a>(device: &'a Device, attributes: &'a DeviceAttributes, state: DeviceState) -> DeviceInterval<'a> {
    let DeviceAttributes { label, mountpoints, .. } = attributes;
    DeviceInterval { device: &device.name, label, mountpoints, state }
}

/// Returns a new live verdict for a device that becomes active after this sample.
fn new_live_verdict(
    baselines: &BaselineStore,
    attributes: &DeviceAttributes,
    known: KnownDevice,
    recorded: &RecordedBaselines,
    device: &Device,
) -> LiveVerdict {
    let settings = Settings {
        device: known,
        ..baselines.settings(&device.name, attributes.identity.as_deref(), recorded)
    };
    LiveVerdict::new(&settings, SinceBoot::from_counters(&device.counters))
}

/// Returns the interval without its util if that is too short for it.
fn shown_util(interval: Interval, without_util: bool) -> Interval {
    if without_util { Interval { busy: CountedTime::default(), ..interval } } else { interval }
}

/// Returns for each device of an older sample whether the newer one has it.
fn stays(older_count: usize, newer_count: usize, device_match: &DeviceMatch) -> Vec<bool> {
    let mut stays = vec![false; older_count];
    let previous = (0..newer_count).filter_map(|index| device_match.previous_index(index));
    previous.for_each(|index| stays[index] = true);
    stays
}
