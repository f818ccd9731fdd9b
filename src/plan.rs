//! What was asked for, resolved: plain structs. `cli` makes them, `run` carries them out.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::analysis::{DeviceBaseline, StatedCap};
use crate::iostat;
use crate::pt_diskstats;
use crate::report::native::SortKey;

/// Everything that a run needs to know of what was typed.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Show what the devices do.
    View(Box<View>),
    /// LiveVerdict devices by many intervals.
    Analyze(Box<Analyze>),
    /// Print this text.
    Print(Vec<u8>),
    /// Run as sysstat's iostat.
    Iostat(Box<iostat::Options>),
    /// Run as Percona's pt-diskstats.
    PtDiskstats(Box<pt_diskstats::Options>),
    /// Show what is stacked on what.
    Devices(Devices),
    /// Record a live machine.
    Record(Box<Record>),
}

/// What a recording was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The file; `-` is standard output.
    pub file: PathBuf,
    /// How often, 1 s unless told, and how many intervals: there is one sample more.
    pub pace: Schedule,
    /// Only these devices, by any of their names; all where it is empty.
    pub devices: Vec<String>,
    /// Device lines of 14 columns, for an old pt-diskstats.
    pub legacy_14_columns: bool,
    /// Go on behind what the file holds.
    pub append: bool,
    /// Write a file that exists anew.
    pub force: bool,
    /// A file that would pass so many bytes gives way to the next.
    pub rotate: Option<u64>,
    /// How many files stay beside the one that is written; `None` keeps all.
    pub keep: Option<u32>,
    /// The folder that holds `proc` and `sys`.
    pub root: PathBuf,
    /// Errors go to a terminal, which then shows how far it is.
    pub stderr_is_tty: bool,
    /// What the variable TZ says of the time zone.
    pub time_zone: Option<OsString>,
}

/// What the list of devices was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    /// As JSON, which always holds every device.
    pub json: bool,
    /// Devices that are not in use as well, such as loop devices without a file.
    pub all: bool,
    /// The folder that holds `proc`, `sys` and `dev`.
    pub root: PathBuf,
    /// A recording whose machine is asked for, in place of this one.
    pub from: Option<PathBuf>,
}

/// Where samples come from, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// A capture to replay, `-` for standard input; `None` for a live machine.
    pub from: Option<PathBuf>,
    /// The folder that holds `proc`, `sys` and `dev`.
    pub root: PathBuf,
    /// How often, and how many intervals. Of a capture, samples are passed over until so much time has gone by;
    /// `None` takes each.
    pub pace: Schedule,
    /// Replay at the speed at which it was recorded.
    pub paced: bool,
    /// Begin with the time since boot.
    pub since_boot: bool,
    /// A capture's warnings are errors.
    pub strict: bool,
}

/// Which devices, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSelection {
    /// These, by any of their names; all where it is empty.
    pub devices: Vec<String>,
    /// Those whose name matches.
    pub regex: Option<String>,
    /// Partitions, idle ones too.
    pub partitions: bool,
    /// All, idle ones too.
    pub all: bool,
    /// The most of this first, in place of the order of the stack.
    pub sort: Option<SortKey>,
    /// No more than so many.
    pub top: Option<usize>,
    /// A line over the whole leaf devices.
    pub total: bool,
}

/// By what a device is judged.
#[derive(Clone, Debug, PartialEq)]
pub struct VerdictOptions {
    /// The multiple of the unloaded response time from which a device is saturated.
    pub saturated_at: f64,
    /// UnloadedLatency response times that are known.
    pub baseline: Baseline,
    /// A cap that is known.
    pub cap: Option<StatedCap>,
}

/// Where the unloaded response times come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Baseline {
    /// They are learnt.
    #[default]
    Learnt,
    /// A capture, or what was saved.
    File(PathBuf),
    /// Stated in milliseconds, of reads and of writes.
    Stated(DeviceBaseline),
}

/// What `blkstat` itself was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Where samples come from.
    pub input: Input,
    /// Which devices.
    pub choice: DeviceSelection,
    /// By what they are judged.
    pub judging: VerdictOptions,
    /// How they are shown.
    pub format: Format,
    /// When a summary follows.
    pub summary: SummaryMode,
    /// What the variable TZ says of the time zone.
    pub time_zone: Option<OsString>,
}

/// What `blkstat analyze` was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Analyze {
    /// Where samples come from.
    pub input: Input,
    /// Which devices.
    pub choice: DeviceSelection,
    /// By what they are judged.
    pub judging: VerdictOptions,
    /// How the result is written.
    pub format: AnalyzeFormat,
    /// Where the baselines that were learnt are saved.
    pub save_baseline: Option<PathBuf>,
    /// Errors go to a terminal, which then shows how far it is.
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

/// How the lines of a view are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table for people.
    Table(TableOptions),
    /// JSON Lines.
    Json,
    /// CSV.
    Csv,
}

/// How the table is laid out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Characters on a line; `None` for those of the terminal, or 100.
    pub width: Option<usize>,
    /// All columns, whatever the width.
    pub all_columns: bool,
    /// Where devices are mounted.
    pub mounts: bool,
    /// What each verdict rests on.
    pub explain: bool,
    /// Colours on a terminal.
    pub colors: bool,
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

/// How often to report, and how many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The time between reports; `None` reports once on a live machine. A capture has its own.
    pub every: Option<Duration>,
    /// The number of reports; `None` goes on until it is stopped.
    pub count: Option<u64>,
}
