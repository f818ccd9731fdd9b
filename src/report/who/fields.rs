//! JSON Lines and CSV. Field names are stable; new ones may be added at the end.

use super::table::role_name;
use super::{WhoDevice, WhoInterval, WhoKind};
use crate::attribution::{CgroupUse, LimitKind, cgroup_name};
use crate::counters::{BlockedTask, BusyProcess};
use crate::intervals::TracedThread;
use crate::report::json_csv::cgroup_limit_name;
use crate::report::json_csv::value::{Field, push_csv, push_json};

use Field::{Flag, Name, Number, Text, Time, Whole, Words};

const KIB: f64 = 1024.0;
/// The name given to the bytes that no cgroup read or wrote. It cannot be a cgroup, because paths of cgroups begin with
/// a slash.
const UNATTRIBUTED: &str = "unattributed";

enum Row<'a> {
    Cgroup(&'a WhoDevice<'a>, &'a CgroupUse),
    Unattributed(&'a WhoDevice<'a>),
    Process(Option<&'a BusyProcess>, Option<&'a BlockedTask>),
    Thread(&'a TracedThread, f64),
}

impl Row<'_> {
    fn kind(&self) -> WhoKind {
        match self {
            Self::Cgroup(..) | Self::Unattributed(_) => WhoKind::Cgroup,
            Self::Process(..) | Self::Thread(..) => WhoKind::Process,
        }
    }

    fn cgroup(&self) -> Option<&str> {
        match self {
            Self::Cgroup(_, cgroup) => Some(&cgroup.path),
            Self::Unattributed(_) => Some(UNATTRIBUTED),
            Self::Thread(thread, _) => thread.cgroup.as_deref(),
            Self::Process(process, task) => process
                .and_then(|process| process.cgroup.as_deref())
                .or(task.and_then(|task| task.cgroup.as_deref())),
        }
    }

    fn device(&self) -> Option<&str> {
        match self {
            Self::Cgroup(device, _) | Self::Unattributed(device) => Some(&device.usage.name),
            Self::Thread(thread, _) => Some(&thread.device),
            Self::Process(..) => None,
        }
    }

    fn pid(&self) -> Option<u32> {
        if let Self::Thread(thread, _) = self {
            return thread.pid.or(Some(thread.tid));
        }
        let Self::Process(process, task) = self else { return None };
        process.map(|process| process.pid).or(task.map(|task| task.pid))
    }

    fn comm(&self) -> Option<&str> {
        if let Self::Thread(thread, _) = self {
            return Some(&thread.comm);
        }
        let Self::Process(process, task) = self else { return None };
        process.map(|process| process.comm.as_str()).or(task.map(|task| task.comm.as_str()))
    }

    /// Returns KiB per second read and written.
    fn kib_per_s(&self, interval: &WhoInterval<'_>) -> Option<[f64; 2]> {
        Some(match self {
            Self::Cgroup(_, cgroup) => {
                [cgroup.rates.read_bytes_per_s, cgroup.rates.write_bytes_per_s].map(|bytes| bytes / KIB)
            }
            Self::Unattributed(device) => device.usage.unattributed_bytes_per_s().map(|bytes| bytes / KIB),
            Self::Thread(thread, elapsed_s) => {
                [thread.read_bytes, thread.write_bytes].map(|bytes| bytes as f64 / KIB / elapsed_s)
            }
            Self::Process(process, _) => {
                let (process, elapsed_s) = (*process.as_ref()?, process_elapsed_s(interval)?);
                [process.read_bytes, process.write_bytes].map(|bytes| bytes as f64 / KIB / elapsed_s)
            }
        })
    }

    /// Returns a limit in the unit of its field; `None` if it is not set.
    fn limit(&self, kind: LimitKind) -> Option<f64> {
        let Self::Cgroup(_, cgroup) = self else { return None };
        let value = cgroup.limits.iter().find(|limit| limit.kind == kind)?.value as f64;
        let is_bytes = matches!(kind, LimitKind::ReadBytes | LimitKind::WriteBytes);
        Some(if is_bytes { value / KIB } else { value })
    }

    /// Returns the limits that have been reached.
    fn reached(&self) -> Vec<&'static str> {
        let Self::Cgroup(_, cgroup) = self else { return Vec::new() };
        cgroup
            .limits
            .iter()
            .filter(|limit| limit.is_reached)
            .map(|limit| cgroup_limit_name(limit.kind))
            .collect()
    }
}

/// Returns the seconds over which the bytes of processes were counted; `None` if they are not known.
fn process_elapsed_s(interval: &WhoInterval<'_>) -> Option<f64> {
    let processes = interval.attribution?.processes.as_ref()?;
    Some(processes.elapsed.as_secs_f64())
}

/// A field: its name, the kinds of lines that have it in CSV, and its value.
struct Column {
    name: &'static str,
    kinds: &'static [WhoKind],
    value: for<'a> fn(&'a WhoInterval<'a>, &'a Row<'a>) -> Field<'a>,
}

const BOTH: &[WhoKind] = &[WhoKind::Cgroup, WhoKind::Process];
const CGROUP: &[WhoKind] = &[WhoKind::Cgroup];
const PROCESS: &[WhoKind] = &[WhoKind::Process];

const fn column(
    name: &'static str,
    kinds: &'static [WhoKind],
    value: for<'a> fn(&'a WhoInterval<'a>, &'a Row<'a>) -> Field<'a>,
) -> Column {
    Column { name, kinds, value }
}

/// All fields, in their order. JSON has all of them in every line, with null for those that have no meaning there.
const COLUMNS: &[Column] = &[
    column("time", BOTH, |interval, _| Time(interval.header.end)),
    column("elapsed_s", BOTH, |interval, row| {
        Number(match row.kind() {
            WhoKind::Cgroup => interval.attribution.map(|attribution| attribution.elapsed_s),
            WhoKind::Process => match row {
                Row::Thread(_, elapsed_s) => Some(*elapsed_s),
                _ => process_elapsed_s(interval),
            },
        })
    }),
    column("kind", BOTH, |_, row| {
        Text(Some(match row.kind() {
            WhoKind::Cgroup => "cgroup",
            WhoKind::Process => "process",
        }))
    }),
    column("device", BOTH, |_, row| Text(row.device())),
    column("cgroup", BOTH, |_, row| Text(row.cgroup())),
    column("name", BOTH, |_, row| {
        Name(row.cgroup().map(|path| match path {
            UNATTRIBUTED => path.to_owned(),
            path => cgroup_name(path),
        }))
    }),
    column("comm", PROCESS, |_, row| Text(row.comm())),
    column("pid", PROCESS, |_, row| Whole(row.pid().map(u64::from))),
    column("tid", PROCESS, |_, row| match row {
        Row::Process(_, task) => Whole(task.map(|task| u64::from(task.tid))),
        Row::Thread(thread, _) => Whole(Some(u64::from(thread.tid))),
        Row::Cgroup(..) | Row::Unattributed(_) => Whole(None),
    }),
    column("is_blocked", PROCESS, |_, row| {
        let Row::Process(_, task) = row else { return Flag(None) };
        Flag(Some(task.is_some()))
    }),
    column("reads_per_s", BOTH, |_, row| match row {
        Row::Cgroup(_, cgroup) => Number(Some(cgroup.rates.reads_per_s)),
        Row::Thread(thread, elapsed_s) => Number(Some(thread.reads as f64 / elapsed_s)),
        Row::Unattributed(_) | Row::Process(..) => Number(None),
    }),
    column("read_kib_per_s", BOTH, |interval, row| Number(row.kib_per_s(interval).map(|[read, _]| read))),
    column("writes_per_s", BOTH, |_, row| match row {
        Row::Cgroup(_, cgroup) => Number(Some(cgroup.rates.writes_per_s)),
        Row::Thread(thread, elapsed_s) => Number(Some(thread.writes as f64 / elapsed_s)),
        Row::Unattributed(_) | Row::Process(..) => Number(None),
    }),
    column("write_kib_per_s", BOTH, |interval, row| Number(row.kib_per_s(interval).map(|[_, write]| write))),
    column("share_pct", CGROUP, |_, row| {
        Number(match row {
            Row::Cgroup(_, cgroup) => cgroup.share_pct,
            Row::Unattributed(device) => device.usage.unattributed_pct(),
            Row::Process(..) | Row::Thread(..) => None,
        })
    }),
    column("read_iops_limit", CGROUP, |_, row| Number(row.limit(LimitKind::ReadIops))),
    column("write_iops_limit", CGROUP, |_, row| Number(row.limit(LimitKind::WriteIops))),
    column("read_kib_per_s_limit", CGROUP, |_, row| Number(row.limit(LimitKind::ReadBytes))),
    column("write_kib_per_s_limit", CGROUP, |_, row| Number(row.limit(LimitKind::WriteBytes))),
    column("at_limit", CGROUP, |_, row| Words(row.reached())),
    column("delay_pct", PROCESS, |_, row| {
        let Row::Process(_, task) = row else { return Number(None) };
        Number(task.and_then(|task| task.delay_permille).map(|permille| permille as f64 / 10.0))
    }),
    column("skipped_scans", BOTH, |interval, _| {
        Whole(interval.attribution.map(|attribution| attribution.skipped))
    }),
    column("kernel_role", PROCESS, |_, row| {
        let Row::Thread(thread, _) = row else { return Text(None) };
        Text(thread.kernel_role().map(role_name))
    }),
];

/// Calls `push` for each line of an interval: for each device its cgroups and the unattributed rest, then the
/// processes, and the blocked tasks that are not among them.
fn each_row(interval: &WhoInterval<'_>, mut push: impl FnMut(&Row<'_>)) {
    for device in &interval.devices {
        device.cgroups.iter().for_each(|cgroup| push(&Row::Cgroup(device, cgroup)));
        push(&Row::Unattributed(device));
    }
    let blocked = interval.attribution.map_or(&[][..], |attribution| &attribution.blocked);
    if let Some((threads, elapsed_s)) = &interval.threads {
        threads.iter().for_each(|thread| push(&Row::Thread(thread, *elapsed_s)));
    }
    for process in &interval.processes {
        let task = blocked.iter().find(|task| task.tid == process.pid);
        push(&Row::Process(Some(process), task));
    }
    let is_busy = |task: &&BlockedTask| interval.processes.iter().any(|process| process.pid == task.tid);
    blocked.iter().filter(|task| !is_busy(task)).for_each(|task| push(&Row::Process(None, Some(task))));
}

/// Appends the lines of an interval as JSON objects.
pub(super) fn json_lines(interval: &WhoInterval<'_>, out: &mut Vec<u8>) {
    each_row(interval, |row| {
        for (at, column) in COLUMNS.iter().enumerate() {
            out.extend_from_slice(if at == 0 { b"{\"" } else { b",\"" });
            out.extend_from_slice(column.name.as_bytes());
            out.extend_from_slice(b"\":");
            push_json(&(column.value)(interval, row), out);
        }
        out.extend_from_slice(b"}\n");
    });
}

/// Returns the columns of a kind of lines in CSV.
fn columns_of(kind: WhoKind) -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(move |column| column.kinds.contains(&kind))
}

/// Appends the names of the columns of a kind of lines.
pub(super) fn csv_header(kind: WhoKind, out: &mut Vec<u8>) {
    let names: Vec<&str> = columns_of(kind).map(|column| column.name).collect();
    out.extend_from_slice(names.join(",").as_bytes());
    out.push(b'\n');
}

/// Appends the lines of one kind as CSV.
pub(super) fn csv_lines(interval: &WhoInterval<'_>, kind: WhoKind, out: &mut Vec<u8>) {
    each_row(interval, |row| {
        if row.kind() != kind {
            return;
        }
        for (at, column) in columns_of(kind).enumerate() {
            if at > 0 {
                out.push(b',');
            }
            push_csv(&(column.value)(interval, row), out);
        }
        out.push(b'\n');
    });
}
