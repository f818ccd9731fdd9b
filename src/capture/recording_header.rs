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

/// The header of a recording. Values that are not known are `None`, or an empty topology.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordingHeader {
    /// The version of blkstat that made the recording.
    pub version: String,
    pub host: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The kernel's random identifier of this boot (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: Option<String>,
    /// The number of CPUs, including those that are offline.
    pub cpus: Option<usize>,
    /// The machine as its firmware identifies itself.
    pub machine: Machine,
    /// The requested time between samples.
    pub interval: Option<Duration>,
    /// The block devices and how they are stacked.
    pub topology: Topology,
    /// The baselines that were given or saved for them.
    pub baselines: RecordedBaselines,
}

impl RecordingHeader {
    /// Returns whether both headers are known to be from different hosts.
    pub(super) fn is_other_host(&self, other: &Self) -> bool {
        differ(self.host.as_ref(), other.host.as_ref())
    }

    /// Returns whether the host is known to have been rebooted between the two headers.
    pub(super) fn is_other_boot(&self, other: &Self) -> bool {
        differ(self.boot_id.as_ref(), other.boot_id.as_ref())
    }
}

/// The first line of a header.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct HeaderLine {
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    #[serde(alias = "boot", skip_serializing_if = "Option::is_none")]
    boot_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<usize>,
    #[serde(skip_serializing_if = "Machine::is_unknown")]
    machine: Machine,
    #[serde(alias = "every_ns", skip_serializing_if = "Option::is_none")]
    interval_ns: Option<u64>,
    devices: Vec<Node>,
}

impl From<HeaderLine> for RecordingHeader {
    fn from(line: HeaderLine) -> Self {
        Self {
            version: line.version,
            host: line.host,
            kernel: line.kernel,
            boot_id: line.boot_id,
            cpus: line.cpus,
            machine: line.machine.bounded(),
            interval: line.interval_ns.map(Duration::from_nanos),
            topology: Topology::new(bounded(line.devices)),
            baselines: RecordedBaselines::default(),
        }
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
    let first = HeaderLine {
        version: header.version.clone(),
        host: header.host.clone(),
        kernel: header.kernel.clone(),
        boot_id: header.boot_id.clone(),
        cpus: header.cpus,
        machine: header.machine.clone(),
        interval_ns: header.interval.and_then(nanoseconds),
        devices: lists.next().unwrap_or_default(),
    };
    write_annotation(&first, out);
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

fn differ<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a != b)
}
