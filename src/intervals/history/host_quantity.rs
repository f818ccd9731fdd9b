//! The quantities of the host.

use crate::metrics::HostStats;

/// A quantity of the host whose history is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostQuantity {
    /// CPU time in user mode, including low priority, in percent of all CPUs.
    CpuUserPct,
    /// CPU time in the kernel, including interrupts, in percent.
    CpuSystemPct,
    /// CPU time taken by the hypervisor, in percent.
    CpuStealPct,
    /// CPU time that more work could use, in percent: idle, including the time in which a task waited for I/O.
    CpuAvailablePct,
    /// The time in which some task waited for I/O, in percent.
    PressureSomePct,
    /// The time in which all tasks that had work waited for I/O, in percent.
    PressureFullPct,
    /// Tasks blocked on I/O at the end of an interval.
    Blocked,
    /// The time in which some task waited for memory, in percent.
    MemoryPressureSomePct,
    /// Memory waiting to be written to disk, in KiB.
    DirtyKib,
    /// Memory being written to disk, in KiB.
    WritebackKib,
}

/// A quantity with its name and its value in an interval; `None` if that is not known.
type Row = (HostQuantity, &'static str, fn(&HostStats) -> Option<f64>);

const TABLE: [Row; 10] = [
    (HostQuantity::CpuUserPct, "cpu_user_pct", |host| host.cpu.map(|cpu| cpu.user + cpu.nice)),
    (HostQuantity::CpuSystemPct, "cpu_system_pct", |host| host.cpu.map(|cpu| cpu.system)),
    (HostQuantity::CpuStealPct, "cpu_steal_pct", |host| host.cpu.map(|cpu| cpu.steal)),
    (HostQuantity::CpuAvailablePct, "cpu_available_pct", |host| host.cpu.map(|cpu| cpu.available())),
    (HostQuantity::PressureSomePct, "io_pressure_some_pct", |host| host.pressure_some_pct),
    (HostQuantity::PressureFullPct, "io_pressure_full_pct", |host| host.pressure_full_pct),
    (HostQuantity::Blocked, "blocked", |host| host.blocked.map(|count| count as f64)),
    (HostQuantity::MemoryPressureSomePct, "memory_pressure_some_pct", |host| host.memory_pressure_some_pct),
    (HostQuantity::DirtyKib, "dirty_kib", |host| host.dirty_kib.map(|kib| kib as f64)),
    (HostQuantity::WritebackKib, "writeback_kib", |host| host.writeback_kib.map(|kib| kib as f64)),
];

impl HostQuantity {
    pub const COUNT: usize = TABLE.len();

    /// All quantities, in the order of their declaration.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.into_iter().map(|(quantity, ..)| quantity)
    }

    /// Its name: that of its field in JSON and CSV, if they have one.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Returns its value in an interval; `None` if it is not known.
    pub(super) fn value(self, host: &HostStats) -> Option<f64> {
        TABLE[self as usize].2(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_quantities_are_listed_in_their_order() {
        for (index, quantity) in HostQuantity::all().enumerate() {
            assert_eq!(quantity as usize, index, "{}", quantity.name());
        }
    }
}
