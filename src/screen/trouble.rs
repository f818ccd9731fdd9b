//! The events as the screen needs them.

use std::cmp::Ordering;

use crate::analysis::Verdict;

/// A time in which a device was in trouble.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trouble {
    /// The kernel's name of the device.
    pub(crate) device: String,
    /// The worst verdict.
    pub(crate) verdict: Verdict,
    /// Its onset: seconds of all intervals before it.
    pub(crate) begin_s: f64,
    /// The end of its last interval so far.
    pub(crate) end_s: f64,
    /// The highest mean latency of an interval in milliseconds; `None` where the kernel gives none.
    pub(crate) peak_ms: Option<f64>,
}

impl Trouble {
    /// Compares two events, the worse one first: by verdict, then by duration, then by latency.
    pub(crate) fn worst_first(&self, other: &Self) -> Ordering {
        let duration = |event: &Self| event.end_s - event.begin_s;
        (other.verdict.severity().cmp(&self.verdict.severity()))
            .then(duration(other).total_cmp(&duration(self)))
            .then(other.peak_ms.unwrap_or(0.0).total_cmp(&self.peak_ms.unwrap_or(0.0)))
    }
}
