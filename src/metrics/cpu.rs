//! CPU time over one interval.

use crate::counters::CpuTimes;

/// The shares of the time of all CPUs in percent, as defined by iostat's manual.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuPercentages {
    /// User mode, guests included.
    pub user: f64,
    /// User mode at low priority.
    pub nice: f64,
    /// Kernel mode, interrupts included.
    pub system: f64,
    /// Idle while a task waited for I/O: a kind of idle.
    pub iowait: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Idle otherwise.
    pub idle: f64,
}

impl CpuPercentages {
    /// Computes the shares between two readings as iostat does: a counter that went back counts as zero, but the
    /// elapsed time is the difference of the unchanged totals.
    pub fn between(older: &CpuTimes, newer: &CpuTimes) -> Self {
        let elapsed = Self::elapsed_ticks(older, newer);
        let share = |of: fn(&CpuTimes) -> u64| match of(newer).checked_sub(of(older)) {
            Some(step) if elapsed >= 0 => step as f64 / elapsed.max(1) as f64 * 100.0,
            _ => 0.0,
        };
        Self {
            user: share(|c| c.user),
            nice: share(|c| c.nice),
            system: share(kernel),
            iowait: share(|c| c.iowait),
            steal: share(|c| c.steal),
            idle: share(|c| c.idle),
        }
    }

    /// Returns the clock ticks of all CPUs between two readings; negative if time went back.
    pub fn elapsed_ticks(older: &CpuTimes, newer: &CpuTimes) -> i64 {
        // Totals that wrap still differ by the right amount.
        total(newer).wrapping_sub(total(older)) as i64
    }

    /// The share that more work could use: idle time, whether or not a task waited for I/O meanwhile.
    pub fn available(&self) -> f64 {
        self.idle + self.iowait
    }
}

/// Returns the time in the kernel, interrupts included.
fn kernel(cpu: &CpuTimes) -> u64 {
    cpu.system.wrapping_add(cpu.irq).wrapping_add(cpu.softirq)
}

/// Returns all time; guests are in `user` and `nice` already.
fn total(cpu: &CpuTimes) -> u64 {
    [cpu.user, cpu.nice, cpu.idle, cpu.iowait, cpu.steal]
        .iter()
        .fold(kernel(cpu), |sum, part| sum.wrapping_add(*part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_computed_by_hand() {
        let older = CpuTimes { user: 100, idle: 1000, ..CpuTimes::default() };
        let newer = CpuTimes {
            user: 150,
            nice: 10,
            system: 20,
            idle: 1080,
            iowait: 20,
            irq: 5,
            softirq: 5,
            steal: 10,
            guest: 40,
            guest_nice: 0,
        };
        let shares = CpuPercentages::between(&older, &newer);
        let expected =
            CpuPercentages { user: 25.0, nice: 5.0, system: 15.0, iowait: 10.0, steal: 5.0, idle: 40.0 };
        assert_eq!(shares, expected);
    }

    #[test]
    fn without_elapsed_time_all_shares_are_zero() {
        let older = CpuTimes { idle: 1000, ..CpuTimes::default() };
        assert_eq!(CpuPercentages::between(&older, &older), CpuPercentages::default());
        assert_eq!(CpuPercentages::between(&older, &CpuTimes::default()), CpuPercentages::default());
    }

    #[test]
    fn a_counter_that_went_back_is_zero_and_shortens_the_time() {
        let older = CpuTimes { steal: 50, ..CpuTimes::default() };
        let newer = CpuTimes { user: 100, idle: 100, ..CpuTimes::default() };
        let shares = CpuPercentages::between(&older, &newer);
        assert_eq!((shares.user, shares.steal), (100.0 / 150.0 * 100.0, 0.0));
    }
}
