//! Statistics of one direction (reads, writes, or both) over all intervals.

use serde::Serialize;

use super::by_class::ByClass;
use super::histogram::{Distribution, Histogram};
use crate::metrics::Completed;

/// Milliseconds of request time in an interval up to which it is pooled with earlier ones whose time rounded to zero
/// (kernel).
const MAX_COARSE_TIME_MS: f64 = 2.5;
/// Mean request size in KiB from which a load is sequential.
const MIN_SEQUENTIAL_KIB: f64 = 128.0;
/// Percentage of merged requests from which a load is sequential.
const MIN_SEQUENTIAL_MERGED_PCT: f64 = 30.0;
/// Mean request size in KiB up to which a load without merges is random.
const MAX_RANDOM_KIB: f64 = 16.0;
/// Percentage of merged requests below which a load of small requests is random.
const MAX_RANDOM_MERGED_PCT: f64 = 1.0;
/// Fraction of the usual rate below which requests are not part of the load: occasional writes of the system itself.
const MAX_TRICKLE_FRACTION: f64 = 0.02;

/// Access pattern, as far as merges and sizes show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Many requests were merged, or requests are large.
    Sequential,
    /// Requests are small and hardly any was merged: random, or sequential and issued one by one.
    Random,
    /// Merges and sizes do not show it.
    #[default]
    Unknown,
}

/// Collects the intervals of a direction in bounded memory.
#[derive(Clone, Debug, Default)]
pub(super) struct DirectionSummary {
    /// In KiB, each request once, of intervals in which latencies are known; empty for both directions together.
    pub(super) size_by_request: Histogram,
    iops: Histogram,
    mib_per_s: Histogram,
    /// In KiB, the mean of each interval.
    size_by_interval: Histogram,
    await_ms: Histogram,
    /// Requests whose time rounded to zero, not yet pooled with others.
    unpooled: Completed,
    queue: Histogram,
    pub(super) saturation: Histogram,
    sum: Completed,
    busy: BusyIntervals,
}

impl DirectionSummary {
    pub(super) fn observe(&mut self, completed: &Completed) {
        let mib_per_s = completed.kib_per_s().map(|kib| kib / 1024.0);
        for (histogram, value) in [
            (&mut self.iops, completed.per_s()),
            (&mut self.mib_per_s, mib_per_s),
            (&mut self.queue, completed.queue()),
            (&mut self.size_by_interval, completed.size_kib()),
        ] {
            if let Some(value) = value {
                histogram.add(value, completed.seconds());
            }
        }
        if let Some(pooled) = self.pooled(completed)
            && let Some(await_ms) = pooled.await_ms()
        {
            self.await_ms.add(await_ms, pooled.seconds());
        }
        self.busy.observe(completed);
        self.sum = self.sum.followed_by(completed);
    }

    /// The requests whose mean latency counts, for their time. A few fast requests may take less than a millisecond
    /// together, which the kernel counts as zero. Such an interval is pooled with the next one that has little request
    /// time, and dropped if none follows.
    fn pooled(&mut self, completed: &Completed) -> Option<Completed> {
        if completed.timed_ios == 0.0 {
            None
        } else if completed.time.sum == 0.0 {
            self.unpooled = self.unpooled.followed_by(completed);
            None
        } else if completed.time.sum <= MAX_COARSE_TIME_MS {
            Some(std::mem::take(&mut self.unpooled).followed_by(completed))
        } else {
            Some(*completed)
        }
    }

    /// The report, without the baseline, which the caller adds.
    pub(super) fn finish(&mut self) -> DirectionReport {
        let merged_pct = self.sum.merge_pct().filter(|_| self.sum.ios.sum > 0.0);
        DirectionReport {
            iops: self.iops.distribution(),
            mib_per_s: self.mib_per_s.distribution(),
            size_kib: Distribution {
                mean: self.sum.size_kib(),
                ..self.size_by_interval.distribution()
            },
            await_ms: Distribution {
                mean: self.sum.await_ms().filter(|ms| *ms > 0.0),
                ..self.await_ms.distribution()
            },
            queue: self.queue.distribution(),
            saturation: self.saturation.distribution(),
            busy: self.busy.mean(),
            merged_pct,
            pattern: pattern(self.sum.size_kib(), merged_pct),
            ..DirectionReport::default()
        }
    }
}

fn pattern(size_kib: Option<f64>, merged_pct: Option<f64>) -> Pattern {
    match (size_kib, merged_pct) {
        (Some(size), _) if size >= MIN_SEQUENTIAL_KIB => Pattern::Sequential,
        (_, Some(merged)) if merged >= MIN_SEQUENTIAL_MERGED_PCT => Pattern::Sequential,
        (Some(size), Some(merged)) if size <= MAX_RANDOM_KIB && merged < MAX_RANDOM_MERGED_PCT => {
            Pattern::Random
        }
        _ => Pattern::Unknown,
    }
}

/// A direction over all intervals, weighted by their time. The means of size and latency are over all requests (sum
/// divided by number). `None` if a value is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DirectionReport {
    pub iops: Distribution,
    pub mib_per_s: Distribution,
    /// Mean size in KiB of the intervals that had requests.
    pub size_kib: Distribution,
    /// Mean latency in milliseconds of the intervals that had requests.
    pub await_ms: Distribution,
    /// Mean number of requests in the queue or being served.
    pub queue: Distribution,
    /// The means over the busy time; `None` without requests.
    pub busy: Option<BusyMean>,
    /// Percentage of the requests that were merged.
    pub merged_pct: Option<f64>,
    pub pattern: Pattern,
    /// Unloaded latency for the median size in milliseconds, at most.
    pub baseline_await_ms: Option<f64>,
    /// Latency as a multiple of the unloaded latency for similar sizes.
    pub saturation: Distribution,
}

impl DirectionReport {
    pub fn has_requests(&self) -> bool {
        self.iops.max.is_some_and(|rate| rate > 0.0)
    }
}

/// The means over the intervals in which a direction had requests, except a trickle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BusyMean {
    pub seconds: f64,
    pub iops: f64,
    pub size_kib: f64,
    /// Mean number of requests in the queue or being served; `None` if the kernel gives no times.
    pub queue: Option<f64>,
}

impl BusyMean {
    fn of(sum: &Completed) -> Option<Self> {
        let queue = sum.time.sum / 1000.0 / sum.seconds();
        Some(Self {
            seconds: sum.seconds(),
            iops: rate(sum),
            size_kib: sum.size_kib()?,
            queue: (sum.timed_ios == sum.ios.sum).then_some(queue),
        })
    }
}

/// Collects the intervals of a direction in bounded memory, each with those of about its rate: by the power of two.
#[derive(Clone, Debug, Default)]
struct BusyIntervals(ByClass<i32, Completed>);

impl BusyIntervals {
    fn observe(&mut self, totals: &Completed) {
        if totals.ios.sum > 0.0 {
            let octave = rate(totals).log2().floor() as i32;
            let sum = self.0.get_or_insert_with(octave, Completed::default);
            *sum = sum.followed_by(totals);
        }
    }

    /// The means of all but those far below the rate at which the median request was completed; `None` without requests.
    fn mean(&self) -> Option<BusyMean> {
        let half = self.0.values().map(|sum| sum.ios.sum).sum::<f64>() / 2.0;
        let mut passed = 0.0;
        let usual = self.0.values().find(|sum| {
            passed += sum.ios.sum;
            passed >= half
        });
        let min_rate = MAX_TRICKLE_FRACTION * rate(usual?);
        let mut kept = Completed::default();
        for sum in self.0.values() {
            if rate(sum) >= min_rate {
                kept = kept.followed_by(sum);
            }
        }
        BusyMean::of(&kept)
    }
}

/// Requests per second; NaN without an interval.
fn rate(sum: &Completed) -> f64 {
    sum.ios.sum / sum.seconds()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_over_requests_and_quantiles_over_time() {
        let mut summary = DirectionSummary::default();
        for (ios, await_ms, seconds) in [(100, 1.0, 1.0), (300, 5.0, 3.0)] {
            summary.observe(&Completed::example(seconds, ios, await_ms));
        }
        let report = summary.finish();
        assert_eq!(
            (report.await_ms.mean, report.iops.mean),
            (Some(4.0), Some(100.0))
        );
        assert!(
            report
                .await_ms
                .p50
                .is_some_and(|p50| (p50 - 5.0).abs() < 1e-9)
        );
        assert_eq!(
            (report.pattern, report.merged_pct),
            (Pattern::Random, Some(0.0))
        );
        assert_eq!(pattern(Some(64.0), Some(2.0)), Pattern::Unknown);
        assert_eq!(pattern(Some(64.0), Some(40.0)), Pattern::Sequential);
        let nothing = DirectionSummary::default().finish();
        assert_eq!((nothing.await_ms.mean, nothing.merged_pct), (None, None));
    }
}

#[cfg(test)]
mod busy_mean_tests {
    use super::*;

    fn busy_mean(rates: &[u64]) -> Option<BusyMean> {
        let mut intervals = BusyIntervals::default();
        for ios in rates {
            intervals.observe(&Completed::example(1.0, *ios, 10.0));
        }
        intervals.mean()
    }

    #[test]
    fn a_trickle_is_left_out_and_phases_of_a_load_all_count() {
        let found = busy_mean(&[0, 4, 1, 300, 300, 300, 300, 2, 0, 3]).unwrap();
        assert_eq!(
            (found.iops, found.seconds, found.size_kib),
            (300.0, 4.0, 4.0)
        );
        let found = busy_mean(&[300, 300, 300, 5000, 300]).unwrap();
        assert_eq!((found.iops, found.seconds), (1240.0, 5.0));
        assert_eq!(busy_mean(&[0, 0]), None);
    }
}
