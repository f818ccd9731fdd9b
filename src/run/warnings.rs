//! Prints warnings about the input: the first few in full, then their number.

use std::fmt::Display;
use std::io::Write;

use crate::capture::CaptureWarning;
use crate::sanitize::sanitize;

/// The most warnings that are printed in full.
const MAX_PRINTED: u64 = 10;

/// Prints and counts the warnings about one input.
pub(super) struct Warnings {
    input: String,
    count: u64,
    is_silent: bool,
}

impl Warnings {
    /// Creates a printer for warnings about the input of this name.
    pub(super) fn about(input: &str) -> Self {
        Self { input: sanitize(input).into_owned(), count: 0, is_silent: false }
    }

    /// Creates a printer that prints nothing, for an input that is read again.
    pub(super) fn silent() -> Self {
        Self { input: String::new(), count: 0, is_silent: true }
    }

    /// Warns about a line.
    pub(super) fn warn_line(&mut self, line: u64, message: &dyn Display, err: &mut dyn Write) {
        self.print(&format!("{}:{line}: {message}", self.input), err);
    }

    /// Warns about a capture, and counts the warnings that the reader omitted.
    pub(super) fn warn_capture(&mut self, warning: &CaptureWarning, err: &mut dyn Write) {
        self.warn_line(warning.line, &warning.kind, err);
        self.count += warning.omitted;
    }

    /// Warns about the input as a whole.
    pub(super) fn warn_input(&mut self, message: &str, err: &mut dyn Write) {
        self.print(&format!("{}: {}", self.input, sanitize(message)), err);
    }

    fn print(&mut self, text: &str, err: &mut dyn Write) {
        self.count += 1;
        if self.count <= MAX_PRINTED && !self.is_silent {
            // A warning that cannot be printed does not end the run.
            let _ = writeln!(err, "blkstat: {text}");
        }
    }

    /// Prints the number of warnings that were not printed in full, if there are any.
    pub(super) fn finish(&self, err: &mut dyn Write) {
        if let Some(more @ 1..) = self.count.checked_sub(MAX_PRINTED).filter(|_| !self.is_silent) {
            let s = if more == 1 { "" } else { "s" };
            let _ = writeln!(err, "blkstat: {}: {more} more warning{s} like these", self.input);
        }
    }
}
