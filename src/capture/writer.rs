//! Writes samples as the text of a recording: a capture that pt-diskstats can read, with additional data in comments.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

/// Samples that were taken but not written, because the disk did not accept them and memory is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DroppedSamples {
    /// The number of these samples.
    #[serde(rename = "dropped_samples")]
    pub count: u64,
    /// The time of the first one; `None` if it is not known.
    #[serde(rename = "dropped_from", serialize_with = "write_time", deserialize_with = "read_time")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Timestamp>,
    /// The time of the last one; `None` if it is not known.
    #[serde(rename = "dropped_to", serialize_with = "write_time", deserialize_with = "read_time")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
}

impl DroppedSamples {
    /// Adds a sample, taken `at` this time.
    pub fn add(&mut self, at: Option<Timestamp>) {
        self.extend(Self { count: 1, first: at, last: at });
    }

    pub fn extend(&mut self, other: Self) {
        self.count += other.count;
        self.first = self.first.into_iter().chain(other.first).min();
        self.last = self.last.into_iter().chain(other.last).max();
    }
}

impl fmt::Display for DroppedSamples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.count == 1 { "" } else { "s" };
        write!(f, "{} sample{s}", self.count)?;
        if let Some((first, last)) = self.first.zip(self.last) {
            write!(f, " from {first:.0} to {last:.0}")?;
        }
        f.write_str(" dropped by the recorder, whose disk did not accept them")
    }
}

fn write_time<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.to_string()).serialize(serializer)
}

/// Reads a time; one that is not valid is not known.
fn read_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.and_then(|text| text.parse().ok()))
}

/// A time in which the recorder could not write. Samples were taken meanwhile and written later.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WriteStall {
    /// The length of that time.
    #[serde(rename = "write_stalled_s", serialize_with = "write_seconds")]
    pub duration: Duration,
    /// The error of the failed writes, such as `No space left on device`; `None` if the disk merely did not answer.
    #[serde(rename = "write_error", skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A change of the host's clocks between two samples, apart from the time that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockChange {
    /// Seconds by which the wall clock was set forward, or back if negative; `None` if it was not set.
    #[serde(rename = "clock_step_s", skip_serializing_if = "Option::is_none")]
    pub step_s: Option<f64>,
    /// Seconds that the host was suspended; `None` if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended_s: Option<f64>,
}

impl ClockChange {
    /// Compares the clocks at two samples. The monotonic clock stops while the host is suspended, but the uptime does
    /// not.
    pub fn between(older: &SampleTime, newer: &SampleTime) -> Self {
        /// The shortest suspend that is noticed: longer than it takes to read the uptime and then the clocks, even on a
        /// busy host.
        const MIN_SUSPENDED_S: f64 = 2.0;
        /// The smallest step that is noticed: more than the time between the readings of two clocks.
        const MIN_STEP_S: f64 = 0.2;
        /// The fastest slew that is not a step: twice as fast as the kernel slews a clock (adjtimex(2)).
        const MAX_SLEW_RATIO: f64 = 0.001;
        let since = |time: fn(&SampleTime) -> Option<f64>| Some(time(newer)? - time(older)?);
        let Some(elapsed_s) = since(|at| at.monotonic.map(|time| time.as_secs_f64())) else {
            return Self::default();
        };
        let uptime_s = since(|at| at.uptime.map(|hundredths| hundredths as f64 / 100.0));
        let suspended_s = uptime_s.map(|uptime_s| uptime_s - elapsed_s).filter(|s| *s >= MIN_SUSPENDED_S);
        // After a suspend, a step is known only as exactly as the length of the suspend.
        let min_step_s = if suspended_s.is_some() { MIN_SUSPENDED_S } else { MIN_STEP_S };
        let min_step_s = min_step_s.max(elapsed_s * MAX_SLEW_RATIO);
        let wall_s = since(|at| at.wall.map(|wall| wall.as_nanosecond() as f64 / 1e9));
        let step_s = wall_s.map(|wall_s| wall_s - elapsed_s - suspended_s.unwrap_or(0.0));
        let step_s = step_s.filter(|step_s| step_s.abs() >= min_step_s);
        Self { step_s: step_s.map(milliseconds), suspended_s: suspended_s.map(milliseconds) }
    }
}

/// Appends a note about a change of the clocks, if there is one.
pub fn write_clock_change(change: &ClockChange, out: &mut Vec<u8>) {
    if *change != ClockChange::default() {
        write_annotation(change, out);
    }
}

/// Rounds seconds to milliseconds.
fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

fn write_seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(milliseconds(duration.as_secs_f64()))
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

    fn at(monotonic_ms: u64, wall_ms: i64, uptime_cs: u64) -> SampleTime {
        SampleTime {
            monotonic: Some(Duration::from_millis(monotonic_ms)),
            wall: Timestamp::from_millisecond(1_800_000_000_000 + wall_ms).ok(),
            uptime: Some(uptime_cs),
        }
    }

    #[test]
    fn a_step_and_a_suspend_are_told_from_the_passing_of_time() {
        let start = at(1000, 0, 500);
        let change = |newer| ClockChange::between(&start, &newer);
        assert_eq!(change(at(2000, 1000, 600)), ClockChange::default());
        // A minute in which the clock is slewed, and a slow read of the uptime.
        assert_eq!(change(at(61_000, 60_030, 6_400)), ClockChange::default());
        // An hour in which it is slewed as fast as possible.
        assert_eq!(change(at(3_601_000, 3_601_800, 360_500)), ClockChange::default());
        assert_eq!(change(at(2000, -3_599_000, 600)).step_s, Some(-3600.0));
        let both = |change: ClockChange| (change.step_s, change.suspended_s);
        assert_eq!(both(change(at(2000, 301_000, 30_600))), (None, Some(300.0)));
        assert_eq!(both(change(at(2000, 3_901_000, 30_600))), (Some(3600.0), Some(300.0)));
        let unknown = SampleTime { monotonic: None, ..at(2000, 9_000_000, 600) };
        assert_eq!(change(unknown), ClockChange::default());
    }
}
