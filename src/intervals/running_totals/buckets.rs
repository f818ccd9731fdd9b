//! Histograms with few, fixed buckets, because each bucket becomes a time series for every device of every host.

use crate::metrics::Completed;

/// The upper bounds of the buckets of latency, in milliseconds: about three per factor of ten, from an NVMe disk at
/// work (0.1 ms) to a hard disk with a long queue (100 ms). Above a second, a device is hardly usable.
pub const LATENCY_BOUNDS_MS: [f64; 8] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0];

/// The upper bounds of the buckets of the queue: up to one request at a time, the depth of a busy disk, that of its
/// hardware queue (32 for SATA), and more than most devices accept at once.
pub const QUEUE_BOUNDS: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 256.0];

/// The number of observations in each bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketCounts<const N: usize> {
    /// Observations at or below each bound and above the bound before.
    pub within: [u64; N],
    /// Observations above all bounds.
    pub above: u64,
}

impl<const N: usize> Default for BucketCounts<N> {
    fn default() -> Self {
        Self { within: [0; N], above: 0 }
    }
}

impl<const N: usize> BucketCounts<N> {
    /// Adds observations of the same value.
    pub fn add(&mut self, bounds: &[f64; N], value: f64, count: u64) {
        let bucket = bounds.iter().position(|bound| value <= *bound);
        let counter = bucket.map_or(&mut self.above, |index| &mut self.within[index]);
        *counter = counter.saturating_add(count);
    }

    pub fn count(&self) -> u64 {
        self.within.iter().fold(self.above, |sum, count| sum.saturating_add(*count))
    }
}

/// The requests of one direction whose times the kernel gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimedRequests {
    /// The requests of each interval, all in the bucket of their mean latency.
    pub buckets: BucketCounts<{ LATENCY_BOUNDS_MS.len() }>,
    /// Milliseconds from start to completion, summed over all requests.
    pub ms: u64,
}

impl TimedRequests {
    pub fn observe(&mut self, stats: &Completed) {
        if let Some(await_ms) = stats.await_ms() {
            self.buckets.add(&LATENCY_BOUNDS_MS, await_ms, stats.timed_ios);
            self.ms = self.ms.saturating_add(stats.time.ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_on_a_bound_belongs_to_its_bucket() {
        let mut counts = BucketCounts::default();
        for value in [0.0, 1.0, 1.1, 300.0] {
            counts.add(&QUEUE_BOUNDS, value, 2);
        }
        assert_eq!((counts.within, counts.above, counts.count()), ([4, 2, 0, 0, 0], 2, 8));
    }

    #[test]
    fn sum_and_count_are_exact() {
        let mut requests = TimedRequests::default();
        let (mut ios, mut ms) = (0, 0);
        for n in 1..1000_u64 {
            let of_interval = n * 7 % 113;
            let completed = Completed { ns: 1, ios: n, ..Completed::default() };
            requests.observe(&completed.with_time(Some(of_interval)));
            (ios, ms) = (ios + n, ms + of_interval);
        }
        assert_eq!((requests.buckets.count(), requests.ms), (ios, ms));
        requests.observe(&Completed::example(1.0, 0, 0.0));
        assert_eq!(requests.buckets.count(), ios);
    }
}
