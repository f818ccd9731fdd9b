//! Ends samples: those that are whole are handed out.

use std::io::{self, ErrorKind, Read};

use super::state::{OpenSample, Position};
use super::warnings::LAST_TRUNCATED;
use super::{Reader, clear_optional_values};
use crate::capture::WarningClass;
use crate::compression::TrailingData;
use crate::counters::Sample;

/// The samples after one that looks damaged, in which others that do are taken as they are: the kernel's counters are odd.
pub(super) const MIN_UNDAMAGED_SAMPLES: u64 = 8;

impl<R: Read> Reader<R> {
    /// Processes an error, behind which nothing can be read. Returns whether the last sample is handed out.
    ///
    /// # Errors
    /// The error, if it is not about the end of compressed data.
    pub(super) fn finish_with(
        &mut self,
        error: io::Error,
        previous: &Sample,
        sample: &mut Sample,
    ) -> io::Result<bool> {
        let is_trailing_data = TrailingData::is(&error);
        if is_trailing_data {
            self.warn(
                WarningClass::Other,
                "compressed data ends here; the bytes after it are ignored",
            );
        } else if error.kind() != ErrorKind::UnexpectedEof {
            return Err(error);
        }
        Ok(self.finish_last(!is_trailing_data, previous, sample))
    }

    /// Processes the end of the stream. Returns whether its last sample is handed out.
    pub(super) fn finish_last(
        &mut self,
        is_stream_truncated: bool,
        previous: &Sample,
        sample: &mut Sample,
    ) -> bool {
        self.state.is_truncated |= is_stream_truncated;
        if is_stream_truncated && !self.position.is_in_sample() && self.latest.is_some() {
            // Between two samples, nothing else shows that later ones are missing.
            self.warn(WarningClass::Other, self.cut_off(""));
        }
        let Position::InSample(open) = &self.position else {
            return false;
        };
        if open.is_foreign && self.devices.is_empty() && !is_stream_truncated {
            // The time at which it ended.
            self.position = Position::Untimed;
            return false;
        }
        let lacks_end_mark = self.is_blkstat_recording() && !open.has_invalid_annotation;
        let truncation = if is_stream_truncated {
            Some(self.cut_off("; last sample is truncated; skipped"))
        } else if open.is_truncated || lacks_end_mark {
            Some(LAST_TRUNCATED.to_owned())
        } else {
            self.devices.find_missing_end(previous, &sample.devices)
        };
        match truncation.filter(|_| !self.keeps_truncated_sample) {
            Some(text) => {
                self.state.is_truncated = true;
                self.position = Position::Untimed;
                self.warn(WarningClass::Other, text);
                false
            }
            None => self.end_sample(Position::Untimed, true, sample),
        }
    }

    /// Ends the open sample, if there is one, and returns whether it is handed out. A sample is not handed out if it is
    /// truncated, or if it lacks the end mark of a recording and is not known to be complete otherwise.
    pub(super) fn end_sample(
        &mut self,
        next: Position,
        is_complete: bool,
        sample: &mut Sample,
    ) -> bool {
        let Position::InSample(open) = std::mem::replace(&mut self.position, next) else {
            return false;
        };
        let device_count = self.devices.take_count();
        if open.is_foreign && device_count == 0 {
            return false;
        }
        let is_recording = self.is_blkstat_recording();
        let lacks_end_mark = is_recording && !open.has_invalid_annotation && !is_complete;
        // Counters that look damaged again and again are as the kernel has them.
        let is_damaged = !is_recording
            && self.devices.are_damaged
            && self.undamaged_samples >= MIN_UNDAMAGED_SAMPLES;
        self.undamaged_samples = if is_damaged {
            0
        } else {
            self.undamaged_samples + 1
        };
        let is_truncated = open.is_truncated || lacks_end_mark || is_damaged;
        if is_truncated && !self.keeps_truncated_sample {
            self.warn_at(
                WarningClass::Other,
                open.line,
                "sample is truncated; skipped",
            );
            clear_optional_values(sample);
            return false;
        }
        if open.is_foreign
            && let Some((form, is_spread)) = open.form.filter(|_| !self.state.has_foreign_times)
        {
            self.state.has_foreign_times = true;
            let spread = if is_spread {
                "; spread evenly where several are the same"
            } else {
                ""
            };
            let text = format!("samples have no 'TS' lines; their times are {form}{spread}");
            self.warn_at(WarningClass::Note, open.line, text);
        }
        self.state.complete_topology();
        if device_count > 0 {
            self.had_devices = true;
            self.state.warnings.append(&mut self.warnings_of_lines);
        }
        let last = device_count
            .checked_sub(1)
            .map(|last| sample.devices[last].name.clone());
        self.last_copy = (device_count, last);
        sample.segment = open.segment.unwrap_or_else(|| self.assign_segment(&open));
        sample.at = open.time();
        sample.devices.truncate(device_count);
        sample.written_time = open.written_time;
        sample.io_scan = self.scans.take();
        sample.health.clone_from(&self.health);
        true
    }

    /// Assigns a sample that is handed out to a segment.
    pub(super) fn assign_segment(&mut self, open: &OpenSample) -> u64 {
        let (segment, clock_error) = self.segments.assign(open.time());
        if let Some(text) = clock_error {
            self.warn_at(WarningClass::Clock, open.line, text);
        }
        segment
    }

    /// Returns whether complete samples are marked as such.
    pub(super) fn is_blkstat_recording(&self) -> bool {
        self.state.header.is_some()
    }

    /// Says that compressed data ends early.
    pub(super) fn cut_off(&self, and: &str) -> String {
        let readable = self
            .latest
            .map(|at| format!("; the readable part ends at {at}"))
            .unwrap_or_default();
        format!("compressed data is cut off{and}{readable}")
    }
}
