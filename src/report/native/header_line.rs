//! The line above the devices of an interval: the time, and the host.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::style::Emphasis;
use crate::analysis::high_memory_pressure_pct;
use crate::intervals::IntervalHeader;
use crate::metrics::CpuPercentages;
use crate::report::layout::fit_columns;
use crate::report::layout::number_format::percent;

/// The length in seconds from which an interval is shown with one decimal instead of three.
const COARSE_S: f64 = 9.995;

/// Returns the date of an interval with its time zone; empty without a wall clock.
pub(super) fn date(header: &IntervalHeader, time_zone: &TimeZone) -> String {
    let zoned = header.end.map(|time| time.to_zoned(time_zone.clone()));
    zoned.map(|time| time.strftime("%Y-%m-%d %Z").to_string()).unwrap_or_default()
}

pub(super) fn time_of_day(time: Timestamp, time_zone: &TimeZone) -> String {
    time.to_zoned(time_zone.clone()).strftime("%H:%M:%S").to_string()
}

/// A segment of the line with its emphasis.
pub(super) type Segment = (String, Emphasis);

pub(super) const GAP: &str = "  ";

/// Returns the segments of the line: the time of day with the length of the interval, and the host. Segments that do not
/// fit into `width` are left out, the least important ones first.
pub(super) fn header_line(header: &IntervalHeader, time_zone: &TimeZone, width: usize) -> Vec<Segment> {
    let host = &header.host;
    let plain = |text: String| (text, Emphasis::Plain);
    let time = header.end.map_or_else(|| "--:--:--".to_owned(), |end| time_of_day(end, time_zone));
    let decimals = if header.elapsed_s < COARSE_S { 3 } else { 1 };
    let pressure = host.pressure_some_pct.zip(host.pressure_full_pct).map(|(some, full)| {
        let text = format!("io {} some {} full", percent(some), percent(full));
        (text, Emphasis::of_pressure(some, full))
    });
    let memory =
        high_memory_pressure_pct(host).map(|some| (format!("mem {} some", percent(some)), Emphasis::Warning));
    let missed = (header.missed_samples > 0).then(|| format!("missed: {}", header.missed_samples));
    // From left to right, with ranks: those that are not always there come last, so that the others keep their places.
    let segments = [
        (6, Some(plain(format!("{time}  {:.decimals$}s", header.elapsed_s)))),
        (3, host.cpu.as_ref().map(cpu_text).map(plain)),
        (5, pressure),
        (1, host.blocked.map(|blocked| plain(format!("blocked {blocked}")))),
        (4, memory),
        (2, missed.map(plain)),
    ];
    let (ranks, segments): (Vec<u8>, Vec<Segment>) =
        segments.into_iter().filter_map(|(rank, segment)| Some((rank, segment?))).unzip();
    let widths: Vec<usize> = segments.iter().map(|(text, _)| GAP.len() + text.chars().count()).collect();
    let mut kept = fit_columns(&widths, &ranks, width.saturating_add(GAP.len())).kept;
    if kept.is_empty() {
        // The time is always there.
        kept.push(0);
    }
    kept.into_iter().filter_map(|index| segments.get(index).cloned()).collect()
}

fn cpu_text(cpu: &CpuPercentages) -> String {
    let share = |value: f64| format!("{value:.0}%");
    let (user, system, available) = (share(cpu.user + cpu.nice), share(cpu.system), share(cpu.available()));
    let steal = if cpu.steal >= 1.0 { format!(" {} steal", share(cpu.steal)) } else { String::new() };
    format!("cpu {user} user {system} sys {available} avail{steal}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::HostStats;

    #[test]
    fn pressure_stays_longest_where_space_is_short() {
        let host = HostStats {
            cpu: Some(CpuPercentages { user: 72.0, system: 20.0, iowait: 8.0, ..CpuPercentages::default() }),
            blocked: Some(12),
            pressure_some_pct: Some(26.0),
            pressure_full_pct: Some(7.0),
            memory_pressure_some_pct: Some(12.0),
            ..HostStats::default()
        };
        let header = IntervalHeader { elapsed_s: 1.0, missed_samples: 3, host, ..IntervalHeader::default() };
        for (width, expected) in [
            (
                120,
                "--:--:--  1.000s  cpu 72% user 20% sys 8% avail  io 26% some 7.0% full  blocked 12  mem 12% some  missed: 3",
            ),
            (
                100,
                "--:--:--  1.000s  cpu 72% user 20% sys 8% avail  io 26% some 7.0% full  mem 12% some  missed: 3",
            ),
            (86, "--:--:--  1.000s  cpu 72% user 20% sys 8% avail  io 26% some 7.0% full  mem 12% some"),
            (80, "--:--:--  1.000s  io 26% some 7.0% full  mem 12% some"),
            (50, "--:--:--  1.000s  io 26% some 7.0% full"),
            (38, "--:--:--  1.000s"),
            (5, "--:--:--  1.000s"),
        ] {
            let segments = header_line(&header, &TimeZone::UTC, width);
            let texts: Vec<String> = segments.into_iter().map(|(text, _)| text).collect();
            assert_eq!(texts.join(GAP), expected, "{width}");
        }
    }
}
