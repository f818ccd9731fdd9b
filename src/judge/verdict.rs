//! Verdicts, and the evidence for them as data. `report` turns it into sentences.

use serde::Serialize;

use super::layers::HeldBetween;
use super::limit::Plateau;
use super::peers::SlowBesidePeers;
use super::settings::BaselineSource;
use super::shared_limit::SharedLimit;
use crate::attribution::IoDirection;
use crate::counters::Health;

/// The less severe come first; no verdict at all (`None`) comes before all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing completed and nothing in flight.
    Idle,
    /// Hardly any request waits for another, and none takes longer than an unloaded device needs.
    Ok,
    /// The kernel does not count this device's requests (queue/iostats is 0).
    AccountingOff,
    /// Requests are served several at a time, or wait, and nothing shows whether that is the device's limit.
    Busy,
    /// Requests wait for each other, but not long enough for saturated.
    Queueing,
    /// Requests take at least three times as long as unloaded although hardly any waits for another, or although the device
    /// does less than before.
    Slow,
    /// Requests take at least three times as long as unloaded while others wait.
    Saturated,
    /// The rate stays constant while requests wait.
    Capped,
    /// A cgroup has reached its limit, so that its requests wait above the device. It is a word of incidents, not of the judge.
    Throttled,
    /// Requests have been in flight for a second or more and none was completed, some hang while others complete, or the
    /// device is suspended while something waits for it.
    Stalled,
}

impl Verdict {
    /// All verdicts, the most severe first.
    pub const ALL: [Self; 10] = [
        Self::Stalled,
        Self::Throttled,
        Self::Capped,
        Self::Saturated,
        Self::Slow,
        Self::Queueing,
        Self::Busy,
        Self::AccountingOff,
        Self::Ok,
        Self::Idle,
    ];

    /// Its name in reports and machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Ok => "ok",
            Self::AccountingOff => "accounting_off",
            Self::Busy => "busy",
            Self::Queueing => "queueing",
            Self::Slow => "slow",
            Self::Saturated => "saturated",
            Self::Capped => "capped",
            Self::Throttled => "throttled",
            Self::Stalled => "stalled",
        }
    }

    /// Returns whether it is trouble: `slow` or worse.
    pub fn is_trouble(self) -> bool {
        self >= Self::Slow
    }
}

/// The judgement on a device in one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assessment {
    /// The verdict; `None` if the step has no data.
    pub verdict: Option<Verdict>,
    /// Read latency as a multiple of the highest unloaded latency that it may have; `None` if that is unknown.
    pub read_saturation: Option<f64>,
    /// The same of writes.
    pub write_saturation: Option<f64>,
    /// Flush latency as a multiple of the lowest one seen; `None` if that is unknown.
    pub flush_saturation: Option<f64>,
    /// Where the unloaded latency that decides is known from; `None` if latency was not compared with any.
    pub baseline_source: Option<BaselineSource>,
    /// The evidence for the verdict, the most important first.
    pub evidence: Vec<Evidence>,
}

impl Assessment {
    pub fn without_evidence(verdict: Verdict) -> Self {
        Self {
            verdict: Some(verdict),
            ..Self::default()
        }
    }

    pub(super) fn of(verdict: Verdict, evidence: Evidence) -> Self {
        Self {
            evidence: vec![evidence],
            ..Self::without_evidence(verdict)
        }
    }

    /// Makes the verdict another one, with the evidence that decides it and leaves no doubt.
    pub(super) fn conclude(&mut self, verdict: Verdict, evidence: Evidence) {
        self.verdict = Some(verdict);
        for other in &mut self.evidence {
            if let Evidence::Latency(latency) = other {
                latency.doubt = None;
            }
        }
        self.evidence.insert(0, evidence);
    }

    /// Returns whether the device is in trouble.
    pub fn is_trouble(&self) -> bool {
        self.verdict.is_some_and(Verdict::is_trouble)
    }

    /// How much slower the device is than its peers; `None` if it is not.
    pub fn slow_beside_peers(&self) -> Option<&SlowBesidePeers> {
        self.evidence.iter().find_map(|evidence| match evidence {
            Evidence::SlowBesidePeers(slow) => Some(slow),
            _ => None,
        })
    }

    /// The constant rate at which a limit holds the device; `None` if none is the evidence.
    pub fn plateau(&self) -> Option<&Plateau> {
        self.evidence.iter().find_map(|evidence| match evidence {
            Evidence::ConstantRate(plateau) => Some(&**plateau),
            _ => None,
        })
    }
}

/// Why requests that wait, or are served several at a time, have no better verdict than `busy`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// Nothing is known of their unloaded latency.
    NothingQuieter,
    /// They take about as long as the quietest ones seen, which may also have been at a limit.
    NothingBetter,
    /// They take longer although the device does less than before: because of other data or a slower device, not more load.
    LessWork,
    /// Too few of them completed.
    FewRequests,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// Nothing completed and nothing in flight.
    Idle,
    /// Requests were in flight and none was completed.
    NothingCompleted {
        /// Requests in flight at the end of the step; `None` if they are not counted.
        in_flight: Option<u64>,
        /// Seconds for which this has lasted, over several steps.
        for_s: f64,
        /// No task has waited for I/O for minutes, so the kernel may have missed completions in its count.
        may_be_leaked: bool,
    },
    /// Requests hang while others complete.
    Hung {
        /// At least this number of requests.
        requests: u64,
        /// Seconds for which this has lasted at least.
        for_s: f64,
    },
    /// Requests completed whose time the kernel does not count.
    NoLatency,
    /// The latency of one kind of requests.
    Latency(Latency),
    /// It is slower than devices of its kind.
    SlowBesidePeers(SlowBesidePeers),
    /// It shares a limit with other devices.
    SharedLimit(Box<SharedLimit>),
    /// The rate stays constant while requests wait.
    ConstantRate(Box<Plateau>),
    /// Most requests waited between the device and those below it.
    HeldBetween {
        /// Requests in flight at the end of the step; `None` if they are not counted.
        in_flight: Option<u64>,
        /// The devices below, by the kernel's names.
        below: Vec<String>,
        /// The latencies above and below.
        latencies: HeldBetween,
    },
    /// Requests wait between the device and one above it, while it is idle for most of the time.
    WaitingAbove {
        /// The device above, by the kernel's name.
        above: String,
    },
    /// The kernel says that something is wrong.
    Health(HealthEvidence),
}

/// What the kernel says is wrong with the device, one below it, or an array above it that rebuilds.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthEvidence {
    /// The kernel's name of the device that it says it of.
    pub device: String,
    /// The facts; counts are of what was added.
    pub troubles: Health,
    /// The seconds in which that was added: since the trouble began.
    pub counted_s: f64,
}

/// The latency of one kind of requests, beside that of the unloaded device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    pub direction: IoDirection,
    /// The verdict on these requests alone.
    pub verdict: Verdict,
    /// The mean, in milliseconds.
    pub await_ms: f64,
    /// The mean number of requests of the device that wait or are served.
    pub queue: f64,
    /// The multiple of the highest unloaded latency that they may have; `None` if that is unknown.
    pub saturation: Option<f64>,
    /// Where the unloaded latency is known from; `None` if it is unknown.
    pub source: Option<BaselineSource>,
    /// Seconds since it was seen; `None` if it is known from elsewhere.
    pub seen_s_ago: Option<f64>,
    /// Why there is no better verdict than `busy`; `None` with another one.
    pub doubt: Option<Doubt>,
}
