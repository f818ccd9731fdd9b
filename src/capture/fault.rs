//! What can be wrong with a capture, in words.

use jiff::Timestamp;

use super::line::LineError;
use super::lines::LONGEST_LINE;

/// Something in a capture that was left out, or that breaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureWarning {
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    pub kind: CaptureWarningKind,
    /// So many more lines were at fault before the reader was asked, and are not kept: a stream of rubbish would
    /// fill the memory.
    pub more: u64,
}

/// What is wrong with a line of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptureWarningKind {
    /// No line of diskstats, or a bad one.
    Line(LineError),
    /// Longer than any line that is read.
    TooLong,
    /// More devices than any machine has.
    TooManyDevices,
    /// A `TS` line without a time; the sample that it begins has none.
    BadStamp(String),
    /// A `#blkstat` line whose JSON cannot be read, and why.
    BadNote(String),
    /// Lines before the first `TS` line have no time.
    BeforeFirstStamp,
    /// Lines after the end of a sample have no time.
    AfterEnd,
    /// The clock did not advance.
    ClockBack {
        /// The time of the sample before.
        before: Timestamp,
        /// The time of this one.
        now: Timestamp,
    },
    /// The monotonic clock of a recording did not advance.
    MonotonicBack,
    /// The recording goes on after the machine was started anew.
    Rebooted,
    /// The recording goes on on another machine.
    AnotherMachine,
    /// The file ends in the middle of its last sample.
    Cut,
    /// A sample of a recording lacks its end, and others follow: the recording was killed and then went on.
    CutInside,
}

impl CaptureWarningKind {
    /// Whether the clock of a sample did not advance.
    pub(super) fn is_of_the_clock(&self) -> bool {
        matches!(self, Self::ClockBack { .. } | Self::MonotonicBack)
    }
}

impl std::fmt::Display for CaptureWarningKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CaptureWarningKind::Line(fault) => fault.fmt(f),
            CaptureWarningKind::TooLong => {
                write!(f, "the line is longer than {LONGEST_LINE} bytes; it is left out")
            }
            CaptureWarningKind::TooManyDevices => {
                write!(f, "the sample has more devices than any machine; the others are left out")
            }
            CaptureWarningKind::BadStamp(found) => {
                write!(f, "'TS' is followed by '{found}', not by seconds; the sample is left out")
            }
            CaptureWarningKind::BadNote(why) => {
                write!(f, "what follows '#blkstat' cannot be read: {why}; it is left out")
            }
            CaptureWarningKind::BeforeFirstStamp => {
                write!(f, "what stands before the first 'TS' line has no time; it is left out")
            }
            CaptureWarningKind::AfterEnd => {
                write!(f, "what stands between the end of a sample and 'TS' has no time; it is left out")
            }
            CaptureWarningKind::ClockBack { before, now } => {
                let how = if before == now { "stands still at" } else { "goes back to" };
                write!(f, "the clock {how} {now}; no interval is reported across this")
            }
            CaptureWarningKind::MonotonicBack => {
                write!(f, "the monotonic clock does not advance; no interval is reported across this")
            }
            CaptureWarningKind::Rebooted => {
                write!(f, "the machine was rebooted; no interval is reported across this")
            }
            CaptureWarningKind::AnotherMachine => {
                write!(f, "another machine was recorded from here on; no interval is reported across this")
            }
            CaptureWarningKind::Cut => write!(f, "the last sample is cut off in the middle; it is left out"),
            CaptureWarningKind::CutInside => {
                write!(f, "the sample that begins here lacks its end; it is left out")
            }
        }
    }
}
