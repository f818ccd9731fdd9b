//! The header of a recording: the host that was recorded, and its devices.

use std::time::Duration;

use super::annotation::Annotation;
use super::line_reader::MAX_LINE_BYTES;
use crate::topology::{Node, Topology};

/// A longer list of devices continues on further lines, because readers skip lines that are too long.
const MAX_DEVICE_LIST_BYTES: usize = MAX_LINE_BYTES / 2;

/// The header of a recording. Values that are not known are `None`, or an empty topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingHeader {
    /// The version of blkstat that made the recording.
    pub version: String,
    /// The host's name.
    pub host: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The kernel's random identifier of this boot (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: Option<String>,
    /// The number of CPUs, including those that are offline.
    pub cpus: Option<usize>,
    /// The requested time between samples.
    pub interval: Option<Duration>,
    /// The block devices and how they are stacked.
    pub topology: Topology,
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

fn differ<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a != b)
}

/// Appends the lines that begin a recording. They are repeated when the devices change.
pub fn write_header(header: &RecordingHeader, out: &mut Vec<u8>) {
    let mut line = Annotation::header(header);
    let mut length = 0;
    for node in header.topology.nodes() {
        let Some((node, node_bytes)) = shorten(node) else { continue };
        if length > 0 && length + node_bytes > MAX_DEVICE_LIST_BYTES {
            line.write(out);
            line = Annotation::more_devices();
            length = 0;
        }
        line.push_device(node);
        length += node_bytes;
    }
    line.write(out);
}

/// Returns a device that fits into a line, with its length in bytes. If it has too many mount points, the last ones are
/// removed; `None` if it does not fit even without mount points.
fn shorten(node: &Node) -> Option<(Node, usize)> {
    let json_bytes = |node: &Node| serde_json::to_vec(node).map_or(usize::MAX, |json| json.len() + 1);
    let mut node = node.clone();
    loop {
        let length = json_bytes(&node);
        if length <= MAX_DEVICE_LIST_BYTES {
            return Some((node, length));
        }
        let half = node.mountpoints.len().checked_sub(1)? / 2;
        node.mountpoints.truncate(half);
    }
}
