//! Makes plain lines of what terminals and collectors of logs wrap them in: escape sequences, objects of JSON, and the paths
//! that `grep . /sys/block/*/stat` prints.

use std::borrow::Cow;
use std::io::{self, Read};

use memchr::memmem;
use serde_json::{Map, Value};

use super::MAX_LINE_BYTES;
use super::time_form::find_times;

const ESCAPE: u8 = b'\x1b';
/// The end of the path of a file with counters of a device, with a colon as `grep` prints it.
const STAT: &str = "/stat:";

/// The plain lines of a stream.
#[derive(Default)]
pub(super) struct PlainLines {
    has_begun: bool,
    /// It is a capture with `TS` lines, whose names are those of the kernel, whatever they contain.
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
        let end = if self.open.len() - end > MAX_LINE_BYTES { self.open.len() } else { end };
        let rest = self.open.split_off(end);
        for line in std::mem::replace(&mut self.open, rest).split_inclusive(|byte| *byte == b'\n') {
            self.ready.extend_from_slice(&plain(line));
        }
    }

    /// Reads more of them.
    pub(super) fn read(&mut self, mut input: impl Read, into: &mut [u8]) -> io::Result<usize> {
        while self.handed_out == self.ready.len() {
            (self.ready, self.handed_out) = (Vec::new(), 0);
            let read = input.read(into)?;
            let bytes = &into[..read];
            if !std::mem::replace(&mut self.has_begun, true) {
                self.is_plain = [b"TS ", b"#bl"].iter().any(|start| bytes.starts_with(*start));
                self.is_wrapped = bytes.starts_with(b"{");
            }
            if self.is_plain {
                return Ok(read);
            }
            self.is_wrapped |=
                memchr::memchr(ESCAPE, bytes).is_some() || memmem::find(bytes, STAT.as_bytes()).is_some();
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
    let Ok(text) = std::str::from_utf8(line) else { return Cow::Borrowed(line) };
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
            Some('[') => part[1..].find(|c: char| ('@'..='~').contains(&c)).map(|at| at + 2),
            Some(']') => part.find('\x07').map(|at| at + 1),
            Some('(' | ')') => Some(2),
            Some(c) => Some(c.len_utf8()),
            None => None,
        };
        end.and_then(|end| part.get(end..)).unwrap_or_default().to_owned()
    };
    Cow::Owned(parts.fold(first.to_owned(), |text, part| text + &rest_of(part)))
}

/// Returns the message in an object of JSON behind what reads as a time in it; `None` if the line is no such object.
fn message(line: &str) -> Option<String> {
    let object: Map<String, Value> = serde_json::from_str(line.strip_prefix('{').map(|_| line)?).ok()?;
    let texts = || object.iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
    let is_named = |key: &str| ["log", "msg", "message"].contains(&key.to_lowercase().as_str());
    let named = texts().find(|(key, _)| is_named(key));
    let (message_key, message) = named.or_else(|| texts().max_by_key(|(_, text)| text.len()))?;
    let times = object.iter().filter(|(key, _)| *key != message_key).filter_map(|(_, value)| match value {
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
    let (before, path) = before.rsplit_once(char::is_whitespace).unwrap_or(("", before));
    let name = path.contains("/block/").then(|| path.rsplit('/').next())??;
    Some(format!("{before} 0 0 {name} {}", counters.trim_start()))
}

#[cfg(test)]
mod tests {
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
            ("{\"sysstat\": {\n\t\"hosts\": [\n", "{\"sysstat\": {\n\t\"hosts\": [\n"),
            ("{\"sysstat\": {\"hosts\": []}}\n", "{\"sysstat\": {\"hosts\": []}}\n"),
            ("1502000000\n/sys/block/sda/stat:      9 8\n", "1502000000\n 0 0 sda 9 8\n"),
            ("06:13:20 /sys/block/sda/sda1/stat: 9 8\n", "06:13:20 0 0 sda1 9 8\n"),
            ("/etc/stat: 9 8\n", "/etc/stat: 9 8\n"),
        ] {
            assert_eq!(all(wrapped), plain);
        }
        let long = format!("{{\"a\": 1}}\n{}\nnext", "x".repeat(300_000));
        assert_eq!(all(&long), long);
    }
}
