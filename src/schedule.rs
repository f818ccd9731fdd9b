//! The schedule of samples: absolute deadlines at multiples of an interval, so that delays do not accumulate.

use std::time::Duration;

/// The default time between samples.
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);

/// The interval and the number of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The time between reports. `None` if it is not given.
    pub interval: Option<Duration>,
    /// The number of reports; `None` for no limit.
    pub count: Option<u64>,
}

/// Deadlines at multiples of an interval after a start. Those that were missed are skipped.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    start: Duration,
    interval: Duration,
    /// The number of the last deadline returned; 0 is the start.
    last: u128,
}

impl Deadlines {
    /// Creates deadlines at multiples of `interval` after `start`, a monotonic time.
    pub fn new(start: Duration, interval: Duration) -> Self {
        Self { start, interval: interval.max(Duration::from_nanos(1)), last: 0 }
    }

    /// Returns the next deadline after `now` and the number of deadlines missed before it. No deadline is returned
    /// twice, even if a wait ended early.
    pub fn next(&mut self, now: Duration) -> (Duration, u64) {
        let passed = now.saturating_sub(self.start).as_nanos() / self.interval.as_nanos();
        let next = passed.max(self.last) + 1;
        let missed = next - self.last - 1;
        self.last = next;
        let offset = u64::try_from(self.interval.as_nanos().saturating_mul(next)).unwrap_or(u64::MAX);
        let deadline = self.start.saturating_add(Duration::from_nanos(offset));
        (deadline, u64::try_from(missed).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_deadlines_are_skipped_and_counted() {
        let ms = Duration::from_millis;
        let mut deadlines = Deadlines::new(ms(500), ms(100));
        assert_eq!(deadlines.next(ms(510)), (ms(600), 0));
        assert_eq!(deadlines.next(ms(601)), (ms(700), 0));
        assert_eq!(deadlines.next(ms(950)), (ms(1000), 2));
        // A wait that ended a little early.
        assert_eq!(deadlines.next(ms(999)), (ms(1100), 0));
    }

    #[test]
    fn an_interval_of_zero_has_deadlines_too() {
        let mut deadlines = Deadlines::new(Duration::ZERO, Duration::ZERO);
        assert_eq!(deadlines.next(Duration::ZERO), (Duration::from_nanos(1), 0));
    }
}
