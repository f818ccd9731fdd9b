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
use crate::counters::{BlockedTask, BusyProcess, Cgroup, CgroupHierarchy, ScanProblem, ScannedDevice};

/// A scan, or a part of one: a long scan takes several lines. Its counters and pressures are growth.
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
    devices: Vec<ScannedDevice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cgroups: Vec<Cgroup>,
    /// The use by all processes; `None` until they have been read twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<RecordedProcesses>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    busiest: Vec<BusyProcess>,
    /// The read of a process that hangs.
    #[serde(skip_serializing_if = "Option::is_none")]
    hung_read: Option<RecordedHungRead>,
    /// True if the scan looked for blocked tasks.
    #[serde(skip_serializing_if = "is_false")]
    has_blocked: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocked: Vec<BlockedTask>,
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
