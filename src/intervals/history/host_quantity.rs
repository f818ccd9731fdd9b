//! The quantities of the host.

use crate::metrics::{CpuPercentages, HostStats};

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

impl HostQuantity {
    /// All quantities, in the order of their declaration.
    pub const ALL: [Self; 10] = [
        Self::CpuUserPct,
        Self::CpuSystemPct,
        Self::CpuStealPct,
        Self::CpuAvailablePct,
        Self::PressureSomePct,
        Self::PressureFullPct,
        Self::Blocked,
        Self::MemoryPressureSomePct,
        Self::DirtyKib,
        Self::WritebackKib,
    ];

    /// Its name: that of its field in JSON and CSV, if they have one.
    pub fn name(self) -> &'static str {
        match self {
            Self::CpuUserPct => "cpu_user_pct",
            Self::CpuSystemPct => "cpu_system_pct",
            Self::CpuStealPct => "cpu_steal_pct",
            Self::CpuAvailablePct => "cpu_available_pct",
            Self::PressureSomePct => "io_pressure_some_pct",
            Self::PressureFullPct => "io_pressure_full_pct",
            Self::Blocked => "blocked",
            Self::MemoryPressureSomePct => "memory_pressure_some_pct",
            Self::DirtyKib => "dirty_kib",
            Self::WritebackKib => "writeback_kib",
        }
    }

    /// Returns its value in an interval; `None` if it is not known.
    pub(super) fn value(self, host: &HostStats) -> Option<f64> {
        let number = |count: Option<u64>| count.map(|count| count as f64);
        let cpu = host.cpu.as_ref();
        match self {
            Self::CpuUserPct => cpu.map(|cpu| cpu.user + cpu.nice),
            Self::CpuSystemPct => cpu.map(|cpu| cpu.system),
            Self::CpuStealPct => cpu.map(|cpu| cpu.steal),
            Self::CpuAvailablePct => cpu.map(CpuPercentages::available),
            Self::PressureSomePct => host.pressure_some_pct,
            Self::PressureFullPct => host.pressure_full_pct,
            Self::Blocked => number(host.blocked),
            Self::MemoryPressureSomePct => host.memory_pressure_some_pct,
            Self::DirtyKib => number(host.dirty_kib),
            Self::WritebackKib => number(host.writeback_kib),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_quantities_are_listed_in_their_order() {
        for (index, quantity) in HostQuantity::ALL.into_iter().enumerate() {
            assert_eq!(quantity as usize, index, "{}", quantity.name());
        }
    }
}
