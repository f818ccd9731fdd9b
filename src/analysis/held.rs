//! Whether concurrencies were held or changed slowly, or only jump about by chance.

use libm::log;

use super::load::{IoDirection, LoadSample};
use super::still::LEAST_LOADED;

/// With so large a share of a side's requests an interval is of that side alone.
const ALONE: f64 = 0.9;

/// Whether a load is of one side alone.
pub(super) fn is_alone(load: &LoadSample, side: IoDirection) -> bool {
    load.work(side).ios >= ALONE * load.work(IoDirection::Both).ios
}

/// Von Neumann's ratio of the mean square successive difference to the variance, of the logarithms of a side's
/// concurrencies: 2 for chance. It is taken interval by interval, before any are put together.
#[derive(Clone, Debug)]
pub(super) struct Held {
    side: IoDirection,
    last: Option<f64>,
    count: f64,
    mean: f64,
    total: f64,
    steps: f64,
}

impl Held {
    /// Of nothing yet.
    pub(super) fn new(side: IoDirection) -> Self {
        Self { side, last: None, count: 0.0, mean: 0.0, total: 0.0, steps: 0.0 }
    }

    /// Takes the load of an interval.
    pub(super) fn see(&mut self, load: &LoadSample) {
        let concurrency = load.concurrency(self.side);
        if concurrency < LEAST_LOADED || !is_alone(load, self.side) {
            return;
        }
        let value = log(concurrency);
        // Welford 1962.
        self.count += 1.0;
        let off = value - self.mean;
        self.mean += off / self.count;
        self.total += off * (value - self.mean);
        self.steps += self.last.replace(value).map_or(0.0, |last| (value - last).powi(2));
    }

    /// Whether they were held: those of a load that stays the same are no levels that tell what the device can do.
    pub(super) fn is_held(&self) -> bool {
        const MOST: f64 = 1.2;
        self.steps <= MOST * self.total
    }
}

/// Whether enough time was spent at clearly other concurrencies than the median: a load that stays the same but for a
/// device that is slow at times has none but that one.
pub(super) fn is_spread(loads: &[&LoadSample], side: IoDirection) -> bool {
    const OTHER: f64 = 1.9;
    const LEAST: f64 = 0.3;
    let loaded = || loads.iter().copied().filter(|load| load.concurrency(side) >= LEAST_LOADED);
    let loads: Vec<&LoadSample> = loaded().collect();
    let Some(middle) = super::levels::median_of(&loads, |load| Some(load.concurrency(side))) else {
        return false;
    };
    let is_other = |load: &&&LoadSample| !(1.0 / OTHER..=OTHER).contains(&(load.concurrency(side) / middle));
    let time = |loads: &mut dyn Iterator<Item = &&LoadSample>| loads.map(|load| load.intervals).sum::<f64>();
    time(&mut loads.iter().filter(is_other)) >= LEAST * time(&mut loads.iter())
}

#[cfg(test)]
mod tests {
    use super::super::load::IoTotals;
    use super::*;

    fn load(concurrency: f64) -> LoadSample {
        let reads = IoTotals { ios: 100.0, kib: 400.0, ms: 1000.0 * concurrency };
        LoadSample { seconds: 1.0, intervals: 1.0, reads, ..LoadSample::default() }
    }

    fn is_held(concurrencies: impl IntoIterator<Item = f64>) -> bool {
        let mut held = Held::new(IoDirection::Both);
        concurrencies.into_iter().for_each(|concurrency| held.see(&load(concurrency)));
        held.is_held()
    }

    #[test]
    fn levels_are_held_and_jumps_are_not() {
        assert!(is_held((0..60).map(|at| f64::from(1 << (at / 10)))));
        assert!(is_held((0..6000).map(|at| [1.0, 8.0, 2.0, 64.0][at / 3 % 4])));
        assert!(!is_held((0..60).map(|at| if at % 2 == 0 { 1.0 } else { 3.0 })));
        // What hardly loads the device does not count.
        assert!(is_held((0..60).map(|at| if at % 2 == 0 { 0.1 } else { f64::from(1 << (at / 10)) })));
    }

    #[test]
    fn a_load_that_stays_the_same_is_not_spread() {
        let spread = |concurrencies: &[f64]| {
            let loads: Vec<LoadSample> = concurrencies.iter().map(|concurrency| load(*concurrency)).collect();
            is_spread(&loads.iter().collect::<Vec<_>>(), IoDirection::Both)
        };
        assert!(spread(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]) && spread(&[16.0, 32.0, 64.0, 128.0]));
        assert!(!spread(&[4.0, 4.1, 3.9, 4.0, 300.0, 4.2, 4.0, 4.0, 4.1, 4.0]) && !spread(&[]));
    }
}
