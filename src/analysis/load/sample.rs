//! The load of one interval, or of several alike.

use serde::{Serialize, Serializer};

use crate::analysis::stats::IoTotals;
use crate::analysis::thresholds::{
    MAX_MINOR_TIME_FRACTION, MIN_BURST_EDGE_IN_FLIGHT, MIN_BURST_EDGE_RATIO, SAME_RATE_TOLERANCE,
};
use crate::metrics::IntervalStats;

/// The requests that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoDirection {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
    /// Reads and writes together, as cloud limits count them.
    Both,
}

impl IoDirection {
    /// Its name in JSON: `read`, `write`, `all`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reads => "read",
            Self::Writes => "write",
            Self::Both => "all",
        }
    }

    /// The plural noun for such requests: `reads`, `writes`, `requests`.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Both => "requests",
        }
    }
}

impl Serialize for IoDirection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The unit that a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum RateUnit {
    /// Requests per second.
    #[serde(rename = "requests")]
    Requests,
    /// KiB per second.
    #[serde(rename = "bytes")]
    Kib,
}

impl RateUnit {
    /// Both units.
    pub(in crate::analysis) const ALL: [Self; 2] = [Self::Requests, Self::Kib];
}

/// An interval in which requests were completed, or several such intervals of similar load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadSample {
    /// The number of intervals of the device before it.
    pub interval_index: f64,
    /// Length in seconds.
    pub seconds: f64,
    /// Number of intervals in it.
    pub intervals: f64,
    /// Reads.
    pub reads: IoTotals,
    /// Writes.
    pub writes: IoTotals,
    /// The highest number of requests in flight at an end of an interval.
    pub in_flight: u64,
    /// A neighboring interval had the same load; false where the load changed within the interval.
    pub is_steady: bool,
    /// Relative standard deviation of the rate of requests among its intervals.
    pub variation: f64,
}

impl LoadSample {
    /// The load of an interval; `None` where nothing was completed or the kernel gives no times.
    pub fn from_stats(stats: &IntervalStats, interval_index: f64) -> Option<Self> {
        let reads = IoTotals::from_stats(&stats.reads, stats.seconds)?;
        let writes = IoTotals::from_stats(&stats.writes, stats.seconds)?;
        (reads.ios + writes.ios > 0.0).then(|| Self {
            interval_index,
            seconds: stats.seconds,
            intervals: 1.0,
            reads,
            writes,
            in_flight: stats.in_flight.max(stats.in_flight_before).unwrap_or(0),
            is_steady: false,
            variation: 0.0,
        })
    }

    /// The totals of a direction.
    pub fn totals(&self, direction: IoDirection) -> IoTotals {
        match direction {
            IoDirection::Reads => self.reads,
            IoDirection::Writes => self.writes,
            IoDirection::Both => self.reads.plus(&self.writes),
        }
    }

    /// Requests or KiB per second.
    pub fn rate(&self, direction: IoDirection, unit: RateUnit) -> f64 {
        let totals = self.totals(direction);
        let amount = if unit == RateUnit::Requests { totals.ios } else { totals.kib };
        amount / self.seconds
    }

    /// Mean number of requests in the queue or being served (Little's law).
    pub fn queue(&self, direction: IoDirection) -> f64 {
        self.totals(direction).ms / 1000.0 / self.seconds
    }

    /// Returns whether a burst may end or begin in it: its mean queue is short, but its requests waited in a long one.
    pub fn is_edge_of_burst(&self) -> bool {
        self.in_flight >= MIN_BURST_EDGE_IN_FLIGHT
            && self.in_flight as f64 > MIN_BURST_EDGE_RATIO * self.queue(IoDirection::Both)
    }

    /// Returns whether a direction has enough of the request time to decide the verdict.
    pub fn is_major(&self, direction: IoDirection) -> bool {
        self.totals(direction).ms > MAX_MINOR_TIME_FRACTION * self.totals(IoDirection::Both).ms
    }

    /// The fraction of its requests that are reads.
    pub fn read_fraction(&self) -> f64 {
        self.reads.ios / (self.reads.ios + self.writes.ios)
    }

    /// Returns whether rate and queue are the same within a relative `tolerance`. Where the rate is practically equal
    /// the queue may differ.
    pub fn is_similar(&self, other: &Self, tolerance: f64) -> bool {
        let is_near = |a: f64, b: f64, tolerance: f64| (a - b).abs() <= tolerance * a.max(b);
        let rates = [self, other].map(|load| load.rate(IoDirection::Both, RateUnit::Requests));
        let queues = [self, other].map(|load| load.queue(IoDirection::Both));
        is_near(rates[0], rates[1], SAME_RATE_TOLERANCE)
            || (is_near(rates[0], rates[1], tolerance) && is_near(queues[0], queues[1], tolerance))
    }

    /// Both as one, at the time of the earlier.
    pub fn merge(&self, other: &Self) -> Self {
        let rate = |load: &Self| load.rate(IoDirection::Both, RateUnit::Requests);
        let seconds = self.seconds + other.seconds;
        let (a, b) = (self.seconds / seconds, other.seconds / seconds);
        let mean = a * rate(self) + b * rate(other);
        let square = |load: &Self| (load.variation * rate(load)).powi(2) + (rate(load) - mean).powi(2);
        Self {
            interval_index: self.interval_index.min(other.interval_index),
            seconds,
            intervals: self.intervals + other.intervals,
            reads: self.reads.plus(&other.reads),
            writes: self.writes.plus(&other.writes),
            in_flight: self.in_flight.max(other.in_flight),
            is_steady: self.is_steady && other.is_steady,
            variation: (a * square(self) + b * square(other)).sqrt() / mean.max(f64::MIN_POSITIVE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::DirectionStats;

    fn load(ios: f64, ms: f64) -> LoadSample {
        let reads = IoTotals { ios, kib: ios * 4.0, ms };
        LoadSample { seconds: 1.0, intervals: 1.0, reads, ..LoadSample::default() }
    }

    #[test]
    fn merged_loads_keep_sums_and_variation() {
        let both = load(90.0, 100.0).merge(&load(110.0, 300.0));
        assert_eq!(
            (both.rate(IoDirection::Reads, RateUnit::Requests), both.queue(IoDirection::Both)),
            (100.0, 0.2)
        );
        assert!((both.variation - 0.1).abs() < 1e-12);
        let four = both.merge(&both);
        assert!((four.variation - 0.1).abs() < 1e-12);
        assert_eq!(
            (four.reads.await_ms(), four.reads.size_kib(), four.intervals),
            (Some(2.0), Some(4.0), 4.0)
        );
    }

    #[test]
    fn an_interval_without_requests_is_not_a_load() {
        let idle = DirectionStats {
            ios: Some(0),
            kib_per_s: Some(0.0),
            queue: Some(0.0),
            ..DirectionStats::default()
        };
        let stats = IntervalStats { seconds: 1.0, reads: idle, writes: idle, ..IntervalStats::default() };
        assert_eq!(LoadSample::from_stats(&stats, 0.0), None);
        assert_eq!(IoTotals::default().await_ms(), None);
    }
}
