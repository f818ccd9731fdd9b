//! Where the requests of stacked devices wait, in one step: evidence that needs no unloaded latency.

use super::thresholds::{
    CLEARLY_FASTER, MIN_FELT_QUEUE, MIN_QUEUE, MIN_REQUESTS, MIN_SHARE, SATURATED,
};
use crate::metrics::{Completed, Interval};

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
    /// Returns whether the upper device is saturated. Unloaded, it takes as long as the devices below plus some time of its
    /// own, which may be as long again.
    pub(super) fn shows_saturation(&self) -> bool {
        self.are_many && self.are_far_slower()
    }

    fn are_far_slower(&self) -> bool {
        self.await_above_ms >= 2.0 * SATURATED * self.await_below_ms
    }
}

/// Reads and writes together; `None` if their times are not counted.
fn both(interval: &Interval) -> Option<Completed> {
    let both = interval.reads_and_writes();
    (both.time.ns > 0).then_some(both)
}

/// Returns the latencies if most requests of `above` waited before they reached the devices `below`: for a limit, a lock, or
/// work of the layer itself, but not for these devices. `None` if they did not, or if most requests never reached the devices
/// below, like those that a cache answers.
pub(super) fn held_between(above: &Interval, below: &[&Interval]) -> Option<HeldBetween> {
    let upper = both(above)?;
    let mut lower = Completed::default();
    let mut await_below_ms: f64 = 0.0;
    for interval in below {
        let one = both(interval)?;
        await_below_ms = await_below_ms.max(one.await_ms().unwrap_or(0.0));
        lower = lower.beside(&one);
    }
    let held = HeldBetween {
        await_above_ms: upper.await_ms()?,
        await_below_ms,
        are_many: upper.queue()? >= MIN_QUEUE,
    };
    let is_loaded = upper.ios.sum >= MIN_REQUESTS
        && (held.are_many || upper.queue()? >= MIN_FELT_QUEUE && held.are_far_slower());
    let was_passed_down = lower.ios.sum > 0.0 && lower.ios.sum >= CLEARLY_FASTER * upper.ios.sum;
    let waited_ms = upper.time.sum - lower.time.sum;
    let is_held = waited_ms >= CLEARLY_FASTER * upper.time.sum
        && held.await_above_ms >= SATURATED * await_below_ms;
    (is_loaded && was_passed_down && is_held).then_some(held)
}

/// Returns whether the requests that `above` holds do not wait for the device `below`: they spend hardly any of their time
/// there, and it is idle for at least half of the time.
pub(super) fn is_idle_below(above: &Interval, below: &Interval) -> bool {
    /// Half of the time, less what a kernel that counts in ticks misses.
    const MAX_IDLE_UTIL_PCT: f64 = 25.0;
    let (Some(above), Some(requests_below)) = (both(above), both(below)) else {
        return false;
    };
    let (Some(above_queue), Some(below_queue)) = (above.queue(), requests_below.queue()) else {
        return false;
    };
    // The queue is an upper bound of the fraction of time it is busy, but far above it if requests come in bursts.
    let is_mostly_idle = below_queue <= MIN_FELT_QUEUE
        || below
            .util_pct()
            .is_some_and(|util| util <= MAX_IDLE_UTIL_PCT);
    below_queue <= MIN_SHARE * above_queue && is_mostly_idle
}
