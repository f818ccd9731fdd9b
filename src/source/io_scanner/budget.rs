//! The CPU time that scans may use.

use std::time::Duration;

/// The most CPU time that scans may use, as a fraction of the elapsed time.
const MAX_CPU_FRACTION: f64 = 0.05;
/// The CPU time in seconds that scans may use in advance.
const MAX_CREDIT_S: f64 = 0.25;

/// Limits the CPU time of scans to a fraction of the elapsed time, plus a little in advance.
pub(super) struct Budget {
    /// The CPU time that may be used, in seconds; below zero after a scan that took more.
    credit_s: f64,
    /// The time up to which credit has been given.
    credited_at: Option<Duration>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { credit_s: MAX_CREDIT_S, credited_at: None }
    }
}

impl Budget {
    /// Returns whether a scan may begin now.
    pub(super) fn permits(&mut self, now: Duration) -> bool {
        let passed = now.saturating_sub(self.credited_at.replace(now).unwrap_or(now));
        self.credit_s = (self.credit_s + MAX_CPU_FRACTION * passed.as_secs_f64()).min(MAX_CREDIT_S);
        self.credit_s > 0.0
    }

    pub(super) fn charge(&mut self, cpu: Duration) {
        self.credit_s -= cpu.as_secs_f64();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans_use_at_most_a_twentieth_of_the_time_after_the_first_ones() {
        let cpu = Duration::from_millis(100);
        let mut budget = Budget::default();
        let mut is_permitted = |second: u64| {
            let is_permitted = budget.permits(Duration::from_secs(second));
            if is_permitted {
                budget.charge(cpu);
            }
            is_permitted
        };
        let scans: Vec<u64> = (0..1000).filter(|second| is_permitted(*second)).collect();
        assert_eq!(scans[..5], [0, 1, 2, 3, 4]);
        assert!(scans[5..].windows(2).all(|two| two[1] - two[0] == 2), "every other second: {scans:?}");
    }
}
