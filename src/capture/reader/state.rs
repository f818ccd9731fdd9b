//! What is known of a capture beside its samples, the reader's position in it, and the segments between the points where
//! time breaks: no interval spans such a point.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::baselines::RecordedBaseline;
use crate::capture::annotation::RecordingHeader;
use crate::capture::warning::{CaptureWarning, CaptureWarningKind};
use crate::capture::{MAX_BASELINE_NAME_BYTES, MAX_BASELINES, MAX_DEVICES_PER_SAMPLE};
use crate::topology::{Node, Topology};
use crate::units::SampleTime;

/// What is known of a capture so far.
#[derive(Debug, Default)]
pub struct CaptureState {
    /// The header of the recording that contains the last sample; `None` for any other capture.
    pub header: Option<Arc<RecordingHeader>>,
    /// The number of headers so far: a recording repeats its header when its devices change.
    pub header_count: u64,
    /// True if the capture was found to end within a sample or within its compressed data.
    pub is_truncated: bool,
    /// True if the stream so far is not text and has no `TS` line.
    pub is_not_text: bool,
    /// The warnings that were not taken yet.
    pub warnings: Vec<CaptureWarning>,
    /// Devices of the header from further lines, not yet part of its topology.
    pub(super) more_devices: Vec<Node>,
}

impl CaptureState {
    /// Begins or continues a recording. Returns the reason if no interval may span this point: the recording is from
    /// another host or another boot.
    pub(super) fn begin_recording(&mut self, header: RecordingHeader) -> Option<CaptureWarningKind> {
        self.more_devices.clear();
        self.header_count += 1;
        let header = Arc::new(header);
        let previous = self.header.replace(Arc::clone(&header))?;
        let differ = |of: fn(&RecordingHeader) -> &Option<String>| {
            of(&previous).is_some() && of(&header).is_some() && of(&previous) != of(&header)
        };
        if differ(|header| &header.host) {
            return Some(CaptureWarningKind::HostChanged);
        }
        differ(|header| &header.boot_id).then_some(CaptureWarningKind::Rebooted)
    }

    /// Adds devices to the current recording.
    pub(super) fn append_devices(&mut self, nodes: Vec<Node>) {
        let Some(header) = &self.header else { return };
        let count = header.topology.nodes().len() + self.more_devices.len();
        self.more_devices.extend(nodes.into_iter().take(MAX_DEVICES_PER_SAMPLE.saturating_sub(count)));
    }

    /// Adds baselines to the current recording.
    pub(super) fn append_baselines(&mut self, baselines: Vec<RecordedBaseline>) {
        let Some(header) = &mut self.header else { return };
        for baseline in baselines {
            let is_named = baseline.device.as_ref().is_none_or(|name| name.len() <= MAX_BASELINE_NAME_BYTES);
            if is_named && header.baselines.len() < MAX_BASELINES {
                Arc::make_mut(header).baselines.insert(baseline);
            }
        }
    }

    /// Builds the topology from all devices. Called once per sample, because this is slow.
    pub(super) fn complete_topology(&mut self) {
        if let Some(header) = self.header.as_mut().filter(|_| !self.more_devices.is_empty()) {
            let nodes = [header.topology.nodes(), &self.more_devices].concat();
            Arc::make_mut(header).topology = Topology::new(nodes);
            self.more_devices.clear();
        }
    }
}

/// Numbers the segments of a capture.
#[derive(Debug, Default)]
pub(super) struct SegmentTracker {
    previous: Option<SampleTime>,
    segment: u64,
}

impl SegmentTracker {
    /// Returns the segment of the next sample, taken at `at`, and, if a new segment begins, the reason.
    ///
    /// The wall clock is used only if no monotonic time is known; with a monotonic time, setting the wall clock back
    /// does no harm.
    pub(super) fn assign(&mut self, at: SampleTime) -> (u64, Option<CaptureWarningKind>) {
        let clock_error =
            self.previous.and_then(|last| match (last.monotonic, at.monotonic, last.wall, at.wall) {
                (Some(previous), Some(now), _, _) => {
                    (now <= previous).then_some(CaptureWarningKind::MonotonicClockNotAdvanced)
                }
                (_, _, Some(previous), Some(now)) if now <= previous => {
                    Some(CaptureWarningKind::ClockNotAdvanced { previous, now })
                }
                _ => None,
            });
        self.segment += u64::from(clock_error.is_some());
        self.previous = Some(at);
        (self.segment, clock_error)
    }

    /// Starts a new segment regardless of the time of the next sample.
    pub(super) fn start_segment(&mut self) {
        self.segment += 1;
        self.previous = None;
    }
}

/// The reader's position in a capture.
pub(super) enum Position {
    /// Before the first `TS` line.
    BeforeFirstTimestamp,
    /// After the end mark of a sample, or at the beginning of a recording.
    BetweenSamples,
    /// In lines without a timestamp, which are skipped: after an invalid `TS` line, or without any `TS` line.
    Untimed,
    InSample(OpenSample),
}

impl Position {
    pub(super) fn is_in_sample(&self) -> bool {
        matches!(self, Self::InSample(_))
    }
}

/// A sample that is being read, except for its devices.
pub(super) struct OpenSample {
    wall: Timestamp,
    /// The time of day in the `TS` line; `None` if it has none.
    pub(super) written_time: Option<String>,
    /// The number of the `TS` line.
    pub(super) line: u64,
    /// The segment; `None` in a recording, where it depends on the monotonic time at the end of the sample.
    pub(super) segment: Option<u64>,
    pub(super) monotonic: Option<Duration>,
    pub(super) uptime: Option<u64>,
    /// A device line lacks its end.
    pub(super) is_truncated: bool,
    /// An annotation, perhaps the end mark, is invalid.
    pub(super) has_invalid_annotation: bool,
}

impl OpenSample {
    pub(super) fn new(wall: Timestamp, written_time: Option<String>, line: u64) -> Self {
        Self {
            wall,
            written_time,
            line,
            segment: None,
            monotonic: None,
            uptime: None,
            is_truncated: false,
            has_invalid_annotation: false,
        }
    }

    /// Returns the time of the sample, as far as it is known.
    pub(super) fn time(&self) -> SampleTime {
        SampleTime { monotonic: self.monotonic, wall: Some(self.wall), uptime: self.uptime }
    }
}
