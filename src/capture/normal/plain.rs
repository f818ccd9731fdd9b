//! Makes plain lines of what terminals and collectors of logs wrap them in: escape sequences, objects of JSON, and the paths
//! that `grep . /sys/block/*/stat` prints.

use std::borrow::Cow;
use std::io::{self, Read};

use memchr::memmem;
use serde_json::{Map, Value};

use super::hosts::is_host;
use super::time_form::find_times;
use crate::capture::MAX_LINE_BYTES;

const ESCAPE: u8 = b'\x1b';
/// The mark with which programs on Windows begin a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
const UTF_16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
/// The end of the path of a file with counters of a device, with a colon as `grep` prints it.
const STAT: &str = "/stat:";

/// The plain lines of a stream.
#[derive(Default)]
pub(super) struct PlainLines {
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
    let mut text = first.to_owned();
    for part in parts {
        let mut chars = part.chars();
        let end = match chars.next() {
            Some('[') => part.find(|c: char| c != '[' && ('@'..='~').contains(&c)),
            Some(']') => part.find('\x07'),
            Some('(' | ')') => Some(1),
            Some(c) => Some(c.len_utf8() - 1),
            None => None,
        };
        text += end.and_then(|end| part.get(end + 1..)).unwrap_or_default();
    }
    Cow::Owned(text)
}

/// Returns the message in an object of JSON behind its host and what reads as a time in it; `None` if the line is no such
/// object.
fn message(line: &str) -> Option<String> {
    if !line.starts_with('{') {
        return None;
    }
    let object: Map<String, Value> = serde_json::from_str(line).ok()?;
    let key = message_key(&object)?;
    let message = object[key].as_str()?;
    let mut times = Vec::new();
    for (other, value) in &object {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        if other != key && !find_times(&text).is_empty() {
            times.push(text);
        }
    }
    let host = host(&object).map_or_else(String::new, |host| format!("{host}: "));
    let message = message.strip_suffix('\n').unwrap_or(message);
    let times = times.join(" ");
    if !message.contains('\n') {
        return Some(format!("{host}{times} {message}\n"));
    }
    let mut lines = format!("{host}{times}\n");
    for line in message.split('\n') {
        lines += &format!("{host}{line}\n");
    }
    Some(lines)
}

/// Returns the key of the message: the longest text, if none has one of the usual names.
fn message_key(object: &Map<String, Value>) -> Option<&String> {
    const KEYS: [&str; 6] = [
        "log",
        "msg",
        "message",
        "line",
        "textpayload",
        "short_message",
    ];
    let mut longest = None;
    let mut most = 0;
    for (key, value) in object {
        let Some(text) = value.as_str() else {
            continue;
        };
        if KEYS.contains(&key.to_lowercase().as_str()) {
            return Some(key);
        }
        // The name of something is no line.
        if text.len() > most && text.contains(' ') {
            (longest, most) = (Some(key), text.len());
        }
    }
    longest
}

/// The keys whose value is the host, or the nearest to it that a collector of logs knows.
const HOST_KEYS: [&str; 13] = [
    "hostname",
    "host",
    "nodename",
    "node_name",
    "node",
    "computer",
    "fromhost",
    "instance",
    "instance_id",
    "logstreamname",
    "pod_name",
    "pod",
    "container_name",
];

/// Returns the host that an object of JSON names, itself or in the objects in it, such as `labels` or `kubernetes`.
fn host(object: &Map<String, Value>) -> Option<&str> {
    let mut best: Option<(usize, &str)> = None;
    let mut objects = vec![object];
    while let Some(object) = objects.pop() {
        for (key, value) in object {
            let key = key.trim_start_matches('_').to_lowercase();
            let rank = HOST_KEYS.iter().position(|known| *known == key);
            let text = match (value, rank) {
                (Value::String(text), _) => text,
                // `"host": {"name": "db1"}`
                (Value::Object(inner), Some(_)) if inner.contains_key("name") => {
                    inner["name"].as_str()?
                }
                (Value::Object(inner), _) => {
                    objects.push(inner);
                    continue;
                }
                _ => continue,
            };
            if let Some(rank) = rank
                && is_host(text)
                && best.is_none_or(|(other, _)| rank < other)
            {
                best = Some((rank, text));
            }
        }
    }
    best.map(|(_, host)| host)
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
                "{\"line\":\"8 0 sda 1\",\"labels\":{\"pod\":\"b\",\"host\":\"db1\"},\"ts\":\"2017-08-06T06:13:20Z\"}\n",
                "db1: 2017-08-06T06:13:20Z 8 0 sda 1\n",
            ),
            (
                "{\"MESSAGE\":\"8 0 sda 1\\n8 1 sda1 1\",\"_HOSTNAME\":\"db1\",\"t\":1502000000}\n",
                "db1: 1502000000\ndb1: 8 0 sda 1\ndb1: 8 1 sda1 1\n",
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
