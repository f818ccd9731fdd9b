//! The numbers of one device over one interval, by the formulas of iostat's manual and the kernel's iostats.rst.

use super::wraparound::{MillisDelta, wrapped_sectors};
use crate::counters::{Counters, Requests};
use crate::metrics::RequestChange;
use crate::units::{PerSecond, SECTOR_BYTES, Span};

/// The rates of one kind of request, or of several kinds together. Each is computed on demand, because a report needs
/// only a few of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestRates {
    change: RequestChange,
    /// Sectors transferred, as iostat totals them: it assumes that a counter that went backwards has wrapped.
    pub sectors: u64,
    per_second: PerSecond,
}

impl RequestRates {
    #[inline]
    fn between(older: &Requests, newer: &Requests, per_second: PerSecond) -> Self {
        let sectors = wrapped_sectors(older.sectors, newer.sectors);
        Self { change: RequestChange::between(older, newer), sectors, per_second }
    }

    /// Returns the requests completed; `None` if the counter went backwards.
    pub fn ios(&self) -> Option<u64> {
        self.change.ios
    }

    /// Returns the requests completed per second: Δn / t; `None` if the counter went backwards.
    #[inline]
    pub fn per_s(&self) -> Option<f64> {
        self.change.ios.map(|ios| self.per_second.of(ios))
    }

    /// Returns KiB per second: Δs / 2 / t; `None` if the counter went backwards.
    #[inline]
    pub fn kib_per_s(&self) -> Option<f64> {
        self.change.sectors.map(|sectors| kib(self.per_second.of(sectors)))
    }

    /// Returns the requests merged per second: Δm / t; `None` if the counter went backwards.
    #[inline]
    pub fn merges_per_s(&self) -> Option<f64> {
        self.change.merges.map(|merges| self.per_second.of(merges))
    }

    /// Returns the requests merged before they were issued, in percent of all: 100 Δm / (Δm + Δn); `None` if there were
    /// none, or if a counter went backwards.
    #[inline]
    pub fn merge_pct(&self) -> Option<f64> {
        let (merges, ios) = self.change.merges.zip(self.change.ios)?;
        let issued = merges.saturating_add(ios);
        (issued > 0).then(|| merges as f64 / issued as f64 * 100.0)
    }

    /// Returns the mean latency in milliseconds: ΔT / Δn; `None` if no request was completed.
    #[inline]
    pub fn await_ms(&self) -> Option<f64> {
        self.completed().map(|completed| self.change.ms as f64 / completed)
    }

    /// Returns the mean request size in KiB: Δs / 2 / Δn; `None` if no request was completed.
    #[inline]
    pub fn size_kib(&self) -> Option<f64> {
        let (sectors, completed) = self.change.sectors.zip(self.completed())?;
        Some(kib(sectors as f64 / completed))
    }

    /// Returns the requests completed, if there were any.
    #[inline]
    fn completed(&self) -> Option<f64> {
        self.change.ios.filter(|ios| *ios > 0).map(|ios| ios as f64)
    }
}

fn kib(sectors: f64) -> f64 {
    sectors * SECTOR_BYTES as f64 / 1024.0
}

/// The numbers of one device over one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IostatRates {
    pub reads: RequestRates,
    pub writes: RequestRates,
    pub discards: RequestRates,
    /// Reads, writes and discards together, without flushes.
    pub all: RequestRates,
    /// `None` if the counter went backwards.
    flushes: Option<u64>,
    flush_ms: u64,
    weighted: MillisDelta,
    busy: MillisDelta,
    per_second: PerSecond,
    /// The number of devices whose counters were added up; utilization is their mean.
    devices: u32,
}

impl IostatRates {
    /// Returns the numbers of an interval without activity.
    pub fn none() -> Self {
        Self::between(&Counters::ZERO, &Counters::ZERO, Span::HUNDREDTH)
    }

    /// Returns the numbers between two readings of one device.
    #[inline]
    pub fn between(older: &Counters, newer: &Counters, interval: Span) -> Self {
        let per_second = interval.divisor();
        let rates = |older: &Requests, newer: &Requests| RequestRates::between(older, newer, per_second);
        Self {
            reads: rates(&older.reads, &newer.reads),
            writes: rates(&older.writes, &newer.writes),
            discards: rates(&older.discards, &newer.discards),
            all: rates(&older.requests(), &newer.requests()),
            flushes: newer.flushes.checked_sub(older.flushes),
            flush_ms: MillisDelta::between(older.flush_ms, newer.flush_ms).ms,
            weighted: MillisDelta::between(older.weighted_ms, newer.weighted_ms),
            busy: MillisDelta::between(older.busy_ms, newer.busy_ms),
            per_second,
            devices: 1,
        }
    }

    /// Marks the counters as the sum of several devices; zero counts as one.
    pub fn with_devices(self, devices: u32) -> Self {
        Self { devices: devices.max(1), ..self }
    }

    /// Returns the flushes completed per second: zero if the kernel does not count them, `None` if the counter went
    /// backwards.
    pub fn flushes_per_s(&self) -> Option<f64> {
        self.flushes.map(|flushes| self.per_second.of(flushes))
    }

    /// Returns the mean time of a flush in milliseconds; `None` if no flush was completed.
    pub fn flush_await_ms(&self) -> Option<f64> {
        self.flushes.filter(|flushes| *flushes > 0).map(|flushes| self.flush_ms as f64 / flushes as f64)
    }

    /// Returns the mean number of requests in the queue or being served: Δ(weighted ms) / 1000 t; `None` if the
    /// counter went backwards.
    pub fn queue(&self) -> Option<f64> {
        (!self.weighted.went_back).then(|| self.per_second.of(self.weighted.ms) / 1000.0)
    }

    /// Returns the time with a request in flight, in percent of the interval. It may exceed 100; `None` if the counter
    /// went backwards.
    pub fn util_pct(&self) -> Option<f64> {
        (!self.busy.went_back).then(|| self.per_second.of(self.busy.ms) / 10.0 / f64::from(self.devices))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_seconds() -> Span {
        Span::from_hundredths(200).unwrap()
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
        assert_eq!(rates.reads.per_s(), Some(100.0));
        assert_eq!(rates.reads.sectors, 3200);
        assert_eq!(rates.reads.kib_per_s(), Some(800.0));
        assert_eq!(rates.reads.merges_per_s(), Some(25.0));
        assert_eq!(rates.reads.merge_pct(), Some(20.0));
        assert_eq!(rates.reads.await_ms(), Some(1.0));
        assert_eq!(rates.reads.size_kib(), Some(8.0));
        assert_eq!((rates.writes.await_ms(), rates.writes.size_kib()), (Some(1.5), Some(8.0)));
        // Together: 204 requests in 206 ms.
        assert_eq!((rates.all.per_s(), rates.all.await_ms()), (Some(102.0), Some(206.0 / 204.0)));
        // 206 weighted ms in 2000; 1500 busy ms in 2000.
        assert_eq!((rates.queue(), rates.util_pct()), (Some(0.103), Some(75.0)));
    }

    #[test]
    fn without_requests_there_is_no_latency() {
        let unchanged = counters([5, 5, 5, 5], [5; 4], 5, 5);
        let rates = IostatRates::between(&unchanged, &unchanged, two_seconds());
        assert_eq!((rates.reads.per_s(), rates.queue()), (Some(0.0), Some(0.0)));
        assert_eq!(
            (rates.reads.await_ms(), rates.reads.size_kib(), rates.reads.merge_pct()),
            (None, None, None)
        );
        assert_eq!(rates.flush_await_ms(), None);
    }

    #[test]
    fn a_counter_that_went_backwards_has_no_rate() {
        let older = counters([100, 10, 800, 50], [0; 4], 1000, 3000);
        let newer = counters([99, 9, 799, 51], [0; 4], 999, 2999);
        let rates = IostatRates::between(&older, &newer, two_seconds());
        for requests in [rates.reads, rates.all] {
            assert_eq!((requests.ios(), requests.per_s(), requests.kib_per_s()), (None, None, None));
            assert_eq!((requests.merges_per_s(), requests.merge_pct()), (None, None));
            assert_eq!((requests.await_ms(), requests.size_kib()), (None, None));
            assert_eq!(requests.sectors, u64::from(u32::MAX));
        }
        assert_eq!((rates.queue(), rates.util_pct()), (None, None));
    }

    #[test]
    fn latency_is_right_when_its_32_bit_counter_wraps() {
        let older = counters([100, 0, 0, u64::from(u32::MAX) - 9], [0; 4], 0, 0);
        let newer = counters([110, 0, 0, 10], [0; 4], 0, 0);
        assert_eq!(IostatRates::between(&older, &newer, two_seconds()).reads.await_ms(), Some(2.0));
    }

    #[test]
    fn flushes_have_a_rate_and_a_time() {
        let at = |flushes, flush_ms| Counters { flushes, flush_ms, ..Counters::default() };
        let rates = IostatRates::between(&at(1, 10), &at(5, 16), two_seconds());
        assert_eq!((rates.flushes_per_s(), rates.flush_await_ms()), (Some(2.0), Some(1.5)));
    }
}
