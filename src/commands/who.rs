//! `blkstat who`: shows which cgroups and processes use the devices.

use anyhow::Result;
use clap::Args;
use jiff::tz::TimeZone;

use super::follow::{Observer, Run, Said, follow};
use super::options::{ANY_FIRST, Host, SourceOptions, WidthOption, one_of};
use crate::attribution::{Attribution, DeviceUse};
use crate::console::RunContext;
use crate::exit::Exit;
use crate::intervals::{
    BaselineStore, Detail, DeviceSelection, IntervalHeader, IntervalRows, Intervals,
};
use crate::report::json_csv::LineFormat;
use crate::report::who::{
    CGROUP, PROCESS, SORT_KEYS, WhoInterval, csv_header, hidden_processes_text, hung_read_text,
    lines, problem_text, table,
};
use crate::source::has_process_io_capabilities;
use crate::topology::nvme_head;

/// The default number of cgroups on a device, and of processes, that a table shows.
const DEFAULT_TOP: usize = 10;

#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "blkstat who [OPTIONS] [DEVICE]... [INTERVAL [COUNT]]",
    after_help = "Processes are shown for all devices together: the kernel does not count their I/O by device."
)]
pub struct Who {
    #[command(flatten)]
    source: SourceOptions,
    /// Print a JSON object per cgroup and device, and per process
    #[arg(short, long, conflicts_with = "csv")]
    json: bool,
    /// Print lines of CSV of one kind
    #[arg(long)]
    csv: bool,
    /// Kind of lines (with --csv)
    #[arg(long, requires = "csv", default_value = CGROUP, value_parser = [CGROUP, PROCESS])]
    kind: String,
    /// Sort by MiB/s (default), rMiB/s, wMiB/s, iops, r/s or w/s
    #[arg(short, long, value_name = "KEY", value_parser = sort_key)]
    sort: Option<&'static str>,
    /// Show at most N cgroups per device and N processes, besides blocked tasks
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
        let baselines = BaselineStore::default();
        // No verdicts are shown, so nothing is to be learned first.
        let intervals = Intervals::open(
            &input,
            &selection,
            Detail::Report,
            &baselines,
            context.clock,
        )?;
        let is_for_programs = self.json || self.csv;
        let mut text = Vec::new();
        if let Some(kind) = self.csv_kind() {
            csv_header(kind, &mut text);
        }
        // Output for programs has all of them.
        let default_top = if is_for_programs {
            usize::MAX
        } else {
            DEFAULT_TOP
        };
        let mut output = Output {
            who: self,
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

/// Writes the intervals of a run.
struct Output<'a> {
    who: &'a Who,
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
        run.context.show(&mut self.text)
    }

    fn observe(&mut self, rows: Option<IntervalRows>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let Run { intervals, context } = run;
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
            self.push(&header, attribution.as_ref(), intervals, context);
            context.show(&mut self.text)?;
        }
        Ok(())
    }

    fn missing(&self, intervals: &Intervals<'_>) -> Option<String> {
        let lacks_scans = !intervals.is_live() && !self.has_attribution;
        let no_scans = "no cgroups or processes in this capture; 'blkstat record' includes them";
        lacks_scans.then(|| no_scans.to_owned())
    }
}

impl Output<'_> {
    fn push(
        &mut self,
        header: &IntervalHeader,
        attribution: Option<&Attribution>,
        intervals: &Intervals<'_>,
        context: &mut RunContext<'_>,
    ) {
        let mut devices = Vec::new();
        if let Some(attribution) = attribution {
            self.has_attribution = true;
            self.unread_s = 0.0;
            let problem = attribution.problem.map(problem_text);
            let hidden = hidden_processes_text(
                attribution,
                intervals.is_live(),
                has_process_io_capabilities(),
            );
            // What root would show comes before what the kernel lacks.
            self.said.say(hidden, context);
            self.said.say(problem, context);
            self.said.say(hung_read_text(attribution), context);
            devices = self.devices(attribution, intervals);
        } else {
            self.unread_s += header.elapsed_s;
        }
        let interval = WhoInterval {
            header,
            attribution,
            unread_s: self.unread_s,
            devices,
            sort: self.who.sort.unwrap_or(SORT_KEYS[0]),
            top: self.top,
        };
        if self.who.json || self.who.csv {
            let format = if self.who.csv {
                LineFormat::Csv
            } else {
                LineFormat::Json
            };
            lines(&interval, format, self.who.csv_kind(), &mut self.text);
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
        let mut selected = Vec::new();
        for usage in &attribution.devices {
            match disks.get(&*usage.name) {
                Some(partitions) if self.is_restricted => {
                    selected.push((usage, partitions.clone()));
                }
                // A path to an NVMe disk is shown only if it was requested: its I/O is that of the disk.
                _ if self.is_restricted || nvme_head(&usage.name).is_some() => {}
                _ => selected.push((usage, Vec::new())),
            }
        }
        selected
    }
}
