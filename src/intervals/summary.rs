//! Sums over a whole run: means, and the peak of each quantity with its time.

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::judge::Judged;
use crate::metrics::{Completed, Interval};
use crate::units::Span;

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

/// The highest values of reads or writes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionPeaks {
    /// In requests per second.
    pub per_s: Peak,
    pub kib_per_s: Peak,
    /// The highest mean latency of an interval, in milliseconds.
    pub await_ms: Peak,
}

impl DirectionPeaks {
    fn observe(&mut self, completed: &Completed, at: Option<Timestamp>) {
        self.per_s.observe(completed.per_s(), at);
        self.kib_per_s.observe(completed.kib_per_s(), at);
        self.await_ms.observe(completed.await_ms(), at);
    }
}

/// A device over all intervals that were shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceSummary {
    pub sum: Judged,
    pub reads: DirectionPeaks,
    pub writes: DirectionPeaks,
    /// The longest mean queue of an interval.
    pub peak_queue: Peak,
    /// The longest stall, in seconds.
    pub peak_stall_s: Peak,
}

impl DeviceSummary {
    /// Adds an interval that ended `at`; `stalled_s` is how long the device had stalled then.
    pub fn observe(&mut self, judged: &Judged, stalled_s: f64, at: Option<Timestamp>) {
        let interval = &judged.interval;
        self.reads.observe(&interval.reads, at);
        self.writes.observe(&interval.writes, at);
        self.peak_queue.observe(interval.queue(), at);
        self.peak_stall_s.observe(Some(stalled_s), at);
        self.sum += judged;
    }

    /// Adds idle time: means are over all time.
    pub fn observe_idle(&mut self, span: Span) {
        self.sum += &Judged::of(&Interval::idle(span), None);
    }

    /// Compares by severity, worst first: by the longest stall, then by the longest queue of an interval, then by the
    /// highest latency of an interval.
    pub fn worst_first(&self, other: &Self) -> Ordering {
        for (other, own) in other.severity().into_iter().zip(self.severity()) {
            let order = other.total_cmp(&own);
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    fn severity(&self) -> [f64; 3] {
        let [reads, writes] = [&self.reads, &self.writes].map(|one| one.await_ms.value);
        [
            self.peak_stall_s.value,
            self.peak_queue.value,
            reads.max(writes),
        ]
    }

    /// Returns whether the device did nothing at all.
    pub fn is_empty(&self) -> bool {
        let interval = &self.sum.interval;
        let both = interval.reads_and_writes();
        both.ios.sum == 0.0
            && both.sectors.sum == 0.0
            && interval.weighted.sum == 0.0
            && self.peak_stall_s.value == 0.0
    }
}

/// The intervals and the time that a run spans.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunSpan {
    pub intervals: u64,
    pub seconds: f64,
    /// The earliest and the latest time of day; `None` without a wall clock.
    pub times: Option<(Timestamp, Timestamp)>,
}

impl RunSpan {
    pub fn observe(&mut self, seconds: f64, start: Option<Timestamp>, end: Option<Timestamp>) {
        self.intervals += 1;
        self.seconds += seconds;
        for at in [start, end].into_iter().flatten() {
            let (first, last) = self.times.unwrap_or((at, at));
            self.times = Some((first.min(at), last.max(at)));
        }
    }
}
