//! Mean, quantiles and maximum of any number of values in bounded memory.

use serde::Serialize;

/// Low bits of a float that do not choose its bin: 128 bins for each power of two, each less than 1% wide.
const BITS_WITHIN_BIN: u32 = 45;
/// The leading bits of 2^-256, the lower border of the first bin. There are bins up to 2^256.
const FIRST_BIN: u64 = (1023 - 256) << 7;
/// The number of values from which a [`BinWindow`] takes less time than a search for each value.
const MIN_WINDOW_VALUES: usize = 24;
/// The number of existing bins for which a window needs one more value to be worth it, because all bins are moved into
/// the window and out of it.
const BINS_PER_WINDOW_VALUE: usize = 3;
/// The fewest bins for which space is made.
const MIN_NEW_BINS: usize = 4;

/// Weighted values in bins of 1%. Mean and maximum are exact; a quantile is the mean of its bin, so it is exact if all
/// values of the bin are equal, and within 1% otherwise. Only values of more than 77 digits, or with more than 77 zeros
/// after the decimal point, share a bin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The numbers of the bins with values, sorted.
    numbers: Vec<u16>,
    /// The bins of these numbers.
    bins: Vec<WeightedSum>,
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
    pub fn add(&mut self, value: f64, weight: f64) {
        if self.add_without_bin(value, weight) {
            self.add_to_bin(value, weight);
        }
    }

    /// Counts a value like [`Histogram::add`], but leaves out its bin. The values for which it returns true (all except
    /// zero and those that are ignored) must be passed to [`Histogram::fill_bins`] later.
    #[inline]
    pub(in crate::analysis) fn add_without_bin(&mut self, value: f64, weight: f64) -> bool {
        let has_bin = has_bin(value, weight);
        if has_bin || (value == 0.0 && is_positive(weight)) {
            self.total.add(value, weight);
            self.max = Some(self.max.map_or(value, |max| max.max(value)));
            self.zero_weight += if has_bin { 0.0 } else { weight };
        }
        has_bin
    }

    /// Counts positive values with their weights in their bins. Many at once take far less time than each by itself.
    pub(in crate::analysis) fn fill_bins(&mut self, values: &[(f64, f64)], window: &mut BinWindow) {
        if values.len() < MIN_WINDOW_VALUES.max(self.bins.len() / BINS_PER_WINDOW_VALUE) {
            values.iter().for_each(|(value, weight)| self.add_to_bin(*value, *weight));
            return;
        }
        // Positive floats sort like their bits, which are faster to compare.
        let (lowest, highest) = values.iter().fold((u64::MAX, 0), |(low, high), (value, _)| {
            (value.to_bits().min(low), value.to_bits().max(high))
        });
        let (first, last) = (bin_number(f64::from_bits(lowest)), bin_number(f64::from_bits(highest)));
        let known = self.numbers.first().zip(self.numbers.last());
        let (first, last) = known.map_or((first, last), |(low, high)| (first.min(*low), last.max(*high)));
        window.open(first, last);
        for (number, bin) in self.numbers.iter().zip(&self.bins) {
            *window.bin(*number) = *bin;
        }
        for (value, weight) in values {
            window.bin(bin_number(*value)).add(*value, *weight);
        }
        let count = window.count();
        if count > self.bins.capacity() {
            (self.numbers, self.bins) = (Vec::with_capacity(count), Vec::with_capacity(count));
        }
        self.numbers.clear();
        self.bins.clear();
        window.close(&mut self.numbers, &mut self.bins);
    }

    /// Adds values with their weights, as [`Histogram::add`] does.
    pub(in crate::analysis) fn add_all(
        &mut self,
        values: impl Iterator<Item = (f64, f64)>,
        window: &mut BinWindow,
    ) {
        let in_bins: Vec<(f64, f64)> =
            values.filter(|(value, weight)| self.add_without_bin(*value, *weight)).collect();
        self.fill_bins(&in_bins, window);
    }

    fn add_to_bin(&mut self, value: f64, weight: f64) {
        let number = bin_number(value);
        let at = self.numbers.binary_search(&number).unwrap_or_else(|at| {
            self.reserve();
            self.numbers.insert(at, number);
            self.bins.insert(at, WeightedSum::default());
            at
        });
        self.bins[at].add(value, weight);
    }

    /// Makes space for another bin. The space grows by an eighth instead of doubling, because a device has many
    /// histograms.
    fn reserve(&mut self) {
        if self.bins.len() == self.bins.capacity() {
            let more = MIN_NEW_BINS.max(self.bins.len() / 8);
            self.bins.reserve_exact(more);
            self.numbers.reserve_exact(more);
        }
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
        // Allows for the rounding of sums of weights.
        let wanted = fraction * self.total.weight * (1.0 - 1e-12);
        let mut passed = self.zero_weight;
        if passed > 0.0 && passed >= wanted {
            return Some(0.0);
        }
        for bin in &self.bins {
            passed += bin.weight;
            if passed >= wanted {
                return bin.mean();
            }
        }
        self.max
    }

    /// Mean, quantiles and maximum.
    pub fn distribution(&self) -> Distribution {
        Distribution {
            mean: self.mean(),
            p50: self.quantile(0.5),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            max: self.max,
        }
    }
}

/// Returns whether a value has a bin and its weight counts.
#[inline]
pub(in crate::analysis) fn has_bin(value: f64, weight: f64) -> bool {
    is_positive(value) && is_positive(weight)
}

/// Returns whether a number is positive and finite.
#[inline]
fn is_positive(value: f64) -> bool {
    value > 0.0 && value < f64::INFINITY
}

/// The number of the bin of a positive value.
#[inline]
fn bin_number(value: f64) -> u16 {
    // The leading bits of positive floats sort like the floats.
    let number = (value.to_bits() >> BITS_WITHIN_BIN).saturating_sub(FIRST_BIN);
    number.min(u64::from(u16::MAX)) as u16
}

/// All bins of a range, including empty ones, so that each is found by its number. Empty between uses.
#[derive(Debug, Default)]
pub(in crate::analysis) struct BinWindow {
    first: usize,
    bins: Vec<WeightedSum>,
    /// A bit for each bin that is in use.
    used: Vec<u64>,
}

impl BinWindow {
    /// Makes space for the bins of these numbers and those between.
    fn open(&mut self, first: u16, last: u16) {
        self.first = usize::from(first);
        let count = usize::from(last - first) + 1;
        self.used.resize(count.div_ceil(64), 0);
        if self.bins.len() < count {
            self.bins.resize(count, WeightedSum::default());
        }
    }

    /// The bin of a number. Marks it as used.
    #[inline]
    fn bin(&mut self, number: u16) -> &mut WeightedSum {
        let at = usize::from(number) - self.first;
        self.used[at / 64] |= 1 << (at % 64);
        &mut self.bins[at]
    }

    /// The number of bins in use.
    fn count(&self) -> usize {
        self.used.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// Moves the bins in use out, in the order of their numbers.
    fn close(&mut self, numbers: &mut Vec<u16>, bins: &mut Vec<WeightedSum>) {
        for (word, used) in self.used.drain(..).enumerate() {
            let mut rest = used;
            while rest != 0 {
                let at = word * 64 + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                numbers.push((self.first + at) as u16);
                bins.push(std::mem::take(&mut self.bins[at]));
            }
        }
    }
}

/// A histogram whose bins are filled for many values at once. The bins of many devices do not fit into the caches of a
/// CPU together, so that adding values one by one would wait for memory each time.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct GroupedHistogram {
    histogram: Histogram,
    /// Values and their weights that are not in the bins yet, in the order in which they were added.
    pending: Vec<(f64, f64)>,
}

impl GroupedHistogram {
    /// The size of a group.
    const MAX_PENDING: usize = 64;

    /// Adds a value that counts `weight` times, as [`Histogram::add`] does.
    pub(in crate::analysis) fn add(&mut self, value: f64, weight: f64) {
        if self.histogram.add_without_bin(value, weight) {
            self.pending.push((value, weight));
            if self.pending.len() == Self::MAX_PENDING {
                self.settle();
            }
        }
    }

    /// The histogram of all values.
    pub(in crate::analysis) fn finish(mut self) -> Histogram {
        self.settle();
        self.histogram
    }

    fn settle(&mut self) {
        self.histogram.fill_bins(&self.pending, &mut BinWindow::default());
        self.pending.clear();
    }
}

/// The distribution of a quantity over intervals; all `None` if it never had a value.
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

/// The weighted median of `(value, weight)` pairs, which it reorders; the mean of two values if half of the weight lies
/// on each side. `None` without values.
pub(in crate::analysis) fn weighted_median(values: &mut [(f64, f64)]) -> Option<f64> {
    // The queues of a level are sorted already.
    if values.is_sorted_by(|a, b| a.0 <= b.0) {
        return median_of_sorted(values);
    }
    if values.iter().all(|(_, weight)| *weight == 1.0) {
        return median_of_equal_weights(values);
    }
    // The sums of whole numbers are exact in any order.
    let is_whole = |(_, weight): &(f64, f64)| f64::from(*weight as u32) == *weight && *weight > 0.0;
    if values.iter().all(is_whole) {
        return median_of_whole_weights(values);
    }
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    median_of_sorted(values)
}

/// The median of sorted values.
fn median_of_sorted(values: &[(f64, f64)]) -> Option<f64> {
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

/// The weighted median for positive integer weights, without sorting all values: the values on one side of the middle
/// are discarded repeatedly.
fn median_of_whole_weights(values: &mut [(f64, f64)]) -> Option<f64> {
    let weight = |values: &[(f64, f64)]| values.iter().map(|(_, weight)| weight).sum::<f64>();
    let half = weight(values) / 2.0;
    let tolerance = half * 1e-9;
    let (mut rest, mut passed) = (values, 0.0);
    // The lowest value of those discarded above the middle.
    let mut next = None;
    while !rest.is_empty() {
        let middle = rest.len() / 2;
        let (below, at, _) = rest.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0));
        let (value, before) = (at.0, passed + weight(below));
        let to = before + at.1;
        if before >= half - tolerance {
            next = Some(value);
            rest = &mut rest[..middle];
        } else if to < half - tolerance {
            passed = to;
            rest = &mut rest[middle + 1..];
        } else if to > half + tolerance {
            return Some(value);
        } else {
            let above = rest[middle + 1..].iter().map(|(value, _)| *value).min_by(f64::total_cmp);
            return Some(above.or(next).map_or(value, |next| (value + next) / 2.0));
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
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn medians_without_sorting_are_those_of_sorted_values(
            values in prop::collection::vec((prop_oneof![0.0..9.0_f64, (0..6_u8).prop_map(f64::from)], 1..5_u8), 0..60),
        ) {
            let mut values: Vec<(f64, f64)> = values.into_iter().map(|(value, weight)| (value, f64::from(weight))).collect();
            let mut sorted = values.clone();
            sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let plain = median_of_sorted(&sorted);
            prop_assert_eq!(median_of_whole_weights(&mut values.clone()), plain);
            prop_assert_eq!(weighted_median(&mut values.clone()), plain);
            values.iter_mut().for_each(|(_, weight)| *weight = 1.0);
            sorted.iter_mut().for_each(|(_, weight)| *weight = 1.0);
            prop_assert_eq!(weighted_median(&mut values), median_of_sorted(&sorted));
        }
    }

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
    fn bins_are_sorted_however_their_values_came() {
        let mut histogram = Histogram::default();
        let mut grouped = GroupedHistogram::default();
        let mut expected: std::collections::BTreeMap<u32, WeightedSum> = std::collections::BTreeMap::new();
        for step in 0_u32..5000 {
            let value = f64::from(step.wrapping_mul(2_654_435_761) % 700) / 7.0;
            let weight = 1.0 + f64::from(step % 3) / 3.0;
            histogram.add(value, weight);
            grouped.add(value, weight);
            if value > 0.0 {
                expected.entry((value.to_bits() >> BITS_WITHIN_BIN) as u32).or_default().add(value, weight);
            }
        }
        assert_eq!(histogram.bins, expected.into_values().collect::<Vec<_>>());
        assert_eq!(grouped.finish(), histogram);
    }

    #[test]
    fn values_of_any_size_have_a_bin() {
        let values = [5e-324, 1e-76, 1e-9, 1.0, 1e76, f64::MAX];
        for values in [values.to_vec(), values.iter().rev().copied().collect()] {
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.add(*value, 1.0));
            let quantiles = (1..=6).map(|n| histogram.quantile(f64::from(n) / 6.0).unwrap());
            assert_eq!(quantiles.collect::<Vec<_>>(), [5e-324, 1e-76, 1e-9, 1.0, 1e76, f64::MAX]);
        }
    }

    #[test]
    fn values_in_groups_are_added_as_single_ones() {
        let (mut single, mut grouped) = (Histogram::default(), GroupedHistogram::default());
        let (mut later, mut window) = (Histogram::default(), BinWindow::default());
        let mut pending = Vec::new();
        for step in 0_u32..5000 {
            let value = match step % 50 {
                0 => 0.0,
                1 => -1.0,
                2 => f64::NAN,
                3 => f64::MIN_POSITIVE / f64::from(step),
                _ => f64::from(step.wrapping_mul(2_654_435_761) % 700) / 7.0,
            };
            let weight = if step % 60 == 7 { 0.0 } else { f64::from(step % 3 + 1) / 3.0 };
            single.add(value, weight);
            grouped.add(value, weight);
            if later.add_without_bin(value, weight) {
                pending.push((value, weight));
            }
            // Groups of all sizes, including groups too small for a window.
            if pending.len() == 1 + step as usize / 50 {
                later.fill_bins(&pending, &mut window);
                pending.clear();
            }
        }
        later.fill_bins(&pending, &mut window);
        assert_eq!(grouped.finish(), single);
        assert_eq!(later, single);
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
