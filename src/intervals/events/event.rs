//! An event: a device in trouble, with the numbers that describe it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::analysis::{Plateau, Verdict};
use crate::attribution::ReachedLimit;
use crate::intervals::DeviceNames;

/// Less than any interval, more than the rounding error of a sum of seconds.
pub(super) const TOLERANCE_S: f64 = 1e-3;

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
        Self { at: self.at.and_then(|at| at.checked_sub(duration).ok()), run_s: self.run_s - seconds }
    }
}

/// A time in which one device was in trouble. What it suffered from, since when and because of whom is its incident's.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub names: Arc<DeviceNames>,
    /// The worst verdict, and the seconds with it.
    pub verdict: Verdict,
    pub verdict_s: f64,
    /// The onset, and whether it was observed: those of the incident where the device suffers from it.
    pub begin: Moment,
    pub begin_is_known: bool,
    pub end: Moment,
    pub is_ongoing: bool,
    /// The verdicts with their onsets, where they changed on the way.
    pub course: Vec<Course>,
    /// The number of its incident; `None` if the requests only wait for each other a little.
    pub incident: Option<u64>,
}

/// A verdict within an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    pub verdict: Verdict,
    pub begin: Moment,
    /// Seconds from its onset to the end of the last interval with it.
    pub duration_s: f64,
}

impl Course {
    /// The most verdicts that an event keeps.
    pub const MAX: usize = 8;
}

/// The limit that a device was at.
#[derive(Clone, Debug, PartialEq)]
pub enum EventLimit {
    /// A constant rate.
    Cap(Plateau),
    Cgroup(ReachedLimit),
}

/// The kind of evidence for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventEvidence {
    /// Latency as a multiple of unloaded latency.
    Latency,
    /// Latency as a multiple of that of devices of the same kind.
    Peers,
    /// The rate stayed constant.
    ConstantRate,
    /// The rate of several devices together stayed constant.
    SharedLimit,
    /// Requests waited between the device and those below it.
    QueuedBetween,
    /// A cgroup was at its limit.
    CgroupLimit,
    /// Requests were in flight and none completed.
    NothingCompleted,
    /// Some requests hung while others completed.
    HungRequests,
    /// The kernel said so.
    Health,
}

impl EventEvidence {
    /// Its name in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Peers => "peers",
            Self::ConstantRate => "constant_rate",
            Self::SharedLimit => "shared_limit",
            Self::QueuedBetween => "queued_between",
            Self::CgroupLimit => "cgroup_limit",
            Self::NothingCompleted => "nothing_completed",
            Self::HungRequests => "hung_requests",
            Self::Health => "health",
        }
    }
}
