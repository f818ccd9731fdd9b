//! Finds out if the latencies of flushes are certain: no two of a device were under way at once.

use std::collections::BTreeMap;

use crate::counters::{DeviceNumber, LatencyHistogram};

/// The flushes of a device since they are traced. The counts were read one after the other, in this order; flushes may have begun
/// and ended in the meantime.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DeviceFlushes {
    /// Those that a driver gave back, to be issued again.
    pub(super) requeued: u64,
    /// Those that ended.
    pub(super) completed: u64,
    /// Those that ended and were taken for the one that had begun last.
    pub(super) matched: u64,
    /// Those that began while the time at which an earlier one had begun was still kept.
    pub(super) overlapped: u64,
    /// Those that began.
    pub(super) issued: u64,
    /// Those whose time of beginning was kept.
    pub(super) begun: u64,
}

impl DeviceFlushes {
    /// Returns how many are under way at most, from the reading of `completed` to that of `issued`. Those that began before they
    /// were traced are not counted, so that the result is too low by as many once they have ended.
    fn under_way(&self) -> i64 {
        self.issued.wrapping_sub(self.requeued).wrapping_sub(self.completed).cast_signed()
    }

    /// Returns the least number of those that ended without one that had begun.
    fn unmatched(&self) -> u64 {
        self.completed.saturating_sub(self.matched)
    }

    /// Returns the least number of those whose time of beginning was lost.
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

/// The flushes of devices, as they were read so far.
///
/// From a time on at which no flush is under way, the first two that overlap are always noticed: the time of the earlier one
/// is still kept. After that, anything may be matched with anything, until none is under way again. What is noticed late, when
/// one ends without a beginning, is a flush that began before tracing did and ends while a later one is under way.
#[derive(Debug, Default)]
pub(super) struct FlushWatch {
    devices: BTreeMap<DeviceNumber, WatchedDevice>,
}

#[derive(Debug)]
struct WatchedDevice {
    /// The latencies when they were last taken.
    latencies: LatencyHistogram,
    /// All flushes since then are known to have come one after the other.
    is_certain: bool,
    /// The counts when no flush was under way; `None` if two overlapped since.
    idle: Option<DeviceFlushes>,
    /// The least result of [`DeviceFlushes::under_way`], which stands for none.
    none_under_way: i64,
}

impl FlushWatch {
    /// Takes note of the counts.
    pub(super) fn observe(&mut self, counts: &BTreeMap<DeviceNumber, DeviceFlushes>) {
        for (number, flushes) in counts {
            self.devices.entry(*number).or_default().observe(flushes, true);
        }
    }

    /// Returns whether a time at which no flush is under way is yet to be found for some device.
    pub(super) fn seeks_idle_device(&self) -> bool {
        self.devices.values().any(|device| device.idle.is_none())
    }

    /// Takes note of the counts, and returns the latencies of the flushes that ended since the last call, of the devices of
    /// which they are certain. The latencies were read before the counts.
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
    /// Takes note of the counts, and whether a time without a flush may be found in them.
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
        // Each begins while another one is under way whose time is not kept any more: no overlap is counted.
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
            // The ends were read before this one, the beginnings after it.
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
        // But the flushes before it are not certain.
        assert_eq!(kernel.read(&mut watch), 0);
    }

    /// Flushes at random, and the numbers by which they are chosen.
    #[derive(Default)]
    struct RandomFlushes {
        kernel: Kernel,
        /// The beginnings of those under way.
        under_way: Vec<u64>,
        /// The latencies of those that ended since the last reading of latencies.
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

        /// Reads the counts one after the other. Now and then something happens in the meantime.
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
