//! Mean, quantiles and maximum of any number of values in bounded memory.

use std::borrow::Cow;

use serde::Serialize;

/// Low bits of a float that do not choose its bin: 128 bins for each power of two, each less than 1% wide.
const BITS_WITHIN_BIN: u32 = 45;
/// Values that are kept before they are added to their bins together. The bins of many devices do not fit into the caches of
/// a CPU, so that adding each value by itself would wait for memory each time.
const PENDING_VALUES: usize = 32;

/// Weighted values in bins of 1%. Mean and maximum are exact; a quantile is the mean of its bin, so it is exact where
/// all values of the bin are equal, and within 1% otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The leading bits of the values of each bin, sorted; they sort as the values do. Apart from the bins, so that a
    /// search reads little memory.
    keys: Vec<u32>,
    bins: Vec<WeightedSum>,
    /// Values that are not in the bins yet, in the order in which they were added.
    pending: Vec<PendingValue>,
    zero_weight: f64,
    total: WeightedSum,
    max: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct PendingValue {
    key: u32,
    value: f64,
    weight: f64,
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
    pub fn add(&mut self, value: f64, weight: f64) {
        if !value.is_finite() || value < 0.0 || !weight.is_finite() || weight <= 0.0 {
            return;
        }
        self.total.add(value, weight);
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
        if value == 0.0 {
            self.zero_weight += weight;
        } else {
            let key = (value.to_bits() >> BITS_WITHIN_BIN) as u32;
            self.pending.push(PendingValue { key, value, weight });
            if self.pending.len() == PENDING_VALUES {
                self.settle();
            }
        }
    }

    /// Adds the pending values to their bins.
    fn settle(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        // A stable sort: the values of a bin are added in their order, so that rounding does not depend on this buffer.
        pending.sort_by_key(|pending| pending.key);
        self.make_bins(&pending);
        let mut bin = 0;
        for PendingValue { key, value, weight } in pending.drain(..) {
            bin += self.keys[bin..].partition_point(|other| *other < key);
            self.bins[bin].add(value, weight);
        }
        self.pending = pending;
    }

    /// Adds empty bins for those sorted values that have none.
    fn make_bins(&mut self, values: &[PendingValue]) {
        let mut missing: Vec<(usize, u32)> = Vec::new();
        let mut bin = 0;
        for PendingValue { key, .. } in values {
            bin += self.keys[bin..].partition_point(|other| other < key);
            let is_new =
                self.keys.get(bin) != Some(key) && missing.last().is_none_or(|(_, last)| last != key);
            if is_new {
                missing.push((bin, *key));
            }
        }
        // From the last to the first, so that each bin is moved once.
        let mut end = self.keys.len();
        self.keys.resize(end + missing.len(), 0);
        self.bins.resize(end + missing.len(), WeightedSum::default());
        for (before, (at, key)) in missing.iter().enumerate().rev() {
            self.keys.copy_within(*at..end, at + before + 1);
            self.bins.copy_within(*at..end, at + before + 1);
            self.keys[at + before] = *key;
            self.bins[at + before] = WeightedSum::default();
            end = *at;
        }
    }

    /// Returns the histogram with all values in their bins.
    fn settled(&self) -> Cow<'_, Self> {
        if self.pending.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut settled = self.clone();
        settled.settle();
        Cow::Owned(settled)
    }

    /// The sum of the weights.
    pub fn weight(&self) -> f64 {
        self.total.weight
    }

    /// The weighted mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        self.total.mean()
    }

    /// The smallest value that at least `fraction` of the weight does not exceed; `None` without values.
    pub fn quantile(&self, fraction: f64) -> Option<f64> {
        // Sums of weights are rounded.
        let wanted = fraction * self.total.weight * (1.0 - 1e-12);
        let mut passed = self.zero_weight;
        if passed > 0.0 && passed >= wanted {
            return Some(0.0);
        }
        for bin in &self.settled().bins {
            passed += bin.weight;
            if passed >= wanted {
                return bin.mean();
            }
        }
        self.max
    }

    /// Mean, quantiles and maximum.
    pub fn distribution(&self) -> Distribution {
        let settled = self.settled();
        Distribution {
            mean: self.mean(),
            p50: settled.quantile(0.5),
            p95: settled.quantile(0.95),
            p99: settled.quantile(0.99),
            max: self.max,
        }
    }
}

/// The distribution of a quantity over intervals; all `None` where it never had a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// The weighted mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The maximum.
    pub max: Option<f64>,
}

/// The weighted median of `(value, weight)` pairs, which it reorders; the mean of two values where half of the weight lies
/// on each side. `None` without values.
pub(in crate::analysis) fn weighted_median(values: &mut [(f64, f64)]) -> Option<f64> {
    if values.iter().all(|(_, weight)| *weight == 1.0) {
        return median_of_equal_weights(values);
    }
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut passed = 0.0;
    for (index, (value, weight)) in values.iter().enumerate() {
        passed += weight;
        if (passed - half).abs() <= half * 1e-9 {
            return Some(values.get(index + 1).map_or(*value, |(next, _)| (value + next) / 2.0));
        }
        if passed > half {
            return Some(*value);
        }
    }
    None
}

/// The median without sorting all values.
fn median_of_equal_weights(values: &mut [(f64, f64)]) -> Option<f64> {
    let last_below = values.len().checked_sub(1)? / 2;
    let (_, (value, _), above) = values.select_nth_unstable_by(last_below, |a, b| a.0.total_cmp(&b.0));
    let next = above.iter().map(|(next, _)| *next).min_by(f64::total_cmp);
    let is_even = above.len() > last_below;
    Some(next.filter(|_| is_even).map_or(*value, |next| (*value + next) / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_one_percent() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|value| histogram.add(f64::from(value), 1.0));
        let is_close = |fraction: f64, expected: f64| {
            (histogram.quantile(fraction).unwrap() / expected - 1.0).abs() <= 0.01
        };
        assert!(
            is_close(0.5, 500.0) && is_close(0.95, 950.0) && is_close(0.99, 990.0) && is_close(0.001, 1.0)
        );
        let distribution = histogram.distribution();
        assert_eq!((distribution.mean, distribution.max), (Some(500.5), Some(1000.0)));
    }

    #[test]
    fn bins_do_not_depend_on_the_values_that_were_pending() {
        let mut histogram = Histogram::default();
        let mut expected: std::collections::BTreeMap<u32, WeightedSum> = std::collections::BTreeMap::new();
        for step in 0_u32..5000 {
            let value = f64::from(step.wrapping_mul(2_654_435_761) % 700) / 7.0 + 0.1;
            let weight = 1.0 + f64::from(step % 3) / 3.0;
            histogram.add(value, weight);
            expected.entry((value.to_bits() >> BITS_WITHIN_BIN) as u32).or_default().add(value, weight);
        }
        assert!(!histogram.pending.is_empty());
        let settled = histogram.settled();
        assert_eq!(settled.keys, expected.keys().copied().collect::<Vec<_>>());
        assert_eq!(settled.bins, expected.into_values().collect::<Vec<_>>());
    }

    #[test]
    fn weights_count_and_zero_is_a_value() {
        let mut histogram = Histogram::default();
        histogram.add(0.0, 3.0);
        histogram.add(8.0, 1.0);
        histogram.add(f64::NAN, 1.0);
        assert_eq!((histogram.mean(), histogram.quantile(0.5)), (Some(2.0), Some(0.0)));
        assert_eq!(histogram.quantile(0.99), Some(8.0));
        assert_eq!(Histogram::default().distribution(), Distribution::default());
    }

    #[test]
    fn the_median_of_two_equal_halves_lies_between_them() {
        assert_eq!(weighted_median(&mut [(3.0, 1.0), (1.0, 1.0)]), Some(2.0));
        assert_eq!(weighted_median(&mut [(3.0, 1.0), (1.0, 3.0)]), Some(1.0));
        assert_eq!(weighted_median(&mut [(3.0, 2.0), (1.0, 2.0)]), Some(2.0));
        assert_eq!(weighted_median(&mut [9.0, 1.0, 4.0, 7.0].map(|value| (value, 1.0))), Some(5.5));
        assert_eq!(weighted_median(&mut [9.0, 1.0, 4.0].map(|value| (value, 1.0))), Some(4.0));
        assert_eq!(weighted_median(&mut [(9.0, 1.0)]), Some(9.0));
        assert_eq!(weighted_median(&mut []), None);
    }
}
