//! The options of a stream of intervals: where samples come from, which devices, and how they are assessed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::judge::DeviceBaseline;
use crate::source::{KeptPlace, ScanScope};
use crate::time_range::TimeRange;
use crate::topology::DeviceClass;

/// The source of the samples and how often to report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// A capture to replay, `-` for standard input; `None` for the running system.
    pub from: Option<PathBuf>,
    /// Further files of the capture, in any order.
    pub more: Vec<PathBuf>,
    /// What was read of a source that cannot be read twice; `None` if it can, or was not read yet.
    pub kept: Option<KeptPlace>,
    /// What the user says of how the devices of a capture are stacked.
    pub stack: Vec<Stacked>,
    /// The classes of devices of a capture, as the user states them.
    pub classes: Vec<(String, DeviceClass)>,
    /// The directory that holds `proc`, `sys` and `dev`.
    pub root: PathBuf,
    /// The time between reports. `None`: 1 s for the running system, every sample of a capture. A longer interval
    /// aggregates samples, each of which is assessed: those of a capture, or of the running system one per second or
    /// slightly more.
    pub interval: Option<Duration>,
    /// The part of a capture that is shown. Intervals before it are assessed to serve as baseline, but are neither
    /// shown nor counted.
    pub range: TimeRange,
    /// The number of intervals after which the stream ends; `None` runs until interrupted or to the end of the capture.
    pub count: Option<u64>,
    /// The time between samples of a capture that has no times.
    pub every: Option<Duration>,
    /// Judge a capture as it comes, like the running system, and not with hindsight.
    pub as_live: bool,
    /// Treat a warning about a capture as an error.
    pub strict: bool,
    /// Also scan the cgroups and processes of the running system.
    pub scans_io: bool,
    /// Ignore the cgroups and processes that a recording holds.
    pub ignores_scans: bool,
    /// Which of the cgroups and processes are scanned.
    pub scan_scope: ScanScope,
    /// Take a single sample per interval of the running system, however long it is: each verdict is that of a whole
    /// interval.
    pub single_samples: bool,
}

/// A device and the devices directly below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stacked {
    pub device: String,
    pub below: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSelection {
    /// Devices by any of their names; empty for all.
    pub devices: Vec<String>,
    /// A regular expression of device names.
    pub regex: Option<String>,
    /// Include partitions, even idle ones.
    pub partitions: bool,
    /// Include every device, even those that never did any I/O.
    pub all: bool,
    /// Add a total in which no request counts twice.
    pub total: bool,
}

impl DeviceSelection {
    /// Returns whether it leaves out devices by their names.
    pub fn names_devices(&self) -> bool {
        !self.devices.is_empty() || self.regex.is_some()
    }
}

/// The devices that an interval lists, and how much it says about each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The devices of a report: selected and, unless asked for, active; each with a live verdict.
    #[default]
    Report,
    /// Every selected device, idle or not, with one live verdict for each interval, however long: the input of an
    /// analysis.
    Analysis,
    /// Like [`Self::Analysis`], for a comparison with another capture: also collects the load in blocks of time.
    Comparison,
}

impl Detail {
    /// Returns whether every selected device is listed, idle or not.
    pub(super) fn lists_all(self) -> bool {
        self != Self::Report
    }
}

/// The source of unloaded latencies. If it has none for a device, they are learned from the intervals.
#[derive(Clone, Copy, Debug)]
pub enum BaselineOption<'a> {
    /// Those that a recording holds; for the running system, those in the first of these files that exists and is
    /// readable. They are matched by identity only.
    Saved(&'a [PathBuf]),
    /// Only those learned from the intervals themselves.
    Learned,
    /// A saved baseline.
    File(&'a Path),
    /// Stated by the user, in milliseconds.
    Stated(&'a DeviceBaseline),
}
