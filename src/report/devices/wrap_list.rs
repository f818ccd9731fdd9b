//! Wrapping of lists of paths.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Joins the items by commas in lines of at most `width` terminal columns. An item is broken only where it does not fit
/// on a line of its own.
pub(super) fn wrap_list(items: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let comma = if index + 1 < items.len() { "," } else { "" };
        let item = format!("{item}{comma}");
        match lines.last_mut() {
            Some(line) if line.width() + 1 + item.width() <= width => {
                line.push(' ');
                line.push_str(&item);
            }
            _ => lines.extend(break_path(&item, width)),
        }
    }
    lines
}

/// Breaks a text into pieces of at most `width` terminal columns, preferably after a slash or a blank.
fn break_path(text: &str, width: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.width() > width {
        let end = prefix_length(rest, width);
        // A break far to the left would waste most of the line.
        let preferred = rest[..end].rfind(['/', ' ']).map(|at| at + 1).filter(|at| *at > end / 4);
        let (piece, after) = rest.split_at(preferred.unwrap_or(end));
        pieces.push(piece.to_owned());
        rest = after;
    }
    pieces.push(rest.to_owned());
    pieces
}

/// Returns the length in bytes of the longest prefix that fits into `width` terminal columns, at least one character.
fn prefix_length(text: &str, width: usize) -> usize {
    let mut used = 0;
    let exceeds = |(at, c): &(usize, char)| {
        used += c.width().unwrap_or(0);
        used > width && *at > 0
    };
    text.char_indices().find(exceeds).map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_broken_only_where_it_does_not_fit_on_a_line() {
        let items = ["/", "/boot/efi", "/var/lib/containers"].map(str::to_owned);
        assert_eq!(wrap_list(&items, 100), ["/, /boot/efi, /var/lib/containers"]);
        assert_eq!(wrap_list(&items, 13), ["/, /boot/efi,", "/var/lib/", "containers"]);
        assert_eq!(wrap_list(&items[..1], 1), ["/"]);
        assert_eq!(wrap_list(&["磁盘".to_owned()], 3), ["磁", "盘"]);
        assert!(wrap_list(&[], 10).is_empty());
    }
}
