//! The latest loads of a device.

use std::collections::VecDeque;

use super::recent_amounts::RecentAmounts;
use super::recent_rates::RecentRates;
use super::sample::LoadSample;
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
