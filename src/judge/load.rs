//! The load of a device in a step: the part of an interval that the judge looks at.

use super::thresholds::MIN_QUEUE;
use crate::attribution::IoDirection;
use crate::metrics::{Completed, Interval};

/// The requests of one kind that completed in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LoadOfKind {
    pub(super) count: f64,
    pub(super) kib: f64,
    /// The milliseconds that they took together.
    pub(super) ms: f64,
}

impl LoadOfKind {
    fn of(completed: &Completed) -> Self {
        Self {
            count: completed.ios.sum,
            kib: completed.kib(),
            ms: completed.time.sum,
        }
    }

    /// The mean latency in milliseconds; not a number without requests.
    pub(super) fn await_ms(&self) -> f64 {
        self.ms / self.count
    }

    /// The mean size in KiB; not a number without requests.
    pub(super) fn size_kib(&self) -> f64 {
        self.kib / self.count
    }
}

/// The load of a device in a step. The queue follows from Little's law: the time of requests over time. Utilization is wrong
/// on many kernels and in many logs; it only tells a burst within the step from a slow device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) seconds: f64,
    /// Reads, writes and flushes. A source that does not split reads and writes has all of them among the reads.
    pub(super) kinds: [LoadOfKind; 3],
    /// True if the first kind is reads and writes together.
    pub(super) is_unsplit: bool,
    /// False if a log does not tell how many requests completed.
    pub(super) is_counted: bool,
    /// The requests of all kinds that completed.
    pub(super) completed: f64,
    /// The requests in flight at the beginning and at the end; `None` if the source does not count them.
    pub(super) in_flight: Option<[f64; 2]>,
    /// The fraction of the time with a request in flight, as the kernel counts it; 0 if it does not.
    pub(super) busy: f64,
    /// The mean number of reads and writes that wait or are served.
    pub(super) queue: f64,
    /// The same of requests of all kinds.
    pub(super) queue_of_all: f64,
    /// False if requests completed whose time is not counted.
    pub(super) has_times: bool,
}

impl Load {
    pub(super) fn of(interval: &Interval) -> Self {
        let seconds = interval.seconds();
        let (discards, flushes) = (&interval.discards, &interval.flushes);
        let both = interval.reads_and_writes();
        let mut kinds = [
            LoadOfKind::of(&interval.reads),
            LoadOfKind::of(&interval.writes),
            LoadOfKind::of(flushes),
        ];
        let is_timed = interval.reads.time.ns > 0;
        let is_unsplit = !is_timed && interval.unsplit.is_counted();
        if is_unsplit {
            let ms = both.time.or(interval.weighted).sum;
            kinds[0] = LoadOfKind {
                ms,
                ..LoadOfKind::of(&both)
            };
            kinds[1] = LoadOfKind::default();
        }
        let in_flight = interval.in_flight_before.zip(interval.in_flight);
        let is_only_waiting = in_flight.is_none() && interval.completed() == 0.0;
        let ms = if (is_timed || is_unsplit) && !is_only_waiting {
            kinds[0].ms + kinds[1].ms
        } else {
            interval.weighted.sum
        };
        let has_weighted = interval.weighted.ns > 0;
        Self {
            seconds,
            kinds,
            is_unsplit,
            is_counted: both.is_counted(),
            completed: kinds[0].count + kinds[1].count + discards.ios.sum + flushes.ios.sum,
            in_flight: in_flight.map(|(begin, end)| [begin as f64, end as f64]),
            busy: interval
                .util_pct()
                .map_or(0.0, |util| util / 100.0)
                .min(1.0),
            queue: ms / 1000.0 / seconds,
            queue_of_all: (ms + discards.time.sum + flushes.time.sum) / 1000.0 / seconds,
            has_times: both.time.ns > 0 || has_weighted || interval.completed() == 0.0,
        }
    }

    /// Reads and writes that completed.
    pub(super) fn done(&self) -> f64 {
        self.kinds[0].count + self.kinds[1].count
    }

    /// Reads and writes per second.
    pub(super) fn rate(&self) -> f64 {
        self.done() / self.seconds
    }

    /// KiB read and written per second.
    pub(super) fn kib_rate(&self) -> f64 {
        (self.kinds[0].kib + self.kinds[1].kib) / self.seconds
    }

    /// The milliseconds of reads and writes together.
    pub(super) fn ms(&self) -> f64 {
        self.queue * self.seconds * 1000.0
    }

    /// The mean number of requests of a kind that wait or are served.
    pub(super) fn queue_of(&self, kind: usize) -> f64 {
        self.kinds[kind].ms / 1000.0 / self.seconds
    }

    /// Several requests at a time while the device was in use: a queue within the step, not a slow device.
    pub(super) fn is_burst(&self) -> bool {
        self.busy > 0.0 && self.queue >= MIN_QUEUE * self.busy
    }

    /// Requests of all kinds that arrived: those that completed, and how many more are in flight than before. Those that
    /// completed, if the source does not count the ones in flight.
    pub(super) fn arrived(&self) -> f64 {
        let more = self.in_flight.map_or(0.0, |[before, after]| after - before);
        self.completed + more
    }

    /// The kind of requests at an index of [`Load::kinds`].
    pub(super) fn direction(&self, kind: usize) -> IoDirection {
        match kind {
            0 if self.is_unsplit => IoDirection::Both,
            0 => IoDirection::Reads,
            1 => IoDirection::Writes,
            _ => IoDirection::Flushes,
        }
    }
}
