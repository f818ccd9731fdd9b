//! Attribution: which cgroup or process does the I/O, and which limit it has reached. Pure: `source` reads the files.
//!
//! [`files`] parses the files of cgroups and processes; `cgroup_name` finds the name by which people know a cgroup.
//! An [`Attributor`] turns successive scans into an [`Attribution`]: the rates of each cgroup on each device and their
//! shares, and the limits that have been reached.
//!
//! That a limit exists is a fact; that it holds requests back can only be inferred from the rate. No file shows it:
//! requests that wait for `io.max` are in no counter, and asynchronous ones raise no pressure. `limit_use` decides from
//! the rates whether a limit is reached, `reached_limit` whether it holds a device back.

mod attributor;
mod cgroup_growth;
mod cgroup_name;
pub mod files;
mod limit;
mod limit_use;
mod programs;
mod reached_limit;
mod total;
pub mod waits;

use std::sync::Arc;

pub use self::attributor::Attributor;
pub use self::cgroup_name::cgroup_name;
pub use self::limit::{IoDirection, Limit, LimitSource, LimitedRate, RateUnit};
pub use self::limit_use::{LIMIT_INTERVALS, LimitUse};
pub use self::programs::{ByProgram, ProcessReading, Program};
pub use self::reached_limit::{ReachedLimit, Waits};
pub use self::total::TotalUse;
use crate::counters::{
    BlockedTask, CgroupHierarchy, DeviceNumber, HungRead, IoCounters, ScanProblem,
};

/// The use of all devices between two scans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attribution {
    /// The time between the scans in seconds.
    pub elapsed_s: f64,
    /// The hierarchy of the cgroups; `None` without one that counts I/O.
    pub hierarchy: Option<CgroupHierarchy>,
    /// The whole devices with I/O or a limit, by name.
    pub devices: Vec<DeviceUse>,
    /// The latest reading of processes, over a few seconds and on all devices together; `None` if they are not known yet.
    pub reading: Option<Arc<ProcessReading>>,
    /// The seconds from the end of that reading to the end of the interval.
    pub reading_age_s: f64,
    /// The read of a process that hung at the end of the interval; `None` if none did.
    pub hung_read: Option<HungRead>,
    /// The tasks in uninterruptible sleep, those that have waited longest first.
    pub blocked: Vec<BlockedTask>,
    /// The number of scans that were left out in between because they would have cost too much.
    pub skipped: u64,
    /// The reason why cgroups are missing; `None` if none are.
    pub problem: Option<ScanProblem>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceUse {
    pub number: DeviceNumber,
    /// The kernel's name.
    pub name: Arc<str>,
    /// Its own counters.
    pub total: IoRates,
    /// The cgroups that used it or are limited on it, those with the most bytes first.
    pub cgroups: Vec<CgroupUse>,
    /// The programs with the most bytes, the busiest first; empty if they are not known.
    pub programs: Vec<Program>,
}

/// The use of a device by a cgroup.
#[derive(Clone, Debug, PartialEq)]
pub struct CgroupUse {
    pub path: Arc<str>,
    /// Its rates, without those of its descendants.
    pub rates: IoRates,
    /// Its share of the device's bytes in percent, without that of its descendants; `None` if there were no bytes.
    pub share_pct: Option<f64>,
    pub limits: Vec<LimitUse>,
}

impl Attribution {
    /// Returns the use of a device by the kernel's name; `None` if it had no I/O and no limits.
    pub fn device(&self, name: &str) -> Option<&DeviceUse> {
        let place = self
            .devices
            .binary_search_by(|device| (*device.name).cmp(name));
        Some(&self.devices[place.ok()?])
    }

    /// An estimate of its memory in bytes, without the names, which are usually shared.
    pub fn memory(&self) -> usize {
        let mut bytes = size_of::<Self>() + self.blocked.len() * 90;
        for device in &self.devices {
            bytes += size_of::<DeviceUse>();
            for cgroup in &device.cgroups {
                bytes += size_of::<CgroupUse>() + cgroup.limits.len() * size_of::<LimitUse>();
            }
        }
        // A reading belongs to several scans.
        if let Some(processes) = self.processes() {
            bytes += processes.busiest.len() * 40;
        }
        bytes
    }
}

/// The fraction of a device's bytes with which a cgroup or a program makes the load.
const MIN_LOAD_FRACTION: f64 = 0.5;

/// The shortest wait in milliseconds, without anything else done, that means more than a busy device or a lock: it is evidence
/// by itself, unlike the shorter one from which a task is watched.
pub const LONG_TASK_WAIT_MS: u64 = 1000;

impl Attribution {
    /// Returns the tasks that have waited for long for a disk or, with `None`, for what is not known; the longest wait first.
    /// Threads of the kernel wait for others and are not among them.
    pub fn long_waits<'a>(
        &'a self,
        disk: Option<&'a str>,
    ) -> impl Iterator<Item = &'a BlockedTask> {
        self.blocked.iter().filter(move |task| {
            !task.is_kernel && task.device.as_deref() == disk && task.waited_ms >= LONG_TASK_WAIT_MS
        })
    }
}

impl DeviceUse {
    /// Returns the cgroup that makes the load; `None` if none has at least half of the bytes.
    pub fn loading_cgroup(&self) -> Option<&CgroupUse> {
        let top = self.top_cgroup()?;
        (top.share_pct >= Some(100.0 * MIN_LOAD_FRACTION)).then_some(top)
    }

    /// Returns the program that makes the load, in a cgroup if one is given; `None` if none has at least half of the bytes.
    pub fn loading_program(&self, cgroup: Option<&str>) -> Option<&Program> {
        for program in &self.programs {
            let is_in = match (cgroup, &program.cgroup) {
                (Some(cgroup), Some(path)) => is_in_cgroup(cgroup, path),
                _ => true,
            };
            if is_in && program.least_fraction >= MIN_LOAD_FRACTION {
                return Some(program);
            }
        }
        None
    }

    /// Returns the bytes per second read and written that belong to no cgroup: those of the kernel itself, those of
    /// processes in the root of version 2, and writes that the kernel cannot charge to a cgroup. Only bytes can be
    /// compared, see [`IoRates`].
    pub fn unattributed_bytes_per_s(&self) -> [f64; 2] {
        let (mut read, mut written) = (0.0, 0.0);
        for cgroup in &self.cgroups {
            read += cgroup.rates.read_bytes_per_s;
            written += cgroup.rates.write_bytes_per_s;
        }
        [
            (self.total.read_bytes_per_s - read).max(0.0),
            (self.total.write_bytes_per_s - written).max(0.0),
        ]
    }

    /// Returns the bytes that no cgroup read or wrote, in percent of the device's bytes; `None` if the device had none.
    pub fn unattributed_pct(&self) -> Option<f64> {
        if self.total.bytes_per_s() <= 0.0 {
            return None;
        }
        let mut attributed = 0.0;
        for cgroup in &self.cgroups {
            attributed += cgroup.share_pct.unwrap_or_default();
        }
        Some((100.0 - attributed).max(0.0))
    }

    /// Returns the cgroup with the most bytes; `None` if none had any.
    pub fn top_cgroup(&self) -> Option<&CgroupUse> {
        let first = self.cgroups.first()?;
        (first.rates.bytes_per_s() > 0.0).then_some(first)
    }
}

/// Returns whether the cgroup `path` is `outer` or one of its descendants.
pub fn is_in_cgroup(outer: &str, path: &str) -> bool {
    match path.strip_prefix(outer.trim_end_matches('/')) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

/// Reads and writes per second. For a device they are requests; for a cgroup they are bios, several of which the kernel
/// may merge into one request. Only bytes can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IoRates {
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    pub read_bytes_per_s: f64,
    pub write_bytes_per_s: f64,
}

impl IoRates {
    /// Returns the rates of counters that grew by `delta` in some seconds.
    fn of(delta: &IoCounters, elapsed_s: f64) -> Self {
        Self {
            reads_per_s: delta.reads as f64 / elapsed_s,
            writes_per_s: delta.writes as f64 / elapsed_s,
            read_bytes_per_s: delta.read_bytes as f64 / elapsed_s,
            write_bytes_per_s: delta.write_bytes as f64 / elapsed_s,
        }
    }

    /// Adds what was done at these rates in some seconds; a sum of that is an amount.
    fn add(&mut self, rates: &Self, elapsed_s: f64) {
        self.reads_per_s += rates.reads_per_s * elapsed_s;
        self.writes_per_s += rates.writes_per_s * elapsed_s;
        self.read_bytes_per_s += rates.read_bytes_per_s * elapsed_s;
        self.write_bytes_per_s += rates.write_bytes_per_s * elapsed_s;
    }

    /// Returns the rates of an amount that took some seconds.
    fn over(&self, elapsed_s: f64) -> Self {
        let mut rates = Self::default();
        rates.add(self, 1.0 / elapsed_s);
        rates
    }

    /// Returns bytes read and written per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.read_bytes_per_s + self.write_bytes_per_s
    }

    /// Returns reads and writes per second.
    pub fn ios_per_s(&self) -> f64 {
        self.reads_per_s + self.writes_per_s
    }
}
