//! Lines of captures and of recordings.

use serde_json::json;

/// A line of a device, with its numbers, after so many reads of 4 KiB that took so long together.
pub(crate) fn reads_line(device: &str, reads: u64, ms: u64, in_flight: u64, busy_ms: u64) -> String {
    let sectors = 8 * reads;
    format!("{device} {reads} 0 {sectors} {ms} 0 0 0 0 {in_flight} {busy_ms} {ms} 0 0 0 0 0 0\n")
}

/// The line that ends the sample of a recording.
pub(crate) fn end_of_sample(second: u64) -> String {
    format!("#blkstat {}\n", json!({"monotonic_ns": 1_000_000_000 * second, "complete": true}))
}
