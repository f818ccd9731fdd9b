//! What was asked for, resolved: plain structs. `cli` makes them, `run` carries them out.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::report::iostat::Style;
use crate::select::Others;

/// Everything that a run needs to know of what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Be sysstat's iostat.
    Iostat(Iostat),
}

/// What iostat was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iostat {
    /// What a report holds and how it is written.
    pub style: Style,
    /// The devices that are named.
    pub names: Vec<DeviceName>,
    /// Which devices are shown beside those.
    pub others: Others,
    /// `-z`: leave out devices that did nothing in the interval.
    pub active_only: bool,
    /// `-y`: leave out the report since boot.
    pub skip_first: bool,
    /// `-t`: the time above each report.
    pub timestamps: bool,
    /// Times as ISO 8601 writes them.
    pub iso_time: bool,
    /// What the variable TZ says of the time zone.
    pub time_zone: Option<OsString>,
    /// How often, and how many reports.
    pub pace: Pace,
    /// A capture to replay.
    pub from: Option<PathBuf>,
    /// The folder that holds `proc` and `sys`.
    pub root: PathBuf,
}

/// A device as it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceName {
    /// The word that was typed.
    pub word: String,
    /// Its partitions are asked for as well.
    pub partitions: bool,
}

/// How often to report, and how many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// The time between reports; `None` reports once on a live machine. A capture has its own.
    pub every: Option<Duration>,
    /// The number of reports; `None` goes on until it is stopped.
    pub count: Option<u64>,
}
