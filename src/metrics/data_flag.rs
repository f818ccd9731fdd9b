//! Plausibility of the kernel's util.
//!
//! io_ticks, the counter behind util, is not exact on any kernel since 4.17: it counts clock ticks in which a request
//! started or ended, or the time since the last such event. Measured with one serial reader, where the busy share is
//! exactly the sum of the request times, 600 reads/s that kept a device 10% busy showed as 0.2% to 21%, depending on
//! kernel and driver; with 2,000 reads/s, 25% showed as 0.2% to 94%. So util is compared with its upper bound, which
//! follows from the request times: those are exact. A util that is too low is not marked: the bound is shown next to it.

use super::Interval;

/// The rounding error of util and of its bound, in percent times seconds: both are sums of whole milliseconds.
const ROUNDING_PCT_S: f64 = 0.5;
/// Util counts as above its bound only if it exceeds the bound by more than this, in percent.
const UPPER_BOUND_TOLERANCE_PCT: f64 = 1.0;

/// A reason not to trust a number of one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFlag {
    /// The kernel's util is above its upper bound.
    UtilTooHigh,
    /// A total lacks a device whose requests the kernel does not count.
    AccountingOff,
}

impl DataFlag {
    /// The name in JSON and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Self::UtilTooHigh => "util_too_high",
            Self::AccountingOff => "accounting_off",
        }
    }

    /// Returns the flag of an interval whose util is above its upper bound; `None` if it is not.
    pub fn of_util(stats: &Interval) -> Option<Self> {
        let bound = stats.util_upper_bound_pct().unwrap_or(100.0);
        let tolerance = UPPER_BOUND_TOLERANCE_PCT + ROUNDING_PCT_S / stats.seconds();
        (stats.util_pct()? > bound + tolerance).then_some(Self::UtilTooHigh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(util_pct: f64, queue: f64, in_flight: u64) -> Interval {
        Interval::unknown(1.0)
            .with_util(util_pct)
            .with_queue(queue)
            .with_in_flight(in_flight)
    }

    #[test]
    fn util_above_the_time_of_the_requests_is_too_high() {
        let flag =
            |util_pct, queue, in_flight| DataFlag::of_util(&stats(util_pct, queue, in_flight));
        assert_eq!(flag(90.0, 0.02, 0), Some(DataFlag::UtilTooHigh));
        assert_eq!(flag(130.0, 7.0, 9), Some(DataFlag::UtilTooHigh));
        assert_eq!(flag(90.0, 0.895, 0), None);
        assert_eq!(flag(100.3, 7.0, 9), None);
    }
}
