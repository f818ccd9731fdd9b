//! Reads a stream line by line, in bounded memory, and refuses those of a second host.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use super::hosts::HostScan;
use super::plain::PlainLines;
use crate::capture::MAX_LINE_BYTES;

const BUFFER_BYTES: usize = 256 * 1024;

/// The most bytes that are looked at before they are handed out.
const MAX_AHEAD_BYTES: usize = 4 * 1024 * 1024;

/// The outcome of reading a line.
pub(crate) enum NextLine<'a> {
    Line {
        /// The line without its newline.
        bytes: &'a [u8],
        /// True if a newline ended it. Only the last line of a stream and the first part of a split line lack one.
        ended: bool,
        /// Nothing was read behind it.
        is_newest: bool,
    },
    /// A line longer than [`MAX_LINE_BYTES`], which was skipped.
    TooLong,
    /// The stream has no more lines.
    End,
}

/// How far a stream was looked at.
#[derive(Default)]
pub(crate) struct Ahead {
    bytes: usize,
    pub(crate) lines: u64,
}

/// What is known of the hosts of the lines.
enum Hosts {
    Unknown,
    One {
        scan: Box<HostScan>,
        /// It is a recording or a capture of pt-diskstats, whose lines name no host but in a heading.
        is_capture: bool,
    },
}

impl Hosts {
    /// Checks that a line is not of a second host.
    ///
    /// # Errors
    /// If it is.
    fn check(&mut self, line: &[u8]) -> io::Result<()> {
        let Self::One { scan, is_capture } = self else {
            return Ok(());
        };
        let is_sample = matches!(
            line.first(),
            None | Some(b' ' | b'0'..=b'9' | b'T' | b'#' | b'c')
        );
        if *is_capture && is_sample {
            return Ok(());
        }
        if let Ok(text) = std::str::from_utf8(line) {
            scan.read(text);
            scan.check()?;
        }
        Ok(())
    }
}

/// Returns whether a line begins a sample, or a recording.
fn is_of_capture(line: &[u8]) -> bool {
    line.starts_with(b"TS ") || line.starts_with(b"#blkstat ")
}

/// Hands out and counts the lines of a stream.
pub(crate) struct LineReader<R> {
    input: R,
    plain: PlainLines,
    buffer: Vec<u8>,
    /// The bytes of the buffer that have not been handed out yet.
    unread: Range<usize>,
    at_end: bool,
    /// The error behind what was read ahead.
    error: Option<io::Error>,
    /// The position in the buffer at which the line handed out last begins.
    line_start: usize,
    /// The first part of a split line, which is to be handed out next.
    first_part: Option<Range<usize>>,
    /// True if the next line is the second part of a split line.
    is_second_part: bool,
    /// True if the line handed out last was.
    was_second_part: bool,
    /// The number of the line handed out last, from 1.
    pub(crate) number: u64,
    hosts: Hosts,
    /// The lines whose hosts were looked for.
    scanned: u64,
    /// The next line was handed out before.
    is_repeated: bool,
}

impl<R: Read> LineReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            plain: PlainLines::default(),
            buffer: vec![0; BUFFER_BYTES],
            unread: 0..0,
            at_end: false,
            error: None,
            line_start: 0,
            first_part: None,
            is_second_part: false,
            was_second_part: false,
            number: 0,
            hosts: Hosts::Unknown,
            scanned: 0,
            is_repeated: false,
        }
    }

    /// Looks for the hosts of the next lines. A stream whose lines are to be handed out promptly is looked at only as far as it was
    /// read. pt-diskstats reads captures with `TS` lines whatever is between them, and so does its replica.
    ///
    /// # Errors
    /// If there are several. The same is found out of later lines when they are read.
    pub(crate) fn find_hosts(&mut self, is_prompt: bool, is_replica: bool) -> io::Result<()> {
        if !matches!(self.hosts, Hosts::Unknown) {
            return Ok(());
        }
        let mut scan = HostScan::default();
        let mut ahead = Ahead::default();
        let mut is_capture = false;
        while let Some(line) = self.next_ahead(&mut ahead) {
            let line = &self.buffer[line];
            let is_of_capture = is_of_capture(line);
            if is_of_capture && is_replica {
                return Ok(());
            }
            is_capture |= ahead.lines == 1 && is_of_capture;
            if let Ok(text) = std::str::from_utf8(line) {
                scan.read(text);
            }
            if is_capture || is_prompt && !self.has_line_at(&ahead) {
                break;
            }
        }
        self.scanned = self.number + ahead.lines;
        scan.check()?;
        self.hosts = Hosts::One {
            scan: scan.into(),
            is_capture,
        };
        Ok(())
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// If the stream cannot be read; no more lines follow.
    pub(crate) fn next(&mut self) -> io::Result<NextLine<'_>> {
        if let Some(part) = self.first_part.take() {
            self.is_second_part = true;
            return Ok(NextLine::Line {
                bytes: &self.buffer[part],
                ended: false,
                is_newest: false,
            });
        }
        let mut searched = 0;
        let mut is_too_long = false;
        loop {
            let unread = &self.buffer[self.unread.clone()];
            let newline = memchr::memchr(b'\n', &unread[searched..]).map(|at| searched + at);
            if newline.is_some() || self.at_end {
                let length = newline.unwrap_or(unread.len());
                let line = self.unread.start..self.unread.start + length;
                if newline.is_none() && line.is_empty() && !is_too_long {
                    return Ok(NextLine::End);
                }
                self.unread.start = newline.map_or(self.unread.end, |_| line.end + 1);
                self.was_second_part = std::mem::take(&mut self.is_second_part);
                self.number += u64::from(!self.was_second_part);
                let is_known = std::mem::take(&mut self.is_repeated) || self.was_second_part;
                if !is_known
                    && self.number > self.scanned
                    && let Err(error) = self.hosts.check(&self.buffer[line.clone()])
                {
                    (self.unread.start, self.at_end) = (self.unread.end, true);
                    return Err(error);
                }
                self.line_start = line.start;
                if is_too_long || line.len() > MAX_LINE_BYTES {
                    return Ok(NextLine::TooLong);
                }
                let (ended, is_newest) = (newline.is_some(), self.unread.is_empty());
                return Ok(NextLine::Line {
                    bytes: &self.buffer[line],
                    ended,
                    is_newest,
                });
            }
            searched = unread.len();
            if searched > MAX_LINE_BYTES {
                is_too_long = true;
                self.unread.start = self.unread.end;
                searched = 0;
            }
            self.fill()?;
        }
    }

    /// Returns the next line behind those that were looked at, of which none is handed out yet. `None` at the end of the stream,
    /// or of what is read ahead.
    ///
    /// # Errors
    /// If it is of a second host.
    pub(crate) fn look_ahead(&mut self, ahead: &mut Ahead) -> io::Result<Option<&[u8]>> {
        let Some(line) = self.next_ahead(ahead) else {
            return Ok(None);
        };
        let number = self.number + ahead.lines;
        if number > self.scanned {
            self.scanned = number;
            self.hosts.check(&self.buffer[line.clone()])?;
        }
        Ok(Some(&self.buffer[line]))
    }

    /// Returns where the line behind those that were looked at is.
    fn next_ahead(&mut self, ahead: &mut Ahead) -> Option<Range<usize>> {
        let mut searched = ahead.bytes;
        loop {
            let unread = &self.buffer[self.unread.clone()];
            if let Some(at) = memchr::memchr(b'\n', &unread[searched..]) {
                let start = self.unread.start;
                let line = start + ahead.bytes..start + searched + at;
                ahead.bytes = searched + at + 1;
                ahead.lines += 1;
                return Some(line);
            }
            searched = unread.len();
            if self.at_end || self.error.is_some() || searched >= MAX_AHEAD_BYTES {
                return None;
            }
            if searched == self.buffer.len() {
                self.buffer.resize(2 * searched, 0);
            }
            if let Err(error) = self.fill() {
                (self.error, self.at_end) = (Some(error), false);
            }
        }
    }

    /// Returns whether a whole line behind those that were looked at was read.
    fn has_line_at(&self, ahead: &Ahead) -> bool {
        let unread = &self.buffer[self.unread.clone()];
        memchr::memchr(b'\n', &unread[ahead.bytes..]).is_some()
    }

    /// Hands out the last line, or part of one, once more.
    pub(crate) fn repeat_line(&mut self) {
        if std::mem::take(&mut self.is_second_part) {
            self.first_part = Some(self.line_start..self.unread.start);
            return;
        }
        self.unread.start = self.line_start;
        self.is_repeated = true;
        self.is_second_part = self.was_second_part;
        self.number -= u64::from(!self.was_second_part);
    }

    /// Splits the line handed out last before its byte `at`: both parts are handed out next, under the same number.
    pub(crate) fn split_line(&mut self, at: usize) {
        let middle = self.line_start + at;
        self.first_part = Some(self.line_start..middle);
        self.unread.start = middle;
    }

    fn fill(&mut self) -> io::Result<()> {
        if let Some(error) = self.error.take() {
            self.at_end = true;
            return Err(error);
        }
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        loop {
            match self
                .plain
                .read(&mut self.input, &mut self.buffer[self.unread.end..])
            {
                Ok(0) => self.at_end = true,
                Ok(read) => self.unread.end += read,
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
        let mut lines = LineReader::new(text);
        let mut found = Vec::new();
        loop {
            match lines.next().unwrap() {
                NextLine::Line { bytes, ended, .. } => found.push((bytes.to_vec(), ended)),
                NextLine::TooLong => found.push((b"(too long)".to_vec(), true)),
                NextLine::End => return found,
            }
        }
    }

    fn line(bytes: &[u8], ended: bool) -> (Vec<u8>, bool) {
        (bytes.to_vec(), ended)
    }

    #[test]
    fn a_last_line_without_newline_is_marked() {
        assert_eq!(
            all(b"a\n\nbc"),
            [line(b"a", true), line(b"", true), line(b"bc", false)]
        );
        assert_eq!(all(b""), []);
        assert_eq!(all(b"a\n"), [line(b"a", true)]);
    }

    #[test]
    fn an_endless_line_takes_no_more_memory_and_only_itself_is_lost() {
        let mut text = vec![b'x'; 3_000_000];
        text.extend(b"\nnext\n");
        assert_eq!(all(&text), [line(b"(too long)", true), line(b"next", true)]);
        assert_eq!(all(&vec![b'x'; 1_000_000]), [line(b"(too long)", true)]);
    }

    #[test]
    fn a_line_may_span_several_reads() {
        struct OneByte<'a>(&'a [u8]);
        impl Read for OneByte<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let Some((first, rest)) = self.0.split_first() else {
                    return Ok(0);
                };
                into[0] = *first;
                self.0 = rest;
                Ok(1)
            }
        }
        let mut lines = LineReader::new(OneByte(b"ab\ncd\n"));
        for expected in [b"ab", b"cd"] {
            let NextLine::Line {
                bytes, ended: true, ..
            } = lines.next().unwrap()
            else {
                panic!("no line")
            };
            assert_eq!(bytes, expected);
        }
        assert!(matches!(lines.next().unwrap(), NextLine::End));
        assert_eq!(lines.number, 2);
    }

    #[test]
    fn parts_of_a_split_line_are_repeated_under_its_number() {
        let mut lines = LineReader::new(&b"abcd\ne\n"[..]);
        let mut next = |then: fn(&mut LineReader<&[u8]>)| {
            let NextLine::Line { bytes, .. } = lines.next().unwrap() else {
                panic!("no line")
            };
            let bytes = bytes.to_vec();
            let found = (bytes, lines.number);
            then(&mut lines);
            found
        };
        let repeat = |lines: &mut LineReader<&[u8]>| lines.repeat_line();
        assert_eq!(next(repeat), (b"abcd".to_vec(), 1));
        assert_eq!(next(|lines| lines.split_line(1)), (b"abcd".to_vec(), 1));
        assert_eq!(next(repeat), (b"a".to_vec(), 1));
        assert_eq!(next(|_| ()), (b"a".to_vec(), 1));
        assert_eq!(next(repeat), (b"bcd".to_vec(), 1));
        assert_eq!(next(|_| ()), (b"bcd".to_vec(), 1));
        assert_eq!(next(repeat), (b"e".to_vec(), 2));
        assert_eq!(next(|_| ()), (b"e".to_vec(), 2));
    }

    #[test]
    fn both_parts_of_a_split_line_have_its_number() {
        for (text, ended) in [(b"a\nbcd\n".as_slice(), true), (b"a\nbcd", false)] {
            let mut lines = LineReader::new(text);
            let mut next = |split: Option<usize>| {
                let NextLine::Line { bytes, ended, .. } = lines.next().unwrap() else {
                    panic!("no line")
                };
                let bytes = bytes.to_vec();
                if let Some(at) = split {
                    lines.split_line(at);
                }
                (bytes, ended, lines.number)
            };
            assert_eq!(next(None), (b"a".to_vec(), true, 1));
            assert_eq!(next(Some(1)), (b"bcd".to_vec(), ended, 2));
            assert_eq!(next(None), (b"b".to_vec(), false, 2));
            assert_eq!(next(None), (b"cd".to_vec(), ended, 2));
            assert!(matches!(lines.next().unwrap(), NextLine::End));
        }
    }
}
