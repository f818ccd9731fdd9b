//! The events of all devices, and the incidents that they belong to; disks that disappeared.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::event::{Event, TOLERANCE_S};
use super::history::{DeviceEvents, JudgedDevice};
use super::incident_tracker::{IncidentSummary, IncidentTracker, Trouble};
use crate::attribution::Attribution;
use crate::counters::Sample;
use crate::intervals::incident::{Moment, OngoingIncident};
use crate::intervals::{DeviceNames, DeviceState, EventKind, IntervalRows};
use crate::judge::Verdict;
use crate::topology::{Kind, Topology, possible_disks};

/// The number of finished events that are kept of a capture. At twice that number, the mildest and shortest are dropped.
const MAX_EVENTS: usize = 10_000;
/// The same of the running system, of which the latest are kept: who watches it for weeks looks for those.
const MAX_LIVE_EVENTS: usize = 1000;
/// The number of beginnings of segments that are kept.
const MAX_SEGMENTS: usize = 1000;

/// Follows the devices through the steps and collects their events, in bounded memory.
#[derive(Debug, Default)]
pub(in crate::intervals) struct EventTracker {
    is_live: bool,
    devices: HashMap<String, DeviceEvents>,
    incidents: IncidentTracker,
    finished: Vec<Event>,
    dropped: u64,
    dropped_incidents: u64,
    departures: Vec<Departure>,
    /// The end of the latest step.
    now: Moment,
    /// The beginning of the range of time that is shown, in seconds of all steps, including those before it.
    range_begin_s: f64,
    /// The seconds of the run at the first sample and after breaks in time; the latest [`MAX_SEGMENTS`].
    segment_starts_s: VecDeque<f64>,
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
    /// The number of incidents of which all events were dropped.
    pub dropped_incidents: u64,
    /// What the incidents of each device amount to.
    totals: HashMap<String, IncidentTotal>,
}

/// What the incidents of a device amount to. It stands beside the word for the whole run, which may be milder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IncidentTotal {
    pub count: u64,
    /// The most severe word for the device in any of them.
    pub worst: Verdict,
    /// The length of all of them within the run, in seconds.
    pub seconds: f64,
}

impl Events {
    /// What the incidents of a device amount to; `None` without any.
    pub fn incident_total(&self, device: &str) -> Option<IncidentTotal> {
        self.totals.get(device).copied()
    }
}

/// Returns what the incidents of each device amount to.
fn incident_totals(incidents: &[IncidentSummary]) -> HashMap<String, IncidentTotal> {
    let mut totals: HashMap<String, IncidentTotal> = HashMap::new();
    for incident in incidents {
        let seconds = incident.end.run_s - incident.incident.begin.run_s.max(0.0);
        for one in &incident.devices {
            let Some(worst) = one.verdict else {
                continue;
            };
            let total = totals.entry(one.names.device.clone());
            let total = total.or_insert(IncidentTotal {
                count: 0,
                worst,
                seconds: 0.0,
            });
            total.count += 1;
            total.worst = total.worst.max(worst);
            total.seconds += seconds;
        }
    }
    totals
}

impl EventTracker {
    pub(in crate::intervals) fn new(is_live: bool) -> Self {
        Self {
            is_live,
            ..Self::default()
        }
    }

    /// Takes a step of the judge, which ended at this time of the wall clock and took `seconds`. The devices are in the order of
    /// rows, physical ones before those stacked on them. Steps before the range of time that is shown matter only for the
    /// onset of trouble that lasts into the range.
    pub(in crate::intervals) fn observe(
        &mut self,
        devices: &[JudgedDevice<'_>],
        end: Moment,
        attribution: Option<&Attribution>,
        topology: &Topology,
        is_preceding: bool,
    ) {
        let before_s = self.now.run_s;
        if self.segment_starts_s.is_empty() {
            self.segment_starts_s.push_back(before_s);
        }
        self.now = end;
        if is_preceding {
            self.range_begin_s = end.run_s;
        }
        for device in devices {
            let name = &device.names.device;
            if !self.devices.contains_key(name) {
                if device.judged.verdict() <= Some(Verdict::Idle) {
                    continue;
                }
                let events = DeviceEvents::new(device.names, before_s);
                self.devices.insert(name.clone(), events);
            }
            if let Some(events) = self.devices.get_mut(name)
                && let Some(ended) = events.observe(device, end)
            {
                self.push(ended);
            }
        }
        for device in devices {
            self.split_above(&device.names.device, topology);
        }
        // An incident ends with the last of its events.
        let going_on: HashSet<u64> = (self.devices.values())
            .filter_map(DeviceEvents::incident)
            .collect();
        self.incidents.close(|id| going_on.contains(&id));
        // The upper devices come first, so that those below them join their incidents.
        for device in devices.iter().rev() {
            self.find_incident(device, attribution, topology);
        }
    }

    /// The event of a device that goes on; `None` without one.
    fn present(&self, name: &str) -> Option<&Event> {
        self.devices.get(name)?.present()
    }

    /// Ends the events of the devices above one whose trouble has just begun, if theirs is older: it has another cause.
    fn split_above(&mut self, name: &str, topology: &Topology) {
        let event = match self.present(name) {
            Some(event) if event.incident.is_none() => event.clone(),
            _ => return,
        };
        let mut ended = Vec::new();
        for upper in topology.devices_above(name) {
            if let Some(events) = self.devices.get_mut(&upper)
                && events.present().is_some()
            {
                ended.extend(events.split(&event, self.now));
            }
        }
        for event in ended {
            self.push(event);
        }
    }

    /// Adds a step of a device in trouble to its incident.
    fn find_incident(
        &mut self,
        device: &JudgedDevice<'_>,
        attribution: Option<&Attribution>,
        topology: &Topology,
    ) {
        let Some(events) = self.devices.get(&device.names.device) else {
            return;
        };
        let Some(event) = events.present() else {
            return;
        };
        let trouble = Trouble {
            events,
            event,
            device,
            begin_is_known: self.is_begin_known(event.rise.run_s),
            attribution,
            topology,
        };
        let id = self.incidents.observe(&trouble);
        if let Some(events) = self.devices.get_mut(&device.names.device) {
            events.set_incident(id);
        }
    }

    /// Returns the incident that a device belongs to, or whose limit is on it; `None` without one.
    pub(in crate::intervals) fn ongoing(&self, names: &DeviceNames) -> Option<OngoingIncident> {
        let id = self.present(&names.device).and_then(|event| event.incident);
        let own = id.and_then(|id| self.incidents.open(id));
        let incident = own
            .or_else(|| self.incidents.limited(&names.device))
            .or_else(|| self.incidents.with(names))?;
        Some(OngoingIncident {
            lasted_s: self.now.run_s - incident.begin.run_s,
            is_victim: incident.victim.device == names.device,
            incident: Arc::clone(incident),
        })
    }

    /// Notes the disks that disappeared or came back in an interval that ends with the sample `last`, and ends what happened
    /// to devices that are gone, or others now.
    pub(in crate::intervals) fn note_changes(&mut self, rows: &IntervalRows, last: &Sample) {
        note_departures(&mut self.departures, rows, self.now);
        for row in &rows.devices {
            if row.state == DeviceState::Reset {
                self.interrupt(row.device());
            }
        }
        if rows.events.is_empty() {
            return;
        }
        for event in &rows.events {
            if event.kind == EventKind::Reappeared {
                self.interrupt(&event.names.device);
            }
        }
        // Of many that come and go within an interval, not all are in its rows.
        let present: HashSet<&str> = last.devices.iter().map(|one| one.name.as_str()).collect();
        let mut gone = Vec::new();
        for name in self.devices.keys() {
            if !present.contains(name.as_str()) {
                gone.push(name.clone());
            }
        }
        for name in gone {
            self.interrupt(&name);
        }
    }

    /// Notes a break in time: no event spans it.
    pub(in crate::intervals) fn note_break(&mut self) {
        if self.segment_starts_s.len() == MAX_SEGMENTS {
            self.segment_starts_s.pop_front();
        }
        self.segment_starts_s.push_back(self.now.run_s);
        for mut device in std::mem::take(&mut self.devices).into_values() {
            if let Some(ended) = device.interrupt(self.now.run_s) {
                self.push(ended);
            }
        }
        self.incidents.close(|_| false);
    }

    /// Returns the events so far, including ongoing ones.
    pub(in crate::intervals) fn events(&self) -> Events {
        let mut list = self.finished.clone();
        list.extend(self.devices.values().filter_map(DeviceEvents::unfinished));
        for event in &mut list {
            event.begin_is_known = self.is_begin_known(event.begin.run_s);
            // From here on, seconds are those since the beginning of the range.
            event.shift(-self.range_begin_s);
        }
        list.retain(|event| event.end.run_s > TOLERANCE_S);
        list.sort_by(|a, b| {
            (a.begin.run_s.total_cmp(&b.begin.run_s))
                .then(b.verdict.cmp(&a.verdict))
                .then_with(|| a.names.device.cmp(&b.names.device))
        });
        let mut departures = Vec::new();
        for departure in &self.departures {
            if departure.at.run_s > self.range_begin_s {
                let mut shown = departure.clone();
                shown.at.run_s -= self.range_begin_s;
                if let Some(back_at) = &mut shown.back_at {
                    back_at.run_s -= self.range_begin_s;
                }
                departures.push(shown);
            }
        }
        let incidents = self.incidents.summaries(&list, self.range_begin_s);
        Events {
            totals: incident_totals(&incidents),
            incidents,
            list,
            dropped: self.dropped,
            dropped_incidents: self.dropped_incidents,
            departures,
        }
    }

    /// Returns whether the onset of an event that begins at this second was observed: it is not at the first sample, or at
    /// the first after a break in time.
    fn is_begin_known(&self, run_s: f64) -> bool {
        let mut starts_s = self.segment_starts_s.iter();
        !starts_s.any(|start_s| (start_s - run_s).abs() <= TOLERANCE_S)
    }

    /// Ends the events of a device whose counters were reset, or that has disappeared.
    fn interrupt(&mut self, name: &str) {
        let Some(mut device) = self.devices.remove(name) else {
            return;
        };
        if let Some(ended) = device.interrupt(self.now.run_s) {
            self.push(ended);
        }
    }

    fn push(&mut self, event: Event) {
        if event.end.run_s <= self.range_begin_s {
            return;
        }
        self.finished.push(event);
        let max_events = match self.is_live {
            true => MAX_LIVE_EVENTS,
            false => MAX_EVENTS,
        };
        if self.finished.len() >= 2 * max_events {
            self.drop_events(max_events);
        }
    }

    /// Drops all but this number of events, and the incidents of which none is left.
    fn drop_events(&mut self, kept: usize) {
        let dropped: Vec<Event> = if self.is_live {
            let surplus = self.finished.len() - kept;
            self.finished.drain(..surplus).collect()
        } else {
            self.finished.sort_by(|a, b| {
                (b.verdict.cmp(&a.verdict)).then(b.duration_s().total_cmp(&a.duration_s()))
            });
            self.finished.split_off(kept)
        };
        let mut gone: HashSet<u64> = HashSet::new();
        for event in &dropped {
            gone.extend(event.incident);
        }
        for id in self.finished.iter().filter_map(|event| event.incident) {
            gone.remove(&id);
        }
        for id in self.devices.values().filter_map(DeviceEvents::incident) {
            gone.remove(&id);
        }
        self.dropped += dropped.len() as u64;
        self.dropped_incidents += gone.len() as u64;
        self.incidents.forget(&gone);
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
                for gone in departures.iter_mut().rev() {
                    if gone.device == *device && gone.back_at.is_none() {
                        // Of thousands of devices that appear at once, hardly any was there before.
                        if is_disk(device, rows) {
                            gone.back_at = Some(end);
                        }
                        break;
                    }
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
    if Kind::from_name(name) != Kind::Disk {
        return false;
    }
    for disk in possible_disks(name).into_iter().flatten() {
        let mut listed = rows.devices.iter().map(|row| row.device());
        let mut events = rows.events.iter();
        if listed.any(|one| one == disk) || events.any(|event| event.names.device == disk) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Device;
    use crate::intervals::DeviceEvent;
    use crate::judge::{Assessment, Judged};
    use crate::metrics::Interval;

    #[test]
    fn devices_that_come_and_go_leave_nothing_behind() {
        let mut tracker = EventTracker::default();
        let assessment = Assessment {
            verdict: Some(Verdict::Ok),
            ..Assessment::default()
        };
        let names = ["sda", "loop0", "loop1"].map(DeviceNames::without_alias);
        let devices = names.each_ref().map(|names| JudgedDevice {
            names,
            judged: Judged::example(Interval::unknown(1.0), assessment.clone()),
        });
        tracker.observe(
            &devices,
            Moment::default(),
            None,
            &Topology::default(),
            false,
        );
        assert_eq!(tracker.devices.len(), 3);
        let last = Sample {
            devices: vec![Device {
                name: "sda".into(),
                ..Device::default()
            }],
            ..Sample::default()
        };
        // Of those that came and went within the interval, only one is named.
        let rows = IntervalRows {
            events: vec![DeviceEvent {
                names: Arc::clone(&names[1]),
                kind: EventKind::AppearedBriefly,
            }],
            ..IntervalRows::default()
        };
        tracker.note_changes(&rows, &last);
        assert_eq!(Vec::from_iter(tracker.devices.keys()), ["sda"]);
    }
}
