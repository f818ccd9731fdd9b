//! Reads a stream line by line, in bounded memory, and makes plain lines of what terminals and collectors of logs wrap them
//! in: escape sequences, objects of JSON, and the paths that `grep . /sys/block/*/stat` prints.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use memchr::memmem;
use serde_json::{Map, Value};

use super::MAX_LINE_BYTES;
use super::hosts::HostFilter;
use super::time_form::find_times;

const BUFFER_BYTES: usize = 256 * 1024;

/// The most bytes that are looked at before they are handed out.
const MAX_AHEAD_BYTES: usize = 4 * 1024 * 1024;

/// The outcome of reading a line.
pub(super) enum NextLine<'a> {
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

/// Hands out and counts the lines of a stream.
pub(super) struct LineReader<R> {
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
    pub(super) number: u64,
    /// Leaves the lines of one of several hosts.
    hosts: Option<HostFilter>,
    /// The same for lines that are looked at.
    hosts_ahead: Option<HostFilter>,
    /// The next line was handed out before.
    is_repeated: bool,
}

impl<R: Read> LineReader<R> {
    pub(super) fn new(input: R) -> Self {
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
            hosts: None,
            hosts_ahead: None,
            is_repeated: false,
        }
    }

    /// From now on, leaves the lines of one of several hosts.
    pub(super) fn select_host(&mut self, hosts: HostFilter) {
        self.hosts = Some(hosts);
    }

    /// Returns whether only the lines of one host are left.
    pub(super) fn has_host(&self) -> bool {
        self.hosts.is_some()
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// If the stream cannot be read; no more lines follow.
    pub(super) fn next(&mut self) -> io::Result<NextLine<'_>> {
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
                let begin = match &mut self.hosts {
                    Some(hosts) if !is_known => hosts.begin(&self.buffer[line.clone()]),
                    _ => Some(0),
                };
                let Some(begin) = begin else {
                    searched = 0;
                    continue;
                };
                let line = line.start + begin..line.end;
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

    /// Returns the line that follows `ahead` bytes that are not handed out yet, and adds its bytes to them. `None` at the end
    /// of the stream, or of what is read ahead.
    pub(super) fn look_ahead(&mut self, ahead: &mut usize) -> Option<&[u8]> {
        if *ahead == 0 {
            self.hosts_ahead.clone_from(&self.hosts);
        }
        let mut searched = *ahead;
        loop {
            let unread = &self.buffer[self.unread.clone()];
            if let Some(at) = memchr::memchr(b'\n', &unread[searched..]) {
                let line = self.unread.start + *ahead..self.unread.start + searched + at;
                *ahead = searched + at + 1;
                let begin = match &mut self.hosts_ahead {
                    Some(hosts) => hosts.begin(&self.buffer[line.clone()]),
                    None => Some(0),
                };
                if let Some(begin) = begin {
                    return Some(&self.buffer[line.start + begin..line.end]);
                }
                searched = *ahead;
                continue;
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

    /// Hands out the last line, or part of one, once more.
    pub(super) fn repeat_line(&mut self) {
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
    pub(super) fn split_line(&mut self, at: usize) {
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

const ESCAPE: u8 = b'\x1b';
/// The mark with which programs on Windows begin a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const UTF_16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
/// The end of the path of a file with counters of a device, with a colon as `grep` prints it.
const STAT: &str = "/stat:";

/// The plain lines of a stream.
#[derive(Default)]
struct PlainLines {
    has_begun: bool,
    /// It is a recording or a capture with `TS` lines, whose names are those of the kernel, whatever they contain.
    is_plain: bool,
    /// Lines are wrapped since some point of the stream.
    is_wrapped: bool,
    /// The beginning of a line of the stream.
    open: Vec<u8>,
    /// Plain lines for the reader.
    ready: Vec<u8>,
    /// The bytes of these that were read already.
    handed_out: usize,
}

impl PlainLines {
    fn take(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
        let end = memchr::memrchr(b'\n', &self.open).map_or(0, |at| at + 1);
        // A line without an end takes no more memory.
        let end = if self.open.len() - end > MAX_LINE_BYTES {
            self.open.len()
        } else {
            end
        };
        let rest = self.open.split_off(end);
        for line in std::mem::replace(&mut self.open, rest).split_inclusive(|byte| *byte == b'\n') {
            self.ready.extend_from_slice(&plain(line));
        }
    }

    /// Reads more of them.
    pub(super) fn read(&mut self, mut input: impl Read, into: &mut [u8]) -> io::Result<usize> {
        while self.handed_out == self.ready.len() {
            (self.ready, self.handed_out) = (Vec::new(), 0);
            let mut read = input.read(into)?;
            if !self.has_begun && into[..read].starts_with(BYTE_ORDER_MARK) {
                into.copy_within(BYTE_ORDER_MARK.len()..read, 0);
                read -= BYTE_ORDER_MARK.len();
                if read == 0 {
                    continue;
                }
            }
            if !self.has_begun
                && UTF_16_MARKS
                    .iter()
                    .any(|mark| into[..read].starts_with(mark))
            {
                return Err(io::Error::other(
                    "is UTF-16; convert it with 'iconv -f UTF-16 -t UTF-8'",
                ));
            }
            let bytes = &into[..read];
            if !std::mem::replace(&mut self.has_begun, true) {
                self.is_plain = [b"TS ", b"#bl"]
                    .iter()
                    .any(|start| bytes.starts_with(*start));
                self.is_wrapped = bytes.starts_with(b"{");
            }
            // The rest of a header that was cut off may precede a recording.
            self.is_plain |=
                !self.is_plain && !self.is_wrapped && memmem::find(bytes, b"#blkstat ").is_some();
            if self.is_plain {
                return Ok(read);
            }
            self.is_wrapped |= memchr::memchr(ESCAPE, bytes).is_some()
                || memmem::find(bytes, STAT.as_bytes()).is_some();
            if !self.is_wrapped {
                return Ok(read);
            }
            if read == 0 {
                self.ready = plain(&std::mem::take(&mut self.open)).into_owned();
                if self.ready.is_empty() {
                    return Ok(0);
                }
            }
            self.take(bytes);
        }
        let ready = &self.ready[self.handed_out..];
        let count = ready.len().min(into.len());
        into[..count].copy_from_slice(&ready[..count]);
        self.handed_out += count;
        Ok(count)
    }
}

/// Returns the plain lines of a line.
fn plain(line: &[u8]) -> Cow<'_, [u8]> {
    let Ok(text) = std::str::from_utf8(line) else {
        return Cow::Borrowed(line);
    };
    let text = without_escapes(text);
    let changed = message(&text).or_else(|| line_of_path(&text));
    match (changed, text) {
        (Some(changed), _) => Cow::Owned(changed.into_bytes()),
        (None, Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
        (None, Cow::Borrowed(_)) => Cow::Borrowed(line),
    }
}

/// Removes what changes a terminal: `ESC [ ... letter`, `ESC ] ... BEL`, and shorter ones.
fn without_escapes(line: &str) -> Cow<'_, str> {
    let mut parts = line.split('\x1b');
    let first = parts.next().unwrap_or_default();
    if first.len() == line.len() {
        return Cow::Borrowed(line);
    }
    let rest_of = |part: &str| -> String {
        let mut chars = part.chars();
        let end = match chars.next() {
            Some('[') => part[1..]
                .find(|c: char| ('@'..='~').contains(&c))
                .map(|at| at + 2),
            Some(']') => part.find('\x07').map(|at| at + 1),
            Some('(' | ')') => Some(2),
            Some(c) => Some(c.len_utf8()),
            None => None,
        };
        end.and_then(|end| part.get(end..))
            .unwrap_or_default()
            .to_owned()
    };
    Cow::Owned(parts.fold(first.to_owned(), |text, part| text + &rest_of(part)))
}

/// Returns the message in an object of JSON behind what reads as a time in it; `None` if the line is no such object.
fn message(line: &str) -> Option<String> {
    let object: Map<String, Value> =
        serde_json::from_str(line.strip_prefix('{').map(|_| line)?).ok()?;
    let texts = || {
        object
            .iter()
            .filter_map(|(key, value)| Some((key, value.as_str()?)))
    };
    let is_named = |key: &str| ["log", "msg", "message"].contains(&key.to_lowercase().as_str());
    let named = texts().find(|(key, _)| is_named(key));
    let (message_key, message) = named.or_else(|| texts().max_by_key(|(_, text)| text.len()))?;
    let times = object
        .iter()
        .filter(|(key, _)| *key != message_key)
        .filter_map(|(_, value)| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        });
    let times: Vec<String> = times.filter(|text| !find_times(text).is_empty()).collect();
    let message = message.strip_suffix('\n').unwrap_or(message);
    let separator = if message.contains('\n') { '\n' } else { ' ' };
    Some(format!("{}{separator}{message}\n", times.join(" ")))
}

/// Returns the line of a device whose counters stand behind the path of their file, with whatever is before the path. The
/// device has no number there.
fn line_of_path(line: &str) -> Option<String> {
    let (before, counters) = line.split_once(STAT)?;
    let (before, path) = before
        .rsplit_once(char::is_whitespace)
        .unwrap_or(("", before));
    let name = path
        .contains("/block/")
        .then(|| path.rsplit('/').next())??;
    Some(format!("{before} 0 0 {name} {}", counters.trim_start()))
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

#[cfg(test)]
mod plain_lines_tests {
    use super::*;

    fn all(text: &str) -> String {
        let (mut input, mut lines) = (text.as_bytes(), PlainLines::default());
        let (mut plain, mut buffer) = (Vec::new(), vec![0; 10_000]);
        loop {
            match lines.read(&mut input, &mut buffer).unwrap() {
                0 => return String::from_utf8(plain).unwrap(),
                read => plain.extend_from_slice(&buffer[..read]),
            }
        }
    }

    #[test]
    fn wrapped_lines_become_plain_and_others_stay() {
        for (wrapped, plain) in [
            ("TS 1\n8 0 \x1b[1m 1\ncut", "TS 1\n8 0 \x1b[1m 1\ncut"),
            (
                "#b\n#blkstat {}\nTS 1\n8 0 \x1b 0 1\n",
                "#b\n#blkstat {}\nTS 1\n8 0 \x1b 0 1\n",
            ),
            (
                "\x1b]0;root@db1\x07\x1b[1;32m06:13:20\x1b[0m\r\n8 0 \x1b[01;31m\x1b[Ksda\x1b[m\x1b[K 1\x1b(B",
                "06:13:20\r\n8 0 sda 1",
            ),
            (
                "{\"log\":\"8 0 sda 1\\n\",\"stream\":\"stdout\",\"time\":\"2017-08-06T06:13:20.5Z\"}\n",
                "2017-08-06T06:13:20.5Z 8 0 sda 1\n",
            ),
            (
                "{\"ts\":1502000000.25,\"disks\":\"8 0 sda 1\\n8 1 sda1 1\\n\"}\n",
                "1502000000.25\n8 0 sda 1\n8 1 sda1 1\n",
            ),
            (
                "{\"sysstat\": {\n\t\"hosts\": [\n",
                "{\"sysstat\": {\n\t\"hosts\": [\n",
            ),
            (
                "{\"sysstat\": {\"hosts\": []}}\n",
                "{\"sysstat\": {\"hosts\": []}}\n",
            ),
            (
                "1502000000\n/sys/block/sda/stat:      9 8\n",
                "1502000000\n 0 0 sda 9 8\n",
            ),
            (
                "06:13:20 /sys/block/sda/sda1/stat: 9 8\n",
                "06:13:20 0 0 sda1 9 8\n",
            ),
            ("/etc/stat: 9 8\n", "/etc/stat: 9 8\n"),
        ] {
            assert_eq!(all(wrapped), plain);
        }
        let long = format!("{{\"a\": 1}}\n{}\nnext", "x".repeat(300_000));
        assert_eq!(all(&long), long);
    }
}
