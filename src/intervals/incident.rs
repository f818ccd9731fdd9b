//! An incident: the trouble that devices stacked on each other share.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::device_names::DeviceNames;
use super::known_limit::KnownLimit;
use crate::analysis::{HealthEvidence, IoDirection, Plateau};
use crate::attribution::ReachedLimit;

/// A point in time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// The wall clock; `None` if the samples have no time.
    pub at: Option<Timestamp>,
    /// The total length of all intervals before it in seconds. Breaks in time do not count.
    pub run_s: f64,
}

impl Moment {
    /// Returns the moment some seconds earlier, in the same segment.
    pub(super) fn minus(self, seconds: f64) -> Self {
        let duration = SignedDuration::try_from_secs_f64(seconds).unwrap_or_default();
        Self {
            at: self.at.and_then(|at| at.checked_sub(duration).ok()),
            run_s: self.run_s - seconds,
        }
    }
}

/// One trouble, from its beginning to the time at which the devices have been well for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Incident {
    /// Its number, from 1.
    pub id: u64,
    /// The topmost device whose requests take longer.
    pub victim: Arc<DeviceNames>,
    pub begin: Moment,
    /// True if its beginning was observed. If not, it may have begun before the first sample, or before the first after
    /// a break in time.
    pub begin_is_known: bool,
    /// The kind of requests of the victim that wait most; `None` if nothing completes.
    pub requests: Option<IoDirection>,
    /// Their latency just before it began, in milliseconds; `None` if it is not known.
    pub before_ms: Option<f64>,
    /// The best known cause.
    pub cause: Option<Cause>,
    /// The cgroup with the limit or, without one, that with most of the victim's bytes; `None` if it is not known.
    pub owner: Option<Arc<str>>,
    /// The tasks that wait for I/O in the cgroup with the limit, in its latest interval with any.
    pub waiting: Vec<WaitingTask>,
}

/// The incident of a device in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct OngoingIncident {
    pub incident: Arc<Incident>,
    /// Seconds from its beginning to the end of the interval.
    pub lasted_s: f64,
    /// True if the device is the victim.
    pub is_victim: bool,
}

/// A task that waits for I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingTask {
    pub tid: u32,
    pub comm: String,
}

impl Incident {
    /// An incident of which nothing more is known.
    pub(crate) fn new(
        id: u64,
        victim: Arc<DeviceNames>,
        begin: Moment,
        begin_is_known: bool,
    ) -> Self {
        Self {
            id,
            victim,
            begin,
            begin_is_known,
            requests: None,
            before_ms: None,
            cause: None,
            owner: None,
            waiting: Vec::new(),
        }
    }

    /// The limit of a cgroup that is the cause; `None` if none is.
    pub fn cgroup_limit(&self) -> Option<&ReachedLimit> {
        if let Some(Cause::CgroupLimit(limit)) = &self.cause {
            Some(limit)
        } else {
            None
        }
    }

    /// The limit that is the cause, and the device that it is on; `None` if none is, or for one of flushes.
    pub fn known_limit(&self) -> Option<(KnownLimit, &str)> {
        match self.cause.as_ref()? {
            Cause::CgroupLimit(limit) => Some((
                KnownLimit::of_cgroup(limit.kind, limit.value),
                &limit.limited_device,
            )),
            Cause::Cap { plateau, device } => {
                Some((KnownLimit::of_plateau(plateau)?, &device.device))
            }
            _ => None,
        }
    }
}

/// The cause of an incident, the most certain first.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// A device is at the limit of a cgroup.
    CgroupLimit(ReachedLimit),
    /// The kernel says what is wrong.
    Health(HealthEvidence),
    /// A device stays at a constant rate, as at a limit.
    Cap {
        plateau: Plateau,
        device: Arc<DeviceNames>,
    },
    /// A device below the victim is in trouble itself.
    DeviceBelow(Arc<DeviceNames>),
    /// Requests wait between the victim and these devices below it.
    QueuedAbove(Vec<String>),
    /// Nothing more is known than what the verdict is based on, by its name in machine formats.
    Evidence(&'static str),
}

impl Cause {
    /// Its name in machine formats.
    pub fn name(&self) -> &'static str {
        self.rank_and_name().1
    }

    /// Its rank: a cause replaces one of a lower rank.
    pub(super) fn rank(&self) -> u8 {
        self.rank_and_name().0
    }

    /// Returns whether it is about the device of which it is known rather than about what it depends on.
    pub(super) fn is_of_victim(&self) -> bool {
        matches!(self, Self::QueuedAbove(_) | Self::Evidence(_))
    }

    fn rank_and_name(&self) -> (u8, &'static str) {
        match self {
            Self::CgroupLimit(_) => (5, "cgroup_limit"),
            Self::Health(_) => (4, "health"),
            Self::Cap { .. } => (3, "constant_rate"),
            Self::DeviceBelow(_) => (2, "device_below"),
            Self::QueuedAbove(_) => (1, "queued_between"),
            Self::Evidence(name) => (0, name),
        }
    }
}
