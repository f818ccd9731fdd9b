//! Finds the `TS` lines of a capture and their positions, at much less cost than reading its samples.

use std::io::{self, ErrorKind, Read};
use std::ops::{ControlFlow, Range};

use jiff::Timestamp;
use memchr::memmem::Finder;

use super::timestamp::timestamp_of_line;
use crate::compression::is_end_of_text;

/// The number of bytes that are searched at a time.
const BLOCK_BYTES: usize = 256 * 1024;
/// The number of bytes of a `TS` line that are parsed; its time is at the beginning.
const MAX_TIMESTAMP_LINE_BYTES: usize = 256;

/// Called with each time and the position of its `TS` line in bytes.
type OnTime<'v> = &'v mut dyn FnMut(Timestamp, u64) -> ControlFlow<()>;

/// Reads a capture to its end, or until `on_time` breaks, and hands out each time. Compressed data that ends early ends
/// the capture.
///
/// # Errors
/// If the stream cannot be read.
pub fn scan_times(mut input: impl Read, on_time: OnTime<'_>) -> io::Result<()> {
    // A line begins after a newline; the one before the first line is not in the stream.
    let mut buffer = vec![b'\n'];
    let mut position = 0u64;
    loop {
        let unread = buffer.len();
        buffer.resize(unread + BLOCK_BYTES, 0);
        let read = match input.read(&mut buffer[unread..]) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                buffer.truncate(unread);
                continue;
            }
            Err(error) if is_end_of_text(&error) => 0,
            Err(error) => return Err(error),
        };
        buffer.truncate(unread + read);
        let is_end = read == 0;
        // A line that may continue in the next block is left for that block.
        let complete =
            if is_end { buffer.len() } else { buffer.len().saturating_sub(MAX_TIMESTAMP_LINE_BYTES) };
        for (start, at) in times_in(&buffer, 0..complete) {
            if on_time(at, position + start as u64 - 1).is_break() {
                return Ok(());
            }
        }
        if is_end {
            return Ok(());
        }
        position += complete as u64;
        buffer.drain(..complete);
    }
}

/// Reads a capture of `length` bytes from its end to its beginning, or until `on_time` breaks, and hands out each time,
/// the last one first. `read_at` fills a buffer from a position.
///
/// # Errors
/// If the capture cannot be read.
pub fn scan_times_backward(
    length: u64,
    read_at: impl Fn(&mut [u8], u64) -> io::Result<()>,
    on_time: OnTime<'_>,
) -> io::Result<()> {
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(BLOCK_BYTES as u64);
        let line_end = length.min(end + MAX_TIMESTAMP_LINE_BYTES as u64);
        // The buffer includes the newline before the first line.
        let mut buffer = vec![b'\n'; (line_end - start) as usize + 1];
        match start {
            0 => read_at(&mut buffer[1..], 0)?,
            _ => read_at(&mut buffer, start - 1)?,
        }
        let block = 0..(end - start) as usize;
        let times: Vec<(usize, Timestamp)> = times_in(&buffer, block).collect();
        for (line, at) in times.into_iter().rev() {
            if on_time(at, start + line as u64 - 1).is_break() {
                return Ok(());
            }
        }
        end = start;
    }
    Ok(())
}

/// Returns the times of the `TS` lines after those newlines of `bytes` that are in `newlines`, with the starts of the
/// lines. A line without an end is left out.
fn times_in(bytes: &[u8], newlines: Range<usize>) -> impl Iterator<Item = (usize, Timestamp)> {
    let finder = Finder::new(b"\nTS").into_owned();
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + finder.find(&bytes[from..])? + 1;
            from = start;
            if start > newlines.end {
                return None;
            }
            let line = &bytes[start..bytes.len().min(start + MAX_TIMESTAMP_LINE_BYTES)];
            let end = memchr::memchr(b'\n', line);
            if end.is_none() && line.len() < MAX_TIMESTAMP_LINE_BYTES {
                continue;
            }
            if let Some(at) = timestamp_of_line(&line[..end.unwrap_or(line.len())]) {
                return Some((start, at));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line that begins a sample with its position, as found by a simple search.
    fn expected(text: &[u8]) -> Vec<(i64, u64)> {
        let mut found = Vec::new();
        let mut position = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if let Some(line) = line.strip_suffix(b"\n")
                && let Some(at) = timestamp_of_line(line)
            {
                found.push((at.as_second(), position));
            }
            position += line.len() as u64;
        }
        found
    }

    fn forward(text: &[u8], step: usize) -> Vec<(i64, u64)> {
        struct Steps<'a>(&'a [u8], usize);
        impl Read for Steps<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let count = self.1.min(into.len()).min(self.0.len());
                into[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        let mut found = Vec::new();
        let on_time = &mut |at: Timestamp, position| {
            found.push((at.as_second(), position));
            ControlFlow::Continue(())
        };
        scan_times(Steps(text, step), on_time).unwrap();
        found
    }

    fn backward(text: &[u8]) -> Vec<(i64, u64)> {
        let mut found = Vec::new();
        let read_at = |into: &mut [u8], at: u64| {
            into.copy_from_slice(&text[at as usize..][..into.len()]);
            Ok(())
        };
        let on_time = &mut |at: Timestamp, position| {
            found.push((at.as_second(), position));
            ControlFlow::Continue(())
        };
        scan_times_backward(text.len() as u64, read_at, on_time).unwrap();
        found.reverse();
        found
    }

    #[test]
    fn both_directions_find_every_timestamp() {
        let line = b"   8       0 sda 1 0 8 1 0 0 0 0 0 1 1\n";
        let mut text = Vec::new();
        for second in 1_795_198_931u64..1_795_198_931 + 300 {
            text.extend(format!("TS {second}.000256512 2026-11-20 18:22:11\n").bytes());
            (0..60).for_each(|_| text.extend(line));
        }
        assert!(text.len() > 2 * BLOCK_BYTES);
        let all = expected(&text);
        assert_eq!(all.len(), 300);
        for step in [1000, 4096, BLOCK_BYTES] {
            assert_eq!(forward(&text, step), all, "{step}");
        }
        assert_eq!(backward(&text), all);
    }

    #[test]
    fn only_complete_timestamp_lines_count() {
        let long = format!("TS 7 {}\n", "x".repeat(1000));
        for text in
            ["", "TS 1", "TS 1\n", "x\nTS 1\nTSX 2\n TS 3\nTS\nTS a\nTS\t4\nTS 5", "\n\nTS 6\n", &long]
        {
            let text = text.as_bytes();
            for step in [1, 3, 1000] {
                assert_eq!(forward(text, step), expected(text));
            }
            assert_eq!(backward(text), expected(text));
        }
    }

    #[test]
    fn a_search_can_end_early() {
        let text = b"TS 1\nTS 2\nTS 3\n";
        let mut count = 0;
        let on_time = &mut |_, _| {
            count += 1;
            ControlFlow::Break(())
        };
        scan_times(&text[..], on_time).unwrap();
        assert_eq!(count, 1);
    }
}
