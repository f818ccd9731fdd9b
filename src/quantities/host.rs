//! The quantities of the host. Means of them are over time.

use crate::judge::hidden_io_wait_pct;
use crate::metrics::HostStats;

/// A quantity of the host.
#[derive(Debug)]
pub struct HostQuantity {
    /// Its name in JSON, which ends in the unit.
    pub name: &'static str,
    /// A sentence part that says what it is.
    pub meaning: &'static str,
    /// Its value in an interval; `None` if that is not known.
    pub value: fn(&HostStats) -> Option<f64>,
}

/// Makes a [`HostQuantity`] of each row: its constant, name, value and meaning.
macro_rules! quantities {
    ($($constant:ident $name:literal $value:expr, $meaning:literal;)*) => {
        $(pub const $constant: HostQuantity = HostQuantity {
            name: $name,
            meaning: $meaning,
            value: $value,
        };)*
    };
}

quantities! {
    CPU_USER_PCT             "cpu_user_pct"             |host| host.cpu.map(|cpu| cpu.user + cpu.nice), "CPU time of the host for programs, in percent";
    CPU_SYSTEM_PCT           "cpu_system_pct"           |host| host.cpu.map(|cpu| cpu.system), "CPU time for the kernel, in percent";
    CPU_STEAL_PCT            "cpu_steal_pct"            |host| host.cpu.map(|cpu| cpu.steal), "CPU time taken by the hypervisor, in percent";
    CPU_AVAILABLE_PCT        "cpu_available_pct"        |host| host.cpu.map(|cpu| cpu.available()), "CPU time in which the CPU was idle, including iowait, in percent";
    IO_PRESSURE_SOME_PCT     "io_pressure_some_pct"     |host| host.pressure_some_pct, "share of the time in which some tasks waited for I/O (PSI)";
    IO_PRESSURE_FULL_PCT     "io_pressure_full_pct"     |host| host.pressure_full_pct, "share of the time in which all tasks with work to do waited for I/O (PSI)";
    HIDDEN_IO_WAIT_PCT       "hidden_io_wait_pct"       hidden_io_wait_pct, "share of the time in which a task waited for I/O while no device had a request in flight, at least; 0 if the devices may account for the waits";
    BLOCKED                  "blocked"                  |host| host.blocked.map(|count| count as f64), "tasks blocked on I/O at the end of the interval";
    MEMORY_PRESSURE_SOME_PCT "memory_pressure_some_pct" |host| host.memory_pressure_some_pct, "share of the time in which some tasks waited for memory (PSI)";
    DIRTY_KIB                "dirty_kib"                |host| host.dirty_kib.map(|kib| kib as f64), "memory waiting to be written to disk at the end of the interval";
    WRITEBACK_KIB            "writeback_kib"            |host| host.writeback_kib.map(|kib| kib as f64), "memory being written to disk at the end of the interval";
}

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
