//! The host over one interval.

use super::CpuPercentages;
use crate::counters::Sample;
use crate::units::Interval;

/// CPU, pressure and memory of the host. `None`: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostStats {
    /// CPU time; `None` also where the interval is shorter than a clock tick.
    pub cpu: Option<CpuPercentages>,
    /// Tasks blocked on I/O at the end of the interval.
    pub blocked: Option<u64>,
    /// The share of the time in which some task waited for I/O, in percent (the kernel's
    /// Documentation/accounting/psi.rst).
    pub pressure_some_pct: Option<f64>,
    /// The share of the time in which all tasks that had work waited for I/O, in percent.
    pub pressure_full_pct: Option<f64>,
    /// Memory waiting to be written to disk at the end of the interval, in KiB.
    pub dirty_kib: Option<u64>,
    /// Memory being written to disk at the end of the interval, in KiB.
    pub writeback_kib: Option<u64>,
}

impl HostStats {
    /// Computes the statistics between two samples.
    pub fn between(older: &Sample, newer: &Sample, interval: Interval) -> Self {
        let has_elapsed = |(older, newer): &(_, _)| CpuPercentages::elapsed_ticks(older, newer) > 0;
        let pressures = older.host.pressure.zip(newer.host.pressure);
        // The kernel adds up pressure a little late, so a short interval can show more than all of its time.
        let share = |older: u64, newer: u64| {
            newer.checked_sub(older).map(|us| (us as f64 / 1e6 / interval.seconds() * 100.0).min(100.0))
        };
        Self {
            cpu: older
                .cpu
                .zip(newer.cpu)
                .filter(has_elapsed)
                .map(|(older, newer)| CpuPercentages::between(&older, &newer)),
            blocked: newer.host.blocked,
            pressure_some_pct: pressures.and_then(|(older, newer)| share(older.some_us, newer.some_us)),
            pressure_full_pct: pressures.and_then(|(older, newer)| share(older.full_us, newer.full_us)),
            dirty_kib: newer.host.dirty_kib,
            writeback_kib: newer.host.writeback_kib,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{CpuTimes, HostState, Pressure};

    fn sample(idle: u64, some_us: u64) -> Sample {
        let machine = HostState {
            blocked: Some(3),
            pressure: Some(Pressure { some_us, full_us: some_us / 2 }),
            ..HostState::default()
        };
        Sample { cpu: Some(CpuTimes { idle, ..CpuTimes::default() }), host: machine, ..Sample::default() }
    }

    #[test]
    fn two_seconds_computed_by_hand() {
        let interval = Interval::from_nanos(2_000_000_000).unwrap();
        let stats = HostStats::between(&sample(100, 1_000_000), &sample(300, 1_500_000), interval);
        assert_eq!((stats.pressure_some_pct, stats.pressure_full_pct), (Some(25.0), Some(12.5)));
        assert_eq!((stats.blocked, stats.cpu.map(|cpu| cpu.available())), (Some(3), Some(100.0)));
    }

    #[test]
    fn an_interval_shorter_than_a_clock_tick_has_no_shares() {
        let interval = Interval::from_nanos(5_000_000).unwrap();
        assert_eq!(HostStats::between(&sample(100, 9), &sample(100, 5), interval).cpu, None);
        assert_eq!(HostStats::between(&sample(100, 9), &sample(100, 5), interval).pressure_some_pct, None);
    }
}
