//! Points in time as people type them, and the part of a capture between two of them: `16:04`, a date, `-10m` from the
//! end, `+5m` from the start.
//!
//! Pure: a [`RangeFilter`] is shown the times of the samples one after the other.

mod filter;

use std::ffi::OsString;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use jiff::civil::{DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

pub use filter::{CaptureTimes, Place, RangeFilter};

/// The part of a capture that is shown. An interval belongs to it if its middle does, so that each end is at the sample
/// nearest to it: samples are never exactly on time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// The beginning; `None` for that of the capture.
    pub begin: Option<TimePoint>,
    /// The end; `None` for that of the capture.
    pub end: Option<TimePoint>,
    /// The value of the environment variable TZ, which names the zone of times without one.
    pub time_zone: Option<OsString>,
}

impl TimeRange {
    /// Returns whether it is the whole capture.
    pub fn is_everything(&self) -> bool {
        self.begin.is_none() && self.end.is_none()
    }

    /// The points that are given, with the options that give them.
    pub fn points(&self) -> impl Iterator<Item = (&'static str, &TimePoint)> {
        let begin = self.begin.iter().map(|point| ("--begin", point));
        begin.chain(self.end.iter().map(|point| ("--end", point)))
    }
}

/// The longest duration in seconds: 10,000 days.
const MAX_DURATION_S: f64 = 10_000.0 * 86_400.0;

/// The kinds of points in time that can be typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `+5m`: this long after the start of the capture.
    AfterStart(SignedDuration),
    /// `-10m`: this long before its end.
    BeforeEnd(SignedDuration),
    /// `16:04`: a time of day in the displayed zone.
    TimeOfDay(Time),
    /// `2026-11-20T16:04`: a date and a time in the displayed zone.
    Local(DateTime),
    /// `2026-11-20T16:04Z`: with a UTC offset.
    Absolute(Timestamp),
}

/// A point in time as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimePoint {
    kind: Kind,
    text: String,
}

impl TimePoint {
    /// The time after the start of the capture; `None` for another kind of point.
    pub fn after_start(&self) -> Option<SignedDuration> {
        if let Kind::AfterStart(duration) = self.kind {
            Some(duration)
        } else {
            None
        }
    }

    /// The time before the end of the capture; `None` for another kind of point.
    pub fn before_end(&self) -> Option<SignedDuration> {
        if let Kind::BeforeEnd(duration) = self.kind {
            Some(duration)
        } else {
            None
        }
    }

    /// Returns the moments at or after `from` that it can mean, in order: a time of day occurs once a day, and every
    /// local time twice where the clock is set back. None for a duration.
    pub fn moments_from<'z>(
        &self,
        from: Timestamp,
        zone: &'z TimeZone,
    ) -> Box<dyn Iterator<Item = Timestamp> + 'z> {
        let is_later = move |at: &Timestamp| *at >= from;
        match self.kind {
            Kind::AfterStart(_) | Kind::BeforeEnd(_) => Box::new(std::iter::empty()),
            Kind::Absolute(at) => Box::new(Some(at).filter(is_later).into_iter()),
            Kind::Local(at) => Box::new(local_moments(at, zone).into_iter().filter(is_later)),
            Kind::TimeOfDay(time) => {
                let first = from.to_zoned(zone.clone()).date();
                let days = std::iter::successors(Some(first), |day| day.tomorrow().ok());
                Box::new(
                    days.flat_map(move |day| local_moments(day.to_datetime(time), zone))
                        .filter(is_later),
                )
            }
        }
    }

    /// Returns whether the clock was set forward past it on the day of `at`.
    fn is_skipped(&self, at: Timestamp, zone: &TimeZone) -> bool {
        let local = match self.kind {
            Kind::Local(local) => local,
            Kind::TimeOfDay(time) => at.to_zoned(zone.clone()).date().to_datetime(time),
            Kind::AfterStart(_) | Kind::BeforeEnd(_) | Kind::Absolute(_) => return false,
        };
        local_moments(local, zone).is_empty()
    }

    /// Returns whether its meaning depends on a time zone.
    pub fn needs_time_zone(&self) -> bool {
        matches!(self.kind, Kind::TimeOfDay(_) | Kind::Local(_))
    }

    /// Returns whether it is a time of the clock rather than a duration.
    pub fn needs_wall_clock(&self) -> bool {
        !matches!(self.kind, Kind::AfterStart(_) | Kind::BeforeEnd(_))
    }
}

impl Display for TimePoint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for TimePoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let kind = match text.as_bytes() {
            [b'+', ..] => duration(&text[1..]).map(Kind::AfterStart),
            [b'-', ..] => duration(&text[1..]).map(Kind::BeforeEnd),
            _ => clock_time(text),
        };
        let kind = kind.ok_or(
            "expected 16:04, 16:04:47, 2026-11-20T16:04, -10m (from the end) or +5m (from the start)",
        )?;
        Ok(Self {
            kind,
            text: text.to_owned(),
        })
    }
}

/// Returns the moments of a local date and time, in order: two if the clock is set back in between, none if it is set
/// forward past that time.
fn local_moments(at: DateTime, zone: &TimeZone) -> Vec<Timestamp> {
    let offsets = match zone.to_ambiguous_timestamp(at).offset() {
        AmbiguousOffset::Unambiguous { offset } => vec![offset],
        AmbiguousOffset::Fold { before, after } => vec![before, after],
        AmbiguousOffset::Gap { .. } => Vec::new(),
    };
    let mut moments = Vec::new();
    for offset in offsets {
        moments.extend(offset.to_timestamp(at));
    }
    moments.sort();
    moments
}

/// Parses a time of day, or a date with or without a time and a UTC offset. A date alone means its midnight.
fn clock_time(text: &str) -> Option<Kind> {
    // The hour may have a single digit.
    let padded = if text.as_bytes().get(1) == Some(&b':') {
        format!("0{text}")
    } else {
        text.to_owned()
    };
    let is_time_of_day = padded.as_bytes().get(2) == Some(&b':') && padded.len() <= 18;
    if is_time_of_day {
        return Some(Kind::TimeOfDay(padded.parse().ok()?));
    }
    if text.as_bytes().get(4) != Some(&b'-') {
        return None;
    }
    match text.parse() {
        Ok(absolute) => Some(Kind::Absolute(absolute)),
        Err(_) => Some(Kind::Local(text.parse().ok()?)),
    }
}

/// Parses a duration: numbers with units, such as `10m`, `1h30m` or `1.5h`; seconds without a unit.
fn duration(text: &str) -> Option<SignedDuration> {
    let mut rest = text;
    let mut seconds = 0.0;
    let mut is_complete = false;
    while !rest.is_empty() && !is_complete {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let seconds_in_unit = match unit {
            "" | "s" => 1.0,
            "ms" => 1e-3,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        // A number without a unit is the whole duration, or its last part.
        is_complete = unit.is_empty();
        seconds += number.parse::<f64>().ok()? * seconds_in_unit;
        rest = after;
    }
    let is_whole = rest.is_empty() && !text.is_empty();
    if !is_whole || !(0.0..=MAX_DURATION_S).contains(&seconds) {
        return None;
    }
    SignedDuration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Kind {
        text.parse::<TimePoint>()
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .kind
    }

    #[test]
    fn durations_are_from_the_start_or_the_end() {
        let minutes = SignedDuration::from_mins;
        for (text, expected) in [
            ("+5m", Kind::AfterStart(minutes(5))),
            ("-10m", Kind::BeforeEnd(minutes(10))),
            ("-1h30m", Kind::BeforeEnd(minutes(90))),
            ("-1.5h", Kind::BeforeEnd(minutes(90))),
            ("+2d", Kind::AfterStart(minutes(2880))),
            ("+90", Kind::AfterStart(SignedDuration::from_secs(90))),
            ("-1m30", Kind::BeforeEnd(SignedDuration::from_secs(90))),
            ("+250ms", Kind::AfterStart(SignedDuration::from_millis(250))),
            ("-0", Kind::BeforeEnd(SignedDuration::ZERO)),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn times_of_day_have_minutes_and_perhaps_seconds() {
        for (text, [hour, minute, second], nanosecond) in [
            ("16:04", [16, 4, 0], 0),
            ("8:04", [8, 4, 0], 0),
            (" 16:04:47 ", [16, 4, 47], 0),
            ("16:04:47.25", [16, 4, 47], 250_000_000),
            ("16:04:47.123456789", [16, 4, 47], 123_456_789),
        ] {
            let time = Time::new(hour, minute, second, nanosecond).unwrap();
            assert_eq!(kind(text), Kind::TimeOfDay(time), "{text}");
        }
    }

    #[test]
    fn dates_may_have_a_time_and_a_zone() {
        for (text, local) in [
            ("2026-11-20T16:04", "2026-11-20T16:04:00"),
            ("2026-11-20 16:04:47.5", "2026-11-20T16:04:47.5"),
            ("2026-11-20", "2026-11-20T00:00:00"),
        ] {
            assert_eq!(kind(text), Kind::Local(local.parse().unwrap()), "{text}");
        }
        for (text, absolute) in [
            ("2026-11-20T16:04Z", "2026-11-20T16:04:00Z"),
            ("2026-11-20T16:04:47+01:00", "2026-11-20T15:04:47Z"),
            ("2026-11-20 16:04+0530", "2026-11-20T10:34:00Z"),
        ] {
            assert_eq!(
                kind(text),
                Kind::Absolute(absolute.parse().unwrap()),
                "{text}"
            );
        }
    }

    /// The moments of a point from a time on, in a zone with summer time from the last Sunday of March to that of
    /// October, as in Berlin.
    fn moments(point: &str, from: &str) -> Vec<String> {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let point: TimePoint = point.parse().unwrap();
        point
            .moments_from(from.parse().unwrap(), &zone)
            .take(2)
            .map(|at| at.to_string())
            .collect()
    }

    #[test]
    fn a_local_time_occurs_once_twice_or_not_at_all() {
        let at = |text: &str| moments(text, "2026-01-01T00:00:00Z");
        assert_eq!(at("2026-11-20T16:04:00"), ["2026-11-20T15:04:00Z"]);
        assert_eq!(
            at("2026-10-25T02:30:00"),
            ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]
        );
        assert!(at("2026-03-29T02:30:00").is_empty());
        assert!(moments("2026-11-20T16:04Z", "2026-11-20T16:05:00Z").is_empty());
    }

    #[test]
    fn a_time_of_day_occurs_on_this_day_or_another() {
        for (time, from, next) in [
            ("16:04:00", "2026-11-20T15:04:00Z", "2026-11-20T15:04:00Z"),
            ("16:04:00", "2026-11-20T15:04:00.1Z", "2026-11-21T15:04:00Z"),
            ("00:10:00", "2026-11-20T23:05:00Z", "2026-11-20T23:10:00Z"),
            ("02:30:00", "2026-10-25T00:31:00Z", "2026-10-25T01:30:00Z"),
            ("02:30:00", "2026-03-28T01:31:00Z", "2026-03-30T00:30:00Z"),
        ] {
            assert_eq!(moments(time, from)[0], next, "{time} from {from} on");
        }
    }

    #[test]
    fn a_point_is_shown_as_it_was_typed() {
        for text in ["16:04", "-10m", "2026-11-20"] {
            assert_eq!(text.parse::<TimePoint>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "-",
            "+",
            "10m",
            "16",
            "1604",
            "25:00",
            "16:60",
            "16:04x",
            "+5x",
            "-+5",
            "+-5m",
            "+1e3",
            "+99999999999",
            "2026-13-01",
            "2026-11-31",
            "2026",
            "now",
            "16:04Z",
            "+.",
            "-1..5h",
            "16:4",
            "\u{1b}[2J",
            "+5m!",
            "20/11/2026",
            "2026-11-20T",
            "ä",
            "ä:00",
        ] {
            let error = text
                .parse::<TimePoint>()
                .err()
                .unwrap_or_else(|| panic!("{text} was accepted"));
            assert!(error.starts_with("expected 16:04"));
        }
    }
}
