//! What a direction did over all intervals.

use serde::Serialize;

use super::baseline::UnloadedLatency;
use super::load::IoTotals;
use super::statistic::{Distribution, Histogram};
use super::working::{BusyMean, Working};
use crate::metrics::DirectionStats;

/// Whether requests follow each other on the disk, as far as merges and sizes tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Much was merged, or requests are large.
    Sequential,
    /// Small requests of which hardly any was merged: random, or sequential and issued one by one.
    Random,
    /// Merges and sizes do not tell.
    #[default]
    Unknown,
}

/// Collects what a direction did, in bounded memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    seconds: f64,
    iops: Histogram,
    mib_per_s: Histogram,
    size_kib: Histogram,
    await_ms: Histogram,
    /// Requests whose times were not counted, and seconds.
    uncounted: (IoTotals, f64),
    queue: Histogram,
    total: IoTotals,
    /// Requests whose time is known: the others count for no mean response time.
    timed: IoTotals,
    merges: Option<f64>,
    working: Working,
}

impl Summary {
    /// Takes an interval of so many seconds, weighted by them.
    pub(super) fn see(&mut self, direction: &DirectionStats, seconds: f64) {
        self.seconds += seconds;
        let mut add = |histogram: fn(&mut Self) -> &mut Histogram, value: Option<f64>| {
            value.into_iter().for_each(|value| histogram(self).add(value, seconds));
        };
        add(|all| &mut all.iops, direction.per_s);
        add(|all| &mut all.mib_per_s, direction.kib_per_s.map(|kib| kib / 1024.0));
        add(|all| &mut all.size_kib, direction.size_kib);
        add(|all| &mut all.queue, direction.queue);
        self.see_await(direction, seconds);
        self.working.see(direction, seconds);
        self.timed = self.timed.plus(&IoTotals::of(direction, seconds).unwrap_or_default());
        self.total.ios += direction.ios.unwrap_or(0) as f64;
        self.total.kib += direction.kib_per_s.unwrap_or(0.0) * seconds;
        if let Some(merges) = direction.merges_per_s {
            *self.merges.get_or_insert(0.0) += merges * seconds;
        }
    }

    /// The time of a few requests may be less than a millisecond together, which the kernel counts as none: such
    /// intervals count with the next of as little time, and not at all where none comes.
    fn see_await(&mut self, direction: &DirectionStats, seconds: f64) {
        const LITTLE_MS: f64 = 2.5;
        let Some(work) = IoTotals::of(direction, seconds).filter(|work| work.ios > 0.0) else { return };
        if work.ms <= 0.0 {
            self.uncounted = (self.uncounted.0.plus(&work), self.uncounted.1 + seconds);
        } else if work.ms <= LITTLE_MS {
            let (before, for_s) = std::mem::take(&mut self.uncounted);
            let pooled = work.plus(&before);
            pooled.await_ms().into_iter().for_each(|time| self.await_ms.add(time, seconds + for_s));
        } else {
            direction.await_ms.into_iter().for_each(|time| self.await_ms.add(time, seconds));
        }
    }

    /// Requests of all intervals.
    pub(super) fn total_ios(&self) -> f64 {
        self.total.ios
    }

    /// All of it, with what only the whole analysis knows.
    pub(super) fn report(
        &self,
        baseline: Option<UnloadedLatency>,
        saturation: Distribution,
    ) -> DirectionReport {
        let merged = self.merges.filter(|_| self.total.ios > 0.0);
        let merged_pct = merged.map(|merges| 100.0 * merges / (merges + self.total.ios));
        DirectionReport {
            iops: self.iops.statistic(),
            mib_per_s: self.mib_per_s.statistic(),
            size_kib: Distribution { mean: self.total.size_kib(), ..self.size_kib.statistic() },
            await_ms: Distribution {
                mean: self.timed.await_ms().filter(|time| *time > 0.0),
                ..self.await_ms.statistic()
            },
            queue: self.queue.statistic(),
            while_working: self.working.finish(),
            merged_pct,
            pattern: pattern(self.total.size_kib(), merged_pct),
            baseline_await_ms: baseline.map(|one| one.await_ms),
            baseline_concurrency: baseline.and_then(|one| one.concurrency),
            baseline_is_upper_bound: baseline.is_some_and(|one| one.is_upper_bound),
            saturation,
        }
    }
}

fn pattern(size_kib: Option<f64>, merged_pct: Option<f64>) -> Pattern {
    const LARGE_KIB: f64 = 128.0;
    const SMALL_KIB: f64 = 16.0;
    match (size_kib, merged_pct) {
        (Some(size), _) if size >= LARGE_KIB => Pattern::Sequential,
        (_, Some(merged)) if merged >= 30.0 => Pattern::Sequential,
        (Some(size), Some(merged)) if size <= SMALL_KIB && merged < 1.0 => Pattern::Random,
        _ => Pattern::Unknown,
    }
}

/// What a direction did: over the intervals, weighted by time. The means of size and response time are those of
/// all requests (their sum over their number). `None` is what is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DirectionReport {
    /// Requests a second.
    pub iops: Distribution,
    /// MiB a second.
    pub mib_per_s: Distribution,
    /// Mean size in KiB of the intervals that had requests.
    pub size_kib: Distribution,
    /// Mean response time in milliseconds of the intervals that had requests.
    pub await_ms: Distribution,
    /// Mean number of requests in the queue or being served.
    pub queue: Distribution,
    /// The means of the time in which it had such requests; `None` where it had none.
    pub while_working: Option<BusyMean>,
    /// Share of the requests that were merged, in percent.
    pub merged_pct: Option<f64>,
    /// Sequential or random, as far as merges and sizes tell.
    pub pattern: Pattern,
    /// The unloaded response time for the most usual size, in milliseconds.
    pub baseline_await_ms: Option<f64>,
    /// The mean concurrency at which that was seen; `None` where it is not known or was stated by hand.
    pub baseline_concurrency: Option<f64>,
    /// Whether the unloaded device may answer faster than that, so that `saturation` is a lower bound.
    pub baseline_is_upper_bound: bool,
    /// The response time as a multiple of the unloaded device's, for like sizes.
    pub saturation: Distribution,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_of_requests_and_quantiles_of_time() {
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
        let mut summary = Summary::default();
        summary.see(&direction(100, 1.0, 1.0), 1.0);
        summary.see(&direction(300, 5.0, 3.0), 3.0);
        let report = summary.report(None, Distribution::default());
        assert_eq!((report.await_ms.mean, report.iops.mean), (Some(4.0), Some(100.0)));
        assert!(report.await_ms.p50.is_some_and(|p50| (p50 - 5.0).abs() < 1e-9));
        assert_eq!((report.pattern, report.merged_pct), (Pattern::Random, Some(0.0)));
        assert_eq!(pattern(Some(64.0), Some(2.0)), Pattern::Unknown);
        assert_eq!(pattern(Some(64.0), Some(40.0)), Pattern::Sequential);
        let nothing = Summary::default().report(None, Distribution::default());
        assert_eq!((nothing.await_ms.mean, nothing.merged_pct), (None, None));
    }
}
