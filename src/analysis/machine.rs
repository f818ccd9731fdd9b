//! What the machine did while its devices were watched.

use serde::Serialize;

use crate::metrics::HostStats;

/// The mean over time, the least and the most of a quantity; all `None` where it was never known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Extent {
    /// The mean, weighted by time.
    pub mean: Option<f64>,
    /// The least of an interval.
    pub min: Option<f64>,
    /// The most of an interval.
    pub max: Option<f64>,
}

/// The machine over all intervals: plain data, `null` for what is not known. Shares of CPU are those of the time of
/// all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct HostReport {
    /// Seconds in the intervals.
    pub seconds: f64,
    /// User mode, at low priority too, in percent.
    pub cpu_user_pct: Extent,
    /// Kernel mode, interrupts included, in percent.
    pub cpu_system_pct: Extent,
    /// What more work could use, in percent: idle, whether or not a task waited for I/O meanwhile.
    pub cpu_available_pct: Extent,
    /// Taken by the hypervisor, in percent.
    pub cpu_steal_pct: Extent,
    /// Share of the time in which some task waited for I/O, in percent.
    pub io_pressure_some_pct: Extent,
    /// Share of the time in which all tasks that had work waited for I/O, in percent.
    pub io_pressure_full_pct: Extent,
    /// Tasks blocked on I/O at the ends of the intervals.
    pub blocked: Extent,
    /// Memory that waits to be written to disk, in KiB, at the ends of the intervals.
    pub dirty_kib: Extent,
    /// Memory that is being written, in KiB, at the ends of the intervals.
    pub writeback_kib: Extent,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    seconds: f64,
    weighted: f64,
    min: Option<f64>,
    max: Option<f64>,
}

impl Sum {
    fn see(&mut self, value: Option<f64>, seconds: f64) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        self.seconds += seconds;
        self.weighted += value * seconds;
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
    }

    fn extent(&self) -> Extent {
        let mean = (self.seconds > 0.0).then(|| self.weighted / self.seconds);
        Extent { mean, min: self.min, max: self.max }
    }
}

/// Collects what the machine did, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct HostAnalysis {
    seconds: f64,
    user: Sum,
    system: Sum,
    available: Sum,
    steal: Sum,
    some: Sum,
    full: Sum,
    blocked: Sum,
    dirty: Sum,
    writeback: Sum,
}

impl HostAnalysis {
    /// Takes an interval of so many seconds; one without length is passed over.
    pub fn see(&mut self, figures: &HostStats, seconds: f64) {
        if !seconds.is_finite() || seconds <= 0.0 {
            return;
        }
        self.seconds += seconds;
        let cpu = figures.cpu.as_ref();
        let kib = |kib: Option<u64>| kib.map(|kib| kib as f64);
        self.user.see(cpu.map(|cpu| cpu.user + cpu.nice), seconds);
        self.system.see(cpu.map(|cpu| cpu.system), seconds);
        self.available.see(cpu.map(|cpu| cpu.available()), seconds);
        self.steal.see(cpu.map(|cpu| cpu.steal), seconds);
        self.some.see(figures.pressure_some_pct, seconds);
        self.full.see(figures.pressure_full_pct, seconds);
        self.blocked.see(figures.blocked.map(|tasks| tasks as f64), seconds);
        self.dirty.see(kib(figures.dirty_kib), seconds);
        self.writeback.see(kib(figures.writeback_kib), seconds);
    }

    /// The report.
    pub fn finish(&self) -> HostReport {
        HostReport {
            seconds: self.seconds,
            cpu_user_pct: self.user.extent(),
            cpu_system_pct: self.system.extent(),
            cpu_available_pct: self.available.extent(),
            cpu_steal_pct: self.steal.extent(),
            io_pressure_some_pct: self.some.extent(),
            io_pressure_full_pct: self.full.extent(),
            blocked: self.blocked.extent(),
            dirty_kib: self.dirty.extent(),
            writeback_kib: self.writeback.extent(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::CpuPercentages;

    #[test]
    fn means_are_weighted_by_the_time_in_which_a_quantity_was_known() {
        let cpu =
            CpuPercentages { user: 20.0, nice: 5.0, system: 15.0, iowait: 30.0, idle: 30.0, steal: 0.0 };
        let busy = HostStats { cpu: Some(cpu), dirty_kib: Some(100), ..HostStats::default() };
        let mut machine = HostAnalysis::default();
        machine.see(&busy, 1.0);
        machine.see(&HostStats { dirty_kib: Some(500), ..HostStats::default() }, 3.0);
        machine.see(&HostStats { dirty_kib: Some(9999), ..HostStats::default() }, 0.0);
        let report = machine.finish();
        assert_eq!((report.seconds, report.cpu_user_pct.mean), (4.0, Some(25.0)));
        assert_eq!(report.cpu_available_pct, Extent { mean: Some(60.0), min: Some(60.0), max: Some(60.0) });
        assert_eq!(report.dirty_kib, Extent { mean: Some(400.0), min: Some(100.0), max: Some(500.0) });
        assert_eq!((report.io_pressure_some_pct, report.blocked), (Extent::default(), Extent::default()));
    }

    #[test]
    fn what_is_not_known_is_null() {
        let json = serde_json::to_value(HostAnalysis::default().finish()).unwrap();
        assert!(json["cpu_available_pct"]["mean"].is_null() && json["dirty_kib"]["max"].is_null());
    }
}
