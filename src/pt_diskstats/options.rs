//! The options of pt-diskstats, parsed.

use std::path::PathBuf;
use std::time::Duration;

use crate::time_range::TimeRange;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// `--columns-regex`: the pattern of the columns to print.
    pub columns: String,
    /// `--devices-regex`: the pattern of the devices to print; `None` for all active ones.
    pub devices: Option<String>,
    /// `--group-by`: the aggregation of readings into lines.
    pub group_by: GroupBy,
    /// `--headers group`: a blank line before each block of lines.
    pub group_headers: bool,
    /// `--headers scroll`: a header on every screen.
    pub scroll_headers: bool,
    /// `--interval`: seconds between live samples, at least 1.
    pub interval: u64,
    /// `--iterations`: the number of live samples to show; `None` for no limit.
    pub iterations: Option<u64>,
    /// `--sample-time`: the least number of seconds that a line covers when grouping by sample.
    pub sample_time: i64,
    /// `--save-samples`: the file in which live samples are saved.
    pub save_samples: Option<PathBuf>,
    /// `--show-inactive`: inactive devices are also printed.
    pub show_inactive: bool,
    /// `--show-timestamps`: the first column is the time of day.
    pub show_timestamps: bool,
    /// The capture to read; `None` for a live system.
    pub file: Option<PathBuf>,
    /// True if `--from` names it, where `-` is standard input.
    pub is_from: bool,
    /// `--begin` and `--end`: the part of the capture that is shown.
    pub range: TimeRange,
    /// `--every`: the distance of samples of a capture without times.
    pub every: Option<Duration>,
    /// INTERVAL and COUNT behind a file: the distance of the samples that are shown, and the number of intervals.
    pub resample: Option<Duration>,
    pub count: Option<u64>,
    /// The directory that contains `proc`; `/` for the running system.
    pub root: PathBuf,
}

/// The aggregation of readings into lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// One line for each device and interval.
    #[default]
    All,
    /// One line for each device, over all intervals.
    Disk,
    /// One line for each interval, with the sum of all devices.
    Sample,
}

impl GroupBy {
    /// Returns the key that selects it.
    pub fn key(self) -> char {
        match self {
            GroupBy::All => 'A',
            GroupBy::Disk => 'D',
            GroupBy::Sample => 'S',
        }
    }
}
