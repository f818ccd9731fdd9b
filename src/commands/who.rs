//! `blkstat who`: shows which cgroups and processes use the devices.

use anyhow::Result;
use clap::Args;

use super::follow::{Observer, Run, Said, follow};
use super::options::{ANY_FIRST, Host, SourceOptions, WidthOption, one_of};
use crate::attribution::{Attribution, DeviceUse, TotalUse};
use crate::console::RunContext;
use crate::exit::Exit;
use crate::intervals::{
    BaselineStore, Detail, DeviceSelection, IntervalHeader, IntervalRows, Intervals,
};
use crate::report::json_csv::LineFormat;
use crate::report::who::{
    SORT_KEYS, WhoInterval, csv_header, hidden_processes_text, hung_read_text, lines, problem_text,
    table,
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
    /// Print a line of CSV per cgroup and device, and per process
    #[arg(long)]
    csv: bool,
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
        let format = match (self.json, self.csv) {
            (true, _) => Some(LineFormat::Json),
            (_, true) => Some(LineFormat::Csv),
            _ => None,
        };
        let mut text = Vec::new();
        if self.csv {
            csv_header(&mut text);
        }
        // Output for programs has all of them.
        let default_top = match format {
            Some(_) => usize::MAX,
            None => DEFAULT_TOP,
        };
        let is_total = format.is_none() && input.from.is_some() && input.interval.is_none();
        let mut output = Output {
            who: self,
            format,
            is_restricted: selection.names_devices(),
            top: self.top.map_or(default_top, |top| top as usize),
            text,
            has_attribution: false,
            total: is_total.then(Total::default),
            said: Said::default(),
        };
        follow(intervals, &mut output, context)
    }
}

/// Writes the intervals of a run.
struct Output<'a> {
    who: &'a Who,
    /// `None` for tables.
    format: Option<LineFormat>,
    /// True if devices were named.
    is_restricted: bool,
    /// The most cgroups on each device, and the most processes.
    top: usize,
    text: Vec<u8>,
    /// True if any interval had cgroups and processes.
    has_attribution: bool,
    /// All intervals, of which only their sum is shown; `None` if each is shown.
    total: Option<Total>,
    said: Said,
}

#[derive(Default)]
struct Total {
    /// From the beginning of the first interval to the end of the last one.
    header: IntervalHeader,
    usage: TotalUse,
}

impl Total {
    fn add(&mut self, header: &IntervalHeader, attribution: Option<&Attribution>) {
        self.header = IntervalHeader {
            start: self.header.start.or(header.start),
            elapsed_s: self.header.elapsed_s + header.elapsed_s,
            ..header.clone()
        };
        if let Some(attribution) = attribution {
            self.usage.add(attribution);
        }
    }
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
        self.has_attribution |= attribution.is_some();
        // A capture without scans is not missing any.
        if !self.has_attribution && !intervals.is_live() {
            return Ok(());
        }
        if let Some(found) = &attribution {
            let may_read_all = has_process_io_capabilities();
            // What root would show comes before what the kernel lacks.
            self.said.say(
                hidden_processes_text(found, intervals.is_live(), may_read_all),
                context,
            );
            self.said.say(found.problem.map(problem_text), context);
            self.said.say(hung_read_text(found), context);
        }
        if let Some(total) = &mut self.total {
            total.add(&header, attribution.as_ref());
            return Ok(());
        }
        self.push(&header, attribution.as_ref(), intervals, context);
        context.show(&mut self.text)
    }

    fn end(&mut self, outcome: &Result<Exit>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let Some(total) = self.total.take() else {
            return Ok(());
        };
        // A signal cancels the reading of a file.
        if matches!(outcome, Ok(Exit::Signal(_))) {
            return Ok(());
        }
        let Some(mut usage) = total.usage.finish() else {
            return Ok(());
        };
        usage.blocked.truncate(self.top);
        let Run { intervals, context } = run;
        self.push(&total.header, Some(&usage), intervals, context);
        context.show(&mut self.text)
    }

    fn missing(&self, intervals: &Intervals<'_>) -> Option<String> {
        let lacks_scans = !intervals.is_live() && !self.has_attribution;
        let no_scans = "no cgroups or processes in this capture; 'blkstat record' includes them";
        lacks_scans.then(|| no_scans.to_owned())
    }
}

impl Output<'_> {
    /// Appends an interval, or the total of all.
    fn push(
        &mut self,
        header: &IntervalHeader,
        attribution: Option<&Attribution>,
        intervals: &Intervals<'_>,
        context: &mut RunContext<'_>,
    ) {
        let devices = match attribution {
            Some(attribution) => self.devices(attribution, intervals),
            None => Vec::new(),
        };
        let interval = WhoInterval {
            header,
            attribution,
            devices,
            sort: self.who.sort.unwrap_or(SORT_KEYS[0]),
            top: self.top,
        };
        if let Some(format) = self.format {
            lines(&interval, format, &mut self.text);
            return;
        }
        let width = self.who.width.or_available(context);
        table(&interval, width, &context.time_zone(), &mut self.text);
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
