//! Paragraphs and headings of a given width.

use crate::report::layout::wrap;
use crate::sanitize::sanitize;

/// Appends a text in lines of at most `width` columns, each after `indent` blanks and broken between words; a word that
/// is longer than a line is broken. Control characters are escaped.
pub(super) fn push_paragraph(text: &str, indent: usize, width: usize, out: &mut Vec<u8>) {
    let text_width = width.saturating_sub(indent).max(1);
    for line in wrap(&sanitize(text), text_width) {
        out.extend(std::iter::repeat_n(b' ', indent));
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
}

/// Appends an empty line and a heading.
pub(super) fn push_heading(text: &str, width: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    push_paragraph(text, 2, width, out);
}

/// A sentence with a capital letter at its beginning.
pub(super) fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paragraph(text: &str, indent: usize, width: usize) -> String {
        let mut out = Vec::new();
        push_paragraph(text, indent, width, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_line_is_indented() {
        assert_eq!(paragraph("one two three", 2, 9), "  one two\n  three\n");
        assert_eq!(paragraph("", 2, 9), "");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(paragraph("a\u{1b}[2J", 0, 80), "a\\u{1b}[2J\n");
    }
}
