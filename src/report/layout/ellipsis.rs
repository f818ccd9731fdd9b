//! Text that is shortened in the middle.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::sanitize::is_printable_ascii;

/// Returns the number of columns that a text takes.
pub(crate) fn text_width(text: &str) -> usize {
    if is_printable_ascii(text) { text.len() } else { text.width() }
}

/// Returns `text` in at most `width` columns, with an ellipsis in place of the text cut from its middle.
pub(crate) fn ellipsize(text: &str, width: usize) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let Some(kept) = width.checked_sub(1) else { return String::new() };
    let head = take_width(text.chars(), kept.div_ceil(2));
    let tail: Vec<char> = take_width(text.chars().rev(), kept / 2).chars().rev().collect();
    format!("{head}…{}", tail.iter().collect::<String>())
}

/// Takes as many characters as fit into `width` columns.
fn take_width(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    characters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_cut() {
        assert_eq!(ellipsize("vg0-root", 8), "vg0-root");
        assert_eq!(ellipsize("vg0-root-snapshot", 8), "vg0-…hot");
        assert_eq!(ellipsize("盤盤盤盤", 4), "盤…");
        assert_eq!((ellipsize("abc", 1), ellipsize("abc", 0)), ("…".to_owned(), String::new()));
    }
}
