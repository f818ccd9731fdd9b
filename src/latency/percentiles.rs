//! Percentiles of the latencies of single requests.

use super::traced_io::{LatencyBucket, LatencyHistogram};

/// The percentiles that are shown, in percent: the median and three of the tail.
pub(super) const PERCENTILES: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

/// The latencies of single requests, in milliseconds. Each lies within the bucket that holds the request of its rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LatencyStats {
    pub count: u64,
    pub mean_ms: f64,
    /// The percentiles, in the order of [`PERCENTILES`].
    pub percentiles_ms: [f64; 4],
    /// The largest latency or slightly more, but not beyond the end of its bucket.
    pub max_ms: f64,
}

const NS_PER_MS: f64 = 1e6;

impl LatencyStats {
    /// Returns the latencies of a histogram; `None` if it is empty.
    pub(super) fn of(histogram: &LatencyHistogram) -> Option<Self> {
        let count = histogram.count();
        let slowest = histogram.buckets().next_back()?;
        let mut sum = 0.0;
        for bucket in histogram.buckets() {
            sum += bucket.sum_ns as f64;
        }
        Some(Self {
            count,
            mean_ms: sum / count as f64 / NS_PER_MS,
            percentiles_ms: PERCENTILES.map(|percent| percentile_ms(histogram, count, percent)),
            max_ms: slowest.max_ns() as f64 / NS_PER_MS,
        })
    }
}

fn percentile_ms(histogram: &LatencyHistogram, count: u64, percent: f64) -> f64 {
    match percentile_bucket(histogram, count, percent) {
        Some(bucket) => bucket.mean_ns() as f64 / NS_PER_MS,
        None => 0.0,
    }
}

/// Returns the bucket of a percentile by the nearest rank: the smallest latency that at least `percent` of the `count`
/// requests do not exceed is in it. `None` without requests.
fn percentile_bucket(
    histogram: &LatencyHistogram,
    count: u64,
    percent: f64,
) -> Option<&LatencyBucket> {
    // Rounded first, so that 99% of 100 requests are 99 of them.
    let rank = ((percent * count as f64 / 100.0 * 1e6).round() / 1e6)
        .ceil()
        .max(1.0) as u64;
    let mut passed: u64 = 0;
    histogram.buckets().find(|bucket| {
        passed = passed.saturating_add(bucket.count);
        passed >= rank
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(latencies_ns: impl IntoIterator<Item = u64>) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::default();
        for ns in latencies_ns {
            histogram.add(LatencyBucket {
                lower_ns: ns,
                upper_ns: ns,
                count: 1,
                sum_ns: ns,
            });
        }
        histogram
    }

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let stats = LatencyStats::of(&exact((1..=1000).map(|ms| ms * 1_000_000))).unwrap();
        assert_eq!(stats.percentiles_ms, [500.0, 950.0, 990.0, 999.0]);
        assert_eq!(
            (stats.count, stats.mean_ms, stats.max_ms),
            (1000, 500.5, 1000.0)
        );
        let one = LatencyStats::of(&exact([7_000_000])).unwrap();
        assert_eq!((one.percentiles_ms, one.max_ms), ([7.0; 4], 7.0));
        assert_eq!(LatencyStats::of(&LatencyHistogram::default()), None);
    }

    #[test]
    fn a_percentile_lies_within_the_bucket_of_its_request() {
        // Pseudo-random latencies, in buckets of 2%.
        let mut state = 1_u64;
        let mut latencies: Vec<u64> = (0..5000)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                100_000 + (state >> 33) % 9_000_000
            })
            .collect();
        let mut histogram = LatencyHistogram::default();
        for ns in &latencies {
            let lower_ns = ns - ns % 2_000;
            histogram.add(LatencyBucket {
                lower_ns,
                upper_ns: lower_ns + 1_999,
                count: 1,
                sum_ns: *ns,
            });
        }
        latencies.sort_unstable();
        let stats = LatencyStats::of(&histogram).unwrap();
        for (percent, found) in PERCENTILES.iter().zip(stats.percentiles_ms) {
            let exact = latencies[(percent / 100.0 * 5000.0) as usize - 1] as f64 / NS_PER_MS;
            assert!(
                (found / exact - 1.0).abs() < 0.02,
                "{percent}: {found} is not {exact}"
            );
        }
        assert!(stats.max_ms >= latencies[4999] as f64 / NS_PER_MS);
        assert!(stats.max_ms <= latencies[4999] as f64 / NS_PER_MS * 1.02);
    }
}
