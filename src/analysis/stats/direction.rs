//! Statistics of one direction (reads, writes, or both) over all intervals.

use serde::Serialize;

use super::IoTotals;
use super::busy_mean::{BusyIntervals, BusyMean};
use super::histogram::{BinWindow, Distribution, Histogram, has_bin};
use crate::analysis::thresholds::{
    MAX_COARSE_TIME_MS, MAX_RANDOM_KIB, MAX_RANDOM_MERGED_PCT, MIN_SEQUENTIAL_KIB, MIN_SEQUENTIAL_MERGED_PCT,
};
use crate::metrics::DirectionStats;

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

/// Collects the intervals of a direction in bounded memory. The bins of its histograms are filled later, for many
/// intervals at once, because the bins of all devices together do not fit into the caches of a CPU.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct DirectionSummary {
    iops: Histogram,
    mib_per_s: Histogram,
    size_kib: Histogram,
    await_ms: Histogram,
    /// Requests whose time rounded to zero, and their seconds, not yet pooled with others.
    unpooled: (IoTotals, f64),
    queue: Histogram,
    total: IoTotals,
    /// The requests whose times are known; only these count in the mean latency.
    timed: IoTotals,
    merges: Option<f64>,
    busy: BusyIntervals,
}

/// Values of intervals that have a bin in the histograms, each with its weight.
#[derive(Debug, Default)]
pub(in crate::analysis) struct DirectionValues {
    iops: Vec<(f64, f64)>,
    mib_per_s: Vec<(f64, f64)>,
    size_kib: Vec<(f64, f64)>,
    await_ms: Vec<(f64, f64)>,
    queue: Vec<(f64, f64)>,
}

impl DirectionValues {
    /// No values yet, with space for those of this number of intervals.
    pub(in crate::analysis) fn with_capacity(intervals: usize) -> Self {
        let space = || Vec::with_capacity(intervals);
        Self { iops: space(), mib_per_s: space(), size_kib: space(), await_ms: space(), queue: space() }
    }
}

impl DirectionSummary {
    /// Takes an interval of `seconds`, which is its weight. Its values are not added to the bins yet.
    pub(in crate::analysis) fn observe(&mut self, direction: &DirectionStats, seconds: f64) {
        let add = |histogram: &mut Histogram, value: Option<f64>| {
            value.into_iter().for_each(|value| _ = histogram.add_without_bin(value, seconds));
        };
        add(&mut self.iops, direction.per_s);
        add(&mut self.mib_per_s, mib_per_s(direction));
        add(&mut self.queue, direction.queue);
        let totals = IoTotals {
            ios: direction.ios.unwrap_or(0) as f64,
            kib: direction.kib_per_s.unwrap_or(0.0) * seconds,
            ms: direction.queue.unwrap_or(0.0) * 1000.0 * seconds,
        };
        self.busy.observe(&totals, direction.queue.is_none() && totals.ios > 0.0, seconds);
        if direction.ios.is_some() && direction.kib_per_s.is_some() && direction.queue.is_some() {
            self.timed = self.timed.plus(&totals);
        }
        self.total.ios += totals.ios;
        self.total.kib += totals.kib;
        if let Some(merges) = direction.merges_per_s {
            *self.merges.get_or_insert(0.0) += merges * seconds;
        }
    }

    /// Adds the values of an interval with requests that go into bins to `values`. Must be called for all such
    /// intervals in their order.
    pub(in crate::analysis) fn collect_values(
        &mut self,
        direction: &DirectionStats,
        seconds: f64,
        values: &mut DirectionValues,
    ) {
        let add = |values: &mut Vec<(f64, f64)>, value: Option<f64>| match value {
            Some(value) if has_bin(value, seconds) => values.push((value, seconds)),
            _ => {}
        };
        add(&mut values.iops, direction.per_s);
        add(&mut values.mib_per_s, mib_per_s(direction));
        add(&mut values.queue, direction.queue);
        // Size and latency have values only in intervals with requests, so they were not counted yet.
        if let Some(size_kib) = direction.size_kib
            && self.size_kib.add_without_bin(size_kib, seconds)
        {
            values.size_kib.push((size_kib, seconds));
        }
        if let Some((await_ms, seconds)) = self.pooled_latency(direction, seconds)
            && self.await_ms.add_without_bin(await_ms, seconds)
        {
            values.await_ms.push((await_ms, seconds));
        }
    }

    /// Fills the bins from the values of intervals.
    pub(in crate::analysis) fn fill_bins(&mut self, values: &DirectionValues, window: &mut BinWindow) {
        self.iops.fill_bins(&values.iops, window);
        self.mib_per_s.fill_bins(&values.mib_per_s, window);
        self.queue.fill_bins(&values.queue, window);
        self.size_kib.fill_bins(&values.size_kib, window);
        self.await_ms.fill_bins(&values.await_ms, window);
    }

    /// The interval's mean latency with its weight. A few fast requests may take less than a millisecond together,
    /// which the kernel counts as zero. Such an interval is pooled with the next one that has little request time, and
    /// dropped if none follows.
    fn pooled_latency(&mut self, direction: &DirectionStats, seconds: f64) -> Option<(f64, f64)> {
        let totals = IoTotals::from_stats(direction, seconds).filter(|totals| totals.ios > 0.0)?;
        if totals.ms <= 0.0 {
            self.unpooled = (self.unpooled.0.plus(&totals), self.unpooled.1 + seconds);
            None
        } else if totals.ms <= MAX_COARSE_TIME_MS {
            let (earlier, earlier_s) = std::mem::take(&mut self.unpooled);
            Some((totals.plus(&earlier).await_ms()?, seconds + earlier_s))
        } else {
            Some((direction.await_ms?, seconds))
        }
    }

    /// Requests of all intervals.
    pub(in crate::analysis) fn total_ios(&self) -> f64 {
        self.total.ios
    }

    /// The report, without baseline and saturation, which the caller adds.
    pub(in crate::analysis) fn finish(self) -> DirectionReport {
        let merges = self.merges.filter(|_| self.total.ios > 0.0);
        let merged_pct = merges.map(|merges| 100.0 * merges / (merges + self.total.ios));
        DirectionReport {
            iops: self.iops.distribution(),
            mib_per_s: self.mib_per_s.distribution(),
            size_kib: Distribution { mean: self.total.size_kib(), ..self.size_kib.distribution() },
            await_ms: Distribution {
                mean: self.timed.await_ms().filter(|ms| *ms > 0.0),
                ..self.await_ms.distribution()
            },
            queue: self.queue.distribution(),
            busy: self.busy.mean(),
            merged_pct,
            pattern: pattern(self.total.size_kib(), merged_pct),
            ..DirectionReport::default()
        }
    }
}

fn mib_per_s(direction: &DirectionStats) -> Option<f64> {
    direction.kib_per_s.map(|kib| kib / 1024.0)
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
    /// Requests per second.
    pub iops: Distribution,
    /// MiB per second.
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
    /// Access pattern.
    pub pattern: Pattern,
    /// Unloaded latency for the median size, in milliseconds.
    pub baseline_await_ms: Option<f64>,
    /// The mean queue at which unloaded latency was seen; `None` if it is not known or the user gave the latency.
    pub baseline_queue: Option<f64>,
    /// The unloaded device may be faster than `baseline_await_ms`, so that `saturation` is a lower bound.
    #[serde(rename = "baseline_upper_bound")]
    pub baseline_is_upper_bound: bool,
    /// Latency as a multiple of the unloaded latency for similar sizes.
    pub saturation: Distribution,
}

/// Reads and writes as one direction; a value that is unknown for either is `None`.
pub(in crate::analysis) fn combine_directions(
    reads: &DirectionStats,
    writes: &DirectionStats,
    seconds: f64,
) -> DirectionStats {
    let sum = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
    let ios = reads.ios.zip(writes.ios).map(|(reads, writes)| reads.saturating_add(writes));
    let completed = ios.filter(|ios| *ios > 0).map(|ios| ios as f64);
    let queue = sum(reads.queue, writes.queue);
    let kib_per_s = sum(reads.kib_per_s, writes.kib_per_s);
    let per_request =
        |per_second: Option<f64>| per_second.zip(completed).map(|(rate, ios)| rate * seconds / ios);
    DirectionStats {
        ios,
        per_s: sum(reads.per_s, writes.per_s),
        kib_per_s,
        merges_per_s: sum(reads.merges_per_s, writes.merges_per_s),
        merge_pct: None,
        await_ms: per_request(queue.map(|queue| queue * 1000.0)),
        size_kib: per_request(kib_per_s),
        queue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_over_requests_and_quantiles_over_time() {
        let direction = |ios: u64, await_ms: f64, seconds: f64| DirectionStats {
            ios: Some(ios),
            per_s: Some(ios as f64 / seconds),
            kib_per_s: Some(ios as f64 * 4.0 / seconds),
            merges_per_s: Some(0.0),
            await_ms: Some(await_ms),
            size_kib: Some(4.0),
            queue: Some(ios as f64 * await_ms / 1000.0 / seconds),
            ..DirectionStats::default()
        };
        let mut summary = DirectionSummary::default();
        let mut values = DirectionValues::default();
        for (ios, await_ms, seconds) in [(100, 1.0, 1.0), (300, 5.0, 3.0)] {
            summary.observe(&direction(ios, await_ms, seconds), seconds);
            summary.collect_values(&direction(ios, await_ms, seconds), seconds, &mut values);
        }
        summary.fill_bins(&values, &mut BinWindow::default());
        let report = summary.finish();
        assert_eq!((report.await_ms.mean, report.iops.mean), (Some(4.0), Some(100.0)));
        assert!(report.await_ms.p50.is_some_and(|p50| (p50 - 5.0).abs() < 1e-9));
        assert_eq!((report.pattern, report.merged_pct), (Pattern::Random, Some(0.0)));
        assert_eq!(pattern(Some(64.0), Some(2.0)), Pattern::Unknown);
        assert_eq!(pattern(Some(64.0), Some(40.0)), Pattern::Sequential);
        let nothing = DirectionSummary::default().finish();
        assert_eq!((nothing.await_ms.mean, nothing.merged_pct), (None, None));
    }
}
