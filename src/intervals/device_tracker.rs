//! Device state that lasts from one interval to the next.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::baseline_store::BaselineStore;
use super::device_filter::{DeviceAttributes, DeviceFilter};
use super::device_interval::{
    DeviceEvent, DeviceInterval, DeviceState, EventKind, IntervalRows, TopCgroup,
};
use super::device_record::{DepartedDevices, DeviceRecord};
use super::incident_log::IncidentLog;
use super::options::Detail;
use super::seconds::{Known, Seconds, has_work, host_second};
use super::summary::DeviceSummary;
use super::total::{Total, counts_in_total};
use crate::attribution::{Attribution, ReachedLimit};
use crate::baselines::RecordedBaselines;
use crate::counters::{Device, Sample};
use crate::incidents::{LimitStep, Moment, Second};
use crate::judge::{
    Assessment, DeviceStep, HostJudge, JudgedStep as Verdicted, Settings, Step as JudgedStep,
};
use crate::metrics::{DeviceMatch, HostStats, Interval};
use crate::source::{DeviceResolver, Step};
use crate::topology::{DeviceClass, DeviceNames, Kind, Topology};
use crate::units::Span;

/// The most transient devices that are named: bounds the memory if new names keep appearing.
const MAX_TRANSIENT_DEVICES: usize = 100;

/// The shortest step of the judge in seconds: one, less what samples are early.
const MIN_JUDGED_S: f64 = 0.95;

/// The incidents that a judged step is told to.
pub(super) struct JudgedLog<'a> {
    pub(super) incidents: &'a mut IncidentLog,
    pub(super) now: Moment,
    /// The samples that were skipped in the step.
    pub(super) missed: u64,
    /// The step is before the range of time that is shown.
    pub(super) is_preceding: bool,
}

/// Follows each device through the samples.
pub(super) struct DeviceTracker<'b> {
    /// The level of detail: which devices are listed, and with which values.
    pub(super) detail: Detail,
    baselines: &'b BaselineStore,
    /// The attributes of the devices of the last sample.
    pub(super) attributes: Vec<DeviceAttributes>,
    /// The index of the disk of each partition.
    disks: Vec<Option<usize>>,
    /// The order in which devices are listed, as indices of the last sample.
    order: Vec<usize>,
    /// The records, by index of the last sample.
    pub(super) records: Vec<DeviceRecord>,
    /// What the devices of the last sample are made of; `None` where that is not known.
    pub(super) classes: Vec<Option<DeviceClass>>,
    departed: DepartedDevices,
    pub(super) judge: HostJudge,
    seconds: Seconds,
    /// The seconds since the latest step of the judge.
    unjudged_s: f64,
    /// The sample at the beginning of a step of the judge that takes several samples; `None` where one is enough.
    unjudged_from: Option<Sample>,
    /// The attributes of the devices at the beginning of the interval, if devices have changed since then.
    old_attributes: Option<Vec<DeviceAttributes>>,
    /// Devices that appeared in the interval and disappeared again. Some may also be in its first or last sample.
    transient_devices: BTreeSet<String>,
    /// The baselines of the recording that is replayed.
    recorded: RecordedBaselines,
    /// True if the counters of a device were reset since the attributes were learned, so that it may be another one.
    pub(super) had_reset: bool,
}

impl<'b> DeviceTracker<'b> {
    pub(super) fn new(detail: Detail, baselines: &'b BaselineStore) -> Self {
        Self {
            detail,
            baselines,
            attributes: Vec::new(),
            disks: Vec::new(),
            order: Vec::new(),
            records: Vec::new(),
            classes: Vec::new(),
            departed: DepartedDevices::default(),
            judge: HostJudge::default(),
            seconds: Seconds::default(),
            unjudged_s: 0.0,
            unjudged_from: None,
            old_attributes: None,
            transient_devices: BTreeSet::new(),
            recorded: RecordedBaselines::default(),
            had_reset: false,
        }
    }

    /// Learns the attributes of the devices of the last sample.
    pub(super) fn learn(
        &mut self,
        devices: &[Device],
        topology: &Topology,
        recorded: &RecordedBaselines,
        resolver: Option<&DeviceResolver>,
        filter: &mut DeviceFilter<'_>,
    ) {
        (self.attributes, self.order) = filter.attributes(devices, topology, resolver);
        self.had_reset = false;
        let index_of: HashMap<&str, usize> = devices
            .iter()
            .enumerate()
            .map(|(index, device)| (device.name.as_str(), index))
            .collect();
        self.disks.clear();
        for device in devices {
            let node = topology.node(&device.name);
            let partition = node.filter(|node| node.kind == Kind::Partition);
            let disk = partition.and_then(|node| node.backing_devices.first());
            self.disks
                .push(disk.and_then(|disk| index_of.get(disk.as_str()).copied()));
        }
        for device in devices {
            if self.recorded.get(&device.name) != recorded.get(&device.name) {
                self.judge.forget(&device.name);
            }
        }
        let identities = self.attributes.iter().map(|it| it.identity.as_deref());
        let named = devices
            .iter()
            .map(|device| device.name.as_str())
            .zip(identities);
        self.judge.learn_devices(named, topology);
        self.recorded.clone_from(recorded);
    }

    /// Notes the beginning of a segment: the next interval does not follow the latest.
    pub(super) fn interrupt(&mut self) {
        self.records.iter_mut().for_each(DeviceRecord::interrupt);
        self.unjudged_s = 0.0;
        self.unjudged_from = None;
        self.seconds.interrupt();
        self.judge.interrupt();
    }

    /// Forgets the summaries of all devices, because the range of time that is shown begins.
    pub(super) fn clear_summaries(&mut self) {
        self.records
            .iter_mut()
            .for_each(|record| record.summary = DeviceSummary::default());
        self.departed = DepartedDevices::default();
    }

    /// Begins an interval after the last sample.
    pub(super) fn begin_interval(&mut self) {
        for (index, record) in self.records.iter_mut().enumerate() {
            record.begin_interval(index);
        }
        self.old_attributes = None;
        self.transient_devices.clear();
    }

    /// Moves the records to the indices of their devices in the newer sample. Returns whether devices have changed:
    /// [`Self::learn`] must follow then.
    pub(super) fn follow(&mut self, step: &Step<'_>) -> bool {
        let (older, newer) = (&step.older.devices, &step.newer.devices);
        if step.device_match == DeviceMatch::Identical && self.records.len() == newer.len() {
            return false;
        }
        let mut records = std::mem::take(&mut self.records);
        records.resize(older.len(), DeviceRecord::default());
        let stays = stays(
            older.len(),
            (0..newer.len()).map(|index| step.device_match.previous_index(index)),
        );
        for (index, device) in older.iter().enumerate().filter(|(index, _)| !stays[*index]) {
            let label = self
                .attributes
                .get(index)
                .map_or(&device.name, |attributes| &attributes.names.label);
            let summary = std::mem::take(&mut records[index].summary);
            self.departed.insert(&device.name, label, summary);
            if records[index].first_index.is_none()
                && self.transient_devices.len() < MAX_TRANSIENT_DEVICES
            {
                self.transient_devices.insert(device.name.clone());
            }
        }
        self.records.reserve(newer.len());
        for (index, device) in newer.iter().enumerate() {
            self.records
                .push(match step.device_match.previous_index(index) {
                    Some(previous) => std::mem::take(&mut records[previous]),
                    None => {
                        let summary = self.departed.remove(&device.name).unwrap_or_default();
                        DeviceRecord::with_summary(summary)
                    }
                });
        }
        let attributes = std::mem::take(&mut self.attributes);
        self.old_attributes.get_or_insert(attributes);
        true
    }

    /// Returns the selected devices that appeared or disappeared between the first sample of the interval and the last.
    pub(super) fn events(
        &self,
        first: &Sample,
        last: &Sample,
        filter: &DeviceFilter<'_>,
    ) -> Vec<DeviceEvent> {
        let Some(old_attributes) = &self.old_attributes else {
            return Vec::new();
        };
        let mut events = Vec::new();
        let mut back = HashSet::new();
        for index in &self.order {
            let attributes = &self.attributes[*index];
            if self.records[*index].first_index.is_some() || !filter.is_selected(attributes) {
                continue;
            }
            let name = attributes.names.device.as_str();
            let kind = match first.device(name) {
                Some(_) => EventKind::Reappeared,
                None => EventKind::Appeared,
            };
            events.push(event(&attributes.names, kind));
            back.insert(name);
        }
        let stays = stays(
            first.devices.len(),
            self.records.iter().map(|record| record.first_index),
        );
        for (attributes, stays) in old_attributes.iter().zip(stays) {
            let is_gone = !stays && !back.contains(attributes.names.device.as_str());
            if is_gone && filter.is_selected(attributes) {
                events.push(event(&attributes.names, EventKind::Disappeared));
            }
        }
        for name in &self.transient_devices {
            let is_brief = first.device(name).is_none() && last.device(name).is_none();
            if is_brief && filter.is_name_selected(name) {
                let names = DeviceNames::without_alias(name);
                events.push(event(&names, EventKind::AppearedBriefly));
            }
        }
        events
    }

    /// Adds a step of every device to the interval. Returns true if a step of the judge is over with it: that is a second or
    /// more, so that shorter ones are added up first.
    pub(super) fn add(&mut self, step: &Step<'_>) -> bool {
        for (index, (record, newer)) in self.records.iter_mut().zip(&step.newer.devices).enumerate()
        {
            let Some(previous) = step.device_match.previous_index(index) else {
                record.unjudged = None;
                continue;
            };
            let older = &step.older.devices[previous];
            let mut interval = Interval::of_device(older, newer, step.span);
            if let Some(interval) = &mut interval
                && newer.counters.in_flight > 0
                && let Some(Some(disk)) = self.disks.get(index)
                && has_nothing_in_flight(interval, step, *disk)
            {
                interval.forget_in_flight();
            }
            record.add(interval.as_ref(), self.unjudged_s == 0.0);
            self.had_reset |= interval.is_none();
        }
        self.unjudged_s += step.span.seconds();
        if self.unjudged_s >= MIN_JUDGED_S {
            return true;
        }
        if self.unjudged_from.is_none() {
            self.unjudged_from = Some(step.older.clone());
        }
        false
    }

    /// Judges what happened since the latest step of the judge, up to the last sample, and tells `log` of it.
    pub(super) fn judge(
        &mut self,
        step: &Step<'_>,
        topology: &Topology,
        attribution: Option<&Attribution>,
        mut log: Option<JudgedLog<'_>>,
    ) {
        let first = self.unjudged_from.take();
        let first = first.as_ref().unwrap_or(step.older);
        let span = step.newer.at.since(&first.at).unwrap_or(step.span);
        let host = HostStats::between(first, step.newer, span);
        let mut devices = Vec::with_capacity(self.records.len());
        for (index, (record, newer)) in self.records.iter().zip(&step.newer.devices).enumerate() {
            let before = step
                .device_match
                .previous_index(index)
                .map_or(newer, |previous| &step.older.devices[previous]);
            devices.push(DeviceStep {
                name: &newer.name,
                interval: record.unjudged,
                before: &before.counters,
                is_accounting_off: self.attributes[index].is_accounting_off,
            });
        }
        let judged = JudgedStep {
            devices: &devices,
            sample: step.newer,
            seconds: self.unjudged_s,
            host: &host,
            topology,
            tasks: attribution.map_or(&[], |found| &found.blocked),
        };
        let said = self.judge.judge(&judged, |index| Settings {
            class: self.classes.get(index).copied().flatten(),
            ..self.baselines.settings(
                &step.newer.devices[index].name,
                self.attributes[index].identity.as_deref(),
                &self.recorded,
            )
        });
        let mut reached = HashMap::new();
        if let Some(log) = &mut log {
            reached = self.seconds.reached_limits(&LimitStep {
                devices: &devices,
                assessments: &said,
                attribution,
                host: &host,
                topology,
            });
            let second = self.second(&judged, &said, &reached, attribution, log);
            log.incidents.observe(second, topology, log.is_preceding);
        }
        for (index, assessment) in said.into_iter().enumerate() {
            let name = devices[index].name;
            let incident_word = log.as_ref().and_then(|log| log.incidents.word(name));
            let judged = assessment.map(|assessment| Verdicted {
                assessment,
                incident_word,
                reached_limit: reached.remove(name),
                at: step.newer.at.wall,
                seconds: devices[index]
                    .interval
                    .as_ref()
                    .map_or(0.0, Interval::seconds),
            });
            self.records[index].note_judgement(judged);
        }
        self.unjudged_s = 0.0;
    }

    /// The second that a step of the judge is for incidents.
    fn second(
        &mut self,
        step: &JudgedStep<'_>,
        said: &[Option<Assessment>],
        reached: &HashMap<String, ReachedLimit>,
        attribution: Option<&Attribution>,
        log: &JudgedLog<'_>,
    ) -> Second {
        let mut seconds = Vec::new();
        for place in &self.order {
            let device = &step.devices[*place];
            let Some(assessment) = &said[*place] else {
                continue;
            };
            let health = step.sample.health.as_ref();
            let known = Known {
                place: *place,
                names: &self.attributes[*place].names,
                step: device,
                assessment,
                health: health
                    .and_then(|facts| facts.get(device.name))
                    .map(|facts| &**facts),
                reached_limit: reached.get(device.name),
                attribution,
            };
            // Most devices of a large host rest all the time.
            let is_told = has_work(device, assessment)
                || known.has_fact()
                || known.is_waited_for()
                || log.incidents.follows(device.name);
            if is_told {
                seconds.extend(known.second());
            }
        }
        Second {
            end: log.now,
            seconds: step.seconds,
            missed: log.missed,
            host: host_second(step.host),
            devices: seconds,
            scan: attribution.map(|found| self.seconds.scan(found)),
        }
    }

    /// Adds the devices of an interval and their total, if that is wanted; `without_util` if it is too short for util.
    pub(super) fn list(
        &mut self,
        first: &Sample,
        last: &Sample,
        span: Span,
        filter: &DeviceFilter<'_>,
        without_util: bool,
        rows: &mut IntervalRows,
    ) {
        let mut total = Total::default();
        let mut order = self.order.clone();
        if self.detail.lists_all() {
            // An analysis lists devices in the order of the capture.
            order.sort_unstable();
        }
        for index in order {
            let attributes = &self.attributes[index];
            let is_selected = filter.is_selected(attributes);
            if self.detail.lists_all() && !is_selected {
                continue;
            }
            let (record, device) = (&mut self.records[index], &last.devices[index]);
            let Some(first_index) = record.first_index else {
                if self.detail.lists_all() {
                    let appeared = event(&attributes.names, EventKind::Appeared);
                    rows.devices.push(appeared.to_interval());
                }
                continue;
            };
            record.judge_rest();
            let (counters, interval) = (&device.counters, &record.judged.interval);
            let is_in_total = filter.has_total() && counts_in_total(attributes.total_role, last);
            let is_unchanged = device.logged.is_none()
                && *counters == first.devices[first_index].counters
                && counters.in_flight == 0;
            // The fast path for devices that are not listed: most devices of a large host are idle.
            if !self.detail.lists_all()
                && is_unchanged
                && !record.is_reset
                && !record.judged.assessment().is_trouble()
                && !filter.is_listed(attributes, counters, !record.summary.is_empty())
            {
                if is_in_total {
                    total.add(interval);
                }
                if !attributes.is_accounting_off {
                    record.summary.observe_idle(span);
                }
                continue;
            }
            let state = if record.is_reset {
                record.interrupt();
                DeviceState::Reset
            } else if attributes.is_accounting_off && interval.completed() == 0.0 {
                DeviceState::AccountingOff(Box::new(std::mem::take(&mut record.judged)))
            } else {
                let mut activity = Box::new(record.take_activity(without_util, last.at.wall));
                activity.top_cgroup = top_cgroup(rows.attribution.as_ref(), &device.name);
                activity.health = last
                    .health
                    .as_ref()
                    .and_then(|facts| facts.get(&device.name))
                    .cloned();
                DeviceState::Active(activity)
            };
            match &state {
                DeviceState::Active(activity) if is_in_total => {
                    total.add(&activity.judged.interval)
                }
                _ if is_in_total => total.add_unknown(&state),
                _ => {}
            }
            let row = DeviceInterval {
                names: Arc::clone(&attributes.names),
                state,
            };
            let was_active =
                !record.summary.is_empty() || row.stats().is_some_and(|stats| !stats.is_idle());
            let is_listed = self.detail.lists_all()
                || filter.is_listed(attributes, counters, was_active)
                || row.state == DeviceState::Reset
                || row.is_in_trouble();
            if is_selected && is_listed {
                rows.devices.push(row);
            }
        }
        if filter.has_total() {
            rows.total = total.finish();
        }
    }

    /// Returns the summaries of the selected devices, worst first.
    pub(super) fn summaries(&self, filter: &DeviceFilter<'_>) -> Vec<(String, DeviceSummary)> {
        let mut summaries = Vec::new();
        for index in &self.order {
            let attributes = &self.attributes[*index];
            if filter.is_selected(attributes) {
                let summary = self.records[*index].summary.clone();
                summaries.push((attributes.names.label.clone(), summary));
            }
        }
        for (name, (label, summary)) in &self.departed.0 {
            if filter.is_name_selected(name) || filter.is_name_selected(label) {
                summaries.push((label.clone(), summary.clone()));
            }
        }
        summaries.sort_by(|(_, a), (_, b)| a.worst_first(b));
        summaries
    }
}

/// Returns whether the kernel lost count of the requests of a partition: its disk has none in flight, or completes others and is
/// not busy all the time.
fn has_nothing_in_flight(partition: &Interval, step: &Step<'_>, disk: usize) -> bool {
    /// Half of the time: a request that hangs keeps the disk busy all of it.
    const MAX_UTIL_PCT: f64 = 50.0;
    let newer = &step.newer.devices[disk];
    if newer.counters.in_flight == 0 {
        return true;
    }
    let older = step.device_match.previous_index(disk);
    let of_disk = older.and_then(|older| {
        let older = &step.older.devices[older];
        Interval::of_device(older, newer, step.span)
    });
    let is_elsewhere = of_disk.is_some_and(|of_disk| {
        let util = of_disk.util_pct();
        of_disk.completed() > 0.0 && util.is_some_and(|util| util < MAX_UTIL_PCT)
    });
    partition.completed() == 0.0 && is_elsewhere
}

fn event(names: &Arc<DeviceNames>, kind: EventKind) -> DeviceEvent {
    DeviceEvent {
        names: Arc::clone(names),
        kind,
    }
}

/// Returns the cgroup with most of the bytes of a device; `None` if that is not known.
fn top_cgroup(attribution: Option<&Attribution>, device: &str) -> Option<TopCgroup> {
    let top = attribution?.device(device)?.top_cgroup()?;
    Some(TopCgroup {
        path: Arc::clone(&top.path),
        share_pct: top.share_pct?,
    })
}

/// Returns for each device of an older sample whether a newer one has it: `places` are the indices in the older one.
fn stays(older_count: usize, places: impl Iterator<Item = Option<usize>>) -> Vec<bool> {
    let mut stays = vec![false; older_count];
    places.flatten().for_each(|index| stays[index] = true);
    stays
}
