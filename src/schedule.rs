//! When samples are due: absolute deadlines at multiples of an interval.

use std::time::Duration;

/// The time between samples where none is given.
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);

/// How often to report, and how many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The time between reports. `None` means one report in iostat, [`DEFAULT_INTERVAL`] in a recording.
    pub interval: Option<Duration>,
    /// The number of reports; `None` goes on until stopped.
    pub count: Option<u64>,
}

/// Absolute deadlines, so that sampling does not drift.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    start: Duration,
    interval: Duration,
    /// Deadlines passed so far, missed ones included.
    passed: u128,
}

impl Deadlines {
    /// Deadlines at multiples of `interval` after `start`.
    pub fn new(start: Duration, interval: Duration) -> Self {
        Self { start, interval: interval.max(Duration::from_nanos(1)), passed: 0 }
    }

    /// Returns the next deadline after `now`, and how many were missed before it: those are skipped.
    pub fn next(&mut self, now: Duration) -> (Duration, u64) {
        let elapsed = now.saturating_sub(self.start).as_nanos() / self.interval.as_nanos();
        let next = elapsed.max(self.passed) + 1;
        let missed = next - self.passed - 1;
        self.passed = next;
        let offset = self.interval.as_nanos().saturating_mul(next);
        let deadline =
            self.start.saturating_add(Duration::from_nanos(u64::try_from(offset).unwrap_or(u64::MAX)));
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
        // A wait that ends a little early does not return the same deadline twice.
        assert_eq!(deadlines.next(ms(999)), (ms(1100), 0));
    }
}
