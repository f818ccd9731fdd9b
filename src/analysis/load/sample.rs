//! The load of one interval, or of several alike.

use serde::{Serialize, Serializer};

use crate::analysis::stats::IoTotals;
use crate::analysis::thresholds::{
    CLOSED_LOOP_TOLERANCE, LOW_AVAILABLE_CPU_PCT, MAX_MINOR_TIME_FRACTION,
    MIN_BURST_EDGE_IN_FLIGHT, MIN_BURST_EDGE_RATIO, MIN_INTERVAL_REQUESTS, SAME_RATE_TOLERANCE,
};
use crate::metrics::{HostStats, Interval};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoDirection {
    Reads,
    Writes,
    /// Reads and writes together, as cloud limits count them.
    Both,
    /// Flushes of the device's write cache. They have no size and no cap.
    Flushes,
}

impl IoDirection {
    /// Its name in JSON: `read`, `write`, `all`, `flush`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reads => "read",
            Self::Writes => "write",
            Self::Both => "all",
            Self::Flushes => "flush",
        }
    }

    /// The plural noun for such requests: `reads`, `writes`, `requests`, `flushes`.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Both => "requests",
            Self::Flushes => "flushes",
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
    #[serde(rename = "requests")]
    Requests,
    #[serde(rename = "bytes")]
    Kib,
}

impl RateUnit {
    pub(crate) const ALL: [Self; 2] = [Self::Requests, Self::Kib];
}

/// An interval in which requests were completed, or several such intervals of similar load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadSample {
    /// The number of intervals of the device before it.
    pub interval_index: f64,
    /// Seconds of all intervals before it; 0 in a live view.
    pub begin_s: f64,
    pub seconds: f64,
    pub intervals: f64,
    pub reads: IoTotals,
    pub writes: IoTotals,
    /// Flushes, without a size.
    pub flushes: IoTotals,
    /// Seconds with a read, write or flush in flight, as the kernel counts them, at least: all of its busy time except as
    /// much as the discards took. `None` if it does not count them.
    pub busy_s: Option<f64>,
    /// Requests in flight at its end minus those at its beginning; 0 if they are not known.
    pub in_flight_change: f64,
    /// Requests in flight at its end; `None` if they are not known, or differ between its
    /// intervals.
    pub in_flight_at_end: Option<u64>,
    /// The highest number of requests in flight at an end of an interval.
    pub in_flight: u64,
    /// A neighboring interval had the same load; false if the load changed within the interval.
    pub is_steady: bool,
    /// Relative standard deviation of the rate of requests among its intervals.
    pub variation: f64,
    /// The host had hardly any CPU time left, so that requests were issued and sampled at irregular times.
    pub is_cpu_short: bool,
}

impl LoadSample {
    /// The load of an interval on a `host`; `None` if nothing was completed or the kernel gives no times.
    pub fn of(stats: &Interval, host: &HostStats, interval_index: f64) -> Option<Self> {
        let (reads, writes) = (IoTotals::of(&stats.reads)?, IoTotals::of(&stats.writes)?);
        (reads.ios + writes.ios > 0.0).then(|| Self {
            interval_index,
            begin_s: 0.0,
            seconds: stats.seconds(),
            intervals: 1.0,
            reads,
            writes,
            flushes: IoTotals::of(&stats.flushes).unwrap_or_default(),
            busy_s: stats.util_pct().map(|util| {
                (util / 100.0 - stats.discards.queue().unwrap_or(0.0)).max(0.0) * stats.seconds()
            }),
            in_flight_change: in_flight_change(stats),
            in_flight_at_end: stats.in_flight,
            in_flight: stats.in_flight.max(stats.in_flight_before).unwrap_or(0),
            is_steady: false,
            variation: 0.0,
            is_cpu_short: host
                .cpu
                .is_some_and(|cpu| cpu.available() < LOW_AVAILABLE_CPU_PCT),
        })
    }

    pub fn totals(&self, direction: IoDirection) -> IoTotals {
        match direction {
            IoDirection::Reads => self.reads,
            IoDirection::Writes => self.writes,
            IoDirection::Both => self.reads.plus(&self.writes),
            IoDirection::Flushes => self.flushes,
        }
    }

    /// Requests or KiB.
    pub fn amount(&self, direction: IoDirection, unit: RateUnit) -> f64 {
        let totals = self.totals(direction);
        if unit == RateUnit::Requests {
            totals.ios
        } else {
            totals.kib
        }
    }

    /// Requests or KiB per second.
    pub fn rate(&self, direction: IoDirection, unit: RateUnit) -> f64 {
        self.amount(direction, unit) / self.seconds
    }

    /// Mean number of requests in the queue or being served (Little's law).
    pub fn queue(&self, direction: IoDirection) -> f64 {
        self.totals(direction).ms / 1000.0 / self.seconds
    }

    /// Mean number of reads, writes and flushes in the queue or being served.
    pub fn total_queue(&self) -> f64 {
        self.queue(IoDirection::Both) + self.queue(IoDirection::Flushes)
    }

    /// Returns whether a burst may end or begin in it: its mean queue is short, but its requests waited in a long
    /// queue.
    pub fn is_edge_of_burst(&self) -> bool {
        self.in_flight >= MIN_BURST_EDGE_IN_FLIGHT
            && self.in_flight as f64 > MIN_BURST_EDGE_RATIO * self.queue(IoDirection::Both)
    }

    /// Returns whether as many requests were in flight at its end as on average within it: each was issued when
    /// another completed.
    pub fn is_closed_loop(&self) -> bool {
        self.in_flight_at_end.is_some_and(|in_flight| {
            let distance = (in_flight as f64 - self.queue(IoDirection::Both)).abs();
            distance <= CLOSED_LOOP_TOLERANCE * in_flight as f64
        })
    }

    /// Returns whether a direction has enough of the time of all requests, including flushes, to decide the verdict.
    /// Flushes that take only a little of the interval do not: they delay no client for longer than that.
    pub fn is_major(&self, direction: IoDirection) -> bool {
        let all_ms = self.reads.ms + self.writes.ms + self.flushes.ms;
        let is_rare = direction == IoDirection::Flushes
            && self.flushes.ios < MIN_INTERVAL_REQUESTS * self.intervals
            && self.queue(IoDirection::Flushes) <= MAX_MINOR_TIME_FRACTION;
        self.totals(direction).ms > MAX_MINOR_TIME_FRACTION * all_ms && !is_rare
    }

    /// The mean number of requests in flight while there were any; `None` if the kernel does not count the time with
    /// requests in flight. If it is near one, requests came one at a time; if higher, they came together.
    pub fn queue_while_busy(&self) -> Option<f64> {
        let busy_s = self.busy_s.filter(|busy_s| *busy_s > 0.0)?;
        Some((self.reads.ms + self.writes.ms + self.flushes.ms) / 1000.0 / busy_s)
    }

    /// The fraction of its requests that are reads.
    pub fn read_fraction(&self) -> f64 {
        self.reads.ios / (self.reads.ios + self.writes.ios)
    }

    /// Returns whether rate and queue are the same within a relative `tolerance`. If the rate is practically equal, the
    /// queue may differ.
    pub fn is_similar(&self, other: &Self, tolerance: f64) -> bool {
        let is_near = |a: f64, b: f64, tolerance: f64| (a - b).abs() <= tolerance * a.max(b);
        let rates = [self, other].map(|load| load.rate(IoDirection::Both, RateUnit::Requests));
        let queues = [self, other].map(|load| load.queue(IoDirection::Both));
        is_near(rates[0], rates[1], SAME_RATE_TOLERANCE)
            || (is_near(rates[0], rates[1], tolerance) && is_near(queues[0], queues[1], tolerance))
    }

    /// Merges two loads into one, at the time of the earlier.
    pub fn merge(&self, other: &Self) -> Self {
        let rate = |load: &Self| load.rate(IoDirection::Both, RateUnit::Requests);
        let seconds = self.seconds + other.seconds;
        let (a, b) = (self.seconds / seconds, other.seconds / seconds);
        let mean = a * rate(self) + b * rate(other);
        let square =
            |load: &Self| (load.variation * rate(load)).powi(2) + (rate(load) - mean).powi(2);
        Self {
            interval_index: self.interval_index.min(other.interval_index),
            begin_s: self.begin_s.min(other.begin_s),
            seconds,
            intervals: self.intervals + other.intervals,
            reads: self.reads.plus(&other.reads),
            writes: self.writes.plus(&other.writes),
            flushes: self.flushes.plus(&other.flushes),
            busy_s: self
                .busy_s
                .zip(other.busy_s)
                .map(|(one, other)| one + other),
            in_flight_change: self.in_flight_change + other.in_flight_change,
            in_flight_at_end: self
                .in_flight_at_end
                .filter(|in_flight| other.in_flight_at_end == Some(*in_flight)),
            in_flight: self.in_flight.max(other.in_flight),
            is_steady: self.is_steady && other.is_steady,
            variation: (a * square(self) + b * square(other)).sqrt() / mean.max(f64::MIN_POSITIVE),
            is_cpu_short: self.is_cpu_short || other.is_cpu_short,
        }
    }
}

fn in_flight_change(stats: &Interval) -> f64 {
    stats
        .in_flight
        .zip(stats.in_flight_before)
        .map_or(0.0, |(end, begin)| end as f64 - begin as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    fn load(ios: f64, ms: f64) -> LoadSample {
        let reads = IoTotals {
            ios,
            kib: ios * 4.0,
            ms,
        };
        LoadSample {
            seconds: 1.0,
            intervals: 1.0,
            reads,
            ..LoadSample::default()
        }
    }

    #[test]
    fn merged_loads_keep_sums_and_variation() {
        let both = load(90.0, 100.0).merge(&load(110.0, 300.0));
        assert_eq!(
            (
                both.rate(IoDirection::Reads, RateUnit::Requests),
                both.queue(IoDirection::Both)
            ),
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
    fn a_few_flushes_that_take_little_time_do_not_decide() {
        let with_flushes = |ios: f64, ms: f64| LoadSample {
            flushes: IoTotals {
                ios,
                kib: 0.0,
                ms: ios * ms,
            },
            ..load(100.0, 20.0)
        };
        assert!(!with_flushes(2.0, 30.0).is_major(IoDirection::Flushes));
        assert!(with_flushes(2.0, 100.0).is_major(IoDirection::Flushes));
        assert!(with_flushes(20.0, 3.0).is_major(IoDirection::Flushes));
    }

    #[test]
    fn an_interval_without_requests_is_not_a_load() {
        let idle = Interval::idle(Span::from_nanos(1_000_000_000).unwrap());
        assert_eq!(LoadSample::of(&idle, &HostStats::default(), 0.0), None);
        assert_eq!(IoTotals::default().await_ms(), None);
    }
}
