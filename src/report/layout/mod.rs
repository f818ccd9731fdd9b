//! Text layout shared by all formats: numbers, column fitting, plain tables and wrapping.

pub(crate) mod number_format;
pub(crate) mod sentence_numbers;
pub(crate) mod sparkline;
mod table;
mod wrap;

use jiff::Timestamp;
use jiff::tz::TimeZone;

pub(crate) use table::{KEEP, TextTable, fit_columns};
pub(crate) use wrap::{ellipsize, push_lines, text_width, wrap};

/// The multiple of an interval from which its numbers are said to be means over a longer time.
const MIN_MEAN_RATIO: f64 = 1.5;

/// Returns the seconds over which numbers are means; `None` if that is about the length of the interval.
pub(crate) fn mean_of_s(elapsed_s: f64, interval_s: f64) -> Option<f64> {
    (elapsed_s > MIN_MEAN_RATIO * interval_s).then_some(elapsed_s)
}

/// A time of day: `16:04:47`.
pub(crate) fn time_of_day(at: Timestamp, zone: &TimeZone) -> String {
    format_time(at, zone, "%H:%M:%S")
}

/// A time in this format of strftime.
pub(crate) fn format_time(at: Timestamp, zone: &TimeZone, format: &str) -> String {
    at.to_zoned(zone.clone()).strftime(format).to_string()
}

/// The rule for the width of reports for people, in all commands: `--width`, or else the width of the terminal. Without
/// either, nothing is cut: tables have all their columns and whole names, for programs that read them, and sentences are
/// wrapped at [`DEFAULT_WIDTH`], because nobody reads longer lines. This is the width of such tables; sums with it do not
/// overflow.
pub(crate) const UNLIMITED_WIDTH: usize = usize::MAX / 2;

/// The width of sentences without a limit, and of everything on a terminal that does not tell its size.
pub(crate) const DEFAULT_WIDTH: usize = 100;

/// Returns the width at which sentences are wrapped in a report of this width.
pub(crate) fn sentence_width(width: usize) -> usize {
    if width == UNLIMITED_WIDTH {
        DEFAULT_WIDTH
    } else {
        width
    }
}

/// Appends a note in parentheses, in lines of at most `width` columns. `starts` has the beginning of the first line and
/// that of the others, which must be as wide.
pub(crate) fn push_note(note: &str, width: usize, starts: [&str; 2], out: &mut Vec<u8>) {
    push_lines(&format!("({note})"), starts, sentence_width(width), out);
}
