//! Plausibility of the kernel's util.
//!
//! io_ticks, the counter behind util, is not exact on any kernel since 4.17: it counts clock ticks in which a request
//! started or ended, or the time since the last such event. Measured with one serial reader, where the busy share is
//! exactly the sum of the request times, 600 reads/s that kept a device 10% busy showed as 0.2% to 21%, depending on
//! kernel and driver; with 2,000 reads/s, 25% showed as 0.2% to 94%. So util is compared with the request times, which
//! are exact, and with the requests seen in flight.

use super::Interval;

/// A reason not to trust a number of one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFlag {
    /// The kernel's util is too low for the requests that were in flight.
    UtilTooLow,
    /// The kernel's util is above its upper bound.
    UtilTooHigh,
    /// A total lacks a device whose requests the kernel does not count.
    AccountingOff,
}

impl DataFlag {
    /// The name in JSON and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Self::UtilTooLow => "util_too_low",
            Self::UtilTooHigh => "util_too_high",
            Self::AccountingOff => "accounting_off",
        }
    }
}

/// The rounding error of util and of its bound, in percent times seconds: both are sums of whole milliseconds.
const ROUNDING_PCT_S: f64 = 0.5;
/// Util counts as above its bound only if it exceeds the bound by more than this, in percent.
const UPPER_BOUND_TOLERANCE_PCT: f64 = 1.0;
/// The mean queue below which the check does not look for a util that is too low: there is too little that the kernel
/// could miss.
const MIN_QUEUE: f64 = 0.1;
/// The ratio from which the number of requests in flight while busy, as implied by util, is implausible compared with
/// the most ever seen.
const MAX_IMPLIED_RATIO: f64 = 8.0;
/// The same ratio if requests were in flight at both ends of the interval, which is itself unlikely at such a util.
/// Bursts may be a few times deeper than any sample saw.
const MAX_IMPLIED_RATIO_IF_SEEN: f64 = 4.0;
/// The util in percent below which one interval is enough for the verdict: the probability of requests in flight at
/// both ends by chance is then 0.02 squared.
const NEAR_ZERO_PCT: f64 = 2.0;
/// At a higher util, a device that works in short bursts is rarely caught with requests in flight. The verdict then
/// requires that the sum of util over the samples, which is the expected number of sightings, is at least this.
const MIN_EXPECTED_SIGHTINGS: f64 = 3.0;

/// Checks the util of a device, interval by interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UtilCheck {
    max_in_flight: u64,
    expected_sightings: f64,
}

impl UtilCheck {
    /// Takes the next interval, with the most requests in flight in any sample within it, and returns the reason not
    /// to trust its util, if there is one.
    ///
    /// Too high: above the upper bound. Too low: it implies far more requests in flight while busy (queue / util) than
    /// any sample ever saw.
    pub fn observe(&mut self, stats: &Interval, max_in_flight: u64) -> Option<DataFlag> {
        let at_ends = stats.in_flight.max(stats.in_flight_before).unwrap_or(0);
        self.max_in_flight = self.max_in_flight.max(max_in_flight).max(at_ends);
        self.expected_sightings += stats.util_pct().unwrap_or(0.0).min(100.0) / 100.0;
        let util = stats.util_pct()?;
        let bound = stats.util_upper_bound_pct().unwrap_or(100.0);
        if util > bound + UPPER_BOUND_TOLERANCE_PCT + ROUNDING_PCT_S / stats.seconds() {
            return Some(DataFlag::UtilTooHigh);
        }
        // A log does not tell how many requests were in flight.
        let is_seen = stats.in_flight.is_some() || self.max_in_flight > 0;
        (is_seen && self.is_too_low(stats, util)).then_some(DataFlag::UtilTooLow)
    }

    fn is_too_low(&self, stats: &Interval, util: f64) -> bool {
        let Some(queue) = stats.queue().filter(|queue| *queue >= MIN_QUEUE) else {
            return false;
        };
        let implied_in_flight = queue / (util / 100.0);
        let ratio = implied_in_flight / self.max_in_flight.max(1) as f64;
        let is_near_zero = util < NEAR_ZERO_PCT;
        let was_seen_at_both_ends = stats.in_flight.min(stats.in_flight_before).unwrap_or(0) > 0;
        let is_implausible = ratio > MAX_IMPLIED_RATIO
            && (is_near_zero || self.expected_sightings >= MIN_EXPECTED_SIGHTINGS);
        is_implausible
            || (is_near_zero && was_seen_at_both_ends && ratio > MAX_IMPLIED_RATIO_IF_SEEN)
    }
}

/// Adds up how long a device has stalled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StallTimer {
    stalled_s: f64,
}

impl StallTimer {
    /// Takes the next interval and returns for how many seconds requests have been in flight at its end without any
    /// completing; the true time is at least that. 0 without a stall.
    pub fn observe(&mut self, stats: &Interval) -> f64 {
        self.stalled_s = if stats.is_stalled() {
            self.stalled_s + stats.seconds()
        } else {
            0.0
        };
        // Rounded to nanoseconds, so that ten tenths of a second are one second.
        (self.stalled_s * 1e9).round() / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Completed;

    fn stats(util_pct: f64, queue: f64, in_flight: u64) -> Interval {
        Interval::unknown(1.0)
            .with_util(util_pct)
            .with_queue(queue)
            .with_in_flight(in_flight)
    }

    fn flag_of_last(all: &[Interval]) -> Option<DataFlag> {
        let mut check = UtilCheck::default();
        all.iter()
            .map(|stats| check.observe(stats, 0))
            .last()
            .flatten()
    }

    #[test]
    fn util_above_the_time_of_the_requests_is_too_high() {
        assert_eq!(
            flag_of_last(&[stats(90.0, 0.02, 0)]),
            Some(DataFlag::UtilTooHigh)
        );
        assert_eq!(
            flag_of_last(&[stats(130.0, 7.0, 9)]),
            Some(DataFlag::UtilTooHigh)
        );
        assert_eq!(flag_of_last(&[stats(90.0, 0.895, 0)]), None);
        assert_eq!(flag_of_last(&[stats(100.3, 7.0, 9)]), None);
    }

    #[test]
    fn util_that_implies_many_more_requests_in_flight_than_ever_seen_is_too_low() {
        assert_eq!(
            flag_of_last(&[stats(0.4, 1.14, 2)]),
            Some(DataFlag::UtilTooLow)
        );
        assert_eq!(
            flag_of_last(&[stats(0.0, 0.6, 0)]),
            Some(DataFlag::UtilTooLow)
        );
        assert_eq!(flag_of_last(&[stats(8.4, 0.114, 0)]), None);
        // 64 were in flight before, so 285 are possible.
        assert_eq!(
            flag_of_last(&[stats(100.0, 60.0, 64), stats(0.4, 1.14, 0)]),
            None
        );
    }

    #[test]
    fn requests_in_flight_at_both_ends_contradict_a_util_near_zero() {
        let mut alternating = Interval {
            in_flight_before: Some(64),
            ..stats(0.4, 1.14, 1)
        };
        assert_eq!(flag_of_last(&[alternating]), Some(DataFlag::UtilTooLow));
        // A sample within the interval saw the 64.
        alternating.in_flight_before = Some(1);
        assert_eq!(
            UtilCheck::default().observe(&alternating, 64),
            Some(DataFlag::UtilTooLow)
        );
    }

    #[test]
    fn a_single_burst_need_not_be_caught_in_flight() {
        let burst = stats(30.0, 15.0, 0);
        assert_eq!(flag_of_last(&[burst]), None);
        assert_eq!(flag_of_last(&[burst; 11]), Some(DataFlag::UtilTooLow));
    }

    #[test]
    fn a_stall_lasts_until_a_request_completes() {
        let stalled = |seconds| Interval::unknown(seconds).with_in_flight(3);
        let mut timer = StallTimer::default();
        assert_eq!(timer.observe(&stalled(1.0)), 1.0);
        assert_eq!(timer.observe(&stalled(2.5)), 3.5);
        let reads = Completed::example(1.0, 1, 1.0);
        assert_eq!(
            timer.observe(&Interval {
                reads,
                ..stalled(1.0)
            }),
            0.0
        );
    }
}
