//! `blkstat who`: shows which cgroups and processes use the devices.

use std::cmp::Reverse;
use std::collections::HashSet;

use anyhow::Result;
use jiff::tz::TimeZone;

use super::tracing::Tracing;
use super::warnings::Warnings;
use super::{RunContext, emit, end_without_data, lock_memory, missing_data};
use crate::attribution::{Attribution, CgroupUse};
use crate::counters::{BusyProcess, Device, DeviceNumber, ScanProblem, TraceProblem};
use crate::exit::Exit;
use crate::intervals::{
    BaselineStore, Detail, IntervalHeader, Intervals, NextInterval, TracedInterval, TracedThread,
};
use crate::plan::Who;
use crate::report::latency::{dropped_text, trace_problem_text};
use crate::report::who::{
    HiddenFrom, WhoDevice, WhoFormat, WhoInterval, WhoWriter, hidden_processes_text, hung_read_text,
    problem_text,
};
use crate::source::{TraceOptions, Tracer, has_process_io_capabilities};
use crate::terminal::screen_size;
use crate::topology::{nvme_head, partition_parents};

/// The width of a table without a terminal.
const DEFAULT_WIDTH: usize = 80;
/// The default number of cgroups on a device, and of processes, that a table shows.
const DEFAULT_TOP: usize = 10;

pub(super) fn run(plan: &Who, context: &mut RunContext<'_>) -> Result<Exit> {
    let clock = context.clock;
    let baselines = BaselineStore::default();
    let tracing = Tracing::default();
    let mut intervals = Intervals::open(&plan.input, &plan.selection, Detail::Report, &baselines, clock)?;
    intervals.tap(Box::new(|sample, _| tracing.read(sample)));
    let mut warnings = Warnings::about(&intervals.source_name());
    let mut end = Exit::Success;
    let mut output = Output::new(plan, context);
    if intervals.start(&mut |warning| warnings.warn_capture(warning, context.err))? {
        if let Some(not_found) = intervals.not_found().filter(|_| intervals.is_live()) {
            context.print_error(not_found);
            return Ok(Exit::NoData);
        }
        if let Some(max_overhead) = plan.trace {
            output.traced_devices = traced_devices(plan, &intervals);
            tracing.start(start_tracer(plan, max_overhead, &output.traced_devices, context)?);
        }
        output.flush(context)?;
        if intervals.is_live() && plan.input.count.is_none() {
            lock_memory(context);
        }
        end = show(&mut intervals, &tracing, &mut output, &mut warnings, context)?;
    }
    warnings.finish(context.err);
    if end != Exit::Success {
        return Ok(end);
    }
    let lacks_scans = !intervals.is_live() && !output.has_attribution;
    let no_scans = "no cgroups or processes in this capture; 'blkstat record' includes them";
    let reason = missing_data(&intervals)?.or_else(|| lacks_scans.then(|| no_scans.to_owned()));
    Ok(reason.map_or(Exit::Success, |reason| end_without_data(&reason, &intervals, context)))
}

/// Returns the devices and partitions on which threads are traced; an empty list means all.
fn traced_devices(plan: &Who, intervals: &Intervals<'_>) -> Vec<DeviceNumber> {
    if !plan.selection.names_devices() {
        return Vec::new();
    }
    let names: Vec<String> = intervals.selected_devices().map(|(name, _)| name.to_owned()).collect();
    numbers_with_partitions(&names, &intervals.newest().devices)
}

/// Returns the numbers of the named devices and of their partitions: since Linux 5.12, the kernel counts I/O that threads
/// submit to a partition on the partition. The I/O of threads on a path of an NVMe disk is counted on the disk, but the
/// path is included, last, because the cost depends on the requests, which Linux 6.1 counts only on the path.
fn numbers_with_partitions(names: &[String], devices: &[Device]) -> Vec<DeviceNumber> {
    let is_named = |device: &Device| names.contains(&device.name);
    let (mut found, mut paths) = (Vec::new(), Vec::new());
    for (device, parent) in devices.iter().zip(partition_parents(devices)) {
        let number = (device.major, device.minor);
        if is_named(device) || parent.is_some_and(|parent| is_named(&devices[parent])) {
            found.push(number);
        } else if parent.is_none() && nvme_head(&device.name).is_some_and(|head| names.contains(&head)) {
            paths.push(number);
        }
    }
    found.extend(paths);
    found
}

/// Starts tracing the threads that submit I/O to these devices and partitions, or to all if the list is empty.
///
/// # Errors
/// The reason why that is not possible.
fn start_tracer(
    plan: &Who,
    max_overhead: f64,
    devices: &[DeviceNumber],
    context: &RunContext<'_>,
) -> Result<Tracer> {
    let options = TraceOptions {
        latencies: false,
        users: true,
        devices: Vec::new(),
        user_devices: devices.to_vec(),
        max_overhead,
    };
    Ok(Tracer::start(&plan.input.root, options, context.clock)?)
}

/// Shows intervals until the input, the requested number of them, or a signal ends the run.
fn show(
    intervals: &mut Intervals<'_>,
    tracing: &Tracing,
    output: &mut Output<'_>,
    warnings: &mut Warnings,
    context: &mut RunContext<'_>,
) -> Result<Exit> {
    loop {
        let (header, attribution) =
            match intervals.next(&mut |warning| warnings.warn_capture(warning, context.err))? {
                NextInterval::Rows(rows) => (rows.header, rows.attribution),
                NextInterval::Break => {
                    tracing.take(intervals);
                    continue;
                }
                NextInterval::End => return Ok(Exit::Success),
                NextInterval::Signal(signal) => return Ok(Exit::Signal(signal)),
            };
        let traced = tracing.take(intervals);
        // A capture without scans is not missing any.
        if attribution.is_some() || intervals.is_live() || output.has_attribution {
            output.push(&header, attribution.as_ref(), traced.as_ref(), intervals, context);
            output.flush(context)?;
        }
        if output.plan.trace.is_some() {
            output.trace_changed_devices(intervals, tracing);
        }
    }
}

/// Writes the intervals of a run.
struct Output<'a> {
    plan: &'a Who,
    writer: WhoWriter,
    text: Vec<u8>,
    /// The devices and partitions on which threads are traced; all if empty.
    traced_devices: Vec<DeviceNumber>,
    /// True if any interval had cgroups and processes.
    has_attribution: bool,
    /// The seconds since the last scan.
    unread_s: f64,
    /// The problem that was reported last.
    problem: Option<ScanProblem>,
    /// The reason for missing I/O of threads that was reported last.
    trace_problem: Option<TraceProblem>,
    has_reported_dropped: bool,
    has_reported_hidden_processes: bool,
    has_reported_hung_read: bool,
}

impl<'a> Output<'a> {
    fn new(plan: &'a Who, context: &mut RunContext<'_>) -> Self {
        let time_zone = match plan.format {
            WhoFormat::Table(_) => context.time_zone(plan.time_zone.as_deref()),
            WhoFormat::Json | WhoFormat::Csv(_) => TimeZone::UTC,
        };
        let writer = WhoWriter::new(plan.format, DEFAULT_WIDTH, time_zone);
        let mut text = Vec::new();
        writer.begin(&mut text);
        Self {
            plan,
            writer,
            text,
            traced_devices: Vec::new(),
            has_attribution: false,
            unread_s: 0.0,
            problem: None,
            trace_problem: None,
            has_reported_dropped: false,
            has_reported_hidden_processes: false,
            has_reported_hung_read: false,
        }
    }

    fn push(
        &mut self,
        header: &IntervalHeader,
        attribution: Option<&Attribution>,
        traced: Option<&TracedInterval>,
        intervals: &Intervals<'_>,
        context: &mut RunContext<'_>,
    ) {
        if let Some(attribution) = attribution {
            self.has_attribution = true;
            self.unread_s = 0.0;
            self.report_problems(attribution, intervals.is_live(), context);
        } else {
            self.unread_s += header.elapsed_s;
        }
        self.report_trace_notes(traced, context);
        if let Some((columns, _)) = context.is_terminal.then(screen_size).flatten() {
            self.writer.resize(columns);
        }
        let interval = WhoInterval {
            header,
            attribution,
            unread_s: self.unread_s,
            devices: attribution.map(|found| self.devices(found, intervals)).unwrap_or_default(),
            processes: attribution.map(|found| self.processes(found)).unwrap_or_default(),
            threads: traced.and_then(|traced| self.threads(traced, intervals)),
        };
        // Exact I/O by thread and device replaces the I/O of processes on all devices together.
        let interval = if interval.threads.is_some() {
            WhoInterval { processes: Vec::new(), ..interval }
        } else {
            interval
        };
        self.writer.push(&interval, &mut self.text);
    }

    /// Traces other devices if selected ones, or partitions on them, have appeared or have another number.
    fn trace_changed_devices(&mut self, intervals: &Intervals<'_>, tracing: &Tracing) {
        let devices = traced_devices(self.plan, intervals);
        // While all of them are gone, the devices that are traced stay the same: an empty list would mean all.
        if devices != self.traced_devices && !devices.is_empty() {
            tracing.select(&[], &devices);
            self.traced_devices = devices;
        }
    }

    /// Reports missing data: once, until the problem changes.
    fn report_problems(&mut self, attribution: &Attribution, is_live: bool, context: &mut RunContext<'_>) {
        if attribution.problem != std::mem::replace(&mut self.problem, attribution.problem)
            && let Some(problem) = attribution.problem
        {
            context.print_error(problem_text(problem));
        }
        let hung_read = hung_read_text(attribution);
        if hung_read.is_some() != std::mem::replace(&mut self.has_reported_hung_read, hung_read.is_some())
            && let Some(text) = hung_read
        {
            context.print_error(text);
        }
        let hidden_from = match is_live {
            false => HiddenFrom::Recorder,
            true if has_process_io_capabilities() => HiddenFrom::PrivilegedUser,
            true => HiddenFrom::User,
        };
        if !self.has_reported_hidden_processes
            && let Some(text) = hidden_processes_text(attribution, hidden_from)
        {
            self.has_reported_hidden_processes = true;
            context.print_error(text);
        }
    }

    /// Reports why I/O of threads is missing: once, until the reason changes; a full histogram is reported only the
    /// first time.
    fn report_trace_notes(&mut self, traced: Option<&TracedInterval>, context: &mut RunContext<'_>) {
        let problem = traced.and_then(|traced| traced.problem);
        if problem != std::mem::replace(&mut self.trace_problem, problem)
            && let Some(problem) = problem
        {
            context.print_error(trace_problem_text(problem));
        }
        let dropped = traced.map_or(0, |traced| traced.dropped);
        if dropped > 0 && !std::mem::replace(&mut self.has_reported_dropped, true) {
            context.print_error(dropped_text(dropped));
        }
    }

    /// Returns the number of cgroups on a device, and of processes, that are shown. Output for programs has all of
    /// them.
    fn top(&self) -> usize {
        let default = if matches!(self.plan.format, WhoFormat::Table(_)) { DEFAULT_TOP } else { usize::MAX };
        self.plan.top.unwrap_or(default)
    }

    /// Returns the selected devices with their cgroups in order.
    fn devices<'b>(&self, attribution: &'b Attribution, intervals: &'b Intervals<'_>) -> Vec<WhoDevice<'b>> {
        let disks = intervals.selected_disks();
        let is_restricted = self.plan.selection.names_devices();
        let selected = attribution.devices.iter().filter_map(|usage| {
            let partitions = match disks.get(usage.name.as_str()) {
                Some(partitions) if is_restricted => partitions.clone(),
                // A path to an NVMe disk is shown only if it was requested: its I/O is that of the disk.
                _ if is_restricted || nvme_head(&usage.name).is_some() => return None,
                _ => Vec::new(),
            };
            let mut cgroups: Vec<&CgroupUse> = usage.cgroups.iter().collect();
            let value = |cgroup: &CgroupUse| self.plan.sort.of_cgroup(&cgroup.rates);
            // Cgroups with equal values stay sorted by bytes.
            cgroups.sort_by(|a, b| value(b).total_cmp(&value(a)));
            let mut rank = 0..;
            let is_at_limit = |cgroup: &CgroupUse| cgroup.limits.iter().any(|limit| limit.is_reached);
            cgroups.retain(|cgroup| {
                rank.next().is_some_and(|rank: usize| rank < self.top()) || is_at_limit(cgroup)
            });
            Some(WhoDevice { usage, cgroups, partitions })
        });
        selected.collect()
    }

    /// Returns the threads that submitted I/O to selected devices, in order, and the length of that time in seconds;
    /// `None` if they were not traced.
    fn threads<'b>(
        &self,
        traced: &'b TracedInterval,
        intervals: &Intervals<'_>,
    ) -> Option<(Vec<&'b TracedThread>, f64)> {
        let selected: HashSet<&str> = intervals.selected_devices().map(|(name, _)| name).collect();
        let is_restricted = self.plan.selection.names_devices();
        let is_shown = |thread: &&TracedThread| {
            let name = thread.device.as_str();
            // A whole disk that is selected includes its partitions.
            !is_restricted
                || selected.contains(name)
                || intervals.topology().disk_of(name).is_some_and(|disk| selected.contains(disk))
        };
        let mut threads: Vec<&TracedThread> = traced.threads.as_ref()?.iter().filter(is_shown).collect();
        threads.sort_by_key(|thread| Reverse(self.plan.sort.of_thread(thread)));
        threads.truncate(self.top());
        Some((threads, traced.elapsed_s))
    }

    fn processes<'b>(&self, attribution: &'b Attribution) -> Vec<&'b BusyProcess> {
        let busiest = attribution.processes.iter().flat_map(|processes| &processes.busiest);
        let mut sorted: Vec<&BusyProcess> = busiest.collect();
        sorted.sort_by_key(|process| Reverse(self.plan.sort.of_process(process)));
        sorted.truncate(self.top());
        sorted
    }

    /// Writes the text added since the last call.
    ///
    /// # Errors
    /// If standard output cannot be written.
    fn flush(&mut self, context: &mut RunContext<'_>) -> Result<()> {
        if self.text.is_empty() { Ok(()) } else { emit(context.out, &mut self.text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_devices_are_traced_with_their_partitions() {
        let device =
            |major, minor, name: &str| Device { major, minor, name: name.into(), ..Device::default() };
        let devices = [
            device(8, 0, "sda"),
            device(8, 1, "sda1"),
            device(8, 2, "sda2"),
            device(8, 16, "sdb"),
            device(259, 1, "nvme0c0n1"),
            device(259, 2, "nvme0n1"),
            device(259, 3, "nvme0c1n1"),
        ];
        let traced = |words: &str| {
            let names: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            numbers_with_partitions(&names, &devices)
        };
        assert_eq!(traced("sda"), [(8, 0), (8, 1), (8, 2)]);
        assert_eq!(traced("sda1 sdb"), [(8, 1), (8, 16)]);
        assert_eq!(traced("nvme0n1"), [(259, 2), (259, 1), (259, 3)]);
        assert_eq!(traced("sdc"), []);
    }
}
