//! The requests of one kind that completed between two samples, and the times that the kernel counted.

use crate::counters::{Missing, Requests, wrapping_sub_u32};
use crate::units::{SECTOR_BYTES, Span};

/// More requests per second than any device completes: a larger difference does not come from a counter that wrapped.
const MAX_IOS_PER_S: f64 = 20e6;
/// More sectors per second than any device transfers: 100 GB per second.
const MAX_SECTORS_PER_S: f64 = 200e6;
/// How much longer the kernel may count a request than it took: where it counts clock ticks, one at each end.
const TICKS_MS: f64 = 20.0;
/// Requests that were in flight before an interval may have waited longer than it is, but hardly this long.
const MAX_WAIT_MS: f64 = 3_600_000.0;
/// Counters are not read all at once.
const TIME_TOLERANCE_MS: f64 = 1000.0;

/// The requests of one kind that completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completed {
    /// The nanoseconds in which they were counted; 0 if the kernel does not count them.
    pub ns: u64,
    pub ios: u64,
    /// True if a log lacks the number of these requests; then it is 0 here.
    pub lacks_ios: bool,
    /// True if a log lacks the sectors of these requests; then they are 0 here.
    pub lacks_sectors: bool,
    /// Requests merged into others before they were issued; `None` if the kernel does not count them.
    pub merges: Option<u64>,
    pub sectors: u64,
    /// The requests whose time is known.
    pub timed_ios: u64,
    /// The time that these took.
    pub time: CountedTime,
}

/// A time that the kernel counted in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedTime {
    /// The nanoseconds in which it was counted; 0 if it is not known.
    pub ns: u64,
    pub ms: u64,
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
        let seconds = span.seconds();
        let merges = || ios_delta(older.merges, newer.merges, seconds);
        let completed = Self {
            ns: span.nanos(),
            ios: ios_delta(older.ios, newer.ios, seconds)?,
            merges: if has_times { Some(merges()?) } else { None },
            sectors: count_delta(older.sectors, newer.sectors, MAX_SECTORS_PER_S * seconds)?,
            ..Self::default()
        };
        let ms = ms_delta(older.ms, newer.ms, possible, completed.ios);
        Some(completed.with_time(ms.filter(|_| has_times)))
    }

    /// The same without what the source of the counters lacks.
    pub(super) fn without(self, missing: Missing) -> Self {
        Self {
            ios: if missing.ios { 0 } else { self.ios },
            lacks_ios: missing.ios,
            merges: self.merges.filter(|_| !missing.merges),
            sectors: if missing.sectors { 0 } else { self.sectors },
            lacks_sectors: missing.sectors,
            ..if missing.ms || missing.ios {
                self.with_time(None)
            } else {
                self
            }
        }
    }

    /// Requests that took `ms` milliseconds together; `None` if that is not known.
    pub fn with_time(self, ms: Option<u64>) -> Self {
        let time = ms.map_or(CountedTime::default(), |ms| CountedTime { ns: self.ns, ms });
        Self {
            timed_ios: if ms.is_some() { self.ios } else { 0 },
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
            ns: length(self.ns, other.ns),
            time: self.time.plus(other.time, length),
            ios: self.ios.saturating_add(other.ios),
            lacks_ios: self.lacks_ios || other.lacks_ios,
            lacks_sectors: self.lacks_sectors || other.lacks_sectors,
            merges: match (self.is_counted(), other.is_counted()) {
                (true, true) => add(self.merges, other.merges),
                (false, _) => other.merges,
                (_, false) => self.merges,
            },
            sectors: self.sectors.saturating_add(other.sectors),
            timed_ios: self.timed_ios.saturating_add(other.timed_ios),
        }
    }

    pub fn seconds(&self) -> f64 {
        self.ns as f64 / 1e9
    }

    pub fn is_counted(&self) -> bool {
        self.ns > 0
    }

    /// Requests completed: Δn; `None` if the kernel does not count them.
    pub fn count(&self) -> Option<u64> {
        (self.is_counted() && !self.lacks_ios).then_some(self.ios)
    }

    /// Requests completed per second: Δn / t.
    pub fn per_s(&self) -> Option<f64> {
        self.per_second(self.count()?)
    }

    /// KiB per second: Δs / 2 / t.
    pub fn kib_per_s(&self) -> Option<f64> {
        self.per_second(self.sectors)
            .map(kib)
            .filter(|_| !self.lacks_sectors)
    }

    /// Requests merged per second: Δm / t.
    pub fn merges_per_s(&self) -> Option<f64> {
        self.per_second(self.merges?)
    }

    /// Requests that were merged before they were issued, in percent: 100 Δm / (Δm + Δn).
    pub fn merge_pct(&self) -> Option<f64> {
        let merges = self.merges.filter(|_| !self.lacks_ios)? as f64;
        let issued = merges + self.ios as f64;
        (issued > 0.0).then(|| merges / issued * 100.0)
    }

    /// Mean latency in milliseconds: ΔT / Δn; `None` if nothing completed.
    pub fn await_ms(&self) -> Option<f64> {
        (self.timed_ios > 0).then(|| self.time.ms as f64 / self.timed_ios as f64)
    }

    /// Mean size in KiB: Δs / 2 / Δn; `None` if nothing completed.
    pub fn size_kib(&self) -> Option<f64> {
        (self.ios > 0 && !self.lacks_ios && !self.lacks_sectors)
            .then(|| kib(self.sectors as f64 / self.ios as f64))
    }

    /// KiB transferred: Δs / 2.
    pub fn kib(&self) -> f64 {
        kib(self.sectors as f64)
    }

    /// Mean number of these requests waiting or being served: ΔT / 1000 t (Little's law).
    pub fn queue(&self) -> Option<f64> {
        self.time.mean()
    }

    fn per_second(&self, amount: u64) -> Option<f64> {
        self.is_counted()
            .then(|| amount as f64 / self.ns as f64 * 1e9)
    }
}

impl CountedTime {
    /// Milliseconds per second; `None` if the time is not known.
    pub fn per_second(self) -> Option<f64> {
        (self.ns > 0).then(|| self.ms as f64 / self.ns as f64 * 1e9)
    }

    /// The mean number of requests whose time this is: ms / 1000 t.
    pub(super) fn mean(self) -> Option<f64> {
        self.per_second().map(|ms| ms / 1000.0)
    }

    pub(super) fn plus(self, other: Self, length: AddedLength) -> Self {
        Self {
            ns: length(self.ns, other.ns),
            ms: self.ms.saturating_add(other.ms),
        }
    }
}

fn kib(sectors: f64) -> f64 {
    sectors * SECTOR_BYTES as f64 / 1024.0
}

pub(super) fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.zip(b).map(|(a, b)| a.saturating_add(b))
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
    let wrapped = wrapping_sub_u32(older, newer);
    (u32::try_from(older).is_ok() && wrapped as f64 <= max.min(f64::from(1u32 << 31)))
        .then_some(wrapped)
}

/// Returns the difference of a column of milliseconds, which wraps at 32 bits on every kernel; `None` if it fell: a
/// smaller value would mean that the requests took longer than they can have.
pub(super) fn ms_delta(older: u64, newer: u64, possible: PossibleTime, ios: u64) -> Option<u64> {
    let delta = wrapping_sub_u32(older, newer);
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
    use super::Completed;

    impl Completed {
        /// Requests of 4 KiB that took `await_ms` each.
        pub(crate) fn example(seconds: f64, ios: u64, await_ms: f64) -> Self {
            let ns = (seconds * 1e9).round() as u64;
            let completed = Self {
                ns,
                ios,
                merges: Some(0),
                sectors: 8 * ios,
                ..Self::default()
            };
            completed.with_time(Some((ios as f64 * await_ms).round() as u64))
        }
    }
}
