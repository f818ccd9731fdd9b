//! When samples of a live machine are due: at even multiples of the interval after the first.

use std::time::Duration;

/// Absolute deadlines, so that nothing drifts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadlines {
    start: Duration,
    every: Duration,
    /// Deadlines passed so far, missed ones too.
    passed: u128,
}

impl Deadlines {
    /// Deadlines from `start` on.
    pub(super) fn new(start: Duration, every: Duration) -> Self {
        Self { start, every: every.max(Duration::from_nanos(1)), passed: 0 }
    }

    /// The next deadline after `now`, and how many were missed before it: they are skipped.
    pub(super) fn next(&mut self, now: Duration) -> (Duration, u64) {
        let gone = now.saturating_sub(self.start).as_nanos() / self.every.as_nanos();
        let next = gone.max(self.passed) + 1;
        let missed = next - self.passed - 1;
        self.passed = next;
        let due = self.every.as_nanos().saturating_mul(next);
        let due = self.start.saturating_add(Duration::from_nanos(u64::try_from(due).unwrap_or(u64::MAX)));
        (due, u64::try_from(missed).unwrap_or(u64::MAX))
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
        // A wait that ended a little early does not give the same deadline twice.
        assert_eq!(deadlines.next(ms(999)), (ms(1100), 0));
    }
}
