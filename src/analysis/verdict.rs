//! The verdict: one word.

use serde::{Serialize, Serializer};

/// How a device is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Nothing was done and nothing is in flight.
    Idle,
    /// It answers in less than 1.5 times its unloaded response time, or no request waits for another.
    Ok,
    /// Requests wait for each other, but not long enough for saturated.
    Queueing,
    /// It answers in the set multiple of its unloaded response time or more, with two or more requests there, over
    /// several intervals.
    Saturated,
    /// The rate stands still however many requests there are.
    Capped,
    /// Requests have been in flight for a second or more, and none was completed.
    Stalled,
    /// The kernel does not count this device's requests (queue/iostats is 0).
    AccountingOff,
}

impl Verdict {
    /// Its word in reports and machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Ok => "ok",
            Self::Queueing => "queueing",
            Self::Saturated => "saturated",
            Self::Capped => "capped",
            Self::Stalled => "stalled",
            Self::AccountingOff => "accounting-off",
        }
    }

    /// How bad it is: the worse, the more.
    pub fn severity(self) -> u8 {
        match self {
            Self::Idle => 0,
            Self::Ok => 1,
            Self::AccountingOff => 2,
            Self::Queueing => 3,
            Self::Capped => 4,
            Self::Saturated => 5,
            Self::Stalled => 6,
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// From this multiple of the unloaded response time on, requests wait (formulas, "In words the verdicts").
pub(super) const QUEUEING_AT: f64 = 1.5;
/// The mean concurrency of a direction that saturation needs: a queue of one waits for nobody.
pub(super) const LEAST_QUEUE: f64 = 2.0;
/// So many in flight when sampled are a burst.
const BURST: u64 = 8;
/// Up to this mean concurrency a slow answer is no waiting, as a baseline may be learnt there.
pub(super) const ALONE: f64 = super::baseline::UNLOADED;
/// A direction with less than this share of the requests' time does not decide.
pub(super) const MINOR: f64 = 0.1;
/// A burst of less than this mean concurrency is a rare one.
const LEAST_BURST: f64 = 0.5;

/// What a saturation at a concurrency in one direction means for that interval alone.
pub(super) fn by_saturation(saturation: f64, queue: f64, in_flight: u64, saturated_at: f64) -> Verdict {
    let in_burst = in_flight >= BURST && queue >= LEAST_BURST;
    if saturation < QUEUEING_AT || (queue < ALONE && !in_burst) {
        Verdict::Ok
    } else if saturation >= saturated_at && (queue >= LEAST_QUEUE || in_burst) {
        Verdict::Saturated
    } else {
        Verdict::Queueing
    }
}

/// The worse of what is thought of two directions.
pub(super) fn worse(a: Option<Verdict>, b: Option<Verdict>) -> Option<Verdict> {
    let severity = |verdict: Option<Verdict>| verdict.map(Verdict::severity);
    if severity(a) >= severity(b) { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_one_waits_for_nobody() {
        assert_eq!(by_saturation(10.0, 1.14, 2, 3.0), Verdict::Ok);
        assert_eq!(by_saturation(10.0, 1.8, 2, 3.0), Verdict::Queueing);
        assert_eq!(by_saturation(10.0, 0.3, 2, 3.0), Verdict::Ok);
        assert_eq!(by_saturation(10.0, 2.0, 2, 3.0), Verdict::Saturated);
        assert_eq!(by_saturation(10.0, 1.1, 30, 3.0), Verdict::Saturated);
        assert_eq!(by_saturation(2.9, 8.0, 8, 3.0), Verdict::Queueing);
        assert_eq!(by_saturation(1.4, 8.0, 8, 3.0), Verdict::Ok);
    }
}
