//! The counters of cgroups and processes found by one scan of a host.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Pressure;

/// The number of a device: major and minor.
pub type DeviceNumber = (u32, u32);

/// Parses a device number such as `8:16`.
pub fn parse_device_number(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// One scan of the cgroups of a host, with the last reading of processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoScan {
    /// The monotonic time in the middle of reading the counters. Scans come from a separate thread, so this is not the
    /// time of the sample that contains the scan.
    pub at: Duration,
    /// Every whole device, with its own counters at that time.
    pub devices: Vec<ScannedDevice>,
    /// The hierarchy that the cgroups are in; `None` without one that counts I/O.
    pub hierarchy: Option<CgroupHierarchy>,
    /// The cgroups with I/O or limits, parents before their children. They do not include the root of version 2, which
    /// has the counters of the devices.
    pub cgroups: Vec<Cgroup>,
    /// The processes, over the time between their last two readings; `None` if they were not read anew. Recordings that version
    /// 0.2.0 made before its release repeat a reading in the scans that follow it.
    pub processes: Option<Arc<ProcessIo>>,
    /// True if processes were to be read anew, but that took too long.
    pub are_processes_late: bool,
    /// The read of a process that hangs; the processes are then not known. `None` if no read hangs.
    pub hung_read: Option<HungRead>,
    /// The tasks in uninterruptible sleep (state D); `None` if the scan did not look for them, because no task waited
    /// for I/O and a scan a few seconds earlier had looked.
    pub blocked: Option<Vec<BlockedTask>>,
    /// The number of scans left out since the previous one because they would have cost too much.
    pub skipped: u64,
    /// The reason why cgroups are missing; `None` if none are.
    pub problem: Option<ScanProblem>,
}

/// The reasons why a scan has no cgroups, or not all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanProblem {
    /// No hierarchy with the controller of block devices is mounted.
    NoHierarchy,
    /// The controller is off everywhere below the root of version 2.
    ControllerOff,
    /// There are more cgroups than a scan reads.
    TooManyCgroups,
    /// The files of some cgroups cannot be read.
    NotPermitted,
}

/// The reasons why a sample has no scan of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissedScan {
    /// It was not finished in time, for example because no CPU was left.
    Late,
    /// It was left out because scans would have cost too much CPU time.
    Budget,
}

/// The versions of cgroup hierarchies, which count and limit I/O differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CgroupHierarchy {
    /// `blkio`: counters and limits are those of the cgroup's own processes, without its descendants.
    V1 = 1,
    /// `io`: both include all descendants.
    #[default]
    V2 = 2,
}

/// A whole device in a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScannedDevice {
    pub number: DeviceNumber,
    /// The kernel's name.
    pub name: String,
    /// Its own counters, of requests rather than bios.
    pub io: IoCounters,
}

/// Requests and bytes since the device or the cgroup was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 4]", into = "[u64; 4]")]
pub struct IoCounters {
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// Reads: requests of a device, bios of a cgroup.
    pub reads: u64,
    /// Writes: requests of a device, bios of a cgroup.
    pub writes: u64,
}

impl IoCounters {
    /// Returns how much the counters grew since `before`. A counter that went back was reset: it belongs to another
    /// cgroup or device, all of whose I/O is new.
    pub fn growth_since(&self, before: &Self) -> Self {
        if <[u64; 4]>::from(*self)
            .iter()
            .zip(<[u64; 4]>::from(*before))
            .any(|(now, before)| *now < before)
        {
            return *self;
        }
        self.minus(before)
    }

    pub fn plus(&self, other: &Self) -> Self {
        self.combined(other, u64::saturating_add)
    }

    /// Returns the difference of both, with zero for negative values.
    pub fn minus(&self, other: &Self) -> Self {
        self.combined(other, u64::saturating_sub)
    }

    fn combined(&self, other: &Self, combine: fn(u64, u64) -> u64) -> Self {
        Self {
            read_bytes: combine(self.read_bytes, other.read_bytes),
            write_bytes: combine(self.write_bytes, other.write_bytes),
            reads: combine(self.reads, other.reads),
            writes: combine(self.writes, other.writes),
        }
    }
}

impl From<IoCounters> for [u64; 4] {
    fn from(io: IoCounters) -> Self {
        [io.read_bytes, io.write_bytes, io.reads, io.writes]
    }
}

impl From<[u64; 4]> for IoCounters {
    fn from([read_bytes, write_bytes, reads, writes]: [u64; 4]) -> Self {
        Self {
            read_bytes,
            write_bytes,
            reads,
            writes,
        }
    }
}

/// The limits of a cgroup on a device: reads, writes, bytes read and bytes written per second. `None` for a limit that is
/// not set.
pub type IoLimits = [Option<u64>; 4];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cgroup {
    /// Its path in the hierarchy, such as `/system.slice/db.service`; `/` is the root.
    pub path: Arc<str>,
    /// True if this scan found it for the first time, and it may be older than the scan before: its counters may have grown for
    /// longer than since then.
    #[serde(skip)]
    pub is_new: bool,
    /// Its devices, by number.
    pub devices: Vec<CgroupDevice>,
    /// The time that its tasks have waited for I/O; `None` if it is not known.
    #[serde(rename = "pressure_us", skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
}

/// A cgroup's use of a device, and its limits there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CgroupDevice {
    pub number: DeviceNumber,
    pub io: IoCounters,
    #[serde(skip_serializing_if = "has_no_limit")]
    pub limits: IoLimits,
}

fn has_no_limit(limits: &IoLimits) -> bool {
    *limits == IoLimits::default()
}

impl CgroupDevice {
    /// Returns whether the cgroup is limited on the device.
    pub fn has_limits(&self) -> bool {
        !has_no_limit(&self.limits)
    }

    /// Returns the entry of a device in `devices`, which is sorted by number; adds one if it is missing.
    pub fn entry(devices: &mut Vec<Self>, number: DeviceNumber) -> &mut Self {
        let at = devices
            .binary_search_by_key(&number, |device| device.number)
            .unwrap_or_else(|at| {
                devices.insert(
                    at,
                    Self {
                        number,
                        ..Self::default()
                    },
                );
                at
            });
        &mut devices[at]
    }
}

/// The I/O of processes between two readings, on all devices together: the kernel does not count it by device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessIo {
    /// The time between both readings.
    #[serde(rename = "elapsed_ns", with = "nanoseconds")]
    pub elapsed: Duration,
    /// The busiest processes, by bytes, the busiest first. A recording has them beside these values.
    #[serde(skip)]
    pub busiest: Vec<BusyProcess>,
    /// The number of processes whose I/O this user may not see.
    pub hidden: u64,
    /// True if the scan left processes out because there are more than it reads.
    pub is_partial: bool,
}

/// A read of the I/O of a process that has not returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HungRead {
    pub pid: u32,
    /// The time since processes were last read.
    #[serde(rename = "elapsed_ns", with = "nanoseconds")]
    pub elapsed: Duration,
}

/// A process that read or wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BusyProcess {
    pub pid: u32,
    /// Its name: at most 15 bytes, which may contain any character.
    pub comm: String,
    /// The beginning of its command line; `None` if it was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Arc<str>>,
    /// Its cgroup; `None` if it ended before that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<Arc<str>>,
    /// True for a thread of the kernel.
    #[serde(skip_serializing_if = "is_false")]
    pub is_kernel: bool,
    /// True for the bytes of its children that ended since the reading before, without what they had then.
    #[serde(skip_serializing_if = "is_false")]
    pub is_of_ended_children: bool,
    /// Bytes read from devices.
    pub read_bytes: u64,
    /// Bytes that will be written to devices, counted when memory is modified, not when it is written back.
    pub write_bytes: u64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A task in uninterruptible sleep, which usually waits for a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockedTask {
    pub pid: u32,
    pub tid: u32,
    /// The thread's name.
    pub comm: String,
    /// The beginning of the command line of the process; `None` if it was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Arc<str>>,
    /// True for a thread of the kernel.
    #[serde(skip_serializing_if = "is_false")]
    pub is_kernel: bool,
    /// The least time for which it has waited without doing anything else; 0 if that is not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub waited_ms: u64,
    /// The kernel's name of the disk that it waits for; `None` if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The cgroup of the process; `None` if it ended before that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<Arc<str>>,
    /// The fraction of the time since the last scan that it waited for devices, in thousandths; `None` without
    /// `kernel.task_delayacct`, or if it was not seen before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_permille: Option<u64>,
}

/// Milliseconds of a wait, without anything else done, from which a task is watched. It may still be served by a busy device,
/// so that it takes twice as long to be evidence by itself.
pub const WATCHED_WAIT_MS: u64 = 500;

impl BlockedTask {
    /// Returns whether it has been in the same wait for so long that it is watched.
    pub fn goes_on_waiting(&self) -> bool {
        self.waited_ms >= WATCHED_WAIT_MS
    }
}

impl IoScan {
    /// Returns whether a task is watched because of its wait.
    pub fn has_long_wait(&self) -> bool {
        self.blocked
            .iter()
            .flatten()
            .any(BlockedTask::goes_on_waiting)
    }
}

/// Writes a length of time in nanoseconds.
mod nanoseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        time: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}
