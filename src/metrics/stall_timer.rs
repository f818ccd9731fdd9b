//! How long a device has stalled.

use super::Interval;

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
