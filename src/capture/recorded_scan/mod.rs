//! Scans of cgroups and processes in a recording. A scan is written as the growth of its counters since the scan
//! before, so that only cgroups with I/O or limits take space, and so that a file that begins in the middle of a
//! recording, as after a rotation, can be read by itself.

mod growth;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use serde::{Deserialize, Serialize};

pub use self::growth::ScanGrowth;
pub(super) use self::reader::ScanReader;
pub use self::writer::ScanWriter;
use crate::counters::{CgroupHierarchy, IoCounters, IoLimits, ScanProblem};

/// A scan, or a part of one: a long scan takes several lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RecordedScan {
    /// The monotonic time of the scan; only in its first part.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup_version: Option<u8>,
    #[serde(skip_serializing_if = "is_zero")]
    skipped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    devices: Vec<RecordedDevice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cgroups: Vec<RecordedCgroup>,
    /// The use by all processes; `None` until they have been read twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<RecordedProcesses>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    busiest: Vec<RecordedProcess>,
    /// The read of a process that hangs.
    #[serde(skip_serializing_if = "Option::is_none")]
    hung_read: Option<RecordedHungRead>,
    /// True if the scan looked for blocked tasks.
    #[serde(skip_serializing_if = "is_false")]
    has_blocked: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocked: Vec<RecordedTask>,
}

/// A whole device: its number, its name and the growth of its counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RecordedDevice {
    number: [u32; 2],
    name: String,
    io: [u64; 4],
}

/// A cgroup with the growth of its counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RecordedCgroup {
    path: String,
    devices: Vec<RecordedUse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pressure_us: Option<[u64; 2]>,
}

/// The use of a device by a cgroup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RecordedUse {
    number: [u32; 2],
    io: [u64; 4],
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<[Option<u64>; 4]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RecordedProcesses {
    elapsed_ns: u64,
    hidden: u64,
    is_partial: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RecordedHungRead {
    pid: u32,
    elapsed_ns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RecordedProcess {
    pid: u32,
    comm: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<String>,
    read_bytes: u64,
    write_bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RecordedTask {
    pid: u32,
    tid: u32,
    comm: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_permille: Option<u64>,
}

/// Returns the counters in the order in which they are written.
fn fields_of(io: &IoCounters) -> [u64; 4] {
    [io.read_bytes, io.write_bytes, io.reads, io.writes]
}

fn limits_of(limits: &IoLimits) -> Option<[Option<u64>; 4]> {
    let all = [limits.read_iops, limits.write_iops, limits.read_bytes_per_s, limits.write_bytes_per_s];
    (!limits.is_empty()).then_some(all)
}

const PROBLEMS: [(&str, ScanProblem); 4] = [
    ("no_hierarchy", ScanProblem::NoHierarchy),
    ("controller_off", ScanProblem::ControllerOff),
    ("too_many_cgroups", ScanProblem::TooManyCgroups),
    ("not_permitted", ScanProblem::NotPermitted),
];

const VERSIONS: [(u8, CgroupHierarchy); 2] = [(1, CgroupHierarchy::V1), (2, CgroupHierarchy::V2)];

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_false(value: &bool) -> bool {
    !value
}
