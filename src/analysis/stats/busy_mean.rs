//! Means of a direction over the time in which it was busy, so that its load can be repeated.

use std::collections::BTreeMap;

use libm::ilogb;
use serde::Serialize;

use crate::analysis::thresholds::{MAX_TRICKLE_FRACTION, MIN_INSIDE_RUNS_FRACTION};
use crate::metrics::Completed;

/// The means over the intervals in which a direction had requests, except a trickle. The first and the last interval of
/// a run of busy intervals hold only part of it and are left out, unless too little remains.
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
        let queue = sum.time.ms as f64 / 1000.0 / sum.seconds();
        Some(Self {
            seconds: sum.seconds(),
            iops: rate(sum),
            size_kib: sum.size_kib()?,
            queue: (sum.timed_ios == sum.ios).then_some(queue),
        })
    }
}

/// The latest interval, which is inside a run only if the next one continues it.
#[derive(Clone, Copy, Debug)]
struct LatestInterval {
    totals: Completed,
    /// The rate of these totals per second.
    rate: f64,
    /// The power of two of the rate; `None` without requests.
    bin: Option<i32>,
    continues_run: bool,
}

/// The intervals of about one rate.
#[derive(Clone, Debug, Default)]
struct BusyBin {
    all: Completed,
    inside_runs: Completed,
}

/// Collects the intervals of a direction in bounded memory.
#[derive(Clone, Debug, Default)]
pub(super) struct BusyIntervals {
    /// By the power of two of their rate.
    bins: BTreeMap<i32, BusyBin>,
    latest: Option<LatestInterval>,
}

impl BusyIntervals {
    pub(super) fn observe(&mut self, totals: &Completed) {
        let rate = rate(totals);
        let bin = (totals.ios > 0 && totals.ns > 0).then(|| ilogb(rate));
        let mut continues_run = true;
        let mut inside_run = None;
        if let Some(previous) = &self.latest {
            let is_continued = previous.continues_run && rate >= MAX_TRICKLE_FRACTION * previous.rate;
            inside_run = previous.bin.filter(|_| is_continued).map(|bin| (bin, previous.totals));
            // A load that is present in the first interval began before it.
            continues_run = previous.rate >= MAX_TRICKLE_FRACTION * rate;
        }
        if let Some(bin) = bin {
            let sums = self.bins.entry(bin).or_default();
            sums.all = sums.all.followed_by(totals);
            // Usually the interval before had about the same rate.
            if let Some((_, previous)) = inside_run.take_if(|(of_previous, _)| *of_previous == bin) {
                sums.inside_runs = sums.inside_runs.followed_by(&previous);
            }
        }
        if let Some((bin, previous)) = inside_run {
            let sums = self.bins.entry(bin).or_default();
            sums.inside_runs = sums.inside_runs.followed_by(&previous);
        }
        self.latest = Some(LatestInterval { totals: *totals, rate, bin, continues_run });
    }

    /// The means; `None` without requests.
    pub(super) fn mean(&self) -> Option<BusyMean> {
        // A load that is present in the last interval goes on after it.
        let latest = self.latest.filter(|one| one.continues_run);
        let inside_run = |(bin, sums): (&i32, &BusyBin)| match latest.filter(|one| one.bin == Some(*bin)) {
            Some(latest) => sums.inside_runs.followed_by(&latest.totals),
            None => sums.inside_runs,
        };
        let inside_runs: Vec<Completed> = self.bins.iter().map(inside_run).collect();
        let all: Vec<Completed> = self.bins.values().map(|sums| sums.all).collect();
        let (inside_runs, all) = (sum_without_trickle(&inside_runs), sum_without_trickle(&all));
        let is_enough = inside_runs.seconds() >= MIN_INSIDE_RUNS_FRACTION * all.seconds();
        BusyMean::of(if is_enough { &inside_runs } else { &all })
    }
}

/// Requests per second; NaN without an interval.
fn rate(sum: &Completed) -> f64 {
    sum.ios as f64 / sum.seconds()
}

/// The sum of the bins, except those far below the rate at which the median request was completed.
fn sum_without_trickle(bins: &[Completed]) -> Completed {
    let half = bins.iter().map(|bin| bin.ios as f64).sum::<f64>() / 2.0;
    let mut passed = 0.0;
    let usual = bins.iter().find(|bin| {
        passed += bin.ios as f64;
        passed >= half
    });
    let min_rate = MAX_TRICKLE_FRACTION * usual.map_or(0.0, rate);
    // A bin without intervals has a rate of NaN and is left out.
    let kept = bins.iter().filter(|bin| rate(bin) >= min_rate);
    kept.fold(Completed::default(), |sum, bin| sum.followed_by(bin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy_mean(rates: &[u64]) -> Option<BusyMean> {
        let mut intervals = BusyIntervals::default();
        for ios in rates {
            intervals.observe(&Completed::example(1.0, *ios, 10.0));
        }
        intervals.mean()
    }

    #[test]
    fn the_ends_of_a_run_are_left_out() {
        let found = busy_mean(&[0, 30, 100, 120, 80, 10, 0, 50, 100]).unwrap();
        assert_eq!((found.iops, found.seconds, found.queue), (100.0, 4.0, Some(1.0)));
        // The system's own writes in between are left out, too.
        let found = busy_mean(&[0, 4, 1, 100, 300, 300, 300, 300, 2, 0, 3]).unwrap();
        assert_eq!((found.iops, found.seconds), (300.0, 3.0));
        assert_eq!(found.size_kib, 4.0);
    }

    #[test]
    fn where_all_intervals_are_ends_of_runs_they_count() {
        assert_eq!(busy_mean(&[0, 30, 50, 0]).map(|found| found.iops), Some(40.0));
        assert_eq!(busy_mean(&[0, 0]), None);
    }

    #[test]
    fn phases_of_a_load_all_count() {
        let found = busy_mean(&[300, 300, 300, 5000, 300]).unwrap();
        assert_eq!((found.iops, found.seconds), (1240.0, 5.0));
    }

    #[test]
    fn a_load_without_a_pause_counts_from_end_to_end() {
        assert_eq!(busy_mean(&[50, 100]).map(|found| (found.iops, found.seconds)), Some((75.0, 2.0)));
    }
}
