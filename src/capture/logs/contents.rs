//! The part of a log that was read, and the trait of the readers of each kind of log.

use std::collections::VecDeque;
use std::time::Duration;

use super::report::{LoggedDevice, Report, Rounding};
use crate::capture::annotation::RecordingHeader;
use crate::capture::diskstats_line::excerpt;
use crate::capture::normal::clock::Clock;
use crate::capture::normal::log_lines::LogLine;

/// A kind of log.
pub(super) trait LogFormat: Send {
    /// Takes the next line, and adds what it tells.
    ///
    /// # Errors
    /// If the line is damaged; says how.
    fn read(&mut self, line: &LogLine<'_>, contents: &mut LogContents) -> Result<(), String>;

    /// Adds the last report at the end of the log, if it is complete.
    fn finish(&mut self, contents: &mut LogContents);
}

/// The facts about a log that are known before its first report is handed out: from a whole file, or from the beginning of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogFacts {
    /// The length of its intervals; `None` if nothing shows it.
    pub(super) length: Option<Duration>,
    /// It has one head of a table: the same device again begins a report.
    pub(super) has_one_head: bool,
    /// Each run has a single report, and these differ too much to be averages since boot.
    pub(super) has_single_intervals: bool,
    /// It lists devices that do nothing, so that one that is not listed was removed, or its line was lost.
    pub(super) lists_idle: bool,
}

/// The contents of a log that have been read so far.
#[derive(Default)]
pub(super) struct LogContents {
    /// The complete reports that were not taken yet.
    pub(super) reports: VecDeque<Report>,
    /// The host named in the first lines.
    pub(super) host: RecordingHeader,
    pub(super) rounding: Rounding,
    /// Warnings about single values; the other values of their lines are read.
    pub(super) warnings: Vec<String>,
    pub(super) facts: LogFacts,
    pub(super) clock: Clock,
}

impl LogContents {
    /// Returns whether a device is in the report so far, with a warning about its second line.
    pub(super) fn is_repeated(&mut self, devices: &[LoggedDevice], name: &str) -> bool {
        let is_repeated = devices.iter().any(|device| device.name == name);
        if is_repeated {
            self.warn_of_repeated(name);
        }
        is_repeated
    }

    pub(super) fn warn_of_repeated(&mut self, name: &str) {
        let name = excerpt(name.as_bytes());
        self.warnings
            .push(format!("{name} is in the same report twice; skipped"));
    }

    /// Sets the value in a column of a device from its text.
    pub(super) fn set(&mut self, device: &mut LoggedDevice, column: &str, text: &str) {
        let outcome = device.set_text(column, text, &mut self.rounding);
        self.warnings.extend(outcome.err());
    }
}
