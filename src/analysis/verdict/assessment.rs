//! Verdicts, and the evidence for them as data. `report` makes sentences of it.

use serde::{Serialize, Serializer};

use crate::analysis::caps::Plateau;
use crate::analysis::load::IoDirection;
use crate::analysis::thresholds::{
    MAX_UNLOADED_QUEUE, MIN_BURST_IN_FLIGHT, MIN_BURST_QUEUE, MIN_QUEUEING_SATURATION, MIN_SATURATED_QUEUE,
};

/// The state of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Nothing completed and nothing in flight.
    Idle,
    /// Latency is below 1.5 times unloaded latency, or no request waits for another.
    Ok,
    /// Requests wait for each other, but not long enough for saturated.
    Queueing,
    /// Latency is at or above the saturation threshold with a queue of two or more, over several intervals.
    Saturated,
    /// The rate stays constant however long the queue.
    Capped,
    /// Requests have been in flight for a second or more and none was completed.
    Stalled,
    /// The kernel does not count this device's requests (queue/iostats is 0).
    AccountingOff,
}

impl Verdict {
    /// All verdicts, the most severe first.
    pub const ALL: [Self; 7] = [
        Self::Stalled,
        Self::Capped,
        Self::Saturated,
        Self::Queueing,
        Self::AccountingOff,
        Self::Ok,
        Self::Idle,
    ];

    /// Its explanation in the help.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Idle => "nothing completed and nothing was in flight",
            Self::Ok => {
                "latency is below 1.5 times unloaded latency, or the queue is too short for requests to wait for \
                 each other"
            }
            Self::Queueing => "requests wait for each other, but not enough for 'saturated'",
            Self::Saturated => {
                "latency is at least 3 times unloaded latency (--saturation-threshold) with a queue of 2 or more, \
                 or in bursts, in three of the last four intervals"
            }
            Self::Capped => {
                "the rate stays constant while the queue grows or stays long: a limit such as that of a cloud volume"
            }
            Self::Stalled => "requests have been in flight for a second or more and none completed",
            Self::AccountingOff => "the kernel does not count this device's requests (queue/iostats is 0)",
        }
    }

    /// Its name in reports and machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Ok => "ok",
            Self::Queueing => "queueing",
            Self::Saturated => "saturated",
            Self::Capped => "capped",
            Self::Stalled => "stalled",
            Self::AccountingOff => "accounting_off",
        }
    }

    /// Its rank: the more severe, the higher.
    pub fn severity(self) -> u8 {
        match self {
            Self::Idle => 0,
            Self::Ok => 1,
            Self::AccountingOff => 2,
            Self::Queueing => 3,
            Self::Saturated => 4,
            Self::Capped => 5,
            Self::Stalled => 6,
        }
    }

    /// The verdict on one interval of one direction, by its saturation, its queue and the requests in flight when
    /// sampled.
    pub(super) fn from_saturation(
        saturation: f64,
        queue: f64,
        in_flight: u64,
        saturation_threshold: f64,
    ) -> Self {
        let is_burst = in_flight >= MIN_BURST_IN_FLIGHT && queue >= MIN_BURST_QUEUE;
        if saturation < MIN_QUEUEING_SATURATION || (queue < MAX_UNLOADED_QUEUE && !is_burst) {
            Self::Ok
        } else if saturation >= saturation_threshold && (queue >= MIN_SATURATED_QUEUE || is_burst) {
            Self::Saturated
        } else {
            Self::Queueing
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The more severe of two verdicts; an unknown one is the least severe.
pub(super) fn more_severe(a: Option<Verdict>, b: Option<Verdict>) -> Option<Verdict> {
    let severity = |verdict: Option<Verdict>| verdict.map(Verdict::severity);
    if severity(a) >= severity(b) { a } else { b }
}

/// The assessment of a device in one interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assessment {
    /// The verdict; `None` where the intervals so far do not show one.
    pub verdict: Option<Verdict>,
    /// Read latency as a multiple of unloaded latency; `None` where that is unknown.
    pub read_saturation: Option<f64>,
    /// Write latency as a multiple of unloaded latency; `None` where that is unknown.
    pub write_saturation: Option<f64>,
    /// The evidence for the verdict, or for its absence, the most important first.
    pub evidence: Vec<Evidence>,
}

/// A fact about one interval.
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
    },
    /// No read or write was completed whose time the kernel counts.
    NoLatency,
    /// The latency of a direction.
    Latency {
        /// Reads or writes.
        direction: IoDirection,
        /// The latency and its multiple of unloaded latency.
        latency: Latency,
    },
    /// The rate lies on a plateau.
    ConstantRate(Plateau),
}

/// A mean latency with the queue at which it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Milliseconds.
    pub await_ms: f64,
    /// Mean number of requests in the queue or being served.
    pub queue: f64,
    /// The multiple of unloaded latency; `None` where that is unknown.
    pub saturation: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_verdicts_are_listed_from_most_to_least_severe() {
        let severities = Verdict::ALL.map(Verdict::severity);
        assert_eq!(severities, [6, 5, 4, 3, 2, 1, 0]);
    }

    #[test]
    fn a_single_outstanding_request_does_not_queue() {
        let verdict =
            |saturation, queue, in_flight| Verdict::from_saturation(saturation, queue, in_flight, 3.0);
        assert_eq!(verdict(10.0, 1.14, 2), Verdict::Ok);
        assert_eq!(verdict(10.0, 1.8, 2), Verdict::Queueing);
        assert_eq!(verdict(10.0, 0.3, 2), Verdict::Ok);
        assert_eq!(verdict(10.0, 2.0, 2), Verdict::Saturated);
        assert_eq!(verdict(10.0, 1.1, 30), Verdict::Saturated);
        assert_eq!(verdict(2.9, 8.0, 8), Verdict::Queueing);
        assert_eq!(verdict(1.4, 8.0, 8), Verdict::Ok);
    }
}
