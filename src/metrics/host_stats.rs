//! The host over one interval.

use super::device_match::DeviceMatch;
use super::interval::in_flight;
use crate::counters::{Columns, CpuTimes, Sample, growth_u32};
use crate::units::Span;

/// CPU, pressure and memory of the host. `None` means not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostStats {
    /// CPU time; `None` also if the interval is shorter than a clock tick.
    pub cpu: Option<CpuPercentages>,
    /// Tasks blocked on I/O at the end of the interval.
    pub blocked: Option<u64>,
    /// The share of the time in which some task waited for I/O, in percent (the kernel's
    /// Documentation/accounting/psi.rst).
    pub pressure_some_pct: Option<f64>,
    /// The share of the time in which all tasks that had work waited for I/O, in percent.
    pub pressure_full_pct: Option<f64>,
    /// The share of the time in which some task waited for memory, in percent: while it was reclaimed, or read back
    /// from files or swap.
    pub memory_pressure_some_pct: Option<f64>,
    /// The share of the time in which all tasks that had work waited for memory, in percent.
    pub memory_pressure_full_pct: Option<f64>,
    /// Pages read from swap areas per second.
    pub swap_in_pages_per_s: Option<f64>,
    /// Pages written to swap areas per second.
    pub swap_out_pages_per_s: Option<f64>,
    /// The upper bound of the share of the time with a request in flight at any device of the samples, in percent: 100
    /// times the sum of their queues and of their requests in flight at the end. It exceeds 100 if several requests
    /// were in flight. `None` before Linux 5.5, which does not count the time of flushes, or if a device appeared or
    /// its requests in flight were miscounted. The caller must check that the samples have all devices.
    pub in_flight_upper_bound_pct: Option<f64>,
    /// Memory waiting to be written to disk at the end of the interval, in KiB.
    pub dirty_kib: Option<u64>,
    /// Memory being written to disk at the end of the interval, in KiB.
    pub writeback_kib: Option<u64>,
}

impl HostStats {
    /// Computes the statistics between two samples.
    pub fn between(older: &Sample, newer: &Sample, interval: Span) -> Self {
        let mut stats = Self {
            blocked: newer.host.blocked,
            in_flight_upper_bound_pct: in_flight_upper_bound_pct(older, newer, interval),
            dirty_kib: newer.host.dirty_kib,
            writeback_kib: newer.host.writeback_kib,
            ..Self::default()
        };
        if let (Some(older), Some(newer)) = (&older.cpu, &newer.cpu)
            && CpuPercentages::elapsed_ticks(older, newer) > 0
        {
            stats.cpu = Some(CpuPercentages::between(older, newer));
        }
        if let (Some(older), Some(newer)) = (older.host.pressure, newer.host.pressure) {
            stats.pressure_some_pct = share_pct(older.some_us, newer.some_us, interval);
            stats.pressure_full_pct = share_pct(older.full_us, newer.full_us, interval);
        }
        if let (Some(older), Some(newer)) = (older.host.memory_pressure, newer.host.memory_pressure)
        {
            stats.memory_pressure_some_pct = share_pct(older.some_us, newer.some_us, interval);
            stats.memory_pressure_full_pct = share_pct(older.full_us, newer.full_us, interval);
        }
        if let (Some(older), Some(newer)) = (older.host.swapped, newer.host.swapped) {
            stats.swap_in_pages_per_s = rate(older[0], newer[0], interval);
            stats.swap_out_pages_per_s = rate(older[1], newer[1], interval);
        }
        stats
    }
}

/// Returns the growth of a counter per second; `None` if it fell.
fn rate(older: u64, newer: u64, interval: Span) -> Option<f64> {
    Some(interval.per_second(newer.checked_sub(older)?))
}

/// Returns the share of an interval in percent by which a counter of microseconds grew; `None` if it fell. The kernel adds
/// up pressure slightly late, so a short interval can show more than 100%.
fn share_pct(older_us: u64, newer_us: u64, interval: Span) -> Option<f64> {
    let us = newer_us.checked_sub(older_us)?;
    Some((us as f64 / 1e6 / interval.seconds() * 100.0).min(100.0))
}

/// See [`HostStats::in_flight_upper_bound_pct`]. Devices that are stacked on others count as well, so the bound may be
/// too high, but not too low.
fn in_flight_upper_bound_pct(older: &Sample, newer: &Sample, interval: Span) -> Option<f64> {
    let devices = DeviceMatch::between(&older.devices, &newer.devices);
    let mut sum = 0.0;
    for (index, device) in newer.devices.iter().enumerate() {
        let before = &older.devices[devices.previous_index(index)?].counters;
        let after = &device.counters;
        if before.columns != Columns::Flushes || after.columns != Columns::Flushes {
            return None;
        }
        // A counter that fell gives a very high bound, from which nothing follows.
        let waited_ms = growth_u32(before.weighted_ms, after.weighted_ms);
        sum += interval.per_second(waited_ms) / 1000.0 + in_flight(after)? as f64;
    }
    Some(sum * 100.0)
}

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
        let share = |older: u64, newer: u64| match newer.checked_sub(older) {
            Some(step) if elapsed >= 0 => step as f64 / elapsed.max(1) as f64 * 100.0,
            _ => 0.0,
        };
        Self {
            user: share(older.user, newer.user),
            nice: share(older.nice, newer.nice),
            system: share(kernel(older), kernel(newer)),
            iowait: share(older.iowait, newer.iowait),
            steal: share(older.steal, newer.steal),
            idle: share(older.idle, newer.idle),
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
    let mut sum = kernel(cpu);
    for part in [cpu.user, cpu.nice, cpu.idle, cpu.iowait, cpu.steal] {
        sum = sum.wrapping_add(part);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{Counters, CpuTimes, Device, HostState, Pressure};

    fn sample(idle: u64, some_us: u64) -> Sample {
        let machine = HostState {
            blocked: Some(3),
            pressure: Some(Pressure {
                some_us,
                full_us: some_us / 2,
            }),
            memory_pressure: Some(Pressure {
                some_us: some_us / 5,
                full_us: some_us / 10,
            }),
            swapped: Some([some_us / 1000, some_us / 500]),
            ..HostState::default()
        };
        Sample {
            cpu: Some(CpuTimes {
                idle,
                ..CpuTimes::default()
            }),
            host: machine,
            ..Sample::default()
        }
    }

    #[test]
    fn two_seconds_computed_by_hand() {
        let interval = Span::from_nanos(2_000_000_000).unwrap();
        let stats = HostStats::between(&sample(100, 1_000_000), &sample(300, 1_500_000), interval);
        assert_eq!(
            (stats.pressure_some_pct, stats.pressure_full_pct),
            (Some(25.0), Some(12.5))
        );
        let memory = (
            stats.memory_pressure_some_pct,
            stats.memory_pressure_full_pct,
        );
        assert_eq!(memory, (Some(5.0), Some(2.5)));
        let swapped = (stats.swap_in_pages_per_s, stats.swap_out_pages_per_s);
        assert_eq!(swapped, (Some(250.0), Some(500.0)));
        assert_eq!(
            (stats.blocked, stats.cpu.map(|cpu| cpu.available())),
            (Some(3), Some(100.0))
        );
    }

    #[test]
    fn an_interval_shorter_than_a_clock_tick_has_no_shares() {
        let interval = Span::from_nanos(5_000_000).unwrap();
        assert_eq!(
            HostStats::between(&sample(100, 9), &sample(100, 5), interval).cpu,
            None
        );
        assert_eq!(
            HostStats::between(&sample(100, 9), &sample(100, 5), interval).pressure_some_pct,
            None
        );
    }
    fn device(name: &str, columns: Columns, weighted_ms: u64, in_flight: u64) -> Device {
        let counters = Counters {
            columns,
            weighted_ms,
            in_flight,
            ..Counters::ZERO
        };
        Device {
            name: name.into(),
            counters,
            ..Device::default()
        }
    }

    #[test]
    fn requests_in_flight_are_bounded_over_all_devices() {
        let interval = Span::from_nanos(2_000_000_000).unwrap();
        let bound = |older: Vec<Device>, newer: Vec<Device>| {
            let of = |devices| Sample {
                devices,
                ..Sample::default()
            };
            HostStats::between(&of(older), &of(newer), interval).in_flight_upper_bound_pct
        };
        let flushes = |name, ms, in_flight| device(name, Columns::Flushes, ms, in_flight);
        let older = || {
            vec![
                flushes("sda", 1000, 5),
                flushes("sdb", u64::from(u32::MAX), 0),
            ]
        };
        // 500 ms of requests at sda, and as much at sdb, whose column wrapped and which has one request in flight at
        // the end.
        assert_eq!(
            bound(
                older(),
                vec![flushes("sda", 1500, 0), flushes("sdb", 499, 1)]
            ),
            Some(150.0)
        );
        assert_eq!(
            bound(
                older(),
                vec![flushes("sdb", 499, 0), flushes("sda", 1000, 0)]
            ),
            Some(25.0)
        );
        assert_eq!(
            bound(older(), vec![flushes("sda", 1000, 0), flushes("sdc", 0, 0)]),
            None
        );
        assert_eq!(bound(older(), vec![flushes("sda", 1000, u64::MAX)]), None);
        let old_kernel = |ms| vec![device("sda", Columns::Discards, ms, 0)];
        assert_eq!(bound(old_kernel(0), old_kernel(9)), None);
    }

    #[test]
    fn shares_computed_by_hand() {
        let older = CpuTimes {
            user: 100,
            idle: 1000,
            ..CpuTimes::default()
        };
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
        let expected = CpuPercentages {
            user: 25.0,
            nice: 5.0,
            system: 15.0,
            iowait: 10.0,
            steal: 5.0,
            idle: 40.0,
        };
        assert_eq!(shares, expected);
    }

    #[test]
    fn without_elapsed_time_all_shares_are_zero() {
        let older = CpuTimes {
            idle: 1000,
            ..CpuTimes::default()
        };
        assert_eq!(
            CpuPercentages::between(&older, &older),
            CpuPercentages::default()
        );
        assert_eq!(
            CpuPercentages::between(&older, &CpuTimes::default()),
            CpuPercentages::default()
        );
    }

    #[test]
    fn a_counter_that_went_back_is_zero_and_shortens_the_time() {
        let older = CpuTimes {
            steal: 50,
            ..CpuTimes::default()
        };
        let newer = CpuTimes {
            user: 100,
            idle: 100,
            ..CpuTimes::default()
        };
        let shares = CpuPercentages::between(&older, &newer);
        assert_eq!((shares.user, shares.steal), (100.0 / 150.0 * 100.0, 0.0));
    }
}
