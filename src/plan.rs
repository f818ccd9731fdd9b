//! The plan of a run: what the arguments request, as plain data. `cli` creates it and `run` executes it.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::intervals::{BaselineOption, DeviceScope, DeviceSelection, Input, VerdictOptions};
use crate::iostat;
use crate::pt_diskstats;
use crate::report::Format;
use crate::report::latency::LatencyFormat;
use crate::report::native::SortKey;
use crate::report::who::{WhoFormat, WhoSort};
use crate::schedule::Schedule;
use crate::sink::Rotation;

/// Everything that a run needs to know about the arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Show the activity of devices in each interval.
    View(Box<View>),
    /// Analyze a capture or the running system.
    Analyze(Box<Analyze>),
    /// Write a page about a capture or the running system.
    Report(Box<Report>),
    Print(Vec<u8>),
    /// Run as sysstat's iostat.
    Iostat(Box<iostat::Options>),
    /// Run as Percona's pt-diskstats.
    PtDiskstats(Box<pt_diskstats::Options>),
    Devices(Devices),
    /// Record samples of a live host.
    Record(Box<Record>),
    /// Show the cgroups and processes that use devices.
    Who(Box<Who>),
    /// Print the version, how the program was built, and which sources of a host it can read.
    Version {
        /// The directory that contains `proc` and `sys`; `/` for the running system.
        root: PathBuf,
    },
    Export(Box<Export>),
    /// Show the latencies of single requests.
    Latency(Box<Latency>),
    Top(Box<Top>),
}

impl Plan {
    /// Returns whether a run may last until a signal ends it. A single report of iostat is printed faster than signal
    /// handlers are set up.
    pub fn needs_signals(&self) -> bool {
        !matches!(self, Self::Iostat(options) if options.from.is_none() && options.interval.is_none())
    }

    /// Returns whether the run traces single requests from its beginning; the kernel traces them until the run ends.
    pub fn traces_requests(&self) -> bool {
        match self {
            Self::Latency(latency) => !latency.cleanup,
            Self::Who(who) => who.trace.is_some(),
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Top {
    pub input: Input,
    pub selection: DeviceSelection,
    pub verdicts: VerdictOptions,
    /// Sort by this key, descending; `None` sorts by severity.
    pub sort: Option<SortKey>,
    pub is_ascii: bool,
    pub has_mouse: bool,
    /// The variables of the environment that describe the terminal, by name.
    pub environment: BTreeMap<&'static str, OsString>,
}

impl Top {
    /// The variables that describe a terminal.
    pub const VARIABLES: [&str; 8] =
        ["TERM", "COLORTERM", "COLORFGBG", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG", "TZ"];
}

#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    pub input: Input,
    pub selection: DeviceSelection,
    /// Which of them have metrics.
    pub scope: DeviceScope,
    pub verdicts: VerdictOptions,
    pub target: ExportTarget,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExportTarget {
    /// Export the metrics of the running system until a signal comes.
    Live {
        /// The address to serve them at; `None` does not listen.
        listen: Option<SocketAddr>,
        /// The file to keep up to date.
        textfile: Option<Textfile>,
    },
    /// Export the metrics of a recording to standard output.
    Backfill {
        every: Duration,
        /// Labels of every metric, by name and value.
        labels: Vec<(String, String)>,
    },
}

/// A file for node_exporter's textfile collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Textfile {
    /// The file, whose name ends in `.prom`.
    pub path: PathBuf,
    /// The time between two versions of it.
    pub every: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Who {
    pub input: Input,
    pub selection: DeviceSelection,
    /// Trace which threads submit I/O to which device, unless that takes more than this fraction of the time of all
    /// CPUs; `None` to not trace.
    pub trace: Option<f64>,
    pub format: WhoFormat,
    /// The quantity by which cgroups and processes are sorted, the largest first.
    pub sort: WhoSort,
    /// The most cgroups on each device, and the most processes; `None` for no limit. Every blocked task is shown.
    pub top: Option<usize>,
    /// The value of the environment variable TZ.
    pub time_zone: Option<OsString>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    pub input: Input,
    pub selection: DeviceSelection,
    pub format: LatencyFormat,
    /// The most CPU time that tracing may take, as a fraction of that of all CPUs.
    pub max_overhead: f64,
    /// Only remove the traces that killed runs left in the kernel.
    pub cleanup: bool,
    /// The value of the environment variable TZ.
    pub time_zone: Option<OsString>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// The file to write; `-` is standard output.
    pub file: PathBuf,
    /// The time between samples (default 1 s) and the number of intervals; one more sample is taken.
    pub schedule: Schedule,
    /// Only these devices, by any of their names; all if empty.
    pub devices: Vec<String>,
    /// The baselines to store in the recording.
    pub baseline: BaselineOption,
    /// The file of saved baselines to keep up to date; `None` for none.
    pub learn_baseline: Option<PathBuf>,
    /// Write only 14 columns per device, for old versions of pt-diskstats.
    pub legacy_14_columns: bool,
    /// Also record cgroups and processes.
    pub scans_io: bool,
    pub append: bool,
    pub force: bool,
    /// The conditions for rotating the file and keeping rotated files; `None` never rotates.
    pub rotation: Option<Rotation>,
    /// The directory that contains `proc`, `sys` and `dev`; `/` for the running system.
    pub root: PathBuf,
    /// Standard error is a terminal, which then also shows progress.
    pub stderr_is_tty: bool,
    /// The value of the environment variable TZ.
    pub time_zone: Option<OsString>,
}

impl Record {
    /// Returns whether the recording goes to standard output.
    pub fn writes_to_output(&self) -> bool {
        self.file.as_os_str() == "-"
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Devices {
    /// Print JSON, which always contains every device.
    pub json: bool,
    /// Include unused devices, such as loop devices without a file.
    pub all: bool,
    /// The directory that contains `proc`, `sys` and `dev`; `/` for the running system.
    pub root: PathBuf,
    /// Show the devices of the host that made this recording instead.
    pub from: Option<PathBuf>,
}

/// The options of the incident view, which `blkstat` without a command shows.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub input: Input,
    pub since_boot: bool,
    pub selection: DeviceSelection,
    pub verdicts: VerdictOptions,
    /// Sort by this key, descending; `None` sorts by the topology.
    pub sort: Option<SortKey>,
    /// Show at most this number of devices; `None` for no limit.
    pub top: Option<usize>,
    pub format: Format,
    /// The condition for a summary.
    pub summary: SummaryMode,
    /// The value of the environment variable TZ.
    pub time_zone: Option<OsString>,
    /// The command that the first device may be a typo of; `None` if it resembles none.
    pub similar_command: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Analyze {
    pub input: Input,
    pub selection: DeviceSelection,
    pub verdicts: VerdictOptions,
    /// Compare the capture, or its range, with this later one; `None` to analyze it.
    pub compare_with: Option<Input>,
    pub format: AnalyzeFormat,
    /// Show all details of each device.
    pub has_details: bool,
    /// The terminal shows more than ASCII.
    pub is_unicode: bool,
    /// The variable TZ; `None` if it is not set.
    pub time_zone: Option<OsString>,
    /// Save the learned baselines in this file; `None` does not save them.
    pub save_baseline: Option<PathBuf>,
    /// Standard error is a terminal, which then also shows progress.
    pub stderr_is_tty: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub input: Input,
    /// The devices to include; those that are named have charts even if they are ok.
    pub selection: DeviceSelection,
    pub verdicts: VerdictOptions,
    /// The page to write; `-` is standard output.
    pub output: PathBuf,
    pub force: bool,
    pub has_who: bool,
    /// Standard error is a terminal, which then also shows progress.
    pub stderr_is_tty: bool,
    /// The value of the environment variable TZ.
    pub time_zone: Option<OsString>,
}

/// The output format of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalyzeFormat {
    Text,
    Json,
    /// A fio job file that reproduces the load.
    Fio,
}

/// The condition for a summary after the last interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummaryMode {
    Never,
    /// After SIGINT on a terminal.
    #[default]
    OnInterrupt,
    Always,
}
