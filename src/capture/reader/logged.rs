//! Reads the samples of a log, once it is recognized as one.

use std::io::{self, Read};

use super::{LAST_TRUNCATED, Reader};
use crate::capture::line_reader::NextLine;
use crate::capture::logs::Logs;
use crate::capture::warning::WarningClass;
use crate::compression::is_end_of_text;
use crate::counters::Sample;

impl<R: Read> Reader<R> {
    /// Reads the next sample of a log.
    ///
    /// # Errors
    /// If the stream cannot be read.
    pub(super) fn next_logged(&mut self, logs: &mut Logs, sample: &mut Sample) -> io::Result<bool> {
        loop {
            if let Some(begins) = logs.next(sample) {
                (self.state.header, self.state.is_log) = (Some(logs.header()), true);
                if begins && self.state.header_count > 0 {
                    self.segments.start_segment();
                }
                self.state.header_count += u64::from(begins);
                let (segment, clock_error) = self.segments.assign(sample.at);
                sample.segment = segment;
                clock_error.into_iter().for_each(|text| self.warn(WarningClass::Clock, text));
                if !begins && let Some(note) = logs.take_note() {
                    self.warn(WarningClass::Note, note);
                }
                return Ok(true);
            }
            match self.lines.next() {
                Ok(NextLine::Line { bytes, ended: true, .. }) => {
                    if let Err(reason) = logs.read(bytes) {
                        self.warn(WarningClass::Lines, reason);
                    }
                }
                Ok(NextLine::Line { ended: false, .. }) => self.state.is_truncated = true,
                Ok(NextLine::TooLong) => {
                    logs.begins = true;
                    self.warn_of_long_line();
                }
                Ok(NextLine::End) if logs.finish() => {}
                Ok(NextLine::End) => return Ok(false),
                Err(error) if is_end_of_text(&error) => {
                    self.state.is_truncated = true;
                    self.warn(WarningClass::Other, LAST_TRUNCATED);
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
    }
}
