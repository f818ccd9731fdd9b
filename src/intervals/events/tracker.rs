//! The events of all devices.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::departure::{Departure, Departures};
use super::event::{Event, Moment};
use super::history::DeviceHistory;
use super::phase::Phase;
use super::retrospect::complete;
use crate::analysis::{DeviceReport, Verdict};
use crate::intervals::{DeviceNames, DeviceState, EventKind, IntervalRows, RunClock};

/// The number of finished events that are kept. At twice that number, the mildest and shortest are dropped.
const MAX_EVENTS: usize = 10_000;

/// The number of beginnings of segments that are kept.
const MAX_SEGMENTS: usize = 1000;

/// Less than any interval, more than the rounding error of a sum of seconds.
const TOLERANCE_S: f64 = 1e-3;

/// Follows the devices through the intervals and collects their events, in bounded memory.
#[derive(Debug, Default)]
pub struct EventTracker {
    devices: HashMap<String, DeviceHistory>,
    finished: Vec<Phase>,
    dropped: u64,
    departures: Departures,
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
}

/// The time for which a device has been in trouble.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Since {
    pub verdict: Verdict,
    pub begin: Moment,
    /// Seconds from the onset to the end of the latest interval.
    pub lasted_s: f64,
}

impl EventTracker {
    /// Takes the next interval. Intervals before the range of time that is shown matter only for the onset of trouble
    /// that lasts into the range.
    pub fn observe(&mut self, rows: &IntervalRows) {
        if rows.header.is_since_boot {
            return;
        }
        let before_s = self.now.run_s;
        if self.intervals == 0 {
            self.segment_starts_s.push_back(before_s);
        }
        let end = Moment { at: rows.header.end, run_s: before_s + rows.header.elapsed_s };
        self.now = end;
        if rows.header.is_preceding {
            self.range_begin_s = end.run_s;
        }
        self.intervals += 1;
        self.departures.observe(rows, end);
        for row in &rows.devices {
            match &row.state {
                DeviceState::Active(activity) => {
                    let is_idle = activity.assessment.verdict == Some(Verdict::Idle);
                    if is_idle && activity.limit.is_none() {
                        continue;
                    }
                    let device = self.devices.entry(row.device().to_owned());
                    let device = device.or_insert_with(|| DeviceHistory::new(&row.names, before_s));
                    device.seen = self.intervals;
                    if let Some(ended) = device.observe(activity, end) {
                        self.push(ended);
                    }
                }
                DeviceState::AccountingOff(_) => {}
                DeviceState::Reset | DeviceState::MemberReset => self.interrupt(row.device()),
                DeviceState::Event(EventKind::Appeared) => {}
                DeviceState::Event(_) => self.interrupt(row.device()),
            }
        }
        for event in rows.events.iter().filter(|event| event.kind != EventKind::Appeared) {
            self.interrupt(&event.names.device);
        }
        self.observe_idle_devices(end);
    }

    /// Notes a break in time: no event spans it.
    pub fn note_break(&mut self) {
        if self.segment_starts_s.len() == MAX_SEGMENTS {
            self.segment_starts_s.pop_front();
        }
        self.segment_starts_s.push_back(self.now.run_s);
        for mut device in std::mem::take(&mut self.devices).into_values() {
            device.interrupt(self.now.run_s).for_each(|phase| self.push(phase));
        }
    }

    /// Returns the time for which a device has been in trouble, by the kernel's name; `None` if it is not in trouble.
    pub fn since(&self, device: &str) -> Option<Since> {
        let Phase { verdict, begin, .. } = self.devices.get(device)?.present()?;
        Some(Since { verdict, begin, lasted_s: self.now.run_s - begin.run_s })
    }

    /// Returns the events so far, including ongoing ones.
    pub fn events(&self) -> Events {
        self.to_events(self.all_phases(self.finished.clone()))
    }

    /// Returns the events, including those that only the reports on the whole capture show, because the live verdicts
    /// had no baseline yet in early intervals. `clock` is the wall clock of the run.
    pub fn events_with(mut self, reports: &[DeviceReport], clock: &RunClock) -> Events {
        let finished = std::mem::take(&mut self.finished);
        let mut by_device: HashMap<String, Vec<Phase>> = HashMap::new();
        for one in self.all_phases(finished) {
            by_device.entry(one.names.device.clone()).or_default().push(one);
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
        self.to_events(by_device.into_values().flatten())
    }

    /// Returns these finished phases and the unfinished ones, in the order of time.
    fn all_phases(&self, mut all: Vec<Phase>) -> Vec<Phase> {
        all.extend(self.devices.values().flat_map(DeviceHistory::unfinished));
        // From here on, seconds are those since the beginning of the range.
        all.iter_mut().for_each(|one| one.shift(-self.range_begin_s));
        all.retain(|one| one.end.run_s > TOLERANCE_S);
        all.sort_by(|a, b| a.begin.run_s.total_cmp(&b.begin.run_s));
        all
    }

    /// Returns whether the onset of an event that begins after these seconds of the range was observed: it is not at
    /// the first sample, or at the first after a break in time.
    fn is_begin_known(&self, begin_s: f64) -> bool {
        let run_s = begin_s + self.range_begin_s;
        let at = self.segment_starts_s.partition_point(|start_s| *start_s < run_s - TOLERANCE_S);
        self.segment_starts_s.get(at).is_none_or(|start_s| *start_s > run_s + TOLERANCE_S)
    }

    fn to_events(&self, phases: impl IntoIterator<Item = Phase>) -> Events {
        let to_event = |phase: Phase| Event {
            begin_is_known: self.is_begin_known(phase.begin.run_s),
            ..phase.into_event()
        };
        let mut list: Vec<Event> = phases.into_iter().map(to_event).collect();
        list.sort_by(|a, b| {
            (a.begin.run_s.total_cmp(&b.begin.run_s))
                .then(b.verdict.severity().cmp(&a.verdict.severity()))
                .then_with(|| a.device.cmp(&b.device))
        });
        Events { list, dropped: self.dropped, departures: self.departures.after(self.range_begin_s) }
    }

    /// Takes an interval for the devices that were idle in it.
    fn observe_idle_devices(&mut self, end: Moment) {
        let intervals = self.intervals;
        let mut ended = Vec::new();
        self.devices.retain(|_, device| {
            if device.seen == intervals {
                return true;
            }
            let phases = device.observe_idle(end).into_iter().chain(device.take_ended(end.run_s));
            ended.extend(phases);
            !device.is_empty()
        });
        ended.into_iter().for_each(|phase| self.push(phase));
    }

    /// Ends the events of a device whose counters were reset, or that has disappeared.
    fn interrupt(&mut self, name: &str) {
        let Some(mut device) = self.devices.remove(name) else { return };
        device.interrupt(self.now.run_s).for_each(|phase| self.push(phase));
    }

    fn push(&mut self, phase: Phase) {
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
