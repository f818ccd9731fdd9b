//! Colors of the table.

use std::io::Write;

/// The emphasis of a text on a terminal with colors.
#[derive(Clone, Copy)]
pub(super) enum Emphasis {
    Plain,
    Bold,
    Dim,
    Alert,
    Warning,
}

/// Appends a text, in the color of its emphasis if there are colors.
pub(super) fn paint(text: &str, emphasis: Emphasis, has_colors: bool, out: &mut Vec<u8>) {
    let sgr = match emphasis {
        Emphasis::Plain => "",
        Emphasis::Bold => "1",
        Emphasis::Dim => "2",
        Emphasis::Alert => "1;31",
        Emphasis::Warning => "33",
    };
    if sgr.is_empty() || text.is_empty() || !has_colors {
        out.extend_from_slice(text.as_bytes());
    } else {
        // Writing to a Vec cannot fail.
        let _ = write!(out, "\u{1b}[{sgr}m{text}\u{1b}[0m");
    }
}
