//! The latest loads of a device, with a quick bound on how many of them had about the rate of the latest.

use std::collections::VecDeque;

use super::sample::{IoDirection, LoadSample, RateUnit};
use crate::analysis::thresholds::SAME_LOAD_TOLERANCE;

/// Loads that are kept.
const MAX_RECENT_LOADS: usize = 64;

/// Extra space, so that the loads are moved to its front only when it is full.
const SPARE_LOADS: usize = 16;

/// The kinds of rate that are counted.
const KINDS: [(IoDirection, RateUnit); 6] = [
    (IoDirection::Both, RateUnit::Requests),
    (IoDirection::Both, RateUnit::Kib),
    (IoDirection::Reads, RateUnit::Requests),
    (IoDirection::Reads, RateUnit::Kib),
    (IoDirection::Writes, RateUnit::Requests),
    (IoDirection::Writes, RateUnit::Kib),
];

/// Counters of rates: 32 for each power of two, each 2 to 3% wide. Rates that are 16 times apart share one.
const COUNTERS: usize = 128;

/// The latest loads of a device.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct RecentLoads {
    loads: VecDeque<LoadSample>,
    /// For each kind of rate the loads by the class of their rate. To look at these few costs far less than to compare
    /// all loads, whose memory mostly is not in a cache of the CPU.
    counts: Box<[[u8; COUNTERS]; KINDS.len()]>,
}

impl Default for RecentLoads {
    fn default() -> Self {
        Self { loads: VecDeque::new(), counts: Box::new([[0; COUNTERS]; KINDS.len()]) }
    }
}

impl RecentLoads {
    /// Adds the load of the next interval.
    pub(in crate::analysis) fn push(&mut self, mut load: LoadSample) {
        if let Some(last) = self.loads.back_mut() {
            load.is_steady = last.is_similar(&load, SAME_LOAD_TOLERANCE);
            last.is_steady |= load.is_steady;
        }
        if self.loads.len() == MAX_RECENT_LOADS
            && let Some(first) = self.loads.pop_front()
        {
            self.counters(&first).for_each(|count| *count -= 1);
        }
        self.counters(&load).for_each(|count| *count += 1);
        let (count, max_capacity) = (self.loads.len(), MAX_RECENT_LOADS + SPARE_LOADS);
        if count == self.loads.capacity() && count < max_capacity {
            // Most devices of a large host never have more than a few in a row.
            self.loads.reserve_exact((count / 2).max(4).min(max_capacity - count));
        }
        self.loads.push_back(load);
    }

    /// The counters of the rates of a load.
    fn counters(&mut self, load: &LoadSample) -> impl Iterator<Item = &mut u8> {
        let kinds = KINDS.into_iter().zip(&mut *self.counts);
        kinds
            .map(|((direction, unit), counts)| &mut counts[rate_class(load.rate(direction, unit)) % COUNTERS])
    }

    /// Forgets all loads.
    pub(in crate::analysis) fn clear(&mut self) {
        self.loads.clear();
        self.counts.fill([0; COUNTERS]);
    }

    /// The loads in the order of time.
    pub(in crate::analysis) fn as_slice(&mut self) -> &[LoadSample] {
        self.loads.make_contiguous()
    }

    /// The latest loads, `count` at most, the latest first.
    pub(in crate::analysis) fn latest(&self, count: usize) -> impl Iterator<Item = &LoadSample> {
        self.loads.iter().rev().take(count)
    }

    /// The kinds of rate of which at least `min_loads` loads may lie within a relative `distance` of that of the latest
    /// load. All others have fewer.
    pub(in crate::analysis) fn kinds_near_latest(&self, distance: f64, min_loads: usize) -> NearKinds {
        // Rounding moves a rate by far less than this.
        const MARGIN: f64 = 1e-9;
        let (low, high) = (1.0 - distance - MARGIN, 1.0 + distance + MARGIN);
        let mut are_near = [false; KINDS.len()];
        let Some(latest) = self.loads.back() else { return NearKinds(are_near) };
        let kinds = KINDS.into_iter().zip(self.counts.iter());
        for (is_near, ((direction, unit), counts)) in are_near.iter_mut().zip(kinds) {
            let rate = latest.rate(direction, unit);
            let classes = rate_class(rate * low)..=rate_class(rate * high);
            let count: usize = classes.map(|class| usize::from(counts[class % COUNTERS])).sum();
            *is_near = rate > 0.0 && count >= min_loads;
        }
        NearKinds(are_near)
    }
}

/// Kinds of rate, as [`RecentLoads::kinds_near_latest`] returns them. It is asked in every interval, and mostly has none.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct NearKinds([bool; KINDS.len()]);

impl NearKinds {
    pub(in crate::analysis) fn is_empty(self) -> bool {
        self.0 == [false; KINDS.len()]
    }

    pub(in crate::analysis) fn iter(self) -> impl Iterator<Item = (IoDirection, RateUnit)> {
        KINDS.into_iter().zip(self.0).filter(|(_, is_near)| *is_near).map(|(kind, _)| kind)
    }
}

/// The class of a rate: the higher the rate, the higher the class.
fn rate_class(rate: f64) -> usize {
    (rate.to_bits() >> 47) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::stats::IoTotals;

    fn load(index: usize, (reads, writes): (f64, f64)) -> LoadSample {
        let totals = |ios: f64| IoTotals { ios, kib: 4.0 * ios * (1.0 + ios % 7.0), ms: ios };
        LoadSample {
            interval_index: index as f64,
            seconds: 1.0 + ((index * 7) % 5) as f64 / 100.0,
            intervals: 1.0,
            reads: totals(reads),
            writes: totals(writes),
            ..LoadSample::default()
        }
    }

    proptest! {
        #[test]
        fn no_kind_with_enough_near_loads_is_left_out(
            base in 0.1..1e6_f64,
            spread in 0.001..4.0_f64,
            steps in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 1..200),
            distance in 0.0..0.2_f64,
        ) {
            let mut recent = RecentLoads::default();
            for (index, (read, write)) in steps.into_iter().enumerate() {
                let ios = |step: f64| (base * (1.0 + spread * step)).round();
                recent.push(load(index, (ios(read), ios(write))));
                let latest = *recent.as_slice().last().unwrap();
                let found: Vec<_> = recent.kinds_near_latest(distance, 8).iter().collect();
                for (direction, unit) in KINDS {
                    let rate = latest.rate(direction, unit);
                    let is_near = |other: &&LoadSample| (other.rate(direction, unit) - rate).abs() <= distance * rate;
                    let count = recent.as_slice().iter().filter(is_near).count();
                    prop_assert!(rate == 0.0 || count < 8 || found.contains(&(direction, unit)));
                }
            }
        }
    }

    #[test]
    fn only_the_latest_loads_are_kept_and_counted() {
        let mut recent = RecentLoads::default();
        (0..1000).for_each(|index| recent.push(load(index, (100.0 + index as f64, 0.0))));
        assert_eq!(recent.as_slice().len(), MAX_RECENT_LOADS);
        assert_eq!(recent.latest(2).map(|load| load.interval_index).collect::<Vec<_>>(), [999.0, 998.0]);
        let counted = |recent: &RecentLoads| -> Vec<usize> {
            recent.counts.iter().map(|counts| counts.iter().map(|count| usize::from(*count)).sum()).collect()
        };
        assert_eq!(counted(&recent), [MAX_RECENT_LOADS; KINDS.len()]);
        recent.clear();
        assert_eq!((recent.as_slice().len(), counted(&recent)), (0, vec![0; KINDS.len()]));
        assert!(recent.kinds_near_latest(0.1, 1).is_empty());
    }
}
