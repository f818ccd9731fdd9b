//! Causes other than the disk, as far as the numbers of one device show them. `report` turns them into sentences.

/// A hint at a cause other than the device.
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
