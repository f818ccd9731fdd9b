//! What a device did in an interval, or in several alike, as far as the analysis needs it.

use crate::metrics::{DirectionStats, IntervalStats};

/// Which requests are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoDirection {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
    /// Reads and writes together, as clouds count them.
    Both,
}

impl IoDirection {
    /// What such requests are called.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Both => "requests",
        }
    }
}

/// What is counted of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateUnit {
    /// Requests a second.
    Requests,
    /// KiB a second.
    Kib,
}

/// Requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IoTotals {
    /// Requests completed.
    pub ios: f64,
    /// KiB.
    pub kib: f64,
    /// Milliseconds that they took, summed.
    pub ms: f64,
}

impl IoTotals {
    /// What a direction did in so many seconds; `None` where the kernel gives no times.
    pub fn of(direction: &DirectionStats, seconds: f64) -> Option<Self> {
        let ios = direction.ios? as f64;
        Some(Self { ios, kib: direction.kib_per_s? * seconds, ms: direction.queue? * 1000.0 * seconds })
    }

    /// Both together.
    pub fn plus(&self, other: &Self) -> Self {
        Self { ios: self.ios + other.ios, kib: self.kib + other.kib, ms: self.ms + other.ms }
    }

    /// Mean response time in milliseconds; `None` without requests.
    pub fn await_ms(&self) -> Option<f64> {
        (self.ios > 0.0).then(|| self.ms / self.ios)
    }

    /// Mean size in KiB; `None` without requests.
    pub fn size_kib(&self) -> Option<f64> {
        (self.ios > 0.0).then(|| self.kib / self.ios)
    }
}

/// An interval in which requests were completed, or several such intervals of like concurrency.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadSample {
    /// Its place in time: intervals of the device before it.
    pub place: f64,
    /// Length in seconds.
    pub seconds: f64,
    /// How many intervals it is made of.
    pub intervals: f64,
    /// Reads.
    pub reads: IoTotals,
    /// Writes.
    pub writes: IoTotals,
    /// The most requests in flight at an end of an interval.
    pub in_flight: u64,
    /// Whether a neighbour in time had the same load: not so where the load changed in the middle.
    pub steady: bool,
    /// The share by which the rate of requests varied among its intervals (standard deviation over mean).
    pub variation: f64,
}

impl LoadSample {
    /// The load of an interval; `None` where nothing was completed or the kernel gives no times.
    pub fn of(figures: &IntervalStats, place: f64) -> Option<Self> {
        let reads = IoTotals::of(&figures.reads, figures.seconds)?;
        let writes = IoTotals::of(&figures.writes, figures.seconds)?;
        (reads.ios + writes.ios > 0.0).then(|| Self {
            place,
            seconds: figures.seconds,
            intervals: 1.0,
            reads,
            writes,
            in_flight: figures.in_flight.max(figures.in_flight_before).unwrap_or(0),
            steady: false,
            variation: 0.0,
        })
    }

    /// The requests of a side.
    pub fn work(&self, side: IoDirection) -> IoTotals {
        match side {
            IoDirection::Reads => self.reads,
            IoDirection::Writes => self.writes,
            IoDirection::Both => self.reads.plus(&self.writes),
        }
    }

    /// Requests or KiB a second.
    pub fn rate(&self, side: IoDirection, measure: RateUnit) -> f64 {
        let work = self.work(side);
        let amount = if measure == RateUnit::Requests { work.ios } else { work.kib };
        amount / self.seconds
    }

    /// Mean number of requests in the queue or being served (Little's law).
    pub fn concurrency(&self, side: IoDirection) -> f64 {
        self.work(side).ms / 1000.0 / self.seconds
    }

    /// Whether a burst ends or begins in it: its mean concurrency is low, but its requests waited in a long queue.
    pub fn is_edge_of_burst(&self) -> bool {
        const MANY: u64 = 4;
        const FAR: f64 = 3.0;
        self.in_flight >= MANY && self.in_flight as f64 > FAR * self.concurrency(IoDirection::Both)
    }

    /// The share of its requests that are reads, 0 to 1.
    pub fn read_share(&self) -> f64 {
        self.reads.ios / (self.reads.ios + self.writes.ios)
    }

    /// Whether rate and concurrency are the same within `tolerance`, a share. Where the rate is the very same, the
    /// concurrency may differ: a queue that grows beyond what the device can do is no change of what it does.
    pub fn is_like(&self, other: &Self, tolerance: f64) -> bool {
        const VERY_SAME: f64 = 0.02;
        let near = |a: f64, b: f64, tolerance: f64| (a - b).abs() <= tolerance * a.max(b);
        let rates = [self, other].map(|load| load.rate(IoDirection::Both, RateUnit::Requests));
        let queues = [self, other].map(|load| load.concurrency(IoDirection::Both));
        near(rates[0], rates[1], VERY_SAME)
            || (near(rates[0], rates[1], tolerance) && near(queues[0], queues[1], tolerance))
    }

    /// Two in one, at the place of the first.
    pub fn plus(&self, other: &Self) -> Self {
        let rate = |load: &Self| load.rate(IoDirection::Both, RateUnit::Requests);
        let seconds = self.seconds + other.seconds;
        let (a, b) = (self.seconds / seconds, other.seconds / seconds);
        let mean = a * rate(self) + b * rate(other);
        let square = |load: &Self| (load.variation * rate(load)).powi(2) + (rate(load) - mean).powi(2);
        Self {
            place: self.place.min(other.place),
            seconds,
            intervals: self.intervals + other.intervals,
            reads: self.reads.plus(&other.reads),
            writes: self.writes.plus(&other.writes),
            in_flight: self.in_flight.max(other.in_flight),
            steady: self.steady && other.steady,
            variation: (a * square(self) + b * square(other)).sqrt() / mean.max(f64::MIN_POSITIVE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(ios: f64, ms: f64) -> LoadSample {
        let reads = IoTotals { ios, kib: ios * 4.0, ms };
        LoadSample { seconds: 1.0, intervals: 1.0, reads, ..LoadSample::default() }
    }

    #[test]
    fn two_in_one_keep_sums_and_variation() {
        let both = load(90.0, 100.0).plus(&load(110.0, 300.0));
        assert_eq!(
            (both.rate(IoDirection::Reads, RateUnit::Requests), both.concurrency(IoDirection::Both)),
            (100.0, 0.2)
        );
        assert!((both.variation - 0.1).abs() < 1e-12);
        let four = both.plus(&both);
        assert!((four.variation - 0.1).abs() < 1e-12);
        assert_eq!(
            (four.reads.await_ms(), four.reads.size_kib(), four.intervals),
            (Some(2.0), Some(4.0), 4.0)
        );
    }

    #[test]
    fn without_requests_there_is_no_load() {
        let still = DirectionStats {
            ios: Some(0),
            kib_per_s: Some(0.0),
            queue: Some(0.0),
            ..DirectionStats::default()
        };
        let figures = IntervalStats { seconds: 1.0, reads: still, writes: still, ..IntervalStats::default() };
        assert_eq!(LoadSample::of(&figures, 0.0), None);
        assert_eq!(IoTotals::default().await_ms(), None);
    }
}
