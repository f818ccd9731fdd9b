//! The quantities of a device.

use crate::intervals::device_interval::DeviceActivity;
use crate::metrics::{Completed, DataFlag};

/// A quantity of a device whose history is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceQuantity {
    ReadAwaitMs,
    WriteAwaitMs,
    FlushAwaitMs,
    /// Mean latency of reads and writes in milliseconds.
    AwaitMs,
    ReadsPerS,
    WritesPerS,
    /// Reads and writes per second.
    Iops,
    FlushesPerS,
    DiscardsPerS,
    ReadKibPerS,
    WriteKibPerS,
    DiscardKibPerS,
    /// Mean number of requests in the queue or being served.
    Queue,
    /// Mean number of reads and writes in the queue or being served, without flushes: the concurrency of a model.
    Concurrency,
    /// Requests in flight at the end of an interval.
    InFlight,
    /// The kernel's util in percent, if there is no reason to doubt it.
    UtilPct,
    /// The kernel's util in percent, if it cannot be right.
    DoubtfulUtilPct,
    /// The upper bound of the true util in percent.
    UtilUpperBoundPct,
    /// Read latency as a multiple of unloaded latency.
    ReadSaturation,
    /// Write latency as a multiple of unloaded latency.
    WriteSaturation,
    /// Flush latency as a multiple of its usual one.
    FlushSaturation,
    /// Mean size of a read in KiB.
    ReadSizeKib,
    /// Mean size of a write in KiB.
    WriteSizeKib,
    /// Reads that were merged, in percent.
    ReadMergePct,
    /// Writes that were merged, in percent.
    WriteMergePct,
}

/// The value of a quantity in an interval with its weight; `None` if it is not known.
type Observed = Option<(f64, f64)>;

/// A quantity with its name and its value.
type Row = (DeviceQuantity, &'static str, fn(&DeviceActivity) -> Observed);

const TABLE: [Row; 25] = {
    use DeviceQuantity as Q;
    [
        (Q::ReadAwaitMs, "read_await_ms", |a| per_io(&a.stats.reads, a.stats.reads.await_ms())),
        (Q::WriteAwaitMs, "write_await_ms", |a| per_io(&a.stats.writes, a.stats.writes.await_ms())),
        (Q::FlushAwaitMs, "flush_await_ms", |a| per_io(&a.stats.flushes, a.stats.flushes.await_ms())),
        (Q::AwaitMs, "await_ms", |a| {
            let both = a.stats.reads.beside(&a.stats.writes);
            per_io(&both, both.await_ms())
        }),
        (Q::ReadsPerS, "reads_per_s", |a| over_time(a, a.stats.reads.per_s())),
        (Q::WritesPerS, "writes_per_s", |a| over_time(a, a.stats.writes.per_s())),
        (Q::Iops, "iops", |a| over_time(a, sum(a.stats.reads.per_s(), a.stats.writes.per_s()))),
        (Q::FlushesPerS, "flushes_per_s", |a| over_time(a, a.stats.flushes.per_s())),
        (Q::DiscardsPerS, "discards_per_s", |a| over_time(a, a.stats.discards.per_s())),
        (Q::ReadKibPerS, "read_kib_per_s", |a| over_time(a, a.stats.reads.kib_per_s())),
        (Q::WriteKibPerS, "write_kib_per_s", |a| over_time(a, a.stats.writes.kib_per_s())),
        (Q::DiscardKibPerS, "discard_kib_per_s", |a| over_time(a, a.stats.discards.kib_per_s())),
        (Q::Queue, "queue", |a| over_time(a, a.stats.queue())),
        (Q::Concurrency, "concurrency", |a| over_time(a, sum(a.stats.reads.queue(), a.stats.writes.queue()))),
        (Q::InFlight, "in_flight", |a| over_time(a, a.stats.in_flight.map(|count| count as f64))),
        (Q::UtilPct, "util_pct", |a| over_time(a, a.stats.util_pct().filter(|_| !is_doubtful(a)))),
        (Q::DoubtfulUtilPct, "doubtful_util_pct", |a| {
            over_time(a, a.stats.util_pct().filter(|_| is_doubtful(a)))
        }),
        (Q::UtilUpperBoundPct, "util_upper_bound_pct", |a| over_time(a, a.stats.util_upper_bound_pct())),
        (Q::ReadSaturation, "read_saturation", |a| per_io(&a.stats.reads, a.assessment.read_saturation)),
        (Q::WriteSaturation, "write_saturation", |a| per_io(&a.stats.writes, a.assessment.write_saturation)),
        (Q::FlushSaturation, "flush_saturation", |a| per_io(&a.stats.flushes, a.assessment.flush_saturation)),
        (Q::ReadSizeKib, "read_size_kib", |a| per_io(&a.stats.reads, a.stats.reads.size_kib())),
        (Q::WriteSizeKib, "write_size_kib", |a| per_io(&a.stats.writes, a.stats.writes.size_kib())),
        (Q::ReadMergePct, "read_merge_pct", |a| merged_pct(&a.stats.reads)),
        (Q::WriteMergePct, "write_merge_pct", |a| merged_pct(&a.stats.writes)),
    ]
};

/// A mean over requests is weighted by their number.
fn per_io(requests: &Completed, value: Option<f64>) -> Observed {
    Some((value?, requests.ios as f64))
}

/// A mean over time is weighted by seconds.
fn over_time(activity: &DeviceActivity, value: Option<f64>) -> Observed {
    Some((value?, activity.stats.seconds()))
}

fn merged_pct(requests: &Completed) -> Observed {
    Some((requests.merge_pct()?, requests.ios as f64 + requests.merges? as f64))
}

fn sum(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? + b.unwrap_or(0.0))
}

fn is_doubtful(activity: &DeviceActivity) -> bool {
    matches!(activity.flag, Some(DataFlag::UtilTooLow | DataFlag::UtilTooHigh))
}

impl DeviceQuantity {
    pub const COUNT: usize = TABLE.len();

    /// All quantities, in the order of their declaration.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.into_iter().map(|(quantity, ..)| quantity)
    }

    /// Its name: that of its field in JSON and CSV, if they have one.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Returns its value in an interval with its weight: the number of requests for a mean over requests, otherwise
    /// seconds. `None` if it is not known.
    pub(super) fn observed(self, activity: &DeviceActivity) -> Observed {
        TABLE[self as usize].2(activity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Interval;

    #[test]
    fn all_quantities_are_listed_in_their_order() {
        for (index, quantity) in DeviceQuantity::all().enumerate() {
            assert_eq!(quantity as usize, index, "{}", quantity.name());
        }
    }

    #[test]
    fn latencies_are_weighted_by_requests_and_rates_by_time() {
        let (reads, writes) = (Completed::example(2.0, 300, 4.0), Completed::example(2.0, 100, 68.0));
        let stats = Interval { reads, writes, ..Interval::unknown(2.0).with_util(40.0) };
        let mut activity = DeviceActivity { stats, ..DeviceActivity::default() };
        let observed = |quantity: DeviceQuantity, activity: &DeviceActivity| quantity.observed(activity);
        assert_eq!(observed(DeviceQuantity::ReadAwaitMs, &activity), Some((4.0, 300.0)));
        assert_eq!(observed(DeviceQuantity::AwaitMs, &activity), Some((20.0, 400.0)));
        assert_eq!(observed(DeviceQuantity::Iops, &activity), Some((200.0, 2.0)));
        assert_eq!(observed(DeviceQuantity::Concurrency, &activity), Some((4.0, 2.0)));
        assert_eq!(observed(DeviceQuantity::FlushAwaitMs, &activity), None);
        assert_eq!(observed(DeviceQuantity::UtilPct, &activity), Some((40.0, 2.0)));
        activity.flag = Some(DataFlag::UtilTooLow);
        assert_eq!(observed(DeviceQuantity::UtilPct, &activity), None);
        assert_eq!(observed(DeviceQuantity::DoubtfulUtilPct, &activity), Some((40.0, 2.0)));
    }
}
