//! Annotations: the lines that blkstat adds to a recording, `#blkstat ` and a JSON object. Other readers treat them as
//! comments. One at the start describes the recording, others after it continue its lists of devices and baselines, one
//! ends each sample, and others note what happened between samples.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::diskstats_line::excerpt;
use super::recorded_scan::RecordedScan;
use super::recorder_notes::{ClockChange, DroppedSamples, WriteStall};
use super::recording_header::RecordingHeader;
use crate::baselines::{RecordedBaseline, RecordedBaselines};
use crate::counters::{HostState, Pressure, SwappedPages};
use crate::topology::{Machine, Node, Topology, bounded_text};

/// The text that an annotation begins with.
const MARKER: &[u8] = b"#blkstat ";

/// The JSON object of an annotation. Unknown names are ignored: later versions may write more. The aliases are the
/// names that version 0.1.0 wrote.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Annotation {
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    #[serde(alias = "boot", skip_serializing_if = "Option::is_none")]
    boot_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpus: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<Machine>,
    #[serde(alias = "every_ns", skip_serializing_if = "Option::is_none")]
    interval_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    devices: Option<Vec<Node>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baselines: Option<Vec<RecordedBaseline>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    monotonic_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uptime_cs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pressure_us: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_pressure_us: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swapped_pages: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dirty_kib: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    writeback_kib: Option<u64>,
    #[serde(alias = "missed", skip_serializing_if = "Option::is_none")]
    missed_samples: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    io_scan: Option<Box<RecordedScan>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped_samples: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_stalled_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_step_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspended_s: Option<f64>,
}

/// The reason why the JSON of an annotation is invalid.
pub(super) enum AnnotationError {
    /// The JSON ends early.
    Truncated,
    /// Any other reason, as text.
    Invalid(String),
}

impl Annotation {
    /// Parses a line; `None` if it is not an annotation.
    pub(super) fn parse_line(line: &[u8]) -> Option<Result<Self, AnnotationError>> {
        let json = line.strip_prefix(MARKER)?;
        Some(serde_json::from_slice(json).map_err(|error| {
            if error.is_eof() {
                AnnotationError::Truncated
            } else {
                AnnotationError::Invalid(excerpt(error.to_string().as_bytes()))
            }
        }))
    }

    /// Creates the first line of a recording, with an empty list of devices.
    pub(super) fn header(header: &RecordingHeader) -> Self {
        Self {
            version: Some(header.version.clone()),
            host: header.host.clone(),
            kernel: header.kernel.clone(),
            boot_id: header.boot_id.clone(),
            cpus: header.cpus,
            machine: Some(header.machine.clone()).filter(|machine| !machine.is_unknown()),
            interval_ns: header.interval.and_then(nanoseconds),
            ..Self::more_devices()
        }
    }

    /// Creates a line that continues the list of devices, still empty.
    pub(super) fn more_devices() -> Self {
        Self { devices: Some(Vec::new()), ..Self::default() }
    }

    /// Creates a line with a list of baselines, still empty.
    pub(super) fn more_baselines() -> Self {
        Self { baselines: Some(Vec::new()), ..Self::default() }
    }

    /// Adds a baseline to the list.
    pub(super) fn push_baseline(&mut self, baseline: RecordedBaseline) {
        self.baselines.get_or_insert_default().push(baseline);
    }

    /// Extracts the baselines, which belong to the previous header; empty if there are none.
    pub(super) fn take_baselines(&mut self) -> Vec<RecordedBaseline> {
        self.baselines.take().unwrap_or_default()
    }

    /// Adds a device to the list.
    pub(super) fn push_device(&mut self, node: Node) {
        self.devices.get_or_insert_default().push(node);
    }

    /// Creates the line that ends a sample.
    pub(super) fn end_of_sample(
        monotonic: Option<Duration>,
        uptime: Option<u64>,
        host: &HostState,
        missed_samples: u64,
    ) -> Self {
        Self {
            monotonic_ns: monotonic.and_then(nanoseconds),
            uptime_cs: uptime,
            blocked: host.blocked,
            pressure_us: host.pressure.map(totals),
            memory_pressure_us: host.memory_pressure.map(totals),
            swapped_pages: host.swapped.map(|swapped| [swapped.pages_in, swapped.pages_out]),
            dirty_kib: host.dirty_kib,
            writeback_kib: host.writeback_kib,
            missed_samples: Some(missed_samples).filter(|missed| *missed > 0),
            complete: Some(true),
            ..Self::default()
        }
    }

    /// Creates the line before a sample that notes which samples before it were dropped.
    pub(super) fn dropped_samples(dropped: &DroppedSamples) -> Self {
        Self {
            dropped_samples: Some(dropped.count),
            dropped_from: dropped.first.map(|at| at.to_string()),
            dropped_to: dropped.last.map(|at| at.to_string()),
            ..Self::default()
        }
    }

    /// Creates the line before a sample that notes that nothing could be written for a time.
    pub(super) fn write_stall(stall: &WriteStall) -> Self {
        Self {
            write_stalled_s: Some(milliseconds(stall.duration.as_secs_f64())),
            write_error: stall.error.clone(),
            ..Self::default()
        }
    }

    /// Creates the line before a sample that notes a change of the clocks.
    pub(super) fn clock_change(change: &ClockChange) -> Self {
        Self {
            clock_step_s: change.step_s.map(milliseconds),
            suspended_s: change.suspended_s.map(milliseconds),
            ..Self::default()
        }
    }

    /// Returns the samples that were dropped before the next one; their number is 0 if none were.
    pub(super) fn dropped(&self) -> DroppedSamples {
        let time = |text: &Option<String>| text.as_ref()?.parse().ok();
        DroppedSamples {
            count: self.dropped_samples.unwrap_or(0),
            first: time(&self.dropped_from),
            last: time(&self.dropped_to),
        }
    }

    /// Returns the change of the clocks that this line notes, if any.
    pub(super) fn noted_clock_change(&self) -> ClockChange {
        ClockChange { step_s: self.clock_step_s, suspended_s: self.suspended_s }
    }

    /// Creates a line with a part of the scan that belongs to the next sample.
    pub(super) fn io_scan(part: RecordedScan) -> Self {
        Self { io_scan: Some(Box::new(part)), ..Self::default() }
    }

    /// Extracts the part of a scan; `None` if the line has none.
    pub(super) fn take_io_scan(&mut self) -> Option<RecordedScan> {
        self.io_scan.take().map(|part| *part)
    }

    /// Returns whether this line ends a sample.
    pub(super) fn is_complete(&self) -> bool {
        self.complete == Some(true)
    }

    /// Returns the monotonic time of the sample; `None` if it was not recorded.
    pub(super) fn monotonic(&self) -> Option<Duration> {
        self.monotonic_ns.map(Duration::from_nanos)
    }

    /// Returns the uptime at the sample in hundredths of a second; `None` if it was not recorded.
    pub(super) fn uptime(&self) -> Option<u64> {
        self.uptime_cs
    }

    /// Returns the state of the host at the sample.
    pub(super) fn host_state(&self) -> HostState {
        HostState {
            blocked: self.blocked,
            pressure: self.pressure_us.map(pressure),
            memory_pressure: self.memory_pressure_us.map(pressure),
            swapped: self.swapped_pages.map(|[pages_in, pages_out]| SwappedPages { pages_in, pages_out }),
            dirty_kib: self.dirty_kib,
            writeback_kib: self.writeback_kib,
        }
    }

    /// Returns the number of deadlines that the recorder missed before the sample.
    pub(super) fn missed_samples(&self) -> u64 {
        self.missed_samples.unwrap_or(0)
    }

    /// Returns whether this line begins a recording.
    pub(super) fn is_header(&self) -> bool {
        self.version.is_some()
    }

    /// Returns whether this line continues the header before it.
    pub(super) fn continues_header(&self) -> bool {
        self.version.is_none() && (self.devices.is_some() || self.baselines.is_some())
    }

    /// Extracts the header; `None` if this line does not begin a recording.
    pub(super) fn take_header(&mut self) -> Option<RecordingHeader> {
        Some(RecordingHeader {
            version: self.version.take()?,
            host: self.host.take(),
            kernel: self.kernel.take(),
            boot_id: self.boot_id.take(),
            cpus: self.cpus,
            machine: self.machine.take().unwrap_or_default().bounded(),
            interval: self.interval_ns.map(Duration::from_nanos),
            topology: Topology::new(self.take_devices()),
            baselines: RecordedBaselines::default(),
        })
    }

    /// Extracts the devices, which may continue the list of the header; empty if there are none.
    pub(super) fn take_devices(&mut self) -> Vec<Node> {
        let mut devices = self.devices.take().unwrap_or_default();
        for model in devices.iter_mut().filter_map(|node| node.model.as_mut()) {
            *model = bounded_text(model);
        }
        devices
    }

    /// Appends the line to `out`.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(MARKER);
        // Cannot fail: the struct is plain data, and a Vec accepts every write.
        let _ = serde_json::to_writer(&mut *out, self);
        out.push(b'\n');
    }
}

/// The totals of a pressure as they are written.
fn totals(pressure: Pressure) -> [u64; 2] {
    [pressure.some_us, pressure.full_us]
}

fn pressure([some_us, full_us]: [u64; 2]) -> Pressure {
    Pressure { some_us, full_us }
}

/// Rounds seconds to milliseconds.
fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

fn nanoseconds(time: Duration) -> Option<u64> {
    u64::try_from(time.as_nanos()).ok()
}

/// Finds an annotation that begins within a line, after its first byte, and returns its position. This occurs if a
/// recording was appended, with `cat` for example, to a file whose last line was truncated.
pub(super) fn find_embedded_annotation(line: &[u8]) -> Option<usize> {
    memchr::memmem::find(line.get(1..)?, b"#blkstat {").map(|at| at + 1)
}
