//! The header of a recording: the host that was recorded, its devices, and the baselines for them. It takes several
//! lines if they are many.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::annotation::{BaselinesLine, DevicesLine, nanoseconds, write_annotation};
use super::limits::MAX_LINE_BYTES;
use crate::baselines::RecordedBaselines;
use crate::topology::{Machine, Node, Topology, bounded_text};

/// The length in bytes above which a list of devices or baselines continues on further lines, because readers skip
/// lines that are too long.
const MAX_LIST_BYTES: usize = MAX_LINE_BYTES / 2;

/// The header of a recording, whose first line it is. Values that are not known are `None`, or an empty topology.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordingHeader {
    /// The version of blkstat that made the recording.
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The kernel's release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The kernel's random identifier of this boot (`/proc/sys/kernel/random/boot_id`).
    #[serde(alias = "boot", skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// The number of CPUs, including those that are offline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<usize>,
    /// The machine as its firmware identifies itself.
    #[serde(skip_serializing_if = "Machine::is_unknown")]
    pub machine: Machine,
    /// The requested time between samples.
    #[serde(rename = "interval_ns", alias = "every_ns", with = "nanoseconds")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// The block devices and how they are stacked.
    #[serde(rename = "devices")]
    pub topology: Topology,
    /// The baselines that were given or saved for them.
    #[serde(skip)]
    pub baselines: RecordedBaselines,
}

impl RecordingHeader {
    /// Returns the header with shortened texts about the machine and its devices.
    pub(super) fn bounded(self) -> Self {
        let topology = Topology::new(bounded(self.topology.into()));
        Self { machine: self.machine.bounded(), topology, ..self }
    }
}

/// Shortens what the devices of a recording say of themselves.
pub(super) fn bounded(mut devices: Vec<Node>) -> Vec<Node> {
    for model in devices.iter_mut().filter_map(|node| node.model.as_mut()) {
        *model = bounded_text(model);
    }
    devices
}

/// Appends the lines that begin a recording, and that are repeated when the devices change.
pub fn write_header(header: &RecordingHeader, out: &mut Vec<u8>) {
    let mut lists = split_list(header.topology.nodes().iter().filter_map(shorten)).into_iter();
    let topology = Topology::new(lists.next().unwrap_or_default());
    write_annotation(&RecordingHeader { topology, ..header.clone() }, out);
    lists.for_each(|devices| write_annotation(&DevicesLine { devices }, out));
    let baselines = header.baselines.iter().filter(|baseline| json_bytes(baseline) <= MAX_LIST_BYTES);
    for baselines in split_list(baselines.cloned()) {
        write_annotation(&BaselinesLine { baselines }, out);
    }
}

/// Divides a list into lists that fit on a line.
fn split_list<T: Serialize>(elements: impl Iterator<Item = T>) -> Vec<Vec<T>> {
    let mut lists: Vec<Vec<T>> = Vec::new();
    let mut free_bytes = 0;
    for element in elements {
        let bytes = json_bytes(&element);
        match lists.last_mut() {
            Some(list) if bytes <= free_bytes => list.push(element),
            _ => {
                free_bytes = MAX_LIST_BYTES;
                lists.push(vec![element]);
            }
        }
        free_bytes -= bytes;
    }
    lists
}

/// Returns the length of an element in a list of JSON, with its comma.
fn json_bytes(element: &impl Serialize) -> usize {
    serde_json::to_vec(element).map_or(usize::MAX, |json| json.len() + 1)
}

/// Returns a device that fits on a line. Leaves out its last mount points if it has too many; `None` if it does not fit
/// even without any.
fn shorten(node: &Node) -> Option<Node> {
    let mut node = node.clone();
    while json_bytes(&node) > MAX_LIST_BYTES {
        let half = node.mountpoints.len().checked_sub(1)? / 2;
        node.mountpoints.truncate(half);
    }
    Some(node)
}
