//! The latest loads of a device.

use super::recent_amounts::RecentAmounts;
use super::sample::LoadSample;
use crate::analysis::thresholds::SAME_LOAD_TOLERANCE;

/// Loads that are kept.
pub(in crate::analysis) const MAX_RECENT_LOADS: usize = 64;

/// Loads beyond these that are kept, so that the others are moved to their place only now and then.
const SPARE_LOADS: usize = 24;

/// The latest loads of a device.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct RecentLoads {
    /// In the order of time. The latest [`MAX_RECENT_LOADS`] count; those before them are left over.
    loads: Vec<LoadSample>,
    amounts: RecentAmounts,
}

impl RecentLoads {
    /// Adds the load of the next interval.
    pub(in crate::analysis) fn push(&mut self, mut load: LoadSample) {
        if let Some(last) = self.loads.last_mut() {
            load.is_steady = last.is_similar(&load, SAME_LOAD_TOLERANCE);
            last.is_steady |= load.is_steady;
        }
        let (count, max_capacity) = (self.loads.len(), MAX_RECENT_LOADS + SPARE_LOADS);
        if count == max_capacity {
            self.loads.drain(..=SPARE_LOADS);
        } else if count == self.loads.capacity() {
            // Most devices of a large host never have more than a few in a row.
            self.loads.reserve_exact((count / 2).max(4).min(max_capacity - count));
        }
        self.amounts.push(&load);
        self.loads.push(load);
    }

    /// Forgets all loads.
    pub(in crate::analysis) fn clear(&mut self) {
        self.loads.clear();
        self.amounts.clear();
    }

    /// The loads in the order of time.
    pub(in crate::analysis) fn as_slice(&self) -> &[LoadSample] {
        &self.loads[self.loads.len().saturating_sub(MAX_RECENT_LOADS)..]
    }

    /// The latest loads, `count` at most, the latest first.
    pub(in crate::analysis) fn latest(&self, count: usize) -> impl Iterator<Item = &LoadSample> {
        self.as_slice().iter().rev().take(count)
    }

    /// Lengths and completions of the same loads, rounded.
    pub(in crate::analysis) fn amounts(&self) -> &RecentAmounts {
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
            let loads = recent.as_slice();
            assert_eq!(loads.len(), MAX_RECENT_LOADS.min(index + 1));
            let mut same = RecentLoads::default();
            loads.iter().for_each(|load| same.push(*load));
            assert_eq!(sorted(&recent), sorted(&same));
            let latest = recent.amounts().latest().unwrap();
            assert_eq!(recent.amounts().of_kind(0)[latest], 1000.0 + index as f32);
        }
        assert_eq!(recent.latest(2).map(|load| load.interval_index).collect::<Vec<_>>(), [999.0, 998.0]);
        recent.clear();
        assert_eq!((recent.as_slice().len(), recent.amounts().latest()), (0, None));
    }
}
