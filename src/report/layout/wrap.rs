//! Text in lines.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A text in lines of at most `room` columns, broken between words; a word that is longer than a line is broken. A
/// number stays with its unit.
pub(crate) fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        let word = word.as_str();
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.extend(pieces(word, room)),
        }
    }
    lines
}

/// The words of a text, a number and its unit as one.
fn words(text: &str) -> Vec<String> {
    const UNITS: [&str; 7] = ["%", "ms", "s", "MiB", "MiB/s", "KiB", "min"];
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        match words.last_mut().filter(|last| is_unit && last.ends_with(|c: char| c.is_ascii_digit())) {
            Some(number) => {
                number.push(' ');
                number.push_str(word);
            }
            None => words.push(word.to_owned()),
        }
    }
    words
}

/// A word in pieces that fit.
fn pieces(word: &str, room: usize) -> Vec<String> {
    let (mut pieces, mut piece, mut used) = (Vec::new(), String::new(), 0);
    for c in word.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide > room && !piece.is_empty() {
            pieces.push(std::mem::take(&mut piece));
            used = 0;
        }
        piece.push(c);
        used += wide;
    }
    pieces.push(piece);
    pieces
}
