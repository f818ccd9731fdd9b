//! Matches the requests that devices completed with those that were traced.

use std::collections::{BTreeMap, BTreeSet};

use crate::counters::DeviceNumber;
use crate::latency::traced_io::{LatencyHistogram, LatencyKey, RequestKind, TracedIo};

/// The completed requests of each device: reads, writes and discards.
pub(super) type Completed = BTreeMap<DeviceNumber, [u64; 3]>;

/// Returns the completed requests that can be matched, from those of the counters, which also count flushes. The kernel
/// counts a bio that only flushes as a write, and the flush itself in addition; so for each flush, a write that was not
/// traced is left out.
pub(super) fn without_empty_flushes(
    counters: &BTreeMap<DeviceNumber, [u64; 4]>,
    latencies: &BTreeMap<LatencyKey, LatencyHistogram>,
) -> Completed {
    let mut matchable = Completed::new();
    for (number, [reads, writes, discards, flushes]) in counters {
        let key = LatencyKey {
            number: *number,
            kind: RequestKind::Write,
        };
        let traced = latencies.get(&key).map_or(0, LatencyHistogram::count);
        let empty_flushes = writes.saturating_sub(traced).min(*flushes);
        let counts = [*reads, writes - empty_flushes, *discards];
        if counts != [0; 3] {
            matchable.insert(*number, counts);
        }
    }
    matchable
}

/// Requests that were completed after a device's counters were read but before the histograms were, so that they belong
/// to the next reading of the counters.
#[derive(Default)]
pub(super) struct Surplus {
    /// By device and kind of request.
    ahead: Completed,
}

impl Surplus {
    /// Counts the traced requests as completed, and makes sure that those not yet in the counters are not counted again
    /// later.
    pub(super) fn settle(&mut self, counted: &mut TracedIo) {
        let mut traced = Completed::new();
        for (key, histogram) in &counted.latencies {
            let counts: &mut [u64; 3] = traced.entry(key.number).or_default();
            counts[key.kind as usize] += histogram.count();
        }
        let mut numbers = BTreeSet::from_iter(counted.completed.keys().copied());
        numbers.extend(traced.keys());
        for number in numbers {
            let completed = counted.completed.entry(number).or_default();
            let ahead = self.ahead.entry(number).or_default();
            let traced = traced.get(&number).copied().unwrap_or_default();
            for kind in RequestKind::ALL.map(|kind| kind as usize) {
                let known = completed[kind].min(ahead[kind]);
                completed[kind] -= known;
                ahead[kind] = ahead[kind] - known + traced[kind].saturating_sub(completed[kind]);
                completed[kind] = completed[kind].max(traced[kind]);
            }
        }
        counted.completed.retain(|_, counts| *counts != [0; 3]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::traced_io::LatencyBucket;

    const DISK: DeviceNumber = (8, 0);

    /// Returns the counts of completed writes and of traced latencies of writes.
    fn counted(completed: u64, traced: u64) -> TracedIo {
        let mut histogram = LatencyHistogram::default();
        histogram.add(LatencyBucket {
            lower_ns: 0,
            upper_ns: 9,
            count: traced,
            sum_ns: traced,
        });
        let key = LatencyKey {
            number: DISK,
            kind: RequestKind::Write,
        };
        TracedIo {
            completed: BTreeMap::from([(DISK, [0, completed, 0])]),
            latencies: BTreeMap::from([(key, histogram)]),
            ..TracedIo::default()
        }
    }

    fn writes(counted: &TracedIo) -> Option<u64> {
        counted.completed.get(&DISK).map(|counts| counts[1])
    }

    #[test]
    fn a_bio_that_only_flushes_is_no_write_to_be_matched() {
        let left = |completed: u64, flushes: u64, traced: u64| {
            let counters = BTreeMap::from([(DISK, [0, completed, 0, flushes])]);
            let latencies = counted(0, traced).latencies;
            without_empty_flushes(&counters, &latencies)
                .get(&DISK)
                .map(|counts| counts[1])
        };
        // 150 writes with a flush after each: 300 writes to the kernel.
        assert_eq!(left(300, 150, 150), Some(150));
        // A write that is not matched, and writes that flush themselves.
        assert_eq!([left(22, 10, 11), left(20, 10, 20)], [Some(12), Some(20)]);
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
        assert_eq!(
            [settled(10, 12), settled(10, 7), settled(0, 0)],
            [Some(12), Some(8), None]
        );
        assert_eq!(
            [settled(0, 5), settled(3, 0), settled(3, 1)],
            [Some(5), None, Some(1)]
        );
    }
}
