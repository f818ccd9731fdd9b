//! What was asked for, resolved: plain structs. `cli` makes them, `run` carries them out.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::intervals::{DeviceSelection, Input, VerdictOptions};
use crate::iostat;
use crate::pt_diskstats;
use crate::report::Format;
use crate::report::native::SortKey;
use crate::schedule::Schedule;

/// Everything that a run needs to know of what was typed.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Show what the devices do.
    View(Box<View>),
    /// Analyze devices over many intervals.
    Analyze(Box<Analyze>),
    /// Print this text.
    Print(Vec<u8>),
    /// Run as sysstat's iostat.
    Iostat(Box<iostat::Options>),
    /// Run as Percona's pt-diskstats.
    PtDiskstats(Box<pt_diskstats::Options>),
    /// Show the block-device tree.
    Devices(Devices),
    /// Record samples of a live host.
    Record(Box<Record>),
}

/// The options of `blkstat record`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The file; `-` is standard output.
    pub file: PathBuf,
    /// The time between samples (default 1 s) and the number of intervals; one more sample is taken.
    pub schedule: Schedule,
    /// Only these devices, by any of their names; all if empty.
    pub devices: Vec<String>,
    /// Write device lines of 14 columns, for an old pt-diskstats.
    pub legacy_14_columns: bool,
    /// Append to an existing file.
    pub append: bool,
    /// Overwrite an existing file.
    pub force: bool,
    /// The size in bytes at which the file is rotated; `None` never rotates.
    pub rotate: Option<u64>,
    /// The number of rotated files to keep; `None` keeps all.
    pub keep: Option<u32>,
    /// The directory that contains `proc` and `sys`.
    pub root: PathBuf,
    /// Errors go to a terminal, which then also shows progress.
    pub stderr_is_tty: bool,
    /// The value of the variable TZ.
    pub time_zone: Option<OsString>,
}

/// The options of `blkstat devices`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    /// Print JSON, which always holds every device.
    pub json: bool,
    /// Include unused devices, such as loop devices without a file.
    pub all: bool,
    /// The directory that holds `proc`, `sys` and `dev`.
    pub root: PathBuf,
    /// Show the devices of the host that made this recording instead.
    pub from: Option<PathBuf>,
}

/// The incident view.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The source of the samples.
    pub input: Input,
    /// Start with averages since boot.
    pub since_boot: bool,
    /// The devices.
    pub selection: DeviceSelection,
    /// How they are assessed.
    pub verdicts: VerdictOptions,
    /// Sort by this key, descending; `None` for the order of the topology.
    pub sort: Option<SortKey>,
    /// Show at most this number of devices.
    pub top: Option<usize>,
    /// The output format.
    pub format: Format,
    /// When to print a summary.
    pub summary: SummaryMode,
    /// The value of the environment variable TZ.
    pub time_zone: Option<OsString>,
}

/// `blkstat analyze`.
#[derive(Clone, Debug, PartialEq)]
pub struct Analyze {
    /// The source of the samples.
    pub input: Input,
    /// The devices.
    pub selection: DeviceSelection,
    /// How they are assessed.
    pub verdicts: VerdictOptions,
    /// The output format.
    pub format: AnalyzeFormat,
    /// The file to save the learned baselines in.
    pub save_baseline: Option<PathBuf>,
    /// Standard error is a terminal, which then shows the progress.
    pub stderr_is_tty: bool,
}

/// How an analysis is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalyzeFormat {
    /// For people.
    Text,
    /// One JSON document.
    Json,
    /// A fio job file.
    Fio,
}

/// When a summary follows the last interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummaryMode {
    /// Never.
    Never,
    /// After SIGINT on a terminal.
    #[default]
    OnInterrupt,
    /// Always.
    Always,
}
