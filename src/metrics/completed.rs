//! The requests of one kind that completed between two samples, and the times that the kernel counted.

use crate::counters::{LoggedRates, Requests, growth_u32};
use crate::units::{SECTOR_BYTES, Span};

/// More requests per second than any device completes: a larger difference does not come from a counter that wrapped.
const MAX_IOS_PER_S: f64 = 20e6;
/// More sectors per second than any device transfers: 100 GB per second.
const MAX_SECTORS_PER_S: f64 = 200e6;
/// How much longer the kernel may count a request than it took: where it counts clock ticks, one at each end.
const TICKS_MS: f64 = 20.0;
/// Requests that were in flight before an interval may have waited for longer than the interval, but not for this long.
const MAX_WAIT_MS: f64 = 3_600_000.0;
/// Counters are not read all at once.
const TIME_TOLERANCE_MS: f64 = 1000.0;

/// The requests of one kind that completed. What the source does not tell is counted for no time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Completed {
    pub ios: Amount,
    /// Requests merged into others before they were issued.
    pub merges: Amount,
    pub sectors: Amount,
    /// The requests whose time is known.
    pub timed_ios: f64,
    /// The milliseconds that these took.
    pub time: Amount,
}

/// What was counted in some time. A sum of counters is a whole number, far below the 2^53 that `f64` holds exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount {
    /// The nanoseconds in which it was counted; 0 if it is not known.
    pub ns: u64,
    pub sum: f64,
}

/// The length of two times: their sum if they follow each other, the longer one if they are the same time.
pub(super) type AddedLength = fn(u64, u64) -> u64;

impl Completed {
    pub(super) fn between(
        older: &Requests,
        newer: &Requests,
        span: Span,
        has_times: bool,
        possible: PossibleTime,
    ) -> Option<Self> {
        let (ns, seconds) = (span.nanos(), span.seconds());
        let ios = ios_delta(older.ios, newer.ios, seconds)?;
        let sectors = count_delta(older.sectors, newer.sectors, MAX_SECTORS_PER_S * seconds)?;
        let mut completed = Self {
            ios: Amount::of(ns, ios),
            sectors: Amount::of(ns, sectors),
            ..Self::default()
        };
        if !has_times {
            return Some(completed);
        }
        let merges = ios_delta(older.merges, newer.merges, seconds)?;
        completed.merges = Amount::of(ns, merges);
        let ms = ms_delta(older.ms, newer.ms, possible, ios);
        Some(completed.with_time(ms.map(|ms| ms as f64)))
    }

    /// The requests that a log printed as rates.
    pub(super) fn of_rates(rates: &LoggedRates, span: Span) -> Self {
        let completed = Self {
            ios: Amount::of_rate(rates.ios, span),
            merges: Amount::of_rate(rates.merges, span),
            sectors: Amount::of_rate(rates.sectors, span),
            ..Self::default()
        };
        match rates.await_ms {
            Some(await_ms) if completed.is_counted() => {
                completed.with_time(Some(await_ms * completed.ios.sum))
            }
            _ => completed,
        }
    }

    /// Requests that took `ms` milliseconds together; `None` if that is not known.
    pub fn with_time(self, ms: Option<f64>) -> Self {
        let (mut time, mut timed_ios) = (Amount::default(), 0.0);
        if let Some(sum) = ms {
            time = Amount {
                ns: self.ios.ns,
                sum,
            };
            timed_ios = self.ios.sum;
        }
        Self {
            timed_ios,
            time,
            ..self
        }
    }

    /// Adds requests of the same kind right after these.
    pub fn followed_by(&self, later: &Self) -> Self {
        self.plus(later, u64::saturating_add)
    }

    /// Adds the requests of another device, or of another kind, over the same time.
    pub fn beside(&self, other: &Self) -> Self {
        self.plus(other, u64::max)
    }

    /// Adds requests of the same kind right after these, or others over the same time: `length` adds their times.
    pub(super) fn plus(&self, other: &Self, length: AddedLength) -> Self {
        Self {
            ios: self.ios.plus(other.ios, length),
            merges: self.merges.plus(other.merges, length),
            sectors: self.sectors.plus(other.sectors, length),
            timed_ios: self.timed_ios + other.timed_ios,
            time: self.time.plus(other.time, length),
        }
    }

    pub fn seconds(&self) -> f64 {
        self.ios.ns as f64 / 1e9
    }

    /// Returns whether the number of requests is known.
    pub fn is_counted(&self) -> bool {
        self.ios.ns > 0
    }

    /// Requests completed: Δn; `None` if that is not known.
    pub fn count(&self) -> Option<f64> {
        self.is_counted().then_some(self.ios.sum)
    }

    /// Requests completed per second: Δn / t.
    pub fn per_s(&self) -> Option<f64> {
        self.ios.per_second()
    }

    /// KiB per second: Δs / 2 / t.
    pub fn kib_per_s(&self) -> Option<f64> {
        self.sectors.per_second().map(kib)
    }

    /// Requests merged per second: Δm / t.
    pub fn merges_per_s(&self) -> Option<f64> {
        self.merges.per_second()
    }

    /// Requests that were merged before they were issued, in percent: 100 Δm / (Δm + Δn).
    pub fn merge_pct(&self) -> Option<f64> {
        let issued = self.merges.sum + self.ios.sum;
        let is_known = self.merges.ns > 0 && self.is_counted() && issued > 0.0;
        is_known.then(|| self.merges.sum / issued * 100.0)
    }

    /// Mean latency in milliseconds: ΔT / Δn; `None` if nothing completed.
    pub fn await_ms(&self) -> Option<f64> {
        (self.timed_ios > 0.0).then(|| self.time.sum / self.timed_ios)
    }

    /// Mean size in KiB: Δs / 2 / Δn; `None` if nothing completed.
    pub fn size_kib(&self) -> Option<f64> {
        (self.ios.sum > 0.0 && self.sectors.ns > 0).then(|| kib(self.sectors.sum / self.ios.sum))
    }

    /// KiB transferred: Δs / 2.
    pub fn kib(&self) -> f64 {
        kib(self.sectors.sum)
    }

    /// Mean number of these requests waiting or being served: ΔT / 1000 t (Little's law).
    pub fn queue(&self) -> Option<f64> {
        self.time.mean_requests()
    }
}

impl Amount {
    pub(super) fn of(ns: u64, sum: u64) -> Self {
        Self {
            ns,
            sum: sum as f64,
        }
    }

    /// The amount that a log printed per second; nothing if it did not.
    pub(super) fn of_rate(per_s: Option<f64>, span: Span) -> Self {
        match per_s {
            Some(per_s) => Self {
                ns: span.nanos(),
                sum: per_s * span.seconds(),
            },
            None => Self::default(),
        }
    }

    /// The amount per second; `None` if it is not known.
    pub fn per_second(self) -> Option<f64> {
        (self.ns > 0).then(|| self.sum / self.ns as f64 * 1e9)
    }

    /// Of milliseconds, the mean number of requests whose time this is: ms / 1000 t.
    pub(super) fn mean_requests(self) -> Option<f64> {
        self.per_second().map(|ms| ms / 1000.0)
    }

    pub(super) fn plus(self, other: Self, length: AddedLength) -> Self {
        Self {
            ns: length(self.ns, other.ns),
            sum: self.sum + other.sum,
        }
    }

    /// Returns it, or what is known in its place.
    pub fn or(self, other: Self) -> Self {
        if self.ns > 0 { self } else { other }
    }
}

fn kib(sectors: f64) -> f64 {
    sectors * SECTOR_BYTES as f64 / 1024.0
}

/// Returns the difference of a count of requests in this time; `None` if it fell.
pub(super) fn ios_delta(older: u64, newer: u64, seconds: f64) -> Option<u64> {
    count_delta(older, newer, MAX_IOS_PER_S * seconds)
}

/// Returns the difference of a count. A count that went down wrapped at 32 bits if both values fit in 32 bits and the
/// difference is at most `max`; otherwise it fell: `None`.
fn count_delta(older: u64, newer: u64, max: f64) -> Option<u64> {
    if newer >= older {
        return Some(newer - older);
    }
    let wrapped = growth_u32(older, newer);
    let is_possible = wrapped as f64 <= max.min(f64::from(1u32 << 31));
    (older <= u64::from(u32::MAX) && is_possible).then_some(wrapped)
}

/// Returns the difference of a column of milliseconds, which wraps at 32 bits on every kernel; `None` if it fell: a
/// smaller value would mean that the requests took longer than they can have.
pub(super) fn ms_delta(older: u64, newer: u64, possible: PossibleTime, ios: u64) -> Option<u64> {
    let delta = growth_u32(older, newer);
    (newer >= older || delta as f64 <= possible.ms(ios)).then_some(delta)
}

/// How long the requests of an interval can have taken together.
#[derive(Clone, Copy)]
pub(super) struct PossibleTime {
    pub(super) seconds: f64,
    /// The requests in flight at the beginning; none if that is not known.
    pub(super) waiting: u64,
}

impl PossibleTime {
    /// Returns the longest time in milliseconds of this many requests: most began in the interval, so that none took
    /// longer than it.
    fn ms(self, ios: u64) -> f64 {
        let in_interval = ios as f64 * (self.seconds * 1000.0 + TICKS_MS);
        in_interval + self.waiting.min(ios) as f64 * MAX_WAIT_MS + TIME_TOLERANCE_MS
    }
}

#[cfg(test)]
mod example {
    use super::{Amount, Completed};

    impl Completed {
        /// Requests of 4 KiB that took `await_ms` each.
        pub(crate) fn example(seconds: f64, ios: u64, await_ms: f64) -> Self {
            let ns = (seconds * 1e9).round() as u64;
            let completed = Self {
                ios: Amount::of(ns, ios),
                merges: Amount::of(ns, 0),
                sectors: Amount::of(ns, 8 * ios),
                ..Self::default()
            };
            completed.with_time(Some((ios as f64 * await_ms).round()))
        }
    }
}
