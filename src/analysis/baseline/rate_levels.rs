//! Latency of one kind of request by rate: evidence that a low latency is not that of a device at its limit.

use std::collections::BTreeMap;

use libm::{exp, ilogb};

use crate::analysis::stats::IoTotals;
use crate::analysis::thresholds::{
    MAX_PROVEN_RATE_RATIO, MAX_UNBEATEN_RATIO, MIN_BASELINE_INTERVALS, MIN_CONTINUOUS_BUSY_FRACTION,
    MIN_LATENCY_REQUESTS, MIN_LATENCY_SUM_MS, MIN_PROVEN_RATE_RATIO, MIN_QUEUEING_SATURATION,
    MIN_SATURATED_QUEUE, SAME_LATENCY_TOLERANCE,
};

/// Sums over the intervals of similar rate.
#[derive(Clone, Debug, Default)]
struct RateLevel {
    totals: IoTotals,
    seconds: f64,
    intervals: f64,
    /// The mean queue of the device times the seconds.
    queue_s: f64,
    /// Seconds with a request in flight, as the kernel counts them; 0 in intervals for which it does not.
    busy_s: f64,
}

impl RateLevel {
    fn rate(&self) -> f64 {
        self.totals.ios / self.seconds
    }

    fn await_ms(&self) -> f64 {
        self.totals.ms / self.totals.ios
    }

    fn queue(&self) -> f64 {
        self.queue_s / self.seconds
    }

    /// Returns whether requests were in flight for as much of the time as at a queue that is as long all the time, or
    /// nearly. In bursts with idle time in between, the queue is longer than on average.
    fn is_continuous(&self) -> bool {
        let expected_s = (1.0 - exp(-self.queue())) * self.seconds;
        self.busy_s >= MIN_CONTINUOUS_BUSY_FRACTION * expected_s
    }

    /// Returns whether its latency is known well enough.
    fn is_known(&self) -> bool {
        self.intervals >= MIN_BASELINE_INTERVALS
            && self.totals.ios >= MIN_LATENCY_REQUESTS
            && self.totals.ms >= MIN_LATENCY_SUM_MS
    }
}

/// The number of the rate's class: twice its binary logarithm, rounded down.
fn half_powers_of_two(rate: f64) -> i32 {
    ilogb(rate * rate)
}

/// Latency by rate. Its memory is bounded: a rate has few half powers of two.
#[derive(Clone, Debug, Default)]
pub(super) struct RateLevels(BTreeMap<i32, RateLevel>);

impl RateLevels {
    /// Takes the requests of an interval at the mean queue of all requests of the device, which had a request in flight
    /// for `busy_s`.
    pub(super) fn observe(&mut self, totals: &IoTotals, seconds: f64, total_queue: f64, busy_s: Option<f64>) {
        let rate = totals.ios / seconds;
        if rate > 0.0 {
            let level = self.0.entry(half_powers_of_two(rate)).or_default();
            level.totals = level.totals.plus(totals);
            level.seconds += seconds;
            level.intervals += 1.0;
            level.queue_s += total_queue * seconds;
            level.busy_s += busy_s.unwrap_or(0.0);
        }
    }

    fn known(&self) -> impl DoubleEndedIterator<Item = &RateLevel> {
        self.0.values().filter(|level| level.is_known())
    }

    /// The highest rate at which latency was hardly above `unloaded_ms`; `None` if latency was higher at every rate.
    pub(super) fn max_unloaded_rate(&self, unloaded_ms: f64) -> Option<f64> {
        self.known()
            .rfind(|level| level.await_ms() < MIN_QUEUEING_SATURATION * unloaded_ms)
            .map(RateLevel::rate)
    }

    /// The highest rate at which requests may be compared with `unloaded_ms`, which was seen at low rates: a device
    /// that sleeps between rare requests is slow only at low rates. Infinite if no rate at low latency is known.
    pub(super) fn max_comparable_rate(&self, unloaded_ms: f64) -> f64 {
        let is_unloaded = |level: &&RateLevel| level.await_ms() < MIN_QUEUEING_SATURATION * unloaded_ms;
        let rates = self.known().filter(is_unloaded).map(RateLevel::rate);
        let highest = rates.reduce(
            |highest, rate| {
                if rate <= MAX_PROVEN_RATE_RATIO * highest { rate } else { highest }
            },
        );
        highest.map_or(f64::INFINITY, |rate| MAX_PROVEN_RATE_RATIO * rate)
    }

    /// Returns whether `unloaded_ms` is proven to be the latency of a device that was not at its limit: about that
    /// latency was seen at a rate that the device at least doubled at another time. At a cap, or with all servers busy,
    /// it could not have doubled its rate.
    ///
    /// The higher rate must not be far higher: a device that sleeps between rare requests is slow at those, and a rate
    /// a thousand times higher says nothing about their latency.
    pub(super) fn is_proven(&self, unloaded_ms: f64) -> bool {
        let is_unloaded = |level: &&RateLevel| {
            let ratio = level.await_ms() / unloaded_ms;
            (1.0 - SAME_LATENCY_TOLERANCE..=1.0 + SAME_LATENCY_TOLERANCE).contains(&ratio)
        };
        self.known().filter(is_unloaded).any(|slow| {
            self.known().any(|fast| {
                (MIN_PROVEN_RATE_RATIO..=MAX_PROVEN_RATE_RATIO).contains(&(fast.rate() / slow.rate()))
                    && fast.await_ms() > MAX_UNBEATEN_RATIO * slow.await_ms()
            })
        })
    }

    /// Returns whether `unloaded_ms` was seen at a rate and again at twice that rate or more. Requests that wait for
    /// each other wait longer at twice the rate, so hardly any waited at the lower rate, however many were in flight.
    /// Bursts prove nothing: with twice as many of them, or if they last twice as long, each request waits as before.
    pub(super) fn is_flat(&self, unloaded_ms: f64) -> bool {
        let is_same = |level: &&RateLevel| {
            let ratio = level.await_ms() / unloaded_ms;
            (1.0 - SAME_LATENCY_TOLERANCE..=1.0 + SAME_LATENCY_TOLERANCE).contains(&ratio)
        };
        let same = || self.known().filter(is_same);
        same().filter(|slow| slow.is_continuous()).any(|slow| {
            let is_proof = |fast: &RateLevel| {
                (MIN_PROVEN_RATE_RATIO..=MAX_PROVEN_RATE_RATIO).contains(&(fast.rate() / slow.rate()))
            };
            same().any(is_proof)
        })
    }

    /// The lowest latency that was clearly below `unloaded_ms` although other requests were in flight, with its queue.
    /// It disproves `unloaded_ms`: the device was then asleep, busy with something else or had other data to read.
    /// `None` if no latency disproves it.
    pub(super) fn beaten_by(&self, unloaded_ms: f64) -> Option<(f64, f64)> {
        let beats = |level: &&RateLevel| {
            level.queue() >= MIN_SATURATED_QUEUE && level.await_ms() < MAX_UNBEATEN_RATIO * unloaded_ms
        };
        let latencies = self.known().filter(beats).map(|level| (level.await_ms(), level.queue()));
        latencies.min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(intervals: &[(f64, f64, f64)]) -> RateLevels {
        busy_levels(intervals, 1.0)
    }

    /// Levels with a request in flight for `busy` of the time.
    fn busy_levels(intervals: &[(f64, f64, f64)], busy: f64) -> RateLevels {
        let mut levels = RateLevels::default();
        for (rate, ms, queue) in intervals {
            let totals = IoTotals { ios: *rate, kib: 4.0 * rate, ms: ms * rate };
            (0..3).for_each(|_| levels.observe(&totals, 1.0, *queue, Some(busy)));
        }
        levels
    }

    #[test]
    fn twice_the_rate_proves_that_a_latency_is_not_that_of_a_limit() {
        assert!(levels(&[(1000.0, 0.5, 0.5), (2000.0, 0.55, 1.1)]).is_proven(0.5));
        // The higher rate may have any latency: it shows that the lower rate was not the limit.
        assert!(levels(&[(1000.0, 0.5, 0.5), (4000.0, 4.0, 16.0)]).is_proven(0.5));
        assert!(!levels(&[(1000.0, 0.5, 0.5), (1500.0, 0.5, 0.8)]).is_proven(0.5));
        assert!(!levels(&[(1000.0, 0.5, 0.5)]).is_proven(0.5));
        // A device that sleeps between rare requests.
        assert!(!levels(&[(30.0, 1.7, 0.05), (40_000.0, 1.0, 40.0)]).is_proven(1.7));
    }

    #[test]
    fn a_latency_that_is_beaten_beside_other_requests_is_not_that_of_the_unloaded_device() {
        let asleep = levels(&[(30.0, 1.7, 0.05), (40_000.0, 1.0, 40.0)]);
        assert_eq!(asleep.beaten_by(1.7), Some((1.0, 40.0)));
        assert_eq!(levels(&[(1000.0, 0.5, 0.5), (4000.0, 0.45, 1.8)]).beaten_by(0.5), None);
    }

    #[test]
    fn the_same_latency_at_twice_the_rate_is_that_of_the_unloaded_device() {
        assert!(levels(&[(4000.0, 0.5, 2.0), (8000.0, 0.55, 4.4)]).is_flat(0.5));
        assert!(!levels(&[(4000.0, 0.5, 2.0), (8000.0, 0.8, 6.4)]).is_flat(0.5));
        assert!(!levels(&[(4000.0, 0.5, 2.0), (6000.0, 0.5, 3.0)]).is_flat(0.5));
        // Bursts of 64 requests, then bursts that last twice as long: the requests of both waited.
        let bursts = [(1000.0, 14.0, 14.0), (2000.0, 14.0, 28.0)];
        assert!(levels(&bursts).is_flat(14.0) && !busy_levels(&bursts, 0.22).is_flat(14.0));
    }

    #[test]
    fn latency_at_rare_requests_says_nothing_about_far_higher_rates() {
        let asleep = levels(&[(30.0, 1.7, 0.05), (40_000.0, 1.9, 76.0)]);
        assert!((asleep.max_comparable_rate(1.7) - 480.0).abs() < 1e-6);
        let growing = levels(&[(100.0, 1.0, 0.1), (1000.0, 1.0, 1.0), (8000.0, 1.1, 8.8)]);
        assert!((growing.max_comparable_rate(1.0) - 128_000.0).abs() < 1e-6);
        assert_eq!(levels(&[]).max_comparable_rate(1.0), f64::INFINITY);
    }

    #[test]
    fn the_highest_rate_at_low_latency_is_found() {
        let levels = levels(&[(1000.0, 0.5, 0.5), (2500.0, 0.6, 1.5), (4000.0, 4.0, 16.0)]);
        assert_eq!(levels.max_unloaded_rate(0.5), Some(2500.0));
        assert_eq!(levels.max_unloaded_rate(0.1), None);
    }
}
