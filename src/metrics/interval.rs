//! What the counters of a device say about the time between two samples.
//!
//! An [`Interval`] holds differences of counters, or what a log printed as rates; rates, latencies, queues and util are
//! computed from them when they are asked for. Intervals add: over time with [`Interval::followed_by`], over devices with
//! [`Interval::beside`].
//!
//! Unlike the numbers of the replicas, which print what their tools print, these have no value if the counters do not
//! give a true one: a device whose counters were reset has no interval, and a column that wrapped is distinguished from
//! one that went backwards.
//!
//! In the formulas, Δ is the difference of a column of /proc/diskstats between two samples (the kernel's
//! Documentation/admin-guide/iostats.rst): n requests completed, m merged, s sectors of 512 bytes, T milliseconds; t is
//! the time between the samples in seconds.

use super::completed::{AddedLength, Amount, Completed, PossibleTime, ios_delta, ms_delta};
use crate::counters::{
    Columns, Counters, Device, LoggedInterval, LoggedRates, Requests, growth_u32,
};
use crate::units::Span;

/// Milliseconds per second. A busy time that wrapped is still about as long as the interval: at most four times as long.
const MAX_BUSY_MS_PER_S: f64 = 4000.0;
/// Milliseconds by which it may be even longer, in intervals of any length.
const BUSY_TOLERANCE_MS: f64 = 1000.0;
/// A log has no requests in flight. With a queue and a util from these on, in which nothing completes, requests hang.
const HUNG_QUEUE: f64 = 0.5;
const HUNG_UTIL_PCT: f64 = 90.0;

/// A device over the time between two samples, or over several such times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interval {
    pub ns: u64,
    pub reads: Completed,
    pub writes: Completed,
    /// Not counted before Linux 4.18.
    pub discards: Completed,
    /// Not counted before Linux 5.5, and not for partitions. Flushes have no sectors.
    pub flushes: Completed,
    /// Reads and writes together, as far as a log does not split them; a kind that was alone is also above.
    pub unsplit: Completed,
    /// The milliseconds with a request in flight, as the kernel counts them.
    pub busy: Amount,
    /// The sum of the milliseconds that requests waited or were served.
    pub weighted: Amount,
    /// Requests in flight at the beginning; `None` if the source does not tell them, or the kernel miscounted below zero.
    pub in_flight_before: Option<u64>,
    /// Requests in flight at the end.
    pub in_flight: Option<u64>,
    /// True for the sum of several devices, which has no util.
    pub is_total: bool,
}

impl Interval {
    /// Returns what happened to a device between two samples; `None` after a reset, as with [`Self::between`].
    pub fn of_device(older: &Device, newer: &Device, span: Span) -> Option<Self> {
        match &newer.logged {
            Some(logged) => Some(Self::of_log(logged, span)),
            None => Self::between(&older.counters, &newer.counters, span),
        }
    }

    /// Takes what a log printed, rates as they are.
    pub fn of_log(logged: &LoggedInterval, span: Span) -> Self {
        let mut unsplit = logged.unsplit;
        if let (Some(reads), Some(writes)) = (logged.reads.ios, logged.writes.ios) {
            if logged.reads.await_ms.is_some() && logged.writes.await_ms.is_some() {
                // Besides what is split, some versions print it together.
                unsplit = LoggedRates::default();
            } else {
                unsplit.ios = Some(reads + writes);
            }
        }
        let [reads, writes] = logged.reads_and_writes();
        let busy_ms_per_s = logged.util_pct.map(|percent| percent * 10.0);
        let weighted_ms_per_s = logged.queue.map(|queue| queue * 1000.0);
        Self {
            ns: span.nanos(),
            reads: Completed::of_rates(&reads, span),
            writes: Completed::of_rates(&writes, span),
            discards: Completed::of_rates(&logged.discards, span),
            flushes: Completed::of_rates(&logged.flushes, span),
            unsplit: Completed::of_rates(&unsplit, span),
            busy: Amount::of_rate(busy_ms_per_s, span),
            weighted: Amount::of_rate(weighted_ms_per_s, span),
            ..Self::default()
        }
    }

    /// Computes what happened between two readings; `None` after a reset: a count, a sector column or several times went
    /// down in a way that 32-bit wraparound does not explain, because the device was replugged or created again.
    pub fn between(older: &Counters, newer: &Counters, span: Span) -> Option<Self> {
        let (ns, seconds) = (span.nanos(), span.seconds());
        let columns = older.columns.min(newer.columns);
        let has_times = columns > Columns::Partition;
        if has_times && have_times_fallen(older, newer) {
            return None;
        }
        let possible = PossibleTime {
            seconds,
            waiting: in_flight(older).unwrap_or(0),
        };
        let completed = |older: &Requests, newer: &Requests| {
            Completed::between(older, newer, span, has_times, possible)
        };
        let mut interval = Self {
            ns,
            reads: completed(&older.reads, &newer.reads)?,
            writes: completed(&older.writes, &newer.writes)?,
            in_flight_before: in_flight(older),
            in_flight: in_flight(newer),
            ..Self::default()
        };
        if columns >= Columns::Discards {
            interval.discards = completed(&older.discards, &newer.discards)?;
        }
        if columns >= Columns::Flushes {
            let ios = ios_delta(older.flushes, newer.flushes, seconds)?;
            let ms = ms_delta(older.flush_ms, newer.flush_ms, possible, ios);
            let flushes = Completed {
                ios: Amount::of(ns, ios),
                ..Completed::default()
            };
            interval.flushes = flushes.with_time(ms.map(|ms| ms as f64));
        }
        if has_times {
            let busy_ms = growth_u32(older.busy_ms, newer.busy_ms);
            let has_fallen = newer.busy_ms < older.busy_ms
                && busy_ms as f64 > MAX_BUSY_MS_PER_S * seconds + BUSY_TOLERANCE_MS;
            if !has_fallen {
                interval.busy = Amount::of(ns, busy_ms);
            }
            let completed = interval.completed() as u64;
            let requests = completed.saturating_add(interval.in_flight.unwrap_or(0));
            if let Some(ms) = ms_delta(older.weighted_ms, newer.weighted_ms, possible, requests) {
                interval.weighted = Amount::of(ns, ms);
            }
        }
        Some(interval)
    }

    /// An interval in which a device was idle.
    pub fn idle(span: Span) -> Self {
        let ns = span.nanos();
        let zero = Amount::of(ns, 0);
        let none = Completed {
            ios: zero,
            merges: zero,
            sectors: zero,
            timed_ios: 0.0,
            time: zero,
        };
        Self {
            ns,
            reads: none,
            writes: none,
            discards: none,
            flushes: none,
            busy: zero,
            weighted: zero,
            in_flight_before: Some(0),
            in_flight: Some(0),
            ..Self::default()
        }
    }

    /// Forgets the requests in flight, which the kernel has miscounted, and the times that follow from them.
    pub fn forget_in_flight(&mut self) {
        (self.in_flight_before, self.in_flight) = (None, None);
        (self.busy, self.weighted) = (Amount::default(), Amount::default());
    }

    /// Adds an interval of the same device right after this one. What was counted in only one of them is known for the
    /// time of that one.
    pub fn followed_by(&self, later: &Self) -> Self {
        if self.ns == 0 {
            return *later;
        }
        Self {
            in_flight: later.in_flight,
            ..self.plus(later, u64::saturating_add)
        }
    }

    /// Adds another device over the same time. A device that has no such counter adds nothing.
    pub fn beside(&self, other: &Self) -> Self {
        Self {
            busy: Amount::default(),
            in_flight_before: add(self.in_flight_before, other.in_flight_before),
            in_flight: add(self.in_flight, other.in_flight),
            is_total: true,
            ..self.plus(other, u64::max)
        }
    }

    fn plus(&self, other: &Self, length: AddedLength) -> Self {
        Self {
            ns: length(self.ns, other.ns),
            reads: self.reads.plus(&other.reads, length),
            writes: self.writes.plus(&other.writes, length),
            discards: self.discards.plus(&other.discards, length),
            flushes: self.flushes.plus(&other.flushes, length),
            unsplit: self.unsplit.plus(&other.unsplit, length),
            busy: self.busy.plus(other.busy, length),
            weighted: self.weighted.plus(other.weighted, length),
            in_flight_before: self.in_flight_before,
            in_flight: self.in_flight,
            is_total: self.is_total || other.is_total,
        }
    }

    pub fn seconds(&self) -> f64 {
        self.ns as f64 / 1e9
    }

    /// Reads and writes together.
    pub fn reads_and_writes(&self) -> Completed {
        let split = self.reads.beside(&self.writes);
        let unsplit = &self.unsplit;
        let is_timed = unsplit.time.ns > 0;
        Completed {
            ios: unsplit.ios.or(split.ios),
            merges: unsplit.merges.or(split.merges),
            sectors: unsplit.sectors.or(split.sectors),
            timed_ios: if is_timed {
                unsplit.timed_ios
            } else {
                split.timed_ios
            },
            time: unsplit.time.or(split.time),
        }
    }

    /// The number of requests of all kinds that completed.
    pub fn completed(&self) -> f64 {
        self.reads_and_writes().ios.sum + self.discards.ios.sum + self.flushes.ios.sum
    }

    /// The mean number of requests waiting or being served: Δ weighted ms / 1000 t. It differs from the true average
    /// over time if requests take longer than the interval: their whole time counts when they complete.
    pub fn queue(&self) -> Option<f64> {
        self.weighted.mean_requests()
    }

    /// The share of the time with a request in flight, in percent, as the kernel counts it: Δ busy ms / 10 t. It can
    /// exceed 100, and on many kernels it is far off in either direction (see [`super::DataFlag::of_util`]).
    pub fn util_pct(&self) -> Option<f64> {
        self.busy.per_second().map(|ms| ms / 10.0)
    }

    /// The upper bound of the true share, in percent: 100 (queue + in flight at the end), at most 100. A device is busy
    /// for at most the sum of the times of its requests; those still in flight are not counted in the queue yet, and
    /// each can have been there for the whole interval. The bound is reliable if request times are counted in
    /// nanoseconds, and an estimate for device-mapper, md and NVMe multipath devices, which count clock ticks of 1 to
    /// 10 ms.
    pub fn util_upper_bound_pct(&self) -> Option<f64> {
        if self.is_total {
            return None;
        }
        let in_flight = self.in_flight? as f64;
        Some(((self.queue()? + in_flight) * 100.0).min(100.0))
    }

    /// Returns whether nothing completed, as far as that is known, and nothing is in flight at the end.
    pub fn is_idle(&self) -> bool {
        self.completed() == 0.0
            && self.reads_and_writes().is_counted()
            && self.in_flight.unwrap_or(0) == 0
            && !self.is_stalled()
    }

    /// Returns whether requests were in flight at both ends without any completing. Requests in flight at the beginning
    /// that completed would have been counted, so these are the same ones. A log shows them by its queue and util.
    pub fn is_stalled(&self) -> bool {
        let is_waiting = match (self.in_flight_before, self.in_flight) {
            (Some(before), Some(after)) => before > 0 && after > 0,
            _ => {
                self.queue().is_some_and(|queue| queue >= HUNG_QUEUE)
                    && self.util_pct().is_some_and(|util| util >= HUNG_UTIL_PCT)
            }
        };
        self.completed() == 0.0 && is_waiting
    }
}

/// Returns whether several times fell, which no wraparound explains. One alone may be a wrong value.
fn have_times_fallen(older: &Counters, newer: &Counters) -> bool {
    let mut fallen = 0;
    for (before, after) in [
        (older.reads.ms, newer.reads.ms),
        (older.writes.ms, newer.writes.ms),
        (older.busy_ms, newer.busy_ms),
        (older.weighted_ms, newer.weighted_ms),
    ] {
        // No time grows by 25 days in an interval.
        if after < before && growth_u32(before, after) > u64::from(u32::MAX / 2) {
            fallen += 1;
        }
    }
    fallen > 1
}

fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.saturating_add(b?))
}

/// Returns the requests in flight; `None` for partitions of old kernels, or if the count, a signed 32-bit number, was miscounted
/// below zero.
pub fn in_flight(counters: &Counters) -> Option<u64> {
    let is_known = counters.columns != Columns::Partition;
    (is_known && counters.in_flight <= i32::MAX as u64).then_some(counters.in_flight)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intervals for tests.
    impl Interval {
        /// An interval of this length in which nothing is known.
        pub(crate) fn unknown(seconds: f64) -> Self {
            Self {
                ns: (seconds * 1e9).round() as u64,
                ..Self::default()
            }
        }

        pub(crate) fn with_queue(self, queue: f64) -> Self {
            Self {
                weighted: Amount {
                    ns: self.ns,
                    sum: (queue * self.seconds() * 1000.0).round(),
                },
                ..self
            }
        }

        pub(crate) fn with_util(self, percent: f64) -> Self {
            Self {
                busy: Amount {
                    ns: self.ns,
                    sum: (percent * self.seconds() * 10.0).round(),
                },
                ..self
            }
        }

        pub(crate) fn with_in_flight(self, in_flight: u64) -> Self {
            Self {
                in_flight: Some(in_flight),
                in_flight_before: Some(in_flight),
                ..self
            }
        }
    }

    fn second() -> Span {
        Span::from_nanos(1_000_000_000).unwrap()
    }

    fn counters(reads: [u64; 4], in_flight: u64, busy_ms: u64, weighted_ms: u64) -> Counters {
        let [ios, merges, sectors, ms] = reads;
        let reads = Requests {
            ios,
            merges,
            sectors,
            ms,
        };
        Counters {
            columns: Columns::Flushes,
            reads,
            in_flight,
            busy_ms,
            weighted_ms,
            ..Counters::ZERO
        }
    }

    fn between(older: &Counters, newer: &Counters) -> Option<Interval> {
        Interval::between(older, newer, second())
    }

    #[test]
    fn one_second_computed_by_hand() {
        let older = counters([100, 10, 800, 50], 1, 1000, 3000);
        let newer = counters([300, 60, 4000, 250], 2, 1500, 3206);
        let stats = between(&older, &newer).unwrap();
        let reads = stats.reads;
        assert_eq!(
            (reads.count(), reads.per_s(), reads.kib_per_s()),
            (Some(200.0), Some(200.0), Some(1600.0))
        );
        assert_eq!(
            (reads.merges_per_s(), reads.merge_pct()),
            (Some(50.0), Some(20.0))
        );
        assert_eq!(
            (reads.await_ms(), reads.size_kib(), reads.queue()),
            (Some(1.0), Some(8.0), Some(0.2))
        );
        assert_eq!(
            (stats.queue(), stats.util_pct(), stats.in_flight),
            (Some(0.206), Some(50.0), Some(2))
        );
        assert_eq!(
            (stats.writes.await_ms(), stats.writes.per_s()),
            (None, Some(0.0))
        );
        assert_eq!(stats.completed(), 200.0);
    }

    #[test]
    fn the_upper_bound_of_util_is_the_time_of_the_requests() {
        let at =
            |in_flight, busy_ms, weighted_ms| counters([1; 4], in_flight, busy_ms, weighted_ms);
        let bound = |newer: &Counters| between(&at(0, 0, 0), newer).unwrap().util_upper_bound_pct();
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
        assert_eq!(
            between(&older, &counters([999, 0, 9000, 60], 0, 1000, 3000)),
            None
        );
    }

    #[test]
    fn a_32_bit_counter_that_wrapped_is_distinguished_from_one_that_fell() {
        let near = u64::from(u32::MAX) - 9;
        let older = counters([near, 0, near, 50], 0, 0, 0);
        let stats = between(&older, &counters([90, 0, 790, 60], 0, 0, 0)).unwrap();
        assert_eq!(
            (stats.reads.per_s(), stats.reads.size_kib()),
            (Some(100.0), Some(4.0))
        );
        // Counters above 32 bits do not wrap, and half the range is too much for one interval.
        assert_eq!(
            between(
                &counters([near + 100, 0, 0, 0], 0, 0, 0),
                &counters([9, 0, 0, 0], 0, 0, 0)
            ),
            None
        );
        assert_eq!(
            between(
                &counters([near / 3, 0, 0, 0], 0, 0, 0),
                &counters([9, 0, 0, 0], 0, 0, 0)
            ),
            None
        );
    }

    #[test]
    fn milliseconds_wrap_on_every_kernel() {
        let near = u64::from(u32::MAX) - 99;
        let older = counters([0, 0, 0, near], 0, near, near);
        let stats = between(&older, &counters([10, 0, 80, 400], 0, 400, 400)).unwrap();
        assert_eq!(
            (stats.reads.await_ms(), stats.queue(), stats.util_pct()),
            (Some(50.0), Some(0.5), Some(50.0))
        );
        // A column that fell has no value; several are those of another device.
        let before = counters([0, 0, 0, 900], 0, 900, 900);
        let fell = |ms, busy_ms, weighted_ms| {
            let after = counters([1, 0, 8, ms], 0, busy_ms, weighted_ms);
            let of = between(&before, &after)?;
            Some((of.reads.await_ms(), of.util_pct(), of.queue()))
        };
        assert_eq!(fell(3, 950, 950), Some((None, Some(5.0), Some(0.05))));
        assert_eq!(fell(950, 3, 950), Some((Some(50.0), None, Some(0.05))));
        assert_eq!(fell(950, 950, 3), Some((Some(50.0), Some(5.0), None)));
        assert_eq!(fell(3, 950, 3), None);
    }

    #[test]
    fn columns_that_the_kernel_lacks_are_none() {
        let old = |columns| Counters {
            columns,
            ..counters([5, 0, 40, 5], 0, 5, 5)
        };
        let partition = between(&old(Columns::Partition), &old(Columns::Partition)).unwrap();
        assert_eq!(
            (partition.reads.per_s(), partition.reads.merges_per_s()),
            (Some(0.0), None)
        );
        assert_eq!(
            (partition.queue(), partition.util_pct(), partition.in_flight),
            (None, None, None)
        );
        let basic = between(&old(Columns::Basic), &old(Columns::Basic)).unwrap();
        assert_eq!(
            (basic.discards.per_s(), basic.flushes.per_s()),
            (None, None)
        );
        let miscounted = Counters {
            in_flight: u64::from(u32::MAX),
            ..old(Columns::Basic)
        };
        assert_eq!(between(&miscounted, &miscounted).unwrap().in_flight, None);
    }

    #[test]
    fn fewer_columns_than_before_do_not_mean_a_reset() {
        let all = Requests {
            ios: 9,
            merges: 9,
            sectors: 72,
            ms: 9,
        };
        let at = |columns| {
            let full = Counters {
                discards: all,
                flushes: 9,
                flush_ms: 9,
                ..counters([9; 4], 0, 9, 9)
            };
            let without_flushes = Counters {
                columns,
                flushes: 0,
                flush_ms: 0,
                ..full
            };
            let without_discards = Counters {
                discards: Requests::default(),
                ..without_flushes
            };
            match columns {
                Columns::Flushes => full,
                Columns::Discards => without_flushes,
                Columns::Basic => without_discards,
                Columns::Partition => {
                    let kept = Requests {
                        ios: 9,
                        sectors: 9,
                        ..Requests::default()
                    };
                    Counters {
                        columns,
                        reads: kept,
                        ..Counters::ZERO
                    }
                }
            }
        };
        let every = [
            Columns::Partition,
            Columns::Basic,
            Columns::Discards,
            Columns::Flushes,
        ];
        for (older, newer) in every
            .into_iter()
            .flat_map(|older| every.map(|newer| (older, newer)))
        {
            let stats = between(&at(older), &at(newer)).unwrap();
            let fewer = older.min(newer);
            let given = (
                stats.queue().is_some(),
                stats.discards.count().is_some(),
                stats.flushes.per_s().is_some(),
            );
            let expected = (
                fewer >= Columns::Basic,
                fewer >= Columns::Discards,
                fewer >= Columns::Flushes,
            );
            assert_eq!(
                (given, stats.completed()),
                (expected, 0.0),
                "{older:?} {newer:?}"
            );
        }
    }

    #[test]
    fn more_requests_than_64_bits_hold_are_not_a_stall() {
        let half = Requests {
            ios: 1 << 63,
            ..Requests::default()
        };
        let newer = Counters {
            reads: half,
            writes: half,
            in_flight: 1,
            ..Counters::ZERO
        };
        let stats = between(
            &Counters {
                in_flight: 1,
                ..Counters::ZERO
            },
            &newer,
        )
        .unwrap();
        assert_eq!(
            (stats.completed(), stats.is_stalled()),
            (2.0_f64.powi(64), false)
        );
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

    fn delta_of(older: &Counters, newer: &Counters) -> Option<Interval> {
        Interval::between(older, newer, Span::from_nanos(3_600_000_000_000).unwrap())
    }

    fn at(columns: Columns, ios: u64, ms: u64) -> Counters {
        let reads = Requests {
            ios,
            merges: 0,
            sectors: 8 * ios,
            ms,
        };
        let (discards, flushes) = match columns {
            Columns::Flushes => (reads, ios),
            Columns::Discards => (reads, 0),
            Columns::Partition | Columns::Basic => (Requests::default(), 0),
        };
        let ms = if columns == Columns::Flushes { ms } else { 0 };
        Counters {
            columns,
            reads,
            discards,
            flushes,
            flush_ms: ms,
            weighted_ms: 2 * ms,
            ..Counters::ZERO
        }
    }

    #[test]
    fn a_column_that_wraps_more_than_once_adds_up_over_the_readings_between() {
        // A queue of 400 for 4 hours.
        let readings = (0..5u64).map(|hour| {
            at(
                Columns::Flushes,
                hour * 3_600_000,
                (hour * 1_440_000_000) % (1 << 32),
            )
        });
        let readings: Vec<Counters> = readings.collect();
        let steps = readings
            .windows(2)
            .map(|pair| delta_of(&pair[0], &pair[1]).unwrap());
        let all = steps
            .reduce(|earlier, later| earlier.followed_by(&later))
            .unwrap();
        assert_eq!(
            (all.reads.ios.sum, all.reads.time.sum),
            (14_400_000.0, 5_760_000_000.0)
        );
        assert_eq!(
            (all.flushes.ios.sum, all.flushes.time.sum),
            (14_400_000.0, 5_760_000_000.0)
        );
        assert_eq!(
            (all.reads.queue(), all.flushes.await_ms()),
            (Some(400.0), Some(400.0))
        );
    }

    #[test]
    fn a_missing_column_is_missing_for_its_own_time_and_adds_nothing_over_devices() {
        let of = |columns| delta_of(&at(columns, 10, 10), &at(columns, 30, 50)).unwrap();
        let (full, basic) = (of(Columns::Flushes), of(Columns::Basic));
        for (one, other) in [(full, basic), (basic, full)] {
            let (over_time, over_devices) = (one.followed_by(&other), one.beside(&other));
            assert_eq!(
                (over_time.discards, over_time.flushes),
                (full.discards, full.flushes)
            );
            assert_eq!(
                (over_time.reads.per_s(), over_time.ns),
                (full.reads.per_s(), 2 * full.ns)
            );
            assert_eq!(
                (over_devices.discards, over_devices.flushes),
                (full.discards, full.flushes)
            );
            assert_eq!(
                (over_time.reads.ios.sum, over_devices.reads.ios.sum),
                (40.0, 40.0)
            );
            assert_eq!(
                (over_time.reads.time.sum, over_devices.flushes.time.sum),
                (80.0, 40.0)
            );
        }
        let both = full.beside(&full);
        assert_eq!(
            (
                both.discards.ios.sum,
                both.flushes.ios.sum,
                both.flushes.time.sum
            ),
            (40.0, 40.0, 80.0)
        );
        assert_eq!((both.util_pct(), both.util_upper_bound_pct()), (None, None));
    }
}
