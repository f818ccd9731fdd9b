//! The values of fields, written as JSON and as CSV.
//!
//! Written without serde_json and csv: a live report of hundreds of devices formats ten thousand numbers, and both
//! formats share the number format.

use std::io::Write;

use jiff::Timestamp;
use memchr::{memchr, memchr2};

use crate::fixed_decimal::{push_millionths, push_whole};
use crate::sanitize::{push_json_string, push_quoted, sanitize};
use Field::{Flag, Json, Name, Number, Sentences, Text, Time, Whole, Word, Words};

/// A format for other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFormat {
    /// JSON Lines: an object on a line of its own.
    Json,
    /// RFC 4180, but lines end with only a newline, and a text that a spreadsheet would run as a formula has an
    /// apostrophe before it; the names of the fields come first.
    Csv,
    /// The line protocol of InfluxDB.
    Influx,
}

/// The value of a field; `None` is null in JSON and an empty cell in CSV.
pub(crate) enum Field<'a> {
    Text(Option<&'a str>),
    /// A text that was made for the field.
    Name(Option<String>),
    /// A word that needs no quotes in CSV and no escapes.
    Word(Option<&'static str>),
    Flag(Option<bool>),
    Time(Option<Timestamp>),
    Number(Option<f64>),
    Whole(Option<u64>),
    /// A set of words: an array in JSON, joined by `+` in CSV.
    Words(Vec<&'static str>),
    /// Sentences: an array in JSON, joined by `; ` in CSV.
    Sentences(Vec<String>),
    /// A text of JSON.
    Json(String),
}

/// Appends a value as JSON or as a cell of CSV.
fn push_field(field: &Field<'_>, format: LineFormat, out: &mut Vec<u8>) {
    match field {
        Text(Some(text)) => push_text(text, format, out),
        Name(Some(text)) => push_text(text, format, out),
        Word(Some(word)) if format == LineFormat::Json => push_quoted(word, out),
        Word(Some(word)) => out.extend_from_slice(word.as_bytes()),
        Flag(Some(flag)) => out.extend_from_slice(flag.to_string().as_bytes()),
        Time(Some(time)) => push_text(&time_text(*time), format, out),
        Number(Some(value)) => push_number(*value, out),
        Whole(Some(value)) => push_whole(out, *value, 0),
        Words(words) if format == LineFormat::Json => push_array(words.iter().copied(), out),
        Words(words) => out.extend_from_slice(words.join("+").as_bytes()),
        Sentences(sentences) if format == LineFormat::Json => {
            push_array(sentences.iter().map(String::as_str), out)
        }
        Sentences(sentences) => push_cell(sentences.iter().map(String::as_str), out),
        Json(text) if format == LineFormat::Json => out.extend_from_slice(text.as_bytes()),
        Json(text) => push_cell([text.as_str()], out),
        _ if format == LineFormat::Json => out.extend_from_slice(b"null"),
        _ => {}
    }
}

fn push_text(text: &str, format: LineFormat, out: &mut Vec<u8>) {
    if format == LineFormat::Json {
        push_json_string(text, out)
    } else {
        push_cell([text], out)
    }
}

/// Appends what precedes the value of the field at this place: in JSON with its name.
fn push_name(name: &str, at: usize, format: LineFormat, out: &mut Vec<u8>) {
    let separator: &[u8] = match (format == LineFormat::Json, at) {
        (true, 0) => b"{\"",
        (true, _) => b",\"",
        (false, 0) => b"",
        (false, _) => b",",
    };
    out.extend_from_slice(separator);
    if format == LineFormat::Json {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
    }
}

/// Appends a line: an object of JSON, or cells of CSV.
pub(crate) fn push_line<'a>(
    fields: impl Iterator<Item = (impl AsRef<str>, Field<'a>)>,
    format: LineFormat,
    out: &mut Vec<u8>,
) {
    for (at, (name, value)) in fields.enumerate() {
        push_name(name.as_ref(), at, format, out);
        push_field(&value, format, out);
    }
    let is_json = format == LineFormat::Json;
    out.extend_from_slice(if is_json { b"}\n" } else { b"\n" });
}

fn push_array<'a>(texts: impl Iterator<Item = &'a str>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, text) in texts.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_json_string(text, out);
    }
    out.push(b']');
}

/// Appends texts as a cell of CSV, joined by `; `. Characters that could control a terminal are escaped, because CSV
/// has no escapes itself. A device or a cgroup can have a name that a spreadsheet would run as a formula; an apostrophe before
/// it makes it a text there. Other programs take the apostrophe for a part of the name, which hardly any real name is worth:
/// the alternative is an option that nobody knows of when it matters.
fn push_cell<'a>(texts: impl IntoIterator<Item = &'a str>, out: &mut Vec<u8>) {
    let begin = out.len();
    for (at, text) in texts.into_iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"" } else { b"; " });
        out.extend_from_slice(sanitize(text).as_bytes());
    }
    let may_be_formula = matches!(out.get(begin), Some(b'=' | b'+' | b'-' | b'@'));
    if may_be_formula {
        out.insert(begin, b'\'');
    }
    if memchr2(b',', b'"', &out[begin..]).is_some() {
        out.insert(begin, b'"');
        let mut from = begin + 1;
        while let Some(at) = memchr(b'"', &out[from..]) {
            out.insert(from + at, b'"');
            from += at + 2;
        }
        out.push(b'"');
    }
}

/// Returns a time in UTC to the microsecond, in the format of RFC 3339.
pub(crate) fn time_text(time: Timestamp) -> String {
    format!("{time:.6}")
}

/// Returns a time in seconds since 1970.
pub(crate) fn epoch_seconds(time: Timestamp) -> f64 {
    time.as_microsecond() as f64 / 1e6
}

/// Appends a number with at most six decimals, which is finer than the resolution of the counters.
pub(super) fn push_number(value: f64, out: &mut Vec<u8>) {
    if !value.is_finite() {
        out.extend_from_slice(b"null");
    } else if (0.0..MAX_EXACT).contains(&value) {
        push_millionths(out, millionths_of(value));
    } else {
        let rounded = value.round();
        // Writing to a Vec cannot fail.
        let _ = write!(out, "{rounded:.1}");
    }
}

/// Below this, a float holds all millionths as whole numbers.
const MAX_EXACT: f64 = 9e9;

/// Returns a number that is not negative and below [`MAX_EXACT`] in millionths, rounded.
fn millionths_of(value: f64) -> u64 {
    // Like round(), which would be a function call unless the CPU is known to have an instruction for it. CPUs convert
    // signed numbers faster.
    let scaled = value * 1e6;
    let below = scaled as i64;
    below as u64 + u64::from(scaled - below as f64 >= 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_of_every_size_are_rounded_to_millionths(value in 0.0..9e9, shift in 0..12) {
            let value: f64 = value / 10f64.powi(shift);
            let mut out = Vec::new();
            push_number(value, &mut out);
            // The standard library rounds exactly; here the product is rounded to a float first.
            let rounded = (value * 1e6).round();
            let (whole, fraction) = ((rounded / 1e6).floor(), rounded % 1e6);
            let expected = format!("{whole:.0}.{fraction:06.0}");
            let trimmed = expected.trim_end_matches('0');
            let expected = if trimmed.ends_with('.') { format!("{trimmed}0") } else { trimmed.to_owned() };
            prop_assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn only_texts_are_marked_as_no_formula() {
        let fields = [
            ("", Field::Text(Some("-1"))),
            ("", Field::Text(Some("a=b"))),
            ("", Field::Name(Some("=\"x\"".to_owned()))),
            ("", Field::Sentences(vec!["@a: full".to_owned()])),
            ("", Field::Number(Some(-1.0))),
            ("", Field::Whole(Some(1))),
        ];
        let mut out = Vec::new();
        push_line(fields.into_iter(), LineFormat::Csv, &mut out);
        let line = "'-1,a=b,\"'=\"\"x\"\"\",'@a: full,-1.0,1\n";
        assert_eq!(String::from_utf8(out).unwrap(), line);
    }

    #[test]
    fn numbers_have_six_decimals_at_most() {
        let text = |value: f64| {
            let mut out = Vec::new();
            push_number(value, &mut out);
            String::from_utf8(out).unwrap()
        };
        let texts = [
            0.0,
            1.0,
            1.5,
            0.1234567,
            1_000.000_101,
            0.0000004,
            99.9999999,
            3e9,
        ]
        .map(text);
        assert_eq!(
            texts,
            [
                "0.0",
                "1.0",
                "1.5",
                "0.123457",
                "1000.000101",
                "0.0",
                "100.0",
                "3000000000.0"
            ]
        );
        assert_eq!(
            [1e12, f64::NAN, f64::INFINITY].map(text),
            ["1000000000000.0", "null", "null"]
        );
    }
}
