//! Sweeps of the concurrency: it is held or slowly moved over a range, instead of varying randomly around one value.

use libm::log;

use super::sample::{IoDirection, LoadSample};
use crate::analysis::thresholds::{MAX_VON_NEUMANN_RATIO, MIN_LOADED_QUEUE, MIN_SINGLE_DIRECTION_FRACTION};

/// Returns whether practically all requests of a load are of one direction.
pub(crate) fn is_single_direction(load: &LoadSample, direction: IoDirection) -> bool {
    load.totals(direction).ios >= MIN_SINGLE_DIRECTION_FRACTION * load.totals(IoDirection::Both).ios
}

/// The directions whose queues are described: reads, writes and both.
pub(crate) const DIRECTIONS: [IoDirection; 3] = [IoDirection::Reads, IoDirection::Writes, IoDirection::Both];

/// Von Neumann's ratio (1941) of the mean square successive difference to the variance, of the logarithms of a
/// direction's queue: about 2 for chance. It is calculated interval by interval, before loads are merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct VonNeumannRatio {
    last: Option<f64>,
    count: f64,
    mean: f64,
    squared_deviations: f64,
    squared_steps: f64,
}

impl VonNeumannRatio {
    /// Takes the load of an interval; loads that are light or not of this direction alone do not count.
    pub(crate) fn observe(&mut self, load: &LoadSample, direction: IoDirection) {
        let queue = load.queue(direction);
        if queue < MIN_LOADED_QUEUE || !is_single_direction(load, direction) {
            return;
        }
        let value = log(queue);
        // Running mean and squared deviations: Welford (1962).
        self.count += 1.0;
        let deviation = value - self.mean;
        self.mean += deviation / self.count;
        self.squared_deviations += deviation * (value - self.mean);
        self.squared_steps += self.last.replace(value).map_or(0.0, |last| (value - last).powi(2));
    }

    /// Returns whether the queue was held or moved slowly. A queue that only varies randomly at a constant load has no
    /// levels that show what the device can do.
    pub(crate) fn is_held(&self) -> bool {
        self.squared_steps <= MAX_VON_NEUMANN_RATIO * self.squared_deviations
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    fn load(queue: f64) -> LoadSample {
        let reads = IoTotals { ios: 100.0, kib: 400.0, ms: 1000.0 * queue };
        LoadSample { seconds: 1.0, intervals: 1.0, reads, ..LoadSample::default() }
    }

    fn is_held(queues: impl IntoIterator<Item = f64>) -> bool {
        let mut ratio = VonNeumannRatio::default();
        queues.into_iter().for_each(|queue| ratio.observe(&load(queue), IoDirection::Both));
        ratio.is_held()
    }

    #[test]
    fn levels_are_held_and_jumps_are_not() {
        assert!(is_held((0..60).map(|at| f64::from(1 << (at / 10)))));
        assert!(is_held((0..6000).map(|at| [1.0, 8.0, 2.0, 64.0][at / 3 % 4])));
        assert!(!is_held((0..60).map(|at| if at % 2 == 0 { 1.0 } else { 3.0 })));
        // Intervals that hardly load the device do not count.
        assert!(is_held((0..60).map(|at| if at % 2 == 0 { 0.1 } else { f64::from(1 << (at / 10)) })));
    }
}
