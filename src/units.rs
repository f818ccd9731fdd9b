//! Quantities with their units in their types: moments, and the time between two of them.

use std::num::NonZeroU64;
use std::time::Duration;

use jiff::Timestamp;

/// Bytes in a sector of /proc/diskstats, whatever the device itself calls a sector
/// (the kernel's iostats.rst).
pub const SECTOR_BYTES: u64 = 512;

/// When a sample was read. What is not known is `None`: a foreign capture has only the wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleTime {
    /// A clock that never goes back and that nobody sets.
    pub monotonic: Option<Duration>,
    /// The time of day; printed, and used for intervals only where there is no better clock.
    pub wall: Option<Timestamp>,
    /// The machine's uptime from /proc/uptime, in hundredths of a second.
    pub uptime: Option<u64>,
}

/// What lies between two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elapsed {
    /// Time passed.
    Forward(Interval),
    /// The clock stood still or went back, or there is no clock that both moments know.
    Unknown,
}

impl SampleTime {
    /// The time since an earlier moment, on the monotonic clock where both have it, else by the wall clock.
    pub fn since(&self, earlier: &SampleTime) -> Elapsed {
        let nanos = match (earlier.monotonic, self.monotonic, earlier.wall, self.wall) {
            (Some(a), Some(b), _, _) => b.checked_sub(a).map(|d| d.as_nanos()),
            (_, _, Some(a), Some(b)) => u128::try_from(b.as_nanosecond() - a.as_nanosecond()).ok(),
            _ => None,
        };
        let interval = nanos.and_then(|n| u64::try_from(n).ok()).and_then(Interval::from_nanos);
        interval.map_or(Elapsed::Unknown, Elapsed::Forward)
    }

    /// The time since an earlier moment by the uptime of both, as sysstat's iostat measures it: where it stands
    /// still, the least that it can tell; where it goes back, a time without end, so that every rate is zero.
    pub fn uptime_since(&self, earlier: &SampleTime) -> Interval {
        let passed = self.uptime.unwrap_or_default().wrapping_sub(earlier.uptime.unwrap_or_default());
        Interval::from_hundredths(passed).unwrap_or(Interval::HUNDREDTH)
    }
}

/// A length of time that is never zero, so that every rate has a value.
///
/// It remembers the unit of the clock that measured it, and divides in that unit: a rate is then rounded
/// as the tool that reads that clock rounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    ticks: NonZeroU64,
    ticks_per_second: u64,
}

impl Interval {
    /// An interval on a nanosecond clock; `None` for zero.
    pub fn from_nanos(nanos: u64) -> Option<Self> {
        Some(Self { ticks: NonZeroU64::new(nanos)?, ticks_per_second: 1_000_000_000 })
    }

    /// An interval by /proc/uptime, which counts hundredths of a second; `None` for zero.
    pub fn from_hundredths(hundredths: u64) -> Option<Self> {
        Some(Self { ticks: NonZeroU64::new(hundredths)?, ticks_per_second: 100 })
    }

    /// The least time that /proc/uptime can tell.
    pub const HUNDREDTH: Self = Self { ticks: NonZeroU64::MIN, ticks_per_second: 100 };

    /// The length in seconds.
    pub fn seconds(self) -> f64 {
        self.ticks.get() as f64 / self.ticks_per_second as f64
    }

    /// `amount` as a rate: per second.
    pub fn per_second(self, amount: u64) -> f64 {
        amount as f64 / self.ticks.get() as f64 * self.ticks_per_second as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_divides_by_the_time_that_passed() {
        let two_and_a_half = Interval::from_hundredths(250).unwrap();
        assert_eq!(two_and_a_half.per_second(1000), 400.0);
        assert_eq!(two_and_a_half.seconds(), 2.5);
        assert_eq!(Interval::from_nanos(1_500_000_000).unwrap().per_second(3), 2.0);
    }

    #[test]
    fn no_interval_is_zero() {
        assert_eq!(Interval::from_nanos(0), None);
        assert_eq!(Interval::from_hundredths(0), None);
    }

    #[test]
    fn the_monotonic_clock_wins_over_the_wall_clock() {
        let at = |monotonic, wall| SampleTime {
            monotonic: Some(Duration::from_secs(monotonic)),
            wall: Timestamp::from_second(wall).ok(),
            uptime: None,
        };
        assert_eq!(
            at(12, 50).since(&at(10, 100)),
            Elapsed::Forward(Interval::from_nanos(2_000_000_000).unwrap())
        );
        assert_eq!(at(10, 100).since(&at(12, 50)), Elapsed::Unknown);
    }

    #[test]
    fn a_wall_clock_that_stands_still_gives_no_interval() {
        let at = |wall| SampleTime { wall: Timestamp::from_second(wall).ok(), ..SampleTime::default() };
        assert_eq!(at(7).since(&at(7)), Elapsed::Unknown);
        assert_eq!(at(7).since(&SampleTime::default()), Elapsed::Unknown);
        assert_eq!(at(9).since(&at(7)), Elapsed::Forward(Interval::from_nanos(2_000_000_000).unwrap()));
    }

    #[test]
    fn uptime_counts_hundredths() {
        let at = |uptime| SampleTime { uptime: Some(uptime), ..SampleTime::default() };
        assert_eq!(at(350).uptime_since(&at(100)), Interval::from_hundredths(250).unwrap());
        assert_eq!(at(100).uptime_since(&at(100)), Interval::HUNDREDTH);
        assert!(at(100).uptime_since(&at(350)).per_second(1 << 40) < 0.001);
    }
}
