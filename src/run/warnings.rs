//! Warnings about the input: the first few in full, then their number.

use std::fmt::Display;
use std::io::Write;

use crate::capture::CaptureWarning;
use crate::sanitize::sanitize;

/// How many warnings are printed in full.
const SHOWN: u64 = 10;

/// Prints warnings about one input.
pub(super) struct Warnings {
    input: String,
    count: u64,
    is_silent: bool,
}

impl Warnings {
    /// Warnings about the file, or what stands for one, of this name.
    pub(super) fn about(input: &str) -> Self {
        Self { input: sanitize(input).into_owned(), count: 0, is_silent: false }
    }

    /// Says nothing: it was said before.
    pub(super) fn silent() -> Self {
        Self { input: String::new(), count: 0, is_silent: true }
    }

    /// Prints one, if not too many were printed before.
    pub(super) fn warn(&mut self, line: u64, what: &dyn Display, err: &mut dyn Write) {
        self.say(&format!("{}:{line}: {what}", self.input), err);
    }

    /// Prints one about a capture, and counts those that were not kept.
    pub(super) fn fault(&mut self, fault: &CaptureWarning, err: &mut dyn Write) {
        self.warn(fault.line, &fault.kind, err);
        self.count += fault.more;
    }

    /// Prints one that no single line is to blame for.
    pub(super) fn note(&mut self, what: &str, err: &mut dyn Write) {
        self.say(&format!("{}: {}", self.input, sanitize(what)), err);
    }

    fn say(&mut self, text: &str, err: &mut dyn Write) {
        self.count += 1;
        if self.count <= SHOWN && !self.is_silent {
            // A warning that cannot be printed stops no report.
            let _ = writeln!(err, "blkstat: {text}");
        }
    }

    /// Says how many were not printed.
    pub(super) fn finish(&self, err: &mut dyn Write) {
        if let Some(more @ 1..) = self.count.checked_sub(SHOWN).filter(|_| !self.is_silent) {
            let s = if more == 1 { "" } else { "s" };
            let _ = writeln!(err, "blkstat: {}: {more} more warning{s} like these", self.input);
        }
    }
}
