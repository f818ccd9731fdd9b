//! Verdicts, and the evidence for them as data. `report` turns it into sentences.

use serde::Serialize;

use super::HeldBetween;
use crate::analysis::caps::{Plateau, SharedLimit};
use crate::analysis::load::IoDirection;
use crate::analysis::peers::SlowBesidePeers;
use crate::analysis::settings::BaselineSource;
use crate::attribution::ReachedLimit;
use crate::counters::Health;

/// The less severe come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing completed and nothing in flight.
    Idle,
    /// Latency is below 1.5 times unloaded latency, which is proven not to come from a limit; or requests wait at a
    /// device above while this one is idle for most of the time.
    Ok,
    /// The kernel does not count this device\'s requests (queue/iostats is 0).
    AccountingOff,
    /// Requests wait for each other, but not long enough for saturated.
    Queueing,
    /// Requests take at least three times as long as before, although none waits for another or the rate is no higher
    /// than before.
    Slow,
    /// Latency is at or above the saturation threshold with a queue of two or more, over several intervals.
    Saturated,
    /// The rate stays constant however long the queue.
    Capped,
    /// A cgroup that does most of the device's I/O has reached its limit, so that its requests wait above the device.
    Throttled,
    /// Requests have been in flight for a second or more and none was completed, some hang while others complete, or the
    /// device is suspended while something waits for it.
    Stalled,
}

impl Verdict {
    /// All verdicts, the most severe first.
    pub const ALL: [Self; 9] = [
        Self::Stalled,
        Self::Throttled,
        Self::Capped,
        Self::Saturated,
        Self::Slow,
        Self::Queueing,
        Self::AccountingOff,
        Self::Ok,
        Self::Idle,
    ];

    /// Its name in reports and machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Ok => "ok",
            Self::Queueing => "queueing",
            Self::Slow => "slow",
            Self::Saturated => "saturated",
            Self::Capped => "capped",
            Self::Throttled => "throttled",
            Self::Stalled => "stalled",
            Self::AccountingOff => "accounting_off",
        }
    }

    /// Its rank: the more severe, the higher.
    pub fn severity(self) -> u8 {
        self as u8
    }

    pub(crate) fn is_trouble(self) -> bool {
        self > Self::Ok
    }
}

/// The assessment of a device in one interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assessment {
    /// The verdict; `None` if the intervals so far do not show one.
    pub verdict: Option<Verdict>,
    /// Read latency as a multiple of unloaded latency; `None` if that is unknown.
    pub read_saturation: Option<f64>,
    /// Write latency as a multiple of unloaded latency; `None` if that is unknown.
    pub write_saturation: Option<f64>,
    /// Flush latency as a multiple of its usual one; `None` if that is unknown.
    pub flush_saturation: Option<f64>,
    /// The origin of the baseline that decides; `None` if latency was not compared with any.
    pub baseline_source: Option<BaselineSource>,
    /// Seconds for which the interval's own verdict, confirmed or not, has certainly lasted: from the first interval
    /// that showed it to the end of this one, because a verdict is claimed only after several intervals. `None` if the
    /// verdict is about this interval alone.
    pub lasted_s: Option<f64>,
    /// The evidence for the verdict, or for its absence, the most important first.
    pub evidence: Vec<Evidence>,
}

impl Assessment {
    /// Returns whether it would be `ok` if a limit above the device were known to hold requests.
    pub fn is_ok_below_limit(&self) -> bool {
        let is_doubt =
            |evidence: &Evidence| matches!(evidence, Evidence::Latency { doubt: Some(_), .. });
        let is_fine = |evidence: &Evidence| matches!(evidence, Evidence::Latency { doubt, .. } if doubt.is_none_or(Doubt::may_be_limit_above));
        self.verdict.is_none()
            && self.evidence.iter().any(is_doubt)
            && self.evidence.iter().all(is_fine)
    }

    /// Makes the verdict `ok`, because requests wait at a device `above`, not at this one.
    pub fn clear_below_limit(&mut self, above: &str) {
        self.verdict = Some(Verdict::Ok);
        self.settle_limit_doubts();
        self.evidence.insert(
            0,
            Evidence::WaitingAbove {
                above: above.to_owned(),
            },
        );
    }

    /// How much slower the device is than its peers; `None` if it is not.
    pub fn slow_beside_peers(&self) -> Option<&SlowBesidePeers> {
        self.evidence.iter().find_map(|evidence| match evidence {
            Evidence::SlowBesidePeers(slow) => Some(slow),
            _ => None,
        })
    }

    /// The limit that the device shares with others, if that is the verdict.
    pub fn shared_limit(&self) -> Option<&SharedLimit> {
        self.evidence.iter().find_map(|evidence| match evidence {
            Evidence::SharedLimit(limit) => Some(&**limit),
            _ => None,
        })
    }

    /// The device above at which requests wait while this one is idle for most of the time.
    pub fn waiting_above(&self) -> Option<&str> {
        self.evidence.iter().find_map(|evidence| match evidence {
            Evidence::WaitingAbove { above } => Some(above.as_str()),
            _ => None,
        })
    }

    /// Makes the verdict `capped`, unless a worse one applies, because the device shares a limit with others.
    pub(super) fn note_shared_limit(&mut self, limit: SharedLimit) {
        if self.verdict < Some(Verdict::Capped) {
            self.lasted_s = Some(limit.lasted_s);
            self.conclude(Verdict::Capped, Evidence::SharedLimit(Box::new(limit)));
        }
    }

    /// Replaces the verdict by one that needs no other intervals to confirm it.
    pub fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = Some(verdict);
        self.evidence
            .retain(|evidence| !matches!(evidence, Evidence::Unconfirmed(_)));
    }

    /// Replaces the verdict by one with evidence of its own, which leaves no doubt.
    fn conclude(&mut self, verdict: Verdict, evidence: Evidence) {
        self.set_verdict(verdict);
        for evidence in &mut self.evidence {
            if let Evidence::Latency { doubt, .. } = evidence {
                *doubt = None;
            }
        }
        self.evidence.insert(0, evidence);
    }

    /// Takes into account that the device is slower than its peers: the verdict becomes `slow` unless requests hang or
    /// a limit holds them. It is not `saturated`, because the same load does not saturate the others.
    pub(super) fn note_slow_beside_peers(&mut self, slow: &SlowBesidePeers) {
        let evidence = Evidence::SlowBesidePeers(*slow);
        if self.verdict > Some(Verdict::Saturated) {
            self.evidence.push(evidence);
            return;
        }
        self.baseline_source = Some(BaselineSource::Peers);
        self.lasted_s = Some(
            self.lasted_s
                .map_or(slow.lasted_s, |lasted_s| lasted_s.max(slow.lasted_s)),
        );
        self.conclude(Verdict::Slow, evidence);
    }

    /// Removes the doubts that a limit above the device would explain, because it is known whether there is one.
    fn settle_limit_doubts(&mut self) {
        for evidence in &mut self.evidence {
            if let Evidence::Latency { doubt, .. } = evidence {
                *doubt = doubt.filter(|doubt| !doubt.may_be_limit_above());
            }
        }
    }

    /// Adds the evidence that a cgroup has reached its limit. The verdict becomes `throttled` if the limit holds the
    /// device back and no more severe verdict applies; returns whether it did.
    pub fn note_limit(&mut self, limit: &ReachedLimit) -> bool {
        let is_verdict = limit.holds_device && self.verdict < Some(Verdict::Throttled);
        if is_verdict {
            self.set_verdict(Verdict::Throttled);
            self.settle_limit_doubts();
            self.evidence.insert(0, Evidence::AtLimit(limit.clone()));
        } else {
            self.evidence.push(Evidence::AtLimit(limit.clone()));
        }
        is_verdict
    }
}

/// The reason why a direction has no verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// Its unloaded latency is unknown.
    NoBaseline,
    /// Its latency is the lowest seen, but that may already be at a limit, because the load was always the same.
    ConstantLoad,
    /// Its latency is the lowest seen, but far above the mean since boot.
    AboveSinceBoot,
    /// Requests take longer than before at a lower rate: because of other data or a slower device, but not because of
    /// more load.
    RateFell {
        per_s: f64,
        /// The highest rate per second at low latency before.
        unloaded_per_s: f64,
    },
    /// Several requests are in flight at a time although the mean queue is short, so they may wait for each other in
    /// short bursts.
    Bursts,
    /// There are too few requests for a verdict.
    FewRequests,
    /// Requests take longer than before, but so briefly and so few at a time that hardly anyone notices.
    LittleImpact,
}

impl Doubt {
    /// Returns whether a better baseline would resolve the doubt.
    pub fn is_about_baseline(self) -> bool {
        matches!(
            self,
            Self::NoBaseline | Self::ConstantLoad | Self::AboveSinceBoot
        )
    }

    /// Returns whether a limit above the device would explain the doubt.
    pub(super) fn may_be_limit_above(self) -> bool {
        matches!(self, Self::ConstantLoad | Self::Bursts)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// Nothing completed and nothing in flight.
    Idle,
    /// Requests were in flight and none was completed.
    NothingCompleted {
        /// Requests in flight at the end of the interval.
        in_flight: u64,
        /// Seconds for which this has lasted, over several intervals.
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
        /// As in [`Evidence::NothingCompleted`].
        may_be_leaked: bool,
        /// A limit above may release this number of requests just before every sample.
        may_be_bursts: bool,
    },
    /// The interval by itself shows this verdict, but too few intervals have confirmed it yet.
    Unconfirmed(Verdict),
    /// No read or write was completed for which the kernel counts the time.
    NoLatency,
    Latency {
        /// Reads or writes.
        direction: IoDirection,
        /// The latency and its multiple of unloaded latency.
        latency: Latency,
        /// The origin of the unloaded latency; `None` if that is unknown.
        source: Option<BaselineSource>,
        /// The reason why this direction has no verdict; `None` if it has one.
        doubt: Option<Doubt>,
    },
    /// It is slower than devices of its kind.
    SlowBesidePeers(SlowBesidePeers),
    /// It shares a limit with other devices.
    SharedLimit(Box<SharedLimit>),
    /// The rate lies on a plateau.
    ConstantRate(Plateau),
    /// Most requests waited between the device and those below it.
    HeldBetween {
        /// Requests in flight at the end of the interval; `None` if the kernel miscounted them.
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
    /// A cgroup that uses the device has reached its limit.
    AtLimit(ReachedLimit),
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

/// A mean latency with the queue at which it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Milliseconds.
    pub await_ms: f64,
    /// Mean number of requests in the queue or being served.
    pub queue: f64,
    /// The multiple of unloaded latency; `None` if that is unknown.
    pub saturation: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_verdicts_are_listed_from_most_to_least_severe() {
        let severities = Verdict::ALL.map(Verdict::severity);
        assert_eq!(severities, [8, 7, 6, 5, 4, 3, 2, 1, 0]);
    }
}
