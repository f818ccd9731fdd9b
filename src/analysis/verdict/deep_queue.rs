//! Saturation of a hard disk, which can be shown without a baseline: it has one or two actuators, so the requests of a
//! deep queue wait for each other.

use crate::analysis::load::{IoDirection, LoadSample};
use crate::analysis::thresholds::{
    MAX_HARD_DISK_ACCESS_MS, MIN_DEEP_QUEUE, MIN_DEEP_QUEUE_BUSY_FRACTION, MIN_HARD_DISK_KIB_PER_MS,
};

/// A deep queue at a hard disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeepQueue {
    /// Mean number of reads and writes in the queue or being served.
    pub queue: f64,
    pub await_ms: f64,
}

impl DeepQueue {
    /// The deep queue of a load at a hard disk; `None` if the queue is not deep all the time, or if requests take less
    /// than `saturation_threshold` times as long as a slow hard disk needs for a single one. The latter excludes
    /// volumes of several disks, or of other media, that only claim to be a hard disk.
    pub(super) fn of(load: &LoadSample, saturation_threshold: f64) -> Option<Self> {
        let totals = load.totals(IoDirection::Both);
        let (queue, await_ms) = (load.queue(IoDirection::Both), totals.await_ms()?);
        let alone_ms = MAX_HARD_DISK_ACCESS_MS + totals.size_kib()? / MIN_HARD_DISK_KIB_PER_MS;
        let is_busy = load.busy_s.is_some_and(|busy_s| busy_s >= MIN_DEEP_QUEUE_BUSY_FRACTION * load.seconds);
        let is_deep = is_busy && queue >= MIN_DEEP_QUEUE && await_ms >= saturation_threshold * alone_ms;
        is_deep.then_some(Self { queue, await_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    /// Reads of a size at a queue of 16, in a second.
    fn load(ios: f64, size_kib: f64) -> LoadSample {
        let reads = IoTotals { ios, kib: ios * size_kib, ms: 16_000.0 };
        LoadSample { seconds: 1.0, intervals: 1.0, reads, busy_s: Some(1.0), ..LoadSample::default() }
    }

    #[test]
    fn requests_that_wait_for_one_actuator_saturate_it() {
        assert_eq!(DeepQueue::of(&load(200.0, 4.0), 3.0), Some(DeepQueue { queue: 16.0, await_ms: 80.0 }));
        // Large requests take longer, even a single one.
        assert_eq!(DeepQueue::of(&load(300.0, 4.0), 3.0).map(|deep| deep.queue), Some(16.0));
        assert_eq!(DeepQueue::of(&load(300.0, 1024.0), 3.0), None);
        // A higher threshold is not reached.
        assert_eq!(DeepQueue::of(&load(200.0, 4.0), 6.0), None);
    }

    #[test]
    fn other_loads_say_nothing() {
        // Several disks, or an SSD.
        assert_eq!(DeepQueue::of(&load(1000.0, 4.0), 3.0), None);
        // A short queue.
        assert_eq!(DeepQueue::of(&LoadSample { seconds: 4.0, ..load(200.0, 4.0) }, 3.0), None);
        // A burst, and a kernel that does not count the time with requests in flight.
        assert_eq!(DeepQueue::of(&LoadSample { busy_s: Some(0.5), ..load(200.0, 4.0) }, 3.0), None);
        assert_eq!(DeepQueue::of(&LoadSample { busy_s: None, ..load(200.0, 4.0) }, 3.0), None);
    }
}
