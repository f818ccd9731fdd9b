//! The number of requests that devices completed, of which some are matched.

use std::collections::{BTreeMap, BTreeSet};

use crate::counters::{DeviceNumber, LatencyHistogram, LatencyKey, LatencySpan, RequestKind, TracedIo};

/// Bios that only flush. The kernel counts such a bio as a write, and the flush itself in addition, but no write can be
/// matched.
#[derive(Default)]
pub(super) struct EmptyFlushes {
    /// The bios that were submitted before the last reading and not completed yet, by device.
    waiting: BTreeMap<DeviceNumber, u64>,
}

impl EmptyFlushes {
    /// Subtracts the flushes submitted since the last call from the completed writes that were not traced. Flushes that
    /// have not been completed yet may be completed until the next call.
    pub(super) fn leave_out(&mut self, submitted: &BTreeMap<DeviceNumber, u64>, counted: &mut TracedIo) {
        let before = std::mem::take(&mut self.waiting);
        let numbers = before.keys().chain(submitted.keys()).copied().collect::<BTreeSet<_>>();
        for number in numbers {
            let [before, submitted] =
                [&before, submitted].map(|counts| counts.get(&number).copied().unwrap_or(0));
            let key = LatencyKey { number, kind: RequestKind::Write, span: LatencySpan::Device };
            let traced = counted.latencies.get(&key).map_or(0, LatencyHistogram::count);
            let [_, writes, ..] = counted.completed.entry(number).or_default();
            let completed = writes.saturating_sub(traced).min(before + submitted);
            *writes -= completed;
            self.waiting.insert(number, (before + submitted - completed).min(submitted));
        }
        counted.completed.retain(|_, counts| *counts != [0; 4]);
    }
}

/// Requests that were completed after a device's counters were read but before the histograms were, so that they belong
/// to the next reading of the counters.
#[derive(Default)]
pub(super) struct Surplus {
    /// By device and kind of request.
    ahead: BTreeMap<DeviceNumber, [u64; 4]>,
}

impl Surplus {
    /// Counts the traced requests as completed, and makes sure that those not yet in the counters are not counted again
    /// later.
    pub(super) fn settle(&mut self, counted: &mut TracedIo) {
        let mut traced: BTreeMap<DeviceNumber, [u64; 4]> = BTreeMap::new();
        for (key, histogram) in counted.latencies.iter().filter(|(key, _)| key.span == LatencySpan::Device) {
            let counts = traced.entry(key.number).or_default();
            let kinds = counts.iter_mut().zip(RequestKind::ALL);
            kinds.filter(|(_, kind)| *kind == key.kind).for_each(|(count, _)| *count += histogram.count());
        }
        let numbers = counted.completed.keys().chain(traced.keys()).copied().collect::<BTreeSet<_>>();
        for number in numbers {
            let completed = counted.completed.entry(number).or_default();
            let ahead = self.ahead.entry(number).or_default();
            let traced = traced.get(&number).copied().unwrap_or_default();
            for ((completed, ahead), traced) in completed.iter_mut().zip(ahead).zip(traced) {
                let known = (*completed).min(*ahead);
                *completed -= known;
                *ahead = *ahead - known + traced.saturating_sub(*completed);
                *completed = (*completed).max(traced);
            }
        }
        counted.completed.retain(|_, counts| *counts != [0; 4]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::LatencyBucket;

    const DISK: DeviceNumber = (8, 0);

    /// Returns the counts of completed writes and of traced latencies of writes.
    fn counted(completed: u64, traced: u64) -> TracedIo {
        let mut histogram = LatencyHistogram::default();
        histogram.add(LatencyBucket { lower_ns: 0, upper_ns: 9, count: traced, sum_ns: traced });
        let key = LatencyKey { number: DISK, kind: RequestKind::Write, span: LatencySpan::Device };
        TracedIo {
            completed: BTreeMap::from([(DISK, [0, completed, 0, 0])]),
            latencies: BTreeMap::from([(key, histogram)]),
            ..TracedIo::default()
        }
    }

    fn writes(counted: &TracedIo) -> Option<u64> {
        counted.completed.get(&DISK).map(|counts| counts[1])
    }

    #[test]
    fn a_bio_that_only_flushes_is_no_write_to_be_matched() {
        let mut flushes = EmptyFlushes::default();
        let mut left = |submitted: u64, completed: u64, traced: u64| {
            let mut counted = counted(completed, traced);
            flushes.leave_out(&BTreeMap::from([(DISK, submitted)]), &mut counted);
            writes(&counted)
        };
        // 150 writes with a flush after each: 300 writes to the kernel.
        assert_eq!(left(150, 300, 150), Some(150));
        // One flush is completed only in the next interval, in which one write is not matched.
        assert_eq!([left(10, 19, 10), left(10, 22, 10)], [Some(10), Some(11)]);
        // No flush is kept for longer.
        assert_eq!([left(5, 3, 3), left(0, 4, 4), left(0, 7, 2)], [Some(3), Some(4), Some(7)]);
        assert_eq!(left(5, 5, 0), None);
    }

    #[test]
    fn a_request_that_was_completed_between_two_readings_counts_once() {
        let mut surplus = Surplus::default();
        let mut settled = |completed: u64, traced: u64| {
            let mut counted = counted(completed, traced);
            surplus.settle(&mut counted);
            writes(&counted)
        };
        // Two requests are in the counters only next time, and one was not traced at all.
        assert_eq!([settled(10, 12), settled(10, 7), settled(0, 0)], [Some(12), Some(8), None]);
        assert_eq!([settled(0, 5), settled(3, 0), settled(3, 1)], [Some(5), None, Some(1)]);
    }
}
