//! A device over some time, for a column of a chart: the worst verdict, and the minimum, mean and maximum of each
//! quantity.

use super::row::{verdict_code, verdict_of_code};
use crate::analysis::Verdict;
use crate::metrics::IntervalStats;

/// A quantity with a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Mean latency of reads in milliseconds.
    ReadAwait,
    /// Mean latency of writes in milliseconds.
    WriteAwait,
    /// Mean latency of flushes in milliseconds.
    FlushAwait,
    /// Reads per second.
    Reads,
    /// Writes per second.
    Writes,
    /// KiB read per second.
    ReadKib,
    /// KiB written per second.
    WriteKib,
    /// Mean number of requests waiting or being served.
    Queue,
    /// Requests in flight at the end of the interval.
    InFlight,
    /// Share of the time with a request in flight, in percent.
    Util,
}

impl Quantity {
    /// The number of quantities.
    pub(crate) const COUNT: usize = 10;

    const ALL: [Self; Self::COUNT] = [
        Self::ReadAwait,
        Self::WriteAwait,
        Self::FlushAwait,
        Self::Reads,
        Self::Writes,
        Self::ReadKib,
        Self::WriteKib,
        Self::Queue,
        Self::InFlight,
        Self::Util,
    ];

    /// Returns the quantity in an interval; `None` if it is not known.
    pub(crate) fn of(self, stats: &IntervalStats) -> Option<f64> {
        match self {
            Self::ReadAwait => stats.reads.await_ms,
            Self::WriteAwait => stats.writes.await_ms,
            Self::FlushAwait => stats.flush_await_ms,
            Self::Reads => stats.reads.per_s,
            Self::Writes => stats.writes.per_s,
            Self::ReadKib => stats.reads.kib_per_s,
            Self::WriteKib => stats.writes.kib_per_s,
            Self::Queue => stats.queue,
            Self::InFlight => stats.in_flight.map(|in_flight| in_flight as f64),
            Self::Util => stats.util_pct,
        }
    }
}

/// The minimum, mean and maximum of a quantity; NaN if it is not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent {
    pub(crate) min: f32,
    pub(crate) mean: f32,
    pub(crate) max: f32,
}

impl Extent {
    const UNKNOWN: Self = Self { min: f32::NAN, mean: f32::NAN, max: f32::NAN };

    /// Returns whether the quantity is known.
    pub(crate) fn is_known(&self) -> bool {
        !self.mean.is_nan()
    }

    /// Adds another time, whose share of the sum is `share`.
    fn add(&mut self, other: &Self, share: f32) {
        if !self.is_known() {
            *self = *other;
        } else if other.is_known() {
            self.min = self.min.min(other.min);
            self.max = self.max.max(other.max);
            self.mean += (other.mean - self.mean) * share;
        }
    }
}

/// A device over some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    verdict: u8,
    seconds: f32,
    extents: [Extent; Quantity::COUNT],
}

impl Point {
    /// Returns the point of one interval.
    pub(crate) fn of(verdict: Option<Verdict>, stats: Option<&IntervalStats>, seconds: f64) -> Self {
        let extent = |quantity: Quantity| match stats.and_then(|stats| quantity.of(stats)) {
            Some(value) => Extent { min: value as f32, mean: value as f32, max: value as f32 },
            None => Extent::UNKNOWN,
        };
        let extents = Quantity::ALL.map(extent);
        Self { verdict: verdict_code(verdict), seconds: seconds as f32, extents }
    }

    /// Adds the time of another point.
    pub(crate) fn add(&mut self, other: &Self) {
        self.verdict = worse(self.verdict, other.verdict);
        self.seconds += other.seconds;
        let share = if self.seconds > 0.0 { other.seconds / self.seconds } else { 0.5 };
        for (extent, other) in self.extents.iter_mut().zip(&other.extents) {
            extent.add(other, share);
        }
    }

    /// The worst verdict.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        verdict_of_code(self.verdict)
    }

    /// The seconds of the point.
    pub(crate) fn seconds(&self) -> f64 {
        f64::from(self.seconds)
    }

    /// Returns a quantity.
    pub(crate) fn extent(&self, quantity: Quantity) -> Extent {
        self.extents[quantity as usize]
    }

    /// Returns the means as statistics.
    pub(crate) fn mean_stats(&self) -> IntervalStats {
        let mean = |quantity: Quantity| {
            Some(self.extent(quantity)).filter(Extent::is_known).map(|extent| f64::from(extent.mean))
        };
        let mut stats = IntervalStats { seconds: self.seconds(), ..IntervalStats::default() };
        let (reads, writes) = (&mut stats.reads, &mut stats.writes);
        (reads.per_s, writes.per_s) = (mean(Quantity::Reads), mean(Quantity::Writes));
        (reads.kib_per_s, writes.kib_per_s) = (mean(Quantity::ReadKib), mean(Quantity::WriteKib));
        (reads.await_ms, writes.await_ms) = (mean(Quantity::ReadAwait), mean(Quantity::WriteAwait));
        for direction in [reads, writes] {
            let ios = direction.per_s.map(|per_s| (per_s * f64::from(self.seconds)).round() as u64);
            direction.ios = ios.filter(|_| direction.await_ms.is_some()).or(ios);
        }
        stats.flush_await_ms = mean(Quantity::FlushAwait);
        stats.queue = mean(Quantity::Queue);
        stats.in_flight = mean(Quantity::InFlight).map(|in_flight| in_flight.round() as u64);
        stats.util_pct = mean(Quantity::Util);
        stats
    }
}

/// Returns the worse of two verdicts, by their codes. An unknown verdict is worse than ok.
fn worse(a: u8, b: u8) -> u8 {
    let rank = |code: u8| super::frame::severity(verdict_of_code(code));
    if rank(b) > rank(a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::DirectionStats;

    fn point(verdict: Verdict, await_ms: Option<f64>) -> Point {
        let reads = DirectionStats { await_ms, ..DirectionStats::default() };
        Point::of(Some(verdict), Some(&IntervalStats { reads, ..IntervalStats::default() }), 1.0)
    }

    #[test]
    fn a_point_has_the_worst_verdict_and_the_extent_of_what_is_known() {
        let mut sum = point(Verdict::Ok, None);
        for (verdict, await_ms) in [(Verdict::Saturated, 4.0), (Verdict::Queueing, 1.0), (Verdict::Ok, 1.0)] {
            sum.add(&point(verdict, Some(await_ms)));
        }
        assert_eq!(sum.verdict(), Some(Verdict::Saturated));
        assert_eq!(sum.seconds(), 4.0);
        let extent = sum.extent(Quantity::ReadAwait);
        assert_eq!((extent.min, extent.max), (1.0, 4.0));
        assert!((1.5..3.0).contains(&extent.mean), "{extent:?}");
        assert!(!sum.extent(Quantity::WriteAwait).is_known());
    }
}
