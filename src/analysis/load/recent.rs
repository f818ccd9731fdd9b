//! The latest loads of a device.

use std::collections::VecDeque;

use super::sample::{IoDirection, LoadSample, RateUnit};
use crate::analysis::thresholds::SAME_LOAD_TOLERANCE;

pub(crate) const MAX_RECENT_LOADS: usize = 64;

/// The latest loads of a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentLoads {
    /// In the order of time, [`MAX_RECENT_LOADS`] at most.
    loads: VecDeque<LoadSample>,
    amounts: RecentAmounts,
    rates: RecentRates,
}

impl RecentLoads {
    /// Adds the load of the next interval.
    pub(crate) fn push(&mut self, mut load: LoadSample) {
        if let Some(last) = self.loads.back_mut() {
            load.is_steady = last.is_similar(&load, SAME_LOAD_TOLERANCE);
            last.is_steady |= load.is_steady;
        }
        let count = self.loads.len();
        if count == MAX_RECENT_LOADS {
            self.loads.pop_front();
        } else if count == self.loads.capacity() {
            // Most devices of a large host never have more than a few loads in a row.
            self.loads.reserve_exact((count / 2).max(4).min(MAX_RECENT_LOADS - count));
        }
        self.amounts.push(&load);
        self.rates.push(&load);
        self.loads.push_back(load);
    }

    pub(crate) fn clear(&mut self) {
        self.loads.clear();
        self.amounts.clear();
        self.rates.clear();
    }

    /// The loads in the order of time.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &LoadSample> + ExactSizeIterator + Clone {
        self.loads.iter()
    }

    /// The latest load; `None` without any.
    pub(crate) fn latest(&self) -> Option<&LoadSample> {
        self.loads.back()
    }

    /// Returns whether `min_count` loads, including the latest, may have a rate of some kind within a relative
    /// `distance` of that of the latest. It takes hardly any time. It may be `true` by mistake, but never `false`.
    pub(crate) fn may_have_rate_of_latest(&self, min_count: usize, distance: f64) -> bool {
        self.rates.may_be_near(min_count, distance)
    }

    /// Lengths and completions of the same loads, rounded.
    pub(crate) fn amounts(&self) -> &RecentAmounts {
        &self.amounts
    }
}

/// The kinds of rate that a cap can hold, in the order of their columns.
pub(crate) const RATE_KINDS: [(IoDirection, RateUnit); 6] = [
    (IoDirection::Both, RateUnit::Requests),
    (IoDirection::Both, RateUnit::Kib),
    (IoDirection::Reads, RateUnit::Requests),
    (IoDirection::Reads, RateUnit::Kib),
    (IoDirection::Writes, RateUnit::Requests),
    (IoDirection::Writes, RateUnit::Kib),
];

/// Columns with a number for each load: its seconds and the amount of each kind. Reading columns takes far less time
/// than reading the loads, most of whose memory is not in a CPU cache.
///
/// Numbers are rounded by at most [`Self::ROUNDING`]. Each column is a ring buffer: the latest number replaces the
/// oldest.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentAmounts {
    columns: [Vec<f32>; 1 + RATE_KINDS.len()],
    /// The number of loads so far.
    count: usize,
}

impl RecentAmounts {
    /// An upper bound of the relative error of a number, or of a result computed from a few of them.
    pub(crate) const ROUNDING: f32 = 1e-5;

    pub(super) fn push(&mut self, load: &LoadSample) {
        let amounts = RATE_KINDS.map(|(direction, unit)| load.amount(direction, unit));
        let place = self.count % MAX_RECENT_LOADS;
        for (column, value) in self.columns.iter_mut().zip(std::iter::once(load.seconds).chain(amounts)) {
            match column.get_mut(place) {
                Some(oldest) => *oldest = value as f32,
                None => {
                    if column.len() == column.capacity() {
                        // Most devices of a large host never have more than a few loads in a row.
                        column.reserve_exact(column.len().max(4));
                    }
                    column.push(value as f32);
                }
            }
        }
        self.count += 1;
    }

    pub(super) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vec::clear);
        self.count = 0;
    }

    /// The index of the latest load in each column; `None` without loads.
    pub(crate) fn latest(&self) -> Option<usize> {
        Some(self.count.checked_sub(1)? % MAX_RECENT_LOADS)
    }

    pub(crate) fn seconds(&self) -> &[f32] {
        &self.columns[0]
    }

    /// The requests or KiB of one of [`RATE_KINDS`], by its index there.
    pub(crate) fn of_kind(&self, kind: usize) -> &[f32] {
        &self.columns[1 + kind]
    }
}

/// Loads in a block, which the compiler compares at once.
const BLOCK_LOADS: usize = 16;

/// An upper bound of the relative error of a rate.
const ROUNDING: f32 = 1e-5;

/// The class of the rate of each load, for each kind of rate. Unlike the loads themselves, the classes are so small
/// that they often stay in a CPU cache until the device's next interval.
///
/// A class is 1/2048 of the range from a power of two to the next. After 32 such ranges the classes repeat, so that
/// distant rates may share a class; but a rate that lies between two others always has a class between theirs.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentRates {
    /// A ring buffer: the latest load replaces the oldest.
    blocks: Vec<[[u16; BLOCK_LOADS]; RATE_KINDS.len()]>,
    latest: [f32; RATE_KINDS.len()],
    /// The number of loads so far.
    count: usize,
}

impl RecentRates {
    pub(super) fn push(&mut self, load: &LoadSample) {
        let place = self.count % MAX_RECENT_LOADS;
        self.latest = RATE_KINDS.map(|(direction, unit)| load.rate(direction, unit) as f32);
        if self.blocks.len() == place / BLOCK_LOADS {
            self.blocks.reserve_exact(1);
            self.blocks.push([[0; BLOCK_LOADS]; RATE_KINDS.len()]);
        }
        for (classes, rate) in self.blocks[place / BLOCK_LOADS].iter_mut().zip(self.latest) {
            classes[place % BLOCK_LOADS] = class(rate);
        }
        self.count += 1;
    }

    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.count = 0;
    }

    /// Returns whether `min_count` loads, including the latest, may have a rate of some kind within a relative
    /// `distance` of that of the latest. It may return `true` by mistake, but never `false`.
    pub(super) fn may_be_near(&self, min_count: usize, distance: f64) -> bool {
        let distance = distance as f32 + ROUNDING;
        let count = |kind: usize, rate: f32| {
            let lowest = class(rate * (1.0 - distance));
            let range = class(rate * (1.0 + distance)).wrapping_sub(lowest);
            let mut counts = [0u16; BLOCK_LOADS];
            for block in &self.blocks {
                for (count, class) in counts.iter_mut().zip(block[kind]) {
                    *count += u16::from(class.wrapping_sub(lowest) <= range);
                }
            }
            usize::from(counts.into_iter().sum::<u16>())
        };
        let mut rates = self.latest.into_iter().enumerate();
        rates.any(|(kind, rate)| rate > 0.0 && count(kind, rate) >= min_count)
    }
}

fn class(rate: f32) -> u16 {
    // The exponent is in the bits from the 23rd on, the fraction in those below.
    (rate.to_bits() >> 12) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::load::RATE_KINDS;
    use crate::analysis::stats::IoTotals;

    fn load(index: usize, reads: f64) -> LoadSample {
        LoadSample {
            interval_index: index as f64,
            seconds: 1.0 + (index % 5) as f64 / 10.0,
            intervals: 1.0,
            reads: IoTotals { ios: reads, kib: 4.0 * reads, ms: reads },
            ..LoadSample::default()
        }
    }

    /// The lengths and the amounts of each kind of rate, without their order.
    fn sorted(recent: &RecentLoads) -> Vec<Vec<f32>> {
        let amounts = recent.amounts();
        let kinds = (0..RATE_KINDS.len()).map(|kind| amounts.of_kind(kind));
        let mut columns: Vec<Vec<f32>> =
            std::iter::once(amounts.seconds()).chain(kinds).map(<[f32]>::to_vec).collect();
        columns.iter_mut().for_each(|column| column.sort_by(f32::total_cmp));
        columns
    }

    #[test]
    fn only_the_latest_loads_are_kept_and_their_amounts() {
        let mut recent = RecentLoads::default();
        for index in 0..1000 {
            recent.push(load(index, 1000.0 + index as f64));
            let loads: Vec<LoadSample> = recent.iter().copied().collect();
            assert_eq!(loads.len(), MAX_RECENT_LOADS.min(index + 1));
            assert!(loads.is_sorted_by(|a, b| a.interval_index + 1.0 == b.interval_index));
            let mut same = RecentLoads::default();
            loads.iter().for_each(|load| same.push(*load));
            assert_eq!(sorted(&recent), sorted(&same));
            let latest = recent.amounts().latest().unwrap();
            assert_eq!(recent.amounts().of_kind(0)[latest], 1000.0 + index as f32);
        }
        let indices: Vec<f64> = recent.iter().rev().take(2).map(|load| load.interval_index).collect();
        assert_eq!((indices, recent.loads.capacity()), (vec![999.0, 998.0], MAX_RECENT_LOADS));
        recent.clear();
        assert!(recent.latest().is_none() && recent.amounts().latest().is_none());
        assert!(!recent.may_have_rate_of_latest(1, 1.0));
    }
}

#[cfg(test)]
mod recent_rates_tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::load::RecentLoads;
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
        fn loads_near_the_latest_are_never_missed(
            base in 0.1..1e6_f64,
            spread in 0.001..4.0_f64,
            steps in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 1..200),
            (min_count, distance) in (1..20_usize, 0.0..0.3_f64),
        ) {
            let mut recent = RecentLoads::default();
            for (index, (read, write)) in steps.into_iter().enumerate() {
                let ios = |step: f64| (base * (1.0 + spread * step)).round();
                recent.push(load(index, (ios(read), ios(write))));
                let latest = recent.latest().unwrap();
                let are_near = RATE_KINDS.into_iter().any(|(direction, unit)| {
                    let rate = latest.rate(direction, unit);
                    let is_near = |other: &&LoadSample| (other.rate(direction, unit) - rate).abs() <= distance * rate;
                    rate > 0.0 && recent.iter().filter(is_near).count() >= min_count
                });
                prop_assert!(!are_near || recent.may_have_rate_of_latest(min_count, distance));
            }
        }
    }

    #[test]
    fn loads_at_other_rates_are_not_near() {
        let mut recent = RecentLoads::default();
        for index in 0..100 {
            // Ten percent more each time, and back after an eightfold rate: each of 22 rates comes about three times.
            recent.push(load(index, (1000.0 * 1.1_f64.powi(index as i32 % 22), 0.0)));
        }
        assert!(recent.may_have_rate_of_latest(2, 0.035) && !recent.may_have_rate_of_latest(8, 0.035));
        recent.push(load(100, (0.0, 0.0)));
        assert!(!recent.may_have_rate_of_latest(1, 0.035));
    }
}
