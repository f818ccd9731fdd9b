//! The use of the devices as a table.

use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use super::notes::interval_notes;
use super::{WhoDevice, WhoInterval};
use crate::attribution::{IoRates, LimitKind, LimitUse, cgroup_name};
use crate::counters::BlockedTask;
use crate::intervals::KernelRole;
use crate::report::latency::push_note;
use crate::report::layout::number_format::{number, percent};
use crate::report::layout::{Align, Spacing, column_widths, ellipsize, plain_table};
use crate::sanitize::sanitize;

const SPACING: Spacing = Spacing { gap: 2, indent: 0 };
/// The least width of the name of a cgroup.
const MIN_NAME_WIDTH: usize = 12;

/// Appends the table of an interval. Its lines are at most `width` columns wide, unless the numbers alone are wider:
/// names of cgroups, and then those of threads, are shortened in the middle.
pub(super) fn table(interval: &WhoInterval<'_>, width: usize, time_zone: &TimeZone, out: &mut Vec<u8>) {
    let header = interval.header;
    let time = header.end.map(|end| end.to_zoned(time_zone.clone()).strftime("%H:%M:%S").to_string());
    let title = format!("{}  {:.3}s\n", time.unwrap_or_else(|| "--:--:--".to_owned()), header.elapsed_s);
    out.extend_from_slice(title.as_bytes());
    let cgroups: Vec<CgroupRow> = interval.devices.iter().flat_map(cgroup_rows).collect();
    if !cgroups.is_empty() {
        let titles = ["device, cgroup", "r/s", "w/s", "rMB/s", "wMB/s", "share", "limit"];
        let numbers = cgroups.iter().map(|row| row.cells.clone());
        // The first column gets the width that the others leave.
        let taken = width_of(&titles[1..], cgroups.iter().map(|row| &*row.cells));
        let name_width = width.saturating_sub(taken).max(MIN_NAME_WIDTH);
        let names = cgroups.iter().map(|row| {
            let indent = if row.is_device { 0 } else { 2 };
            format!("{:indent$}{}", "", ellipsize(&row.name, name_width - indent))
        });
        let rows = names.zip(numbers).map(|(name, cells)| [name].into_iter().chain(cells).collect());
        let right = Align::Right;
        let aligns = [Align::Left, right, right, right, right, right, Align::Left];
        plain_table(&titles, &aligns, rows, SPACING, out);
    }
    let (left, right) = (Align::Left, Align::Right);
    let titles = ["process", "device", "pid", "r/s", "w/s", "rMB/s", "wMB/s", "cgroup"];
    let aligns = [left, left, right, right, right, right, right, left];
    // Names of threads may be long if the kernel's work is appended.
    push_processes(titles, aligns, thread_rows(interval), true, width, out);
    let titles = ["process, all devices", "pid", "state", "rMB/s", "wMB/s", "delay", "cgroup"];
    let aligns = [left, right, left, right, right, right, left];
    push_processes(titles, aligns, process_rows(interval), false, width, out);
    for note in interval_notes(interval) {
        push_note(&note, width, "", "", out);
    }
    out.push(b'\n');
}

/// Appends a table of processes with their cgroups, which get the width that is left. In narrow lines, names are
/// shortened if they may be long.
fn push_processes<const N: usize>(
    titles: [&str; N],
    aligns: [Align; N],
    rows: Vec<ProcessRow>,
    has_long_names: bool,
    width: usize,
    out: &mut Vec<u8>,
) {
    if rows.is_empty() {
        return;
    }
    let taken = width_of(&titles[..N - 1], rows.iter().map(|row| &*row.cells));
    // Threads that have ended, and those of the kernel, have no cgroup.
    let cgroups = rows.iter().map(|row| row.cgroup.width()).max().unwrap_or(0).max(titles[N - 1].width());
    let min_cgroup_width = cgroups.min(MIN_NAME_WIDTH);
    let cgroup_width = width.saturating_sub(taken).max(min_cgroup_width);
    let names = rows.iter().map(|row| row.cells[0].width()).max().unwrap_or(0);
    let excess = if has_long_names { (taken + min_cgroup_width).saturating_sub(width) } else { 0 };
    let name_width = names.saturating_sub(excess).max(MIN_NAME_WIDTH);
    let rows = rows.into_iter().map(|ProcessRow { mut cells, cgroup }| {
        cells[0] = ellipsize(&cells[0], name_width);
        cells.push(ellipsize(&cgroup, cgroup_width));
        cells
    });
    plain_table(&titles, &aligns, rows, SPACING, out);
}

/// Returns the width of these columns with the gaps behind them.
fn width_of<'a>(titles: &[&str], rows: impl Iterator<Item = &'a [String]>) -> usize {
    column_widths(titles, rows).iter().map(|width| width + usize::from(SPACING.gap)).sum()
}

/// A device, or a cgroup on it.
pub(super) struct CgroupRow {
    pub(super) is_device: bool,
    pub(super) name: String,
    /// The numbers, and the limit.
    pub(super) cells: Vec<String>,
}

/// Returns the rows of a device: the device itself, its cgroups, and the unattributed rest.
fn cgroup_rows(device: &WhoDevice<'_>) -> Vec<CgroupRow> {
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
struct ProcessRow {
    /// All cells except the cgroup.
    pub(super) cells: Vec<String>,
    pub(super) cgroup: String,
}

/// Returns the rows of the threads that submitted I/O.
fn thread_rows(interval: &WhoInterval<'_>) -> Vec<ProcessRow> {
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
fn process_rows(interval: &WhoInterval<'_>) -> Vec<ProcessRow> {
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

/// Bytes of a MiB, the unit of `MB/s` in all tables.
pub(super) const MIB: f64 = 1024.0 * 1024.0;

/// Returns a limit with its unit: `50 r/s`, `2.00 wMB/s`, `512 wkB/s`.
pub(crate) fn limit_value(kind: LimitKind, value: u64) -> String {
    let bytes = |direction: char| match value as f64 / MIB {
        mib @ 1.0.. => format!("{} {direction}MB/s", number(mib)),
        mib if mib >= 1.0 / 1024.0 => format!("{} {direction}kB/s", number(mib * 1024.0)),
        _ => format!("{value} {direction}B/s"),
    };
    match kind {
        LimitKind::ReadIops => format!("{value} r/s"),
        LimitKind::WriteIops => format!("{value} w/s"),
        LimitKind::ReadBytes => bytes('r'),
        LimitKind::WriteBytes => bytes('w'),
    }
}

/// Returns the limits of a cgroup for a table: those that have been reached or, if none has, the nearest one.
fn limits_cell(limits: &[LimitUse]) -> String {
    let reached: Vec<String> = limits
        .iter()
        .filter(|limit| limit.is_reached)
        .map(|limit| limit_value(limit.kind, limit.value))
        .collect();
    if !reached.is_empty() {
        return format!("at limit {}", reached.join(", "));
    }
    let fraction = |limit: &&LimitUse| limit.rate / limit.value.max(1) as f64;
    let nearest = limits.iter().max_by(|a, b| fraction(a).total_cmp(&fraction(b)));
    nearest.map(|limit| limit_value(limit.kind, limit.value)).unwrap_or_default()
}

#[cfg(test)]
mod table_tests {
    use super::*;
    use crate::intervals::{IntervalHeader, TracedThread};
    use crate::report::who::{WhoFormat, WhoWriter};

    #[test]
    fn threads_are_shown_by_device_in_the_width() {
        let thread = |comm: &str, tid, cgroup: Option<&str>| TracedThread {
            device: "dm-0".to_owned(),
            tid,
            comm: comm.into(),
            cgroup: cgroup.map(Into::into),
            writes: 10,
            write_bytes: 40_960,
            ..TracedThread::default()
        };
        let threads = [
            thread("fio", 812, Some("/system.slice/a-service-with-a-long-name.service")),
            thread("kworker/u8:1", 41, None),
        ];
        let header = IntervalHeader::default();
        let interval = WhoInterval {
            header: &header,
            attribution: None,
            unread_s: 0.0,
            devices: Vec::new(),
            processes: Vec::new(),
            threads: Some((threads.iter().collect(), 1.0)),
        };
        let printed = |format| {
            let mut out = Vec::new();
            WhoWriter::new(format, 80, TimeZone::UTC).push(&interval, &mut out);
            String::from_utf8(out).unwrap()
        };
        for width in [70, 90] {
            let table = printed(WhoFormat::Table(Some(width)));
            assert!(table.contains(" device ") && !table.contains("process, all devices"), "{table}");
            assert!(table.lines().all(|line| line.width() <= width), "{table}");
            assert_eq!(table.contains("\nkworker/u8:1 (writeback) "), width == 90, "{table}");
        }
        let json = printed(WhoFormat::Json);
        assert!(json.contains("\"device\":\"dm-0\"") && json.contains("\"comm\":\"fio\""), "{json}");
    }
}

#[cfg(test)]
mod limit_text_tests {
    use super::*;

    #[test]
    fn the_limit_that_matters_is_shown() {
        let limit =
            |kind, value, rate, is_reached| LimitUse { kind, value, rate, is_reached, is_near: is_reached };
        let reads = limit(LimitKind::ReadIops, 50, 10.0, false);
        let bytes = limit(LimitKind::WriteBytes, 2 << 20, 1e6, false);
        assert_eq!(limits_cell(&[]), "");
        let low = limit(LimitKind::ReadBytes, 2000, 0.0, false);
        assert_eq!(limits_cell(&[low]), "1.95 rkB/s");
        assert_eq!(limits_cell(&[reads, bytes]), "2.00 wMB/s");
        let reached = limit(LimitKind::ReadIops, 50, 50.0, true);
        assert_eq!(limits_cell(&[reached, bytes]), "at limit 50 r/s");
    }
}
