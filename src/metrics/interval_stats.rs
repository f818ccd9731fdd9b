//! blkstat's own numbers of one device over one interval.
//!
//! Where the dialects print what their tools print, these leave out what is not true: a device that was
//! replugged has no figures, and a column that wrapped is told from one that fell.

use super::counter_delta::{CounterDelta, RequestDelta};
use crate::counters::{Columns, Counters};
use crate::units::{Interval, SECTOR_BYTES};

/// What one kind of request did. `None` is what has no value or what the kernel does not give.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionStats {
    /// Requests completed: Δn.
    pub ios: Option<u64>,
    /// Requests completed a second: Δn / t.
    pub per_s: Option<f64>,
    /// KiB a second: Δs / 2 / t.
    pub kib_per_s: Option<f64>,
    /// Requests merged a second: Δm / t.
    pub merges_per_s: Option<f64>,
    /// Share of the requests that were merged before they were issued, in percent: 100 Δm / (Δm + Δn).
    pub merge_pct: Option<f64>,
    /// Mean response time in milliseconds: ΔT / Δn; `None` when nothing was completed.
    pub await_ms: Option<f64>,
    /// Mean size in KiB: Δs / 2 / Δn; `None` when nothing was completed.
    pub size_kib: Option<f64>,
    /// Mean number of these requests in the queue or being served: ΔT / 1000 t (Little's law).
    pub queue: Option<f64>,
}

/// What a device did in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalStats {
    /// Length of the interval in seconds.
    pub seconds: f64,
    /// Reads.
    pub reads: DirectionStats,
    /// Writes.
    pub writes: DirectionStats,
    /// Discards; all `None` before 4.18.
    pub discards: DirectionStats,
    /// Flushes completed a second; `None` before 5.5.
    pub flushes_per_s: Option<f64>,
    /// Mean response time of flushes in milliseconds.
    pub flush_await_ms: Option<f64>,
    /// Mean number of requests in the queue or being served: Δ(column 11) / 1000 t.
    pub queue: Option<f64>,
    /// Requests in flight at the end of the interval; `None` where the kernel miscounted below zero.
    pub in_flight: Option<u64>,
    /// The same at its beginning.
    pub in_flight_before: Option<u64>,
    /// Share of the time with at least one request in flight, in percent, as the kernel counts it: Δ(column 10) /
    /// 10 t. It may pass 100.
    pub util_pct: Option<f64>,
    /// What that share can be at most (formulas: the time a device was busy is at most the sum of its requests'
    /// times): the least of it, of 100, and of 100 times the queue together with the requests in flight at the
    /// end, whose time is not counted yet.
    pub util_bound_pct: Option<f64>,
    /// Requests of every kind that were completed.
    pub completed: u64,
}

impl IntervalStats {
    /// The figures of the time between two readings; `None` when the device was replugged meanwhile.
    pub fn between(older: &Counters, newer: &Counters, interval: Interval) -> Option<Self> {
        let advance = CounterDelta::between(older, newer, interval)?;
        Some(Self::of(&advance, in_flight(older), in_flight(newer), interval))
    }

    /// The figures of an interval in which the counters went so far; with the requests in flight at its beginning
    /// and at its end.
    pub fn of(
        advance: &CounterDelta,
        in_flight_before: Option<u64>,
        in_flight: Option<u64>,
        interval: Interval,
    ) -> Self {
        let CounterDelta { reads, writes, discards, flushes, .. } = *advance;
        let queue = advance.weighted_ms.map(|ms| interval.per_second(ms) / 1000.0);
        let util_pct = advance.busy_ms.map(|busy| interval.per_second(busy) / 10.0);
        let bound = |util: f64| {
            let by_times = queue.map(|queue| (queue + in_flight.unwrap_or(0) as f64) * 100.0);
            util.min(100.0).min(by_times.unwrap_or(f64::INFINITY))
        };
        let completed = [reads.ios, writes.ios, discards.map_or(0, |step| step.ios), flushes.unwrap_or(0)];
        Self {
            seconds: interval.seconds(),
            reads: reads.over(interval),
            writes: writes.over(interval),
            discards: discards.map_or_else(DirectionStats::default, |step| step.over(interval)),
            flushes_per_s: flushes.map(|flushes| interval.per_second(flushes)),
            flush_await_ms: advance
                .flush_ms
                .zip(flushes.filter(|flushes| *flushes > 0))
                .map(|(ms, flushes)| ms as f64 / flushes as f64),
            queue,
            in_flight,
            in_flight_before,
            util_pct,
            util_bound_pct: util_pct.map(bound),
            // What wrapped to zero would pass for a stall.
            completed: completed.into_iter().fold(0, u64::saturating_add),
        }
    }

    /// Whether nothing was completed and nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.completed == 0 && self.in_flight.unwrap_or(0) == 0
    }

    /// Requests were in flight from the beginning to the end, and none was completed: they hang.
    pub fn is_stalled(&self) -> bool {
        let some = |count: Option<u64>| count.is_some_and(|count| count > 0);
        self.completed == 0 && some(self.in_flight) && some(self.in_flight_before)
    }
}

/// Requests in flight; the kernel's count is 32 bits with a sign, and was seen to be miscounted below zero.
pub fn in_flight(counters: &Counters) -> Option<u64> {
    (counters.columns != Columns::Partition && counters.in_flight <= i32::MAX as u64)
        .then_some(counters.in_flight)
}

impl RequestDelta {
    fn over(self, interval: Interval) -> DirectionStats {
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

    fn second() -> Interval {
        Interval::from_nanos(1_000_000_000).unwrap()
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
    fn hand_computed_figures_of_one_second() {
        let older = counters([100, 10, 800, 50], 1, 1000, 3000);
        let newer = counters([300, 60, 4000, 250], 2, 1500, 3206);
        let figures = between(&older, &newer).unwrap();
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
        assert_eq!(figures.reads, expected);
        assert_eq!((figures.queue, figures.util_pct, figures.in_flight), (Some(0.206), Some(50.0), Some(2)));
        assert_eq!((figures.writes.await_ms, figures.writes.per_s), (None, Some(0.0)));
        assert_eq!(figures.completed, 200);
    }

    #[test]
    fn the_bound_of_util_is_the_time_of_the_requests() {
        let at = |in_flight, busy_ms, weighted_ms| counters([1; 4], in_flight, busy_ms, weighted_ms);
        let bound = |newer: &Counters| between(&at(0, 0, 0), newer).unwrap().util_bound_pct;
        // 900 ms busy, but the requests took 50 ms together.
        assert_eq!(bound(&at(0, 900, 50)), Some(5.0));
        assert_eq!(bound(&at(0, 1300, 5000)), Some(100.0));
        assert_eq!(bound(&at(0, 300, 5000)), Some(30.0));
        // What is still in flight has not counted its time.
        assert_eq!(bound(&at(1, 900, 50)), Some(90.0));
    }

    #[test]
    fn a_replugged_device_has_no_figures() {
        let older = counters([1000, 0, 8000, 50], 0, 1000, 3000);
        assert_eq!(between(&older, &counters([3, 0, 24, 1], 0, 1, 1)), None);
        // One count that fell is enough, whatever the others do.
        assert_eq!(between(&older, &counters([999, 0, 9000, 60], 0, 1000, 3000)), None);
    }

    #[test]
    fn a_32_bit_counter_that_wrapped_is_told_from_one_that_fell() {
        let near = u64::from(u32::MAX) - 9;
        let older = counters([near, 0, near, 50], 0, 0, 0);
        let figures = between(&older, &counters([90, 0, 790, 60], 0, 0, 0)).unwrap();
        assert_eq!((figures.reads.per_s, figures.reads.size_kib), (Some(100.0), Some(4.0)));
        // Past 32 bits nothing wraps; and a step of half the range is none.
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
        let figures = between(&older, &counters([10, 0, 80, 400], 0, 400, 400)).unwrap();
        assert_eq!(
            (figures.reads.await_ms, figures.queue, figures.util_pct),
            (Some(50.0), Some(0.5), Some(50.0))
        );
        // What fell has no value, and is no huge number.
        let fell = between(&counters([0, 0, 0, 900], 0, 900, 900), &counters([1, 0, 8, 3], 0, 3, 3)).unwrap();
        assert_eq!(
            (fell.reads.await_ms, fell.queue, fell.util_pct, fell.util_bound_pct),
            (None, None, None, None)
        );
    }

    #[test]
    fn what_the_kernel_does_not_give_is_none() {
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
    fn fewer_columns_than_before_are_no_reset() {
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
            let figures = between(&at(older), &at(newer)).unwrap();
            let fewer = older.min(newer);
            let given =
                (figures.queue.is_some(), figures.discards.ios.is_some(), figures.flushes_per_s.is_some());
            let expected = (fewer >= Columns::Basic, fewer >= Columns::Discards, fewer >= Columns::Flushes);
            assert_eq!((given, figures.completed), (expected, 0), "{older:?} {newer:?}");
        }
    }

    #[test]
    fn more_requests_than_can_be_counted_are_no_stall() {
        let half = Requests { ios: 1 << 63, ..Requests::default() };
        let newer = Counters { reads: half, writes: half, in_flight: 1, ..Counters::ZERO };
        let figures = between(&Counters { in_flight: 1, ..Counters::ZERO }, &newer).unwrap();
        assert_eq!((figures.completed, figures.is_stalled()), (u64::MAX, false));
    }

    #[test]
    fn requests_that_hang_are_a_stall_and_no_idleness() {
        let at = |reads, in_flight| counters([reads, 0, 0, 0], in_flight, 0, 0);
        let figures = |older: Counters, newer: Counters| between(&older, &newer).unwrap();
        assert!(figures(at(5, 3), at(5, 3)).is_stalled());
        // They may have been started a moment ago.
        assert!(!figures(at(5, 0), at(5, 3)).is_stalled() && !figures(at(5, 0), at(5, 3)).is_idle());
        assert!(!figures(at(5, 3), at(6, 3)).is_stalled());
        assert!(figures(at(5, 0), at(5, 0)).is_idle());
    }
}
