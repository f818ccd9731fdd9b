//! What was asked for, resolved: plain structs. `cli` makes them, `run` carries them out.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::report::iostat::{Palette, Style};
use crate::report::pt_diskstats::GroupBy;
use crate::select::Others;

/// Everything that a run needs to know of what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Be sysstat's iostat.
    Iostat(Box<Iostat>),
    /// Be Percona's pt-diskstats.
    PtDiskstats(Box<PtDiskstats>),
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
    pub others: Others,
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
    pub pace: Pace,
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
pub struct Pace {
    /// The time between reports; `None` reports once on a live machine. A capture has its own.
    pub every: Option<Duration>,
    /// The number of reports; `None` goes on until it is stopped.
    pub count: Option<u64>,
}
