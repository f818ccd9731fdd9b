//! Finds out if the latencies of flushes are certain, because no two of a device were under way at once.

use std::collections::BTreeMap;

use crate::counters::{DeviceNumber, LatencyHistogram};

/// The flushes of a device since tracing began. The counts were read one after the other, in this order; flushes may
/// have begun and ended in the meantime.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DeviceFlushes {
    /// Flushes that a driver gave back, to be issued again.
    pub(super) requeued: u64,
    /// Flushes that ended.
    pub(super) completed: u64,
    /// Flushes that ended and were matched with the last one that had begun.
    pub(super) matched: u64,
    /// Flushes that began while the start time of an earlier one was still stored.
    pub(super) overlapped: u64,
    /// Flushes that began.
    pub(super) issued: u64,
    /// Flushes whose start time was stored.
    pub(super) begun: u64,
}

impl DeviceFlushes {
    /// Returns an upper bound of the number under way, from the reading of `completed` to that of `issued`. Flushes
    /// that began before tracing did are not counted, so the result is too low by their number once they have ended.
    fn under_way(&self) -> i64 {
        self.issued.wrapping_sub(self.requeued).wrapping_sub(self.completed).cast_signed()
    }

    /// Returns the least number of flushes that ended without being matched with a start.
    fn unmatched(&self) -> u64 {
        self.completed.saturating_sub(self.matched)
    }

    /// Returns the least number of flushes whose start time was lost.
    fn lost(&self) -> u64 {
        self.issued.saturating_sub(self.begun)
    }

    /// Returns whether each flush since `idle`, when none was under way, ended before the next one began.
    fn is_orderly_since(&self, idle: &Self) -> bool {
        self.overlapped == idle.overlapped
            && self.requeued == idle.requeued
            && self.unmatched() <= idle.unmatched()
            && self.lost() <= idle.lost()
    }
}

/// The flushes of devices, as read so far.
///
/// After a time at which no flush was under way, the first two that overlap are always noticed, because the start time
/// of the earlier one is still stored. From then on, any end may be matched with any start, until no flush is under way
/// again. A flush that began before tracing did and ends while a later one is under way is noticed only late, when a
/// flush ends without a start.
#[derive(Debug, Default)]
pub(super) struct FlushWatch {
    devices: BTreeMap<DeviceNumber, WatchedDevice>,
}

#[derive(Debug)]
struct WatchedDevice {
    /// The latencies as last taken.
    latencies: LatencyHistogram,
    /// True if all flushes since then are known to have come one after the other.
    is_certain: bool,
    /// The counts at a time when no flush was under way; `None` if two have overlapped since.
    idle: Option<DeviceFlushes>,
    /// The lowest result of [`DeviceFlushes::under_way`] so far, which means that none was under way.
    none_under_way: i64,
}

impl FlushWatch {
    /// Takes new counts.
    pub(super) fn observe(&mut self, counts: &BTreeMap<DeviceNumber, DeviceFlushes>) {
        for (number, flushes) in counts {
            self.devices.entry(*number).or_default().observe(flushes, true);
        }
    }

    /// Returns whether some device still needs a time at which no flush is under way.
    pub(super) fn seeks_idle_device(&self) -> bool {
        self.devices.values().any(|device| device.idle.is_none())
    }

    /// Takes new counts, and returns the latencies of the flushes that ended since the last call, for the devices for
    /// which they are certain. The latencies must have been read before the counts.
    pub(super) fn take_certain(
        &mut self,
        latencies: BTreeMap<DeviceNumber, LatencyHistogram>,
        counts: &BTreeMap<DeviceNumber, DeviceFlushes>,
    ) -> Vec<(DeviceNumber, LatencyHistogram)> {
        for (number, flushes) in counts {
            // If one ended in between, its latency belongs to the next call, and it may have overlapped another one.
            let is_complete = latencies.get(number).map_or(0, LatencyHistogram::count) == flushes.matched;
            self.devices.entry(*number).or_default().observe(flushes, is_complete);
        }
        let mut certain = Vec::new();
        for (number, latencies) in latencies {
            let device = self.devices.entry(number).or_default();
            let added = latencies.since(&device.latencies);
            if device.is_certain && added.count() > 0 {
                certain.push((number, added));
            }
            device.latencies = latencies;
        }
        self.devices.values_mut().for_each(|device| device.is_certain = device.idle.is_some());
        certain
    }
}

impl Default for WatchedDevice {
    /// A device that has not flushed since tracing began.
    fn default() -> Self {
        let latencies = LatencyHistogram::default();
        Self { latencies, is_certain: true, idle: Some(DeviceFlushes::default()), none_under_way: 0 }
    }
}

impl WatchedDevice {
    /// Takes new counts; `may_be_idle` allows them to be used as a time at which no flush was under way.
    fn observe(&mut self, flushes: &DeviceFlushes, may_be_idle: bool) {
        let is_orderly = self.idle.is_some_and(|idle| flushes.is_orderly_since(&idle));
        self.is_certain &= is_orderly;
        self.none_under_way = self.none_under_way.min(flushes.under_way());
        if may_be_idle && flushes.under_way() == self.none_under_way {
            self.idle = Some(*flushes);
        } else if !is_orderly {
            self.idle = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::LatencyBucket;

    /// A device as the triggers of the kernel see it.
    #[derive(Default)]
    struct Kernel {
        counts: DeviceFlushes,
        latencies: LatencyHistogram,
        open: Option<u64>,
        now: u64,
    }

    impl Kernel {
        fn begin(&mut self) {
            self.now += 1000;
            self.counts.overlapped += u64::from(self.open.is_some());
            self.counts.issued += 1;
            self.counts.begun += 1;
            self.open = Some(self.now);
        }

        fn end(&mut self) {
            self.now += 1000;
            self.counts.completed += 1;
            if let Some(begin) = self.open.take() {
                let lat = self.now - begin;
                let bucket = LatencyBucket { lower_ns: lat, upper_ns: lat, count: 1, sum_ns: lat };
                self.latencies.add(bucket);
                self.counts.matched += 1;
            }
        }

        /// A flush that ends before anything else happens.
        fn flush(&mut self) {
            self.begin();
            self.end();
        }

        fn requeue(&mut self) {
            self.counts.requeued += 1;
        }

        fn counts(&self) -> BTreeMap<DeviceNumber, DeviceFlushes> {
            BTreeMap::from([((8, 0), self.counts)])
        }

        /// Returns the number of certain latencies.
        fn read(&self, watch: &mut FlushWatch) -> u64 {
            let latencies = BTreeMap::from([((8, 0), self.latencies.clone())]);
            let certain = watch.take_certain(latencies, &self.counts());
            certain.iter().map(|(_, latencies)| latencies.count()).sum()
        }
    }

    #[test]
    fn flushes_one_after_the_other_are_certain_also_while_one_is_under_way() {
        let (mut kernel, mut watch) = (Kernel::default(), FlushWatch::default());
        for _ in 0..3 {
            kernel.flush();
        }
        assert_eq!(kernel.read(&mut watch), 3);
        kernel.begin();
        assert_eq!(kernel.read(&mut watch), 0);
        kernel.end();
        kernel.begin();
        assert_eq!(kernel.read(&mut watch), 1);
        kernel.end();
        assert_eq!([kernel.read(&mut watch), kernel.read(&mut watch)], [1, 0]);
    }

    #[test]
    fn after_an_overlap_nothing_is_certain_until_none_is_under_way() {
        let (mut kernel, mut watch) = (Kernel::default(), FlushWatch::default());
        kernel.begin();
        kernel.flush();
        assert_eq!(kernel.read(&mut watch), 0);
        // Each flush begins while another is under way whose start time is no longer stored: no overlap is counted.
        for _ in 0..3 {
            kernel.flush();
            assert_eq!((kernel.read(&mut watch), kernel.counts.overlapped), (0, 1));
        }
        kernel.end();
        assert_eq!(kernel.read(&mut watch), 0);
        kernel.flush();
        assert_eq!(kernel.read(&mut watch), 1);
    }

    #[test]
    fn a_flush_from_before_the_trace_is_noticed() {
        let (mut kernel, mut watch) = (Kernel::default(), FlushWatch::default());
        kernel.flush();
        // The old one.
        kernel.end();
        assert_eq!(kernel.read(&mut watch), 0);
        kernel.begin();
        assert_eq!(kernel.read(&mut watch), 0);
        kernel.end();
        assert_eq!(kernel.read(&mut watch), 1);
    }

    #[test]
    fn a_flush_that_is_issued_again_is_not_certain_but_the_next_one_is() {
        let (mut kernel, mut watch) = (Kernel::default(), FlushWatch::default());
        kernel.begin();
        kernel.requeue();
        kernel.flush();
        assert_eq!(kernel.read(&mut watch), 0);
        kernel.flush();
        assert_eq!(kernel.read(&mut watch), 1);
    }

    #[test]
    fn flushes_are_certain_also_if_one_begins_or_ends_while_the_counts_are_read() {
        let (mut kernel, mut watch) = (Kernel::default(), FlushWatch::default());
        kernel.flush();
        assert_eq!(kernel.read(&mut watch), 1);
        for _ in 0..3 {
            let before = kernel.counts;
            kernel.begin();
            // The ends were read before this flush, the starts after it.
            let torn = DeviceFlushes { issued: kernel.counts.issued, begun: kernel.counts.begun, ..before };
            watch.observe(&BTreeMap::from([((8, 0), torn)]));
            assert!(!watch.seeks_idle_device());
            kernel.end();
        }
        assert_eq!(kernel.read(&mut watch), 3);
    }

    #[test]
    fn a_time_without_a_flush_is_sought_after_an_overlap() {
        let (mut kernel, mut watch) = (Kernel::default(), FlushWatch::default());
        kernel.begin();
        kernel.flush();
        watch.observe(&kernel.counts());
        assert!(watch.seeks_idle_device());
        kernel.end();
        watch.observe(&kernel.counts());
        assert!(!watch.seeks_idle_device());
        // However, the flushes before it are not certain.
        assert_eq!(kernel.read(&mut watch), 0);
    }

    /// Random flushes, and the random numbers that choose them.
    #[derive(Default)]
    struct RandomFlushes {
        kernel: Kernel,
        /// The start times of the flushes under way.
        under_way: Vec<u64>,
        /// The latencies of the flushes that ended since the last reading of latencies.
        ended_ns: Vec<u64>,
        state: u64,
    }

    impl RandomFlushes {
        fn random(&mut self, below: usize) -> usize {
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.state >> 33) as usize % below
        }

        /// Begins or ends a flush, seldom a second one at the same time.
        fn step(&mut self) {
            // No two latencies are the same.
            self.kernel.now += self.random(1 << 30) as u64;
            let may_begin = self.under_way.is_empty() || self.under_way.len() < 3 && self.random(8) == 0;
            match self.random(5) {
                0 | 1 if may_begin => {
                    self.kernel.begin();
                    self.under_way.push(self.kernel.now);
                }
                2 | 3 if !self.under_way.is_empty() => {
                    self.kernel.end();
                    let ended = self.random(self.under_way.len());
                    self.ended_ns.push(self.kernel.now - self.under_way.remove(ended));
                }
                _ => {}
            }
        }

        fn pause(&mut self) {
            if self.random(4) == 0 {
                (0..self.random(4)).for_each(|_| self.step());
            }
        }

        /// Reads the counts one after the other. Sometimes a flush begins or ends in between.
        fn read(&mut self) -> BTreeMap<DeviceNumber, DeviceFlushes> {
            let mut counts = DeviceFlushes::default();
            let parts: [fn(&mut DeviceFlushes) -> &mut u64; 6] = [
                |counts| &mut counts.requeued,
                |counts| &mut counts.completed,
                |counts| &mut counts.matched,
                |counts| &mut counts.overlapped,
                |counts| &mut counts.issued,
                |counts| &mut counts.begun,
            ];
            for part in parts {
                *part(&mut counts) = *part(&mut self.kernel.counts);
                self.pause();
            }
            BTreeMap::from([((8, 0), counts)])
        }
    }

    #[test]
    fn every_certain_latency_is_true() {
        let mut certain = 0;
        for seed in 0..2000 {
            let mut flushes = RandomFlushes { state: seed, ..RandomFlushes::default() };
            let mut watch = FlushWatch::default();
            for _ in 0..20 {
                (0..flushes.random(12)).for_each(|_| flushes.step());
                if flushes.random(2) == 0 {
                    watch.observe(&flushes.read());
                }
                let latencies = BTreeMap::from([((8, 0), flushes.kernel.latencies.clone())]);
                let ended_ns = std::mem::take(&mut flushes.ended_ns);
                flushes.pause();
                let found = watch.take_certain(latencies, &flushes.read());
                let buckets = found.iter().flat_map(|(_, latencies)| latencies.buckets());
                for bucket in buckets {
                    certain += bucket.count;
                    // A flush of an earlier overlap may have ended while the counts were read last.
                    let is_true = bucket.count == 1 && ended_ns.contains(&bucket.lower_ns);
                    assert!(is_true, "seed {seed}: {bucket:?} {ended_ns:?}");
                }
            }
        }
        assert!(certain > 10_000, "{certain}");
    }
}
