//! The rows of the table.

use super::limit_text::{MIB, limits_cell};
use super::{WhoDevice, WhoInterval};
use crate::attribution::{IoRates, cgroup_name};
use crate::counters::BlockedTask;
use crate::intervals::KernelRole;
use crate::report::layout::number_format::{number, percent};
use crate::sanitize::sanitize;

/// A device, or a cgroup on it.
pub(super) struct CgroupRow {
    pub(super) is_device: bool,
    pub(super) name: String,
    /// The numbers, and the limit.
    pub(super) cells: Vec<String>,
}

/// Returns the rows of a device: the device itself, its cgroups, and the unattributed rest.
pub(super) fn cgroup_rows(device: &WhoDevice<'_>) -> Vec<CgroupRow> {
    let usage = device.usage;
    let on_it = match device.partitions.as_slice() {
        [] => String::new(),
        partitions => format!(" (whole disk of {})", partitions.join(", ")),
    };
    let name = sanitize(&format!("{}{on_it}", usage.name)).into_owned();
    let mut rows =
        vec![CgroupRow { is_device: true, name, cells: rate_cells(&usage.total, None, String::new()) }];
    rows.extend(device.cgroups.iter().map(|cgroup| CgroupRow {
        is_device: false,
        name: name_of(&cgroup.path),
        cells: rate_cells(&cgroup.rates, cgroup.share_pct, limits_cell(&cgroup.limits)),
    }));
    let [read, write] = usage.unattributed_bytes_per_s();
    if let Some(share) = usage.unattributed_pct() {
        // Only bytes can be compared with those of cgroups.
        let unknown = String::new;
        let cells = vec![unknown(), unknown(), mib(read), mib(write), percent(share), unknown()];
        rows.push(CgroupRow { is_device: false, name: "unattributed".to_owned(), cells });
    }
    rows
}

/// Returns the name of a cgroup for people, safe for a terminal.
fn name_of(path: &str) -> String {
    sanitize(&cgroup_name(path)).into_owned()
}

fn rate_cells(rates: &IoRates, share_pct: Option<f64>, limit: String) -> Vec<String> {
    vec![
        number(rates.reads_per_s),
        number(rates.writes_per_s),
        mib(rates.read_bytes_per_s),
        mib(rates.write_bytes_per_s),
        share_pct.map(percent).unwrap_or_default(),
        limit,
    ]
}

fn mib(bytes_per_s: f64) -> String {
    number(bytes_per_s / MIB)
}

/// A process or a blocked task.
pub(super) struct ProcessRow {
    /// All cells except the cgroup.
    pub(super) cells: Vec<String>,
    pub(super) cgroup: String,
}

/// Returns the rows of the threads that submitted I/O.
pub(super) fn thread_rows(interval: &WhoInterval<'_>) -> Vec<ProcessRow> {
    let Some((threads, elapsed_s)) = &interval.threads else { return Vec::new() };
    let rows = threads.iter().map(|thread| {
        let comm = sanitize(&thread.comm);
        let name = match thread.kernel_role() {
            Some(role) => format!("{comm} ({})", role_name(role)),
            None => comm.into_owned(),
        };
        let id = match thread.pid {
            Some(pid) if pid != thread.tid => format!("{pid}/{}", thread.tid),
            _ => thread.tid.to_string(),
        };
        let per_s = |amount: u64| amount as f64 / elapsed_s.max(f64::MIN_POSITIVE);
        let cells = vec![
            name,
            sanitize(&thread.device).into_owned(),
            id,
            number(per_s(thread.reads)),
            number(per_s(thread.writes)),
            mib(per_s(thread.read_bytes)),
            mib(per_s(thread.write_bytes)),
        ];
        let cgroup = thread.cgroup.as_deref().map(name_of).unwrap_or_default();
        ProcessRow { cells, cgroup }
    });
    rows.collect()
}

/// Returns the word for the kernel's work in a thread.
pub(super) fn role_name(role: KernelRole) -> &'static str {
    match role {
        KernelRole::Writeback => "writeback",
        KernelRole::Journal => "journal",
        KernelRole::Swap => "swap",
    }
}

/// Returns the rows of the busiest processes, then of the blocked tasks that are not among them.
pub(super) fn process_rows(interval: &WhoInterval<'_>) -> Vec<ProcessRow> {
    let Some(attribution) = interval.attribution else { return Vec::new() };
    let elapsed_s = attribution.processes.as_ref().map_or(1.0, |processes| processes.elapsed.as_secs_f64());
    let blocked_of = |pid: u32| attribution.blocked.iter().find(|task| task.tid == pid);
    let cgroup = |path: Option<&str>| path.map(name_of).unwrap_or_default();
    let state = |is_blocked: bool| if is_blocked { "D" } else { "" }.to_owned();
    let busy = interval.processes.iter().map(|process| {
        let task = blocked_of(process.pid);
        let per_s = |bytes: u64| mib(bytes as f64 / elapsed_s);
        let cells = vec![
            sanitize(&process.comm).into_owned(),
            process.pid.to_string(),
            state(task.is_some()),
            per_s(process.read_bytes),
            per_s(process.write_bytes),
            delay(task),
        ];
        ProcessRow { cells, cgroup: cgroup(process.cgroup.as_deref()) }
    });
    let is_busy = |task: &&BlockedTask| interval.processes.iter().any(|process| process.pid == task.tid);
    let blocked = attribution.blocked.iter().filter(|task| !is_busy(task)).map(|task| {
        let id =
            if task.pid == task.tid { task.pid.to_string() } else { format!("{}/{}", task.pid, task.tid) };
        let none = String::new;
        let cells =
            vec![sanitize(&task.comm).into_owned(), id, state(true), none(), none(), delay(Some(task))];
        ProcessRow { cells, cgroup: cgroup(task.cgroup.as_deref()) }
    });
    busy.chain(blocked).collect()
}

/// Returns the percentage of the time that a task waited for devices.
fn delay(task: Option<&BlockedTask>) -> String {
    let permille = task.and_then(|task| task.delay_permille);
    permille.map(|permille| percent(permille as f64 / 10.0)).unwrap_or_default()
}
