//! Warnings about a capture, and their messages.

use jiff::Timestamp;

use super::diskstats_line::LineError;
use super::time_form::TimeForm;
use super::writer::DroppedSamples;
use super::{MAX_DEVICES_PER_SAMPLE, MAX_LINE_BYTES, MAX_SAMPLE_BYTES};

/// A part of a capture that was skipped, or a point where time breaks.
#[derive(Clone, Debug, PartialEq)]
pub struct CaptureWarning {
    /// The line number, from 1.
    pub line: u64,
    pub kind: CaptureWarningKind,
    /// The number of further warnings that were counted but not kept, because an endless stream of invalid lines must
    /// not exhaust the memory.
    pub omitted: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CaptureWarningKind {
    /// A line that is not a valid diskstats line.
    Line(LineError),
    /// A line that is too long to be read.
    LineTooLong,
    /// A sample with more devices than any host has.
    TooManyDevices,
    /// A `TS` line without a valid time; holds the text found there.
    InvalidTimestamp(String),
    /// A `#blkstat` line with invalid JSON; holds the reason.
    InvalidAnnotation(String),
    /// Lines before the first `TS` line.
    BeforeFirstTimestamp,
    /// Lines between the end of a sample and the next `TS` line.
    BetweenSamples,
    /// The samples do not begin with `TS` lines; says what their times are instead, and whether those that are written alike
    /// are spread evenly.
    ForeignTimes { form: TimeForm, is_spread: bool },
    /// The capture was rebuilt from a log; says from which, and what is not known.
    FromLog(String),
    /// A line of a log that cannot be used; says why.
    LogLine(String),
    /// Another boot or another host begins, as counters or the long time without a sample show.
    NewSegment { at: Timestamp, reason: &'static str },
    /// The wall clock did not advance.
    ClockNotAdvanced {
        /// The time of the previous sample.
        previous: Timestamp,
        /// The time of this sample.
        now: Timestamp,
    },
    /// The monotonic clock of a recording did not advance.
    MonotonicClockNotAdvanced,
    /// The host was rebooted since the previous sample.
    Rebooted,
    /// The recording continues on another host.
    HostChanged,
    /// The compressed data of the file ends early; holds the time of its last complete sample.
    EndsEarly { at: Option<Timestamp>, cuts_sample: bool },
    /// The capture continues in the file of this name.
    NextFile(String),
    /// The file ends within its last sample.
    LastSampleTruncated,
    /// The last sample lacks the devices that the sample before it lists last, as if the file were truncated.
    LastSampleLacksDevices {
        /// The number of devices that are missing.
        missing: usize,
        /// The number of devices in the sample before it.
        expected: usize,
    },
    /// Something that is not compressed data follows the compressed data.
    TrailingData,
    /// A sample before a recording that was appended is incomplete: the recorder of the sample was killed.
    SampleTruncated,
    /// The recorder dropped samples, because its disk did not accept them.
    SamplesDropped(DroppedSamples),
    /// The wall clock was set.
    ClockStepped {
        /// Seconds by which it was set forward, or back if negative.
        seconds: f64,
    },
    /// The host was suspended.
    Suspended {
        /// Seconds that it was suspended.
        seconds: f64,
    },
    /// A time of the requested range occurs more than once; holds the sentence that says which was taken.
    RepeatedTime(String),
}

impl CaptureWarningKind {
    /// Returns whether it is only about skipped lines, and not about time or a missing part of the capture.
    pub fn is_about_lines(&self) -> bool {
        matches!(
            self,
            Self::Line(_)
                | Self::LineTooLong
                | Self::TooManyDevices
                | Self::InvalidTimestamp(_)
                | Self::InvalidAnnotation(_)
                | Self::LogLine(_)
                | Self::BeforeFirstTimestamp
                | Self::BetweenSamples
        )
    }

    /// Returns whether it tells how the capture was read, and nothing is wrong.
    pub fn is_note(&self) -> bool {
        matches!(self, Self::ForeignTimes { .. } | Self::FromLog(_) | Self::NextFile(_))
    }

    /// Returns whether the clock did not advance, which breaks time for every reader of the capture.
    pub(super) fn is_clock_error(&self) -> bool {
        matches!(self, Self::ClockNotAdvanced { .. } | Self::MonotonicClockNotAdvanced)
    }
}

impl std::fmt::Display for CaptureWarningKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Line(error) => error.fmt(f),
            Self::LineTooLong => write!(f, "line longer than {MAX_LINE_BYTES} bytes; skipped"),
            Self::TooManyDevices => {
                let mib = MAX_SAMPLE_BYTES / (1024 * 1024);
                write!(
                    f,
                    "sample exceeds {MAX_DEVICES_PER_SAMPLE} devices or {mib} MiB; remaining devices skipped"
                )
            }
            Self::InvalidTimestamp(found) => write!(f, "invalid time '{found}' after 'TS'; sample skipped"),
            Self::InvalidAnnotation(reason) => write!(f, "invalid '#blkstat' line: {reason}; skipped"),
            Self::BeforeFirstTimestamp => {
                write!(f, "lines before the first 'TS' have no timestamp; skipped")
            }
            Self::BetweenSamples => {
                write!(f, "lines between the end of a sample and the next 'TS' have no timestamp; skipped")
            }
            Self::ForeignTimes { form, is_spread } => {
                let spread = if *is_spread { "; spread evenly where several are the same" } else { "" };
                write!(f, "samples have no 'TS' lines; their times are {form}{spread}")
            }
            Self::FromLog(text) | Self::LogLine(text) => f.write_str(text),
            Self::NewSegment { at, reason } => {
                write!(f, "{reason} at {at}: another boot or host begins; no interval spans this point")
            }
            Self::ClockNotAdvanced { previous, now } => {
                let what = if previous == now { "did not advance at" } else { "went back to" };
                write!(f, "clock {what} {now}; no interval spans this point")
            }
            Self::MonotonicClockNotAdvanced => {
                write!(f, "monotonic clock did not advance; no interval spans this point")
            }
            Self::Rebooted => write!(f, "host was rebooted; no interval spans this point"),
            Self::HostChanged => {
                write!(f, "recording continues on another host; no interval spans this point")
            }
            Self::EndsEarly { at, cuts_sample } => {
                let skipped = if *cuts_sample { "; last sample is truncated; skipped" } else { "" };
                write!(f, "compressed data is cut off{skipped}")?;
                at.map_or(Ok(()), |at| write!(f, "; the readable part ends at {at}"))
            }
            Self::NextFile(name) => write!(f, "continues in {name}"),
            Self::LastSampleTruncated => write!(f, "last sample is truncated; skipped"),
            Self::LastSampleLacksDevices { missing, expected } if missing == expected => {
                write!(f, "last sample has no devices, as if truncated; skipped")
            }
            Self::LastSampleLacksDevices { missing, expected } => {
                write!(
                    f,
                    "last sample lacks {missing} of {expected} devices at its end, as if truncated; skipped"
                )
            }
            Self::TrailingData => {
                write!(f, "compressed data ends here; the bytes after it are ignored")
            }
            Self::SampleTruncated => write!(f, "sample is truncated; skipped"),
            Self::SamplesDropped(DroppedSamples { count, first, last }) => {
                let s = if *count == 1 { "" } else { "s" };
                write!(f, "{count} sample{s}")?;
                if let Some((first, last)) = first.zip(*last) {
                    write!(f, " from {first:.0} to {last:.0}")?;
                }
                write!(f, " dropped by the recorder, whose disk did not accept them")
            }
            Self::ClockStepped { seconds } => {
                let direction = if *seconds < 0.0 { "back" } else { "forward" };
                write!(f, "wall clock was set {direction} by {:.1} s", seconds.abs())
            }
            Self::Suspended { seconds } => write!(f, "host was suspended for {seconds:.0} s"),
            Self::RepeatedTime(sentence) => f.write_str(sentence),
        }
    }
}
