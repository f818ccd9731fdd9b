//! What is read: which source, which part of it, and how often.

use std::path::PathBuf;
use std::time::Duration;

use super::{KeptPlace, ScanScope};
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
    /// The distance of the samples of a capture without times, as the user states it.
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
