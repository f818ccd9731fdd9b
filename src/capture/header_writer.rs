//! Writes the header of a recording.

use serde::Serialize;

use super::annotation::Annotation;
use super::limits::MAX_LINE_BYTES;
use super::recording_header::RecordingHeader;
use crate::baselines::RecordedBaselines;
use crate::topology::Node;

/// The length in bytes above which a list of devices or baselines continues on further lines, because readers skip
/// lines that are too long.
const MAX_LIST_BYTES: usize = MAX_LINE_BYTES / 2;

/// Appends the lines that begin a recording, and that are repeated when the devices change.
pub fn write_header(header: &RecordingHeader, out: &mut Vec<u8>) {
    let mut line = Annotation::header(header);
    let mut length = 0;
    for node in header.topology.nodes() {
        let Some((node, node_bytes)) = shorten(node) else { continue };
        if length > 0 && length + node_bytes > MAX_LIST_BYTES {
            line.write(out);
            line = Annotation::more_devices();
            length = 0;
        }
        line.push_device(node);
        length += node_bytes;
    }
    line.write(out);
    write_baselines(&header.baselines, out);
}

/// Appends the lines with the baselines; none without baselines.
fn write_baselines(baselines: &RecordedBaselines, out: &mut Vec<u8>) {
    let mut line = Annotation::more_baselines();
    let mut length = 0;
    for baseline in baselines.iter() {
        let bytes = json_bytes(baseline);
        if bytes > MAX_LIST_BYTES {
            continue;
        }
        if length > 0 && length + bytes > MAX_LIST_BYTES {
            line.write(out);
            line = Annotation::more_baselines();
            length = 0;
        }
        line.push_baseline(baseline.clone());
        length += bytes;
    }
    if length > 0 {
        line.write(out);
    }
}

/// Returns the length of an element in a list of JSON, with its comma.
fn json_bytes(element: &impl Serialize) -> usize {
    serde_json::to_vec(element).map_or(usize::MAX, |json| json.len() + 1)
}

/// Returns a device that fits on a line, and its length in bytes. Leaves out its last mount points if it has too many;
/// `None` if it does not fit even without any.
fn shorten(node: &Node) -> Option<(Node, usize)> {
    let mut node = node.clone();
    loop {
        let length = json_bytes(&node);
        if length <= MAX_LIST_BYTES {
            return Some((node, length));
        }
        let half = node.mountpoints.len().checked_sub(1)? / 2;
        node.mountpoints.truncate(half);
    }
}
