//! An event: a device in trouble, with the numbers that describe it.

use jiff::{SignedDuration, Timestamp};

use crate::analysis::{HealthEvidence, IoDirection, Plateau, RateUnit, Verdict};
use crate::attribution::ReachedLimit;
use crate::intervals::TopCgroup;

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

/// A time in which a device was in trouble.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The kernel's name of the device.
    pub device: String,
    /// The alias or, without one, the kernel's name.
    pub label: String,
    /// The worst verdict: `queueing` or worse.
    pub verdict: Verdict,
    /// The onset of the trouble. Its seconds are negative if it is before the range of time that is shown.
    pub begin: Moment,
    /// True if the onset was observed. If not, the trouble was present at the first sample, or at the first after a
    /// break in time, and may have begun earlier.
    pub begin_is_known: bool,
    /// The end of the interval in which the worst verdict was first claimed.
    pub claimed_at: Moment,
    /// The end of the last interval in trouble so far.
    pub end: Moment,
    /// True if it still lasts, or lasted when the run ended.
    pub is_ongoing: bool,
    /// Seconds from its beginning to its end, or to the latest interval.
    pub duration_s: f64,
    /// Seconds with the worst verdict.
    pub verdict_s: f64,
    /// The verdicts in the order of time, one for each change; at most [`Course::MAX`].
    pub course: Vec<Course>,
    /// The mean rate of the requests that the verdict is about; `None` if nothing completed.
    pub rate: Option<EventRate>,
    /// The highest mean latency of an interval; `None` if the kernel gives none, or counts 0 ms.
    pub peak_latency: Option<PeakLatency>,
    /// The mean queue; during a stall, the requests in flight. `None` if it is not known.
    pub mean_queue: Option<f64>,
    /// The longest mean queue of an interval.
    pub peak_queue: Option<f64>,
    /// The least number of requests that hung while others completed; `None` if nothing shows that any did.
    pub hung_requests: Option<u64>,
    /// The limit; `None` if none is known.
    pub limit: Option<EventLimit>,
    /// The cgroup with most of the device's bytes, with its mean share; `None` without attribution.
    pub top_cgroup: Option<TopCgroup>,
    /// The kind of evidence for the worst verdict; `None` without any.
    pub evidence: Option<EventEvidence>,
    /// The devices below this one, by the kernel's names, if requests waited between it and them; otherwise empty.
    pub queued_above: Vec<String>,
    /// What the kernel said was wrong when the trouble was seen last.
    pub health: Vec<HealthEvidence>,
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

/// The mean rate of requests in an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventRate {
    /// The kind of requests that it counts.
    pub direction: IoDirection,
    /// The unit of the limit; requests if there is no limit.
    pub unit: RateUnit,
    /// Requests or KiB per second.
    pub per_s: f64,
}

/// The highest mean latency of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeakLatency {
    /// Milliseconds.
    pub await_ms: f64,
    /// The kind of requests that took so long.
    pub direction: IoDirection,
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
            Self::QueuedBetween => "queued_between",
            Self::CgroupLimit => "cgroup_limit",
            Self::NothingCompleted => "nothing_completed",
            Self::HungRequests => "hung_requests",
            Self::Health => "health",
        }
    }
}
