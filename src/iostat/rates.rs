//! The numbers of one device over one interval, by the formulas of iostat's manual and the kernel's iostats.rst. If a
//! counter went backwards, its rate is zero with `-x`; the rates without `-x`, and the means and percentages of the
//! difference, may be huge, like in iostat.

use crate::counters::{Counters, Requests, growth_u32};
use crate::units::{SECTOR_BYTES, Span};

/// The rates of one kind of request, or of several kinds together. Each is computed on demand, because a report needs
/// only a few of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RequestRates {
    ios: Delta,
    merges: Delta,
    kib: Delta,
    ms: u64,
    /// Sectors transferred, as iostat totals them: it assumes that a counter that went backwards has wrapped.
    pub(super) sectors: u64,
    span: Span,
}

impl RequestRates {
    fn between(older: &Requests, newer: &Requests, span: Span) -> Self {
        Self {
            ios: Delta::between(older.ios, newer.ios),
            merges: Delta::between(older.merges, newer.merges),
            kib: Delta::between(older.sectors, newer.sectors),
            ms: Delta::of_millis(older.ms, newer.ms).amount,
            sectors: wrapped_sectors(older.sectors, newer.sectors),
            span,
        }
    }

    /// Returns the requests completed per second: Δn / t.
    pub(super) fn per_s(&self) -> f64 {
        self.span.per_second(self.ios.or_zero())
    }

    /// Returns KiB per second: Δs / 2 / t.
    pub(super) fn kib_per_s(&self) -> f64 {
        kib(self.span.per_second(self.kib.or_zero()))
    }

    /// Returns the requests completed per second, as the report without `-x` computes them: from the difference
    /// modulo 2^64 if the counter went backwards.
    pub(super) fn wrapping_per_s(&self) -> f64 {
        self.span.per_second(self.ios.amount)
    }

    /// Returns KiB per second, computed in the same way.
    pub(super) fn wrapping_kib_per_s(&self) -> f64 {
        kib(self.span.per_second(self.kib.amount))
    }

    /// Returns the requests merged per second: Δm / t.
    pub(super) fn merges_per_s(&self) -> f64 {
        self.span.per_second(self.merges.or_zero())
    }

    /// Returns the requests merged before they were issued, in percent of all: 100 Δm / (Δm + Δn).
    pub(super) fn merge_pct(&self) -> f64 {
        let issued = self.merges.amount.wrapping_add(self.ios.amount);
        if issued == 0 {
            0.0
        } else {
            self.merges.amount as f64 / issued as f64 * 100.0
        }
    }

    /// Returns the mean latency in milliseconds: ΔT / Δn.
    pub(super) fn await_ms(&self) -> f64 {
        mean(self.ms, self.ios)
    }

    /// Returns the mean request size in KiB: Δs / 2 / Δn.
    pub(super) fn size_kib(&self) -> f64 {
        kib(mean(self.kib.amount, self.ios))
    }
}

/// Returns the mean of a sum over requests; zero if none was completed.
fn mean(sum: u64, requests: Delta) -> f64 {
    match requests.or_zero() {
        0 => 0.0,
        requests => sum as f64 / requests as f64,
    }
}

fn kib(sectors: f64) -> f64 {
    sectors * SECTOR_BYTES as f64 / 1024.0
}

/// The numbers of one device over one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct IostatRates {
    pub(super) reads: RequestRates,
    pub(super) writes: RequestRates,
    pub(super) discards: RequestRates,
    /// Reads, writes and discards together, without flushes.
    pub(super) all: RequestRates,
    /// Zero if the kernel does not count them.
    pub(super) flushes: RequestRates,
    weighted: Delta,
    busy: Delta,
    span: Span,
    /// The number of devices whose counters were added up; utilization is their mean.
    devices: u32,
}

impl IostatRates {
    /// Returns the numbers of an interval without activity.
    pub(super) fn none() -> Self {
        Self::between(&Counters::ZERO, &Counters::ZERO, Span::HUNDREDTH)
    }

    /// Returns the numbers between two readings of one device.
    pub(super) fn between(older: &Counters, newer: &Counters, interval: Span) -> Self {
        let rates =
            |older: &Requests, newer: &Requests| RequestRates::between(older, newer, interval);
        let flushes = |of: &Counters| Requests {
            ios: of.flushes,
            ms: of.flush_ms,
            ..Requests::default()
        };
        Self {
            reads: rates(&older.reads, &newer.reads),
            writes: rates(&older.writes, &newer.writes),
            discards: rates(&older.discards, &newer.discards),
            all: rates(&older.requests(), &newer.requests()),
            flushes: rates(&flushes(older), &flushes(newer)),
            weighted: Delta::of_millis(older.weighted_ms, newer.weighted_ms),
            busy: Delta::of_millis(older.busy_ms, newer.busy_ms),
            span: interval,
            devices: 1,
        }
    }

    /// Marks the counters as the sum of several devices; zero counts as one.
    pub(super) fn with_devices(self, devices: u32) -> Self {
        Self {
            devices: devices.max(1),
            ..self
        }
    }

    /// Returns the mean number of requests in the queue or being served: Δ(weighted ms) / 1000 t.
    pub(super) fn queue(&self) -> f64 {
        self.span.per_second(self.weighted.or_zero()) / 1000.0
    }

    /// Returns the time with a request in flight, in percent of the interval. It may exceed 100.
    pub(super) fn util_pct(&self) -> f64 {
        self.span.per_second(self.busy.or_zero()) / 10.0 / f64::from(self.devices)
    }
}

/// Change of a counter between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Delta {
    /// The difference, modulo the size of the counter: a huge number if it went backwards. iostat computes means of it.
    amount: u64,
    /// True if the counter went backwards: it wrapped around or was reset.
    went_back: bool,
}

impl Delta {
    fn between(older: u64, newer: u64) -> Self {
        Self {
            amount: newer.wrapping_sub(older),
            went_back: newer < older,
        }
    }

    /// Returns the change of a counter of milliseconds. The kernel's have 32 bits; if a file has more, iostat ignores
    /// them.
    fn of_millis(older: u64, newer: u64) -> Self {
        Self {
            amount: growth_u32(older, newer),
            went_back: (newer as u32) < older as u32,
        }
    }

    /// Returns the amount, or zero if the counter went backwards. iostat computes rates of it.
    fn or_zero(self) -> u64 {
        if self.went_back { 0 } else { self.amount }
    }
}

/// Returns the difference of two sector counters as iostat totals it: a counter that went backwards from below 2^32 is
/// assumed to have wrapped around at 2^32, as on a 32-bit kernel.
fn wrapped_sectors(older: u64, newer: u64) -> u64 {
    if newer < older && u32::try_from(older).is_ok() {
        growth_u32(older, newer)
    } else {
        newer.wrapping_sub(older)
    }
}

/// Returns whether the device was replaced by another one of the same name, by the rule of sysstat 12.7.9: the number
/// of all its requests went backwards, and so did every sector counter that was not zero. The counters of the new
/// device started at zero within the interval.
pub(super) fn was_replugged(older: &Counters, newer: &Counters) -> bool {
    let fell_or_zero = |older: u64, newer: u64| older == 0 || newer < older;
    let requests = |counters: &Counters| {
        counters
            .completed()
            .iter()
            .fold(0u64, |sum, n| sum.wrapping_add(*n))
    };
    requests(newer) < requests(older)
        && fell_or_zero(older.reads.sectors, newer.reads.sectors)
        && fell_or_zero(older.writes.sectors, newer.writes.sectors)
        && fell_or_zero(older.discards.sectors, newer.discards.sectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_seconds() -> Span {
        Span::from_hundredths(200).unwrap()
    }

    fn counters(reads: [u64; 4], writes: [u64; 4], busy_ms: u64, weighted_ms: u64) -> Counters {
        let requests = |[ios, merges, sectors, ms]: [u64; 4]| Requests {
            ios,
            merges,
            sectors,
            ms,
        };
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
        assert_eq!(rates.reads.per_s(), 100.0);
        assert_eq!(rates.reads.sectors, 3200);
        assert_eq!(rates.reads.kib_per_s(), 800.0);
        assert_eq!(rates.reads.merges_per_s(), 25.0);
        assert_eq!(rates.reads.merge_pct(), 20.0);
        assert_eq!(rates.reads.await_ms(), 1.0);
        assert_eq!(rates.reads.size_kib(), 8.0);
        assert_eq!(
            (rates.writes.await_ms(), rates.writes.size_kib()),
            (1.5, 8.0)
        );
        // Together: 204 requests in 206 ms.
        assert_eq!(
            (rates.all.per_s(), rates.all.await_ms()),
            (102.0, 206.0 / 204.0)
        );
        // 206 weighted ms in 2000; 1500 busy ms in 2000.
        assert_eq!((rates.queue(), rates.util_pct()), (0.103, 75.0));
    }

    #[test]
    fn without_requests_there_is_no_latency() {
        let unchanged = counters([5, 5, 5, 5], [5; 4], 5, 5);
        let rates = IostatRates::between(&unchanged, &unchanged, two_seconds());
        assert_eq!(
            (rates.reads.per_s(), rates.queue(), rates.flushes.await_ms()),
            (0.0, 0.0, 0.0)
        );
        let reads = rates.reads;
        assert_eq!(
            (reads.await_ms(), reads.size_kib(), reads.merge_pct()),
            (0.0, 0.0, 0.0)
        );
    }

    #[test]
    fn a_counter_that_went_backwards_has_no_rate() {
        let older = counters([100, 10, 800, 50], [0; 4], 1000, 3000);
        let newer = counters([99, 9, 799, 51], [0; 4], 999, 2999);
        let rates = IostatRates::between(&older, &newer, two_seconds());
        for requests in [rates.reads, rates.all] {
            assert_eq!(
                (
                    requests.per_s(),
                    requests.kib_per_s(),
                    requests.merges_per_s()
                ),
                (0.0, 0.0, 0.0)
            );
            assert_eq!((requests.await_ms(), requests.size_kib()), (0.0, 0.0));
            assert_eq!(requests.sectors, u64::from(u32::MAX));
        }
        assert_eq!((rates.queue(), rates.util_pct()), (0.0, 0.0));
    }

    #[test]
    fn means_of_a_counter_that_went_backwards_are_huge_as_in_iostat() {
        let older = counters([0, 5, 800, 0], [0; 4], 0, 0);
        let newer = counters([4, 2, 790, 0], [0; 4], 0, 0);
        let reads = IostatRates::between(&older, &newer, two_seconds()).reads;
        assert_eq!(reads.size_kib(), (u64::MAX - 9) as f64 / 8.0);
        // 2^64 - 3 merges and 4 requests add up to 1.
        assert_eq!(reads.merge_pct(), (u64::MAX - 2) as f64 * 100.0);
        assert_eq!(
            (reads.per_s(), reads.kib_per_s(), reads.merges_per_s()),
            (2.0, 0.0, 0.0)
        );
        assert_eq!(
            (reads.wrapping_per_s(), reads.wrapping_kib_per_s()),
            (2.0, (u64::MAX - 9) as f64 / 4.0)
        );
    }

    #[test]
    fn latency_is_right_when_its_32_bit_counter_wraps() {
        let older = counters([100, 0, 0, u64::from(u32::MAX) - 9], [0; 4], 0, 0);
        let newer = counters([110, 0, 0, 10], [0; 4], 0, 0);
        assert_eq!(
            IostatRates::between(&older, &newer, two_seconds())
                .reads
                .await_ms(),
            2.0
        );
    }

    #[test]
    fn flushes_have_a_rate_and_a_time() {
        let at = |flushes, flush_ms| Counters {
            flushes,
            flush_ms,
            ..Counters::default()
        };
        let rates = IostatRates::between(&at(1, 10), &at(5, 16), two_seconds());
        assert_eq!(
            (rates.flushes.per_s(), rates.flushes.await_ms()),
            (2.0, 1.5)
        );
    }

    use crate::counters::Requests;

    #[test]
    fn milliseconds_wrap_at_32_bits() {
        assert_eq!(
            Delta::of_millis(4_294_967_290, 4),
            Delta {
                amount: 10,
                went_back: true
            }
        );
        assert_eq!(
            Delta::of_millis(4, 10),
            Delta {
                amount: 6,
                went_back: false
            }
        );
    }

    #[test]
    fn sectors_of_a_32_bit_kernel_wrap() {
        assert_eq!(wrapped_sectors(10, 30), 20);
        assert_eq!(wrapped_sectors(4_294_967_290, 4), 10);
        assert_eq!(wrapped_sectors(1 << 32, 4), 4u64.wrapping_sub(1 << 32));
    }

    #[test]
    fn a_replugged_device_has_fewer_requests_and_fewer_sectors_of_every_kind() {
        let requests = |ios, sectors| Requests {
            ios,
            sectors,
            ..Requests::default()
        };
        let device = |reads, writes| Counters {
            reads,
            writes,
            ..Counters::default()
        };
        let older = device(requests(100, 800), requests(0, 0));
        assert!(was_replugged(
            &older,
            &device(requests(3, 24), requests(0, 0))
        ));
        assert!(was_replugged(
            &older,
            &device(requests(3, 24), requests(9, 900))
        ));
        assert!(!was_replugged(
            &older,
            &device(requests(3, 900), requests(0, 0))
        ));
        assert!(!was_replugged(
            &older,
            &device(requests(100, 24), requests(0, 0))
        ));
    }
}
