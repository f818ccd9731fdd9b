//! What a direction did while it worked, so that the load can be repeated.

use serde::Serialize;

use super::load::Work;
use crate::metrics::Direction;

/// The means of the intervals in which a direction had requests. The first and the last interval of a stretch of
/// work hold only a part of it: they count only where there are no others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WhileWorking {
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
    work: Work,
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

    fn report(&self) -> Option<WhileWorking> {
        let queue = self.work.ms / 1000.0 / self.seconds;
        Some(WhileWorking {
            seconds: self.seconds,
            iops: self.work.ios / self.seconds,
            size_kib: self.work.size_kib()?,
            queue: (!self.is_untimed).then_some(queue),
        })
    }
}

/// Collects that in bounded memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Working {
    all: Sum,
    inner: Sum,
    /// The last interval if it had requests, and whether the work had begun before it.
    last: Option<(Sum, bool)>,
    has_begun: bool,
}

impl Working {
    /// Takes an interval of so many seconds.
    pub(super) fn see(&mut self, direction: &Direction, seconds: f64) {
        // What was going on when the watching began had begun before.
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let before = self.last.take();
        let ios = direction.ios.unwrap_or(0) as f64;
        if ios == 0.0 {
            return;
        }
        let sum = Sum {
            seconds,
            work: Work {
                ios,
                kib: direction.kib_per_s.unwrap_or(0.0) * seconds,
                ms: direction.queue.unwrap_or(0.0) * 1000.0 * seconds,
            },
            is_untimed: direction.queue.is_none(),
        };
        self.all = self.all.plus(sum);
        if let Some((last, true)) = before {
            self.inner = self.inner.plus(last);
        }
        self.last = Some((sum, is_first || before.is_some()));
    }

    /// The means; `None` where there were no requests.
    pub(super) fn finish(&self) -> Option<WhileWorking> {
        // What was still going on at the end went on after it.
        let last = self.last.filter(|(_, had_begun)| *had_begun).map(|(last, _)| last);
        let inner = last.map_or(self.inner, |last| self.inner.plus(last));
        inner.report().or_else(|| self.all.report())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn working(rates: &[u64]) -> Option<WhileWorking> {
        let mut working = Working::default();
        for ios in rates {
            let direction = Direction {
                ios: Some(*ios),
                kib_per_s: Some(*ios as f64 * 4.0),
                queue: Some(*ios as f64 / 100.0),
                ..Direction::default()
            };
            working.see(&direction, 1.0);
        }
        working.finish()
    }

    #[test]
    fn the_ends_of_a_stretch_of_work_do_not_count() {
        let found = working(&[0, 30, 100, 120, 80, 10, 0, 50, 100]).unwrap();
        assert_eq!((found.iops, found.seconds, found.queue), (100.0, 4.0, Some(1.0)));
        assert_eq!(found.size_kib, 4.0);
    }

    #[test]
    fn where_there_are_only_ends_they_count() {
        assert_eq!(working(&[0, 30, 50, 0]).map(|found| found.iops), Some(40.0));
        assert_eq!(working(&[0, 0]), None);
    }

    #[test]
    fn a_load_that_never_rested_counts_from_end_to_end() {
        assert_eq!(working(&[50, 100]).map(|found| (found.iops, found.seconds)), Some((75.0, 2.0)));
    }
}
