//! The latest loads of a device.

use std::collections::VecDeque;

use super::sample::{IoDirection, LoadSample, RateUnit};
use crate::analysis::thresholds::{NEAR_RATE_DISTANCE, SAME_LOAD_TOLERANCE};

const MAX_RECENT_LOADS: usize = 64;

/// The kinds of rate that a cap can hold.
pub(crate) const RATE_KINDS: [(IoDirection, RateUnit); 6] = [
    (IoDirection::Both, RateUnit::Requests),
    (IoDirection::Both, RateUnit::Kib),
    (IoDirection::Reads, RateUnit::Requests),
    (IoDirection::Reads, RateUnit::Kib),
    (IoDirection::Writes, RateUnit::Requests),
    (IoDirection::Writes, RateUnit::Kib),
];

/// The latest loads of a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentLoads {
    /// In the order of time, [`MAX_RECENT_LOADS`] at most.
    loads: VecDeque<LoadSample>,
    /// The rates of the same loads, and how many are near those of the latest. Nearly all searches end at these counts, so
    /// they are quick to make: of numbers that are half as long as others, and all at once.
    rates: VecDeque<Rates>,
    near_counts: [u32; 2 * RATE_KINDS.len()],
}

/// The rates of a load of each of [`RATE_KINDS`], then their amounts.
type Rates = [f32; 2 * RATE_KINDS.len()];

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
            self.rates.pop_front();
        } else if count == self.loads.capacity() {
            // Most devices of a large host never have more than a few loads in a row.
            self.loads
                .reserve_exact((count / 2).max(4).min(MAX_RECENT_LOADS - count));
        }
        let rates = std::array::from_fn(|of| {
            let (direction, unit) = RATE_KINDS[of % RATE_KINDS.len()];
            let amount = load.amount(direction, unit);
            (if of < RATE_KINDS.len() {
                amount / load.seconds
            } else {
                amount
            }) as f32
        });
        self.rates.push_back(rates);
        self.loads.push_back(load);
        self.count_near(&rates);
    }

    fn count_near(&mut self, latest: &Rates) {
        let max_distances = latest.map(|rate| NEAR_RATE_DISTANCE as f32 * rate);
        let mut counts = [0; 2 * RATE_KINDS.len()];
        let (earlier, later) = self.rates.as_slices();
        for rates in earlier.iter().chain(later) {
            for of in 0..counts.len() {
                counts[of] += u32::from((rates[of] - latest[of]).abs() <= max_distances[of]);
            }
        }
        self.near_counts = counts;
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The loads in the order of time.
    pub(crate) fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = &LoadSample> + ExactSizeIterator + Clone {
        self.loads.iter()
    }

    /// Returns whether at least `count` loads have about the rate of the latest, or its number of completions: all near
    /// it, and the highest at most `width` times the lowest. `kind` is an index of [`RATE_KINDS`].
    pub(crate) fn has_dense(&self, kind: usize, count: u32, width: f64) -> bool {
        [kind, kind + RATE_KINDS.len()].into_iter().any(|of| {
            let latest = self.rates.back().map_or(0.0, |rates| rates[of]);
            if latest <= 0.0 || self.near_counts[of] < count {
                return false;
            }
            let is_near = |rate: &f32| (rate - latest).abs() <= NEAR_RATE_DISTANCE as f32 * latest;
            let mut near: Vec<f32> = self
                .rates
                .iter()
                .map(|rates| rates[of])
                .filter(is_near)
                .collect();
            near.sort_unstable_by(f32::total_cmp);
            near.windows(count as usize)
                .any(|same| f64::from(same[same.len() - 1]) <= width * f64::from(same[0]))
        })
    }

    /// The latest load; `None` without any.
    pub(crate) fn latest(&self) -> Option<&LoadSample> {
        self.loads.back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    fn load(index: usize, reads: f64) -> LoadSample {
        LoadSample {
            interval_index: index as f64,
            seconds: 1.0 + (index % 5) as f64 / 10.0,
            intervals: 1.0,
            reads: IoTotals {
                ios: reads,
                kib: 4.0 * reads,
                ms: reads,
            },
            ..LoadSample::default()
        }
    }

    #[test]
    fn only_the_latest_loads_are_kept() {
        let mut recent = RecentLoads::default();
        for index in 0..1000 {
            recent.push(load(index, 1000.0 + index as f64));
            let loads: Vec<LoadSample> = recent.iter().copied().collect();
            assert_eq!(loads.len(), MAX_RECENT_LOADS.min(index + 1));
            assert!(loads.is_sorted_by(|a, b| a.interval_index + 1.0 == b.interval_index));
        }
        let indices: Vec<f64> = recent
            .iter()
            .rev()
            .take(2)
            .map(|load| load.interval_index)
            .collect();
        assert_eq!(
            (indices, recent.loads.capacity()),
            (vec![999.0, 998.0], MAX_RECENT_LOADS)
        );
        recent.clear();
        assert!(recent.latest().is_none());
    }
}
