//! The numbers of one device over one interval, by the formulas of iostat's manual and the kernel's iostats.rst.

use super::wraparound::{MillisDelta, wrapped_sectors};
use crate::counters::{Counters, Requests};
use crate::metrics::RequestChange;
use crate::units::{Interval, SECTOR_BYTES};

/// The rates of one kind of request, or of several kinds together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestRates {
    /// Requests completed; `None` if the counter went backwards.
    pub ios: Option<u64>,
    /// Requests completed per second: Δn / t; `None` if the counter went backwards.
    pub per_s: Option<f64>,
    /// Sectors transferred, as iostat totals them: it takes a counter that went backwards for one that wrapped.
    pub sectors: u64,
    /// KiB per second: Δs / 2 / t; `None` if the counter went backwards.
    pub kib_per_s: Option<f64>,
    /// Requests merged per second: Δm / t; `None` if the counter went backwards.
    pub merges_per_s: Option<f64>,
    /// Requests merged before they were issued, in percent of all: 100 Δm / (Δm + Δn); `None` if there were none, or if a
    /// counter went backwards.
    pub merge_pct: Option<f64>,
    /// Mean latency in milliseconds: ΔT / Δn; `None` if no request was completed.
    pub await_ms: Option<f64>,
    /// Mean request size in KiB: Δs / 2 / Δn; `None` if no request was completed.
    pub size_kib: Option<f64>,
}

impl RequestRates {
    #[inline]
    fn between(older: &Requests, newer: &Requests, interval: Interval) -> Self {
        let total = wrapped_sectors(older.sectors, newer.sectors);
        let RequestChange { ios, merges, sectors, ms } = RequestChange::between(older, newer);
        let kib = |sectors: f64| sectors * SECTOR_BYTES as f64 / 1024.0;
        let completed = ios.filter(|n| *n > 0).map(|n| n as f64);
        Self {
            ios,
            per_s: ios.map(|n| interval.per_second(n)),
            sectors: total,
            kib_per_s: sectors.map(|s| kib(interval.per_second(s))),
            merges_per_s: merges.map(|m| interval.per_second(m)),
            merge_pct: merges.zip(ios).and_then(|(m, n)| merge_pct(m, n)),
            await_ms: completed.map(|n| ms as f64 / n),
            size_kib: sectors.zip(completed).map(|(s, n)| kib(s as f64 / n)),
        }
    }
}

/// Returns 100 m / (m + n), or `None` if both are zero.
fn merge_pct(merges: u64, ios: u64) -> Option<f64> {
    let issued = merges.saturating_add(ios);
    (issued > 0).then(|| merges as f64 / issued as f64 * 100.0)
}

/// The numbers of one device over one interval.
///
/// Each is computed on demand, as a report needs few of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IostatRates {
    older: Counters,
    newer: Counters,
    interval: Interval,
    /// The number of devices that the counters are the sum of; utilization is their mean.
    devices: u32,
}

impl IostatRates {
    /// An interval without activity.
    pub const NONE: Self =
        Self { older: Counters::ZERO, newer: Counters::ZERO, interval: Interval::HUNDREDTH, devices: 1 };

    /// Returns the numbers between two readings of one device.
    pub fn between(older: &Counters, newer: &Counters, interval: Interval) -> Self {
        Self { older: *older, newer: *newer, interval, devices: 1 }
    }

    /// Marks the counters as the sum of several devices; zero counts as one.
    pub fn with_devices(self, devices: u32) -> Self {
        Self { devices: devices.max(1), ..self }
    }

    /// Returns the rates of reads.
    #[inline]
    pub fn reads(&self) -> RequestRates {
        RequestRates::between(&self.older.reads, &self.newer.reads, self.interval)
    }

    /// Returns the rates of writes.
    #[inline]
    pub fn writes(&self) -> RequestRates {
        RequestRates::between(&self.older.writes, &self.newer.writes, self.interval)
    }

    /// Returns the rates of discards.
    #[inline]
    pub fn discards(&self) -> RequestRates {
        RequestRates::between(&self.older.discards, &self.newer.discards, self.interval)
    }

    /// Returns the rates of reads, writes and discards together, without flushes.
    #[inline]
    pub fn all(&self) -> RequestRates {
        RequestRates::between(&self.older.requests(), &self.newer.requests(), self.interval)
    }

    fn flushes(&self) -> Option<u64> {
        self.newer.flushes.checked_sub(self.older.flushes)
    }

    /// Returns the flushes completed per second: zero if the kernel does not count them, `None` if the counter went
    /// backwards.
    pub fn flushes_per_s(&self) -> Option<f64> {
        self.flushes().map(|flushes| self.interval.per_second(flushes))
    }

    /// Returns the mean time of a flush in milliseconds; `None` if no flush was completed.
    pub fn flush_await_ms(&self) -> Option<f64> {
        let ms = MillisDelta::between(self.older.flush_ms, self.newer.flush_ms).ms;
        self.flushes().filter(|flushes| *flushes > 0).map(|flushes| ms as f64 / flushes as f64)
    }

    /// Returns the mean number of requests in the queue or being served: Δ(weighted ms) / 1000 t; `None` if the
    /// counter went backwards.
    pub fn queue(&self) -> Option<f64> {
        let weighted = MillisDelta::between(self.older.weighted_ms, self.newer.weighted_ms);
        (!weighted.went_back).then(|| self.interval.per_second(weighted.ms) / 1000.0)
    }

    /// Returns the time with a request in flight, in percent of the interval. It may exceed 100; `None` if the counter
    /// went backwards.
    pub fn util_pct(&self) -> Option<f64> {
        let busy = MillisDelta::between(self.older.busy_ms, self.newer.busy_ms);
        (!busy.went_back).then(|| self.interval.per_second(busy.ms) / 10.0 / f64::from(self.devices))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_seconds() -> Interval {
        Interval::from_hundredths(200).unwrap()
    }

    fn counters(reads: [u64; 4], writes: [u64; 4], busy_ms: u64, weighted_ms: u64) -> Counters {
        let requests = |[ios, merges, sectors, ms]: [u64; 4]| Requests { ios, merges, sectors, ms };
        Counters {
            reads: requests(reads),
            writes: requests(writes),
            busy_ms,
            weighted_ms,
            ..Counters::default()
        }
    }

    #[test]
    fn two_seconds_give_the_hand_computed_rates() {
        let older = counters([100, 10, 800, 50], [0; 4], 1000, 3000);
        let newer = counters([300, 60, 4000, 250], [4, 0, 64, 6], 2500, 3206);
        let rates = IostatRates::between(&older, &newer, two_seconds());
        // 200 reads in 2 s; 3200 sectors are 1600 KiB; 50 of 250 merged; 200 ms over 200 reads.
        assert_eq!(rates.reads().per_s, Some(100.0));
        assert_eq!(rates.reads().sectors, 3200);
        assert_eq!(rates.reads().kib_per_s, Some(800.0));
        assert_eq!(rates.reads().merges_per_s, Some(25.0));
        assert_eq!(rates.reads().merge_pct, Some(20.0));
        assert_eq!(rates.reads().await_ms, Some(1.0));
        assert_eq!(rates.reads().size_kib, Some(8.0));
        assert_eq!((rates.writes().await_ms, rates.writes().size_kib), (Some(1.5), Some(8.0)));
        // Together: 204 requests in 206 ms.
        assert_eq!((rates.all().per_s, rates.all().await_ms), (Some(102.0), Some(206.0 / 204.0)));
        // 206 weighted ms in 2000; 1500 busy ms in 2000.
        assert_eq!((rates.queue(), rates.util_pct()), (Some(0.103), Some(75.0)));
    }

    #[test]
    fn without_requests_there_is_no_latency() {
        let unchanged = counters([5, 5, 5, 5], [5; 4], 5, 5);
        let rates = IostatRates::between(&unchanged, &unchanged, two_seconds());
        assert_eq!((rates.reads().per_s, rates.queue()), (Some(0.0), Some(0.0)));
        assert_eq!(
            (rates.reads().await_ms, rates.reads().size_kib, rates.reads().merge_pct),
            (None, None, None)
        );
        assert_eq!(rates.flush_await_ms(), None);
    }

    #[test]
    fn a_counter_that_went_backwards_has_no_rate() {
        let older = counters([100, 10, 800, 50], [0; 4], 1000, 3000);
        let newer = counters([99, 9, 799, 51], [0; 4], 999, 2999);
        let rates = IostatRates::between(&older, &newer, two_seconds());
        let none = RequestRates { sectors: u64::from(u32::MAX), ..IostatRates::NONE.reads() };
        let none = RequestRates { ios: None, per_s: None, kib_per_s: None, merges_per_s: None, ..none };
        assert_eq!((rates.reads(), rates.all()), (none, none));
        assert_eq!((rates.queue(), rates.util_pct()), (None, None));
    }

    #[test]
    fn latency_is_right_when_its_32_bit_counter_wraps() {
        let older = counters([100, 0, 0, u64::from(u32::MAX) - 9], [0; 4], 0, 0);
        let newer = counters([110, 0, 0, 10], [0; 4], 0, 0);
        assert_eq!(IostatRates::between(&older, &newer, two_seconds()).reads().await_ms, Some(2.0));
    }

    #[test]
    fn flushes_have_a_rate_and_a_time() {
        let at = |flushes, flush_ms| Counters { flushes, flush_ms, ..Counters::default() };
        let rates = IostatRates::between(&at(1, 10), &at(5, 16), two_seconds());
        assert_eq!((rates.flushes_per_s(), rates.flush_await_ms()), (Some(2.0), Some(1.5)));
    }
}
