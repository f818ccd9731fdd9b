//! Takes the samples of a range of time out of a recording, as text: the excerpt is a recording that shows the same.
//!
//! The text is copied and not made anew from parsed samples, so that an excerpt also holds what only a later version of
//! blkstat understands. A sample without its end mark is left out: no reader shows it.

use std::io::{self, Read};

use jiff::Timestamp;

use super::annotation::Annotation;
use super::line_kind::LineKind;
use super::normal::lines::{LineReader, NextLine};
use crate::compression::is_end_of_text;

/// The longest text of a sample, or of what stands before it, such as scans of many cgroups. The rest of a longer one is
/// left out.
const MAX_TEXT_BYTES: usize = 64 << 20;

/// The lines of one sample, and of what belongs to it.
#[derive(Default)]
struct SampleText {
    /// The header and the facts about health that hold from this sample on; empty if they did not change.
    header: Vec<u8>,
    /// What happened since the sample before.
    notes: Vec<u8>,
    /// The scan of cgroups and processes; empty if there is no new one.
    scan: Vec<u8>,
    lines: Vec<u8>,
}

impl SampleText {
    /// Moves all lines to `out`, in the order in which a recording has them.
    fn move_to(&mut self, out: &mut Vec<u8>) {
        for part in [
            &mut self.header,
            &mut self.notes,
            &mut self.scan,
            &mut self.lines,
        ] {
            out.append(part);
        }
    }
}

/// Reads the text of a recording, which may be in several files, and keeps what an excerpt of it needs.
pub struct Excerpt<R> {
    lines: LineReader<R>,
    /// True once the file has a header: what precedes it is no recording.
    has_header: bool,
    texts: Texts,
}

/// The lines that were read.
#[derive(Default)]
struct Texts {
    is_in_header: bool,
    /// The time of the sample that is being read; `None` between samples.
    at: Option<Timestamp>,
    /// What was read since the last complete sample, and that sample until it is taken or skipped.
    next: SampleText,
    /// The last sample before the range, where its first interval begins, with the header and the scan that hold there.
    base: SampleText,
}

impl<R: Read> Excerpt<R> {
    /// Begins with the first file.
    pub fn new(input: R) -> Self {
        Self {
            lines: LineReader::new(input),
            has_header: false,
            texts: Texts::default(),
        }
    }

    /// Goes on with the next file, after the end of the one before.
    pub fn continue_with(&mut self, input: R) {
        self.lines = LineReader::new(input);
        self.has_header = false;
        self.texts.at = None;
    }

    /// Reads up to the end of a complete sample, and returns its time; `None` at the end of the file. Compressed data that
    /// ends early ends the file. Then the sample is taken or skipped.
    ///
    /// # Errors
    /// If the file cannot be read, or is no recording.
    pub fn read_sample(&mut self) -> io::Result<Option<Timestamp>> {
        loop {
            let (line, ended) = match self.lines.next() {
                Ok(NextLine::Line { bytes, ended, .. }) => (bytes, ended),
                Ok(NextLine::TooLong) => continue,
                Ok(NextLine::End) => return Ok(None),
                Err(error) if is_end_of_text(&error) => return Ok(None),
                Err(error) => return Err(error),
            };
            let kind = LineKind::of(line, ended, false, self.texts.at.is_some());
            // The reader splits such a line as well.
            if let Some(at) = kind.embedded_line(line, true) {
                self.lines.split_line(at);
                continue;
            }
            self.has_header |= matches!(kind, LineKind::Annotation(Annotation::Header(_)));
            if !self.has_header && matches!(kind, LineKind::Timestamp(_)) {
                let text = "it is no recording, unlike the file before it";
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            if let Some(at) = self.texts.add(&kind, line) {
                return Ok(Some(at));
            }
        }
    }

    /// Moves the sample to `out`, with what belongs to it and, at the beginning of the range, the sample before it.
    pub fn take(&mut self, out: &mut Vec<u8>) {
        self.texts.base.move_to(out);
        self.texts.next.move_to(out);
    }

    /// Keeps the sample as the last one before the range, with the last header and the last scan.
    pub fn skip(&mut self) {
        let Texts { base, next, .. } = &mut self.texts;
        if !next.header.is_empty() {
            base.header.clear();
            base.header.append(&mut next.header);
        }
        if !next.scan.is_empty() {
            base.scan.clear();
            base.scan.append(&mut next.scan);
        }
        next.notes.clear();
        std::mem::swap(&mut base.lines, &mut next.lines);
    }
}

impl Texts {
    /// Adds a line. Returns the time of the sample that it ends.
    fn add(&mut self, kind: &LineKind, line: &[u8]) -> Option<Timestamp> {
        let mut ended_at = None;
        let text = match kind {
            LineKind::Timestamp(timestamp) => {
                self.at = timestamp.time;
                self.is_in_header = false;
                self.next.lines.clear();
                &mut self.next.lines
            }
            LineKind::Annotation(annotation) => match annotation {
                Annotation::Header(_) => {
                    self.at = None;
                    self.is_in_header = true;
                    self.next.header.clear();
                    &mut self.next.header
                }
                Annotation::HeaderLists(_) | Annotation::Health(_) if self.is_in_header => {
                    &mut self.next.header
                }
                Annotation::IoScan(part) => {
                    // A scan that no sample took is replaced by the next one.
                    if part.at_ns.is_some() {
                        self.next.scan.clear();
                    }
                    &mut self.next.scan
                }
                Annotation::EndOfSample(end) if self.at.is_some() => {
                    if end.complete {
                        ended_at = self.at.take();
                    }
                    &mut self.next.lines
                }
                _ => &mut self.next.notes,
            },
            _ if self.at.is_some() => &mut self.next.lines,
            _ => return None,
        };
        if text.len() + line.len() > MAX_TEXT_BYTES {
            return None;
        }
        text.extend_from_slice(line);
        text.push(b'\n');
        ended_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str =
        "#blkstat {\"version\":\"1\",\"host\":\"a\",\"devices\":[]}\n#blkstat {\"devices\":[]}\n";
    const OTHER: &str =
        "#blkstat {\"version\":\"1\",\"cpus\":2,\"devices\":[]}\n#blkstat {\"health\":{}}\n";

    /// Returns the excerpt from `begin` to `end`, which the first sample after that ends.
    fn copy(files: &[&str], begin: i64, end: i64) -> String {
        let mut out = Vec::new();
        let mut excerpt = Excerpt::new(files[0].as_bytes());
        let mut more = files[1..].iter();
        loop {
            match excerpt.read_sample().unwrap().map(Timestamp::as_second) {
                Some(second) if second <= begin => excerpt.skip(),
                Some(second) if second <= end => excerpt.take(&mut out),
                Some(_) => break,
                None => match more.next() {
                    Some(text) => excerpt.continue_with(text.as_bytes()),
                    None => break,
                },
            }
        }
        String::from_utf8(out).unwrap()
    }

    fn note(at: u32) -> String {
        format!("#blkstat {{\"clock_step_s\":{at}.0}}\n")
    }

    fn scan(at: u32) -> String {
        format!("#blkstat {{\"io_scan\":{{\"at_ns\":{at}}}}}\n#blkstat {{\"io_scan\":{{}}}}\n")
    }

    fn sample(at: u32) -> String {
        format!("TS {at} x\n 8 0 sda {at}\ncpu 1\n#blkstat {{\"complete\":true}}\n")
    }

    #[test]
    fn an_excerpt_begins_with_the_sample_before_it_and_what_holds_there() {
        let text = [
            HEADER,
            &note(1),
            &scan(1),
            &sample(1),
            &note(2),
            &sample(2),
            &sample(3),
            OTHER,
            &note(4),
            &scan(4),
            &sample(4),
            &sample(5),
        ]
        .concat();
        assert_eq!(copy(&[&text], 0, 9), text);
        let whole = [HEADER, &scan(1), &sample(1), &note(2), &sample(2)].concat();
        assert_eq!(copy(&[&text], 1, 2), whole);
        let later = [HEADER, &scan(1), &sample(2), &sample(3)].concat();
        assert_eq!(copy(&[&text], 2, 3), later);
        let across =
            [HEADER, &scan(1), &sample(3), OTHER, &note(4), &scan(4)].concat() + &sample(4);
        assert_eq!(copy(&[&text], 3, 4), across);
        let last = [OTHER, &scan(4), &sample(4), &sample(5)].concat();
        assert_eq!(copy(&[&text], 4, 9), last);
        assert_eq!(copy(&[&text], 5, 9), "");
    }

    #[test]
    fn a_recording_in_several_files_is_one() {
        let first = [HEADER, &sample(1), &sample(2)].concat();
        let second = [HEADER, &sample(3), &sample(4)].concat();
        let expected = [HEADER, &sample(2), HEADER, &sample(3)].concat();
        assert_eq!(copy(&[&first, &second], 2, 3), expected);
        assert!(Excerpt::new(sample(1).as_bytes()).read_sample().is_err());
    }

    #[test]
    fn a_sample_without_its_end_is_left_out() {
        let text = [
            HEADER,
            &sample(1),
            "TS 2 x\n 8 0 sda 12",
            HEADER,
            &sample(3),
            "TS 4 x\n 8 0 sda\nTS x\n 8 0 sda 9\n",
            &note(5),
            &sample(5),
            "TS 6 x\n 8 0 sd",
        ]
        .concat();
        let expected = [HEADER, &sample(1), HEADER, &sample(3), &note(5), &sample(5)].concat();
        assert_eq!(copy(&[&text], 0, 9), expected);
    }
}
