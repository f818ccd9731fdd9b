//! The host while its devices were observed.

use serde::Serialize;

use crate::metrics::HostStats;

/// Percentage of CPU available below which CPU may be the bottleneck.
pub const LOW_AVAILABLE_CPU_PCT: f64 = 10.0;
/// Percentage of CPU available below which programs wait for the CPU, whatever the disks do.
const NO_CPU_PCT: f64 = 5.0;
/// Percentage of time with a task waiting for I/O below which tasks hardly waited.
pub const LOW_IO_PRESSURE_PCT: f64 = 2.0;
/// Percentage of the time from which a shortage of CPU or memory is reported: a twentieth of a task's time is noticeable.
pub const MIN_NOTICED_PCT: f64 = 5.0;
/// Percentage of time with a task waiting for I/O from which a device should show it: a tenth of a task's time is
/// noticeable. A smaller percentage may largely arise because pressure and requests are not read at the same instant.
const MIN_HIDDEN_IO_WAIT_PCT: f64 = 10.0;
/// Largest fraction of that time that the requests in flight may account for if no device is responsible for the rest.
/// A task waits for longer than its request is in flight; this allows for a path through the kernel and back that takes
/// three times as long as the request, on the fastest devices.
const MAX_IN_FLIGHT_FRACTION: f64 = 0.25;
/// Pages swapped per second from which swapping is reported: fewer are less than 40 KiB/s with pages of 4 KiB.
const MIN_SWAPPED_PAGES_PER_S: f64 = 10.0;

/// Mean, minimum and maximum of a quantity; all `None` if it was never known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MeanMinMax {
    /// The mean, weighted by time.
    pub mean: Option<f64>,
    /// The minimum of an interval.
    pub min: Option<f64>,
    /// The maximum of an interval.
    pub max: Option<f64>,
    #[serde(skip)]
    seconds: f64,
    #[serde(skip)]
    weighted: f64,
}

/// An NFS mount whose server does not answer requests while tasks wait for I/O that no device shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NfsWait {
    /// The mount point.
    pub mount: String,
    /// The time for which the same requests have had no answer, in seconds.
    pub unanswered_s: f64,
}

/// The host over all intervals. CPU percentages are of the time of all CPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostReport {
    /// Seconds in the intervals.
    pub seconds: f64,
    /// User mode, including low priority, in percent.
    pub cpu_user_pct: MeanMinMax,
    /// Kernel mode, including interrupts, in percent.
    pub cpu_system_pct: MeanMinMax,
    /// Idle, including the time in which a task waited for I/O, in percent: what more work could use.
    pub cpu_available_pct: MeanMinMax,
    /// Time taken by the hypervisor, in percent.
    pub cpu_steal_pct: MeanMinMax,
    /// Seconds in intervals in which hardly any CPU was available: see [`no_cpu_pct`].
    pub no_cpu_s: f64,
    /// Percentage of the time in which at least one task waited for I/O.
    pub io_pressure_some_pct: MeanMinMax,
    /// Percentage of the time in which all non-idle tasks waited for I/O.
    pub io_pressure_full_pct: MeanMinMax,
    /// A lower bound of the percentage of the time in which a task waited for I/O while no device had a request in
    /// flight: see [`hidden_io_wait_pct`].
    pub hidden_io_wait_pct: MeanMinMax,
    /// The NFS mounts that tasks may have waited for, each as it was with the longest time without an answer.
    pub nfs_waits: Vec<NfsWait>,
    /// Percentage of the time in which at least one task waited for memory.
    pub memory_pressure_some_pct: MeanMinMax,
    /// Percentage of the time in which all non-idle tasks waited for memory.
    pub memory_pressure_full_pct: MeanMinMax,
    /// Pages read from swap areas per second.
    pub swap_in_pages_per_s: MeanMinMax,
    /// Pages written to swap areas per second.
    pub swap_out_pages_per_s: MeanMinMax,
    /// Tasks blocked on I/O at the ends of the intervals.
    pub blocked: MeanMinMax,
    /// Memory that waits to be written to disk, in KiB, at the ends of the intervals.
    pub dirty_kib: MeanMinMax,
    /// Memory that is being written to disk, in KiB, at the ends of the intervals.
    pub writeback_kib: MeanMinMax,
}

/// Returns a lower bound of the percentage of the time in which a task waited for I/O while no device had a request in
/// flight; zero if the devices may account for the waits, or if hardly any task waited. `None` if the pressure or the
/// queues are not known.
///
/// A task that waits for a request of a device waits while that request is in flight. The time with any request in
/// flight is at most the sum of the devices' queues (Little's law), so any I/O pressure above that is due to other I/O.
pub fn hidden_io_wait_pct(stats: &HostStats) -> Option<f64> {
    let some_pct = stats.pressure_some_pct?;
    let in_flight_pct = stats.in_flight_upper_bound_pct?;
    let is_hidden =
        some_pct >= MIN_HIDDEN_IO_WAIT_PCT && in_flight_pct <= MAX_IN_FLIGHT_FRACTION * some_pct;
    Some(if is_hidden {
        some_pct - in_flight_pct
    } else {
        0.0
    })
}

/// Returns the percentage of the time in which a task waited for memory if it is high; otherwise `None`.
pub fn high_memory_pressure_pct(stats: &HostStats) -> Option<f64> {
    at_least(MIN_NOTICED_PCT, stats.memory_pressure_some_pct)
}

/// Returns a percentage if it is high enough to be reported.
fn at_least(min_pct: f64, pct: Option<f64>) -> Option<f64> {
    pct.filter(|pct| *pct >= min_pct)
}

/// Returns the percentage of CPU available if it is so small that programs wait for the CPU; otherwise `None`.
pub fn no_cpu_pct(stats: &HostStats) -> Option<f64> {
    let available_pct = stats.cpu.as_ref()?.available();
    (available_pct < NO_CPU_PCT).then_some(available_pct)
}

impl MeanMinMax {
    fn observe(&mut self, value: Option<f64>, seconds: f64) {
        let Some(value) = value else {
            return;
        };
        if !value.is_finite() {
            return;
        }
        self.seconds += seconds;
        self.weighted += value * seconds;
        let min = self.min.unwrap_or(value).min(value);
        let max = self.max.unwrap_or(value).max(value);
        let mean = (self.weighted / self.seconds).clamp(min, max);
        (self.mean, self.min, self.max) = (Some(mean), Some(min), Some(max));
    }
}

impl HostReport {
    /// The percentage of the time in which tasks waited for I/O, if it is noticeable.
    pub fn long_io_wait_pct(&self) -> Option<f64> {
        at_least(MIN_HIDDEN_IO_WAIT_PCT, self.io_pressure_some_pct.mean)
    }

    /// The percentage of the time in which tasks waited for I/O that no device shows, if it is noticeable.
    pub fn long_hidden_wait_pct(&self) -> Option<f64> {
        at_least(MIN_HIDDEN_IO_WAIT_PCT, self.hidden_io_wait_pct.mean)
    }

    /// The seconds without CPU, if they are enough to be noticed.
    pub fn long_no_cpu_s(&self) -> Option<f64> {
        const NOTICED_S: f64 = 5.0;
        (self.no_cpu_s >= NOTICED_S).then_some(self.no_cpu_s)
    }

    /// The percentage of the time in which tasks waited for memory, if it is noticeable.
    pub fn memory_shortage_pct(&self) -> Option<f64> {
        at_least(MIN_NOTICED_PCT, self.memory_pressure_some_pct.mean)
    }

    /// The pages swapped in and out per second, if they matter.
    pub fn swapped_pages_per_s(&self) -> Option<(f64, f64)> {
        let read = self.swap_in_pages_per_s.mean?;
        let written = self.swap_out_pages_per_s.mean?;
        (read + written >= MIN_SWAPPED_PAGES_PER_S).then_some((read, written))
    }

    /// Takes the mounts that tasks may have waited for in an interval.
    pub fn observe_nfs(&mut self, waits: &[NfsWait]) {
        for wait in waits {
            match self
                .nfs_waits
                .iter_mut()
                .find(|known| known.mount == wait.mount)
            {
                Some(known) if known.unanswered_s < wait.unanswered_s => known.clone_from(wait),
                Some(_) => {}
                None => self.nfs_waits.push(wait.clone()),
            }
        }
    }

    /// Takes an interval of `seconds`; one without length is ignored.
    pub fn observe(&mut self, stats: &HostStats, seconds: f64) {
        if !seconds.is_finite() || seconds <= 0.0 {
            return;
        }
        self.seconds += seconds;
        if no_cpu_pct(stats).is_some() {
            self.no_cpu_s += seconds;
        }
        let cpu = stats.cpu.as_ref();
        for (values, value) in [
            (&mut self.cpu_user_pct, cpu.map(|cpu| cpu.user + cpu.nice)),
            (&mut self.cpu_system_pct, cpu.map(|cpu| cpu.system)),
            (&mut self.cpu_available_pct, cpu.map(|cpu| cpu.available())),
            (&mut self.cpu_steal_pct, cpu.map(|cpu| cpu.steal)),
            (&mut self.io_pressure_some_pct, stats.pressure_some_pct),
            (&mut self.io_pressure_full_pct, stats.pressure_full_pct),
            (&mut self.hidden_io_wait_pct, hidden_io_wait_pct(stats)),
            (
                &mut self.memory_pressure_some_pct,
                stats.memory_pressure_some_pct,
            ),
            (
                &mut self.memory_pressure_full_pct,
                stats.memory_pressure_full_pct,
            ),
            (&mut self.swap_in_pages_per_s, stats.swap_in_pages_per_s),
            (&mut self.swap_out_pages_per_s, stats.swap_out_pages_per_s),
        ] {
            values.observe(value, seconds);
        }
        for (values, count) in [
            (&mut self.blocked, stats.blocked),
            (&mut self.dirty_kib, stats.dirty_kib),
            (&mut self.writeback_kib, stats.writeback_kib),
        ] {
            values.observe(count.map(|count| count as f64), seconds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::CpuPercentages;

    fn parts(range: &MeanMinMax) -> [Option<f64>; 3] {
        [range.mean, range.min, range.max]
    }

    #[test]
    fn means_are_weighted_by_the_time_in_which_a_quantity_was_known() {
        let cpu = CpuPercentages {
            user: 20.0,
            nice: 5.0,
            system: 15.0,
            iowait: 30.0,
            idle: 30.0,
            steal: 0.0,
        };
        let busy = HostStats {
            cpu: Some(cpu),
            dirty_kib: Some(100),
            ..HostStats::default()
        };
        let mut report = HostReport::default();
        report.observe(&busy, 1.0);
        report.observe(
            &HostStats {
                dirty_kib: Some(500),
                ..HostStats::default()
            },
            3.0,
        );
        report.observe(
            &HostStats {
                dirty_kib: Some(9999),
                ..HostStats::default()
            },
            0.0,
        );
        assert_eq!(
            (report.seconds, report.cpu_user_pct.mean),
            (4.0, Some(25.0))
        );
        assert_eq!(
            parts(&report.cpu_available_pct),
            [Some(60.0), Some(60.0), Some(60.0)]
        );
        assert_eq!(
            parts(&report.dirty_kib),
            [Some(400.0), Some(100.0), Some(500.0)]
        );
        assert_eq!(
            (report.io_pressure_some_pct, report.blocked),
            (MeanMinMax::default(), MeanMinMax::default())
        );
    }

    #[test]
    fn the_mean_of_equal_values_is_that_value() {
        let mut range = MeanMinMax::default();
        (0..1000).for_each(|_| range.observe(Some(99.7), 0.1));
        assert_ne!(range.weighted / range.seconds, 99.7);
        assert_eq!(parts(&range), [Some(99.7), Some(99.7), Some(99.7)]);
    }

    #[test]
    fn an_unknown_quantity_is_null_in_json() {
        let json = serde_json::to_value(HostReport::default()).unwrap();
        assert!(json["cpu_available_pct"]["mean"].is_null() && json["dirty_kib"]["max"].is_null());
    }

    #[test]
    fn waits_are_hidden_only_where_the_requests_of_all_devices_cannot_account_for_them() {
        let hidden = |pressure_some_pct, in_flight_upper_bound_pct| {
            hidden_io_wait_pct(&HostStats {
                pressure_some_pct,
                in_flight_upper_bound_pct,
                ..HostStats::default()
            })
        };
        assert_eq!(hidden(Some(85.0), Some(5.0)), Some(80.0));
        assert_eq!(hidden(Some(85.0), Some(30.0)), Some(0.0), "a fast device");
        assert_eq!(
            hidden(Some(9.0), Some(0.0)),
            Some(0.0),
            "hardly any task waits"
        );
        assert_eq!(
            (hidden(None, Some(0.0)), hidden(Some(85.0), None)),
            (None, None)
        );
    }

    #[test]
    fn memory_pressure_is_high_from_a_threshold() {
        let high = |memory_pressure_some_pct| {
            high_memory_pressure_pct(&HostStats {
                memory_pressure_some_pct,
                ..HostStats::default()
            })
        };
        assert_eq!(
            [high(None), high(Some(4.9)), high(Some(5.0))],
            [None, None, Some(5.0)]
        );
    }
}
