//! Points in time and the intervals between them, as types that include the unit.

use std::num::NonZeroU64;
use std::time::Duration;

use jiff::Timestamp;

/// Bytes per sector of /proc/diskstats, independent of the sector size of the device (the kernel's iostats.rst).
pub const SECTOR_BYTES: u64 = 512;

/// The time of a sample. Clocks that were not recorded are `None`: captures of other tools have only the wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleTime {
    /// The monotonic clock, which never goes back and cannot be set.
    pub monotonic: Option<Duration>,
    /// The wall clock; used for intervals only if the monotonic time is not known.
    pub wall: Option<Timestamp>,
    /// The uptime of the host from /proc/uptime, in hundredths of a second.
    pub uptime: Option<u64>,
}

impl SampleTime {
    /// Returns the time since an earlier sample: by the monotonic clock if it is known at both, otherwise by the wall
    /// clock; `None` if the clock did not advance, or no clock is known at both times.
    pub fn since(&self, earlier: &SampleTime) -> Option<Span> {
        let nanos = match (earlier.monotonic, self.monotonic, earlier.wall, self.wall) {
            (Some(a), Some(b), _, _) => b.checked_sub(a).map(|d| d.as_nanos()),
            (_, _, Some(a), Some(b)) => u128::try_from(b.as_nanosecond() - a.as_nanosecond()).ok(),
            _ => None,
        };
        nanos
            .and_then(|n| u64::try_from(n).ok())
            .and_then(Span::from_nanos)
    }

    /// Returns the time since an earlier sample by the uptime of both, as sysstat's iostat measures it. If the uptime
    /// did not advance, this is 0.01 s; if it went back, it wraps around to a huge time, so that every rate is about
    /// zero.
    pub fn uptime_since(&self, earlier: &SampleTime) -> Span {
        let elapsed = self
            .uptime
            .unwrap_or_default()
            .wrapping_sub(earlier.uptime.unwrap_or_default());
        Span::from_hundredths(elapsed).unwrap_or(Span::HUNDREDTH)
    }
}

/// A time span that is never zero, so that every rate is defined.
///
/// It keeps the unit of the clock that measured it and divides in that unit, so that a rate is rounded like that of a
/// tool that reads the same clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    ticks: NonZeroU64,
    ticks_per_second: u64,
}

impl Span {
    /// Creates an interval from nanoseconds; `None` for zero.
    pub fn from_nanos(nanos: u64) -> Option<Self> {
        Some(Self {
            ticks: NonZeroU64::new(nanos)?,
            ticks_per_second: 1_000_000_000,
        })
    }

    /// Creates an interval from hundredths of a second, the unit of /proc/uptime; `None` for zero.
    pub fn from_hundredths(hundredths: u64) -> Option<Self> {
        Some(Self {
            ticks: NonZeroU64::new(hundredths)?,
            ticks_per_second: 100,
        })
    }

    /// The resolution of /proc/uptime.
    pub const HUNDREDTH: Self = Self {
        ticks: NonZeroU64::MIN,
        ticks_per_second: 100,
    };

    /// Returns the length in nanoseconds.
    pub fn nanos(self) -> u64 {
        self.ticks
            .get()
            .saturating_mul(1_000_000_000 / self.ticks_per_second)
    }

    /// Returns the length in seconds.
    pub fn seconds(self) -> f64 {
        self.ticks.get() as f64 / self.ticks_per_second as f64
    }

    pub fn per_second(self, amount: u64) -> f64 {
        amount as f64 / self.ticks.get() as f64 * self.ticks_per_second as f64
    }
}

/// Returns seconds since 1970 with nanoseconds, as captures have them: `-60.500000000`.
pub fn epoch_text(at: Timestamp) -> String {
    // Before 1970, both parts of a timestamp are negative.
    let sign = if at < Timestamp::UNIX_EPOCH { "-" } else { "" };
    let (seconds, nanoseconds) = (at.as_second(), at.subsec_nanosecond());
    format!(
        "{sign}{}.{:09}",
        seconds.unsigned_abs(),
        nanoseconds.unsigned_abs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_amount_divided_by_the_seconds() {
        let interval = Span::from_hundredths(250).unwrap();
        assert_eq!(interval.per_second(1000), 400.0);
        assert_eq!(interval.seconds(), 2.5);
        assert_eq!(Span::from_nanos(1_500_000_000).unwrap().per_second(3), 2.0);
    }

    #[test]
    fn an_interval_is_never_zero() {
        assert_eq!(Span::from_nanos(0), None);
        assert_eq!(Span::from_hundredths(0), None);
    }

    #[test]
    fn the_monotonic_clock_takes_precedence_over_the_wall_clock() {
        let at = |monotonic, wall| SampleTime {
            monotonic: Some(Duration::from_secs(monotonic)),
            wall: Timestamp::from_second(wall).ok(),
            uptime: None,
        };
        assert_eq!(
            at(12, 50).since(&at(10, 100)),
            Some(Span::from_nanos(2_000_000_000).unwrap())
        );
        assert_eq!(at(10, 100).since(&at(12, 50)), None);
    }

    #[test]
    fn a_wall_clock_that_does_not_advance_gives_no_interval() {
        let at = |wall| SampleTime {
            wall: Timestamp::from_second(wall).ok(),
            ..SampleTime::default()
        };
        assert_eq!(at(7).since(&at(7)), None);
        assert_eq!(at(7).since(&SampleTime::default()), None);
        assert_eq!(
            at(9).since(&at(7)),
            Some(Span::from_nanos(2_000_000_000).unwrap())
        );
    }

    #[test]
    fn uptime_is_in_hundredths_of_a_second() {
        let at = |uptime| SampleTime {
            uptime: Some(uptime),
            ..SampleTime::default()
        };
        assert_eq!(
            at(350).uptime_since(&at(100)),
            Span::from_hundredths(250).unwrap()
        );
        assert_eq!(at(100).uptime_since(&at(100)), Span::HUNDREDTH);
        assert!(at(100).uptime_since(&at(350)).per_second(1 << 40) < 0.001);
    }

    #[test]
    fn a_time_before_1970_has_one_sign() {
        for (milliseconds, expected) in [
            (1500, "1.500000000"),
            (-60_500, "-60.500000000"),
            (-500, "-0.500000000"),
        ] {
            let at = Timestamp::from_millisecond(milliseconds).unwrap();
            assert_eq!(epoch_text(at), expected);
        }
    }
}
