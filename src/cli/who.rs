//! The arguments of `blkstat who`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::latency::percentage;
use super::range::RangeArguments;
use super::shared_arguments::{StrictArguments, ViewOperands};
use crate::intervals::{DeviceSelection, Input};
use crate::plan::Who;
use crate::report::who::{WhoFormat, WhoKind, WhoSort};

#[derive(Args)]
#[command(
    override_usage = "blkstat who [OPTIONS] [DEVICE]... [INTERVAL [COUNT]]",
    after_help = "Without --trace, processes are shown for all devices together: the kernel does not count their I/O by device."
)]
pub(super) struct WhoArguments {
    #[command(flatten)]
    operands: ViewOperands,
    /// Replay a recording that includes cgroups and processes; - is standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    range: RangeArguments,
    /// Show the exact I/O of processes by device, also of short-lived ones, through histograms in the kernel (root)
    #[arg(long, conflicts_with = "from")]
    trace: bool,
    /// Pause tracing while it would use more than this percentage of the CPUs (with --trace)
    #[arg(long, value_name = "PCT", default_value = "2", requires = "trace", value_parser = percentage)]
    max_overhead: f64,
    /// Print a JSON object per cgroup and device, and per process
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print lines of CSV of the kind that --kind selects
    #[arg(long)]
    csv: bool,
    /// Kind of lines (with --csv)
    #[arg(long, value_enum, requires = "csv", default_value = "cgroup")]
    kind: Kind,
    /// Sort by KEY, descending: MB/s (default), rMB/s, wMB/s, iops, r/s, w/s
    #[arg(long, value_name = "KEY", value_parser = sort_key, hide_default_value = true)]
    sort: Option<WhoSort>,
    /// Show at most N cgroups per device and N processes, and every blocked task
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Output width (default: terminal width, or 80)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(70..))]
    width: Option<u16>,
    #[command(flatten)]
    strict: StrictArguments,
}

/// The values of `--kind`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Cgroup,
    Process,
}

fn sort_key(word: &str) -> Result<WhoSort, String> {
    let found = WhoSort::KEYS.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(word));
    let keys = || WhoSort::KEYS.map(|(key, _)| key).join(", ");
    found.map(|(_, sort)| sort).ok_or_else(|| format!("expected one of: {}", keys()))
}

impl WhoArguments {
    /// Returns the view that the arguments request.
    ///
    /// # Errors
    /// A message about an invalid operand.
    pub(super) fn plan(
        self,
        root: PathBuf,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Who, String> {
        let (devices, schedule) = self.operands.parse()?;
        let kind = match self.kind {
            Kind::Cgroup => WhoKind::Cgroup,
            Kind::Process => WhoKind::Process,
        };
        Ok(Who {
            input: Input {
                scans_io: self.from.is_none(),
                range: self.range.range(self.from.is_some(), environment)?,
                from: self.from,
                root,
                interval: schedule.interval,
                count: schedule.count,
                strict: self.strict.strict,
                ..Input::default()
            },
            trace: self.trace.then_some(self.max_overhead / 100.0),
            selection: DeviceSelection { devices, ..DeviceSelection::default() },
            format: match (self.json, self.csv) {
                (true, _) => WhoFormat::Json,
                (_, true) => WhoFormat::Csv(kind),
                _ => WhoFormat::Table(self.width.map(usize::from)),
            },
            sort: self.sort.unwrap_or_default(),
            top: self.top.map(|top| top as usize),
            time_zone: environment("TZ"),
        })
    }
}
