//! The arguments of the incident view, and the options that it shares with `analyze`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::baselines::{BaselineArguments, saved_files};
use super::operands::two_numbers;
use super::range::RangeArguments;
use super::shared_arguments::{SelectionArguments, StrictArguments, ViewOperands};
use super::suggest::similar_command;
use crate::analysis::StatedCap;
use crate::intervals::{DeviceSelection, Input, VerdictOptions};
use crate::plan::{SummaryMode, View};
use crate::report::Format;
use crate::report::native::{SortKey, TableOptions, sort_keys};
use crate::schedule::DEFAULT_INTERVAL;

/// The arguments of the incident view.
#[derive(Args)]
pub(super) struct ViewArguments {
    #[command(flatten)]
    operands: ViewOperands,
    /// Replay a capture, plain or compressed; - is standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Replay at the recorded speed (with --from)
    #[arg(long, requires = "from")]
    realtime: bool,
    #[command(flatten)]
    range: RangeArguments,
    /// Print a JSON object per device and interval
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print a line of CSV per device and interval
    #[arg(long)]
    csv: bool,
    /// Start with averages since boot
    #[arg(long, conflicts_with = "begin")]
    since_boot: bool,
    #[command(flatten)]
    selection: SelectionArguments,
    /// Sort by KEY, descending: a column title, or iops, await, MB/s
    #[arg(long, value_name = "KEY", value_parser = sort_key)]
    sort: Option<SortKey>,
    /// Show at most N devices (busiest first by default)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Add a total over physical disks, or the selected devices, without double counting
    #[arg(long)]
    total: bool,
    /// Show mount points, and the files behind loop devices
    #[arg(long)]
    mounts: bool,
    /// Show all columns, including discards and flushes, regardless of the width
    #[arg(long)]
    all_columns: bool,
    /// Output width (default: terminal width; unlimited without a terminal)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..))]
    width: Option<u16>,
    /// Always print a summary (default: only after Ctrl-C)
    #[arg(long, overrides_with = "no_summary")]
    summary: bool,
    /// Never print a summary
    #[arg(long)]
    no_summary: bool,
    #[command(flatten)]
    strict: StrictArguments,
    /// Show the evidence for each verdict
    #[arg(long)]
    explain: bool,
    /// Find the cgroups and processes behind the load of each device, and limits that cgroups have reached
    #[arg(long)]
    who: bool,
    #[command(flatten)]
    verdicts: VerdictArguments,
}

#[derive(Args)]
pub(super) struct VerdictArguments {
    /// Latency, as a multiple of unloaded latency, at which a device counts as saturated
    #[arg(long, value_name = "MULTIPLE", default_value_t = 3.0, value_parser = multiple)]
    saturation_threshold: f64,
    /// Known cap on reads and writes combined, such as that of a cloud volume
    #[arg(long, value_name = "IOPS[,MiB/s]", value_parser = cap)]
    cap: Option<StatedCap>,
    #[command(flatten)]
    baseline: BaselineArguments,
}

impl VerdictArguments {
    /// Returns the options that the arguments request for this input.
    pub(super) fn options(
        self,
        input: &Input,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> VerdictOptions {
        let files = if input.from.is_some() { Vec::new() } else { saved_files(&input.root, environment) };
        VerdictOptions {
            saturation_threshold: self.saturation_threshold,
            baseline: self.baseline.option(files),
            cap: self.cap,
        }
    }
}

/// Parses a multiple such as `3` or `3x`.
fn multiple(word: &str) -> Result<f64, String> {
    let multiple = word.trim_end_matches('x').parse().ok();
    multiple
        .filter(|multiple: &f64| *multiple > 1.0 && multiple.is_finite())
        .ok_or_else(|| "expected a number above 1".to_owned())
}

/// Parses a cap in IOPS, MiB/s or both.
fn cap(word: &str) -> Result<StatedCap, String> {
    let (iops, mib_per_s) = two_numbers(word).ok_or("expected IOPS[,MiB/s], such as 3000 or 3000,125")?;
    Ok(StatedCap { iops, mib_per_s })
}

pub(super) fn sort_key(word: &str) -> Result<SortKey, String> {
    let keys = || sort_keys().collect::<Vec<_>>().join(", ");
    SortKey::named(word).ok_or_else(|| format!("expected one of: {}", keys()))
}

impl ViewArguments {
    /// Returns the view that the arguments request.
    ///
    /// # Errors
    /// A message about an invalid operand.
    pub(super) fn plan(
        self,
        root: PathBuf,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<View, String> {
        let (devices, schedule) = self.operands.parse()?;
        let similar_command = devices.first().and_then(|word| similar_command(word));
        let is_replay = self.from.is_some();
        // The running system is sampled every second or more often.
        let is_longer = |interval: Duration| is_replay || interval > DEFAULT_INTERVAL;
        let table = TableOptions {
            width: self.width.map(usize::from),
            all_columns: self.all_columns,
            verdict_seconds: schedule.interval.is_some_and(is_longer),
            mounts: self.mounts,
            explain: self.explain,
            who: self.who,
            colors: permits_colors(environment),
            saturation_threshold: self.verdicts.saturation_threshold,
        };
        let input = Input {
            scans_io: self.who && !is_replay,
            from: self.from,
            root,
            interval: schedule.interval,
            count: schedule.count,
            range: self.range.range(is_replay, environment)?,
            realtime: self.realtime,
            strict: self.strict.strict,
            ..Input::default()
        };
        Ok(View {
            verdicts: self.verdicts.options(&input, environment),
            input,
            since_boot: self.since_boot,
            selection: DeviceSelection { total: self.total, ..self.selection.selection(devices) },
            sort: self.sort,
            top: self.top.map(|top| top as usize),
            format: match (self.json, self.csv) {
                (true, _) => Format::Json,
                (_, true) => Format::Csv,
                _ => Format::Table(table),
            },
            summary: match (self.summary, self.no_summary) {
                (true, _) => SummaryMode::Always,
                (_, true) => SummaryMode::Never,
                _ => SummaryMode::OnInterrupt,
            },
            time_zone: environment("TZ"),
            similar_command,
        })
    }
}

/// Returns whether the environment permits colors on a terminal (no-color.org).
fn permits_colors(environment: &dyn Fn(&str) -> Option<OsString>) -> bool {
    environment("NO_COLOR").is_none_or(|value| value.is_empty())
        && environment("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}
