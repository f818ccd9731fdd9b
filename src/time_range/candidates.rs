//! The moments that a point in time can mean, without knowledge of the capture.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};

/// The number of days that are searched for a time of day: it may not exist on one of them.
const SEARCHED_DAYS: usize = 3;

/// Returns the moments of a local date and time, in order: two if the clock is set back in between, none if it is set
/// forward past that time.
pub(super) fn moments(at: DateTime, zone: &TimeZone) -> Vec<Timestamp> {
    let offsets = match zone.to_ambiguous_timestamp(at).offset() {
        AmbiguousOffset::Unambiguous { offset } => vec![offset],
        AmbiguousOffset::Fold { before, after } => vec![before, after],
        AmbiguousOffset::Gap { .. } => Vec::new(),
    };
    let mut moments: Vec<Timestamp> =
        offsets.into_iter().filter_map(|offset| offset.to_timestamp(at).ok()).collect();
    moments.sort();
    moments
}

/// Returns the first moment at or after `from` with this local time of day; `None` at the end of the calendar.
pub(super) fn next_time_of_day(time: Time, zone: &TimeZone, from: Timestamp) -> Option<Timestamp> {
    let first: Date = from.to_zoned(zone.clone()).date();
    let days = std::iter::successors(Some(first), |day| day.tomorrow().ok()).take(SEARCHED_DAYS);
    days.flat_map(|day| moments(day.to_datetime(time), zone)).find(|moment| *moment >= from)
}

/// Returns whether the clock was set forward past a local time of day between two moments.
pub(super) fn skips_time_of_day(time: Time, zone: &TimeZone, (from, to): (Timestamp, Timestamp)) -> bool {
    let first: Date = from.to_zoned(zone.clone()).date();
    let mut days = std::iter::successors(Some(first), |day| day.tomorrow().ok()).take(SEARCHED_DAYS);
    days.any(|day| match zone.to_ambiguous_timestamp(day.to_datetime(time)).offset() {
        AmbiguousOffset::Gap { before, after } => {
            zone.to_offset(from) == before && zone.to_offset(to) == after
        }
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A zone with summer time from the last Sunday of March to that of October, as in Berlin.
    fn zone() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    fn texts(moments: &[Timestamp]) -> Vec<String> {
        moments.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_time_occurs_once_twice_or_not_at_all() {
        let at = |text: &str| texts(&moments(text.parse().unwrap(), &zone()));
        assert_eq!(at("2026-11-20T16:04:00"), ["2026-11-20T15:04:00Z"]);
        assert_eq!(at("2026-10-25T02:30:00"), ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]);
        assert!(at("2026-03-29T02:30:00").is_empty());
    }

    #[test]
    fn the_next_time_of_day_is_on_this_day_or_another() {
        let next = |time: &str, from: &str| {
            next_time_of_day(time.parse().unwrap(), &zone(), from.parse().unwrap()).unwrap().to_string()
        };
        assert_eq!(next("16:04:00", "2026-11-20T15:04:00Z"), "2026-11-20T15:04:00Z");
        assert_eq!(next("16:04:00", "2026-11-20T15:04:00.1Z"), "2026-11-21T15:04:00Z");
        assert_eq!(next("00:10:00", "2026-11-20T23:05:00Z"), "2026-11-20T23:10:00Z");
        assert_eq!(next("02:30:00", "2026-10-25T00:31:00Z"), "2026-10-25T01:30:00Z");
        assert_eq!(next("02:30:00", "2026-03-28T01:31:00Z"), "2026-03-30T00:30:00Z");
    }
}
