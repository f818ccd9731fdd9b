//! How far the counters of a device went: between two readings, over several, or of several devices together.

use super::wraparound::wrapping_sub_u32;
use crate::counters::{Columns, Counters, Requests};
use crate::units::Interval;

/// More than any device does in a second: a step beyond it is no wrapped counter.
const MOST_PER_SECOND: f64 = 20e6;
/// 100 GB/s.
const MOST_SECTORS_PER_SECOND: f64 = 200e6;
/// A mean queue beyond this is no wrapped column of milliseconds.
const LONGEST_QUEUE: f64 = 1e5;

/// How far the counters of a device went. It is more than 32 bits hold where they wrapped on the way.
///
/// `None` is what the kernel did not give, and a column of milliseconds that rather fell than wrapped.
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

/// How far one kind of request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestDelta {
    pub(super) ios: u64,
    pub(super) merges: Option<u64>,
    pub(super) sectors: u64,
    pub(super) ms: Option<u64>,
}

impl CounterDelta {
    /// From one reading to the next; `None` when the device was replugged meanwhile: a count or sector column went
    /// down, and not as a 32-bit column wraps.
    pub fn between(older: &Counters, newer: &Counters, interval: Interval) -> Option<Self> {
        let seconds = interval.seconds();
        let columns = older.columns.min(newer.columns);
        let has_times = columns > Columns::Partition;
        let step =
            |older: &Requests, newer: &Requests| RequestDelta::between(older, newer, seconds, has_times);
        let discards =
            if columns >= Columns::Discards { Some(step(&older.discards, &newer.discards)?) } else { None };
        let flushes = if columns >= Columns::Flushes {
            Some(advance(older.flushes, newer.flushes, MOST_PER_SECOND * seconds)?)
        } else {
            None
        };
        let busy = wrapping_sub_u32(older.busy_ms, newer.busy_ms);
        // A busy time that wrapped is still about as long as the interval; one that fell is not.
        let fell = newer.busy_ms < older.busy_ms && busy as f64 > 4000.0 * seconds + 1000.0;
        Some(Self {
            columns,
            reads: step(&older.reads, &newer.reads)?,
            writes: step(&older.writes, &newer.writes)?,
            discards,
            flushes,
            flush_ms: milliseconds(older.flush_ms, newer.flush_ms, seconds).filter(|_| flushes.is_some()),
            busy_ms: (has_times && !fell).then_some(busy),
            weighted_ms: milliseconds(older.weighted_ms, newer.weighted_ms, seconds).filter(|_| has_times),
        })
    }

    /// This and what followed it. Where a column was not given all the time, it has no value.
    pub fn then(&self, later: &Self) -> Self {
        let columns = self.columns.min(later.columns);
        let sum = |of: fn(&Self) -> Option<u64>| plus(of(self), of(later));
        Self {
            columns,
            reads: self.reads.plus(&later.reads),
            writes: self.writes.plus(&later.writes),
            discards: self.discards.zip(later.discards).map(|(earlier, later)| earlier.plus(&later)),
            flushes: sum(|of| of.flushes),
            flush_ms: sum(|of| of.flush_ms),
            busy_ms: sum(|of| of.busy_ms),
            weighted_ms: sum(|of| of.weighted_ms),
        }
    }

    /// This device and another in the same time. One that has no discards or flushes adds none.
    pub fn beside(&self, other: &Self) -> Self {
        let (flushes, flush_ms) = match (self.flushes, other.flushes) {
            (_, None) => (self.flushes, self.flush_ms),
            (None, _) => (other.flushes, other.flush_ms),
            (_, _) => (plus(self.flushes, other.flushes), plus(self.flush_ms, other.flush_ms)),
        };
        Self {
            columns: self.columns.max(other.columns),
            discards: match (self.discards, other.discards) {
                (Some(of_one), Some(of_other)) => Some(of_one.plus(&of_other)),
                (of_one, of_other) => of_one.or(of_other),
            },
            flushes,
            flush_ms,
            ..self.then(other)
        }
    }
}

impl RequestDelta {
    fn between(older: &Requests, newer: &Requests, seconds: f64, has_times: bool) -> Option<Self> {
        let merges = || advance(older.merges, newer.merges, MOST_PER_SECOND * seconds);
        Some(Self {
            ios: advance(older.ios, newer.ios, MOST_PER_SECOND * seconds)?,
            merges: if has_times { Some(merges()?) } else { None },
            sectors: advance(older.sectors, newer.sectors, MOST_SECTORS_PER_SECOND * seconds)?,
            ms: milliseconds(older.ms, newer.ms, seconds).filter(|_| has_times),
        })
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            ios: self.ios.saturating_add(other.ios),
            merges: plus(self.merges, other.merges),
            sectors: self.sectors.saturating_add(other.sectors),
            ms: plus(self.ms, other.ms),
        }
    }
}

fn plus(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.zip(b).map(|(a, b)| a.saturating_add(b))
}

/// The step of a count: the difference, or, where it went down, that of a 32-bit counter that wrapped, if both
/// fit in 32 bits and the step is at most `most`. `None` when it fell.
fn advance(older: u64, newer: u64, most: f64) -> Option<u64> {
    if newer >= older {
        return Some(newer - older);
    }
    let wrapped = wrapping_sub_u32(older, newer);
    (u32::try_from(older).is_ok() && wrapped as f64 <= most.min(f64::from(1u32 << 31))).then_some(wrapped)
}

/// The step of a column of milliseconds, which wraps at 32 bits in every kernel; `None` when it rather fell.
fn milliseconds(older: u64, newer: u64, seconds: f64) -> Option<u64> {
    let step = wrapping_sub_u32(older, newer);
    (newer >= older || step as f64 <= LONGEST_QUEUE * 1000.0 * seconds).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advance_of(older: &Counters, newer: &Counters) -> Option<CounterDelta> {
        CounterDelta::between(older, newer, Interval::from_nanos(3_600_000_000_000).unwrap())
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
    fn what_wraps_more_than_once_adds_up_over_the_readings_between() {
        // 400 requests in the queue for 4 hours.
        let readings =
            (0..5u64).map(|hour| at(Columns::Flushes, hour * 3_600_000, (hour * 1_440_000_000) % (1 << 32)));
        let readings: Vec<Counters> = readings.collect();
        let steps = readings.windows(2).map(|pair| advance_of(&pair[0], &pair[1]).unwrap());
        let all = steps.reduce(|earlier, later| earlier.then(&later)).unwrap();
        assert_eq!((all.reads.ios, all.reads.ms), (14_400_000, Some(5_760_000_000)));
        assert_eq!((all.flushes, all.flush_ms), (Some(14_400_000), Some(5_760_000_000)));
    }

    #[test]
    fn in_time_what_was_missing_once_is_missing_but_beside_another_it_adds_nothing() {
        let of = |columns| advance_of(&at(columns, 10, 10), &at(columns, 30, 50)).unwrap();
        let (full, basic) = (of(Columns::Flushes), of(Columns::Basic));
        for (one, other) in [(full, basic), (basic, full)] {
            let (then, beside) = (one.then(&other), one.beside(&other));
            assert_eq!((then.discards, then.flushes, then.flush_ms), (None, None, None));
            assert_eq!((beside.discards, beside.flushes), (full.discards, full.flushes));
            assert_eq!((then.reads.ios, beside.reads.ios), (40, 40));
            assert_eq!((then.reads.ms, beside.flush_ms), (Some(80), Some(40)));
        }
        let both = full.beside(&full);
        assert_eq!((both.discards.unwrap().ios, both.flushes, both.flush_ms), (40, Some(40), Some(80)));
    }
}
