//! Requests of a device over time at a coarse resolution, to compare devices with each other.

use super::SmallMap;
use crate::analysis::thresholds::{MIN_ACTIVE_FRACTION, MIN_SIMILARITY_BUCKETS, SAME_REQUESTS_TOLERANCE};

/// Buckets kept at most.
const MAX_BUCKETS: usize = 512;
/// Length of a bucket at first, in seconds.
const INITIAL_BUCKET_S: f64 = 1.0;

/// Requests by time, in buckets whose length doubles when there are too many.
#[derive(Clone, Debug, PartialEq)]
pub struct ActivityTimeline {
    bucket_s: f64,
    buckets: SmallMap<i64, f64>,
}

impl Default for ActivityTimeline {
    fn default() -> Self {
        Self { bucket_s: INITIAL_BUCKET_S, buckets: SmallMap::default() }
    }
}

impl ActivityTimeline {
    /// Adds the requests of an interval that ended at `at_s`.
    pub fn add(&mut self, at_s: f64, requests: f64) {
        *self.buckets.get_or_default((at_s / self.bucket_s).floor() as i64) += requests;
        while self.buckets.len() > MAX_BUCKETS {
            *self = self.with_buckets_of(self.bucket_s * 2.0);
        }
    }

    fn with_buckets_of(&self, bucket_s: f64) -> Self {
        let factor = (bucket_s / self.bucket_s).round().max(1.0) as i64;
        let mut buckets = SmallMap::default();
        for (index, requests) in self.buckets.iter() {
            *buckets.get_or_default(index.div_euclid(factor)) += requests;
        }
        Self { bucket_s, buckets }
    }

    /// The fraction of this device's active buckets in which the other completed about as many requests; `None` with
    /// too few buckets to compare.
    pub fn similarity(&self, other: &Self) -> Option<f64> {
        let bucket_s = self.bucket_s.max(other.bucket_s);
        let (this, other) = (self.with_buckets_of(bucket_s), other.with_buckets_of(bucket_s));
        let busiest = this.buckets.values().copied().fold(0.0, f64::max);
        let active =
            || this.buckets.iter().filter(|(_, requests)| **requests > MIN_ACTIVE_FRACTION * busiest);
        let same = active().filter(|(index, requests)| {
            let others = other.buckets.get(*index).copied().unwrap_or(0.0);
            (*requests - others).abs() <= SAME_REQUESTS_TOLERANCE * requests.max(others)
        });
        let count = active().count();
        (count >= MIN_SIMILARITY_BUCKETS).then(|| same.count() as f64 / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timelines_with_buckets_of_different_length_are_compared() {
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
        assert!(long.buckets.len() <= MAX_BUCKETS);
        assert!(late.similarity(&long).is_some_and(|fraction| fraction > 0.9));
        assert_eq!(other.similarity(&long), Some(0.0));
        assert_eq!(ActivityTimeline::default().similarity(&long), None);
    }
}
