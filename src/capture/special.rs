//! The lines of a capture that are none of a device.

use jiff::Timestamp;

use super::line::excerpt;
use super::note::{Annotation, AnnotationError, MARK, glued};
use super::parse_cpu_line;
use super::stamp::{is_stamp, parse_stamp, stamp_word, written_time};
use crate::counters::CpuTimes;

/// What a `TS` line says.
pub(super) struct TimestampLine {
    pub(super) time: Option<Timestamp>,
    pub(super) written_time: Option<String>,
    /// What stands where the time should.
    pub(super) found: String,
    /// Whether the line has its end.
    pub(super) ended: bool,
}

/// A line that is none of a device.
pub(super) enum LineKind {
    /// Nothing that matters.
    Remark,
    /// It begins a sample. Behind a part of it may stand the start of a recording, as in the others.
    Stamp(TimestampLine, Option<Annotation>),
    Cpu(Option<CpuTimes>, Option<Annotation>),
    /// One of our own.
    Annotation(Annotation),
    Notes(Annotation, Annotation),
    /// One of our own that cannot be read, and whether it has its end.
    BadNote(AnnotationError, bool),
}

impl LineKind {
    /// What sort of line it is; `None` for one of a device, or what should be one.
    pub(super) fn of(bytes: &[u8], ended: bool, is_trusted: bool, in_sample: bool) -> Option<Self> {
        match bytes.first()? {
            // Nearly every line is one of a device.
            b' ' | b'0'..=b'9' => None,
            b'T' if is_stamp(bytes) => {
                let stamp = TimestampLine {
                    time: parse_stamp(bytes).filter(|_| is_trusted),
                    written_time: written_time(bytes),
                    found: excerpt(stamp_word(bytes)),
                    ended,
                };
                Some(Self::Stamp(stamp, glued_note(bytes)))
            }
            // Without its end the line's last number may be wrong, and nothing tells.
            b'c' if in_sample && bytes.starts_with(b"cpu") => {
                Some(Self::Cpu(parse_cpu_line(bytes).filter(|_| ended), glued_note(bytes)))
            }
            b'#' => Some(Self::remark(bytes, ended)),
            _ => None,
        }
    }

    fn remark(bytes: &[u8], ended: bool) -> Self {
        let fault = match bytes.strip_prefix(MARK).map(Annotation::parse) {
            Some(Ok(note)) => return Self::Annotation(note),
            Some(Err(fault)) => Some(fault),
            None => None,
        };
        if let Some((first, second)) = glued(bytes)
            && let Ok(second) = Annotation::parse(second)
        {
            let first = first.strip_prefix(MARK).and_then(|json| Annotation::parse(json).ok());
            return first.map_or(Self::Annotation(second.clone()), |first| Self::Notes(first, second));
        }
        fault.map_or(Self::Remark, |fault| Self::BadNote(fault, ended))
    }
}

/// The line of ours that begins inside of another.
pub(super) fn glued_note(bytes: &[u8]) -> Option<Annotation> {
    Annotation::parse(glued(bytes)?.1).ok()
}
