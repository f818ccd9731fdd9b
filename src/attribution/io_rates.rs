//! Rates of reads and writes.

use crate::counters::IoCounters;

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
    pub(super) fn of(delta: &IoCounters, elapsed_s: f64) -> Self {
        Self {
            reads_per_s: delta.reads as f64 / elapsed_s,
            writes_per_s: delta.writes as f64 / elapsed_s,
            read_bytes_per_s: delta.read_bytes as f64 / elapsed_s,
            write_bytes_per_s: delta.write_bytes as f64 / elapsed_s,
        }
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
