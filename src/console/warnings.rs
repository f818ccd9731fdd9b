//! Prints warnings about the input: the first few of each class in full, then the number of the others.

use std::fmt::Display;
use std::io::Write;

use crate::capture::{CaptureWarning, WarningClass};
use crate::sanitize::sanitize;

/// The most warnings of a class that are printed in full.
const MAX_PRINTED: u64 = 10;

/// The classes of warnings: a break in time or a truncated file is reported even after many warnings about skipped
/// lines.
#[derive(Clone, Copy)]
enum Class {
    SkippedLines,
    Other,
}

/// Prints and counts the warnings about one input.
pub struct Warnings {
    input: String,
    /// The number of printed warnings, by class.
    printed: [u64; 2],
    omitted: u64,
    is_silent: bool,
}

impl Warnings {
    /// Creates a printer for warnings about the input of this name.
    pub fn about(input: &str) -> Self {
        Self { input: sanitize(input).into_owned(), printed: [0; 2], omitted: 0, is_silent: false }
    }

    /// Creates a printer that prints nothing, for an input that is read again.
    pub fn silent() -> Self {
        Self { input: String::new(), printed: [0; 2], omitted: 0, is_silent: true }
    }

    /// Warns about a line that is skipped.
    pub fn warn_line(&mut self, line: u64, message: &dyn Display, err: &mut dyn Write) {
        self.print(Class::SkippedLines, &format!("{}:{line}: {message}", self.input), err);
    }

    /// Warns about a capture, and counts the warnings that the reader omitted.
    pub fn warn_capture(&mut self, warning: &CaptureWarning, err: &mut dyn Write) {
        let class = match warning.class {
            WarningClass::NextFile => return self.input = sanitize(&warning.text).into_owned(),
            WarningClass::Capture => return self.warn_input(&warning.text, err),
            WarningClass::Lines => Class::SkippedLines,
            WarningClass::Clock | WarningClass::Note | WarningClass::Other => Class::Other,
        };
        self.print(class, &format!("{}:{}: {}", self.input, warning.line, warning.text), err);
        self.omitted += warning.omitted;
    }

    pub fn warn_all(&mut self, warnings: &[CaptureWarning], err: &mut dyn Write) {
        warnings.iter().for_each(|warning| self.warn_capture(warning, err));
    }

    /// Warns about the input as a whole.
    pub fn warn_input(&mut self, message: &str, err: &mut dyn Write) {
        self.print(Class::Other, &format!("{}: {}", self.input, sanitize(message)), err);
    }

    fn print(&mut self, class: Class, text: &str, err: &mut dyn Write) {
        let printed = &mut self.printed[class as usize];
        if *printed == MAX_PRINTED {
            self.omitted += 1;
            return;
        }
        *printed += 1;
        if !self.is_silent {
            // A warning that cannot be printed does not end the run.
            let _ = writeln!(err, "blkstat: {text}");
        }
    }

    /// Prints the number of warnings that were not printed, if there are any.
    pub fn finish(&self, err: &mut dyn Write) {
        let more = self.omitted;
        if more > 0 && !self.is_silent {
            let s = if more == 1 { "" } else { "s" };
            let _ = writeln!(err, "blkstat: {}: {more} more warning{s} like these", self.input);
        }
    }
}
