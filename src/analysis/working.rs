//! What a direction did while it worked, so that the load can be repeated.

use std::collections::BTreeMap;

use libm::log2;
use serde::Serialize;

use super::load::IoTotals;
use crate::metrics::DirectionStats;

/// The means of the intervals in which a direction had requests, but for a trickle. The first and the last interval
/// of a stretch of work hold only a part of it: they count only where most of the work is such.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BusyMean {
    /// Seconds in these intervals.
    pub seconds: f64,
    /// Requests a second.
    pub iops: f64,
    /// Mean size in KiB.
    pub size_kib: f64,
    /// Mean number of requests in the queue or being served; `None` where the kernel gives no times.
    pub queue: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    seconds: f64,
    work: IoTotals,
    /// Whether some of the work has no times.
    is_untimed: bool,
}

impl Sum {
    fn plus(self, other: Self) -> Self {
        Self {
            seconds: self.seconds + other.seconds,
            work: self.work.plus(&other.work),
            is_untimed: self.is_untimed || other.is_untimed,
        }
    }

    fn rate(&self) -> f64 {
        self.work.ios / self.seconds
    }

    fn report(&self) -> Option<BusyMean> {
        let queue = self.work.ms / 1000.0 / self.seconds;
        Some(BusyMean {
            seconds: self.seconds,
            iops: self.rate(),
            size_kib: self.work.size_kib()?,
            queue: (!self.is_untimed).then_some(queue),
        })
    }
}

/// An interval and whether the work had begun before it.
#[derive(Clone, Copy, Debug)]
struct Last {
    sum: Sum,
    had_begun: bool,
}

/// Sums by the power of two of their rates.
type Bins = BTreeMap<i32, Sum>;

/// Collects that in bounded memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Working {
    all: Bins,
    inner: Bins,
    last: Option<Last>,
}

/// Against what was usual, less is a trickle and no work: the system's own writes, once in a while.
const TRICKLE: f64 = 0.02;

impl Working {
    /// Takes an interval of so many seconds.
    pub(super) fn see(&mut self, direction: &DirectionStats, seconds: f64) {
        let work = IoTotals {
            ios: direction.ios.unwrap_or(0) as f64,
            kib: direction.kib_per_s.unwrap_or(0.0) * seconds,
            ms: direction.queue.unwrap_or(0.0) * 1000.0 * seconds,
        };
        let sum = Sum { seconds, work, is_untimed: direction.queue.is_none() && work.ios > 0.0 };
        add(&mut self.all, sum);
        let before = self.last.take();
        if let Some(before) = before.filter(|one| one.had_begun && sum.rate() >= TRICKLE * one.sum.rate()) {
            add(&mut self.inner, before.sum);
        }
        // What was going on when the watching began had begun before.
        let had_begun = before.is_none_or(|one| one.sum.rate() >= TRICKLE * sum.rate());
        self.last = Some(Last { sum, had_begun });
    }

    /// The means; `None` where there were no requests.
    pub(super) fn finish(&self) -> Option<BusyMean> {
        const MOST: f64 = 0.5;
        let mut inner = self.inner.clone();
        // What was still going on at the end went on after it.
        if let Some(last) = self.last.filter(|one| one.had_begun) {
            add(&mut inner, last.sum);
        }
        let (inner, all) = (without_trickle(&inner), without_trickle(&self.all));
        if inner.seconds >= MOST * all.seconds { inner.report() } else { all.report() }
    }
}

fn add(bins: &mut Bins, sum: Sum) {
    if sum.work.ios > 0.0 && sum.seconds > 0.0 {
        let bin = bins.entry(log2(sum.rate()).floor() as i32).or_default();
        *bin = bin.plus(sum);
    }
}

/// All but the bins that lie far below the rate at which half of the requests were done.
fn without_trickle(bins: &Bins) -> Sum {
    let half = bins.values().map(|bin| bin.work.ios).sum::<f64>() / 2.0;
    let mut passed = 0.0;
    let usual = bins.values().find(|bin| {
        passed += bin.work.ios;
        passed >= half
    });
    let least = TRICKLE * usual.map_or(0.0, Sum::rate);
    bins.values().filter(|bin| bin.rate() >= least).fold(Sum::default(), |sum, bin| sum.plus(*bin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn working(rates: &[u64]) -> Option<BusyMean> {
        let mut working = Working::default();
        for ios in rates {
            let direction = DirectionStats {
                ios: Some(*ios),
                kib_per_s: Some(*ios as f64 * 4.0),
                queue: Some(*ios as f64 / 100.0),
                ..DirectionStats::default()
            };
            working.see(&direction, 1.0);
        }
        working.finish()
    }

    #[test]
    fn the_ends_of_a_stretch_of_work_do_not_count() {
        let found = working(&[0, 30, 100, 120, 80, 10, 0, 50, 100]).unwrap();
        assert_eq!((found.iops, found.seconds, found.queue), (100.0, 4.0, Some(1.0)));
        // Nor does what the system itself writes in between.
        let found = working(&[0, 4, 1, 100, 300, 300, 300, 300, 2, 0, 3]).unwrap();
        assert_eq!((found.iops, found.seconds), (300.0, 3.0));
        assert_eq!(found.size_kib, 4.0);
    }

    #[test]
    fn where_there_are_only_ends_they_count() {
        assert_eq!(working(&[0, 30, 50, 0]).map(|found| found.iops), Some(40.0));
        assert_eq!(working(&[0, 0]), None);
    }

    #[test]
    fn phases_of_a_load_are_all_work() {
        let found = working(&[300, 300, 300, 5000, 300]).unwrap();
        assert_eq!((found.iops, found.seconds), (1240.0, 5.0));
    }

    #[test]
    fn a_load_that_never_rested_counts_from_end_to_end() {
        assert_eq!(working(&[50, 100]).map(|found| (found.iops, found.seconds)), Some((75.0, 2.0)));
    }
}
