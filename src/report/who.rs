//! The cgroups and processes that use the devices: as JSON Lines and as CSV, whose field names are stable (new ones may be
//! added at the end), and as a table for people.

use std::collections::HashSet;

use Field::{Flag, Name, Number, Text, Time, Whole, Words};
use jiff::tz::TimeZone;

use crate::attribution::waits::{DeviceRef, worker_device};
use crate::attribution::{
    Attribution, CgroupUse, DeviceUse, IoDirection, IoRates, LimitUse, RateUnit, cgroup_name,
};
use crate::counters::{BlockedTask, BusyProcess, ScanProblem, WATCHED_WAIT_MS};
use crate::intervals::IntervalHeader;
use crate::report::evidence::limit_value;
use crate::report::json_csv::epoch_seconds;
use crate::report::json_csv::value::{Field, LineFormat, push_line};
use crate::report::layout::number_format::{number, percent};
use crate::report::layout::sentence_numbers::counted;
use crate::report::layout::{TextTable, mean_of_s, push_note, time_of_day};
use crate::sanitize::sanitize;
use crate::topology::possible_disks;

/// The use of the devices in an interval, and how much of it is shown.
pub struct WhoInterval<'a> {
    /// The values that all devices of the interval share.
    pub header: &'a IntervalHeader,
    /// The use by cgroups and processes; the devices to show are in [`Self::devices`]. `None` if no scan was finished
    /// in the interval.
    pub attribution: Option<&'a Attribution>,
    /// The seconds without a scan up to the end of the interval; 0 with [`Self::attribution`].
    pub unread_s: f64,
    /// The devices that are shown, each with the requested partitions: the kernel counts the I/O of cgroups only on whole
    /// disks.
    pub devices: Vec<(&'a DeviceUse, Vec<&'a str>)>,
    /// One of [`SORT_KEYS`].
    pub sort: &'static str,
    /// The most cgroups on each device, apart from those at their limits, and the most processes.
    pub top: usize,
}

/// The kinds of lines, which have different columns in CSV: one per device and cgroup.
pub const CGROUP: &str = "cgroup";
/// One per process or blocked task.
pub const PROCESS: &str = "process";

/// The quantities by which cgroups and processes are sorted: those of both directions, or a column.
pub const SORT_KEYS: [&str; 6] = ["MiB/s", "rMiB/s", "wMiB/s", "iops", "r/s", "w/s"];

/// Returns the value by which a row is sorted: the bytes if its requests are not counted, as those of processes.
fn sort_value(key: &str, row: &Row<'_>) -> f64 {
    let [read, write] = match row.ios_per_s {
        Some(requests) if !key.ends_with("MiB/s") => requests,
        _ => row.kib_per_s.unwrap_or_default(),
    };
    match key {
        "rMiB/s" | "r/s" => read,
        "wMiB/s" | "w/s" => write,
        _ => read + write,
    }
}

const KIB: f64 = 1024.0;
/// The name given to the bytes that no cgroup read or wrote. It cannot be a cgroup, because paths of cgroups begin with
/// a slash.
const UNATTRIBUTED: &str = "unattributed";

/// A line: a cgroup of a device, the bytes of no cgroup, or a process or blocked task.
#[derive(Default)]
struct Row<'a> {
    kind: &'static str,
    elapsed_s: Option<f64>,
    device: Option<&'a str>,
    cgroup: Option<&'a str>,
    comm: Option<&'a str>,
    command: Option<&'a str>,
    pid: Option<u32>,
    tid: Option<u32>,
    /// Reads and writes per second.
    ios_per_s: Option<[f64; 2]>,
    /// KiB per second read and written.
    kib_per_s: Option<[f64; 2]>,
    share_pct: Option<f64>,
    limits: &'a [LimitUse],
    delay_permille: Option<u64>,
    is_of_ended_children: Option<bool>,
    /// True for a thread of the kernel.
    is_kernel: bool,
    /// The least time for which a blocked task has waited.
    waited_s: Option<f64>,
    /// The disk that a task waits for, or that a thread of the kernel works for.
    task_device: Option<&'a str>,
}

impl<'a> Row<'a> {
    /// Use of a device, by a cgroup or by all.
    fn rates(device: &Self, rates: &IoRates) -> Self {
        Self {
            ios_per_s: Some([rates.reads_per_s, rates.writes_per_s]),
            kib_per_s: Some(
                [rates.read_bytes_per_s, rates.write_bytes_per_s].map(|bytes| bytes / KIB),
            ),
            ..*device
        }
    }

    fn cgroup(device: &Self, cgroup: &'a CgroupUse) -> Self {
        let (share_pct, limits) = (cgroup.share_pct, &*cgroup.limits);
        Self {
            cgroup: Some(&cgroup.path),
            share_pct,
            limits,
            ..Self::rates(device, &cgroup.rates)
        }
    }

    /// Returns the cgroups of a device and the unattributed rest.
    fn of_device(usage: &'a DeviceUse, interval: &WhoInterval<'_>) -> Vec<Self> {
        let device = Self {
            kind: CGROUP,
            elapsed_s: interval.attribution.map(|found| found.elapsed_s),
            device: Some(&usage.name),
            ..Self::default()
        };
        let mut rows = Vec::new();
        for cgroup in &usage.cgroups {
            rows.push(Self::cgroup(&device, cgroup));
        }
        sort_and_cut(&mut rows, interval);
        rows.push(Self {
            cgroup: Some(UNATTRIBUTED),
            kib_per_s: Some(usage.unattributed_bytes_per_s().map(|bytes| bytes / KIB)),
            share_pct: usage.unattributed_pct(),
            ..device
        });
        rows
    }

    /// A busy process, a blocked task, or both. `elapsed_s` is the time over which the bytes were counted.
    fn process(
        process: Option<&'a BusyProcess>,
        task: Option<&'a BlockedTask>,
        elapsed_s: Option<f64>,
    ) -> Self {
        let mut row = Self {
            kind: PROCESS,
            elapsed_s,
            is_of_ended_children: Some(false),
            ..Self::default()
        };
        if let Some(task) = task {
            row.is_kernel = task.is_kernel;
            row.cgroup = task.cgroup.as_deref();
            row.comm = Some(&task.comm);
            row.pid = Some(task.pid);
            row.tid = Some(task.tid);
            row.command = task.command.as_deref();
            row.delay_permille = task.delay_permille;
            row.waited_s = Some(task.waited_ms as f64 / 1000.0);
            row.task_device = task.device.as_deref();
        }
        if let Some(process) = process {
            row.is_of_ended_children = Some(process.is_of_ended_children);
            row.is_kernel |= process.is_kernel;
            row.cgroup = process.cgroup.as_deref().or(row.cgroup);
            row.comm = Some(&process.comm);
            row.command = process.command.as_deref().or(row.command);
            row.pid = Some(process.pid);
            let bytes = [process.read_bytes, process.write_bytes];
            row.kib_per_s = elapsed_s.map(|seconds| bytes.map(|of| of as f64 / KIB / seconds));
        }
        row
    }

    /// Returns the place among processes: who waits for long comes first, and threads of the kernel last.
    fn rank(&self) -> u8 {
        match self.is_kernel {
            true => 2,
            false if self.long_wait() > 0.0 => 0,
            false => 1,
        }
    }

    /// Returns the seconds for which a blocked task has waited; 0 if it may do something else by now.
    fn long_wait(&self) -> f64 {
        let waited_s = self.waited_s.unwrap_or_default();
        if waited_s * 1000.0 >= WATCHED_WAIT_MS as f64 {
            waited_s
        } else {
            0.0
        }
    }

    /// Returns the name of the cgroup for people.
    fn cgroup_name(&self) -> Option<String> {
        match self.cgroup? {
            UNATTRIBUTED => Some(UNATTRIBUTED.to_owned()),
            path => Some(cgroup_name(path)),
        }
    }

    /// Returns the value of a limit; `None` if it is not set.
    fn limit(&self, direction: IoDirection, unit: RateUnit) -> Field<'a> {
        for LimitUse { limit, .. } in self.limits {
            if limit.direction == direction && limit.unit == unit {
                return Number(Some(limit.value));
            }
        }
        Number(None)
    }

    /// Returns the limits that have been reached.
    fn reached(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for used in self.limits {
            if used.is_reached {
                names.push(used.limit.rate_name());
            }
        }
        names
    }
}

/// A field: its name, a sentence part about it for the reference, the kinds of lines that have it in CSV, and its value.
type Column = (
    &'static str,
    &'static str,
    &'static [&'static str],
    for<'a> fn(&'a WhoInterval<'a>, &'a Row<'a>) -> Field<'a>,
);

const BOTH: &[&str] = &[CGROUP, PROCESS];
const OF_CGROUP: &[&str] = &[CGROUP];
const OF_PROCESS: &[&str] = &[PROCESS];

/// All fields, in their order. JSON has all of them in every line, with null for those that have no meaning there.
const COLUMNS: &[Column] = &[
    ("time", "end of the interval in UTC", BOTH, |interval, _| {
        Time(interval.header.end)
    }),
    (
        "elapsed_s",
        "seconds between the scans that the numbers are from",
        BOTH,
        |_, row| Number(row.elapsed_s),
    ),
    ("kind", "cgroup or process", BOTH, |_, row| {
        Text(Some(row.kind))
    }),
    (
        "device",
        "the kernel's name of the disk",
        OF_CGROUP,
        |_, row| Text(row.device),
    ),
    (
        "cgroup",
        "path of the cgroup, or unattributed",
        BOTH,
        |_, row| Text(row.cgroup),
    ),
    ("name", "its familiar name", BOTH, |_, row| {
        Name(row.cgroup_name())
    }),
    ("comm", "name of the process", OF_PROCESS, |_, row| {
        Text(row.comm)
    }),
    ("pid", "its number", OF_PROCESS, |_, row| {
        Whole(row.pid.map(u64::from))
    }),
    (
        "tid",
        "the thread, where it is blocked",
        OF_PROCESS,
        |_, row| Whole(row.tid.map(u64::from)),
    ),
    (
        "is_blocked",
        "whether it is blocked on I/O",
        OF_PROCESS,
        |_, row| Flag((row.kind == PROCESS).then_some(row.tid.is_some())),
    ),
    ("reads_per_s", "reads per second", OF_CGROUP, |_, row| {
        Number(row.ios_per_s.map(|[reads, _]| reads))
    }),
    ("read_kib_per_s", "KiB read per second", BOTH, |_, row| {
        Number(row.kib_per_s.map(|[read, _]| read))
    }),
    ("writes_per_s", "writes per second", OF_CGROUP, |_, row| {
        Number(row.ios_per_s.map(|[_, writes]| writes))
    }),
    (
        "write_kib_per_s",
        "KiB written per second",
        BOTH,
        |_, row| Number(row.kib_per_s.map(|[_, write]| write)),
    ),
    (
        "share_pct",
        "share of the device's bytes",
        OF_CGROUP,
        |_, row| Number(row.share_pct),
    ),
    (
        "read_iops_limit",
        "limit of the cgroup on the device: reads per second",
        OF_CGROUP,
        |_, row| row.limit(IoDirection::Reads, RateUnit::Requests),
    ),
    (
        "write_iops_limit",
        "writes per second",
        OF_CGROUP,
        |_, row| row.limit(IoDirection::Writes, RateUnit::Requests),
    ),
    (
        "read_kib_per_s_limit",
        "KiB read per second",
        OF_CGROUP,
        |_, row| row.limit(IoDirection::Reads, RateUnit::Kib),
    ),
    (
        "write_kib_per_s_limit",
        "KiB written per second",
        OF_CGROUP,
        |_, row| row.limit(IoDirection::Writes, RateUnit::Kib),
    ),
    (
        "at_limit",
        "the limits that have been reached, as a list: read_iops, write_iops, read_kib_per_s, write_kib_per_s",
        OF_CGROUP,
        |_, row| Words(row.reached()),
    ),
    (
        "delay_pct",
        "share of the time that a blocked task waited",
        OF_PROCESS,
        |_, row| Number(row.delay_permille.map(|permille| permille as f64 / 10.0)),
    ),
    (
        "skipped_scans",
        "scans skipped in the interval",
        BOTH,
        |interval, _| Whole(interval.attribution.map(|one| one.skipped)),
    ),
    (
        "is_of_ended_children",
        "whether the bytes are those of children that have ended, since each was last seen",
        OF_PROCESS,
        |_, row| Flag(row.is_of_ended_children),
    ),
    (
        "waited_s",
        "minimum number of seconds that a blocked task has waited without doing anything else",
        OF_PROCESS,
        |_, row| Number(row.waited_s),
    ),
    (
        "task_device",
        "the disk that a blocked task waits for, or for which a kernel thread works, if known",
        OF_PROCESS,
        |_, row| Text(row.task_device),
    ),
    (
        "time_s",
        "the same time in seconds since 1970",
        BOTH,
        |interval, _| Number(interval.header.end.map(epoch_seconds)),
    ),
    (
        "host",
        "name of the host; null in a capture without it",
        BOTH,
        |interval, _| Text(interval.header.host_name.as_deref()),
    ),
    (
        "command",
        "beginning of its command line",
        OF_PROCESS,
        |_, row| Text(row.command),
    ),
];

/// Returns the lines of an interval: for each device its cgroups and the unattributed rest, then the processes, and
/// the blocked tasks that are not among them.
fn rows<'a>(interval: &'a WhoInterval<'_>) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for (usage, _) in &interval.devices {
        rows.extend(Row::of_device(usage, interval));
    }
    rows.extend(processes(interval));
    rows
}

/// Sorts rows and keeps as many as are shown, and those of cgroups at their limits.
fn sort_and_cut(rows: &mut Vec<Row<'_>>, interval: &WhoInterval<'_>) {
    // Those with equal values stay sorted by bytes.
    rows.sort_by(|a, b| sort_value(interval.sort, b).total_cmp(&sort_value(interval.sort, a)));
    let mut rank = 0..interval.top;
    rows.retain(|row| rank.next().is_some() || row.limits.iter().any(|limit| limit.is_reached));
}

/// Returns the tasks that wait for long, the busiest processes and the other blocked tasks, and the threads of the kernel.
fn processes<'a>(interval: &'a WhoInterval<'_>) -> Vec<Row<'a>> {
    let Some(attribution) = interval.attribution else {
        return Vec::new();
    };
    let (elapsed_s, busiest) = match attribution.processes() {
        Some(processes) => (
            Some(processes.elapsed.as_secs_f64()),
            processes.busiest.as_slice(),
        ),
        None => (None, &[][..]),
    };
    let mut rows = Vec::new();
    for process in busiest {
        let mut blocked = attribution.blocked.iter();
        let task = blocked.find(|task| task.tid == process.pid && !process.is_of_ended_children);
        let mut row = Row::process(Some(process), task, elapsed_s);
        if process.is_kernel && row.task_device.is_none() {
            row.task_device = worker_disk(&process.comm, attribution);
        }
        rows.push(row);
    }
    sort_and_cut(&mut rows, interval);
    let busy: HashSet<u32> = rows.iter().filter_map(|row| row.tid).collect();
    for task in &attribution.blocked {
        if !busy.contains(&task.tid) {
            rows.push(Row::process(None, Some(task), elapsed_s));
        }
    }
    rows.sort_by(|a, b| {
        a.rank()
            .cmp(&b.rank())
            .then(b.long_wait().total_cmp(&a.long_wait()))
    });
    rows
}

/// Returns the disk that a thread of the kernel works for, if its name says so.
fn worker_disk<'a>(name: &str, attribution: &'a Attribution) -> Option<&'a str> {
    let usage = match worker_device(name) {
        DeviceRef::Number(number) => {
            let mut devices = attribution.devices.iter();
            devices.find(|usage| usage.number == number)?
        }
        DeviceRef::Name(name) => {
            let [disk, other] = possible_disks(&name);
            let mut names = [Some(&*name), disk, other].into_iter().flatten();
            names.find_map(|name| attribution.device(name))?
        }
    };
    Some(&usage.name)
}

/// Returns the fields with their meanings, for the manual.
pub(super) fn fields() -> impl Iterator<Item = (&'static str, &'static str)> {
    COLUMNS.iter().map(|(name, meaning, ..)| (*name, *meaning))
}

/// Appends the names of the fields of a kind of lines.
pub fn csv_header(kind: &str, out: &mut Vec<u8>) {
    let mut names = Vec::new();
    for (name, _, kinds, _) in COLUMNS {
        if kinds.contains(&kind) {
            names.push(*name);
        }
    }
    out.extend_from_slice((names.join(",") + "\n").as_bytes());
}

/// Appends the lines of an interval: those of one kind as CSV, or all as JSON objects.
pub fn lines(interval: &WhoInterval<'_>, format: LineFormat, csv: Option<&str>, out: &mut Vec<u8>) {
    for row in rows(interval) {
        if csv.is_some() && csv != Some(row.kind) {
            continue;
        }
        let mut fields = Vec::new();
        for (name, _, kinds, value) in COLUMNS {
            if csv.is_none() || kinds.contains(&row.kind) {
                fields.push((name, value(interval, &row)));
            }
        }
        push_line(fields.into_iter(), format, out);
    }
}

/// The least width of the name of a cgroup.
const MIN_NAME_WIDTH: usize = 12;

const CGROUP_COLUMNS: [&str; 7] = [
    "device, cgroup",
    "r/s",
    "w/s",
    "rMiB/s",
    "wMiB/s",
    "share",
    "limit",
];
const PROCESS_COLUMNS: [&str; 7] = [
    "process, all devices",
    "pid",
    "state",
    "rMiB/s",
    "wMiB/s",
    "delay",
    "cgroup",
];

/// Appends the table of an interval. Its lines are at most `width` columns wide, unless the numbers alone are wider:
/// names of cgroups, and then those of processes, are shortened in the middle.
pub fn table(interval: &WhoInterval<'_>, width: usize, time_zone: &TimeZone, out: &mut Vec<u8>) {
    let header = interval.header;
    let time = match header.end {
        Some(end) => time_of_day(end, time_zone),
        None => "--:--:--".to_owned(),
    };
    let title = format!("{time}  {:.3}s\n", header.elapsed_s);
    out.extend_from_slice(title.as_bytes());
    push_tables(interval, width, out);
    for note in interval_notes(interval) {
        push_note(&note, width, [""; 2], out);
    }
    out.push(b'\n');
}

/// Appends the tables of cgroups and processes, without those that are empty.
pub(crate) fn push_tables(interval: &WhoInterval<'_>, width: usize, out: &mut Vec<u8>) {
    let mut cgroups = Vec::new();
    for (usage, partitions) in &interval.devices {
        cgroups.extend(cgroup_cells(usage, partitions, interval));
    }
    let processes = processes(interval).iter().map(process_cells).collect();
    let (mut of_cgroups_s, mut of_processes_s, mut age_s) = (0.0, 0.0, 0.0);
    if let Some(found) = interval.attribution {
        of_cgroups_s = found.elapsed_s;
        age_s = found.reading_age_s;
        if let Some(processes) = found.processes() {
            of_processes_s = processes.elapsed.as_secs_f64();
        }
    }
    let interval_s = interval.header.elapsed_s;
    let of_cgroups = mean_title(CGROUP_COLUMNS[0], of_cgroups_s, interval_s);
    let cgroup_titles = with_first(&of_cgroups, CGROUP_COLUMNS);
    push_table(&cgroup_titles, "lrrrrrl", cgroups, width, out);
    let mut of_processes = mean_title(PROCESS_COLUMNS[0], of_processes_s, interval_s);
    if age_s > interval_s / 2.0 {
        of_processes += &format!(", {age_s:.0} s ago");
    }
    let process_titles = with_first(&of_processes, PROCESS_COLUMNS);
    push_table(&process_titles, "lrlrrrl", processes, width, out);
}

/// Returns the title of a table, which says so if its numbers are means over more than the interval.
fn mean_title(title: &str, elapsed_s: f64, interval_s: f64) -> String {
    match mean_of_s(elapsed_s, interval_s) {
        Some(seconds) => format!("{title}, mean of {seconds:.0} s"),
        None => title.to_owned(),
    }
}

fn with_first<'a>(first: &'a str, columns: [&'a str; 7]) -> [&'a str; 7] {
    let mut titles = columns;
    titles[0] = first;
    titles
}

/// Appends a table; nothing without rows. Names of cgroups in the last column are shortened before those in the first.
fn push_table(
    titles: &[&str],
    aligns: &str,
    rows: Vec<Vec<String>>,
    width: usize,
    out: &mut Vec<u8>,
) {
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
fn cgroup_cells(
    usage: &DeviceUse,
    partitions: &[&str],
    interval: &WhoInterval<'_>,
) -> Vec<Vec<String>> {
    let on_it = match partitions {
        [] => String::new(),
        partitions => format!(" (whole disk of {})", partitions.join(", ")),
    };
    let name = sanitize(&format!("{}{on_it}", usage.name)).into_owned();
    let whole = Row::rates(&Row::default(), &usage.total);
    let mut rows = vec![use_cells(name, &whole)];
    for row in Row::of_device(usage, interval) {
        if row.share_pct.is_some() || row.ios_per_s.is_some() {
            rows.push(use_cells(format!("  {}", cgroup_cell(&row)), &row));
        }
    }
    rows
}

fn use_cells(name: String, row: &Row<'_>) -> Vec<String> {
    let mut cells = vec![name];
    cells.extend(rate_cells(row));
    cells.push(row.share_pct.map(percent).unwrap_or_default());
    cells.push(limits_cell(row.limits));
    cells
}

/// Returns the cells of a process or blocked task.
fn process_cells(row: &Row<'_>) -> Vec<String> {
    let mut name = sanitize(row.command.or(row.comm).unwrap_or_default()).into_owned();
    if row.is_of_ended_children == Some(true) {
        name = format!("ended children of {name}");
    }
    let mut state = Vec::new();
    if row.tid.is_some() {
        state.push("D".to_owned());
    }
    if row.long_wait() > 0.0 {
        state.push(format!("{:.0} s", row.long_wait()));
    }
    state.extend(row.task_device.map(|device| sanitize(device).into_owned()));
    let [_, _, read, written] = rate_cells(row);
    // The share of the time that the task waited for devices.
    let delay = row.delay_permille.map(|of| percent(of as f64 / 10.0));
    vec![
        name,
        id_cell(row),
        state.join(" "),
        read,
        written,
        delay.unwrap_or_default(),
        cgroup_cell(row),
    ]
}

/// Returns requests per second and throughput of reads and of writes.
fn rate_cells(row: &Row<'_>) -> [String; 4] {
    let mut cells = [const { String::new() }; 4];
    if let Some([reads, writes]) = row.ios_per_s {
        cells[0] = number(reads);
        cells[1] = number(writes);
    }
    if let Some([read_kib, written_kib]) = row.kib_per_s {
        cells[2] = number(read_kib / 1024.0);
        cells[3] = number(written_kib / 1024.0);
    }
    cells
}

fn cgroup_cell(row: &Row<'_>) -> String {
    sanitize(&row.cgroup_name().unwrap_or_default()).into_owned()
}

fn id_cell(row: &Row<'_>) -> String {
    match (row.pid, row.tid) {
        (Some(pid), Some(tid)) if pid != tid => format!("{pid}/{tid}"),
        (Some(pid), _) => pid.to_string(),
        (None, _) => String::new(),
    }
}

/// Returns the limits of a cgroup for a table: those that have been reached or, if none has, the nearest one.
fn limits_cell(limits: &[LimitUse]) -> String {
    let mut reached = Vec::new();
    let mut nearest = String::new();
    let mut highest = f64::NEG_INFINITY;
    for LimitUse {
        limit,
        rate,
        is_reached,
        ..
    } in limits
    {
        if *is_reached {
            reached.push(limit_value(limit));
        }
        let fraction = rate / limit.value.max(f64::MIN_POSITIVE);
        if fraction >= highest {
            highest = fraction;
            nearest = limit_value(limit);
        }
    }
    if reached.is_empty() {
        return nearest;
    }
    format!("at limit {}", reached.join(", "))
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

/// The number of processes that root may not read from which that is said.
const MIN_DENIED: u64 = 10;

/// Returns the sentence about processes whose I/O is hidden from this user, or was from the one who made the recording;
/// `None` if there are none.
pub fn hidden_processes_text(
    attribution: &Attribution,
    is_live: bool,
    may_read_all: bool,
) -> Option<String> {
    let hidden = attribution.processes()?.hidden;
    let processes = counted(hidden, "process");
    let reason = match (is_live, may_read_all) {
        (true, false) => {
            "cannot be read: permission denied (needs root, or CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE)"
        }
        // One or two protected services are no news.
        (true, true) if hidden < MIN_DENIED => return None,
        (true, true) => "cannot be read even by root: a security policy denies it",
        (false, _) => "is not in this recording: permission was denied",
    };
    if hidden == 0 {
        return None;
    }
    Some(format!("the I/O of {processes} {reason}"))
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
    if skipped == 0 {
        return None;
    }
    let scans = counted(skipped, "scan");
    Some(format!(
        "{scans} of cgroups and processes skipped to use no more than 5% of a CPU"
    ))
}

/// Returns the sentences about an interval.
fn interval_notes(interval: &WhoInterval<'_>) -> Vec<String> {
    let Some(attribution) = interval.attribution else {
        return vec![format!(
            "cgroups and processes not read for {:.1} s",
            interval.unread_s
        )];
    };
    let mut notes = Vec::new();
    if let Some(text) = skipped_scans_text(attribution.skipped) {
        notes.push(format!(
            "{text}; the numbers are for {:.1} s",
            attribution.elapsed_s
        ));
    }
    notes.extend(hung_read_text(attribution));
    match attribution.processes() {
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
mod limit_text_tests {
    use super::*;
    use crate::attribution::{Limit, LimitSource};
    use crate::counters::CgroupHierarchy;

    #[test]
    fn the_limit_that_matters_is_shown() {
        let limit = |direction, unit, value, rate, is_reached| LimitUse {
            limit: Limit {
                owner: Some("/db".into()),
                device: "sda".into(),
                direction,
                unit,
                value,
                source: LimitSource::Cgroup(CgroupHierarchy::V2),
            },
            rate,
            is_reached,
            is_near: is_reached,
            is_waited_for: false,
        };
        let reads = limit(IoDirection::Reads, RateUnit::Requests, 50.0, 10.0, false);
        let bytes = limit(IoDirection::Writes, RateUnit::Kib, 2048.0, 1e3, false);
        assert_eq!(limits_cell(&[]), "");
        let low = limit(IoDirection::Reads, RateUnit::Kib, 2000.0 / KIB, 0.0, false);
        assert_eq!(limits_cell(&[low]), "1.95 KiB/s of reads");
        assert_eq!(limits_cell(&[reads, bytes.clone()]), "2 MiB/s of writes");
        let reached = limit(IoDirection::Reads, RateUnit::Requests, 50.0, 50.0, true);
        assert_eq!(limits_cell(&[reached, bytes]), "at limit 50 reads/s");
    }
}

#[cfg(test)]
mod title_tests {
    use super::*;

    #[test]
    fn numbers_of_more_than_the_interval_are_means() {
        let title = |elapsed_s| mean_title("process", elapsed_s, 1.0);
        assert_eq!(title(0.0), "process");
        assert_eq!(title(1.1), "process");
        assert_eq!(title(5.002), "process, mean of 5 s");
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
        let mut attribution = Attribution {
            skipped: 2,
            elapsed_s: 3.0,
            ..Attribution::default()
        };
        attribution.hung_read = Some(HungRead { pid: 4711, elapsed });
        let header = IntervalHeader {
            elapsed_s: 1.0,
            ..IntervalHeader::default()
        };
        let mut interval = WhoInterval {
            header: &header,
            attribution: Some(&attribution),
            unread_s: 12.0,
            devices: Vec::new(),
            sort: "MiB/s",
            top: 10,
        };
        let skipped = "2 scans of cgroups and processes skipped to use no more than 5% of a CPU; the numbers are for 3.0 s";
        let hung = "processes not read for 12 s: /proc/4711/io does not answer";
        assert_eq!(interval_notes(&interval), [skipped, hung]);
        let answering = Attribution {
            hung_read: None,
            ..attribution.clone()
        };
        interval.attribution = Some(&answering);
        let next = "processes are known from the next interval on";
        assert_eq!(interval_notes(&interval), [skipped, next]);
        interval.attribution = None;
        assert_eq!(
            interval_notes(&interval),
            ["cgroups and processes not read for 12.0 s"]
        );
    }
}
