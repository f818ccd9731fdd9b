//! The cgroups and processes that use the devices: as JSON Lines and as CSV, whose field names are stable (new ones may be
//! added at the end), and as tables for people.

mod notes;

use std::cmp::Reverse;
use std::collections::HashSet;

use Field::{Flag, Name, Number, Text, Time, Whole, Word, Words};
use jiff::tz::TimeZone;

use self::notes::interval_notes;
pub use self::notes::{hidden_processes_text, hung_read_text, problem_text, skipped_scans_text};
use crate::attribution::waits::{DeviceRef, worker_device};
use crate::attribution::{
    Attribution, CgroupUse, DeviceUse, IoDirection, IoRates, LimitUse, RateUnit, cgroup_name,
};
use crate::counters::{BlockedTask, BusyProcess};
use crate::intervals::IntervalHeader;
use crate::report::evidence::limit_value;
use crate::report::fields::{RecordField, cell, field, push_header, push_record, text_table};
use crate::report::json_csv::epoch_seconds;
use crate::report::json_csv::value::{Field, LineFormat};
use crate::report::layout::{format_time, mean_of_s, push_note, time_of_day};
use crate::topology::possible_disks;

/// The use of the devices in an interval, and how much of it is shown.
pub struct WhoInterval<'a> {
    /// The values that all devices of the interval share.
    pub header: &'a IntervalHeader,
    /// The use by cgroups and processes; the devices to show are in [`Self::devices`]. `None` if no scan was finished
    /// in the interval.
    pub attribution: Option<&'a Attribution>,
    /// The devices that are shown, each with the requested partitions: the kernel counts the I/O of cgroups only on whole
    /// disks.
    pub devices: Vec<(&'a DeviceUse, Vec<&'a str>)>,
    /// One of [`SORT_KEYS`].
    pub sort: &'static str,
    /// The most cgroups on each device, apart from those at their limits, and the most processes.
    pub top: usize,
}

/// The quantities by which cgroups and processes are sorted: those of both directions, or a column.
pub const SORT_KEYS: [&str; 6] = ["MiB/s", "rMiB/s", "wMiB/s", "iops", "r/s", "w/s"];

const KIB: f64 = 1024.0;
/// The name given to the bytes that no cgroup read or wrote. It cannot be a cgroup, because paths of cgroups begin with
/// a slash.
const UNATTRIBUTED: &str = "unattributed";

/// A line: a device, a cgroup of one, the bytes of no cgroup, or a process, a blocked task, or both.
#[derive(Default)]
struct Row<'a> {
    elapsed_s: Option<f64>,
    /// `None` for processes.
    device: Option<&'a str>,
    cgroup: Option<&'a str>,
    /// Reads and writes per second.
    ios_per_s: Option<[f64; 2]>,
    /// KiB per second read and written.
    kib_per_s: Option<[f64; 2]>,
    share_pct: Option<f64>,
    limits: &'a [LimitUse],
    process: Option<&'a BusyProcess>,
    task: Option<&'a BlockedTask>,
    /// The disk that a task waits for, or that a thread of the kernel works for.
    task_device: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn with_rates(mut self, rates: &IoRates) -> Self {
        self.ios_per_s = Some([rates.reads_per_s, rates.writes_per_s]);
        self.kib_per_s =
            Some([rates.read_bytes_per_s, rates.write_bytes_per_s].map(|bytes| bytes / KIB));
        self
    }

    fn cgroup(usage: &'a DeviceUse, cgroup: &'a CgroupUse, elapsed_s: Option<f64>) -> Self {
        let row = Self {
            elapsed_s,
            device: Some(&usage.name),
            cgroup: Some(&cgroup.path),
            share_pct: cgroup.share_pct,
            limits: &cgroup.limits,
            ..Self::default()
        };
        row.with_rates(&cgroup.rates)
    }

    /// `elapsed_s` is the time over which the bytes were counted.
    fn process(process: &'a BusyProcess, elapsed_s: f64) -> Self {
        let bytes = [process.read_bytes, process.write_bytes];
        Self {
            elapsed_s: Some(elapsed_s),
            cgroup: process.cgroup.as_deref(),
            kib_per_s: Some(bytes.map(|of| of as f64 / KIB / elapsed_s)),
            process: Some(process),
            ..Self::default()
        }
    }

    fn with_task(mut self, task: &'a BlockedTask) -> Self {
        self.task = Some(task);
        self.task_device = task.device.as_deref();
        self.cgroup = self.cgroup.or(task.cgroup.as_deref());
        self
    }

    /// Returns the value by which it is sorted: the bytes if its requests are not counted, as those of processes.
    fn sort_value(&self, key: &str) -> f64 {
        let [read, write] = match self.ios_per_s {
            Some(requests) if !key.ends_with("MiB/s") => requests,
            _ => self.kib_per_s.unwrap_or_default(),
        };
        match key {
            "rMiB/s" | "r/s" => read,
            "wMiB/s" | "w/s" => write,
            _ => read + write,
        }
    }

    /// Returns the place among processes: who waits for long comes first, and threads of the kernel last.
    fn rank(&self) -> u8 {
        let is_kernel = self.process.is_some_and(|process| process.is_kernel)
            || self.task.is_some_and(|task| task.is_kernel);
        match self.long_wait_ms() {
            _ if is_kernel => 2,
            0 => 1,
            _ => 0,
        }
    }

    /// Returns the time for which a blocked task has waited; 0 if it may do something else by now.
    fn long_wait_ms(&self) -> u64 {
        match self.task {
            Some(task) if task.goes_on_waiting() => task.waited_ms,
            _ => 0,
        }
    }

    /// Returns the name of the cgroup for people.
    fn cgroup_name(&self) -> Option<String> {
        match self.cgroup? {
            UNATTRIBUTED => Some(UNATTRIBUTED.to_owned()),
            path => Some(cgroup_name(path)),
        }
    }

    fn is_at_limit(&self) -> bool {
        self.limits.iter().any(|limit| limit.is_reached)
    }

    fn is_idle(&self) -> bool {
        let rates = [self.ios_per_s, self.kib_per_s];
        rates
            .into_iter()
            .flatten()
            .flatten()
            .all(|rate| rate == 0.0)
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

    /// Returns the number, name and command line of a process, or of the one that a blocked task belongs to.
    fn names(&self) -> (Option<u32>, Option<&'a str>, Option<&'a str>) {
        match (self.process, self.task) {
            (Some(process), task) => {
                let command = task.and_then(|task| task.command.as_deref());
                let command = process.command.as_deref().or(command);
                (Some(process.pid), Some(&process.comm), command)
            }
            (None, Some(task)) => (Some(task.pid), Some(&task.comm), task.command.as_deref()),
            (None, None) => (None, None, None),
        }
    }

    /// Returns what programs see, in the order of JSON and CSV; null where it has no meaning.
    fn fields(&self, interval: &WhoInterval<'a>) -> Vec<RecordField<'a>> {
        use IoDirection::{Reads, Writes};
        use RateUnit::{Kib, Requests};
        let (header, process, task) = (interval.header, self.process, self.task);
        let is_process = self.device.is_none();
        let kind = if is_process { "process" } else { "cgroup" };
        let (pid, comm, command) = self.names();
        let delay = task.and_then(|task| task.delay_permille);
        let at_limit = self.limits.iter().filter(|used| used.is_reached);
        let is_of_ended_children = process.is_some_and(|process| process.is_of_ended_children);
        vec![
            field("time", Time(header.end)),
            field("elapsed_s", Number(self.elapsed_s)),
            field("kind", Word(Some(kind))),
            field("device", Text(self.device)),
            field("cgroup", Text(self.cgroup)),
            field("name", Name(self.cgroup_name())).titled("cgroup"),
            field("comm", Text(comm)),
            field("pid", Whole(pid.map(u64::from))),
            field("tid", Whole(task.map(|task| task.tid.into()))),
            field("is_blocked", Flag(is_process.then_some(task.is_some()))),
            field(
                "reads_per_s",
                Number(self.ios_per_s.map(|[reads, _]| reads)),
            )
            .titled("r/s"),
            field(
                "read_kib_per_s",
                Number(self.kib_per_s.map(|[read, _]| read)),
            )
            .titled("rMiB/s"),
            field(
                "writes_per_s",
                Number(self.ios_per_s.map(|[_, writes]| writes)),
            )
            .titled("w/s"),
            field(
                "write_kib_per_s",
                Number(self.kib_per_s.map(|[_, write]| write)),
            )
            .titled("wMiB/s"),
            field("share_pct", Number(self.share_pct)).titled("share"),
            field("read_iops_limit", self.limit(Reads, Requests)),
            field("write_iops_limit", self.limit(Writes, Requests)),
            field("read_kib_per_s_limit", self.limit(Reads, Kib)),
            field("write_kib_per_s_limit", self.limit(Writes, Kib)),
            field(
                "at_limit",
                Words(at_limit.map(|used| used.limit.rate_name()).collect()),
            ),
            field(
                "delay_pct",
                Number(delay.map(|permille| permille as f64 / 10.0)),
            )
            .titled("delay"),
            field(
                "skipped_scans",
                Whole(interval.attribution.map(|all| all.skipped)),
            ),
            field(
                "is_of_ended_children",
                Flag(is_process.then_some(is_of_ended_children)),
            ),
            field(
                "waited_s",
                Number(task.map(|task| task.waited_ms as f64 / 1e3)),
            ),
            field("task_device", Text(self.task_device)),
            field("time_s", Number(header.end.map(epoch_seconds))),
            field("host", Text(header.host_name.as_deref())),
            field("command", Text(command)),
        ]
    }

    /// Returns what people see of a device or a cgroup.
    fn cgroup_record(&self, name: String, interval: &WhoInterval<'a>) -> Vec<RecordField<'a>> {
        let mut record = self.fields(interval);
        record.push(cell(CGROUP_COLUMNS[0], name));
        let elapsed_s = interval.attribution.map_or(0.0, |found| found.elapsed_s);
        record.push(cell("limit", limits_text(self.limits, elapsed_s)));
        record
    }

    /// Returns what people see of a process or a blocked task.
    fn process_record(&self, interval: &WhoInterval<'a>) -> Vec<RecordField<'a>> {
        let (pid, comm, command) = self.names();
        let mut name = command.or(comm).unwrap_or_default().to_owned();
        if self
            .process
            .is_some_and(|process| process.is_of_ended_children)
        {
            name = format!("ended children of {name}");
        }
        let mut id = pid.map(|pid| pid.to_string()).unwrap_or_default();
        let mut state = Vec::new();
        if let Some(task) = self.task {
            state.push("D".to_owned());
            if Some(task.tid) != pid {
                id += &format!("/{}", task.tid);
            }
        }
        if self.long_wait_ms() > 0 {
            state.push(format!("{:.0} s", self.long_wait_ms() as f64 / 1e3));
        }
        state.extend(self.task_device.map(str::to_owned));
        let mut record = self.fields(interval);
        record.push(cell(PROCESS_COLUMNS[0], name));
        record.push(cell("pid", id));
        record.push(cell("state", state.join(" ")));
        record
    }
}

/// Returns the cgroups of a device, those with most first, and the rest that belongs to none.
fn cgroups<'a>(usage: &'a DeviceUse, interval: &WhoInterval<'_>) -> Vec<Row<'a>> {
    let elapsed_s = interval.attribution.map(|found| found.elapsed_s);
    let mut rows = Vec::new();
    for cgroup in &usage.cgroups {
        rows.push(Row::cgroup(usage, cgroup, elapsed_s));
    }
    sort_and_cut(&mut rows, interval);
    rows.push(Row {
        elapsed_s,
        device: Some(&usage.name),
        cgroup: Some(UNATTRIBUTED),
        kib_per_s: Some(usage.unattributed_bytes_per_s().map(|bytes| bytes / KIB)),
        share_pct: usage.unattributed_pct(),
        ..Row::default()
    });
    rows
}

/// Sorts rows and keeps as many as are shown, and those of cgroups at their limits.
fn sort_and_cut(rows: &mut Vec<Row<'_>>, interval: &WhoInterval<'_>) {
    let key = interval.sort;
    // Those with equal values stay sorted by bytes.
    rows.sort_by(|a, b| b.sort_value(key).total_cmp(&a.sort_value(key)));
    let mut rank = 0..interval.top;
    rows.retain(|row| rank.next().is_some() || row.is_at_limit());
}

/// Returns the tasks that wait for long, the busiest processes and the other blocked tasks, and the threads of the kernel.
fn processes<'a>(interval: &WhoInterval<'a>) -> Vec<Row<'a>> {
    let Some(attribution) = interval.attribution else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    let mut elapsed_s = None;
    if let Some(processes) = attribution.processes() {
        let seconds = processes.elapsed.as_secs_f64();
        elapsed_s = Some(seconds);
        for process in &processes.busiest {
            let mut row = Row::process(process, seconds);
            let mut blocked = attribution.blocked.iter();
            let task = blocked.find(|task| task.tid == process.pid);
            if let Some(task) = task
                && !process.is_of_ended_children
            {
                row = row.with_task(task);
            }
            if process.is_kernel && row.task_device.is_none() {
                row.task_device = worker_disk(&process.comm, attribution);
            }
            rows.push(row);
        }
    }
    sort_and_cut(&mut rows, interval);
    let busy: HashSet<u32> = rows.iter().filter_map(|row| Some(row.task?.tid)).collect();
    for task in &attribution.blocked {
        if !busy.contains(&task.tid) {
            let row = Row {
                elapsed_s,
                ..Row::default()
            };
            rows.push(row.with_task(task));
        }
    }
    rows.sort_by_key(|row| (row.rank(), Reverse(row.long_wait_ms())));
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

/// Appends the names of the fields.
pub fn csv_header(out: &mut Vec<u8>) {
    let interval = WhoInterval {
        header: &IntervalHeader::default(),
        attribution: None,
        devices: Vec::new(),
        sort: SORT_KEYS[0],
        top: 0,
    };
    push_header(&Row::default().fields(&interval), out);
}

/// Appends the lines of an interval: for each device its cgroups and the unattributed rest, then the processes, and the
/// blocked tasks that are not among them.
pub fn lines(interval: &WhoInterval<'_>, format: LineFormat, out: &mut Vec<u8>) {
    let mut rows = Vec::new();
    for (usage, _) in &interval.devices {
        rows.extend(cgroups(usage, interval));
    }
    rows.extend(processes(interval));
    for row in rows {
        push_record(row.fields(interval), format, out);
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

/// An interval from this length on is said with its beginning.
const LONG_S: f64 = 60.0;

/// Appends the tables of an interval. Lines are at most `width` columns wide, unless the numbers alone are wider:
/// names of cgroups, and then those of processes, are shortened in the middle.
pub fn table(interval: &WhoInterval<'_>, width: usize, time_zone: &TimeZone, out: &mut Vec<u8>) {
    let header = interval.header;
    let time = match (header.start, header.end) {
        (Some(start), Some(end)) if header.elapsed_s >= LONG_S => {
            let [start, end] = [start, end].map(|at| format_time(at, time_zone, "%F %T"));
            format!("{start} to {end}")
        }
        (_, Some(end)) => time_of_day(end, time_zone),
        (_, None) => "--:--:--".to_owned(),
    };
    let title = format!("{time}  {:.3}s\n", header.elapsed_s);
    out.extend_from_slice(title.as_bytes());
    push_tables(interval, width, out);
    for note in interval_notes(interval) {
        push_note(&note, width, [""; 2], out);
    }
    out.push(b'\n');
}

/// Appends the tables of cgroups and processes, without those that are empty. Cgroups that did nothing are left out unless
/// they are at a limit.
pub(crate) fn push_tables(interval: &WhoInterval<'_>, width: usize, out: &mut Vec<u8>) {
    let Some(found) = interval.attribution else {
        return;
    };
    let interval_s = interval.header.elapsed_s;
    let mut records = Vec::new();
    for (usage, partitions) in &interval.devices {
        let mut name = usage.name.to_string();
        if !partitions.is_empty() {
            name += &format!(" (whole disk of {})", partitions.join(", "));
        }
        let whole = Row::default().with_rates(&usage.total);
        records.push(whole.cgroup_record(name, interval));
        for row in cgroups(usage, interval) {
            let name = format!("  {}", row.cgroup_name().unwrap_or_default());
            if row.is_at_limit() || !row.is_idle() {
                records.push(row.cgroup_record(name, interval));
            }
        }
    }
    let title = mean_title(CGROUP_COLUMNS[0], found.elapsed_s, interval_s);
    push_table(title, &CGROUP_COLUMNS, "lrrrrrl", &records, width, out);

    let mut records = Vec::new();
    for row in processes(interval) {
        records.push(row.process_record(interval));
    }
    let processes_s = found
        .processes()
        .map_or(0.0, |processes| processes.elapsed.as_secs_f64());
    let mut title = mean_title(PROCESS_COLUMNS[0], processes_s, interval_s);
    if found.reading_age_s > interval_s / 2.0 {
        title += &format!(", {:.0} s ago", found.reading_age_s);
    }
    push_table(title, &PROCESS_COLUMNS, "lrlrrrl", &records, width, out);
}

/// Returns the title of a table, which says so if its numbers are means over more than the interval.
fn mean_title(title: &str, elapsed_s: f64, interval_s: f64) -> String {
    match mean_of_s(elapsed_s, interval_s) {
        Some(seconds) => format!("{title}, mean of {seconds:.0} s"),
        None => title.to_owned(),
    }
}

/// Appends a table; nothing without records. Names of cgroups in the last column are shortened before those in the first.
fn push_table(
    title: String,
    columns: &[&str],
    aligns: &str,
    records: &[Vec<RecordField<'_>>],
    width: usize,
    out: &mut Vec<u8>,
) {
    if records.is_empty() {
        return;
    }
    let mut table = text_table(columns, aligns, records);
    table.rows[0][0] = title;
    if columns.ends_with(&["cgroup"]) {
        table.shorten(columns.len() - 1, MIN_NAME_WIDTH, width);
    }
    table.shorten(0, MIN_NAME_WIDTH, width);
    table.push(out);
}

/// Returns the limits of a cgroup for a table: those that have been reached, with the time unless it was all of it, or, if
/// none has, the nearest one.
fn limits_text(limits: &[LimitUse], elapsed_s: f64) -> String {
    let mut reached = Vec::new();
    let (mut nearest, mut highest) = (String::new(), f64::NEG_INFINITY);
    for used in limits {
        let mut text = limit_value(&used.limit);
        let fraction = used.rate / used.limit.value.max(f64::MIN_POSITIVE);
        // A rate above a limit is that of a time without it.
        if fraction >= highest && fraction <= 1.1 {
            highest = fraction;
            nearest.clone_from(&text);
        }
        if used.is_reached {
            if used.reached_s < 0.99 * elapsed_s {
                text += &format!(" for {:.0} s", used.reached_s);
            }
            reached.push(text);
        }
    }
    if reached.is_empty() {
        return nearest;
    }
    format!("at limit {}", reached.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{Limit, LimitSource};
    use crate::counters::CgroupHierarchy;

    #[test]
    fn the_limit_that_matters_is_shown() {
        let limit = |direction, unit, value, rate, reached_s| LimitUse {
            limit: Limit {
                owner: Some("/db".into()),
                device: "sda".into(),
                direction,
                unit,
                value,
                source: LimitSource::Cgroup(CgroupHierarchy::V2),
            },
            rate,
            reached_s,
            is_reached: reached_s > 0.0,
            is_near: false,
            is_waited_for: false,
        };
        let reads = limit(IoDirection::Reads, RateUnit::Requests, 50.0, 10.0, 0.0);
        let bytes = limit(IoDirection::Writes, RateUnit::Kib, 2048.0, 1e3, 0.0);
        assert_eq!(limits_text(&[], 1.0), "");
        let low = limit(IoDirection::Reads, RateUnit::Kib, 2000.0 / KIB, 0.0, 0.0);
        assert_eq!(limits_text(&[low], 1.0), "1.95 KiB/s of reads");
        assert_eq!(
            limits_text(&[reads, bytes.clone()], 1.0),
            "2 MiB/s of writes"
        );
        let reached = limit(IoDirection::Reads, RateUnit::Requests, 50.0, 50.0, 20.0);
        let both = [reached, bytes];
        assert_eq!(limits_text(&both, 20.0), "at limit 50 reads/s");
        assert_eq!(limits_text(&both, 60.0), "at limit 50 reads/s for 20 s");
        let new = limit(IoDirection::Reads, RateUnit::Requests, 1.0, 17.0, 0.0);
        assert_eq!(limits_text(&[new], 60.0), "");
    }

    #[test]
    fn numbers_of_more_than_the_interval_are_means() {
        let title = |elapsed_s| mean_title("process", elapsed_s, 1.0);
        assert_eq!(title(0.0), "process");
        assert_eq!(title(1.1), "process");
        assert_eq!(title(5.002), "process, mean of 5 s");
    }
}
