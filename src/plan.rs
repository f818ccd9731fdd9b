//! What was asked for, resolved: plain structs. `cli` makes them, `run` carries them out.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::intervals::{DeviceSelection, Input, VerdictOptions};
use crate::report::iostat::{Palette, Style};
use crate::report::native::SortKey;
use crate::report::pt_diskstats::GroupBy;
use crate::schedule::Schedule;
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
    /// Show the block-device tree.
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
    pub schedule: Schedule,
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
    pub schedule: Schedule,
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
