//! Warnings and errors about lines.

use std::io::{self, ErrorKind, Read};

use super::Reader;
use crate::capture::diskstats_line::LineError;
use crate::capture::{CaptureWarning, MAX_LINE_BYTES, WarningClass};

/// The most warnings that are kept until they are taken; further ones are counted.
const MAX_WARNINGS: usize = 1000;

pub(super) const LAST_TRUNCATED: &str = "last sample is truncated; skipped";

impl<R: Read> Reader<R> {
    pub(super) fn warn_of_line(&mut self, error: LineError) {
        let warning =
            CaptureWarning::new(WarningClass::Lines, self.lines.number, error.to_string());
        let is_of_capture =
            self.had_devices || !self.devices.is_empty() || self.state.header.is_some();
        if is_of_capture || self.keeps_truncated_sample {
            return add_warning(&mut self.state.warnings, warning);
        }
        self.first_wrong_line
            .get_or_insert((self.lines.number, error));
        add_warning(&mut self.warnings_of_lines, warning);
    }

    pub(super) fn warn_of_long_line(&mut self) {
        self.warn(
            WarningClass::Lines,
            format!("line longer than {MAX_LINE_BYTES} bytes; skipped"),
        );
    }

    pub(super) fn warn(&mut self, class: WarningClass, text: impl Into<String>) {
        self.warn_at(class, self.lines.number, text);
    }

    pub(super) fn warn_at(&mut self, class: WarningClass, line: u64, text: impl Into<String>) {
        add_warning(
            &mut self.state.warnings,
            CaptureWarning::new(class, line, text),
        );
    }
}

fn add_warning(warnings: &mut Vec<CaptureWarning>, warning: CaptureWarning) {
    // Clock errors are at most one per sample, and the only warnings that pt-diskstats needs.
    let is_kept = warning.class == WarningClass::Clock || warnings.len() < MAX_WARNINGS;
    match warnings.last_mut() {
        Some(last) if !is_kept => last.omitted += 1,
        _ => warnings.push(warning),
    }
}

pub(super) fn linux_2_4(line: u64) -> io::Error {
    let message =
        "holds /proc/partitions of Linux 2.4; blkstat reads /proc/diskstats of Linux 2.6 and later";
    io::Error::new(ErrorKind::InvalidData, format!("line {line} {message}"))
}

pub(super) fn recording_of_log(line: u64) -> io::Error {
    let message = "begins a recording that blkstat 0.2.0 made of a log of another tool, with counters made up from its rates; \
                   read the log itself";
    io::Error::new(ErrorKind::InvalidData, format!("line {line} {message}"))
}

pub(super) fn no_line_of_diskstats(line: u64, error: &LineError) -> io::Error {
    let message = format!(
        "no line is one of /proc/diskstats, with two numbers, the name of a device, and 4, 11, 15 or 17 numbers; line {line}, the \
         first wrong one: {}",
        error.reason
    );
    io::Error::new(ErrorKind::InvalidData, message)
}
