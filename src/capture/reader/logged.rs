//! Reads the samples of a log.

use std::io::{self, Read};

use super::Reader;
use super::look_alike::NO_DEVICES;
use super::warnings::LAST_TRUNCATED;
use crate::capture::WarningClass;
use crate::capture::line_kind::LineKind;
use crate::capture::logs::Logs;
use crate::capture::normal::lines::NextLine;
use crate::compression::is_end_of_text;
use crate::counters::Sample;

impl<R: Read> Reader<R> {
    /// Reads the next sample of a log. Returns whether there is one; `None` if a capture of another kind follows.
    ///
    /// # Errors
    /// If the stream cannot be read.
    pub(super) fn next_logged(
        &mut self,
        logs: &mut Logs,
        sample: &mut Sample,
    ) -> io::Result<Option<bool>> {
        loop {
            if let Some(begins) = logs.next(sample) {
                (self.state.header, self.state.is_log) = (Some(logs.header()), true);
                if begins && self.state.header_count > 0 {
                    self.segments.start_segment();
                }
                self.state.header_count += u64::from(begins);
                let (segment, clock_error) = self.segments.assign(sample.at);
                sample.segment = segment;
                clock_error
                    .into_iter()
                    .for_each(|text| self.warn(WarningClass::Clock, text));
                if !begins && let Some(note) = logs.take_note() {
                    self.warn(WarningClass::Note, note);
                }
                return Ok(Some(true));
            }
            match self.lines.next() {
                Ok(NextLine::Line {
                    bytes, ended: true, ..
                }) => {
                    if LineKind::of(bytes, true, false, false).begins_capture() {
                        self.lines.repeat_line();
                        if logs.finish() {
                            continue;
                        }
                        return Ok(None);
                    }
                    for reason in logs.read(bytes) {
                        self.warn(WarningClass::Lines, reason);
                    }
                }
                Ok(NextLine::Line { ended: false, .. }) => {
                    self.state.is_truncated = true;
                    self.warn(
                        WarningClass::Other,
                        "the last line has no end; its report is skipped",
                    );
                }
                Ok(NextLine::TooLong) => {
                    logs.begins = true;
                    self.warn_of_long_line();
                }
                Ok(NextLine::End) if logs.finish() => {}
                Ok(NextLine::End) => {
                    if logs.lists_nothing() {
                        self.state.look_alike = Some((self.lines.number, NO_DEVICES));
                    }
                    return Ok(Some(false));
                }
                Err(error) if is_end_of_text(&error) => {
                    self.state.is_truncated = true;
                    self.warn(WarningClass::Other, LAST_TRUNCATED);
                    return Ok(Some(false));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Notes that a capture follows a log, whose counters are rebuilt: no interval spans this point.
    pub(super) fn end_log(&mut self) {
        self.segments.start_segment();
        (self.state.header, self.state.is_log) = (None, false);
    }
}
