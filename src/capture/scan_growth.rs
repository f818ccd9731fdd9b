//! A scan of cgroups and processes as a recording has it. `recorded_scan` writes and reads it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::counters::{
    BlockedTask, BusyProcess, Cgroup, HungRead, ProcessIo, ScanProblem, ScannedDevice,
};

/// A scan with the growth of its counters and pressures since the scan before, as it is written; or a part of one: a
/// long scan takes several lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ScanGrowth {
    /// The monotonic time of the scan; only in its first part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) at_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cgroup_version: Option<u8>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) skipped: u64,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub(super) problem: Option<ScanProblem>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) devices: Vec<ScannedDevice>,
    /// By path, so that parents precede their children as in a scan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) cgroups: Vec<Cgroup>,
    /// The use by all processes; `None` if they were not read anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) processes: Option<ProcessIo>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) busiest: Vec<BusyProcess>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) are_processes_late: bool,
    /// The read of a process that hangs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hung_read: Option<HungRead>,
    /// True if the scan looked for blocked tasks.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) has_blocked: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) blocked: Vec<BlockedTask>,
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads a value; `None` for one that only a later version knows.
pub(super) fn known<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}
