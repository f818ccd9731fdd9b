//! `blkstat who`: shows which cgroups and processes use the devices.

use std::collections::HashSet;

use anyhow::Result;
use clap::Args;
use jiff::tz::TimeZone;

use super::follow::{Observer, Run, Said, Tracing, follow};
use super::options::{
    ANY_FIRST, Host, SourceOptions, WidthOption, one_of, percentage, usage_error,
};
use crate::attribution::{Attribution, DeviceUse};
use crate::console::RunContext;
use crate::counters::{Device, DeviceNumber};
use crate::exit::Exit;
use crate::intervals::{
    BaselineStore, Detail, DeviceSelection, IntervalHeader, IntervalRows, Intervals,
    TracedInterval, TracedThread,
};
use crate::report::latency::{dropped_text, trace_problem_text};
use crate::report::who::{
    CGROUP, PROCESS, SORT_KEYS, WhoInterval, csv_header, hidden_processes_text, hung_read_text,
    lines, problem_text, table,
};
use crate::source::has_process_io_capabilities;
use crate::topology::{nvme_head, partition_parents};

/// The default number of cgroups on a device, and of processes, that a table shows.
const DEFAULT_TOP: usize = 10;

#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "blkstat who [OPTIONS] [DEVICE]... [INTERVAL [COUNT]]",
    after_help = "Without --trace, processes are shown for all devices together: the kernel does not count their I/O by device."
)]
pub struct Who {
    #[command(flatten)]
    source: SourceOptions,
    /// Show the exact I/O of processes by device, also of short-lived ones, through histograms in the kernel (root)
    #[arg(long, conflicts_with = "from")]
    pub(super) trace: bool,
    /// Pause tracing while it would use more than this percentage of the CPUs (with --trace)
    #[arg(long, value_name = "PCT", default_value = "2", requires = "trace", value_parser = percentage)]
    max_overhead: f64,
    /// Print a JSON object per cgroup and device, and per process
    #[arg(short, long, conflicts_with = "csv")]
    json: bool,
    /// Print lines of CSV of the kind that --kind selects
    #[arg(long)]
    csv: bool,
    /// Kind of lines (with --csv)
    #[arg(long, requires = "csv", default_value = CGROUP, value_parser = [CGROUP, PROCESS])]
    kind: String,
    /// Sort by KEY, descending: MB/s (default), rMB/s, wMB/s, iops, r/s, w/s
    #[arg(short, long, value_name = "KEY", value_parser = sort_key, hide_default_value = true)]
    sort: Option<&'static str>,
    /// Show at most N cgroups per device and N processes, and every blocked task
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    #[command(flatten)]
    width: WidthOption,
}

fn sort_key(word: &str) -> Result<&'static str, String> {
    one_of(&SORT_KEYS, word)
}

impl Who {
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        let (input, devices) = self.source.source(ANY_FIRST, host, context)?;
        let selection = DeviceSelection {
            devices,
            ..DeviceSelection::default()
        };
        if self.trace && input.from.is_some() {
            return Err(usage_error(
                "--trace needs the running system; omit the capture",
            ));
        }
        let baselines = BaselineStore::default();
        let tracing = Tracing::default();
        let mut intervals = Intervals::open(
            &input,
            &selection,
            Detail::Report,
            &baselines,
            context.clock,
        )?;
        intervals.tap(Box::new(|sample, _| tracing.read(sample)));
        let is_for_programs = self.json || self.csv;
        let mut text = Vec::new();
        self.csv_kind()
            .into_iter()
            .for_each(|kind| csv_header(kind, &mut text));
        // Output for programs has all of them.
        let default_top = if is_for_programs {
            usize::MAX
        } else {
            DEFAULT_TOP
        };
        let mut output = Output {
            who: self,
            host,
            tracing: &tracing,
            is_restricted: selection.names_devices(),
            top: self.top.map_or(default_top, |top| top as usize),
            time_zone: if is_for_programs {
                TimeZone::UTC
            } else {
                context.time_zone()
            },
            text,
            has_attribution: false,
            unread_s: 0.0,
            said: Said::default(),
        };
        follow(intervals, &mut output, context)
    }

    /// The kind of the lines of CSV; `None` for another format.
    fn csv_kind(&self) -> Option<&str> {
        self.csv.then_some(&self.kind)
    }
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
        } else if parent.is_none()
            && nvme_head(&device.name).is_some_and(|head| names.contains(&head))
        {
            paths.push(number);
        }
    }
    found.extend(paths);
    found
}

/// Writes the intervals of a run.
struct Output<'a> {
    who: &'a Who,
    host: &'a Host,
    tracing: &'a Tracing,
    /// True if devices were named.
    is_restricted: bool,
    /// The most cgroups on each device, and the most processes.
    top: usize,
    time_zone: TimeZone,
    text: Vec<u8>,
    /// True if any interval had cgroups and processes.
    has_attribution: bool,
    /// The seconds since the last scan.
    unread_s: f64,
    said: Said,
}

impl Observer for Output<'_> {
    fn begin(&mut self, run: &mut Run<'_, '_, '_>) -> Result<()> {
        if self.who.trace {
            let (devices, clock) = (self.devices_to_trace(&run.intervals), run.context.clock);
            self.tracing
                .start(&self.host.root, devices, true, self.who.max_overhead, clock)?;
        }
        run.context.show(&mut self.text)
    }

    fn observe(&mut self, rows: Option<IntervalRows>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let Run { intervals, context } = run;
        let traced = self.tracing.take(intervals);
        let Some(IntervalRows {
            header,
            attribution,
            ..
        }) = rows
        else {
            return Ok(());
        };
        // A capture without scans is not missing any.
        if attribution.is_some() || intervals.is_live() || self.has_attribution {
            self.push(
                &header,
                attribution.as_ref(),
                traced.as_ref(),
                intervals,
                context,
            );
            context.show(&mut self.text)?;
        }
        // Selected devices, or partitions on them, may have appeared or have another number.
        self.tracing.select(self.devices_to_trace(intervals));
        Ok(())
    }

    fn missing(&self, intervals: &Intervals<'_>) -> Option<String> {
        let lacks_scans = !intervals.is_live() && !self.has_attribution;
        let no_scans = "no cgroups or processes in this capture; 'blkstat record' includes them";
        lacks_scans.then(|| no_scans.to_owned())
    }
}

impl Output<'_> {
    /// Returns the devices and partitions on which threads are traced; an empty list means all.
    fn devices_to_trace(&self, intervals: &Intervals<'_>) -> Vec<DeviceNumber> {
        if !self.is_restricted {
            return Vec::new();
        }
        let names: Vec<String> = intervals
            .selected_devices()
            .map(|(name, _)| name.to_owned())
            .collect();
        numbers_with_partitions(&names, &intervals.newest().devices)
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
            let (is_live, may_read_all) = (intervals.is_live(), has_process_io_capabilities());
            self.said
                .say(attribution.problem.map(problem_text), context);
            self.said.say(hung_read_text(attribution), context);
            self.said.say(
                hidden_processes_text(attribution, is_live, may_read_all),
                context,
            );
        } else {
            self.unread_s += header.elapsed_s;
        }
        if let Some(traced) = traced {
            self.said
                .say(traced.problem.map(trace_problem_text), context);
            self.said.say(
                (traced.dropped > 0).then(|| dropped_text(traced.dropped)),
                context,
            );
        }
        let interval = WhoInterval {
            header,
            attribution,
            unread_s: self.unread_s,
            devices: attribution
                .map(|found| self.devices(found, intervals))
                .unwrap_or_default(),
            threads: traced.and_then(|traced| self.threads(traced, intervals)),
            sort: self.who.sort.unwrap_or(SORT_KEYS[0]),
            top: self.top,
        };
        if self.who.json || self.who.csv {
            lines(&interval, self.who.csv_kind(), &mut self.text);
        } else {
            table(
                &interval,
                self.who.width.or_available(context),
                &self.time_zone,
                &mut self.text,
            );
        }
    }

    /// Returns the selected devices with the partitions that were named.
    fn devices<'b>(
        &self,
        attribution: &'b Attribution,
        intervals: &'b Intervals<'_>,
    ) -> Vec<(&'b DeviceUse, Vec<&'b str>)> {
        let disks = intervals.selected_disks();
        let selected =
            attribution
                .devices
                .iter()
                .filter_map(|usage| match disks.get(usage.name.as_str()) {
                    Some(partitions) if self.is_restricted => Some((usage, partitions.clone())),
                    // A path to an NVMe disk is shown only if it was requested: its I/O is that of the disk.
                    _ if self.is_restricted || nvme_head(&usage.name).is_some() => None,
                    _ => Some((usage, Vec::new())),
                });
        selected.collect()
    }

    /// Returns the threads that submitted I/O to selected devices, and the length of that time in seconds; `None` if they
    /// were not traced.
    fn threads<'b>(
        &self,
        traced: &'b TracedInterval,
        intervals: &Intervals<'_>,
    ) -> Option<(Vec<&'b TracedThread>, f64)> {
        let selected: HashSet<&str> = intervals.selected_devices().map(|(name, _)| name).collect();
        let is_shown = |thread: &&TracedThread| {
            let name = thread.device.as_str();
            // A whole disk that is selected includes its partitions.
            !self.is_restricted
                || selected.contains(name)
                || intervals
                    .topology()
                    .disk_of(name)
                    .is_some_and(|disk| selected.contains(disk))
        };
        Some((
            traced.threads.as_ref()?.iter().filter(is_shown).collect(),
            traced.elapsed_s,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_devices_are_traced_with_their_partitions() {
        let device = |major, minor, name: &str| Device {
            major,
            minor,
            name: name.into(),
            ..Device::default()
        };
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
