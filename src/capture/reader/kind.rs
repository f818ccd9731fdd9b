//! Finds out what a file holds, from its first lines.

use std::io::{self, Read};

use super::look_alike::{is_of_other_system, look_alike};
use super::warnings::linux_2_4;
use super::{Kind, Reader};
use crate::capture::MAX_LINE_BYTES;
use crate::capture::diskstats_line::is_of_linux_2_4;
use crate::capture::line_kind::{LineKind, TimestampLine};
use crate::capture::logs::{LogFacts, LogScan, LogText};
use crate::capture::normal::clock::Clock;
use crate::capture::normal::copies::{ForeignLines, collectl_time};
use crate::capture::normal::first_copies::{FirstCopies, Known};
use crate::capture::normal::lines::{Ahead, NextLine};
use crate::compression::is_end_of_text;

impl<R: Read> Reader<R> {
    /// Looks at the whole file, if it is a log; `None` if it is not.
    ///
    /// # Errors
    /// If it cannot be read, or is of Linux 2.4.
    pub fn scan_log(mut self) -> io::Result<Option<LogFacts>> {
        // A capture is none, whatever is between its samples.
        self.keeps_truncated_sample = true;
        let Kind::NewLog(text) = self.find_kind()? else {
            return Ok(None);
        };
        let mut scan = LogScan::new(*text);
        loop {
            match self.lines.next() {
                Ok(NextLine::Line {
                    bytes, ended: true, ..
                }) => {
                    if LineKind::of(bytes, true, false, false).begins_capture() {
                        break;
                    }
                    scan.read(bytes);
                }
                Ok(NextLine::TooLong) => {}
                Ok(NextLine::Line { ended: false, .. } | NextLine::End) => break,
                Err(error) if is_end_of_text(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Some(scan.finish()))
    }

    /// Looks at the first reports of a log.
    pub(super) fn scan_ahead(&mut self, text: &LogText) -> io::Result<LogFacts> {
        let mut scan = LogScan::new(text.again());
        let mut ahead = Ahead::default();
        while let Some(line) = self.lines.look_ahead(&mut ahead)? {
            if LineKind::of(line, true, false, false).begins_capture() || scan.read(line) {
                break;
            }
        }
        Ok(scan.finish())
    }

    /// Looks at the first lines of a file.
    ///
    /// # Errors
    /// If it is of Linux 2.4, or of several hosts.
    pub(super) fn find_kind(&mut self) -> io::Result<Kind> {
        self.lines
            .find_hosts(self.is_prompt, self.keeps_truncated_sample)?;
        let mut log = LogText::new(Clock::new(self.local.clone()));
        let mut copies = FirstCopies::new(self.local.clone());
        let before = self.lines.number;
        let mut ahead = Ahead::default();
        let mut is_text = true;
        while let Some(line) = self.lines.look_ahead(&mut ahead)? {
            let number = before + ahead.lines;
            match LineKind::of(line, true, false, false) {
                LineKind::Timestamp(TimestampLine { time: Some(_), .. })
                | LineKind::Annotation(_)
                | LineKind::InvalidAnnotation(_) => return Ok(Kind::WithTimestamps),
                _ if line.len() > MAX_LINE_BYTES => continue,
                _ => {}
            }
            // A program contains the words of any log. A line of zeros is a hole in a file.
            is_text &= !line.contains(&0) || line.starts_with(&[0]);
            let Ok(text) = std::str::from_utf8(line) else {
                continue;
            };
            let known = self.state.look_alike;
            self.state.look_alike = known.or_else(|| Some((number, look_alike(text)?)));
            if collectl_time(text).is_some() {
                return Ok(Kind::Foreign(Box::new(ForeignLines::of_collectl())));
            }
            if !copies.has_devices() {
                if is_of_linux_2_4(line) {
                    return Err(linux_2_4(number));
                }
                if is_text && !is_of_other_system(text) && log.recognize(text) {
                    self.state.is_log = true;
                    return Ok(Kind::NewLog(Box::new(log)));
                }
            }
            match copies.add(text) {
                Known::Enough => break,
                Known::Likely if self.is_prompt => break,
                Known::Likely | Known::Nothing => {}
            }
        }
        Ok(if copies.has_devices() {
            Kind::Foreign(Box::new(ForeignLines::new(
                &copies,
                self.every,
                self.latest,
            )))
        } else {
            Kind::WithTimestamps
        })
    }
}
