//! Mean, quantiles and maximum of any number of values in bounded memory.

use serde::Serialize;

use super::by_class::ByClass;

/// As many values get into bins at once.
const MAX_WAITING: usize = 32;
/// Low bits of a float that do not choose its bin: 128 bins for each power of two, each less than 1% wide.
const BITS_WITHIN_BIN: u32 = 45;
/// The leading bits of 2^-256, the lower border of the first bin. There are bins up to 2^256.
const FIRST_BIN: u64 = (1023 - 256) << 7;

/// Weighted values in bins of 1%. Mean and maximum are exact; a quantile is the mean of its bin, so it is exact if all
/// values of the bin are equal, and within 1% otherwise. Only values of more than 77 digits, or with more than 77 zeros
/// after the decimal point, share a bin.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Histogram {
    /// The bins with values, by number.
    bins: ByClass<u16, WeightedSum>,
    /// The latest values, each with its weight. They get into bins together, because the bins of all devices do not fit
    /// into the caches of a CPU.
    waiting: Vec<(f64, f64)>,
    zero_weight: f64,
    total: WeightedSum,
    max: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct WeightedSum {
    weight: f64,
    weighted: f64,
}

impl WeightedSum {
    fn add(&mut self, value: f64, weight: f64) {
        self.weight += weight;
        self.weighted += value * weight;
    }

    fn mean(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.weighted / self.weight)
    }
}

impl Histogram {
    /// Adds a value that counts `weight` times. Values that are negative or not finite, and weights that are not
    /// positive, are ignored.
    pub(super) fn add(&mut self, value: f64, weight: f64) {
        if !is_positive(weight) || !(is_positive(value) || value == 0.0) {
            return;
        }
        self.total.add(value, weight);
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
        if value == 0.0 {
            self.zero_weight += weight;
            return;
        }
        self.waiting.push((value, weight));
        if self.waiting.len() >= MAX_WAITING {
            self.settle();
        }
    }

    /// Puts the values that wait into bins.
    fn settle(&mut self) {
        for (value, weight) in self.waiting.drain(..) {
            let bin = self
                .bins
                .get_or_insert_with(bin_number(value), WeightedSum::default);
            bin.add(value, weight);
        }
    }

    /// The weighted mean; `None` without values.
    pub(super) fn mean(&self) -> Option<f64> {
        self.total.mean()
    }

    /// The smallest value that at least `fraction` of the weight does not exceed; `None` without values.
    pub(super) fn quantile(&mut self, fraction: f64) -> Option<f64> {
        self.settle();
        // Allows for the rounding of sums of weights.
        let wanted = fraction * self.total.weight * (1.0 - 1e-12);
        let mut passed = self.zero_weight;
        if passed > 0.0 && passed >= wanted {
            return Some(0.0);
        }
        for bin in self.bins.values() {
            passed += bin.weight;
            if passed >= wanted {
                return bin.mean();
            }
        }
        self.max
    }

    /// Mean, quantiles and maximum.
    pub(super) fn distribution(&mut self) -> Distribution {
        Distribution {
            mean: self.mean(),
            p50: self.quantile(0.5),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            max: self.max,
        }
    }
}

/// Returns whether a number is positive and finite.
fn is_positive(value: f64) -> bool {
    value > 0.0 && value < f64::INFINITY
}

/// The number of the bin of a positive value.
fn bin_number(value: f64) -> u16 {
    // The leading bits of positive floats sort like the floats.
    let number = (value.to_bits() >> BITS_WITHIN_BIN).saturating_sub(FIRST_BIN);
    number.min(u64::from(u16::MAX)) as u16
}

/// The distribution of a quantity over intervals; all `None` if it never had a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// The weighted mean.
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn quantiles_are_within_one_percent() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|value| histogram.add(f64::from(value), 1.0));
        let mut is_close = |fraction: f64, expected: f64| {
            (histogram.quantile(fraction).unwrap() / expected - 1.0).abs() <= 0.01
        };
        assert!(
            is_close(0.5, 500.0)
                && is_close(0.95, 950.0)
                && is_close(0.99, 990.0)
                && is_close(0.001, 1.0)
        );
        let distribution = histogram.distribution();
        assert_eq!(
            (distribution.mean, distribution.max),
            (Some(500.5), Some(1000.0))
        );
    }

    #[test]
    fn bins_are_sorted_however_their_values_came() {
        let mut histogram = Histogram::default();
        let mut expected: BTreeMap<u32, WeightedSum> = BTreeMap::new();
        for step in 0_u32..5000 {
            let value = f64::from(step.wrapping_mul(2_654_435_761) % 700) / 7.0;
            let weight = 1.0 + f64::from(step % 3) / 3.0;
            histogram.add(value, weight);
            if value > 0.0 {
                expected
                    .entry((value.to_bits() >> BITS_WITHIN_BIN) as u32)
                    .or_default()
                    .add(value, weight);
            }
        }
        histogram.settle();
        let bins = histogram.bins.values().copied();
        assert!(bins.eq(expected.into_values()));
    }

    #[test]
    fn values_of_any_size_have_a_bin() {
        let values = [5e-324, 1e-76, 1e-9, 1.0, 1e76, f64::MAX];
        for values in [values.to_vec(), values.iter().rev().copied().collect()] {
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.add(*value, 1.0));
            let quantiles = (1..=6).map(|n| histogram.quantile(f64::from(n) / 6.0).unwrap());
            assert_eq!(
                quantiles.collect::<Vec<_>>(),
                [5e-324, 1e-76, 1e-9, 1.0, 1e76, f64::MAX]
            );
        }
    }

    #[test]
    fn weights_count_and_zero_is_a_value() {
        let mut histogram = Histogram::default();
        histogram.add(0.0, 3.0);
        histogram.add(8.0, 1.0);
        histogram.add(f64::NAN, 1.0);
        assert_eq!(
            (histogram.mean(), histogram.quantile(0.5)),
            (Some(2.0), Some(0.0))
        );
        assert_eq!(histogram.quantile(0.99), Some(8.0));
        assert_eq!(Histogram::default().distribution(), Distribution::default());
    }
}
