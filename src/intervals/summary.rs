//! Sums over a whole run: means, and the peak of each quantity with its time.

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::metrics::{DirectionStats, IntervalStats};

/// The highest value of a quantity in any interval, and the end of that interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peak {
    /// The value; 0 if it was never above 0.
    pub value: f64,
    /// The time; `None` without a wall clock.
    pub at: Option<Timestamp>,
}

impl Peak {
    fn observe(&mut self, value: Option<f64>, at: Option<Timestamp>) {
        if let Some(value) = value.filter(|value| *value > self.value) {
            *self = Self { value, at };
        }
    }
}

/// Sums and peaks of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionTotals {
    ios: f64,
    /// Requests whose times are known.
    timed_ios: f64,
    kib: f64,
    ms: f64,
    /// The highest rate, in requests per second.
    pub peak_per_s: Peak,
    /// The highest throughput, in KiB per second.
    pub peak_kib_per_s: Peak,
    /// The highest mean latency of an interval, in milliseconds.
    pub peak_await_ms: Peak,
}

impl DirectionTotals {
    fn observe(&mut self, stats: &DirectionStats, seconds: f64, at: Option<Timestamp>) {
        let ios = stats.ios.unwrap_or(0) as f64;
        self.ios += ios;
        self.kib += stats.kib_per_s.unwrap_or(0.0) * seconds;
        if let Some(await_ms) = stats.await_ms {
            self.timed_ios += ios;
            self.ms += await_ms * ios;
        }
        self.peak_per_s.observe(stats.per_s, at);
        self.peak_kib_per_s.observe(stats.kib_per_s, at);
        self.peak_await_ms.observe(stats.await_ms, at);
    }

    /// The mean latency of all requests in milliseconds; 0 without any.
    pub fn mean_await_ms(&self) -> f64 {
        self.ms / self.timed_ios.max(1.0)
    }
}

/// Sums and peaks of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceSummary {
    seconds: f64,
    /// Reads.
    pub reads: DirectionTotals,
    /// Writes.
    pub writes: DirectionTotals,
    /// The sum of the queue, multiplied by the seconds for which it is known.
    queue_s: f64,
    queue_known_s: f64,
    /// The longest mean queue of an interval.
    pub peak_queue: Peak,
    /// The longest stall, in seconds.
    pub peak_stall_s: Peak,
}

impl DeviceSummary {
    /// Adds an interval that ended `at`; `stalled_s` is how long the device had stalled then.
    pub fn observe(&mut self, stats: &IntervalStats, stalled_s: f64, at: Option<Timestamp>) {
        self.seconds += stats.seconds;
        self.reads.observe(&stats.reads, stats.seconds, at);
        self.writes.observe(&stats.writes, stats.seconds, at);
        if let Some(queue) = stats.queue {
            self.queue_known_s += stats.seconds;
            self.queue_s += queue * stats.seconds;
        }
        self.peak_queue.observe(stats.queue, at);
        self.peak_stall_s.observe(Some(stalled_s), at);
    }

    /// Adds idle time: means are over all time.
    pub fn observe_idle(&mut self, seconds: f64) {
        self.seconds += seconds;
        self.queue_known_s += seconds;
    }

    /// Compares by severity, worst first: by the longest stall, then by the longest queue of an interval, then by the
    /// highest latency of an interval.
    pub fn worst_first(&self, other: &Self) -> Ordering {
        let severity = |summary: &Self| {
            let latency_ms = summary.reads.peak_await_ms.value.max(summary.writes.peak_await_ms.value);
            [summary.peak_stall_s.value, summary.peak_queue.value, latency_ms]
        };
        let pairs = severity(other).into_iter().zip(severity(self));
        pairs.map(|(other, own)| other.total_cmp(&own)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Returns whether the device did nothing at all.
    pub fn is_empty(&self) -> bool {
        self.reads.ios + self.writes.ios + self.queue_s + self.peak_stall_s.value == 0.0
    }

    /// The mean requests per second of a direction.
    pub fn mean_per_s(&self, direction: &DirectionTotals) -> f64 {
        direction.ios / self.seconds
    }

    /// The mean KiB per second of a direction.
    pub fn mean_kib_per_s(&self, direction: &DirectionTotals) -> f64 {
        direction.kib / self.seconds
    }

    /// The mean queue.
    pub fn mean_queue(&self) -> f64 {
        self.queue_s / self.queue_known_s
    }
}

/// The intervals and the time that a run spans.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunSpan {
    /// The number of intervals.
    pub intervals: u64,
    /// Their total length in seconds.
    pub seconds: f64,
    /// The earliest and the latest time of day; `None` without a wall clock.
    pub times: Option<(Timestamp, Timestamp)>,
}

impl RunSpan {
    /// Adds an interval.
    pub fn observe(&mut self, seconds: f64, start: Option<Timestamp>, end: Option<Timestamp>) {
        self.intervals += 1;
        self.seconds += seconds;
        for at in [start, end].into_iter().flatten() {
            let (first, last) = self.times.unwrap_or((at, at));
            self.times = Some((first.min(at), last.max(at)));
        }
    }
}
