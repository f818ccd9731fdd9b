//! The latest loads of a device.

use std::collections::VecDeque;

use super::sample::LoadSample;
use crate::analysis::thresholds::SAME_LOAD_TOLERANCE;

const MAX_RECENT_LOADS: usize = 64;

/// The latest loads of a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentLoads {
    /// In the order of time, [`MAX_RECENT_LOADS`] at most.
    loads: VecDeque<LoadSample>,
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
        self.loads.push_back(load);
    }

    pub(crate) fn clear(&mut self) {
        self.loads.clear();
    }

    /// The loads in the order of time.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &LoadSample> + ExactSizeIterator + Clone {
        self.loads.iter()
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
            reads: IoTotals { ios: reads, kib: 4.0 * reads, ms: reads },
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
        let indices: Vec<f64> = recent.iter().rev().take(2).map(|load| load.interval_index).collect();
        assert_eq!((indices, recent.loads.capacity()), (vec![999.0, 998.0], MAX_RECENT_LOADS));
        recent.clear();
        assert!(recent.latest().is_none());
    }
}
