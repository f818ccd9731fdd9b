//! The use of the devices as a table.

use jiff::tz::TimeZone;

use super::{Row, WhoInterval, processes, threads};
use crate::attribution::{Attribution, DeviceUse, LimitUse};
use crate::counters::ScanProblem;
use crate::report::evidence::limit_of_cgroup;
use crate::report::latency::push_note;
use crate::report::layout::number_format::{number, percent};
use crate::report::layout::sentence_numbers::counted;
use crate::report::layout::{TextTable, time_of_day};
use crate::sanitize::sanitize;

/// The least width of the name of a cgroup.
const MIN_NAME_WIDTH: usize = 12;

const CGROUP_COLUMNS: [&str; 7] = ["device, cgroup", "r/s", "w/s", "rMB/s", "wMB/s", "share", "limit"];
const THREAD_COLUMNS: [&str; 8] = ["process", "device", "pid", "r/s", "w/s", "rMB/s", "wMB/s", "cgroup"];
const PROCESS_COLUMNS: [&str; 7] =
    ["process, all devices", "pid", "state", "rMB/s", "wMB/s", "delay", "cgroup"];

/// Appends the table of an interval. Its lines are at most `width` columns wide, unless the numbers alone are wider:
/// names of cgroups, and then those of threads, are shortened in the middle.
pub fn table(interval: &WhoInterval<'_>, width: usize, time_zone: &TimeZone, out: &mut Vec<u8>) {
    let header = interval.header;
    let time = header.end.map_or_else(|| "--:--:--".to_owned(), |end| time_of_day(end, time_zone));
    let title = format!("{time}  {:.3}s\n", header.elapsed_s);
    out.extend_from_slice(title.as_bytes());
    push_tables(interval, width, out);
    for note in interval_notes(interval) {
        push_note(&note, width, "", "", out);
    }
    out.push(b'\n');
}

/// Appends the tables of cgroups, threads and processes, without those that are empty.
pub(crate) fn push_tables(interval: &WhoInterval<'_>, width: usize, out: &mut Vec<u8>) {
    let of_device = |(usage, partitions): &(&DeviceUse, Vec<&str>)| cgroup_cells(usage, partitions, interval);
    let cgroups: Vec<Vec<String>> = interval.devices.iter().flat_map(of_device).collect();
    let threads = threads(interval).iter().map(thread_cells).collect();
    let processes = processes(interval).iter().map(process_cells).collect();
    push_table(&CGROUP_COLUMNS, "lrrrrrl", cgroups, width, out);
    push_table(&THREAD_COLUMNS, "llrrrrrl", threads, width, out);
    push_table(&PROCESS_COLUMNS, "lrlrrrl", processes, width, out);
}

/// Appends a table; nothing without rows. Names of cgroups in the last column are shortened before those in the first.
fn push_table(titles: &[&str], aligns: &str, rows: Vec<Vec<String>>, width: usize, out: &mut Vec<u8>) {
    if rows.is_empty() {
        return;
    }
    let mut table = TextTable::new(titles, aligns, rows);
    if titles.ends_with(&["cgroup"]) {
        table.shorten(titles.len() - 1, MIN_NAME_WIDTH, width);
    }
    table.shorten(0, MIN_NAME_WIDTH, width);
    table.push(out);
}

/// Returns the rows of a device: the device itself, its cgroups, and the unattributed rest if that is known.
fn cgroup_cells(usage: &DeviceUse, partitions: &[&str], interval: &WhoInterval<'_>) -> Vec<Vec<String>> {
    let on_it = match partitions {
        [] => String::new(),
        partitions => format!(" (whole disk of {})", partitions.join(", ")),
    };
    let cells = |name: String, row: &Row<'_>| {
        let [reads, writes, read, written] = rate_cells(row);
        let share = row.share_pct.map(percent).unwrap_or_default();
        vec![name, reads, writes, read, written, share, limits_cell(row.limits)]
    };
    let name = sanitize(&format!("{}{on_it}", usage.name)).into_owned();
    let whole = cells(name, &Row::rates(&Row::default(), &usage.total));
    let rows = Row::of_device(usage, interval).into_iter();
    let rows = rows.filter(|row| row.share_pct.is_some() || row.ios_per_s.is_some());
    let cgroups = rows.map(|row| cells(format!("  {}", cgroup_cell(&row)), &row));
    [whole].into_iter().chain(cgroups).collect()
}

/// Returns the cells of a thread that submitted I/O.
fn thread_cells(row: &Row<'_>) -> Vec<String> {
    let comm = sanitize(row.comm.unwrap_or_default());
    let name = match row.kernel_role {
        Some(role) => format!("{comm} ({role})"),
        None => comm.into_owned(),
    };
    let device = sanitize(row.device.unwrap_or_default()).into_owned();
    let [reads, writes, read, written] = rate_cells(row);
    vec![name, device, id_cell(row), reads, writes, read, written, cgroup_cell(row)]
}

/// Returns the cells of a process or blocked task.
fn process_cells(row: &Row<'_>) -> Vec<String> {
    let comm = sanitize(row.comm.unwrap_or_default()).into_owned();
    let state = if row.is_blocked == Some(true) { "D" } else { "" }.to_owned();
    let [_, _, read, written] = rate_cells(row);
    // The share of the time that the task waited for devices.
    let delay = row.delay_permille.map(|permille| percent(permille as f64 / 10.0)).unwrap_or_default();
    vec![comm, id_cell(row), state, read, written, delay, cgroup_cell(row)]
}

/// Returns requests per second and throughput of reads and of writes.
fn rate_cells(row: &Row<'_>) -> [String; 4] {
    let [reads, writes] = row.ios_per_s.map_or_else(Default::default, |ios| ios.map(number));
    let mib = |kib: f64| number(kib / 1024.0);
    let [read, written] = row.kib_per_s.map_or_else(Default::default, |kib| kib.map(mib));
    [reads, writes, read, written]
}

fn cgroup_cell(row: &Row<'_>) -> String {
    sanitize(&row.cgroup_name().unwrap_or_default()).into_owned()
}

fn id_cell(row: &Row<'_>) -> String {
    match (row.pid, row.tid) {
        (Some(pid), Some(tid)) if pid != tid => format!("{pid}/{tid}"),
        (pid, _) => pid.map(|pid| pid.to_string()).unwrap_or_default(),
    }
}

/// Returns the limits of a cgroup for a table: those that have been reached or, if none has, the nearest one.
fn limits_cell(limits: &[LimitUse]) -> String {
    let reached: Vec<String> = limits
        .iter()
        .filter(|limit| limit.is_reached)
        .map(|limit| limit_of_cgroup(limit.kind, limit.value))
        .collect();
    if !reached.is_empty() {
        return format!("at limit {}", reached.join(", "));
    }
    let fraction = |limit: &&LimitUse| limit.rate / limit.value.max(1) as f64;
    let nearest = limits.iter().max_by(|a, b| fraction(a).total_cmp(&fraction(b)));
    nearest.map(|limit| limit_of_cgroup(limit.kind, limit.value)).unwrap_or_default()
}

/// Returns the reason why cgroups are missing, with the remedy.
pub fn problem_text(problem: ScanProblem) -> &'static str {
    match problem {
        ScanProblem::NoHierarchy => {
            "no cgroups: neither cgroup2 nor the blkio controller of version 1 is mounted"
        }
        ScanProblem::ControllerOff => {
            "no cgroups: their I/O is not counted; \
             'systemctl set-property UNIT IOAccounting=yes' enables that for a unit"
        }
        ScanProblem::TooManyCgroups => "too many cgroups: some are missing",
        ScanProblem::NotPermitted => "some cgroups cannot be read by this user; run as root",
    }
}

/// Returns the sentence about processes whose I/O is hidden from this user, or was from the one who made the recording;
/// `None` if there are none.
pub fn hidden_processes_text(attribution: &Attribution, is_live: bool, may_read_all: bool) -> Option<String> {
    let hidden = attribution.processes.as_ref()?.hidden;
    let plural = if hidden == 1 { "" } else { "es" };
    let reason = match (is_live, may_read_all) {
        (true, false) => {
            "cannot be read: permission denied (needs root, or CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE)"
        }
        (true, true) => "cannot be read even by root: a security policy denies it",
        (false, _) => "is not in this recording: permission was denied",
    };
    (hidden > 0).then(|| format!("the I/O of {hidden} process{plural} {reason}"))
}

/// Returns the sentence about a read of a process that hangs; `None` if none does.
pub fn hung_read_text(attribution: &Attribution) -> Option<String> {
    let hung = attribution.hung_read?;
    Some(format!(
        "processes not read for {} s: /proc/{}/io does not answer",
        hung.elapsed.as_secs(),
        hung.pid
    ))
}

/// Returns the sentence about scans that were skipped; `None` if none were.
pub fn skipped_scans_text(skipped: u64) -> Option<String> {
    let scans = counted(skipped, "scan");
    (skipped > 0).then(|| format!("{scans} of cgroups and processes skipped to use no more than 5% of a CPU"))
}

/// Returns the sentences about an interval.
pub(super) fn interval_notes(interval: &WhoInterval<'_>) -> Vec<String> {
    let Some(attribution) = interval.attribution else {
        return vec![format!("cgroups and processes not read for {:.1} s", interval.unread_s)];
    };
    let mut notes = Vec::new();
    if let Some(text) = skipped_scans_text(attribution.skipped) {
        notes.push(format!("{text}; the numbers are for {:.1} s", attribution.elapsed_s));
    }
    notes.extend(hung_read_text(attribution));
    match &attribution.processes {
        // Threads are shown instead of processes.
        _ if interval.threads.is_some() => {}
        None if attribution.hung_read.is_some() => {}
        None => notes.push("processes are known from the next interval on".to_owned()),
        Some(processes) if processes.is_partial => {
            notes.push("too many processes: some are missing".to_owned());
        }
        Some(_) => {}
    }
    notes
}

#[cfg(test)]
mod table_tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::intervals::{IntervalHeader, TracedThread};
    use crate::report::who::lines;

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
            threads: Some((threads.iter().collect(), 1.0)),
            sort: "MB/s",
            top: 10,
        };
        for width in [70, 90] {
            let mut out = Vec::new();
            super::table(&interval, width, &TimeZone::UTC, &mut out);
            let table = String::from_utf8(out).unwrap();
            assert!(table.contains(" device ") && !table.contains("process, all devices"), "{table}");
            assert!(table.lines().all(|line| line.width() <= width), "{table}");
            assert_eq!(table.contains("\nkworker/u8:1 (writeback) "), width == 90, "{table}");
        }
        let mut out = Vec::new();
        lines(&interval, None, &mut out);
        let json = String::from_utf8(out).unwrap();
        assert!(json.contains("\"device\":\"dm-0\"") && json.contains("\"comm\":\"fio\""), "{json}");
    }
}

#[cfg(test)]
mod limit_text_tests {
    use super::*;
    use crate::attribution::LimitKind;

    #[test]
    fn the_limit_that_matters_is_shown() {
        let limit =
            |kind, value, rate, is_reached| LimitUse { kind, value, rate, is_reached, is_near: is_reached };
        let reads = limit(LimitKind::ReadIops, 50, 10.0, false);
        let bytes = limit(LimitKind::WriteBytes, 2 << 20, 1e6, false);
        assert_eq!(limits_cell(&[]), "");
        let low = limit(LimitKind::ReadBytes, 2000, 0.0, false);
        assert_eq!(limits_cell(&[low]), "1.95 KiB/s of reads");
        assert_eq!(limits_cell(&[reads, bytes]), "2 MiB/s of writes");
        let reached = limit(LimitKind::ReadIops, 50, 50.0, true);
        assert_eq!(limits_cell(&[reached, bytes]), "at limit 50 reads/s");
    }
}

#[cfg(test)]
mod note_tests {
    use std::time::Duration;

    use super::*;
    use crate::counters::HungRead;
    use crate::intervals::IntervalHeader;

    #[test]
    fn an_interval_says_what_was_skipped_or_does_not_answer() {
        let elapsed = Duration::from_millis(12_700);
        let mut attribution = Attribution { skipped: 2, elapsed_s: 3.0, ..Attribution::default() };
        attribution.hung_read = Some(HungRead { pid: 4711, elapsed });
        let header = IntervalHeader { elapsed_s: 1.0, ..IntervalHeader::default() };
        let mut interval = WhoInterval {
            header: &header,
            attribution: Some(&attribution),
            unread_s: 12.0,
            devices: Vec::new(),
            threads: None,
            sort: "MB/s",
            top: 10,
        };
        let skipped = "2 scans of cgroups and processes skipped to use no more than 5% of a CPU; the numbers are for 3.0 s";
        let hung = "processes not read for 12 s: /proc/4711/io does not answer";
        assert_eq!(interval_notes(&interval), [skipped, hung]);
        let answering = Attribution { hung_read: None, ..attribution.clone() };
        interval.attribution = Some(&answering);
        let next = "processes are known from the next interval on";
        assert_eq!(interval_notes(&interval), [skipped, next]);
        interval.threads = Some((Vec::new(), 1.0));
        assert_eq!(interval_notes(&interval), [skipped]);
        interval.attribution = None;
        assert_eq!(interval_notes(&interval), ["cgroups and processes not read for 12.0 s"]);
    }
}
