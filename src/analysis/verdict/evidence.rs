//! Evidence as data: the facts and numbers that verdicts rest on. `report` makes sentences of them.

use super::Verdict;
use crate::analysis::caps::Plateau;
use crate::analysis::load::IoDirection;

/// The assessment of a device in one interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assessment {
    /// The verdict; `None` where the intervals so far do not show one.
    pub verdict: Option<Verdict>,
    /// Read latency as a multiple of unloaded latency; `None` where that is unknown.
    pub read_saturation: Option<f64>,
    /// Write latency as a multiple of unloaded latency; `None` where that is unknown.
    pub write_saturation: Option<f64>,
    /// The evidence for the verdict, or for its absence, the most important first.
    pub evidence: Vec<Evidence>,
}

/// A fact about one interval.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// Nothing completed and nothing in flight.
    Idle,
    /// Requests were in flight and none was completed.
    NothingCompleted {
        /// Requests in flight at the end of the interval.
        in_flight: u64,
        /// Seconds for which this has lasted, over several intervals.
        for_s: f64,
    },
    /// No read or write was completed whose time the kernel counts.
    NoLatency,
    /// The latency of a direction.
    Latency {
        /// Reads or writes.
        direction: IoDirection,
        /// The latency and its multiple of unloaded latency.
        latency: Latency,
    },
    /// The rate lies on a plateau.
    ConstantRate(Plateau),
}

/// A mean latency with the queue at which it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Milliseconds.
    pub await_ms: f64,
    /// Mean number of requests in the queue or being served.
    pub queue: f64,
    /// The multiple of unloaded latency; `None` where that is unknown.
    pub saturation: Option<f64>,
}

/// A hint at another cause than the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OtherCause {
    /// The device is far from saturated.
    FarFromSaturated {
        /// The 95th percentile of the multiple of unloaded latency.
        p95_saturation: f64,
    },
    /// The device is not saturated, because its queue is short.
    ShortQueue {
        /// The 99th percentile of the queue.
        p99_queue: f64,
    },
    /// Requests were issued one at a time, so that a high util is not a limit.
    OneAtATime {
        /// The median util in percent, at most 100.
        util_pct: f64,
        /// The mean queue while busy.
        queue: f64,
    },
    /// CPU time, in percent of all CPUs.
    Cpu {
        /// Idle, including the time in which a task waited for I/O.
        available_pct: f64,
        /// User mode.
        user_pct: f64,
        /// Kernel mode.
        system_pct: f64,
        /// Time taken by the hypervisor, where it is substantial.
        steal_pct: Option<f64>,
        /// CPU may be the bottleneck, because so little is available.
        is_short: bool,
    },
    /// Time in which tasks waited for I/O, in percent.
    IoPressure {
        /// At least one task waited.
        some_pct: f64,
        /// All non-idle tasks waited; `None` where it is unknown.
        full_pct: Option<f64>,
        /// Tasks hardly waited.
        is_low: bool,
    },
    /// Memory that waits to be written.
    DirtyMemory {
        /// Dirty memory in KiB, mean and maximum.
        dirty_kib: (f64, f64),
        /// Memory under writeback in KiB, mean and maximum; `None` without any.
        writeback_kib: Option<(f64, f64)>,
    },
    /// Writes are slow because the kernel writes memory back in bulk, and hardly any task waits for them.
    BackgroundWrites {
        /// The 95th percentile of the multiple of unloaded write latency.
        p95_saturation: f64,
        /// Percentage of the time in which a task waited for I/O.
        some_pct: f64,
        /// The most memory under writeback, in KiB.
        max_writeback_kib: f64,
    },
}
