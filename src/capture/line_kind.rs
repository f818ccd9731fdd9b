//! Classifies the lines of a capture.

use super::annotation::{Annotation, AnnotationError, find_embedded_annotation};
use super::proc_files::parse_cpu_line;
use super::timestamp::TimestampLine;
use crate::counters::CpuTimes;

pub(super) enum LineKind {
    /// A device line, or a line of no other kind.
    Device,
    /// A line that is ignored.
    Comment,
    /// The `TS` line that begins a sample.
    Timestamp(TimestampLine),
    /// A `cpu` line of /proc/stat; `None` for a line that is not used.
    Cpu(Option<CpuTimes>),
    /// A `#blkstat` line.
    Annotation(Annotation),
    /// A `#blkstat` line whose JSON is invalid.
    InvalidAnnotation(AnnotationError),
}

impl LineKind {
    /// Classifies a line. `ended` means that a newline ended it; `accepts_unended` is passed to
    /// [`TimestampLine::parse`]; CPU lines occur only if `in_sample`.
    pub(super) fn of(line: &[u8], ended: bool, accepts_unended: bool, in_sample: bool) -> Self {
        match line.first() {
            Some(b'T') => {
                TimestampLine::parse(line, ended, accepts_unended).map_or(Self::Device, Self::Timestamp)
            }
            // Without a newline the last number may lack digits.
            Some(b'c') if in_sample && line.starts_with(b"cpu") => {
                Self::Cpu(parse_cpu_line(line).filter(|_| ended))
            }
            Some(b'#') => match Annotation::parse_line(line) {
                None => Self::Comment,
                Some(Ok(annotation)) => Self::Annotation(annotation),
                Some(Err(error)) => Self::InvalidAnnotation(error),
            },
            // Nearly all lines end up here.
            _ => Self::Device,
        }
    }

    /// Returns the position in a line of this kind of an annotation that should have been a separate line; `None` if
    /// there is none.
    ///
    /// A valid annotation contains no other: the marker can only occur in one of its strings. Device lines are searched
    /// later, if they turn out to be invalid.
    pub(super) fn embedded_annotation(&self, line: &[u8]) -> Option<usize> {
        match self {
            Self::Device | Self::Annotation(_) => None,
            Self::Comment | Self::Timestamp(_) | Self::Cpu(_) | Self::InvalidAnnotation(_) => {
                find_embedded_annotation(line)
            }
        }
    }
}
