//! Texts in lines of a given width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::sanitize::is_printable_ascii;

/// Returns a text in lines of at most `width` terminal columns, broken between words; a word that is longer than a
/// line is broken. A number stays with its unit.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    fill(words(text), width)
}

/// Appends a text in lines of at most `width` terminal columns: the first after `first`, the others after `next`, which
/// must be as wide.
pub(crate) fn push_lines(text: &str, [first, next]: [&str; 2], width: usize, out: &mut Vec<u8>) {
    let mut before = first;
    for line in wrap(text, width.saturating_sub(first.len()).max(1)) {
        out.extend_from_slice(before.as_bytes());
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
        before = next;
    }
}

/// Fills lines with words; a word that is longer than a line is broken.
fn fill(words: Vec<String>, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.extend(break_word(&word, width)),
        }
    }
    lines
}

/// Returns the words of a text; a number and its unit are one word.
fn words(text: &str) -> Vec<String> {
    const UNITS: [&str; 6] = ["ms", "s", "MiB", "MiB/s", "KiB", "min"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        match words.last_mut() {
            Some(number) if is_unit && number.ends_with(|c: char| c.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Breaks a word into pieces of at most `width` terminal columns, at least one character each.
fn break_word(word: &str, width: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while rest.width() > width {
        let (piece, after) = rest.split_at(prefix_length(rest, width));
        pieces.push(piece.to_owned());
        rest = after;
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push(rest.to_owned());
    }
    pieces
}

/// Returns the length in bytes of the longest prefix that fits into `width` terminal columns, at least one character.
fn prefix_length(text: &str, width: usize) -> usize {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width && at > 0 {
            return at;
        }
    }
    text.len()
}

/// Returns the number of columns that a text takes.
pub(crate) fn text_width(text: &str) -> usize {
    if is_printable_ascii(text) {
        text.len()
    } else {
        text.width()
    }
}

/// Returns `text` in at most `width` columns, with an ellipsis in place of the text cut from its middle.
pub(crate) fn ellipsize(text: &str, width: usize) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let Some(kept) = width.checked_sub(1) else {
        return String::new();
    };
    let head = take_width(text.chars(), kept.div_ceil(2));
    let tail = take_width(text.chars().rev(), kept / 2);
    let tail: String = tail.chars().rev().collect();
    format!("{head}…{tail}")
}

/// Takes as many characters as fit into `width` columns.
fn take_width(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut taken = String::new();
    let mut used = 0;
    for c in characters {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        taken.push(c);
    }
    taken
}

#[cfg(test)]
mod wrap_tests {
    use super::*;

    #[test]
    fn lines_break_between_words_but_not_before_a_unit() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh i", 5), ["abcde", "fgh i"]);
        assert_eq!(wrap("it is 0.3 ms, so", 11), ["it is", "0.3 ms, so"]);
        assert_eq!(wrap("盤盤盤", 4), ["盤盤", "盤"]);
        assert_eq!(wrap("盤盤", 1), ["盤", "盤"]);
        assert!(wrap("", 9).is_empty());
    }
}

#[cfg(test)]
mod ellipsis_tests {
    use super::*;

    #[test]
    fn the_middle_is_cut() {
        assert_eq!(ellipsize("vg0-root", 8), "vg0-root");
        assert_eq!(ellipsize("vg0-root-snapshot", 8), "vg0-…hot");
        assert_eq!(ellipsize("盤盤盤盤", 4), "盤…");
        assert_eq!(
            (ellipsize("abc", 1), ellipsize("abc", 0)),
            ("…".to_owned(), String::new())
        );
    }
}
