//! The line above the devices of an interval: the time, and the host.

use jiff::tz::TimeZone;

use crate::intervals::IntervalHeader;
use crate::report::layout::number_format::percent;

/// Below this width the segments are abbreviated.
const MIN_LONG_WIDTH: usize = 100;
/// From this length on, in seconds, an interval is shown with one decimal instead of three.
const COARSE_S: f64 = 9.995;

/// Returns the date of an interval with its time zone; empty without a wall clock.
pub(super) fn date(header: &IntervalHeader, time_zone: &TimeZone) -> String {
    let zoned = header.end.map(|time| time.to_zoned(time_zone.clone()));
    zoned.map(|time| time.strftime("%Y-%m-%d %Z").to_string()).unwrap_or_default()
}

/// Returns the time of day, the length of the interval, and as much of the host as fits into `width`.
pub(super) fn header_line(header: &IntervalHeader, time_zone: &TimeZone, width: usize) -> String {
    let zoned = header.end.map(|time| time.to_zoned(time_zone.clone()));
    let time = zoned.map(|time| time.strftime("%H:%M:%S").to_string());
    let decimals = if header.elapsed_s < COARSE_S { 3 } else { 1 };
    let time = time.unwrap_or_else(|| "--:--:--".to_owned());
    let mut line = format!("{time}  {:.decimals$}s", header.elapsed_s);
    for segment in header_segments(header, width < MIN_LONG_WIDTH) {
        if line.chars().count() + 2 + segment.chars().count() <= width {
            line += "  ";
            line += &segment;
        }
    }
    line
}

/// Returns the segments of the line, the most important first.
fn header_segments(header: &IntervalHeader, is_short: bool) -> Vec<String> {
    let host = &header.host;
    let mut segments = Vec::new();
    if let Some(cpu) = &host.cpu {
        let share = |value: f64| format!("{value:.0}%");
        let (user, system, available) =
            (share(cpu.user + cpu.nice), share(cpu.system), share(cpu.available()));
        let steal = if cpu.steal >= 1.0 { format!(" {} steal", share(cpu.steal)) } else { String::new() };
        segments.push(if is_short {
            format!("cpu {user} user {system} sys {available} avail{steal}")
        } else {
            format!("cpu: {user} user {system} system {available} available{steal}")
        });
    }
    if let Some(blocked) = host.blocked {
        segments.push(if is_short { format!("blocked {blocked}") } else { format!("blocked: {blocked}") });
    }
    if let Some((some, full)) = host.pressure_some_pct.zip(host.pressure_full_pct) {
        let (some, full) = (percent(some), percent(full));
        segments.push(if is_short {
            format!("io {some} some {full} full")
        } else {
            format!("pressure: {some} some {full} full")
        });
    }
    if header.missed_samples > 0 {
        segments.push(format!("missed: {}", header.missed_samples));
    }
    segments
}
