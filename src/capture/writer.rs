//! Writes samples as the text of a recording: a capture that pt-diskstats can read, with additional data in comments.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::annotation::ClockChange;
use super::annotation::{EndOfSample, write_annotation};
use super::diskstats_line::Words;
use crate::counters::{HostState, Sample};
use crate::units::SampleTime;

/// The part of /proc/diskstats that is recorded; everything by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFilter {
    /// Only the lines of these devices; all if empty.
    pub devices: Vec<String>,
    /// At most this many columns, including major number, minor number and name.
    pub columns: Option<usize>,
}

/// One sample to record: the texts of files and other values.
#[derive(Clone, Copy, Debug)]
pub struct SampleText<'a> {
    /// The time at which it was taken; the wall-clock time must be known.
    pub at: SampleTime,
    /// The text of /proc/diskstats.
    pub diskstats: &'a [u8],
    /// The `cpu` line of /proc/stat without its newline; empty if it is not known.
    pub cpu: &'a [u8],
    pub host: HostState,
    /// The number of deadlines that were missed before it.
    pub missed_samples: u64,
}

/// Appends one sample to `out`: its `TS` line, the lines of /proc/diskstats, the CPU times, and an annotation that
/// marks it as complete.
pub fn write_sample(sample: &SampleText<'_>, filter: &RecordFilter, zone: &TimeZone, out: &mut Vec<u8>) {
    let wall = sample.at.wall.unwrap_or(Timestamp::UNIX_EPOCH);
    let local = wall.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string();
    let timestamp = format!("TS {}.{:09} {local}\n", wall.as_second(), wall.subsec_nanosecond());
    out.extend_from_slice(timestamp.as_bytes());
    filter.write(sample.diskstats, out);
    if !sample.cpu.is_empty() {
        out.extend_from_slice(sample.cpu);
        out.push(b'\n');
    }
    write_annotation(&EndOfSample::new(sample.at, &sample.host, sample.missed_samples), out);
}

impl RecordFilter {
    /// Removes the devices that are not recorded.
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
            let name = Words::new(line.trim_ascii_end()).nth(2).map(String::from_utf8_lossy);
            if !self.devices.is_empty() && !name.is_some_and(|name| self.devices.iter().any(|d| *d == name)) {
                continue;
            }
            out.extend_from_slice(self.columns.map_or(line, |columns| first_columns(line, columns)));
            end_line(out);
        }
    }
}

/// Returns a line up to the end of this column, counted from 1; the whole line if it has fewer.
fn first_columns(line: &[u8], columns: usize) -> &[u8] {
    let mut words = Words::new(line.trim_ascii_end());
    match columns.checked_sub(1).and_then(|before| words.nth(before)) {
        Some(_) => &line[..line.trim_ascii_end().len() - words.rest.len()],
        None => line,
    }
}

fn end_line(out: &mut Vec<u8>) {
    if out.last().is_some_and(|byte| *byte != b'\n') {
        out.push(b'\n');
    }
}

/// Appends a note about a change of the clocks, if there is one.
pub fn write_clock_change(change: &ClockChange, out: &mut Vec<u8>) {
    if *change != ClockChange::default() {
        write_annotation(change, out);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LINES: &str =
        "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n   8       1 sda1 1 2 3 4\n";

    fn written(diskstats: &str, filter: &RecordFilter) -> String {
        let at = SampleTime {
            monotonic: Some(Duration::from_nanos(5_000_000_007)),
            wall: Timestamp::new(1_795_198_931, 256_512).ok(),
            uptime: Some(1234),
        };
        let host = HostState { blocked: Some(2), dirty_kib: Some(3), ..HostState::default() };
        let sample =
            SampleText { at, diskstats: diskstats.as_bytes(), cpu: b"cpu  1 2 3 4", host, missed_samples: 0 };
        let mut out = Vec::new();
        write_sample(&sample, filter, &TimeZone::UTC, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_sample_is_what_pt_diskstats_reads_and_an_end_mark() {
        let expected = format!(
            "TS 1795198931.000256512 2026-11-20 18:22:11\n{LINES}cpu  1 2 3 4\n\
             #blkstat {{\"monotonic_ns\":5000000007,\"uptime_cs\":1234,\"blocked\":2,\"dirty_kib\":3,\"complete\":true}}\n"
        );
        assert_eq!(written(LINES, &RecordFilter::default()), expected);
        assert_eq!(written(LINES.trim_end(), &RecordFilter::default()), expected);
    }

    #[test]
    fn longer_lines_are_cut_to_fourteen_columns_and_shorter_ones_kept() {
        let text = written(LINES, &RecordFilter { columns: Some(14), ..RecordFilter::default() });
        assert!(
            text.contains("\n   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n   8       1 sda1 1 2 3 4\ncpu "),
            "{text}"
        );
    }

    #[test]
    fn only_the_lines_of_the_selected_devices_are_written() {
        let text = written(LINES, &RecordFilter { devices: vec!["sda1".into()], ..RecordFilter::default() });
        assert!(text.contains(":11\n   8       1 sda1 1 2 3 4\ncpu "), "{text}");
    }
}
