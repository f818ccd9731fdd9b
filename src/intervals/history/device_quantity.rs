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

impl DeviceQuantity {
    /// All quantities, in the order of their declaration.
    pub const ALL: [Self; 25] = [
        Self::ReadAwaitMs,
        Self::WriteAwaitMs,
        Self::FlushAwaitMs,
        Self::AwaitMs,
        Self::ReadsPerS,
        Self::WritesPerS,
        Self::Iops,
        Self::FlushesPerS,
        Self::DiscardsPerS,
        Self::ReadKibPerS,
        Self::WriteKibPerS,
        Self::DiscardKibPerS,
        Self::Queue,
        Self::Concurrency,
        Self::InFlight,
        Self::UtilPct,
        Self::DoubtfulUtilPct,
        Self::UtilUpperBoundPct,
        Self::ReadSaturation,
        Self::WriteSaturation,
        Self::FlushSaturation,
        Self::ReadSizeKib,
        Self::WriteSizeKib,
        Self::ReadMergePct,
        Self::WriteMergePct,
    ];

    /// Its name: that of its field in JSON and CSV, if they have one.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadAwaitMs => "read_await_ms",
            Self::WriteAwaitMs => "write_await_ms",
            Self::FlushAwaitMs => "flush_await_ms",
            Self::AwaitMs => "await_ms",
            Self::ReadsPerS => "reads_per_s",
            Self::WritesPerS => "writes_per_s",
            Self::Iops => "iops",
            Self::FlushesPerS => "flushes_per_s",
            Self::DiscardsPerS => "discards_per_s",
            Self::ReadKibPerS => "read_kib_per_s",
            Self::WriteKibPerS => "write_kib_per_s",
            Self::DiscardKibPerS => "discard_kib_per_s",
            Self::Queue => "queue",
            Self::Concurrency => "concurrency",
            Self::InFlight => "in_flight",
            Self::UtilPct => "util_pct",
            Self::DoubtfulUtilPct => "doubtful_util_pct",
            Self::UtilUpperBoundPct => "util_upper_bound_pct",
            Self::ReadSaturation => "read_saturation",
            Self::WriteSaturation => "write_saturation",
            Self::FlushSaturation => "flush_saturation",
            Self::ReadSizeKib => "read_size_kib",
            Self::WriteSizeKib => "write_size_kib",
            Self::ReadMergePct => "read_merge_pct",
            Self::WriteMergePct => "write_merge_pct",
        }
    }

    /// Returns its value in an interval with its weight: the number of requests for a mean over requests, otherwise
    /// seconds. `None` if it is not known.
    pub(super) fn observed(self, activity: &DeviceActivity) -> Option<(f64, f64)> {
        let stats = &activity.stats;
        let (reads, writes, assessment) = (&stats.reads, &stats.writes, &activity.assessment);
        let ios = |direction: &Completed| direction.ios as f64;
        let issued = |of: &Completed| ios(of) + of.merges.unwrap_or(0) as f64;
        let flushes = || ios(&stats.flushes);
        let is_doubtful = matches!(activity.flag, Some(DataFlag::UtilTooLow | DataFlag::UtilTooHigh));
        let both = |a: Option<f64>, b: Option<f64>| Some(a? + b.unwrap_or(0.0));
        let (value, weight) = match self {
            Self::ReadAwaitMs => (reads.await_ms(), ios(reads)),
            Self::WriteAwaitMs => (writes.await_ms(), ios(writes)),
            Self::FlushAwaitMs => (stats.flushes.await_ms(), flushes()),
            Self::AwaitMs => {
                let both = reads.beside(writes);
                (both.await_ms(), ios(&both))
            }
            Self::ReadsPerS => (reads.per_s(), stats.seconds()),
            Self::WritesPerS => (writes.per_s(), stats.seconds()),
            Self::Iops => (both(reads.per_s(), writes.per_s()), stats.seconds()),
            Self::FlushesPerS => (stats.flushes.per_s(), stats.seconds()),
            Self::DiscardsPerS => (stats.discards.per_s(), stats.seconds()),
            Self::ReadKibPerS => (reads.kib_per_s(), stats.seconds()),
            Self::WriteKibPerS => (writes.kib_per_s(), stats.seconds()),
            Self::DiscardKibPerS => (stats.discards.kib_per_s(), stats.seconds()),
            Self::Queue => (stats.queue(), stats.seconds()),
            Self::Concurrency => (both(reads.queue(), writes.queue()), stats.seconds()),
            Self::InFlight => (stats.in_flight.map(|count| count as f64), stats.seconds()),
            Self::UtilPct => (stats.util_pct().filter(|_| !is_doubtful), stats.seconds()),
            Self::DoubtfulUtilPct => (stats.util_pct().filter(|_| is_doubtful), stats.seconds()),
            Self::UtilUpperBoundPct => (stats.util_upper_bound_pct(), stats.seconds()),
            Self::ReadSaturation => (assessment.read_saturation, ios(reads)),
            Self::WriteSaturation => (assessment.write_saturation, ios(writes)),
            Self::FlushSaturation => (assessment.flush_saturation, flushes()),
            Self::ReadSizeKib => (reads.size_kib(), ios(reads)),
            Self::WriteSizeKib => (writes.size_kib(), ios(writes)),
            Self::ReadMergePct => (reads.merge_pct(), issued(reads)),
            Self::WriteMergePct => (writes.merge_pct(), issued(writes)),
        };
        Some((value?, weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Interval;

    #[test]
    fn all_quantities_are_listed_in_their_order() {
        for (index, quantity) in DeviceQuantity::ALL.into_iter().enumerate() {
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
