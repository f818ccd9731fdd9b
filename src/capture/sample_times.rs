//! Reads only the times of a capture, at much less cost than its samples.

use std::io::{self, Read};

use jiff::Timestamp;

use super::line_kind::timestamp_of_line;
use super::normal::lines::{LineReader, NextLine};
use crate::compression::is_end_of_text;

/// Reads a capture to its end and hands out each time. Compressed data that ends early ends the capture.
///
/// # Errors
/// If the stream cannot be read.
pub fn scan_times(input: impl Read, mut on_time: impl FnMut(Timestamp)) -> io::Result<()> {
    let mut lines = LineReader::new(input);
    loop {
        match lines.next() {
            Ok(NextLine::Line {
                bytes, ended: true, ..
            }) => timestamp_of_line(bytes).into_iter().for_each(&mut on_time),
            Ok(NextLine::Line { ended: false, .. } | NextLine::TooLong) => {}
            Ok(NextLine::End) => return Ok(()),
            Err(error) if is_end_of_text(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_timestamp_lines_count() {
        let seconds = |text: &str| {
            let mut found = Vec::new();
            scan_times(text.as_bytes(), |at| found.push(at.as_second())).unwrap();
            found
        };
        assert!(seconds("TS 1").is_empty());
        assert_eq!(
            seconds("x\nTS 1 2026\nTSX 2\n TS 3\nTS\nTS a\nTS\t4\nTS 5"),
            [1, 4]
        );
        assert_eq!(
            seconds(&format!("\n\nTS 7 {}\n8 0 sda\n", "x".repeat(1000))),
            [7]
        );
    }
}
