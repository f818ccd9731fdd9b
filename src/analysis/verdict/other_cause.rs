//! Other causes than the disk, as data. `report` makes sentences of them.

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
