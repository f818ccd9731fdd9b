//! Reads the text of a log: its lines, without what other programs put before them, become reports.

use std::collections::VecDeque;

use super::contents::{LogContents, LogFormat};
use super::iostat::IostatLog;
use super::sadf::{SadfLog, columns_of_sadf};
use super::sar::{DEVICE, SarLog};
use crate::capture::diskstats_line::excerpt;
use crate::capture::normal::clock::Clock;
use crate::capture::normal::first_lines::{TableHead, words_before_table_of_sar};
use crate::capture::normal::log_lines::{LogLine, LogLines};

/// A reader for a kind of log, and where its numbers come from.
pub(super) type KnownFormat = (Box<dyn LogFormat>, &'static str);

/// Returns a reader for the kind of log that a line shows: the head of a table of devices, or a device in JSON.
fn format_of(line: &str) -> Option<KnownFormat> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if TableHead::of_iostat(&words).is_some() || line.contains("\"disk_device\"") {
        return Some((Box::<IostatLog>::default(), "an iostat log"));
    }
    if words_before_table_of_sar(&words).is_some() {
        return Some((Box::<SarLog>::default(), "a log of sar -d"));
    }
    let is_of_devices = columns_of_sadf(line).is_some_and(|columns| columns[0] == DEVICE);
    if is_of_devices || line.contains("\"disk-device\"") {
        return Some((Box::<SadfLog>::default(), "the data of sar -d"));
    }
    None
}

/// The text of a log of any kind.
#[derive(Default)]
pub(crate) struct LogText {
    /// `None` before it is recognized.
    pub(super) format: Option<KnownFormat>,
    pub(super) contents: LogContents,
    /// The heads of tables so far.
    pub(super) heads: u64,
    lines: LogLines,
    /// The line that showed what it is.
    head: String,
    /// The latest lines: those before the first table of another tool's log are its own.
    latest: VecDeque<String>,
    /// The log of another tool has begun.
    pub(super) is_other: bool,
}

impl LogText {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            contents: LogContents {
                clock,
                ..LogContents::default()
            },
            ..Self::default()
        }
    }

    /// Returns a reader of the same log at its beginning.
    pub(crate) fn again(&self) -> Self {
        Self {
            format: format_of(&self.head),
            lines: self.lines.clone(),
            ..Self::new(self.contents.clock.again())
        }
    }

    /// Looks at a line of a capture that may be a log. Returns whether it shows that it is; all lines are then to be read.
    pub(crate) fn recognize(&mut self, line: &str) -> bool {
        self.lines.learn(line);
        if let Some(line) = self.lines.split(line) {
            self.format = format_of(&line.text);
            self.head = line.text.into_owned();
        }
        self.format.is_some()
    }

    /// Takes a line, which a newline ended. Returns what is wrong with it.
    ///
    /// # Errors
    /// If it is damaged; says how.
    pub(super) fn read(&mut self, line: &[u8]) -> Result<(), String> {
        let Some((format, origin)) = &mut self.format else {
            return Ok(());
        };
        let Ok(line) = std::str::from_utf8(line) else {
            return Err(format!("not text: '{}'; skipped", excerpt(line)));
        };
        let Some(line) = self.lines.split(line) else {
            return Ok(());
        };
        if let Some((other, other_origin)) = format_of(&line.text) {
            self.heads += 1;
            if *origin != other_origin {
                // The log of another tool follows.
                format.finish(&mut self.contents);
                (*format, *origin) = (other, other_origin);
                self.is_other = true;
                for line in self.latest.drain(..) {
                    let line = LogLine::whole(&line);
                    if line.is_head_or_time() {
                        format.read(&line, &mut self.contents)?;
                    }
                }
            }
        }
        keep(&line.text, &mut self.latest);
        let outcome = format.read(&line, &mut self.contents);
        outcome.map_err(|error| format!("{error}; the report is skipped"))
    }

    /// Takes the end of the log, which may complete a report.
    pub(super) fn finish(&mut self) {
        if let Some((format, _)) = &mut self.format {
            format.finish(&mut self.contents);
        }
    }
}

/// Keeps a line among the latest ones.
fn keep(line: &str, latest: &mut VecDeque<String>) {
    /// The table of CPUs may be between a time and the first table of devices.
    const LINES: usize = 8;
    let mut oldest = String::new();
    if latest.len() == LINES {
        oldest = latest.pop_front().unwrap_or_default();
        oldest.clear();
    }
    oldest.push_str(line);
    latest.push_back(oldest);
}
