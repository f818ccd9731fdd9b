//! The arguments of `blkstat latency`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::shared_arguments::ViewOperands;
use crate::intervals::{DeviceSelection, Input};
use crate::plan::Latency;
use crate::report::latency::LatencyFormat;

#[derive(Args)]
#[command(
    override_usage = "blkstat latency [OPTIONS] [DEVICE]... [INTERVAL [COUNT]]",
    after_help = "It needs root, and a kernel with histogram triggers (CONFIG_HIST_TRIGGERS). Latencies are of whole devices."
)]
pub(super) struct LatencyArguments {
    #[command(flatten)]
    operands: ViewOperands,
    /// Print a heat map, a line per interval, device and kind of request
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    heatmap: bool,
    /// Print a JSON object per device
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Also print the buckets of the histograms (with --json)
    #[arg(long, requires = "json")]
    buckets: bool,
    /// Print lines of CSV
    #[arg(long)]
    csv: bool,
    /// Pause tracing while it would use more than this percentage of the CPUs
    #[arg(long, value_name = "PCT", default_value = "2", value_parser = percentage)]
    max_overhead: f64,
    /// Remove tracing instances and events that killed runs left in the kernel, and exit
    #[arg(long, conflicts_with_all = ["heatmap", "json", "csv", "operands"])]
    cleanup: bool,
    /// Output width (default: terminal width, or 120)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(70..))]
    width: Option<u16>,
}

/// Parses a percentage above 0, up to 100.
pub(super) fn percentage(word: &str) -> Result<f64, String> {
    let number: Option<f64> = word.trim_end_matches('%').parse().ok();
    number
        .filter(|number| *number > 0.0 && *number <= 100.0)
        .ok_or_else(|| "expected a percentage above 0, up to 100".to_owned())
}

impl LatencyArguments {
    /// Returns the view that the arguments request.
    ///
    /// # Errors
    /// A message about an invalid operand.
    pub(super) fn plan(
        self,
        root: PathBuf,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Latency, String> {
        let (devices, schedule) = self.operands.parse()?;
        let width = self.width.map(usize::from);
        Ok(Latency {
            input: Input { root, interval: schedule.interval, count: schedule.count, ..Input::default() },
            selection: DeviceSelection { devices, ..DeviceSelection::default() },
            format: match (self.json, self.csv, self.heatmap) {
                (true, _, _) => LatencyFormat::Json { buckets: self.buckets },
                (_, true, _) => LatencyFormat::Csv,
                (_, _, true) => LatencyFormat::Heatmap(width),
                _ => LatencyFormat::Table(width),
            },
            max_overhead: self.max_overhead / 100.0,
            cleanup: self.cleanup,
            time_zone: environment("TZ"),
        })
    }
}
