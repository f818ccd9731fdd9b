//! Samples as the text of a recording: what pt-diskstats reads, and in lines that it passes over what we know more.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::RecordingHeader;
use super::note::{Annotation, write_recorded};
use crate::counters::{HostState, Sample};
use crate::units::SampleTime;

/// What is kept of the lines of /proc/diskstats; everything by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFilter {
    /// Only the lines of these devices; all where it is empty.
    pub devices: Vec<String>,
    /// No more columns than these, major number, minor number and name included.
    pub columns: Option<usize>,
}

/// One reading as it is to be written.
#[derive(Clone, Copy, Debug)]
pub struct SampleText<'a> {
    /// When it was taken. Without a wall clock it cannot be written.
    pub at: SampleTime,
    /// The text of /proc/diskstats.
    pub diskstats: &'a [u8],
    /// The line `cpu ` of /proc/stat, without its newline; empty where it is not known.
    pub cpu: &'a [u8],
    /// The machine as a whole.
    pub host: HostState,
    /// Deadlines that were skipped before it.
    pub missed_samples: u64,
}

/// Writes what begins a recording, and what is written again when the devices change.
pub fn write_header(recorded: &RecordingHeader, out: &mut Vec<u8>) {
    write_recorded(recorded, out);
}

/// Writes one sample: its `TS` line, the lines of /proc/diskstats, the CPU times, and a line that tells that it is
/// whole.
pub fn write_sample(reading: &SampleText<'_>, kept: &RecordFilter, zone: &TimeZone, out: &mut Vec<u8>) {
    let wall = reading.at.wall.unwrap_or(Timestamp::UNIX_EPOCH);
    let local = wall.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string();
    let stamp = format!("TS {}.{:09} {local}\n", wall.as_second(), wall.subsec_nanosecond());
    out.extend_from_slice(stamp.as_bytes());
    kept.write(reading.diskstats, out);
    if !reading.cpu.is_empty() {
        out.extend_from_slice(reading.cpu);
        out.push(b'\n');
    }
    let (at, machine) = (&reading.at, &reading.host);
    Annotation::end_of_sample(at.monotonic, at.uptime, machine, reading.missed_samples).write(out);
}

impl RecordFilter {
    /// Has a sample hold no more than what is kept.
    pub fn apply(&self, sample: &mut Sample) {
        if !self.devices.is_empty() {
            sample.devices.retain(|device| self.devices.contains(&device.name));
        }
    }

    fn write(&self, diskstats: &[u8], out: &mut Vec<u8>) {
        if self.devices.is_empty() && self.columns.is_none() {
            out.extend_from_slice(diskstats);
            end_line(out);
            return;
        }
        for line in diskstats.split_inclusive(|byte| *byte == b'\n') {
            let name = words(line).nth(2).map(|(_, word)| String::from_utf8_lossy(word));
            if !self.devices.is_empty() && !name.is_some_and(|name| self.devices.iter().any(|d| *d == name)) {
                continue;
            }
            let cut = self.columns.and_then(|columns| words(line).nth(columns.checked_sub(1)?));
            match cut {
                Some((end, _)) => out.extend_from_slice(&line[..end]),
                None => out.extend_from_slice(line),
            }
            end_line(out);
        }
    }
}

/// The words of a line, and where each ends.
fn words(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + line[from..].iter().position(|byte| !byte.is_ascii_whitespace())?;
        let rest = &line[start..];
        let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        from = start + length;
        Some((from, &rest[..length]))
    })
}

fn end_line(out: &mut Vec<u8>) {
    if out.last().is_some_and(|byte| *byte != b'\n') {
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const LINES: &str =
        "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n   8       1 sda1 1 2 3 4\n";

    fn written(diskstats: &str, kept: &RecordFilter) -> String {
        let at = SampleTime {
            monotonic: Some(Duration::from_nanos(5_000_000_007)),
            wall: Timestamp::new(1_795_198_931, 256_512).ok(),
            uptime: Some(1234),
        };
        let machine = HostState { blocked: Some(2), dirty_kib: Some(3), ..HostState::default() };
        let reading = SampleText {
            at,
            diskstats: diskstats.as_bytes(),
            cpu: b"cpu  1 2 3 4",
            host: machine,
            missed_samples: 0,
        };
        let mut out = Vec::new();
        write_sample(&reading, kept, &TimeZone::UTC, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_sample_is_what_pt_diskstats_reads_and_an_end() {
        let expected = format!(
            "TS 1795198931.000256512 2026-11-20 18:22:11\n{LINES}cpu  1 2 3 4\n\
             #blkstat {{\"monotonic_ns\":5000000007,\"uptime_cs\":1234,\"blocked\":2,\"dirty_kib\":3,\"complete\":true}}\n"
        );
        assert_eq!(written(LINES, &RecordFilter::default()), expected);
        assert_eq!(written(LINES.trim_end(), &RecordFilter::default()), expected);
    }

    #[test]
    fn fourteen_columns_of_more_and_fewer_as_they_are() {
        let text = written(LINES, &RecordFilter { columns: Some(14), ..RecordFilter::default() });
        assert!(
            text.contains("\n   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n   8       1 sda1 1 2 3 4\ncpu "),
            "{text}"
        );
    }

    #[test]
    fn only_the_lines_of_the_devices_that_are_kept() {
        let text = written(LINES, &RecordFilter { devices: vec!["sda1".into()], ..RecordFilter::default() });
        assert!(text.contains(":11\n   8       1 sda1 1 2 3 4\ncpu "), "{text}");
    }
}
