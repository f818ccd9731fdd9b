//! Sentences as lines.

use crate::report::layout::wrap;
use crate::sanitize::sanitize;

/// Appends a text in lines of `width` columns at most, each after `indent` spaces and broken between words; a word
/// that is longer than a line is broken. What could steer a terminal is escaped.
pub(super) fn paragraph(text: &str, indent: usize, width: usize, out: &mut Vec<u8>) {
    let room = width.saturating_sub(indent).max(1);
    for line in wrap(&sanitize(text), room) {
        push_line(&line, indent, out);
    }
}

/// Appends an empty line and a heading.
pub(super) fn heading(text: &str, width: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    paragraph(text, 2, width, out);
}

/// Appends a line as it is after `indent` spaces, without spaces at its end.
pub(super) fn push_line(line: &str, indent: usize, out: &mut Vec<u8>) {
    out.extend(std::iter::repeat_n(b' ', indent));
    out.extend_from_slice(line.trim_end().as_bytes());
    out.push(b'\n');
}

/// `1 interval`, `2 intervals`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, indent: usize, width: usize) -> String {
        let mut out = Vec::new();
        paragraph(text, indent, width, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(drawn("one two three", 2, 9), "  one two\n  three\n");
        assert_eq!(drawn("abcdefgh i", 0, 5), "abcde\nfgh i\n");
        assert_eq!(drawn("", 2, 9), "");
        assert_eq!(drawn("it is 0.3 %, so", 0, 10), "it is\n0.3 %, so\n");
    }

    #[test]
    fn a_name_cannot_steer_and_wide_letters_count_twice() {
        assert_eq!(drawn("a\u{1b}[2J", 0, 80), "a\\u{1b}[2J\n");
        assert_eq!(drawn("盤盤盤", 0, 4), "盤盤\n盤\n");
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!([counted(1, "gap"), counted(2, "gap")], ["1 gap", "2 gaps"]);
    }
}
