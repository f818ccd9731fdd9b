//! The kinds of activity without which columns are empty.

use crate::metrics::IntervalStats;

pub(super) fn always(_: &IntervalStats) -> bool {
    true
}

pub(super) fn never(_: &IntervalStats) -> bool {
    false
}

pub(super) fn has_reads(stats: &IntervalStats) -> bool {
    stats.reads.ios.is_some_and(|ios| ios > 0)
}

pub(super) fn has_writes(stats: &IntervalStats) -> bool {
    stats.writes.ios.is_some_and(|ios| ios > 0)
}

/// Returns whether discards completed.
pub(in crate::report::native) fn has_discards(stats: &IntervalStats) -> bool {
    stats.discards.ios.is_some_and(|ios| ios > 0)
}

/// Returns whether flushes completed.
pub(in crate::report::native) fn has_flushes(stats: &IntervalStats) -> bool {
    stats.flushes_per_s.is_some_and(|rate| rate > 0.0)
}

pub(super) fn has_read_merges(stats: &IntervalStats) -> bool {
    stats.reads.merge_pct.is_some_and(|share| share > 0.0)
}

pub(super) fn has_write_merges(stats: &IntervalStats) -> bool {
    stats.writes.merge_pct.is_some_and(|share| share > 0.0)
}

pub(super) fn has_discard_merges(stats: &IntervalStats) -> bool {
    stats.discards.merge_pct.is_some_and(|share| share > 0.0)
}

pub(super) fn has_in_flight(stats: &IntervalStats) -> bool {
    stats.in_flight.is_some_and(|in_flight| in_flight > 0)
}
