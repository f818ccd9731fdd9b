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

const fn host(
    name: &'static str,
    meaning: &'static str,
    value: fn(&HostStats) -> Option<f64>,
) -> HostQuantity {
    HostQuantity {
        name,
        meaning,
        value,
    }
}

pub const CPU_USER_PCT: HostQuantity = host(
    "cpu_user_pct",
    "CPU time of the host for programs, in percent",
    |host| host.cpu.map(|cpu| cpu.user + cpu.nice),
);

pub const CPU_SYSTEM_PCT: HostQuantity = host("cpu_system_pct", "for the kernel", |host| {
    host.cpu.map(|cpu| cpu.system)
});

pub const CPU_STEAL_PCT: HostQuantity = host("cpu_steal_pct", "taken by the hypervisor", |host| {
    host.cpu.map(|cpu| cpu.steal)
});

pub const CPU_AVAILABLE_PCT: HostQuantity =
    host("cpu_available_pct", "idle, including iowait", |host| {
        host.cpu.map(|cpu| cpu.available())
    });

pub const IO_PRESSURE_SOME_PCT: HostQuantity = host(
    "io_pressure_some_pct",
    "share of the time in which some tasks waited for I/O (PSI)",
    |host| host.pressure_some_pct,
);

pub const IO_PRESSURE_FULL_PCT: HostQuantity = host(
    "io_pressure_full_pct",
    "in which all tasks with work to do waited for it",
    |host| host.pressure_full_pct,
);

pub const HIDDEN_IO_WAIT_PCT: HostQuantity = host(
    "hidden_io_wait_pct",
    "share of the time in which a task waited for I/O while no device had a request in flight, at least; 0 if the devices may account for the waits",
    hidden_io_wait_pct,
);

pub const BLOCKED: HostQuantity = host(
    "blocked",
    "tasks blocked on I/O at the end of the interval",
    |host| host.blocked.map(|count| count as f64),
);

pub const MEMORY_PRESSURE_SOME_PCT: HostQuantity = host(
    "memory_pressure_some_pct",
    "share of the time in which some tasks waited for memory (PSI)",
    |host| host.memory_pressure_some_pct,
);

pub const DIRTY_KIB: HostQuantity = host(
    "dirty_kib",
    "memory waiting to be written to disk at the end of the interval",
    |host| host.dirty_kib.map(|kib| kib as f64),
);

pub const WRITEBACK_KIB: HostQuantity = host(
    "writeback_kib",
    "memory being written to disk at the end of the interval",
    |host| host.writeback_kib.map(|kib| kib as f64),
);

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
