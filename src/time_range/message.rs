//! Messages about points that are not in a capture, or occur more than once.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::candidates::{moments, skips_time_of_day};
use super::point::TimePoint;

/// The most occurrences that a message lists.
const MAX_LISTED: usize = 5;
/// Seconds since 1970 up to 2000: clocks that count from a boot are earlier.
const MIN_WALL_CLOCK_S: i64 = 946_684_800;

/// Returns a time with its date and UTC offset, in a form that can be typed again.
pub fn time_text(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// Returns the first and the last of the times of a capture.
pub fn span_text((earliest, latest): (Timestamp, Timestamp), zone: &TimeZone) -> String {
    format!("{} to {}", time_text(earliest, zone), time_text(latest, zone))
}

/// Returns the message that a point is not in a capture that spans these times. `option` is the option that gave the
/// point.
pub fn outside_message(
    option: &str,
    point: &TimePoint,
    span: Option<(Timestamp, Timestamp)>,
    zone: &TimeZone,
) -> String {
    let Some(span) = span else {
        return format!("{option} {point} is outside the capture, which has no samples");
    };
    if point.needs_wall_clock() && span.1.as_second() < MIN_WALL_CLOCK_S {
        let (first, last) = (span.0.as_second(), span.1.as_second());
        return format!(
            "{option} {point} is a time of the clock, but the TS lines of the capture hold none: they go from {first} to \
             {last} s; use +DURATION from the start or -DURATION from the end"
        );
    }
    let covers = format!("the capture, which covers {}", span_text(span, zone));
    let is_skipped = point.local().is_some_and(|local| moments(local, zone).is_empty())
        || point.time_of_day().is_some_and(|time| skips_time_of_day(time, zone, span));
    if is_skipped {
        format!("{option} {point} is a time that the clock skipped when it was set forward, in {covers}")
    } else {
        format!("{option} {point} is outside {covers}")
    }
}

/// Returns the message that a point occurs more than once.
pub(super) fn ambiguous_message(
    option: &str,
    point: &TimePoint,
    times: &[Timestamp],
    count: u64,
    zone: &TimeZone,
) -> String {
    let mut texts: Vec<String> = times.iter().map(|at| time_text(*at, zone)).collect();
    // A clock that was set back shows the same time with the same date.
    texts.dedup();
    let is_set_back = texts.len() == 1;
    let listed = texts[..texts.len().min(MAX_LISTED)].join(", ");
    let more = count.saturating_sub(MAX_LISTED as u64);
    match (is_set_back, more) {
        (true, _) => format!(
            "{option} {point} occurs {count} times in the capture: its clock was set back over {listed}; use +DURATION \
             from the start"
        ),
        (false, 0) => format!("{option} {point} occurs {count} times in the capture; give one of {listed}"),
        (false, more) => {
            format!(
                "{option} {point} occurs {count} times in the capture; give one of {listed} or {more} more"
            )
        }
    }
}
