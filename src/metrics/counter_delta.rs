//! Counter differences of a device: between two readings, accumulated over several, or summed over devices.

use super::wraparound::wrapping_sub_u32;
use crate::counters::{Columns, Counters, Requests};
use crate::units::Span;

/// More requests per second than any device completes: a larger difference does not come from a counter that wrapped.
const MAX_IOS_PER_S: f64 = 20e6;
/// More sectors per second than any device transfers: 100 GB per second.
const MAX_SECTORS_PER_S: f64 = 200e6;
/// The mean queue above which a difference does not come from a column of milliseconds that wrapped.
const MAX_QUEUE: f64 = 1e5;
/// A busy time that wrapped is still about as long as the interval: at most this many milliseconds per second...
const MAX_BUSY_MS_PER_S: f64 = 4000.0;
/// ...plus this many milliseconds.
const BUSY_TOLERANCE_MS: f64 = 1000.0;

/// The difference of the counters of a device; it may need more than 32 bits if they wrapped in between.
///
/// `None`: not counted by this kernel, or a column of milliseconds that fell rather than wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterDelta {
    pub(super) columns: Columns,
    pub(super) reads: RequestDelta,
    pub(super) writes: RequestDelta,
    pub(super) discards: Option<RequestDelta>,
    pub(super) flushes: Option<u64>,
    pub(super) flush_ms: Option<u64>,
    pub(super) busy_ms: Option<u64>,
    pub(super) weighted_ms: Option<u64>,
}

/// The difference of the counters of one kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestDelta {
    pub(super) ios: u64,
    pub(super) merges: Option<u64>,
    pub(super) sectors: u64,
    pub(super) ms: Option<u64>,
}

impl CounterDelta {
    /// Computes the difference between two readings; `None` after a reset: a count or a sector column went down in a
    /// way that 32-bit wraparound does not explain, because the device was replugged.
    pub fn between(older: &Counters, newer: &Counters, interval: Span) -> Option<Self> {
        let seconds = interval.seconds();
        let columns = older.columns.min(newer.columns);
        let has_times = columns > Columns::Partition;
        let delta =
            |older: &Requests, newer: &Requests| RequestDelta::between(older, newer, seconds, has_times);
        let discards =
            if columns >= Columns::Discards { Some(delta(&older.discards, &newer.discards)?) } else { None };
        let flushes = if columns >= Columns::Flushes {
            Some(count_delta(older.flushes, newer.flushes, MAX_IOS_PER_S * seconds)?)
        } else {
            None
        };
        let busy_ms = wrapping_sub_u32(older.busy_ms, newer.busy_ms);
        let busy_fell =
            newer.busy_ms < older.busy_ms && busy_ms as f64 > MAX_BUSY_MS_PER_S * seconds + BUSY_TOLERANCE_MS;
        Some(Self {
            columns,
            reads: delta(&older.reads, &newer.reads)?,
            writes: delta(&older.writes, &newer.writes)?,
            discards,
            flushes,
            flush_ms: ms_delta(older.flush_ms, newer.flush_ms, seconds).filter(|_| flushes.is_some()),
            busy_ms: (has_times && !busy_fell).then_some(busy_ms),
            weighted_ms: ms_delta(older.weighted_ms, newer.weighted_ms, seconds).filter(|_| has_times),
        })
    }

    /// Adds the difference over the following time. A column that was missing at any time has no value.
    pub fn accumulate(&self, later: &Self) -> Self {
        let sum = |of: fn(&Self) -> Option<u64>| add(of(self), of(later));
        Self {
            columns: self.columns.min(later.columns),
            reads: self.reads.plus(&later.reads),
            writes: self.writes.plus(&later.writes),
            discards: self.discards.zip(later.discards).map(|(earlier, later)| earlier.plus(&later)),
            flushes: sum(|delta| delta.flushes),
            flush_ms: sum(|delta| delta.flush_ms),
            busy_ms: sum(|delta| delta.busy_ms),
            weighted_ms: sum(|delta| delta.weighted_ms),
        }
    }

    /// Adds another device over the same time. A device without discards or flushes adds none.
    pub fn combine_devices(&self, other: &Self) -> Self {
        let (flushes, flush_ms) = match (self.flushes, other.flushes) {
            (_, None) => (self.flushes, self.flush_ms),
            (None, _) => (other.flushes, other.flush_ms),
            (_, _) => (add(self.flushes, other.flushes), add(self.flush_ms, other.flush_ms)),
        };
        Self {
            columns: self.columns.max(other.columns),
            discards: match (self.discards, other.discards) {
                (Some(one), Some(other)) => Some(one.plus(&other)),
                (one, other) => one.or(other),
            },
            flushes,
            flush_ms,
            ..self.accumulate(other)
        }
    }
}

impl RequestDelta {
    fn between(older: &Requests, newer: &Requests, seconds: f64, has_times: bool) -> Option<Self> {
        let merges = || count_delta(older.merges, newer.merges, MAX_IOS_PER_S * seconds);
        Some(Self {
            ios: count_delta(older.ios, newer.ios, MAX_IOS_PER_S * seconds)?,
            merges: if has_times { Some(merges()?) } else { None },
            sectors: count_delta(older.sectors, newer.sectors, MAX_SECTORS_PER_S * seconds)?,
            ms: ms_delta(older.ms, newer.ms, seconds).filter(|_| has_times),
        })
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            ios: self.ios.saturating_add(other.ios),
            merges: add(self.merges, other.merges),
            sectors: self.sectors.saturating_add(other.sectors),
            ms: add(self.ms, other.ms),
        }
    }
}

fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.zip(b).map(|(a, b)| a.saturating_add(b))
}

/// Returns the difference of a count. A count that went down wrapped at 32 bits if both values fit in 32 bits and the
/// difference is at most `max`; otherwise it fell: `None`.
fn count_delta(older: u64, newer: u64, max: f64) -> Option<u64> {
    if newer >= older {
        return Some(newer - older);
    }
    let wrapped = wrapping_sub_u32(older, newer);
    (u32::try_from(older).is_ok() && wrapped as f64 <= max.min(f64::from(1u32 << 31))).then_some(wrapped)
}

/// Returns the difference of a column of milliseconds, which wraps at 32 bits on every kernel; `None` if it fell.
fn ms_delta(older: u64, newer: u64, seconds: f64) -> Option<u64> {
    let delta = wrapping_sub_u32(older, newer);
    (newer >= older || delta as f64 <= MAX_QUEUE * 1000.0 * seconds).then_some(delta)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta_of(older: &Counters, newer: &Counters) -> Option<CounterDelta> {
        CounterDelta::between(older, newer, Span::from_nanos(3_600_000_000_000).unwrap())
    }

    fn at(columns: Columns, ios: u64, ms: u64) -> Counters {
        let reads = Requests { ios, merges: 0, sectors: 8 * ios, ms };
        let (discards, flushes) = match columns {
            Columns::Flushes => (reads, ios),
            Columns::Discards => (reads, 0),
            Columns::Partition | Columns::Basic => (Requests::default(), 0),
        };
        let ms = if columns == Columns::Flushes { ms } else { 0 };
        Counters { columns, reads, discards, flushes, flush_ms: ms, weighted_ms: 2 * ms, ..Counters::ZERO }
    }

    #[test]
    fn a_column_that_wraps_more_than_once_adds_up_over_the_readings_between() {
        // A queue of 400 for 4 hours.
        let readings =
            (0..5u64).map(|hour| at(Columns::Flushes, hour * 3_600_000, (hour * 1_440_000_000) % (1 << 32)));
        let readings: Vec<Counters> = readings.collect();
        let steps = readings.windows(2).map(|pair| delta_of(&pair[0], &pair[1]).unwrap());
        let all = steps.reduce(|earlier, later| earlier.accumulate(&later)).unwrap();
        assert_eq!((all.reads.ios, all.reads.ms), (14_400_000, Some(5_760_000_000)));
        assert_eq!((all.flushes, all.flush_ms), (Some(14_400_000), Some(5_760_000_000)));
    }

    #[test]
    fn a_missing_column_is_missing_over_time_and_adds_nothing_over_devices() {
        let of = |columns| delta_of(&at(columns, 10, 10), &at(columns, 30, 50)).unwrap();
        let (full, basic) = (of(Columns::Flushes), of(Columns::Basic));
        for (one, other) in [(full, basic), (basic, full)] {
            let (over_time, over_devices) = (one.accumulate(&other), one.combine_devices(&other));
            assert_eq!((over_time.discards, over_time.flushes, over_time.flush_ms), (None, None, None));
            assert_eq!((over_devices.discards, over_devices.flushes), (full.discards, full.flushes));
            assert_eq!((over_time.reads.ios, over_devices.reads.ios), (40, 40));
            assert_eq!((over_time.reads.ms, over_devices.flush_ms), (Some(80), Some(40)));
        }
        let both = full.combine_devices(&full);
        assert_eq!((both.discards.unwrap().ios, both.flushes, both.flush_ms), (40, Some(40), Some(80)));
    }
}
