//! Warnings about the input: the first few in full, then their number.

use std::fmt::Display;
use std::io::Write;

use crate::sanitize::sanitize;

/// How many warnings are printed in full.
const SHOWN: u64 = 10;

/// Prints warnings about one input.
pub(super) struct Warnings {
    input: String,
    count: u64,
}

impl Warnings {
    /// Warnings about the file, or what stands for one, of this name.
    pub(super) fn about(input: &str) -> Self {
        Self { input: sanitize(input).into_owned(), count: 0 }
    }

    /// Prints one, if not too many were printed before.
    pub(super) fn warn(&mut self, line: u64, what: &dyn Display, err: &mut dyn Write) {
        self.count += 1;
        if self.count <= SHOWN {
            // A warning that cannot be printed stops no report.
            let _ = writeln!(err, "blkstat: {}:{line}: {what}", self.input);
        }
    }

    /// Says how many were not printed.
    pub(super) fn finish(&self, err: &mut dyn Write) {
        if let Some(more @ 1..) = self.count.checked_sub(SHOWN) {
            let s = if more == 1 { "" } else { "s" };
            let _ = writeln!(err, "blkstat: {}: {more} more warning{s} like these", self.input);
        }
    }
}
