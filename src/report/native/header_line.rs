//! The line above the devices of an interval: the time, and the host.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::style::Emphasis;
use crate::analysis::high_memory_pressure_pct;
use crate::intervals::IntervalHeader;
use crate::metrics::CpuPercentages;
use crate::report::layout::number_format::percent;

/// Below this width the segments are abbreviated.
const MIN_LONG_WIDTH: usize = 100;
/// The length in seconds from which an interval is shown with one decimal instead of three.
const COARSE_S: f64 = 9.995;

/// Returns the date of an interval with its time zone; empty without a wall clock.
pub(super) fn date(header: &IntervalHeader, time_zone: &TimeZone) -> String {
    let zoned = header.end.map(|time| time.to_zoned(time_zone.clone()));
    zoned.map(|time| time.strftime("%Y-%m-%d %Z").to_string()).unwrap_or_default()
}

/// Returns the time of day.
pub(super) fn time_of_day(time: Timestamp, time_zone: &TimeZone) -> String {
    time.to_zoned(time_zone.clone()).strftime("%H:%M:%S").to_string()
}

/// A segment of the line with its emphasis.
pub(super) type Segment = (String, Emphasis);

/// The blanks between segments.
pub(super) const GAP: &str = "  ";

/// Returns the segments of the line: the time of day with the length of the interval, and as much of the host as fits
/// into `width`.
pub(super) fn header_line(header: &IntervalHeader, time_zone: &TimeZone, width: usize) -> Vec<Segment> {
    let time = header.end.map(|end| time_of_day(end, time_zone));
    let decimals = if header.elapsed_s < COARSE_S { 3 } else { 1 };
    let time = time.unwrap_or_else(|| "--:--:--".to_owned());
    let start = format!("{time}  {:.decimals$}s", header.elapsed_s);
    let fits = |line: &Vec<Segment>| {
        let gaps = GAP.len() * line.len().saturating_sub(1);
        line.iter().map(|(text, _)| text.chars().count()).sum::<usize>() + gaps <= width
    };
    let lines = DETAILS.iter().filter(|detail| width >= MIN_LONG_WIDTH || detail.cpu != Cpu::Long);
    let line = lines.map(|detail| detail.line(&start, header)).find(fits);
    line.unwrap_or_else(|| vec![(start, Emphasis::Plain)])
}

/// The length of the CPU segment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cpu {
    Long,
    Short,
    Available,
    None,
}

/// The segments of a line.
struct Detail {
    cpu: Cpu,
    has_blocked: bool,
    has_missed: bool,
    has_full_pressure: bool,
    has_memory: bool,
}

const fn detail(cpu: Cpu, has_blocked: bool, has_memory: bool) -> Detail {
    Detail { cpu, has_blocked, has_memory, has_missed: true, has_full_pressure: true }
}

/// The levels of detail, from most to least. I/O pressure is dropped last.
const DETAILS: [Detail; 8] = [
    detail(Cpu::Long, true, true),
    detail(Cpu::Short, true, true),
    detail(Cpu::Available, true, true),
    detail(Cpu::Available, false, true),
    detail(Cpu::None, false, true),
    detail(Cpu::None, false, false),
    Detail { has_missed: false, ..detail(Cpu::None, false, false) },
    Detail { has_missed: false, has_full_pressure: false, ..detail(Cpu::None, false, false) },
];

impl Detail {
    /// Returns the line with these segments after its start.
    fn line(&self, start: &str, header: &IntervalHeader) -> Vec<Segment> {
        let mut segments = vec![(start.to_owned(), Emphasis::Plain)];
        let plain = |text| (text, Emphasis::Plain);
        let host = &header.host;
        let is_long = self.cpu == Cpu::Long;
        segments.extend(host.cpu.as_ref().and_then(|cpu| cpu_segment(cpu, self.cpu)).map(plain));
        if let Some(blocked) = host.blocked.filter(|_| self.has_blocked) {
            let colon = if is_long { ":" } else { "" };
            segments.push(plain(format!("blocked{colon} {blocked}")));
        }
        if let Some((some, full)) = host.pressure_some_pct.zip(host.pressure_full_pct) {
            let emphasis = Emphasis::of_pressure(some, full);
            let (some, full) = (percent(some), percent(full));
            let text = match (is_long, self.has_full_pressure) {
                (true, _) => format!("pressure: {some} some {full} full"),
                (_, true) => format!("io {some} some {full} full"),
                (_, false) => format!("io {some} some"),
            };
            segments.push((text, emphasis));
        }
        if let Some(some) = high_memory_pressure_pct(host).filter(|_| self.has_memory) {
            let name = if is_long { "memory:" } else { "mem" };
            segments.push((format!("{name} {} some", percent(some)), Emphasis::Warning));
        }
        if header.missed_samples > 0 && self.has_missed {
            segments.push(plain(format!("missed: {}", header.missed_samples)));
        }
        segments
    }
}

/// Returns the CPU segment; `None` if it is left out.
fn cpu_segment(cpu: &CpuPercentages, length: Cpu) -> Option<String> {
    let share = |value: f64| format!("{value:.0}%");
    let (user, system, available) = (share(cpu.user + cpu.nice), share(cpu.system), share(cpu.available()));
    let steal = if cpu.steal >= 1.0 { format!(" {} steal", share(cpu.steal)) } else { String::new() };
    match length {
        Cpu::Long => Some(format!("cpu: {user} user {system} system {available} available{steal}")),
        Cpu::Short => Some(format!("cpu {user} user {system} sys {available} avail{steal}")),
        Cpu::Available => Some(format!("cpu {available} avail")),
        Cpu::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::HostStats;

    /// The header of a second without a wall clock.
    fn header(missed_samples: u64, host: HostStats) -> IntervalHeader {
        IntervalHeader { elapsed_s: 1.0, missed_samples, host, ..IntervalHeader::default() }
    }

    #[test]
    fn pressure_stays_while_the_cpu_is_shortened() {
        let cpu = CpuPercentages { user: 72.0, system: 20.0, iowait: 8.0, ..CpuPercentages::default() };
        let host = HostStats {
            cpu: Some(cpu),
            blocked: Some(12),
            pressure_some_pct: Some(26.0),
            pressure_full_pct: Some(7.0),
            ..HostStats::default()
        };
        let header = header(3, host);
        for (width, expected) in [
            (
                100,
                "--:--:--  1.000s  cpu 72% user 20% sys 8% avail  blocked 12  io 26% some 7.0% full  missed: 3",
            ),
            (80, "--:--:--  1.000s  cpu 8% avail  blocked 12  io 26% some 7.0% full  missed: 3"),
            (70, "--:--:--  1.000s  cpu 8% avail  io 26% some 7.0% full  missed: 3"),
            (60, "--:--:--  1.000s  io 26% some 7.0% full  missed: 3"),
            (39, "--:--:--  1.000s  io 26% some 7.0% full"),
            (38, "--:--:--  1.000s  io 26% some"),
            (20, "--:--:--  1.000s"),
        ] {
            let segments = header_line(&header, &TimeZone::UTC, width);
            let texts: Vec<String> = segments.into_iter().map(|(text, _)| text).collect();
            assert_eq!(texts.join(GAP), expected, "{width}");
        }
    }

    #[test]
    fn memory_pressure_gives_way_to_io_pressure() {
        let host = HostStats {
            cpu: Some(CpuPercentages { user: 72.0, ..CpuPercentages::default() }),
            pressure_some_pct: Some(26.0),
            pressure_full_pct: Some(7.0),
            memory_pressure_some_pct: Some(12.0),
            ..HostStats::default()
        };
        let header = header(0, host);
        for (width, expected) in [
            (60, "--:--:--  1.000s  io 26% some 7.0% full  mem 12% some"),
            (52, "--:--:--  1.000s  io 26% some 7.0% full"),
            (38, "--:--:--  1.000s  io 26% some"),
        ] {
            let segments = header_line(&header, &TimeZone::UTC, width);
            let texts: Vec<String> = segments.into_iter().map(|(text, _)| text).collect();
            assert_eq!(texts.join(GAP), expected, "{width}");
        }
    }
}
