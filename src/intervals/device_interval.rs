//! The unit that every native output consumes: one device over one interval, and the values that all devices of an
//! interval share.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::spread::{HostSpread, Spread};
use crate::attribution::{Attribution, Limit, ReachedLimit};
use crate::counters::Health;
use crate::incidents::Told;
use crate::judge::{Evidence, Judged, NfsWait, Verdict};
use crate::metrics::{DataFlag, HostStats, Interval};
use crate::topology::DeviceNames;

/// One interval: its header, the devices, an optional total, and devices that appeared or disappeared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalRows {
    /// The values that all devices share.
    pub header: IntervalHeader,
    /// The devices, physical ones before those stacked on them, then by name.
    pub devices: Vec<DeviceInterval>,
    /// The total, if it was requested and a device counts in it.
    pub total: Option<DeviceInterval>,
    /// Devices that appeared or disappeared.
    pub events: Vec<DeviceEvent>,
    /// The cgroups and processes that used the devices; `None` without two scans of them.
    pub attribution: Option<Attribution>,
    /// True if any selected device has been found so far: a requested one may appear later in a capture.
    pub has_found_any: bool,
}

impl IntervalRows {
    /// Moves the remarkable devices to the front: those of incidents, the most severe one first and in it the victim before
    /// those below it, then by verdict. The order of others does not change from interval to interval.
    pub fn sort_remarkable_first(&mut self) {
        let mut worst: HashMap<u64, Option<Verdict>> = HashMap::new();
        for device in &self.devices {
            if let Some(ongoing) = device.incident() {
                let worst = worst.entry(ongoing.told.id).or_default();
                *worst = device.verdict().max(*worst);
            }
        }
        self.devices.sort_by_cached_key(|device| {
            let ongoing = device.incident();
            let id = ongoing.map(|ongoing| ongoing.told.id);
            let of_incident = (
                Reverse(id.and_then(|id| worst.get(&id).copied())),
                id,
                ongoing.is_none_or(|ongoing| !ongoing.is_victim),
            );
            // A device that is not counted is no news.
            let verdict = device.shown_verdict().max(Some(Verdict::AccountingOff));
            (of_incident, Reverse(verdict))
        });
    }
}

/// The values that all devices of an interval share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalHeader {
    /// The beginning of the interval; `None` without a wall clock.
    pub start: Option<Timestamp>,
    /// The end of the interval; `None` without a wall clock.
    pub end: Option<Timestamp>,
    /// The measured length in seconds.
    pub elapsed_s: f64,
    /// The requested length in seconds; `None` if a capture does not record it, or it changed within the interval.
    pub requested_s: Option<f64>,
    /// True for the averages since boot.
    pub is_since_boot: bool,
    /// Intervals that were skipped, and are part of this one, or samples that were skipped when a capture was recorded.
    pub missed_samples: u64,
    /// Samples for which no scan of cgroups and processes was finished, because that took too much CPU time, or none was left.
    pub missed_scans: u64,
    /// The host that the samples are from; `None` for a capture that does not name it.
    pub host_name: Option<Arc<str>>,
    pub host: HostStats,
    /// The NFS mounts that tasks may wait for; empty unless they wait for I/O that no device shows.
    pub nfs_waits: Vec<NfsWait>,
    /// The quantities of the host in several intervals; `None` for one.
    pub host_spread: Option<Box<HostSpread>>,
}

/// One device over one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInterval {
    pub names: Arc<DeviceNames>,
    pub state: DeviceState,
}

/// The state of a device in an interval.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceState {
    /// Its counters were read at both ends.
    Active(Box<DeviceActivity>),
    /// Its counters were reset in between: no statistics.
    Reset,
    /// The counters of a device in this total were reset: no statistics.
    MemberReset,
    /// The kernel does not count its requests. The statistics are all zero.
    AccountingOff(Box<Judged>),
    /// It is missing from a sample of the interval: no statistics.
    Event(EventKind),
}

impl DeviceState {
    /// An estimate of its memory in bytes.
    pub fn memory(&self) -> usize {
        let own = size_of::<Self>();
        match self {
            Self::Active(activity) => {
                own + size_of::<DeviceActivity>()
                    + activity
                        .judged
                        .worst
                        .as_ref()
                        .map_or(0, |worst| worst.memory())
                    + activity
                        .spread
                        .as_ref()
                        .map_or(0, |spread| size_of_val(&**spread))
            }
            Self::AccountingOff(_) => own + size_of::<Judged>(),
            Self::Reset | Self::MemberReset | Self::Event(_) => own,
        }
    }
}

/// The incident of a device in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct OngoingIncident {
    pub told: Arc<Told>,
    /// Seconds from its beginning to the end of the interval.
    pub lasted_s: f64,
    /// True if the device is the victim.
    pub is_victim: bool,
}

/// A device in an interval, and what is known of it beside its numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceActivity {
    /// The sum of the steps of the interval.
    pub judged: Judged,
    /// The reason not to trust one of the numbers; `None` if all can be trusted.
    pub flag: Option<DataFlag>,
    /// Seconds for which requests have been in flight without any completing; 0 unless stalled.
    pub stalled_s: f64,
    /// The verdict that a screen shows, which does not flicker.
    pub shown_verdict: Option<Verdict>,
    /// The cgroup with most of the device's bytes; `None` without attribution or bytes.
    pub top_cgroup: Option<TopCgroup>,
    /// The incident that it belongs to in this interval; `None` without one.
    pub incident: Option<OngoingIncident>,
    /// The facts about its health; `None` if none are known.
    pub health: Option<Arc<Health>>,
    /// The least, mean and largest value of each quantity over several intervals; `None` for one.
    pub spread: Option<Box<Spread>>,
}

/// The cgroup with most of a device's bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct TopCgroup {
    pub path: Arc<str>,
    /// Its part of the bytes in percent.
    pub share_pct: f64,
}

/// A device that appeared or disappeared. It has no other line in the interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceEvent {
    pub names: Arc<DeviceNames>,
    pub kind: EventKind,
}

impl DeviceEvent {
    /// Returns the event in the form of a device's interval.
    pub fn to_interval(&self) -> DeviceInterval {
        DeviceInterval {
            names: Arc::clone(&self.names),
            state: DeviceState::Event(self.kind),
        }
    }
}

/// The ways in which a device can be missing from samples of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was not in the sample before.
    Appeared,
    /// It is not in the newer sample.
    Disappeared,
    /// It was missing from a sample in between.
    Reappeared,
    /// It was only in samples between the first and the last.
    AppearedBriefly,
}

impl EventKind {
    /// The name in JSON and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Self::Appeared => "appeared",
            Self::Disappeared => "disappeared",
            Self::Reappeared => "reappeared",
            Self::AppearedBriefly => "appeared_briefly",
        }
    }
}

impl DeviceActivity {
    /// The incident of another device that this one, at work below it, belongs to: a screen points to that device. `None`
    /// if this one suffers itself, is idle, or belongs to no incident.
    pub fn incident_above(&self) -> Option<&OngoingIncident> {
        let has_work = self.shown_verdict > Some(Verdict::Idle);
        let incident = self.incident.as_ref();
        incident.filter(|ongoing| has_work && !ongoing.is_victim)
    }

    /// The limit that a cgroup has reached on the device or below it; `None` if none has.
    pub fn reached_limit(&self) -> Option<&ReachedLimit> {
        self.judged.worst.as_ref()?.reached_limit.as_ref()
    }
}

impl DeviceInterval {
    pub(crate) fn without_alias(device: &str, state: DeviceState) -> Self {
        Self {
            names: DeviceNames::without_alias(device),
            state,
        }
    }

    /// The kernel's name; `total` for a total.
    pub fn device(&self) -> &str {
        &self.names.device
    }

    /// The alias or, without one, the kernel's name.
    pub fn label(&self) -> &str {
        &self.names.label
    }

    /// The activity; `None` without statistics.
    pub fn activity(&self) -> Option<&DeviceActivity> {
        match &self.state {
            DeviceState::Active(activity) => Some(activity),
            _ => None,
        }
    }

    /// The incident that it belongs to; `None` without one.
    pub fn incident(&self) -> Option<&OngoingIncident> {
        self.activity()?.incident.as_ref()
    }

    /// The limits that it has reached, that of a cgroup first.
    pub fn reached_limits(&self) -> impl Iterator<Item = Limit> {
        let evidence = self
            .activity()
            .into_iter()
            .flat_map(|activity| &activity.judged.assessment().evidence);
        let reached = self.activity().and_then(DeviceActivity::reached_limit);
        let of_incident = self.incident().and_then(|ongoing| ongoing.told.limit());
        let of_cgroup = of_incident
            .or(reached.map(|reached| &reached.limit))
            .cloned();
        let caps = evidence.filter_map(|evidence| match evidence {
            Evidence::ConstantRate(plateau) => plateau.limit(self.device()),
            _ => None,
        });
        of_cgroup.into_iter().chain(caps)
    }

    /// The statistics; `None` without any.
    pub fn stats(&self) -> Option<&Interval> {
        self.activity().map(|activity| &activity.judged.interval)
    }

    /// The verdict that a screen shows: a new one when it was said twice in a row, so that it does not flicker.
    pub fn shown_verdict(&self) -> Option<Verdict> {
        match &self.state {
            DeviceState::Active(activity) => activity.shown_verdict,
            _ => self.verdict(),
        }
    }

    /// Returns whether its verdict is trouble.
    pub fn is_in_trouble(&self) -> bool {
        self.verdict().is_some_and(Verdict::is_trouble)
    }

    /// The verdict; `None` if there are no data.
    pub fn verdict(&self) -> Option<Verdict> {
        match &self.state {
            DeviceState::Active(activity) => activity.judged.verdict(),
            DeviceState::AccountingOff(_) => Some(Verdict::AccountingOff),
            DeviceState::Reset | DeviceState::MemberReset | DeviceState::Event(_) => None,
        }
    }
}

#[cfg(test)]
mod examples {
    use super::*;
    use crate::judge::Assessment;

    impl DeviceActivity {
        /// The activity in one step.
        pub(crate) fn example(interval: Interval, assessment: Assessment) -> Self {
            Self {
                judged: Judged::example(interval, assessment),
                ..Self::default()
            }
        }
    }
}
