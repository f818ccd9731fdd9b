//! Reads the samples of a capture one after the other: each begins with a `TS` line.
//!
//! A recording of blkstat contains more: each sample ends with a mark, and has a monotonic time. A line that has lost
//! its end may run into the first line of a recording that was appended to the file; it is then split there, and both
//! parts are read as lines of their own.

mod devices;
mod open_sample;
mod recording;
#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind, Read};

use self::devices::{DeviceLine, SampleDevices};
use self::open_sample::{OpenSample, Position};
use self::recording::RecordingState;
use super::annotation::{Annotation, AnnotationError, find_embedded_annotation};
use super::line_kind::LineKind;
use super::line_reader::{LineReader, NextLine};
use super::recording_header::RecordingHeader;
use super::segments::SegmentTracker;
use super::timestamp::TimestampLine;
use super::warning::{CaptureWarning, CaptureWarningKind};
use crate::counters::{HostState, Sample};

/// The most warnings that are kept until they are taken; further ones are counted.
const MAX_WARNINGS: usize = 1000;

/// Reads the samples of a capture in memory bounded by the largest sample.
pub struct Reader<R> {
    lines: LineReader<R>,
    position: Position,
    devices: SampleDevices,
    segments: SegmentTracker,
    recording: RecordingState,
    keeps_truncated_sample: bool,
    /// The first line without a timestamp. It deserves a warning only in a file that has a `TS` line at all.
    first_line_before_timestamp: Option<u64>,
    /// The lines before the first `TS` line are not text.
    has_binary_data: bool,
    warnings: Vec<CaptureWarning>,
}

impl<R: Read> Reader<R> {
    /// Creates a reader at the start of a capture.
    pub fn new(input: R) -> Self {
        Self {
            lines: LineReader::new(input),
            position: Position::BeforeFirstTimestamp,
            devices: SampleDevices::default(),
            segments: SegmentTracker::default(),
            recording: RecordingState::default(),
            keeps_truncated_sample: false,
            first_line_before_timestamp: None,
            has_binary_data: false,
            warnings: Vec::new(),
        }
    }

    /// Makes the reader hand out a truncated sample with the lines that are, or seem, complete, as pt-diskstats does.
    pub fn keep_truncated_sample(&mut self) {
        self.keeps_truncated_sample = true;
    }

    /// Takes the warnings since the last call.
    pub fn take_warnings(&mut self) -> Vec<CaptureWarning> {
        std::mem::take(&mut self.warnings)
    }

    /// The header of the recording that the last sample is from; `None` for any other capture.
    pub fn header(&self) -> Option<&RecordingHeader> {
        self.recording.header()
    }

    /// Reports whether the stream so far is not text and has no `TS` line.
    pub fn is_not_text(&self) -> bool {
        self.has_binary_data && self.first_line_before_timestamp.is_some()
    }

    /// Reads the next sample into `sample`, reusing its memory. `previous` is the sample read before it, which shows
    /// whether the last line of the file is complete. `false` at the end of the capture.
    ///
    /// # Errors
    /// The stream's, except where compressed data ends early: that is a truncated file. The samples before an error
    /// were handed out.
    pub fn next(&mut self, previous: &Sample, sample: &mut Sample) -> io::Result<bool> {
        self.devices.clear();
        clear_host(sample);
        loop {
            let (line, ended) = match self.lines.next() {
                Ok(NextLine::Line { bytes, ended }) => (bytes, ended),
                Ok(NextLine::TooLong) => {
                    self.warn(CaptureWarningKind::LineTooLong);
                    continue;
                }
                Ok(NextLine::End) => return Ok(self.finish_last(false, sample)),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Ok(self.finish_last(true, sample));
                }
                Err(error) => return Err(error),
            };
            let accepts_unended = self.keeps_truncated_sample;
            let kind = LineKind::of(line, ended, accepts_unended, self.position.is_in_sample());
            if let LineKind::Device = kind {
                match &mut self.position {
                    Position::InSample(open) => {
                        let complete = ended || accepts_unended;
                        match self.devices.read(line, complete, previous, &mut sample.devices) {
                            DeviceLine::Accepted => {}
                            DeviceLine::Truncated => open.is_truncated = true,
                            DeviceLine::TooMany => self.warn(CaptureWarningKind::TooManyDevices),
                            DeviceLine::Invalid(error) => match find_embedded_annotation(line) {
                                Some(at) => self.lines.split_line(at),
                                None => self.warn(CaptureWarningKind::Line(error)),
                            },
                        }
                    }
                    _ => match find_embedded_annotation(line) {
                        Some(at) => self.lines.split_line(at),
                        None => {
                            let is_blank = line.trim_ascii().is_empty();
                            let is_text = !line.contains(&0) && std::str::from_utf8(line).is_ok();
                            self.skip_line(is_blank, is_text);
                        }
                    },
                }
            } else if let Some(at) = kind.embedded_annotation(line) {
                self.lines.split_line(at);
            } else if self.read_other_line(kind, ended, sample) {
                return Ok(true);
            }
        }
    }

    /// Acts on a line that is not of a device. `true` if a sample is handed out.
    fn read_other_line(&mut self, kind: LineKind, ended: bool, sample: &mut Sample) -> bool {
        match kind {
            LineKind::Device | LineKind::Comment => false,
            LineKind::Timestamp(line) => self.begin_sample(line, sample),
            LineKind::Cpu(cpu) => {
                sample.cpu = cpu.or(sample.cpu);
                false
            }
            LineKind::Annotation(annotation) => self.read_annotation(*annotation, sample),
            LineKind::InvalidAnnotation(error) => {
                self.reject_annotation(error, ended);
                false
            }
        }
    }

    /// Passes over a line outside of samples.
    fn skip_line(&mut self, is_blank: bool, is_text: bool) {
        match self.position {
            Position::BeforeFirstTimestamp => {
                self.has_binary_data |= !is_text;
                if !is_blank {
                    self.first_line_before_timestamp.get_or_insert(self.lines.number);
                }
            }
            Position::BetweenSamples if !is_blank => {
                self.position = Position::Untimed;
                self.warn(CaptureWarningKind::BetweenSamples);
            }
            Position::BetweenSamples | Position::Untimed | Position::InSample(_) => {}
        }
    }

    /// A `TS` line begins a sample. `true` if the sample before it is handed out.
    fn begin_sample(&mut self, line: TimestampLine, sample: &mut Sample) -> bool {
        if let Some(first) = self.first_line_before_timestamp.take() {
            self.warn_at(first, CaptureWarningKind::BeforeFirstTimestamp);
        }
        let is_handed_out = self.end_sample(Position::Untimed, false, sample);
        let Some(time) = line.time else {
            // A `TS` line at the end of the file may contain half of a time.
            self.warn(if line.ended {
                CaptureWarningKind::InvalidTimestamp(line.found)
            } else {
                CaptureWarningKind::LastSampleTruncated
            });
            return is_handed_out;
        };
        let mut open = OpenSample::new(time, line.written_time, self.lines.number);
        if !self.is_blkstat_recording() {
            open.segment = Some(self.assign_segment(&open));
        }
        self.position = Position::InSample(open);
        is_handed_out
    }

    /// An annotation begins a recording, lists devices or ends a sample. `true` if a sample is handed out.
    fn read_annotation(&mut self, mut annotation: Annotation, sample: &mut Sample) -> bool {
        if let Some(header) = annotation.take_header() {
            let is_first_line = matches!(self.position, Position::BeforeFirstTimestamp);
            let next = if is_first_line { Position::BeforeFirstTimestamp } else { Position::BetweenSamples };
            let is_handed_out = self.end_sample(next, false, sample);
            if let Some(change) = self.recording.begin(header) {
                self.segments.start_segment();
                self.warn(change);
            }
            return is_handed_out;
        }
        self.recording.append_devices(annotation.take_devices());
        let Position::InSample(open) = &mut self.position else { return false };
        open.monotonic = annotation.monotonic().or(open.monotonic);
        open.uptime = annotation.uptime().or(open.uptime);
        if !annotation.is_complete() {
            return false;
        }
        sample.host = annotation.host_state();
        sample.missed_samples = annotation.missed_samples();
        self.end_sample(Position::BetweenSamples, true, sample)
    }

    fn reject_annotation(&mut self, error: AnnotationError, ended: bool) {
        let in_recorded_sample = self.is_blkstat_recording() && self.position.is_in_sample();
        let reason = match error {
            // The warning about the truncated sample says enough.
            AnnotationError::Truncated if !ended || in_recorded_sample => return,
            AnnotationError::Truncated => "truncated JSON".to_owned(),
            AnnotationError::Invalid(reason) => reason,
        };
        if let Position::InSample(open) = &mut self.position {
            open.has_invalid_annotation = true;
        }
        self.warn(CaptureWarningKind::InvalidAnnotation(reason));
    }

    /// The stream ends. `true` if its last sample is complete and handed out.
    fn finish_last(&mut self, is_stream_truncated: bool, sample: &mut Sample) -> bool {
        let Position::InSample(open) = &self.position else { return false };
        let lacks_end_mark = self.is_blkstat_recording() && !open.has_invalid_annotation;
        if (is_stream_truncated || open.is_truncated || lacks_end_mark) && !self.keeps_truncated_sample {
            self.position = Position::Untimed;
            self.warn(CaptureWarningKind::LastSampleTruncated);
            return false;
        }
        self.end_sample(Position::Untimed, true, sample)
    }

    /// Ends the open sample, if there is one. `true` if it is handed out: not if it is truncated, or lacks the end mark
    /// of a recording and is not known to be complete by other means.
    fn end_sample(&mut self, next: Position, is_complete: bool, sample: &mut Sample) -> bool {
        let Position::InSample(open) = std::mem::replace(&mut self.position, next) else { return false };
        let device_count = self.devices.take_count();
        let needs_end_mark = self.is_blkstat_recording() && !open.has_invalid_annotation;
        let is_truncated = open.is_truncated || needs_end_mark && !is_complete;
        if is_truncated && !self.keeps_truncated_sample {
            self.warn_at(open.line, CaptureWarningKind::SampleTruncated);
            clear_host(sample);
            return false;
        }
        self.recording.complete_topology();
        sample.segment = open.segment.unwrap_or_else(|| self.assign_segment(&open));
        sample.at = open.time();
        sample.devices.truncate(device_count);
        sample.written_time = open.written_time;
        true
    }

    /// Assigns a sample that is handed out to a segment.
    fn assign_segment(&mut self, open: &OpenSample) -> u64 {
        let (segment, clock_error) = self.segments.assign(open.time());
        if let Some(kind) = clock_error {
            self.warn_at(open.line, kind);
        }
        segment
    }

    /// Reports whether complete samples are marked as such.
    fn is_blkstat_recording(&self) -> bool {
        self.recording.header().is_some()
    }

    fn warn(&mut self, kind: CaptureWarningKind) {
        self.warn_at(self.lines.number, kind);
    }

    fn warn_at(&mut self, line: u64, kind: CaptureWarningKind) {
        // Clock errors are at most one per sample, and the only warnings that pt-diskstats needs.
        let is_kept = kind.is_clock_error() || self.warnings.len() < MAX_WARNINGS;
        match self.warnings.last_mut() {
            Some(last) if !is_kept => last.omitted += 1,
            _ => self.warnings.push(CaptureWarning { line, kind, omitted: 0 }),
        }
    }
}

/// Removes what an earlier sample left of the host.
fn clear_host(sample: &mut Sample) {
    sample.cpu = None;
    sample.host = HostState::default();
    sample.missed_samples = 0;
}
