//! The rates of the latest loads of a device, rounded so that many are compared at a time.

use super::recent::MAX_RECENT_LOADS;
use super::recent_amounts::RATE_KINDS;
use super::sample::LoadSample;

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
