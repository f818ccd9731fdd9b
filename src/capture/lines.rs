//! The lines of a stream, in bounded memory.

use std::io::{self, ErrorKind, Read};

/// The longest line that is read; a longer one is passed over. The kernel's are a tenth of this at most.
pub(super) const LONGEST_LINE: usize = 64 * 1024;

const BUFFER: usize = 256 * 1024;

/// What comes next in the stream.
pub(super) enum Next<'a> {
    Line {
        bytes: &'a [u8],
        /// Whether a newline ended it; only the last line of a stream may lack one.
        ended: bool,
    },
    /// A line longer than [`LONGEST_LINE`], passed over.
    TooLong,
    End,
}

/// Hands out one line after the other, counting them.
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    at_end: bool,
    /// The number of the line handed out last, from 1.
    pub(super) number: u64,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: vec![0; BUFFER], from: 0, to: 0, at_end: false, number: 0 }
    }

    /// The next line, without its newline.
    ///
    /// # Errors
    /// What the stream gives; after that it is at its end.
    pub(super) fn next(&mut self) -> io::Result<Next<'_>> {
        let mut searched = 0;
        let mut dropped = false;
        loop {
            let unread = &self.buffer[self.from..self.to];
            if let Some(at) = memchr::memchr(b'\n', &unread[searched..]) {
                let line = self.from..self.from + searched + at;
                self.from = line.end + 1;
                self.number += 1;
                if dropped || line.len() > LONGEST_LINE {
                    return Ok(Next::TooLong);
                }
                return Ok(Next::Line { bytes: &self.buffer[line], ended: true });
            }
            if self.at_end {
                let line = self.from..self.to;
                self.from = self.to;
                if line.is_empty() && !dropped {
                    return Ok(Next::End);
                }
                self.number += 1;
                if dropped || line.len() > LONGEST_LINE {
                    return Ok(Next::TooLong);
                }
                return Ok(Next::Line { bytes: &self.buffer[line], ended: false });
            }
            searched = unread.len();
            if searched > LONGEST_LINE {
                dropped = true;
                self.from = self.to;
                searched = 0;
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        loop {
            match self.input.read(&mut self.buffer[self.to..]) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.to += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.at_end = true;
                    return Err(error);
                }
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<(Vec<u8>, bool)> {
        let mut lines = Lines::new(text);
        let mut found = Vec::new();
        loop {
            match lines.next().unwrap() {
                Next::Line { bytes, ended } => found.push((bytes.to_vec(), ended)),
                Next::TooLong => found.push((b"(too long)".to_vec(), true)),
                Next::End => return found,
            }
        }
    }

    #[test]
    fn a_last_line_without_newline_is_told_apart() {
        assert_eq!(all(b"a\n\nbc"), [(b"a".to_vec(), true), (b"".to_vec(), true), (b"bc".to_vec(), false)]);
        assert_eq!(all(b""), []);
        assert_eq!(all(b"a\n"), [(b"a".to_vec(), true)]);
    }

    #[test]
    fn a_line_without_an_end_takes_no_more_memory_and_costs_only_itself() {
        let mut text = vec![b'x'; 3_000_000];
        text.extend(b"\nnext\n");
        assert_eq!(all(&text), [(b"(too long)".to_vec(), true), (b"next".to_vec(), true)]);
        assert_eq!(all(&vec![b'x'; 1_000_000]), [(b"(too long)".to_vec(), true)]);
    }

    #[test]
    fn lines_cross_the_borders_of_reads() {
        struct OneByte<'a>(&'a [u8]);
        impl Read for OneByte<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
                into[0] = *first;
                self.0 = rest;
                Ok(1)
            }
        }
        let mut lines = Lines::new(OneByte(b"ab\ncd\n"));
        for expected in [b"ab", b"cd"] {
            let Next::Line { bytes, ended: true } = lines.next().unwrap() else { panic!("no line") };
            assert_eq!(bytes, expected);
        }
        assert!(matches!(lines.next().unwrap(), Next::End));
        assert_eq!(lines.number, 2);
    }
}
