//! What was asked for, resolved: plain structs. `cli` makes them, `run` carries them out.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::analysis::{DeviceBaseline, StatedCap};
use crate::report::iostat::{Palette, Style};
use crate::report::native::SortKey;
use crate::report::pt_diskstats::GroupBy;
use crate::select::DefaultDevices;

/// Everything that a run needs to know of what was typed.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Show what the devices do.
    View(Box<View>),
    /// LiveVerdict devices by many intervals.
    Analyze(Box<Analyze>),
    /// Print this text.
    Print(Vec<u8>),
    /// Be sysstat's iostat.
    Iostat(Box<Iostat>),
    /// Be Percona's pt-diskstats.
    PtDiskstats(Box<PtDiskstats>),
    /// Show what is stacked on what.
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

/// What pt-diskstats was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtDiskstats {
    /// Pattern of the columns to print.
    pub columns: String,
    /// Pattern of the devices to print; `None` for those that were active.
    pub devices: Option<String>,
    /// How readings are put together into lines.
    pub group_by: GroupBy,
    /// Blank lines between groups of lines.
    pub group_headers: bool,
    /// A header on every screen.
    pub scroll_headers: bool,
    /// Seconds between samples of a live machine, at least 1.
    pub interval: u64,
    /// Samples of a live machine to show; `None` goes on until it is stopped.
    pub iterations: Option<u64>,
    /// Seconds that a line covers at least, by samples.
    pub sample_time: i64,
    /// Where to save the samples of a live machine.
    pub save_samples: Option<PathBuf>,
    /// Devices without activity as well.
    pub show_inactive: bool,
    /// Times of day in the first column.
    pub show_timestamps: bool,
    /// A capture; `None` for a live machine.
    pub file: Option<PathBuf>,
    /// The folder that holds `proc`.
    pub root: PathBuf,
    /// What the variable LINES says.
    pub screen_lines: Option<String>,
    /// What the variable TZ says of the time zone.
    pub time_zone: Option<OsString>,
}

/// What iostat was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iostat {
    /// What a report holds and how it is written, but for colours.
    pub style: Style,
    /// The colours to use on a terminal, or whatever standard output is.
    pub colors: Colors,
    /// Devices and groups, in the order in which they were named.
    pub items: Vec<Item>,
    /// Which devices are shown beside those.
    pub others: DefaultDevices,
    /// From this item on nothing is sorted by name.
    pub unsorted_from: Option<usize>,
    /// `-H`: the groups without their devices.
    pub groups_only: bool,
    /// `-N`: names of device-mapper devices.
    pub mapper_names: bool,
    /// `-j`: the folder below /dev/disk whose names are shown, without `by-`.
    pub persistent_names: Option<String>,
    /// Where the devices are read.
    pub devices: DeviceFiles,
    /// `-y`: leave out the report since boot.
    pub skip_first: bool,
    /// `-t`: the time above each report.
    pub timestamps: bool,
    /// How times are written.
    pub time_style: TimeStyle,
    /// Dates as ISO 8601 writes them.
    pub iso_date: bool,
    /// What the variable TZ says of the time zone.
    pub time_zone: Option<OsString>,
    /// How often, and how many reports.
    pub pace: Schedule,
    /// A capture to replay.
    pub from: Option<PathBuf>,
    /// The folder that holds `proc`, `sys` and `dev`.
    pub root: PathBuf,
}

/// A device as it was named, or a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A device.
    Device {
        /// The word that was typed.
        word: String,
        /// Its partitions are asked for as well.
        partitions: bool,
        /// The word may be a name in /dev/disk/by-TYPE of this TYPE.
        persistent: Option<String>,
    },
    /// A group begins.
    Group(String),
}

/// Where iostat reads devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeviceFiles {
    /// /proc and /sys.
    #[default]
    System,
    /// `-f`: this folder in place of both.
    Only(PathBuf),
    /// `+f`: this folder as well.
    Also(PathBuf),
}

/// When to use colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Colors {
    /// Never.
    Never,
    /// These, on a terminal.
    OnTerminal(Palette),
    /// These, always.
    Always(Palette),
}

/// How the time above a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeStyle {
    /// As the C locale writes dates and times.
    #[default]
    Local,
    /// As ISO 8601 does, with the offset from UTC.
    Iso,
    /// `-U`: seconds since the epoch.
    Epoch,
}

/// How often to report, and how many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The time between reports; `None` reports once on a live machine. A capture has its own.
    pub every: Option<Duration>,
    /// The number of reports; `None` goes on until it is stopped.
    pub count: Option<u64>,
}
