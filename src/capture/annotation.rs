//! Annotations: the lines that blkstat adds to a recording, `#blkstat ` and a JSON object. Other readers treat them as
//! comments. The first name in the object shows the kind of the line. Unknown names are ignored: later versions may
//! write more. The aliases are the names that version 0.1.0 wrote.
//!
//! The header of a recording has the host that was recorded, its devices, and the baselines for them. It takes several
//! lines if they are many. A sample is a capture that pt-diskstats can read, with additional data in annotations.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize, Serializer};

use super::MAX_LINE_BYTES;
use super::diskstats_line::Words;
use super::proc_files::cpu_line;
use super::scan_growth::{ScanGrowth, known};
use crate::baselines::{RecordedBaseline, RecordedBaselines};
use crate::counters::{HealthFacts, HostState, MissedScan, Sample};
use crate::topology::{Machine, Node, Topology, bounded_text};
use crate::units::{SampleTime, epoch_text};

/// The text that an annotation begins with.
const MARKER: &[u8] = b"#blkstat ";

/// An annotation that was read.
pub(super) enum Annotation {
    /// Begins a recording, or repeats its header.
    Header(Box<RecordingHeader>),
    /// Continues the lists of the header.
    HeaderLists(HeaderLists),
    /// The facts about the health of devices, or more of them.
    Health(HealthLine),
    /// A part of the scan of cgroups and processes that belongs to the next sample.
    IoScan(ScanGrowth),
    /// Notes that samples were dropped before the next one.
    DroppedSamples(DroppedSamples),
    /// Notes a change of the clocks before the next sample.
    ClockChange(ClockChange),
    /// Ends a sample.
    EndOfSample(EndOfSample),
}

/// A line with more devices of the header, or with baselines that belong to it.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct HeaderLists {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) devices: Vec<Node>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) baselines: Vec<RecordedBaseline>,
}

/// A line with facts about the health of devices.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct HealthLine {
    pub(super) health: HealthFacts,
    /// True if it adds devices to those of the line before it, because they do not fit on one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) continues: bool,
}

/// A line with a part of a scan.
#[derive(Serialize, Deserialize)]
pub(super) struct IoScanLine<T> {
    pub(super) io_scan: T,
}

/// The line that ends a sample. Messages about lines of no known kind have its name.
#[derive(Default, Serialize, Deserialize)]
#[serde(default, rename = "Annotation")]
pub(super) struct EndOfSample {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) monotonic_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uptime_cs: Option<u64>,
    #[serde(flatten)]
    pub(super) host: HostState,
    /// The number of deadlines that the recorder missed before the sample.
    #[serde(alias = "missed", skip_serializing_if = "Option::is_none")]
    pub(super) missed_samples: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known")]
    pub(super) missed_scan: Option<MissedScan>,
    /// True if the sample is complete.
    pub(super) complete: bool,
}

impl EndOfSample {
    fn of(sample: &Sample) -> Self {
        let Sample {
            at,
            host,
            missed_samples,
            missed_scan,
            ..
        } = sample;
        Self {
            monotonic_ns: at
                .monotonic
                .and_then(|time| u64::try_from(time.as_nanos()).ok()),
            uptime_cs: at.uptime,
            host: *host,
            missed_samples: Some(*missed_samples).filter(|missed| *missed > 0),
            missed_scan: *missed_scan,
            complete: true,
        }
    }
}

impl Annotation {
    /// Parses a line; `None` if it is not an annotation.
    pub(super) fn parse_line(line: &[u8]) -> Option<serde_json::Result<Self>> {
        let json = line.strip_prefix(MARKER)?;
        let names = json.strip_prefix(b"{\"").unwrap_or_default();
        let first_name = names.split(|byte| *byte == b'"').next();
        Some(match first_name.unwrap_or_default() {
            b"io_scan" => parse(json, |line: IoScanLine<ScanGrowth>| {
                Self::IoScan(line.io_scan)
            }),
            b"dropped_samples" | b"dropped_from" | b"dropped_to" => {
                parse(json, Self::DroppedSamples)
            }
            b"clock_step_s" | b"suspended_s" => parse(json, Self::ClockChange),
            // The names may be in any order, for example after another program changed the recording.
            _ if memchr::memmem::find(json, b"\"version\":").is_some() => {
                parse(json, |header: RecordingHeader| {
                    Self::Header(header.bounded().into())
                })
            }
            b"devices" | b"baselines" => parse(json, Self::HeaderLists),
            b"health" => parse(json, Self::Health),
            _ => parse(json, Self::EndOfSample),
        })
    }
}

fn parse<T: DeserializeOwned>(
    json: &[u8],
    annotation: impl FnOnce(T) -> Annotation,
) -> serde_json::Result<Annotation> {
    serde_json::from_slice(json).map(annotation)
}

/// Appends an annotation to `out`.
pub fn write_annotation(line: &impl Serialize, out: &mut Vec<u8>) {
    out.extend_from_slice(MARKER);
    // Cannot fail: the line is plain data, and a Vec accepts every write.
    let _ = serde_json::to_writer(&mut *out, line);
    out.push(b'\n');
}

/// Finds an annotation that begins within a line, after its first byte, and returns its position. This occurs if a
/// recording was appended, with `cat` for example, to a file whose last line was truncated.
pub(super) fn find_embedded_annotation(line: &[u8]) -> Option<usize> {
    memchr::memmem::find(line.get(1..)?, b"#blkstat {").map(|at| at + 1)
}

/// The length in bytes above which a list continues on further lines, because readers skip lines that are too long. A
/// longer element is left out.
pub(super) const MAX_LIST_BYTES: usize = MAX_LINE_BYTES / 2;

/// The header of a recording, whose first line it is. Values that are not known are `None`, or an empty topology.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordingHeader {
    /// The version of blkstat that made the recording.
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The kernel's release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The kernel's random identifier of this boot (`/proc/sys/kernel/random/boot_id`).
    #[serde(alias = "boot", skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// The number of CPUs, including those that are offline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<usize>,
    /// The machine as its firmware identifies itself.
    #[serde(skip_serializing_if = "Machine::is_unknown")]
    pub machine: Machine,
    /// The requested time between samples.
    #[serde(alias = "every_ns", skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// The block devices and how they are stacked.
    #[serde(rename = "devices")]
    pub topology: Topology,
    /// Only in recordings of version 0.2.0 that were made from the log of another tool: the values that their counters lack.
    #[serde(rename = "missing", skip_serializing)]
    pub lacking: Option<IgnoredAny>,
    /// The baselines that were given or saved for them.
    #[serde(skip)]
    pub baselines: RecordedBaselines,
}

impl RecordingHeader {
    /// Returns the header with shortened texts about the machine and its devices.
    pub(super) fn bounded(self) -> Self {
        let topology = Topology::new(bounded(self.topology.into()));
        Self {
            machine: self.machine.bounded(),
            topology,
            ..self
        }
    }
}

/// Shortens what the devices of a recording say of themselves.
pub(super) fn bounded(mut devices: Vec<Node>) -> Vec<Node> {
    for node in &mut devices {
        if let Some(model) = &mut node.model {
            *model = bounded_text(model);
        }
    }
    devices
}

/// Appends the lines that begin a recording, and that are repeated when the devices change.
pub fn write_header(header: &RecordingHeader, out: &mut Vec<u8>) {
    let nodes: Vec<Node> = header.topology.nodes().iter().filter_map(shorten).collect();
    let mut lists = split_list(&nodes).into_iter();
    let topology = Topology::new(lists.next().unwrap_or_default());
    write_annotation(
        &RecordingHeader {
            topology,
            ..header.clone()
        },
        out,
    );
    for devices in lists {
        write_annotation(
            &HeaderLists {
                devices,
                ..HeaderLists::default()
            },
            out,
        );
    }
    for baselines in split_list(header.baselines.iter()) {
        write_annotation(
            &HeaderLists {
                baselines,
                ..HeaderLists::default()
            },
            out,
        );
    }
}

/// Appends the lines with facts about the health of devices, which follow the header.
pub fn write_health(facts: &HealthFacts, out: &mut Vec<u8>) {
    let facts: Vec<_> = facts
        .iter()
        .map(|(name, health)| (name.clone(), Arc::clone(health)))
        .collect();
    for (index, health) in split_list(&facts).into_iter().enumerate() {
        let line = HealthLine {
            health: health.into_iter().collect(),
            continues: index > 0,
        };
        write_annotation(&line, out);
    }
}

/// Divides a list into lists that fit on a line.
pub(super) fn split_list<'a, T: Serialize + Clone + 'a>(
    elements: impl IntoIterator<Item = &'a T>,
) -> Vec<Vec<T>> {
    let mut lists: Vec<Vec<T>> = Vec::new();
    let mut free_bytes = 0;
    for element in elements {
        let bytes = json_bytes(element);
        if bytes > MAX_LIST_BYTES {
            continue;
        }
        match lists.last_mut() {
            Some(list) if bytes <= free_bytes => list.push(element.clone()),
            _ => {
                free_bytes = MAX_LIST_BYTES;
                lists.push(vec![element.clone()]);
            }
        }
        free_bytes -= bytes;
    }
    lists
}

/// Returns the length of an element in a list of JSON, with its comma.
pub(super) fn json_bytes(element: &impl Serialize) -> usize {
    serde_json::to_vec(element).map_or(usize::MAX, |json| json.len() + 1)
}

/// Returns a device that fits on a line. Leaves out its last mount points if it has too many; `None` if it does not fit
/// even without any.
fn shorten(node: &Node) -> Option<Node> {
    let mut node = node.clone();
    while json_bytes(&node) > MAX_LIST_BYTES {
        let half = node.mountpoints.len().checked_sub(1)? / 2;
        node.mountpoints.truncate(half);
    }
    Some(node)
}

/// Samples that were taken but not written, because the disk did not accept them and memory is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DroppedSamples {
    /// The number of these samples.
    #[serde(rename = "dropped_samples")]
    pub count: u64,
    /// The time of the first one; `None` if it is not known.
    #[serde(rename = "dropped_from", skip_serializing_if = "Option::is_none")]
    pub first: Option<Timestamp>,
    /// The time of the last one; `None` if it is not known.
    #[serde(rename = "dropped_to", skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
}

impl DroppedSamples {
    /// Adds a sample, taken `at` this time.
    pub fn add(&mut self, at: Option<Timestamp>) {
        self.extend(Self {
            count: 1,
            first: at,
            last: at,
        });
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
        let mut change = Self::default();
        let (Some(monotonic_before), Some(monotonic)) = (older.monotonic, newer.monotonic) else {
            return change;
        };
        let elapsed_s = monotonic.as_secs_f64() - monotonic_before.as_secs_f64();
        let mut min_step_s = MIN_STEP_S;
        let mut suspended_s = 0.0;
        if let (Some(before), Some(now)) = (older.uptime, newer.uptime) {
            let uptime_s = now as f64 / 100.0 - before as f64 / 100.0;
            if uptime_s - elapsed_s >= MIN_SUSPENDED_S {
                suspended_s = uptime_s - elapsed_s;
                change.suspended_s = Some(milliseconds(suspended_s));
                // After a suspend, a step is known only as exactly as the length of the suspend.
                min_step_s = MIN_SUSPENDED_S;
            }
        }
        if let (Some(before), Some(now)) = (older.wall, newer.wall) {
            let wall_s = now.as_nanosecond() as f64 / 1e9 - before.as_nanosecond() as f64 / 1e9;
            let step_s = wall_s - elapsed_s - suspended_s;
            if step_s.abs() >= min_step_s.max(elapsed_s * MAX_SLEW_RATIO) {
                change.step_s = Some(milliseconds(step_s));
            }
        }
        change
    }
}

/// Rounds seconds to milliseconds.
fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

fn write_seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(milliseconds(duration.as_secs_f64()))
}

/// The part of /proc/diskstats that is recorded; everything by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFilter {
    /// Only the lines of these devices; all if empty.
    pub devices: Vec<String>,
}

impl RecordFilter {
    /// Removes the devices that are not recorded.
    pub fn apply(&self, sample: &mut Sample) {
        if !self.devices.is_empty() {
            sample
                .devices
                .retain(|device| self.devices.contains(&device.name));
        }
    }

    /// Appends one sample to `out`, of which `diskstats` is the text: its `TS` line, the lines of /proc/diskstats, the CPU
    /// times, and an annotation that marks it as complete. Its wall-clock time must be known.
    pub fn write_sample(
        &self,
        sample: &Sample,
        diskstats: &[u8],
        zone: &TimeZone,
        out: &mut Vec<u8>,
    ) {
        let wall = sample.at.wall.unwrap_or(Timestamp::UNIX_EPOCH);
        let local = wall
            .to_zoned(zone.clone())
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string();
        let timestamp = format!("TS {} {local}\n", epoch_text(wall));
        out.extend_from_slice(timestamp.as_bytes());
        self.write_lines(diskstats, out);
        if let Some(cpu) = &sample.cpu {
            out.extend_from_slice(cpu_line(cpu).as_bytes());
            out.push(b'\n');
        }
        write_annotation(&EndOfSample::of(sample), out);
    }

    fn write_lines(&self, diskstats: &[u8], out: &mut Vec<u8>) {
        if self.devices.is_empty() {
            out.extend_from_slice(diskstats);
            end_line(out);
            return;
        }
        for line in diskstats.split_inclusive(|byte| *byte == b'\n') {
            let name = Words::new(line.trim_ascii_end())
                .nth(2)
                .map(String::from_utf8_lossy);
            if name.is_some_and(|name| self.devices.iter().any(|device| *device == name)) {
                out.extend_from_slice(line);
                end_line(out);
            }
        }
    }
}

fn end_line(out: &mut Vec<u8>) {
    if !out.is_empty() && !out.ends_with(b"\n") {
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            change(at(3_601_000, 3_601_800, 360_500)),
            ClockChange::default()
        );
        assert_eq!(change(at(2000, -3_599_000, 600)).step_s, Some(-3600.0));
        let both = |change: ClockChange| (change.step_s, change.suspended_s);
        assert_eq!(both(change(at(2000, 301_000, 30_600))), (None, Some(300.0)));
        assert_eq!(
            both(change(at(2000, 3_901_000, 30_600))),
            (Some(3600.0), Some(300.0))
        );
        let unknown = SampleTime {
            monotonic: None,
            ..at(2000, 9_000_000, 600)
        };
        assert_eq!(change(unknown), ClockChange::default());
    }
}

#[cfg(test)]
mod writer_tests {
    use std::time::Duration;

    use super::*;
    use crate::capture::proc_files::parse_cpu_line;

    const LINES: &str =
        "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n   8       1 sda1 1 2 3 4\n";

    fn written(diskstats: &str, filter: &RecordFilter) -> String {
        let at = SampleTime {
            monotonic: Some(Duration::from_nanos(5_000_000_007)),
            wall: Timestamp::new(1_795_198_931, 256_512).ok(),
            uptime: Some(1234),
        };
        let host = HostState {
            blocked: Some(2),
            dirty_kib: Some(3),
            ..HostState::default()
        };
        let sample = Sample {
            at,
            cpu: parse_cpu_line(b"cpu  1 2 3 4"),
            host,
            ..Sample::default()
        };
        let mut out = Vec::new();
        filter.write_sample(&sample, diskstats.as_bytes(), &TimeZone::UTC, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_sample_is_what_pt_diskstats_reads_and_an_end_mark() {
        let expected = format!(
            "TS 1795198931.000256512 2026-11-20 18:22:11\n{LINES}cpu  1 2 3 4 0 0 0 0 0 0\n\
             #blkstat {{\"monotonic_ns\":5000000007,\"uptime_cs\":1234,\"blocked\":2,\"dirty_kib\":3,\"complete\":true}}\n"
        );
        assert_eq!(written(LINES, &RecordFilter::default()), expected);
        assert_eq!(
            written(LINES.trim_end(), &RecordFilter::default()),
            expected
        );
    }

    #[test]
    fn only_the_lines_of_the_selected_devices_are_written() {
        let text = written(
            LINES,
            &RecordFilter {
                devices: vec!["sda1".into()],
            },
        );
        assert!(
            text.contains(":11\n   8       1 sda1 1 2 3 4\ncpu "),
            "{text}"
        );
    }
}
