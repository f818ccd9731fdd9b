//! The reader's position in a capture, and the sample that it is in.

use std::time::Duration;

use jiff::Timestamp;

use crate::units::SampleTime;

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
