//! Sums over requests of one kind.

use crate::metrics::Completed;

/// Number, size and time of requests of one kind, each summed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IoTotals {
    /// Requests completed.
    pub ios: f64,
    pub kib: f64,
    /// Milliseconds that the requests took, each from issue to completion.
    pub ms: f64,
}

impl IoTotals {
    /// The totals of the requests of an interval; `None` if the kernel gives no request times.
    pub fn of(completed: &Completed) -> Option<Self> {
        let totals = Self {
            ios: completed.ios as f64,
            kib: completed.kib(),
            ms: completed.time.ms as f64,
        };
        (completed.time.ns > 0).then_some(totals)
    }

    pub fn plus(&self, other: &Self) -> Self {
        Self {
            ios: self.ios + other.ios,
            kib: self.kib + other.kib,
            ms: self.ms + other.ms,
        }
    }

    /// Mean latency in milliseconds; `None` without requests.
    pub fn await_ms(&self) -> Option<f64> {
        (self.ios > 0.0).then(|| self.ms / self.ios)
    }

    /// Mean size in KiB; `None` without requests.
    pub fn size_kib(&self) -> Option<f64> {
        (self.ios > 0.0).then(|| self.kib / self.ios)
    }
}
