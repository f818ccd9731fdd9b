//! Warnings about a capture.

/// A part of a capture that was skipped, or a point where time breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureWarning {
    pub class: WarningClass,
    /// The line number, from 1.
    pub line: u64,
    pub text: String,
    /// The number of further warnings that were counted but not kept, because an endless stream of invalid lines must
    /// not exhaust the memory.
    pub omitted: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningClass {
    /// Lines are skipped.
    Lines,
    /// The clock did not advance, which breaks time for every reader of the capture.
    Clock,
    /// It tells how the capture was read, and nothing is wrong.
    Note,
    /// The capture continues in the file of this name.
    NextFile,
    /// It is about the capture as a whole, not about a line.
    Capture,
    /// About time, or a missing part of the capture.
    Other,
}

impl CaptureWarning {
    pub fn new(class: WarningClass, line: u64, text: impl Into<String>) -> Self {
        Self { class, line, text: text.into(), omitted: 0 }
    }

    /// Returns whether it tells how the capture was read, and nothing is wrong.
    pub fn is_note(&self) -> bool {
        matches!(self.class, WarningClass::Note | WarningClass::NextFile)
    }
}
