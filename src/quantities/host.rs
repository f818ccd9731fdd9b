//! The quantities of the host. Means of them are over time.

use crate::judge::hidden_io_wait_pct;
use crate::metrics::HostStats;

/// A quantity of the host.
pub struct HostQuantity {
    /// Its name in JSON, which ends in the unit.
    pub name: &'static str,
    /// A sentence part that says what it is.
    pub meaning: &'static str,
    /// Its value in an interval; `None` if that is not known.
    pub value: fn(&HostStats) -> Option<f64>,
}

pub const CPU_USER_PCT: HostQuantity = HostQuantity {
    name: "cpu_user_pct",
    meaning: "CPU time of the host for programs, in percent",
    value: |host| host.cpu.map(|cpu| cpu.user + cpu.nice),
};

pub const CPU_SYSTEM_PCT: HostQuantity = HostQuantity {
    name: "cpu_system_pct",
    meaning: "for the kernel",
    value: |host| host.cpu.map(|cpu| cpu.system),
};

pub const CPU_STEAL_PCT: HostQuantity = HostQuantity {
    name: "cpu_steal_pct",
    meaning: "taken by the hypervisor",
    value: |host| host.cpu.map(|cpu| cpu.steal),
};

pub const CPU_AVAILABLE_PCT: HostQuantity = HostQuantity {
    name: "cpu_available_pct",
    meaning: "idle, including iowait",
    value: |host| host.cpu.map(|cpu| cpu.available()),
};

pub const IO_PRESSURE_SOME_PCT: HostQuantity = HostQuantity {
    name: "io_pressure_some_pct",
    meaning: "share of the time in which some tasks waited for I/O (PSI)",
    value: |host| host.pressure_some_pct,
};

pub const IO_PRESSURE_FULL_PCT: HostQuantity = HostQuantity {
    name: "io_pressure_full_pct",
    meaning: "in which all tasks with work to do waited for it",
    value: |host| host.pressure_full_pct,
};

pub const HIDDEN_IO_WAIT_PCT: HostQuantity = HostQuantity {
    name: "hidden_io_wait_pct",
    meaning: "share of the time in which a task waited for I/O while no device had a request in flight, at least; 0 if the devices may account for the waits",
    value: hidden_io_wait_pct,
};

pub const BLOCKED: HostQuantity = HostQuantity {
    name: "blocked",
    meaning: "tasks blocked on I/O at the end of the interval",
    value: |host| host.blocked.map(|count| count as f64),
};

pub const MEMORY_PRESSURE_SOME_PCT: HostQuantity = HostQuantity {
    name: "memory_pressure_some_pct",
    meaning: "share of the time in which some tasks waited for memory (PSI)",
    value: |host| host.memory_pressure_some_pct,
};

pub const DIRTY_KIB: HostQuantity = HostQuantity {
    name: "dirty_kib",
    meaning: "memory waiting to be written to disk at the end of the interval",
    value: |host| host.dirty_kib.map(|kib| kib as f64),
};

pub const WRITEBACK_KIB: HostQuantity = HostQuantity {
    name: "writeback_kib",
    meaning: "memory being written to disk at the end of the interval",
    value: |host| host.writeback_kib.map(|kib| kib as f64),
};

/// The quantities that a history keeps, for charts.
pub static CHARTED: [HostQuantity; 10] = [
    CPU_USER_PCT,
    CPU_SYSTEM_PCT,
    CPU_STEAL_PCT,
    CPU_AVAILABLE_PCT,
    IO_PRESSURE_SOME_PCT,
    IO_PRESSURE_FULL_PCT,
    BLOCKED,
    MEMORY_PRESSURE_SOME_PCT,
    DIRTY_KIB,
    WRITEBACK_KIB,
];
