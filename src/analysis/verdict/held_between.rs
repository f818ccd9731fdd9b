//! Requests that wait between a stacked device and those below it, in one interval: evidence that needs no baseline.

use crate::analysis::stats::IoTotals;
use crate::analysis::thresholds::{
    DEFAULT_SATURATION_THRESHOLD, MAX_IDLE_UTIL_PCT, MAX_MINOR_TIME_FRACTION, MIN_HELD_SATURATION,
    MIN_INTERVAL_REQUESTS, MIN_LOADED_QUEUE, MIN_SATURATED_QUEUE, MOST_FRACTION,
};
use crate::metrics::Interval;

/// The latency above and below the place where requests wait, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldBetween {
    /// At the upper device.
    pub await_above_ms: f64,
    /// At the slowest of the lower ones.
    pub await_below_ms: f64,
    /// True if as many requests wait as in a saturated device, and not only a process that sends one after the other.
    pub are_many: bool,
}

impl HeldBetween {
    /// Returns whether the upper device is saturated. No baseline is needed: unloaded, it takes as long as the devices
    /// below plus some time of its own.
    pub fn shows_saturation(&self) -> bool {
        self.are_many && self.are_far_slower()
    }

    fn are_far_slower(&self) -> bool {
        self.await_above_ms >= MIN_HELD_SATURATION * self.await_below_ms
    }
}

/// Returns the latencies if most requests of `above` waited before they reached the devices `below`: for a limit, a
/// lock, or work of the layer itself, but not for these devices. `None` if they did not, or if most requests never
/// reached the devices below, like those that a cache answers.
pub fn held_between(above: &Interval, below: &[&Interval]) -> Option<HeldBetween> {
    let totals = |stats: &Interval| {
        let writes = IoTotals::of(&stats.writes)?;
        Some(IoTotals::of(&stats.reads)?.plus(&writes))
    };
    let upper = totals(above)?;
    let lower: Vec<IoTotals> = below
        .iter()
        .map(|stats| totals(stats))
        .collect::<Option<_>>()?;
    let sum = lower
        .iter()
        .fold(IoTotals::default(), |sum, one| sum.plus(one));
    let await_above_ms = upper.await_ms()?;
    let await_below_ms = lower
        .iter()
        .filter_map(IoTotals::await_ms)
        .reduce(f64::max)?;
    let queue = upper.ms / 1000.0 / above.seconds();
    let are_many = queue >= MIN_SATURATED_QUEUE;
    let held = HeldBetween {
        await_above_ms,
        await_below_ms,
        are_many,
    };
    let is_loaded = upper.ios >= MIN_INTERVAL_REQUESTS
        && (are_many || queue >= MIN_LOADED_QUEUE && held.are_far_slower());
    let was_passed_down = sum.ios >= MOST_FRACTION * upper.ios;
    let is_held = upper.ms - sum.ms >= MOST_FRACTION * upper.ms
        && await_above_ms >= DEFAULT_SATURATION_THRESHOLD * await_below_ms;
    (is_loaded && was_passed_down && is_held).then_some(held)
}

/// Returns whether the requests that `above` holds do not wait for the device `below`: they spend hardly any of their
/// time there, and it is idle for at least half of the time.
pub fn is_idle_below(above: &Interval, below: &Interval) -> bool {
    let queue = |stats: &Interval| Some(stats.reads.queue()? + stats.writes.queue()?);
    let is_minor = queue(below)
        .zip(queue(above))
        .is_some_and(|(below, above)| below <= MAX_MINOR_TIME_FRACTION * above);
    // The queue is an upper bound of the fraction of time it is busy, but far above it if requests come in bursts.
    let is_mostly_idle = queue(below).is_some_and(|queue| queue <= MIN_LOADED_QUEUE)
        || below
            .util_pct()
            .is_some_and(|util| util <= MAX_IDLE_UTIL_PCT);
    is_minor && is_mostly_idle
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Completed;

    fn reads(ios: u64, await_ms: f64) -> Interval {
        let (reads, writes) = (
            Completed::example(1.0, ios, await_ms),
            Completed::example(1.0, 0, 0.0),
        );
        Interval {
            reads,
            writes,
            ..Interval::unknown(1.0)
        }
    }

    #[test]
    fn requests_that_are_slow_above_and_fast_below_are_held_between() {
        let held = held_between(&reads(2000, 15.9), &[&reads(2000, 0.4)]).unwrap();
        assert!(
            (held.await_above_ms - 15.9).abs() < 1e-9 && (held.await_below_ms - 0.4).abs() < 1e-9
        );
        // The device below is slow.
        assert_eq!(
            held_between(&reads(2000, 15.9), &[&reads(2000, 15.0)]),
            None
        );
        // One of two devices below is slow.
        assert_eq!(
            held_between(&reads(2000, 15.9), &[&reads(1000, 0.4), &reads(1000, 15.0)]),
            None
        );
        // A process that sends one request after the other is not many that wait.
        let serial = held_between(&reads(20, 48.0), &[&reads(20, 0.4)]).unwrap();
        assert!(held.shows_saturation() && !serial.shows_saturation());
        assert_eq!(held_between(&reads(20, 48.0), &[&reads(20, 12.0)]), None);
        // Hardly any request waits.
        assert_eq!(held_between(&reads(100, 1.5), &[&reads(100, 0.1)]), None);
        // Most requests never reached the device below.
        assert_eq!(held_between(&reads(2000, 15.9), &[&reads(20, 0.4)]), None);
    }

    #[test]
    fn a_device_that_is_idle_while_requests_wait_above_is_not_what_they_wait_for() {
        let above = reads(2000, 15.9);
        assert!(is_idle_below(&above, &reads(2000, 0.2)));
        // The device below may be busy all the time, with one request after the other...
        let serial = reads(2000, 0.5).with_util(100.0);
        assert!(!is_idle_below(&above, &serial));
        // ...or be idle between bursts.
        let in_bursts = reads(2000, 0.5).with_util(10.0);
        assert!(is_idle_below(&above, &in_bursts));
        // The requests spend too much of their time there.
        assert!(!is_idle_below(&reads(2000, 1.0), &reads(2000, 0.2)));
    }
}
