//! When a device worked, coarsely, to compare devices with each other.

use std::collections::BTreeMap;

/// The most buckets kept.
const MOST: usize = 512;
/// The first length of a bucket in seconds.
const FIRST_LENGTH_S: f64 = 1.0;

/// Requests by time in buckets whose length doubles when there are too many.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivityTimeline {
    length_s: f64,
    buckets: BTreeMap<i64, f64>,
}

impl Default for ActivityTimeline {
    fn default() -> Self {
        Self { length_s: FIRST_LENGTH_S, buckets: BTreeMap::new() }
    }
}

impl ActivityTimeline {
    /// Takes the requests of an interval that ended at `at_s`.
    pub fn add(&mut self, at_s: f64, requests: f64) {
        *self.buckets.entry((at_s / self.length_s).floor() as i64).or_default() += requests;
        while self.buckets.len() > MOST {
            *self = self.coarser(self.length_s * 2.0);
        }
    }

    fn coarser(&self, length_s: f64) -> Self {
        let factor = (length_s / self.length_s).round().max(1.0) as i64;
        let mut buckets = BTreeMap::new();
        for (index, requests) in &self.buckets {
            *buckets.entry(index.div_euclid(factor)).or_default() += requests;
        }
        Self { length_s, buckets }
    }

    /// The share of the time in which this device worked that the other did as many requests, within 5 %; `None`
    /// with fewer than ten buckets to compare.
    pub fn likeness(&self, other: &Self) -> Option<f64> {
        const LEAST: usize = 10;
        const SAME: f64 = 0.05;
        const WORKING: f64 = 0.02;
        let length = self.length_s.max(other.length_s);
        let (one, other) = (self.coarser(length), other.coarser(length));
        let most = one.buckets.values().copied().fold(0.0, f64::max);
        let working = || one.buckets.iter().filter(|(_, requests)| **requests > WORKING * most);
        let same = working().filter(|(index, requests)| {
            let others = other.buckets.get(index).copied().unwrap_or(0.0);
            (*requests - others).abs() <= SAME * requests.max(others)
        });
        let count = working().count();
        (count >= LEAST).then(|| same.count() as f64 / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_different_coarseness_are_compared() {
        let (mut long, mut late, mut other) =
            (ActivityTimeline::default(), ActivityTimeline::default(), ActivityTimeline::default());
        for second in 0..2000 {
            let requests = 100.0 + f64::from(second / 100 % 7) * 50.0;
            long.add(f64::from(second) + 0.1, requests);
            if second >= 1600 {
                late.add(f64::from(second) + 0.1, requests);
                other.add(f64::from(second) + 0.1, requests * 1.2);
            }
        }
        assert!(long.buckets.len() <= MOST);
        assert!(late.likeness(&long).is_some_and(|share| share > 0.9));
        assert_eq!(other.likeness(&long), Some(0.0));
        assert_eq!(ActivityTimeline::default().likeness(&long), None);
    }
}
