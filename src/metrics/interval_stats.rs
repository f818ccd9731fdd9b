//! The statistics of one device over one interval.
//!
//! Unlike the numbers of the replicas, which print what their tools print, these have no value if the counters do not
//! give a true one: a device whose counters were reset has no statistics, and a column that wrapped is distinguished
//! from one that went backwards.
//!
//! In the formulas, Δ is the difference of a column of /proc/diskstats between two samples (the kernel's
//! Documentation/admin-guide/iostats.rst): n requests completed, m merged, s sectors of 512 bytes, T milliseconds; t is
//! the time between the samples in seconds.

use super::counter_delta::{CounterDelta, RequestDelta};
use crate::counters::{Columns, Counters};
use crate::units::{SECTOR_BYTES, Span};

/// The statistics of reads, writes or discards. `None` means no value, or not counted by this kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionStats {
    /// Requests completed: Δn.
    pub ios: Option<u64>,
    /// Requests completed per second: Δn / t.
    pub per_s: Option<f64>,
    /// KiB per second: Δs / 2 / t.
    pub kib_per_s: Option<f64>,
    /// Requests merged per second: Δm / t.
    pub merges_per_s: Option<f64>,
    /// Requests that were merged before they were issued, in percent: 100 Δm / (Δm + Δn).
    pub merge_pct: Option<f64>,
    /// Mean latency in milliseconds: ΔT / Δn; `None` if nothing completed.
    pub await_ms: Option<f64>,
    /// Mean size in KiB: Δs / 2 / Δn; `None` if nothing completed.
    pub size_kib: Option<f64>,
    /// Mean number of these requests waiting or being served: ΔT / 1000 t (Little's law).
    pub queue: Option<f64>,
}

impl DirectionStats {
    /// Computes the statistics of requests that took `ms` milliseconds together, except those of merges.
    pub fn without_merges(ios: u64, sectors: u64, ms: u64, interval: Span) -> Self {
        RequestDelta { ios, merges: None, sectors, ms: Some(ms) }.over(interval)
    }
}

/// The statistics of a device. `None` means no value, or not counted by this kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalStats {
    /// The length of the interval in seconds.
    pub seconds: f64,
    /// Reads.
    pub reads: DirectionStats,
    /// Writes.
    pub writes: DirectionStats,
    /// Discards; all `None` before Linux 4.18.
    pub discards: DirectionStats,
    /// Flushes completed per second; `None` before Linux 5.5 and for partitions.
    pub flushes_per_s: Option<f64>,
    /// Mean latency of flushes in milliseconds; `None` if none completed.
    pub flush_await_ms: Option<f64>,
    /// Mean number of requests waiting or being served: Δ weighted ms / 1000 t. It differs from the true average over
    /// time if requests take longer than the interval: their whole time counts when they complete.
    pub queue: Option<f64>,
    /// Requests in flight at the end of the interval; `None` if the kernel miscounted below zero.
    pub in_flight: Option<u64>,
    /// Requests in flight at its beginning.
    pub in_flight_before: Option<u64>,
    /// The share of the time with a request in flight, in percent, as the kernel counts it: Δ busy ms / 10 t. It can
    /// exceed 100, and on many kernels it is far off in either direction (see [`super::UtilCheck`]).
    pub util_pct: Option<f64>,
    /// The upper bound of the true share, in percent: 100 (queue + in flight at the end), at most 100. A device is busy
    /// for at most the sum of the times of its requests; those still in flight are not counted in the queue yet, and
    /// each can have been there for the whole interval. The bound is reliable if request times are counted in
    /// nanoseconds, and an estimate for device-mapper, md and NVMe multipath devices, which count clock ticks of 1 to
    /// 10 ms.
    pub util_upper_bound_pct: Option<f64>,
    /// The number of requests of all kinds that completed.
    pub completed: u64,
}

impl IntervalStats {
    /// Computes the statistics between two readings; `None` if the counters were reset in between.
    pub fn between(older: &Counters, newer: &Counters, interval: Span) -> Option<Self> {
        let delta = CounterDelta::between(older, newer, interval)?;
        Some(Self::from_delta(&delta, in_flight(older), in_flight(newer), interval))
    }

    /// Computes the statistics from a counter difference and the requests in flight at both ends.
    pub fn from_delta(
        delta: &CounterDelta,
        in_flight_before: Option<u64>,
        in_flight: Option<u64>,
        interval: Span,
    ) -> Self {
        let CounterDelta { reads, writes, discards, flushes, .. } = *delta;
        let queue = delta.weighted_ms.map(|ms| interval.per_second(ms) / 1000.0);
        let busy_at_most = queue.zip(in_flight).map(|(queue, in_flight)| (queue + in_flight as f64) * 100.0);
        let completed = [reads.ios, writes.ios, discards.map_or(0, |delta| delta.ios), flushes.unwrap_or(0)];
        let completed_flushes = flushes.filter(|flushes| *flushes > 0);
        Self {
            seconds: interval.seconds(),
            reads: reads.over(interval),
            writes: writes.over(interval),
            discards: discards.map_or_else(DirectionStats::default, |delta| delta.over(interval)),
            flushes_per_s: flushes.map(|flushes| interval.per_second(flushes)),
            flush_await_ms: delta.flush_ms.zip(completed_flushes).map(|(ms, count)| ms as f64 / count as f64),
            queue,
            in_flight,
            in_flight_before,
            util_pct: delta.busy_ms.map(|busy| interval.per_second(busy) / 10.0),
            util_upper_bound_pct: busy_at_most.map(|percent| percent.min(100.0)),
            // A sum that wrapped to zero would look like a stall.
            completed: completed.into_iter().fold(0, u64::saturating_add),
        }
    }

    /// Returns whether nothing completed and nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.completed == 0 && self.in_flight.unwrap_or(0) == 0
    }

    /// Returns whether requests were in flight at both ends and none completed.
    pub fn is_stalled(&self) -> bool {
        let is_some = |count: Option<u64>| count.is_some_and(|count| count > 0);
        self.completed == 0 && is_some(self.in_flight) && is_some(self.in_flight_before)
    }
}

/// Returns the requests in flight; `None` for partitions of old kernels, or if the count, a signed 32-bit number, was
/// miscounted below zero.
pub fn in_flight(counters: &Counters) -> Option<u64> {
    (counters.columns != Columns::Partition && counters.in_flight <= i32::MAX as u64)
        .then_some(counters.in_flight)
}

impl RequestDelta {
    fn over(self, interval: Span) -> DirectionStats {
        let Self { ios, merges, sectors, ms } = self;
        let kib = |sectors: f64| sectors * SECTOR_BYTES as f64 / 1024.0;
        let completed = (ios > 0).then_some(ios as f64);
        let issued = merges.map(|merges| merges as f64 + ios as f64).filter(|issued| *issued > 0.0);
        DirectionStats {
            ios: Some(ios),
            per_s: Some(interval.per_second(ios)),
            kib_per_s: Some(kib(interval.per_second(sectors))),
            merges_per_s: merges.map(|merges| interval.per_second(merges)),
            merge_pct: merges.zip(issued).map(|(merges, issued)| merges as f64 / issued * 100.0),
            await_ms: ms.zip(completed).map(|(ms, ios)| ms as f64 / ios),
            size_kib: completed.map(|ios| kib(sectors as f64 / ios)),
            queue: ms.map(|ms| interval.per_second(ms) / 1000.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Requests;

    fn second() -> Span {
        Span::from_nanos(1_000_000_000).unwrap()
    }

    fn counters(reads: [u64; 4], in_flight: u64, busy_ms: u64, weighted_ms: u64) -> Counters {
        let [ios, merges, sectors, ms] = reads;
        let reads = Requests { ios, merges, sectors, ms };
        Counters { columns: Columns::Flushes, reads, in_flight, busy_ms, weighted_ms, ..Counters::ZERO }
    }

    fn between(older: &Counters, newer: &Counters) -> Option<IntervalStats> {
        IntervalStats::between(older, newer, second())
    }

    #[test]
    fn one_second_computed_by_hand() {
        let older = counters([100, 10, 800, 50], 1, 1000, 3000);
        let newer = counters([300, 60, 4000, 250], 2, 1500, 3206);
        let stats = between(&older, &newer).unwrap();
        let expected = DirectionStats {
            ios: Some(200),
            per_s: Some(200.0),
            kib_per_s: Some(1600.0),
            merges_per_s: Some(50.0),
            merge_pct: Some(20.0),
            await_ms: Some(1.0),
            size_kib: Some(8.0),
            queue: Some(0.2),
        };
        assert_eq!(stats.reads, expected);
        assert_eq!((stats.queue, stats.util_pct, stats.in_flight), (Some(0.206), Some(50.0), Some(2)));
        assert_eq!((stats.writes.await_ms, stats.writes.per_s), (None, Some(0.0)));
        assert_eq!(stats.completed, 200);
    }

    #[test]
    fn the_upper_bound_of_util_is_the_time_of_the_requests() {
        let at = |in_flight, busy_ms, weighted_ms| counters([1; 4], in_flight, busy_ms, weighted_ms);
        let bound = |newer: &Counters| between(&at(0, 0, 0), newer).unwrap().util_upper_bound_pct;
        // 900 ms busy, but the requests took 50 ms altogether.
        assert_eq!(bound(&at(0, 900, 50)), Some(5.0));
        assert_eq!(bound(&at(0, 1300, 5000)), Some(100.0));
        assert_eq!(bound(&at(0, 300, 5000)), Some(100.0));
        // The kernel may miss most of the busy time: util is not a bound.
        assert_eq!(bound(&at(0, 4, 65)), Some(6.5));
        // The time of a request in flight is not counted yet.
        assert_eq!(bound(&at(1, 900, 50)), Some(100.0));
    }

    #[test]
    fn a_device_with_a_reset_has_no_statistics() {
        let older = counters([1000, 0, 8000, 50], 0, 1000, 3000);
        assert_eq!(between(&older, &counters([3, 0, 24, 1], 0, 1, 1)), None);
        // A single count that fell is enough.
        assert_eq!(between(&older, &counters([999, 0, 9000, 60], 0, 1000, 3000)), None);
    }

    #[test]
    fn a_32_bit_counter_that_wrapped_is_distinguished_from_one_that_fell() {
        let near = u64::from(u32::MAX) - 9;
        let older = counters([near, 0, near, 50], 0, 0, 0);
        let stats = between(&older, &counters([90, 0, 790, 60], 0, 0, 0)).unwrap();
        assert_eq!((stats.reads.per_s, stats.reads.size_kib), (Some(100.0), Some(4.0)));
        // Counters above 32 bits do not wrap, and half the range is too much for one interval.
        assert_eq!(
            between(&counters([near + 100, 0, 0, 0], 0, 0, 0), &counters([9, 0, 0, 0], 0, 0, 0)),
            None
        );
        assert_eq!(between(&counters([near / 3, 0, 0, 0], 0, 0, 0), &counters([9, 0, 0, 0], 0, 0, 0)), None);
    }

    #[test]
    fn milliseconds_wrap_on_every_kernel() {
        let near = u64::from(u32::MAX) - 99;
        let older = counters([0, 0, 0, near], 0, near, near);
        let stats = between(&older, &counters([10, 0, 80, 400], 0, 400, 400)).unwrap();
        assert_eq!((stats.reads.await_ms, stats.queue, stats.util_pct), (Some(50.0), Some(0.5), Some(50.0)));
        // A column that fell has no value.
        let fell = between(&counters([0, 0, 0, 900], 0, 900, 900), &counters([1, 0, 8, 3], 0, 3, 3)).unwrap();
        assert_eq!(
            (fell.reads.await_ms, fell.queue, fell.util_pct, fell.util_upper_bound_pct),
            (None, None, None, None)
        );
    }

    #[test]
    fn columns_that_the_kernel_lacks_are_none() {
        let old = |columns| Counters { columns, ..counters([5, 0, 40, 5], 0, 5, 5) };
        let partition = between(&old(Columns::Partition), &old(Columns::Partition)).unwrap();
        assert_eq!((partition.reads.per_s, partition.reads.merges_per_s), (Some(0.0), None));
        assert_eq!((partition.queue, partition.util_pct, partition.in_flight), (None, None, None));
        let basic = between(&old(Columns::Basic), &old(Columns::Basic)).unwrap();
        assert_eq!((basic.discards, basic.flushes_per_s), (DirectionStats::default(), None));
        let miscounted = Counters { in_flight: u64::from(u32::MAX), ..old(Columns::Basic) };
        assert_eq!(between(&miscounted, &miscounted).unwrap().in_flight, None);
    }

    #[test]
    fn fewer_columns_than_before_do_not_mean_a_reset() {
        let all = Requests { ios: 9, merges: 9, sectors: 72, ms: 9 };
        let at = |columns| {
            let full = Counters { discards: all, flushes: 9, flush_ms: 9, ..counters([9; 4], 0, 9, 9) };
            let without_flushes = Counters { columns, flushes: 0, flush_ms: 0, ..full };
            let without_discards = Counters { discards: Requests::default(), ..without_flushes };
            match columns {
                Columns::Flushes => full,
                Columns::Discards => without_flushes,
                Columns::Basic => without_discards,
                Columns::Partition => {
                    let kept = Requests { ios: 9, sectors: 9, ..Requests::default() };
                    Counters { columns, reads: kept, ..Counters::ZERO }
                }
            }
        };
        let every = [Columns::Partition, Columns::Basic, Columns::Discards, Columns::Flushes];
        for (older, newer) in every.into_iter().flat_map(|older| every.map(|newer| (older, newer))) {
            let stats = between(&at(older), &at(newer)).unwrap();
            let fewer = older.min(newer);
            let given = (stats.queue.is_some(), stats.discards.ios.is_some(), stats.flushes_per_s.is_some());
            let expected = (fewer >= Columns::Basic, fewer >= Columns::Discards, fewer >= Columns::Flushes);
            assert_eq!((given, stats.completed), (expected, 0), "{older:?} {newer:?}");
        }
    }

    #[test]
    fn more_requests_than_64_bits_hold_are_not_a_stall() {
        let half = Requests { ios: 1 << 63, ..Requests::default() };
        let newer = Counters { reads: half, writes: half, in_flight: 1, ..Counters::ZERO };
        let stats = between(&Counters { in_flight: 1, ..Counters::ZERO }, &newer).unwrap();
        assert_eq!((stats.completed, stats.is_stalled()), (u64::MAX, false));
    }

    #[test]
    fn hung_requests_are_a_stall_and_not_idle() {
        let at = |reads, in_flight| counters([reads, 0, 0, 0], in_flight, 0, 0);
        let stats = |older: Counters, newer: Counters| between(&older, &newer).unwrap();
        assert!(stats(at(5, 3), at(5, 3)).is_stalled());
        // They may have been issued a moment ago.
        assert!(!stats(at(5, 0), at(5, 3)).is_stalled() && !stats(at(5, 0), at(5, 3)).is_idle());
        assert!(!stats(at(5, 3), at(6, 3)).is_stalled());
        assert!(stats(at(5, 0), at(5, 0)).is_idle());
    }
}
