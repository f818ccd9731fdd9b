//! The mean latency since boot.

use crate::analysis::load::IoDirection;
use crate::analysis::stats::IoTotals;
use crate::analysis::thresholds::{MAX_SIZE_RATIO, MIN_LATENCY_SUM_MS, MIN_LIFETIME_REQUESTS};
use crate::counters::{Columns, Counters, Requests};
use crate::units::SECTOR_BYTES;

/// Milliseconds after which the kernel's column of request times starts again at zero.
const TIME_WRAPS_AT_MS: f64 = (1u64 << 32) as f64;
/// Multiple of the mean latency that past requests may have had without the column having wrapped unnoticed.
pub(super) const WRAP_MARGIN: f64 = 10.0;

/// The sums of a device's counters at the first sample. They mix all sizes and patterns, including past incidents, so
/// they can show trouble but not that there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct SinceBoot {
    reads: IoTotals,
    writes: IoTotals,
    flushes: IoTotals,
}

impl SinceBoot {
    /// The sums in the counters of a device. Empty if the kernel gives no request times.
    pub fn from_counters(counters: &Counters) -> Self {
        if counters.columns == Columns::Partition {
            return Self::default();
        }
        let totals = |requests: &Requests| IoTotals {
            ios: requests.ios as f64,
            kib: requests.sectors as f64 * SECTOR_BYTES as f64 / 1024.0,
            ms: requests.ms as f64,
        };
        let flushes = IoTotals {
            ios: counters.flushes as f64,
            kib: 0.0,
            ms: counters.flush_ms as f64,
        };
        Self {
            reads: totals(&counters.reads),
            writes: totals(&counters.writes),
            flushes,
        }
    }

    /// The mean latency in milliseconds of requests of about this size. `None` if there were too few requests, if they
    /// had other sizes, or if the column of their times, which has 32 bits, would have wrapped had they always taken
    /// `assumed_ms`.
    pub(super) fn mean_latency_ms(
        &self,
        direction: IoDirection,
        size_kib: f64,
        assumed_ms: f64,
    ) -> Option<f64> {
        let totals = match direction {
            IoDirection::Reads => self.reads,
            IoDirection::Writes => self.writes,
            IoDirection::Flushes => self.flushes,
            IoDirection::Both => self.reads.plus(&self.writes),
        };
        let is_enough = totals.ios >= MIN_LIFETIME_REQUESTS && totals.ms >= MIN_LATENCY_SUM_MS;
        let is_complete = totals.ios * assumed_ms < TIME_WRAPS_AT_MS;
        let size_ratio = size_kib.max(MIN_SIZE_KIB) / totals.size_kib()?.max(MIN_SIZE_KIB);
        let is_like = (1.0 / MAX_SIZE_RATIO..=MAX_SIZE_RATIO).contains(&size_ratio);
        totals
            .await_ms()
            .filter(|_| is_enough && is_complete && is_like)
    }
}

/// Sizes up to this many KiB count as the same: a single sector, and flushes, which have no size.
const MIN_SIZE_KIB: f64 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(ios: u64, ms: u64) -> SinceBoot {
        let reads = Requests {
            ios,
            merges: 0,
            sectors: ios * 8,
            ms,
        };
        SinceBoot::from_counters(&Counters {
            columns: Columns::Flushes,
            reads,
            ..Counters::ZERO
        })
    }

    #[test]
    fn the_mean_since_boot_is_of_like_requests_only() {
        let history = reads(1_000_000, 200_000);
        assert_eq!(
            history.mean_latency_ms(IoDirection::Reads, 4.0, 5.0),
            Some(0.2)
        );
        assert_eq!(history.mean_latency_ms(IoDirection::Reads, 64.0, 5.0), None);
        assert_eq!(history.mean_latency_ms(IoDirection::Writes, 4.0, 5.0), None);
        assert_eq!(
            reads(10, 2).mean_latency_ms(IoDirection::Reads, 4.0, 5.0),
            None
        );
    }

    #[test]
    fn a_column_that_may_have_wrapped_is_not_used() {
        // 100 million requests of 5 ms are 500 million ms, which fit in 32 bits. Ten times that is more than they hold.
        let history = reads(100_000_000, 20_000_000);
        assert_eq!(
            history.mean_latency_ms(IoDirection::Reads, 4.0, 5.0),
            Some(0.2)
        );
        assert_eq!(history.mean_latency_ms(IoDirection::Reads, 4.0, 50.0), None);
    }
}
