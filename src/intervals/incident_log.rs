//! The incidents of a run in bounded memory, and the disks that disappeared.

use std::collections::HashMap;
use std::sync::Arc;

use super::device_interval::{DeviceState, EventKind, IntervalRows, OngoingIncident};
use crate::counters::Sample;
use crate::incidents::{HostFact, HostFacts, Incidents, Moment, Second, Told};
use crate::judge::Verdict;
use crate::topology::{DeviceNames, Kind, Topology, possible_disks};

/// The number of incidents of a capture that are kept. At twice that number, the mildest are dropped.
const MAX_INCIDENTS: usize = 10_000;
/// The same of the running system, of which the latest are kept: who watches it for weeks looks for those.
const MAX_LIVE_INCIDENTS: usize = 1000;
const MAX_DEPARTURES: usize = 1000;
/// Less than any interval, more than the rounding error of a sum of seconds.
const TOLERANCE_S: f64 = 1e-3;

#[derive(Debug, Default)]
pub(super) struct IncidentLog {
    is_live: bool,
    incidents: Incidents,
    facts: HostFacts,
    finished: Vec<Told>,
    dropped: u64,
    departures: Vec<Departure>,
    /// The end of the latest second.
    now: Moment,
    /// The beginning of the range of time that is shown, in seconds of all steps, including those before it.
    range_begin_s: f64,
}

/// What is told of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IncidentReport {
    /// In the order in which they began.
    pub list: Vec<Told>,
    /// The number of those that were dropped because there were too many.
    pub dropped: u64,
    /// The disks that disappeared, in the order of time.
    pub departures: Vec<Departure>,
    /// What happened to the host.
    pub facts: Vec<HostFact>,
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

impl IncidentReport {
    /// What the incidents of a device amount to; `None` without any.
    pub fn total(&self, device: &str) -> Option<IncidentTotal> {
        self.totals.get(device).copied()
    }

    /// The incidents, the worst first.
    pub fn worst_first(&self) -> Vec<&Told> {
        let mut incidents: Vec<&Told> = self.list.iter().collect();
        incidents.sort_by(|a, b| a.worst_first(b));
        incidents
    }

    fn add_totals(&mut self) {
        for told in &self.list {
            for one in &told.devices {
                let total = self.totals.entry(one.names.device.clone());
                let total = total.or_insert(IncidentTotal {
                    count: 0,
                    worst: one.word,
                    seconds: 0.0,
                });
                total.count += 1;
                total.worst = total.worst.max(one.word);
                total.seconds += told.end.run_s - told.begin.run_s.max(0.0);
            }
        }
    }
}

impl IncidentLog {
    pub(super) fn new(is_live: bool) -> Self {
        Self {
            is_live,
            ..Self::default()
        }
    }

    /// Takes the next second. Seconds before the range of time that is shown matter only for incidents that last into the range.
    pub(super) fn observe(&mut self, second: Second, topology: &Topology, is_preceding: bool) {
        self.now = second.end;
        if is_preceding {
            self.range_begin_s = second.end.run_s;
        } else {
            self.facts.observe(&second);
        }
        let ended = self.incidents.push(second, topology);
        self.keep(ended);
    }

    pub(super) fn follows(&self, device: &str) -> bool {
        self.incidents.follows(device)
    }

    /// The word of the incidents for the latest second of a device; `None` if none has one.
    pub(super) fn word(&self, device: &str) -> Option<Verdict> {
        self.incidents.word(device)
    }

    /// Returns the earliest incident that goes on and that a device is part of, or whose limit is on it; `None` without one.
    pub(super) fn ongoing(&self, names: &DeviceNames) -> Option<OngoingIncident> {
        let mut found: Option<&Arc<Told>> = None;
        for told in self.incidents.open().filter(|told| told.is_ongoing) {
            let is_limited = told
                .limit()
                .is_some_and(|limit| *limit.device == *names.device);
            let is_earlier = found.is_none_or(|known| told.id < known.id);
            if (told.has(&names.device) || is_limited) && is_earlier {
                found = Some(told);
            }
        }
        let told = found?;
        Some(OngoingIncident {
            lasted_s: self.now.run_s - told.begin.run_s,
            is_victim: told.victim.device == names.device,
            told: Arc::clone(told),
        })
    }

    /// Notes the disks that disappeared or came back in an interval that ends with the sample `last`, and ends what happened
    /// to devices that are gone, or others now.
    pub(super) fn note_changes(&mut self, rows: &IntervalRows, last: &Sample) {
        self.note_departures(rows);
        for row in &rows.devices {
            if row.state == DeviceState::Reset {
                self.incidents.interrupt_device(row.device());
            }
        }
        for event in &rows.events {
            let name = &event.names.device;
            if event.kind == EventKind::Reappeared || last.device(name).is_none() {
                self.incidents.interrupt_device(name);
            }
        }
    }

    /// Notes a break in time: no incident spans it.
    pub(super) fn note_break(&mut self) {
        let ended = self.incidents.interrupt();
        self.keep(ended);
    }

    /// Returns what is told so far; `is_shown` says of a device whether it was selected.
    pub(super) fn report(&self, is_shown: impl Fn(&DeviceNames) -> bool) -> IncidentReport {
        let mut report = IncidentReport {
            dropped: self.dropped,
            facts: self.facts.list(),
            ..IncidentReport::default()
        };
        let open = self.incidents.open().map(|told| &**told);
        for told in self.finished.iter().chain(open) {
            if told.end.run_s <= self.range_begin_s + TOLERANCE_S
                || !told.devices.iter().any(|one| is_shown(&one.names))
            {
                continue;
            }
            // From here on, seconds are those since the beginning of the range.
            let mut shown = told.clone();
            shown.begin.run_s -= self.range_begin_s;
            shown.end.run_s -= self.range_begin_s;
            for device in &mut shown.devices {
                device.begin.run_s -= self.range_begin_s;
                device.end.run_s -= self.range_begin_s;
            }
            report.list.push(shown);
        }
        report.list.sort_by(|a, b| {
            a.begin
                .run_s
                .total_cmp(&b.begin.run_s)
                .then(a.id.cmp(&b.id))
        });
        for departure in &self.departures {
            if departure.at.run_s > self.range_begin_s {
                let mut shown = departure.clone();
                shown.at.run_s -= self.range_begin_s;
                if let Some(back_at) = &mut shown.back_at {
                    back_at.run_s -= self.range_begin_s;
                }
                report.departures.push(shown);
            }
        }
        report.add_totals();
        report
    }

    fn keep(&mut self, ended: Vec<Told>) {
        for told in ended {
            if told.end.run_s > self.range_begin_s {
                self.finished.push(told);
            }
        }
        let most = if self.is_live {
            MAX_LIVE_INCIDENTS
        } else {
            MAX_INCIDENTS
        };
        if self.finished.len() < 2 * most {
            return;
        }
        self.dropped += (self.finished.len() - most) as u64;
        if self.is_live {
            self.finished.drain(..self.finished.len() - most);
        } else {
            self.finished.sort_by(Told::worst_first);
            self.finished.truncate(most);
        }
    }

    /// Notes the disks that disappeared or came back in an interval. Devices that people create and remove as they need them, such
    /// as volumes and loop devices, are left out.
    fn note_departures(&mut self, rows: &IntervalRows) {
        for event in &rows.events {
            let device = &event.names.device;
            let back_at = match event.kind {
                EventKind::Appeared | EventKind::AppearedBriefly => {
                    let mut departures = self.departures.iter_mut().rev();
                    let gone =
                        departures.find(|gone| gone.device == *device && gone.back_at.is_none());
                    // Of thousands of devices that appear at once, hardly any was there before.
                    if let Some(gone) = gone
                        && is_disk(device, rows)
                    {
                        gone.back_at = Some(self.now);
                    }
                    continue;
                }
                EventKind::Disappeared => None,
                EventKind::Reappeared => Some(self.now),
            };
            if self.departures.len() < MAX_DEPARTURES && is_disk(device, rows) {
                self.departures.push(Departure {
                    device: device.clone(),
                    at: self.now,
                    back_at,
                });
            }
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
