//! What incidents are made of: a second of all devices and of the host, and a scan of cgroups and tasks when there was one.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::attribution::Limit;
use crate::judge::Verdict;
use crate::topology::DeviceNames;

/// A point in time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// The wall clock; `None` if the samples have no time.
    pub at: Option<Timestamp>,
    /// The total length of all intervals before it in seconds. Breaks in time do not count.
    pub run_s: f64,
}

impl Moment {
    /// Returns the moment some seconds earlier, in the same segment.
    pub fn minus(self, seconds: f64) -> Self {
        let duration = SignedDuration::try_from_secs_f64(seconds).unwrap_or_default();
        Self {
            at: self.at.and_then(|at| at.checked_sub(duration).ok()),
            run_s: self.run_s - seconds,
        }
    }

    /// Returns the moment of a second of the run, in the same segment.
    pub fn at_run_s(self, run_s: f64) -> Self {
        self.minus(self.run_s - run_s)
    }
}

/// A step of the judge: about a second.
#[derive(Clone, Debug, Default)]
pub struct Second {
    pub end: Moment,
    pub seconds: f64,
    /// The samples that were skipped in it.
    pub missed: u64,
    pub host: HostSecond,
    /// The devices with data.
    pub devices: Vec<DeviceSecond>,
    /// `None` if no scan ended in it.
    pub scan: Option<Scan>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct HostSecond {
    /// The share of the time of all CPUs that was idle.
    pub cpu_available_pct: Option<f64>,
    /// The share of the time in which some task waited for I/O.
    pub io_pressure_pct: Option<f64>,
    /// Pages read from swap and written to it.
    pub swapped_pages_per_s: Option<f64>,
}

#[derive(Clone, Debug)]
pub struct DeviceSecond {
    /// Its place among all devices, those below others first.
    pub place: usize,
    pub names: Arc<DeviceNames>,
    /// The judge's word.
    pub verdict: Verdict,
    /// The limit of a cgroup that holds the device back, by its rate; `None` without one.
    pub limit: Option<Limit>,
    /// The constant rate at which it is held, as if limited; `None` without one.
    pub capped_at: Option<Limit>,
    /// It is a volume of device-mapper that is suspended.
    pub is_suspended: bool,
    /// It is an array that is being checked or rebuilt.
    pub is_syncing: bool,
    /// A task has waited for it for long.
    pub is_waited_for: bool,
    /// The seconds before for which a task already waited, or requests hung.
    pub late_s: f64,
    pub in_flight: u64,
    pub queue: f64,
    pub util_pct: Option<f64>,
    /// Reads and writes completed per second.
    pub iops: f64,
    /// KiB per second read and written.
    pub kib_per_s: [f64; 2],
    /// By [`RequestKind`].
    pub requests: [Requests; 4],
}

/// The requests of a kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Requests {
    pub per_s: f64,
    pub await_ms: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    Read,
    Write,
    Flush,
    Discard,
}

impl RequestKind {
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Flush, Self::Discard];

    /// Its name in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
        }
    }

    /// The plural noun for such requests.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Flush => "flushes",
            Self::Discard => "discards",
        }
    }
}

/// What was read of cgroups and tasks.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    pub uses: Vec<Use>,
    /// The processes whose bytes were read with this scan: each reading once.
    pub processes: Vec<Process>,
    /// The tasks that wait for I/O.
    pub tasks: Vec<Task>,
}

/// The use of a device by a cgroup.
#[derive(Clone, Debug)]
pub struct Use {
    pub device: Arc<str>,
    /// The path; `None` for what belongs to no cgroup.
    pub cgroup: Option<Arc<str>>,
    /// The seconds before the scan that the rates are about.
    pub seconds: f64,
    /// Requests per second, read and written.
    pub ios_per_s: [f64; 2],
    /// KiB per second, read and written.
    pub kib_per_s: [f64; 2],
    pub limits: Vec<Limit>,
}

/// The bytes of a process on all devices together.
#[derive(Clone, Debug)]
pub struct Process {
    pub cgroup: Arc<str>,
    pub program: Arc<str>,
    /// The seconds before the scan that the rate is about.
    pub seconds: f64,
    /// KiB per second, read and written.
    pub kib_per_s: f64,
    /// They are those of children that ended.
    pub is_of_ended_children: bool,
    /// It works for others: see [`super::serves_disks`].
    pub is_server: bool,
}

/// A task that waits for I/O.
#[derive(Clone, Debug)]
pub struct Task {
    pub pid: u32,
    pub cgroup: Option<Arc<str>>,
    pub program: Arc<str>,
    /// The device that it waits for; `None` if that is not known.
    pub device: Option<Arc<str>>,
    /// It works for others: see [`super::serves_disks`].
    pub is_server: bool,
}
