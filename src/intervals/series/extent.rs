//! Minimum, mean and maximum of a quantity, and sums.

use super::values::Merge;

/// Minimum, weighted mean and maximum of a quantity. Single precision is enough for charts: seven digits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extent {
    min: f32,
    mean: f32,
    max: f32,
    weight: f32,
}

impl Extent {
    /// Adds a value with its weight: the requests of a latency, the seconds of a rate. A value that is not finite or
    /// has no weight is ignored.
    pub fn observe(&mut self, value: f64, weight: f64) {
        let (value, weight) = (value as f32, weight as f32);
        if value.is_finite() && weight.is_finite() && weight > 0.0 {
            self.merge(Self { min: value, mean: value, max: value, weight });
        }
    }

    /// Returns whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.weight == 0.0
    }

    /// The minimum; `None` without values.
    pub fn min(&self) -> Option<f64> {
        (!self.is_empty()).then(|| f64::from(self.min))
    }

    /// The weighted mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| f64::from(self.mean))
    }

    /// The maximum; `None` without values.
    pub fn max(&self) -> Option<f64> {
        (!self.is_empty()).then(|| f64::from(self.max))
    }
}

impl Merge for Extent {
    fn merge(&mut self, later: Self) {
        if later.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = later;
            return;
        }
        let weight = self.weight + later.weight;
        self.mean += (later.mean - self.mean) * (later.weight / weight);
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        self.weight = weight;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum(f64);

impl Sum {
    /// Adds an amount; one that is not finite is ignored.
    pub fn add(&mut self, amount: f64) {
        if amount.is_finite() {
            self.0 += amount;
        }
    }

    pub fn total(&self) -> f64 {
        self.0
    }
}

impl Merge for Sum {
    fn merge(&mut self, later: Self) {
        self.0 += later.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_weighted_and_the_extremes_remain() {
        let mut latency = Extent::default();
        assert_eq!((latency.min(), latency.mean(), latency.max()), (None, None, None));
        latency.observe(1.0, 300.0);
        latency.observe(9.0, 100.0);
        latency.observe(f64::NAN, 1.0);
        latency.observe(1e9, 0.0);
        assert_eq!((latency.min(), latency.mean(), latency.max()), (Some(1.0), Some(3.0), Some(9.0)));
    }

    #[test]
    fn means_of_means_are_the_mean_of_all() {
        let values: Vec<f64> = (0..4096).map(|n| f64::from(n * 7919 % 4096)).collect();
        let mut parts: Vec<Extent> = values
            .iter()
            .map(|value| {
                let mut extent = Extent::default();
                extent.observe(*value, 1.0);
                extent
            })
            .collect();
        while parts.len() > 1 {
            let merged = parts.chunks(2).map(|pair| {
                let mut one = pair[0];
                one.merge(pair[1]);
                one
            });
            parts = merged.collect();
        }
        let expected = values.iter().sum::<f64>() / values.len() as f64;
        assert!((parts[0].mean().unwrap() / expected - 1.0).abs() < 1e-6);
        assert_eq!((parts[0].min(), parts[0].max()), (Some(0.0), Some(4095.0)));
    }
}
