//! The quantities of a device and of the host: what each is called, what it means, and its value. Columns of the table,
//! fields of JSON and CSV, sort keys, charts and the manual are lists of these; what is a view's own, such as the width of
//! a column, stands there.

pub mod device;
pub mod host;
mod verdict;

pub use host::HostQuantity;
pub use verdict::verdict_meaning;

use crate::counters::Columns;
use crate::judge::{IoDirection, Judged};
use crate::metrics::Completed;

/// A quantity of a device.
#[derive(Debug)]
pub struct Quantity {
    /// Its name in JSON, which ends in the unit.
    pub name: &'static str,
    /// Its title in the table.
    pub title: &'static str,
    /// A sentence part that says what it is.
    pub meaning: &'static str,
    pub unit: Unit,
    /// The requests that it is about.
    pub requests: Requests,
    /// Its value from these requests; `None` if that is not known.
    pub formula: fn(Requests, &Judged) -> Option<f64>,
}

/// The unit of a quantity, from which follow its format, and how a mean over several intervals is weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    PerSecond,
    KibPerSecond,
    /// A mean over requests.
    Milliseconds,
    /// A mean over requests.
    Kib,
    /// A share of the requests before they were merged.
    RequestPercent,
    TimePercent,
    /// A multiple of the latency on the unloaded device.
    Times,
    /// A mean number of requests.
    Mean,
    /// The number of requests at the end of an interval.
    Count,
}

/// A kind of requests, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    Reads,
    Writes,
    Discards,
    Flushes,
    ReadsAndWrites,
    /// Those that carry data: reads, writes and discards.
    Data,
    All,
}

impl Quantity {
    /// Its value; `None` if that is not known.
    pub fn value(&self, judged: &Judged) -> Option<f64> {
        (self.formula)(self.requests, judged)
    }

    /// The columns that the kernel must print for it.
    pub const fn needs(&self) -> Columns {
        match self.requests {
            Requests::Discards => Columns::Discards,
            Requests::Flushes => Columns::Flushes,
            _ => Columns::Partition,
        }
    }

    /// Returns whether it is a mean over time; otherwise over requests.
    pub fn is_over_time(&self) -> bool {
        use Unit::{Kib, Milliseconds, RequestPercent, Times};
        !matches!(self.unit, Milliseconds | Kib | RequestPercent | Times)
    }

    /// The value with its weight in a mean: the number of requests or seconds. `None` without a value.
    pub fn weighted(&self, judged: &Judged) -> Option<(f64, f64)> {
        let value = self.value(judged)?;
        if self.is_over_time() {
            return Some((value, judged.interval.seconds()));
        }
        let requests = self.requests.completed(judged);
        let merges = match self.unit {
            Unit::RequestPercent => requests.merges.sum,
            _ => 0.0,
        };
        Some((value, requests.ios.sum + merges))
    }
}

impl Requests {
    /// Those of this kind that completed.
    pub fn completed(self, judged: &Judged) -> Completed {
        let interval = &judged.interval;
        match self {
            Self::Reads => interval.reads,
            Self::Writes => interval.writes,
            Self::Discards => interval.discards,
            Self::Flushes => interval.flushes,
            Self::ReadsAndWrites => interval.reads_and_writes(),
            Self::Data => Self::ReadsAndWrites
                .completed(judged)
                .beside(&interval.discards),
            Self::All => Self::Data.completed(judged).beside(&interval.flushes),
        }
    }

    /// How many times the latency of the unloaded device they took; `None` if that is not known.
    pub fn saturation(self, judged: &Judged) -> Option<f64> {
        judged.saturation(match self {
            Self::Reads => IoDirection::Reads,
            Self::Writes => IoDirection::Writes,
            Self::Flushes => IoDirection::Flushes,
            Self::ReadsAndWrites => IoDirection::Both,
            Self::Discards | Self::Data | Self::All => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Assessment;
    use crate::metrics::Interval;

    #[test]
    fn latencies_are_weighted_by_requests_and_rates_by_time() {
        let interval = Interval {
            reads: Completed::example(2.0, 300, 4.0),
            writes: Completed::example(2.0, 100, 68.0),
            ..Interval::unknown(2.0).with_util(40.0)
        };
        let plausible = Judged::example(
            interval.with_queue(1.0).with_in_flight(0),
            Assessment::default(),
        );
        assert_eq!(
            device::READ_AWAIT_MS.weighted(&plausible),
            Some((4.0, 300.0))
        );
        assert_eq!(device::AWAIT_MS.weighted(&plausible), Some((20.0, 400.0)));
        assert_eq!(device::IOPS.weighted(&plausible), Some((200.0, 2.0)));
        assert_eq!(device::CONCURRENCY.weighted(&plausible), Some((4.0, 2.0)));
        assert_eq!(device::FLUSH_AWAIT_MS.weighted(&plausible), None);
        assert_eq!(
            device::PLAUSIBLE_UTIL_PCT.weighted(&plausible),
            Some((40.0, 2.0))
        );
        assert_eq!(device::DOUBTFUL_UTIL_PCT.weighted(&plausible), None);
        let doubtful = Judged::example(
            interval.with_queue(0.1).with_in_flight(0),
            Assessment::default(),
        );
        assert_eq!(device::PLAUSIBLE_UTIL_PCT.weighted(&doubtful), None);
        assert_eq!(
            device::DOUBTFUL_UTIL_PCT.weighted(&doubtful),
            Some((40.0, 2.0))
        );
    }
}
