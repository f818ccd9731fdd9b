//! Classifies the lines of a capture, and parses the `TS` line that begins a sample in the captures of pt-diskstats: `TS
//! <seconds>[.<fraction>] ...`.

use std::iter;

use jiff::Timestamp;

use super::annotation::{Annotation, find_embedded_annotation};
use super::diskstats_line::excerpt;
use super::proc_files::parse_cpu_line;
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
    InvalidAnnotation(serde_json::Error),
}

impl LineKind {
    /// Classifies a line. `ended` means that a newline ended it; `accepts_unended` is passed to
    /// [`TimestampLine::parse`]; CPU lines occur only if `in_sample`.
    pub(super) fn of(line: &[u8], ended: bool, accepts_unended: bool, in_sample: bool) -> Self {
        match line.first() {
            Some(b'T') => TimestampLine::parse(line, ended, accepts_unended)
                .map_or(Self::Device, Self::Timestamp),
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

    /// Returns whether only captures of pt-diskstats and recordings have such lines.
    pub(super) fn begins_capture(&self) -> bool {
        matches!(
            self,
            Self::Timestamp(TimestampLine { time: Some(_), .. }) | Self::Annotation(_)
        )
    }

    /// Returns whether it begins a recording that was made of a log.
    pub(super) fn is_of_log(&self) -> bool {
        matches!(self, Self::Annotation(Annotation::Header(header)) if header.lacking.is_some())
    }

    /// Returns the position in a line of this kind of what should have been a separate line; `None` if there is none.
    ///
    /// A valid annotation contains no other: the marker can only occur in one of its strings.
    pub(super) fn embedded_line(&self, line: &[u8], splits_samples: bool) -> Option<usize> {
        let may_have_one = !matches!(self, Self::Annotation(_));
        may_have_one.then(|| find_embedded_line(line, splits_samples))?
    }
}

/// Returns the position of an annotation or, if it `splits_samples`, of a `TS` line that follows a line without an end: the
/// writer was killed.
pub(super) fn find_embedded_line(line: &[u8], splits_samples: bool) -> Option<usize> {
    let timestamp = || {
        if !splits_samples {
            return None;
        }
        let starts = memchr::memmem::find_iter(line, b"TS ").filter(|at| *at > 0);
        starts
            .into_iter()
            .find(|at| parse_time(&line[*at..]).is_some())
    };
    find_embedded_annotation(line).or_else(timestamp)
}

/// A `TS` line.
pub(super) struct TimestampLine {
    /// The time; `None` if it is missing, invalid or perhaps incomplete.
    pub(super) time: Option<Timestamp>,
    /// The time of day in the line, `HH:MM:SS`; `None` if there is none.
    pub(super) written_time: Option<String>,
    /// The word where the time should be, for messages; empty if there is a time.
    pub(super) found: String,
    /// A newline ended the line.
    pub(super) ended: bool,
}

impl TimestampLine {
    /// Parses a line; `None` if it is not a `TS` line. The time of a line without a newline may lack digits, so it is
    /// used only with `accepts_unended`.
    pub(super) fn parse(line: &[u8], ended: bool, accepts_unended: bool) -> Option<Self> {
        is_timestamp(line).then(|| {
            let time = parse_time(line).filter(|_| ended || accepts_unended);
            let found = if time.is_some() {
                String::new()
            } else {
                excerpt(time_word(line))
            };
            Self {
                time,
                written_time: time_of_day(line),
                found,
                ended,
            }
        })
    }
}

/// Returns the time of a line that begins a sample; `None` for any other line, or without a valid time.
pub(super) fn timestamp_of_line(line: &[u8]) -> Option<Timestamp> {
    if is_timestamp(line) {
        parse_time(line)
    } else {
        None
    }
}

fn is_timestamp(line: &[u8]) -> bool {
    matches!(line, [b'T', b'S', b' ' | b'\t', ..] | [b'T', b'S'])
}

/// Returns the word after `TS`; empty if there is none.
fn time_word(line: &[u8]) -> &[u8] {
    line[2..]
        .split(|b| b.is_ascii_whitespace())
        .find(|word| !word.is_empty())
        .unwrap_or_default()
}

/// Returns the time of a `TS` line; `None` if it is not a number of seconds, or is outside the calendar's range. Digits
/// beyond nanoseconds are ignored.
fn parse_time(line: &[u8]) -> Option<Timestamp> {
    let word = std::str::from_utf8(time_word(line)).ok()?;
    let (sign, word) = match word.strip_prefix('-') {
        Some(word) => (-1, word),
        None => (1, word),
    };
    let (seconds, fraction) = word.split_once('.').unwrap_or((word, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if seconds.is_empty() || !is_digits(seconds) || !is_digits(fraction) {
        return None;
    }
    let digits = fraction.bytes().chain(iter::repeat(b'0')).take(9);
    let nanos = digits.fold(0, |nanos, digit| nanos * 10 + i32::from(digit - b'0'));
    Timestamp::new(sign * seconds.parse::<i64>().ok()?, sign as i32 * nanos).ok()
}

/// Returns the first `HH:MM:SS` of a line.
fn time_of_day(line: &[u8]) -> Option<String> {
    let is_time = |text: &&[u8]| {
        text.iter().enumerate().all(|(at, byte)| {
            if at % 3 == 2 {
                *byte == b':'
            } else {
                byte.is_ascii_digit()
            }
        })
    };
    line.windows(8)
        .find(is_time)
        .map(|time| String::from_utf8_lossy(time).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_seconds_with_or_without_a_fraction() {
        let at = |line: &str| parse_time(line.as_bytes()).map(|t| t.as_nanosecond());
        assert_eq!(
            at("TS 1795198931.000256512 2026-11-20 18:22:11"),
            Some(1_795_198_931_000_256_512)
        );
        assert_eq!(at("TS 1795198931.5"), Some(1_795_198_931_500_000_000));
        assert_eq!(at("TS 1795198931"), Some(1_795_198_931_000_000_000));
        assert_eq!(at("TS\t7.0000000019 x\r"), Some(7_000_000_001));
        assert_eq!(at("TS 1795198931. x"), Some(1_795_198_931_000_000_000));
        // Before 1970.
        assert_eq!(at("TS -60.000706350 x"), Some(-60_000_706_350));
        assert_eq!(at("TS -0.5"), Some(-500_000_000));
    }

    #[test]
    fn the_time_of_day_is_found_anywhere_in_the_line() {
        assert_eq!(
            time_of_day(b"TS 1 2026-11-20 18:22:11").as_deref(),
            Some("18:22:11")
        );
        assert_eq!(
            time_of_day(b"TS 1.5 2011-02-08T14:58:07\r").as_deref(),
            Some("14:58:07")
        );
        assert_eq!(time_of_day(b"TS 1795198931.5"), None);
    }

    #[test]
    fn an_invalid_time_is_none() {
        for line in [
            "TS",
            "TS ",
            "TS abc",
            "TS --5",
            "TS -",
            "TS 1.2.3",
            "TS 99999999999999",
            "TS 12x",
            "TS .5",
        ] {
            assert_eq!(parse_time(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn only_the_separate_word_ts_begins_a_sample() {
        assert!(is_timestamp(b"TS 1") && is_timestamp(b"TS") && is_timestamp(b"TS\t1"));
        assert!(!is_timestamp(b"TSX 1") && !is_timestamp(b" TS 1") && !is_timestamp(b""));
    }
}
