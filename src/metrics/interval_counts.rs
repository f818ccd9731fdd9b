//! The whole numbers from which the statistics of an interval were computed, to store the statistics in little memory.

use super::counter_delta::{CounterDelta, RequestDelta};
use super::interval_stats::{DirectionStats, IntervalStats};
use crate::counters::Columns;
use crate::units::{SECTOR_BYTES, Span};

/// The whole numbers of an interval's statistics, and which of the statistics are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalCounts {
    /// A bit for each statistic, set if it is known.
    pub known: u32,
    /// The differences of the counters: requests, merges, sectors and milliseconds of reads, writes and discards; then
    /// flushes, their milliseconds, the busy and the weighted milliseconds; then the requests in flight at both ends,
    /// and the requests completed. Values that are not known are 0.
    pub values: [u64; Self::VALUES],
}

/// The number of statistics of a direction.
const DIRECTION_FIELDS: usize = 8;

impl IntervalCounts {
    /// The number of values.
    pub const VALUES: usize = 19;

    /// Returns the counts of an interval of this length; `None` if the statistics cannot be computed from whole
    /// numbers.
    pub fn of(stats: &IntervalStats, interval: Span) -> Option<Self> {
        let seconds = interval.seconds();
        let whole = |value: Option<f64>, unit: f64| (value.unwrap_or(0.0) * unit).round() as u64;
        let sectors_per_kib = 1024.0 / SECTOR_BYTES as f64;
        let mut values = [0; Self::VALUES];
        let directions = [&stats.reads, &stats.writes, &stats.discards];
        for (direction, values) in directions.into_iter().zip(values.chunks_exact_mut(4)) {
            values[0] = direction.ios.unwrap_or(0);
            values[1] = whole(direction.merges_per_s, seconds);
            values[2] = whole(direction.kib_per_s, seconds * sectors_per_kib);
            values[3] = whole(direction.queue, seconds * 1000.0);
        }
        values[12] = whole(stats.flushes_per_s, seconds);
        values[13] = whole(stats.flush_await_ms, values[12] as f64);
        values[14] = whole(stats.util_pct, seconds * 10.0);
        values[15] = whole(stats.queue, seconds * 1000.0);
        values[16] = stats.in_flight.unwrap_or(0);
        values[17] = stats.in_flight_before.unwrap_or(0);
        values[18] = stats.completed;
        let counts = Self { known: known_fields(stats), values };
        (counts.stats(interval) == *stats).then_some(counts)
    }

    /// Returns the statistics over an interval of this length, as [`IntervalStats::from_delta`] computes them.
    pub fn stats(&self, interval: Span) -> IntervalStats {
        let values = &self.values;
        let request = |at: usize| RequestDelta {
            ios: values[at],
            merges: Some(values[at + 1]),
            sectors: values[at + 2],
            ms: Some(values[at + 3]),
        };
        let delta = CounterDelta {
            columns: Columns::Flushes,
            reads: request(0),
            writes: request(4),
            discards: Some(request(8)),
            flushes: Some(values[12]),
            flush_ms: Some(values[13]),
            busy_ms: Some(values[14]),
            weighted_ms: Some(values[15]),
        };
        let mut stats = IntervalStats::from_delta(&delta, Some(values[17]), Some(values[16]), interval);
        stats.completed = values[18];
        keep_fields(&mut stats, self.known);
        stats
    }
}

/// Returns whether each statistic of a direction is known.
fn direction_fields(direction: &DirectionStats) -> [bool; DIRECTION_FIELDS] {
    [
        direction.ios.is_some(),
        direction.per_s.is_some(),
        direction.kib_per_s.is_some(),
        direction.merges_per_s.is_some(),
        direction.merge_pct.is_some(),
        direction.await_ms.is_some(),
        direction.size_kib.is_some(),
        direction.queue.is_some(),
    ]
}

/// Returns the bits of the statistics that are known.
fn known_fields(stats: &IntervalStats) -> u32 {
    let directions = [&stats.reads, &stats.writes, &stats.discards];
    let others = [
        stats.flushes_per_s.is_some(),
        stats.flush_await_ms.is_some(),
        stats.queue.is_some(),
        stats.in_flight.is_some(),
        stats.in_flight_before.is_some(),
        stats.util_pct.is_some(),
        stats.util_upper_bound_pct.is_some(),
    ];
    let fields = directions.into_iter().flat_map(direction_fields).chain(others);
    fields.enumerate().fold(0, |known, (bit, is_known)| known | u32::from(is_known) << bit)
}

/// Removes the statistics that are not known.
fn keep_fields(stats: &mut IntervalStats, known: u32) {
    let is_known = |bit: usize| known >> bit & 1 == 1;
    let directions = [&mut stats.reads, &mut stats.writes, &mut stats.discards];
    for (index, direction) in directions.into_iter().enumerate() {
        let is_known = |field: usize| is_known(index * DIRECTION_FIELDS + field);
        direction.ios = direction.ios.filter(|_| is_known(0));
        let fields = [
            &mut direction.per_s,
            &mut direction.kib_per_s,
            &mut direction.merges_per_s,
            &mut direction.merge_pct,
            &mut direction.await_ms,
            &mut direction.size_kib,
            &mut direction.queue,
        ];
        for (field, value) in fields.into_iter().enumerate() {
            *value = value.filter(|_| is_known(field + 1));
        }
    }
    let first = 3 * DIRECTION_FIELDS;
    stats.flushes_per_s = stats.flushes_per_s.filter(|_| is_known(first));
    stats.flush_await_ms = stats.flush_await_ms.filter(|_| is_known(first + 1));
    stats.queue = stats.queue.filter(|_| is_known(first + 2));
    stats.in_flight = stats.in_flight.filter(|_| is_known(first + 3));
    stats.in_flight_before = stats.in_flight_before.filter(|_| is_known(first + 4));
    stats.util_pct = stats.util_pct.filter(|_| is_known(first + 5));
    stats.util_upper_bound_pct = stats.util_upper_bound_pct.filter(|_| is_known(first + 6));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::counters::{Counters, Requests};

    /// Returns counters made of small numbers.
    fn counters(values: &[u32], columns: Columns) -> Counters {
        let value = |at: usize| u64::from(values[at]);
        let requests = |at: usize| Requests {
            ios: value(at),
            merges: value(at + 1),
            sectors: value(at + 2),
            ms: value(at + 3),
        };
        Counters {
            columns,
            reads: requests(0),
            writes: requests(4),
            discards: requests(8),
            flushes: value(12),
            flush_ms: value(13),
            in_flight: value(14),
            busy_ms: value(15),
            weighted_ms: value(16),
        }
    }

    proptest! {
        #[test]
        fn the_statistics_are_the_same_to_the_last_bit(
            older in prop::collection::vec(0..3_000_000u32, 17),
            grown in prop::collection::vec(prop_oneof![Just(0u32), 0..100_000u32], 17),
            columns in prop::sample::select(vec![
                Columns::Partition, Columns::Basic, Columns::Discards, Columns::Flushes,
            ]),
            nanos in 10_000_000..100_000_000_000u64,
        ) {
            let newer: Vec<u32> = older.iter().zip(&grown).map(|(older, grown)| older + grown).collect();
            let interval = Span::from_nanos(nanos).unwrap();
            let stats =
                IntervalStats::between(&counters(&older, columns), &counters(&newer, columns), interval);
            if let Some(stats) = stats {
                let counts = IntervalCounts::of(&stats, interval).expect("whole numbers");
                prop_assert_eq!(counts.stats(interval), stats);
            }
        }
    }

    #[test]
    fn statistics_of_other_numbers_have_no_counts() {
        let interval = Span::from_nanos(1_000_000_000).unwrap();
        let stats = IntervalStats { seconds: 1.0, queue: Some(0.000_25), ..IntervalStats::default() };
        assert_eq!(IntervalCounts::of(&stats, interval), None);
    }
}
