//! The grammar of blkstat's own commands.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::words::devices_and_pace;
use crate::analysis::{DeviceBaseline, StatedCap};
use crate::plan::{
    Baseline, DeviceSelection, Format, Input, SummaryMode, TableOptions, VerdictOptions, View,
};
use crate::report::native::{SortKey, sort_keys};

/// What the incident view takes.
#[derive(Args)]
pub(super) struct ViewArguments {
    /// Devices, then how often (1, 0.5, 100ms, 2s, 1m; 1 s unless told), then how many times
    #[arg(value_name = "DEVICE]... [INTERVAL [COUNT", allow_negative_numbers = true)]
    words: Vec<String>,
    /// Replay a capture, plain or compressed; - is standard input
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// With --from: at the speed at which it was recorded
    #[arg(long, requires = "from")]
    pace: bool,
    /// One JSON object for each device and interval
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// One line of CSV for each device and interval
    #[arg(long)]
    csv: bool,
    /// Begin with the means since boot
    #[arg(long)]
    since_boot: bool,
    /// Only devices whose name matches
    #[arg(long, value_name = "REGEX")]
    devices_regex: Option<String>,
    /// Partitions too, also idle ones
    #[arg(long)]
    partitions: bool,
    /// All devices, also idle ones and those that never worked
    #[arg(long)]
    all: bool,
    /// The most of KEY first: a column's title, or iops, await, MB/s
    #[arg(long, value_name = "KEY", value_parser = sort_key)]
    sort: Option<SortKey>,
    /// No more than N devices, the busiest unless sorted otherwise
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// A line over whole devices that stand on no other, or over those asked for; nothing is counted twice
    #[arg(long)]
    total: bool,
    /// Where devices are mounted
    #[arg(long)]
    mounts: bool,
    /// All columns, however wide; also discards and flushes where there are none
    #[arg(long)]
    all_columns: bool,
    /// Characters on a line, in place of the terminal's, or 100
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..))]
    width: Option<u16>,
    /// End with a summary, however the run ends
    #[arg(long, overrides_with = "no_summary")]
    summary: bool,
    /// No summary after Ctrl-C
    #[arg(long)]
    no_summary: bool,
    /// Warnings about a capture are errors
    #[arg(long)]
    strict: bool,
    /// What each verdict rests on, below its line
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    judging: JudgingArguments,
}

/// By what a device is judged.
#[derive(Args)]
pub(super) struct JudgingArguments {
    /// The multiple of the unloaded response time from which a device is saturated
    #[arg(long, value_name = "MULTIPLE", default_value_t = 3.0, value_parser = multiple)]
    saturated_at: f64,
    /// UnloadedLatency response times: a capture, or what analyze --save-baseline saved
    #[arg(long, value_name = "FILE", conflicts_with = "baseline_ms")]
    baseline: Option<PathBuf>,
    /// UnloadedLatency response times in milliseconds, of reads and of writes
    #[arg(long, value_name = "R[,W]", value_parser = baseline_ms)]
    baseline_ms: Option<DeviceBaseline>,
}

impl JudgingArguments {
    /// What they ask for.
    pub(super) fn plan(self, cap: Option<StatedCap>) -> VerdictOptions {
        let baseline = match (self.baseline, self.baseline_ms) {
            (Some(file), _) => Baseline::File(file),
            (None, Some(stated)) => Baseline::Stated(stated),
            (None, None) => Baseline::Learnt,
        };
        VerdictOptions { saturated_at: self.saturated_at, baseline, cap }
    }
}

fn multiple(word: &str) -> Result<f64, String> {
    let multiple = word.trim_end_matches('x').parse().ok();
    multiple
        .filter(|multiple: &f64| *multiple > 1.0 && multiple.is_finite())
        .ok_or_else(|| "a number above 1 is expected".to_owned())
}

fn baseline_ms(word: &str) -> Result<DeviceBaseline, String> {
    let (read, write) = two_numbers(word).ok_or("milliseconds are expected, as in 0.1 or 0.1,0.5")?;
    Ok(DeviceBaseline::stated(read, write))
}

/// `A`, `A,B` or `,B`: numbers above zero.
pub(super) fn two_numbers(word: &str) -> Option<(Option<f64>, Option<f64>)> {
    let number = |word: &str| match word {
        "" => Some(None),
        _ => word.parse().ok().filter(|n: &f64| *n > 0.0 && n.is_finite()).map(Some),
    };
    let (first, second) = word.split_once(',').unwrap_or((word, ""));
    let both = (number(first)?, number(second)?);
    (both != (None, None)).then_some(both)
}

fn sort_key(word: &str) -> Result<SortKey, String> {
    SortKey::named(word).ok_or_else(|| format!("the keys are {}", sort_keys().collect::<Vec<_>>().join(", ")))
}

impl ViewArguments {
    /// What they ask for.
    pub(super) fn plan(
        self,
        root: PathBuf,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<View, String> {
        let (devices, pace) = devices_and_pace(&self.words)?;
        let table = TableOptions {
            width: self.width.map(usize::from),
            all_columns: self.all_columns,
            mounts: self.mounts,
            explain: self.explain,
            colors: wants_colors(environment),
        };
        Ok(View {
            input: Input {
                from: self.from,
                root,
                pace,
                paced: self.pace,
                since_boot: self.since_boot,
                strict: self.strict,
            },
            choice: DeviceSelection {
                devices,
                regex: self.devices_regex,
                partitions: self.partitions,
                all: self.all,
                sort: self.sort,
                top: self.top.map(|top| top as usize),
                total: self.total,
            },
            judging: self.judging.plan(None),
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
        })
    }
}

/// Whether the environment lets a terminal be coloured (no-color.org).
fn wants_colors(environment: &dyn Fn(&str) -> Option<OsString>) -> bool {
    environment("NO_COLOR").is_none_or(|value| value.is_empty())
        && environment("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}
