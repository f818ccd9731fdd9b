//! A device over some time, for a column of a chart: the worst verdict, and the minimum, mean and maximum of each
//! quantity.

use crate::analysis::Verdict;
use crate::intervals::DeviceInterval;
use crate::metrics::Interval;

/// A quantity with a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Mean latency of reads in milliseconds.
    ReadAwait,
    /// Mean latency of writes in milliseconds.
    WriteAwait,
    /// Mean latency of flushes in milliseconds.
    FlushAwait,
    Reads,
    Writes,
    ReadKib,
    WriteKib,
    /// Mean number of requests waiting or being served.
    Queue,
    /// Requests in flight at the end of the interval.
    InFlight,
    /// Share of the time with a request in flight, in percent.
    Util,
}

/// The value of each quantity in an interval; `None` if it is not known.
const VALUES: [fn(&Interval) -> Option<f64>; 10] = [
    |interval| interval.reads.await_ms(),
    |interval| interval.writes.await_ms(),
    |interval| interval.flushes.await_ms(),
    |interval| interval.reads.per_s(),
    |interval| interval.writes.per_s(),
    |interval| interval.reads.kib_per_s(),
    |interval| interval.writes.kib_per_s(),
    Interval::queue,
    |interval| interval.in_flight.map(|in_flight| in_flight as f64),
    Interval::util_pct,
];

impl Quantity {
    /// Returns the quantity in an interval; `None` if it is not known.
    pub(crate) fn of(self, interval: &Interval) -> Option<f64> {
        VALUES[self as usize](interval)
    }
}

/// The minimum, mean and maximum of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent {
    pub(crate) min: f32,
    pub(crate) mean: f32,
    pub(crate) max: f32,
}

/// The minimum and the maximum of each quantity; the minimum is above the maximum if it was never known.
pub(super) type Extremes = [(f32, f32); VALUES.len()];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// The worst verdict; an unknown one is worse than ok.
    verdict: Option<Verdict>,
    sum: Interval,
    pub(super) extremes: Extremes,
}

impl Point {
    /// Returns the point of a device; without `extremes`, it is about one interval.
    pub(super) fn of(device: &DeviceInterval, extremes: Option<Extremes>) -> Self {
        let sum = device.stats().copied().unwrap_or_default();
        let of_one = || {
            VALUES.map(|value| match value(&sum) {
                Some(value) => (value as f32, value as f32),
                None => (f32::INFINITY, f32::NEG_INFINITY),
            })
        };
        Self { verdict: device.verdict(), sum, extremes: extremes.unwrap_or_else(of_one) }
    }

    /// Adds the time after this one.
    pub(crate) fn add(&mut self, later: &Self) {
        if severity(later.verdict) > severity(self.verdict) {
            self.verdict = later.verdict;
        }
        self.sum = self.sum.followed_by(&later.sum);
        for ((min, max), later) in self.extremes.iter_mut().zip(later.extremes) {
            (*min, *max) = (min.min(later.0), max.max(later.1));
        }
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.verdict
    }

    /// The intervals of the point, added up.
    pub(crate) fn sum(&self) -> &Interval {
        &self.sum
    }

    /// Returns a quantity; `None` if it is not known.
    pub(crate) fn extent(&self, quantity: Quantity) -> Option<Extent> {
        let (min, max) = self.extremes[quantity as usize];
        let mean = quantity.of(&self.sum).map_or((min + max) / 2.0, |mean| mean as f32);
        (min <= max).then_some(Extent { min, mean, max })
    }
}

/// Returns the rank of a verdict for sorting: an unknown verdict ranks above ok and below every trouble.
pub(crate) fn severity(verdict: Option<Verdict>) -> u8 {
    verdict.unwrap_or(Verdict::AccountingOff).severity()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Assessment;
    use crate::intervals::{DeviceActivity, DeviceState};
    use crate::metrics::Completed;

    fn point(verdict: Verdict, await_ms: Option<f64>) -> Point {
        let reads = await_ms.map_or(Completed::default(), |await_ms| Completed::example(1.0, 10, await_ms));
        let stats = Interval { reads, ..Interval::default() };
        let assessment = Assessment { verdict: Some(verdict), ..Assessment::default() };
        let activity = DeviceActivity { stats, assessment, ..DeviceActivity::default() };
        Point::of(&DeviceInterval::without_alias("sda", DeviceState::Active(Box::new(activity))), None)
    }

    #[test]
    fn a_point_has_the_worst_verdict_and_the_extent_of_what_is_known() {
        let mut sum = point(Verdict::Ok, None);
        for (verdict, await_ms) in [(Verdict::Saturated, 4.0), (Verdict::Queueing, 1.0), (Verdict::Ok, 1.0)] {
            sum.add(&point(verdict, Some(await_ms)));
        }
        assert_eq!(sum.verdict(), Some(Verdict::Saturated));
        assert_eq!(sum.extent(Quantity::ReadAwait), Some(Extent { min: 1.0, mean: 2.0, max: 4.0 }));
        assert_eq!(sum.extent(Quantity::WriteAwait), None);
    }
}
