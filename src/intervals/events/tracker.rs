//! The events of all devices, and the incidents that they belong to; disks that disappeared; how much has a verdict.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::event::{Event, TOLERANCE_S, complete};
use super::history::DeviceHistory;
use super::incident_tracker::{IncidentSummary, IncidentTracker, Trouble};
use crate::analysis::{DeviceReport, Evidence, MIN_LOADED_QUEUE, Verdict};
use crate::attribution::Attribution;
use crate::intervals::{
    DeviceActivity, DeviceInterval, DeviceNames, DeviceState, EventKind, Incident, IntervalRows,
    Moment, OngoingIncident, RunClock,
};
use crate::topology::{Kind, Topology, possible_disks};

/// The number of finished events that are kept. At twice that number, the mildest and shortest are dropped.
const MAX_EVENTS: usize = 10_000;

/// The number of beginnings of segments that are kept.
const MAX_SEGMENTS: usize = 1000;

/// Follows the devices through the intervals and collects their events, in bounded memory.
#[derive(Debug, Default)]
pub struct EventTracker {
    devices: HashMap<String, DeviceHistory>,
    pub(in crate::intervals) incidents: IncidentTracker,
    finished: Vec<Event>,
    dropped: u64,
    departures: Vec<Departure>,
    coverage: VerdictCoverage,
    /// The end of the latest interval.
    now: Moment,
    /// The beginning of the range of time that is shown, in seconds of all intervals, including those before it.
    range_begin_s: f64,
    /// The seconds of the run at the first sample and after breaks in time; the latest [`MAX_SEGMENTS`].
    segment_starts_s: VecDeque<f64>,
    intervals: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Events {
    /// The events, in the order in which they began.
    pub list: Vec<Event>,
    /// The number of events that were dropped because there were too many; they are milder or shorter than those in the
    /// list.
    pub dropped: u64,
    /// The disks that disappeared, in the order of time.
    pub departures: Vec<Departure>,
    /// The incidents that the events belong to, in the order in which they began.
    pub incidents: Vec<IncidentSummary>,
    pub coverage: VerdictCoverage,
}

impl Events {
    /// The incidents of a device, with the verdict on it that weighs most and the seconds with that.
    pub fn incidents_of(
        &self,
        device: &str,
    ) -> impl Iterator<Item = (&IncidentSummary, Option<(Verdict, f64)>)> {
        self.incidents.iter().filter_map(move |incident| {
            let own = incident
                .devices
                .iter()
                .find(|one| one.names.device == device)?;
            Some((incident, own.verdict))
        })
    }
}

impl EventTracker {
    /// Takes the next interval, and adds to its devices the incidents that they belong to. Intervals before the range of
    /// time that is shown matter only for the onset of trouble that lasts into the range.
    pub(in crate::intervals) fn observe(&mut self, rows: &mut IntervalRows, topology: &Topology) {
        let before_s = self.now.run_s;
        if self.intervals == 0 {
            self.segment_starts_s.push_back(before_s);
        }
        let end = Moment {
            at: rows.header.end,
            run_s: before_s + rows.header.elapsed_s,
        };
        self.now = end;
        if rows.header.is_preceding {
            self.range_begin_s = end.run_s;
        }
        self.intervals += 1;
        note_departures(&mut self.departures, rows, end);
        self.incidents.close(before_s, rows.header.elapsed_s);
        let mut in_trouble = Vec::new();
        for (index, row) in rows.devices.iter().enumerate() {
            match &row.state {
                DeviceState::Active(activity) => {
                    if !rows.header.is_preceding {
                        self.coverage.observe(activity);
                    }
                    let is_idle = activity.assessment.verdict == Some(Verdict::Idle);
                    if is_idle && activity.limit.is_none() {
                        continue;
                    }
                    if !self.devices.contains_key(row.device()) {
                        let device = DeviceHistory::new(&row.names, before_s);
                        self.devices.insert(row.device().to_owned(), device);
                    }
                    let Some(device) = self.devices.get_mut(row.device()) else {
                        continue;
                    };
                    device.seen = self.intervals;
                    let ended = device.observe(activity, end);
                    in_trouble.extend(device.present().map(|_| index));
                    ended.into_iter().for_each(|ended| self.push(ended));
                }
                DeviceState::AccountingOff(_) => {}
                DeviceState::Reset | DeviceState::MemberReset => self.interrupt(row.device()),
                DeviceState::Event(EventKind::Appeared) => {}
                DeviceState::Event(_) => self.interrupt(row.device()),
            }
        }
        for event in rows
            .events
            .iter()
            .filter(|event| event.kind != EventKind::Appeared)
        {
            self.interrupt(&event.names.device);
        }
        self.observe_idle_devices(end);
        // The upper devices come first, so that those below them join their incidents.
        for index in in_trouble.into_iter().rev() {
            self.find_incident(
                &mut rows.devices[index],
                rows.attribution.as_ref(),
                topology,
            );
        }
        self.mark_limited_devices(&mut rows.devices);
    }

    /// Adds the incident of a device in trouble to its row.
    fn find_incident(
        &mut self,
        row: &mut DeviceInterval,
        attribution: Option<&Attribution>,
        topology: &Topology,
    ) {
        let DeviceState::Active(activity) = &mut row.state else {
            return;
        };
        let Some(device) = self.devices.get(&row.names.device) else {
            return;
        };
        let Some((phase, begin)) = device.present() else {
            return;
        };
        let is_known = |begin: Moment| self.is_begin_known(begin.run_s - self.range_begin_s);
        // The device may have been in worse trouble before the first sample than at it.
        let unknown = device.onset_of_event().filter(|onset| !is_known(*onset));
        let (begin, begin_is_known) = unknown.map_or((begin, true), |onset| (onset, false));
        let end = self.now;
        let trouble = Trouble {
            device,
            phase,
            activity,
            begin,
            begin_is_known,
            end,
            attribution,
        };
        let Some(incident) = self.incidents.observe(&trouble, topology) else {
            return;
        };
        let id = incident.id;
        activity.incident = Some(self.ongoing(incident, &row.names));
        if let Some(device) = self.devices.get_mut(&row.names.device) {
            device.incident = id;
        }
    }

    /// Adds incidents to the rows of the devices that their limits are on.
    fn mark_limited_devices(&self, rows: &mut [DeviceInterval]) {
        for (incident, limit) in self.incidents.limited(self.now) {
            let row = rows
                .iter_mut()
                .find(|row| row.names.device == limit.limited_device);
            if let Some(DeviceInterval {
                names,
                state: DeviceState::Active(activity),
            }) = row
            {
                activity
                    .incident
                    .get_or_insert_with(|| self.ongoing(Arc::clone(incident), names));
            }
        }
    }

    /// Returns an incident as the row of a device has it in this interval.
    fn ongoing(&self, incident: Arc<Incident>, names: &DeviceNames) -> OngoingIncident {
        let is_victim = incident.victim.device == names.device;
        OngoingIncident {
            lasted_s: self.now.run_s - incident.begin.run_s,
            is_victim,
            incident,
        }
    }

    /// Notes a break in time: no event spans it.
    pub(in crate::intervals) fn note_break(&mut self) {
        if self.segment_starts_s.len() == MAX_SEGMENTS {
            self.segment_starts_s.pop_front();
        }
        self.segment_starts_s.push_back(self.now.run_s);
        for mut device in std::mem::take(&mut self.devices).into_values() {
            device
                .interrupt(self.now.run_s)
                .for_each(|phase| self.push(phase));
        }
        self.incidents.close_all();
    }

    /// Returns the events so far, including ongoing ones.
    pub fn events(&self, topology: &Topology) -> Events {
        self.to_events(self.all_phases(self.finished.clone()), topology)
    }

    /// Returns the events, including those that only the reports on the whole capture show, because the live verdicts
    /// had no baseline yet in early intervals. `clock` is the wall clock of the run.
    pub fn events_with(
        mut self,
        reports: &[DeviceReport],
        clock: &RunClock,
        topology: &Topology,
    ) -> Events {
        let finished = std::mem::take(&mut self.finished);
        let mut by_device: HashMap<String, Vec<Event>> = HashMap::new();
        for one in self.all_phases(finished) {
            by_device
                .entry(one.names.device.clone())
                .or_default()
                .push(one);
        }
        let run_s = self.now.run_s - self.range_begin_s;
        for report in reports.iter().filter(|report| !report.trouble.is_empty()) {
            let own = by_device.remove(&report.device).unwrap_or_default();
            let names = own.first().map(|one| Arc::clone(&one.names));
            let names = names.unwrap_or_else(|| DeviceNames::without_alias(&report.device));
            let is_last_ongoing = own.last().is_some_and(|one| one.is_ongoing);
            let mut own = complete(&names, own, &report.trouble, clock);
            for phase in &mut own {
                phase.is_ongoing = is_last_ongoing && phase.end.run_s >= run_s - TOLERANCE_S;
            }
            by_device.insert(report.device.clone(), own);
        }
        self.to_events(by_device.into_values().flatten(), topology)
    }

    /// Returns these finished phases and the unfinished ones, in the order of time.
    fn all_phases(&self, mut all: Vec<Event>) -> Vec<Event> {
        all.extend(self.devices.values().flat_map(DeviceHistory::unfinished));
        // From here on, seconds are those since the beginning of the range.
        all.iter_mut()
            .for_each(|one| one.shift(-self.range_begin_s));
        all.retain(|one| one.end.run_s > TOLERANCE_S);
        all.sort_by(|a, b| a.begin.run_s.total_cmp(&b.begin.run_s));
        all
    }

    /// Returns whether the onset of an event that begins after these seconds of the range was observed: it is not at
    /// the first sample, or at the first after a break in time.
    fn is_begin_known(&self, begin_s: f64) -> bool {
        let run_s = begin_s + self.range_begin_s;
        let at = self
            .segment_starts_s
            .partition_point(|start_s| *start_s < run_s - TOLERANCE_S);
        self.segment_starts_s
            .get(at)
            .is_none_or(|start_s| *start_s > run_s + TOLERANCE_S)
    }

    fn to_events(&self, phases: impl IntoIterator<Item = Event>, topology: &Topology) -> Events {
        let mut phases: Vec<Event> = phases.into_iter().collect();
        phases.sort_by(|a, b| {
            (a.begin.run_s.total_cmp(&b.begin.run_s))
                .then(b.verdict.severity().cmp(&a.verdict.severity()))
                .then_with(|| a.names.device.cmp(&b.names.device))
        });
        let is_begin_known = |begin_s| self.is_begin_known(begin_s);
        let (incidents, incident_of) =
            self.incidents
                .summaries(&mut phases, self.range_begin_s, is_begin_known, topology);
        let to_event = |(phase, at): (Event, Option<usize>)| {
            let incident = at.map(|at| &*incidents[at].incident);
            let of_victim = incident
                .filter(|one| one.victim.device == phase.names.device && one.begin == phase.begin);
            let begin_is_known = of_victim.map_or_else(
                || is_begin_known(phase.begin.run_s),
                |incident| incident.begin_is_known,
            );
            Event {
                incident: incident.map(|incident| incident.id),
                begin_is_known,
                ..phase
            }
        };
        let list = phases.into_iter().zip(incident_of).map(to_event).collect();
        let shift = |moment: Moment| Moment {
            run_s: moment.run_s - self.range_begin_s,
            ..moment
        };
        let within = self
            .departures
            .iter()
            .filter(|one| one.at.run_s > self.range_begin_s)
            .cloned();
        let departures = within
            .map(|one| Departure {
                at: shift(one.at),
                back_at: one.back_at.map(shift),
                ..one
            })
            .collect();
        Events {
            list,
            dropped: self.dropped,
            departures,
            incidents,
            coverage: self.coverage,
        }
    }

    /// Takes an interval for the devices that were idle in it.
    fn observe_idle_devices(&mut self, end: Moment) {
        let intervals = self.intervals;
        let mut ended = Vec::new();
        self.devices.retain(|_, device| {
            if device.seen == intervals {
                return true;
            }
            let phases = device
                .observe_idle(end)
                .into_iter()
                .chain(device.take_ended(end.run_s));
            ended.extend(phases);
            !device.is_empty()
        });
        ended.into_iter().for_each(|phase| self.push(phase));
    }

    /// Ends the events of a device whose counters were reset, or that has disappeared.
    fn interrupt(&mut self, name: &str) {
        let Some(mut device) = self.devices.remove(name) else {
            return;
        };
        device
            .interrupt(self.now.run_s)
            .for_each(|phase| self.push(phase));
    }

    fn push(&mut self, phase: Event) {
        if phase.end.run_s <= self.range_begin_s {
            return;
        }
        self.finished.push(phase);
        if self.finished.len() >= 2 * MAX_EVENTS {
            self.finished.sort_by(|a, b| {
                (b.verdict.severity().cmp(&a.verdict.severity()))
                    .then(b.duration_s().total_cmp(&a.duration_s()))
            });
            self.dropped += (self.finished.len() - MAX_EVENTS) as u64;
            self.finished.truncate(MAX_EVENTS);
        }
    }
}

/// Seconds of devices with a mean queue of [`MIN_LOADED_QUEUE`] or more, or in trouble.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VerdictCoverage {
    pub loaded_s: f64,
    /// Those without a verdict.
    pub silent_s: f64,
    /// Those without a verdict because the unloaded latency is not known.
    pub without_baseline_s: f64,
}

impl VerdictCoverage {
    pub(super) fn observe(&mut self, activity: &DeviceActivity) {
        let is_loaded = activity
            .stats
            .queue()
            .is_some_and(|queue| queue >= MIN_LOADED_QUEUE);
        let verdict = activity.assessment.verdict;
        if !is_loaded && !verdict.is_some_and(Verdict::is_trouble) {
            return;
        }
        let seconds = activity.stats.seconds();
        self.loaded_s += seconds;
        if verdict.is_some() {
            return;
        }
        self.silent_s += seconds;
        let lacks_baseline = |evidence: &Evidence| matches!(evidence, Evidence::Latency { doubt: Some(doubt), .. } if doubt.is_about_baseline());
        if activity.assessment.evidence.iter().any(lacks_baseline) {
            self.without_baseline_s += seconds;
        }
    }
}

const MAX_DEPARTURES: usize = 1000;

/// A disk that the kernel no longer listed, because it was removed or failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Departure {
    /// The kernel's name.
    pub device: String,
    /// The end of the interval in which it disappeared.
    pub at: Moment,
    /// The end of the interval in which a device of this name appeared again; `None` if none did.
    pub back_at: Option<Moment>,
}

/// Notes the disks that disappeared or came back in an interval, which ends at `end`. Devices that people create and remove
/// as they need them, such as volumes and loop devices, are left out.
fn note_departures(departures: &mut Vec<Departure>, rows: &IntervalRows, end: Moment) {
    for event in &rows.events {
        let device = &event.names.device;
        let back_at = match event.kind {
            EventKind::Appeared | EventKind::AppearedBriefly => {
                let is_same = |one: &&mut Departure| one.device == *device && one.back_at.is_none();
                let gone = departures.iter_mut().rev().find(is_same);
                // Of thousands of devices that appear at once, hardly any was there before.
                if let Some(gone) = gone.filter(|_| is_disk(device, rows)) {
                    gone.back_at = Some(end);
                }
                continue;
            }
            EventKind::Disappeared => None,
            EventKind::Reappeared => Some(end),
        };
        if departures.len() < MAX_DEPARTURES && is_disk(device, rows) {
            departures.push(Departure {
                device: device.clone(),
                at: end,
                back_at,
            });
        }
    }
}

/// Returns whether it is a disk rather than one of its partitions or a virtual device, by its name and those of the
/// interval.
fn is_disk(name: &str, rows: &IntervalRows) -> bool {
    let is_listed = |disk: &str| {
        let mut listed = rows.devices.iter().map(|row| row.device());
        listed.any(|one| one == disk) || rows.events.iter().any(|event| event.names.device == disk)
    };
    let is_partition = || possible_disks(name).into_iter().flatten().any(is_listed);
    Kind::from_name(name) == Kind::Disk && !is_partition()
}
