//! Copies the samples of a range of time from a capture without changes, so that the copy shows the same as the
//! original, and reads only the times of a capture, at much less cost than its samples.

use std::io::{self, Read};
use std::ops::RangeInclusive;

use jiff::Timestamp;

use super::annotation::Annotation;
use super::line_kind::{LineKind, timestamp_of_line};
use super::normal::lines::{LineReader, NextLine};
use crate::compression::is_end_of_text;

/// The longest text that is copied between two samples, such as scans of many cgroups; the rest of a longer one is left
/// out.
const MAX_BETWEEN_BYTES: usize = 64 << 20;
/// The least number of bytes that are handed over at a time.
const BLOCK_BYTES: usize = 256 * 1024;

/// The place of a line in a capture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Outside samples: notes and scans that belong to the next sample.
    Between,
    /// In the header of a recording, which may take several lines.
    Header,
    CopiedSample,
    OtherSample,
}

/// Hands over the text of the samples from one time to another, with the header of a recording before them, and returns
/// the number of samples. Compressed data that ends early ends the capture.
///
/// # Errors
/// If the stream cannot be read, and those of `write`.
pub fn copy_range<E: From<io::Error>>(
    input: impl Read,
    range: RangeInclusive<Timestamp>,
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<u64, E> {
    let mut lines = LineReader::new(input);
    let mut place = Place::Between;
    // The last header, unless it was copied; the lines before the next sample; and those to hand over.
    let (mut header, mut between, mut out) = (Vec::new(), Vec::new(), Vec::new());
    let mut samples = 0;
    loop {
        let (line, ended) = match lines.next() {
            Ok(NextLine::Line { bytes, ended, .. }) => (bytes, ended),
            Ok(NextLine::TooLong) => continue,
            Ok(NextLine::End) => break,
            Err(error) if is_end_of_text(&error) => break,
            Err(error) => return Err(error.into()),
        };
        let is_in_sample = |place| matches!(place, Place::CopiedSample | Place::OtherSample);
        let kind = LineKind::of(line, ended, false, is_in_sample(place));
        // The reader splits such a line as well.
        if let Some(at) = kind.embedded_line(line, true) {
            lines.split_line(at);
            continue;
        }
        match &kind {
            LineKind::Timestamp(timestamp)
                if timestamp.time.is_some_and(|at| range.contains(&at)) =>
            {
                place = Place::CopiedSample;
                samples += 1;
                out.append(&mut header);
                out.append(&mut between);
            }
            LineKind::Timestamp(_) => {
                place = Place::OtherSample;
                between.clear();
            }
            LineKind::Annotation(Annotation::Header(_)) => {
                place = Place::Header;
                header.clear();
            }
            LineKind::Annotation(Annotation::HeaderLists(_) | Annotation::Health(_)) => {}
            LineKind::Annotation(_) if place == Place::Header => place = Place::Between,
            _ => {}
        }
        let is_annotation = matches!(kind, LineKind::Annotation(_));
        let into = match place {
            Place::Header => Some(&mut header),
            Place::CopiedSample => Some(&mut out),
            // Only annotations belong to the next sample.
            Place::Between if is_annotation && between.len() <= MAX_BETWEEN_BYTES => {
                Some(&mut between)
            }
            Place::Between | Place::OtherSample => None,
        };
        if let Some(into) = into {
            into.extend_from_slice(line);
            into.extend(ended.then_some(b'\n'));
        }
        if let LineKind::Annotation(Annotation::EndOfSample(end)) = kind
            && is_in_sample(place)
            && end.complete
        {
            place = Place::Between;
        }
        if out.len() >= BLOCK_BYTES {
            write(&std::mem::take(&mut out))?;
        }
    }
    write(&out)?;
    Ok(samples)
}

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

    fn copy(text: &str, range: RangeInclusive<i64>) -> (String, u64) {
        let at = |second: &i64| Timestamp::from_second(*second).unwrap();
        let mut out = Vec::new();
        let samples = copy_range(
            text.as_bytes(),
            at(range.start())..=at(range.end()),
            |bytes| {
                out.extend_from_slice(bytes);
                io::Result::Ok(())
            },
        );
        (String::from_utf8(out).unwrap(), samples.unwrap())
    }

    #[test]
    fn samples_of_a_plain_capture_are_copied_to_the_byte() {
        let samples = [
            "TS 1 a\n 8 0 sda 1\n",
            "TS 2 b\n 8 0 sda 2\n\n",
            "TS 3 c\n 8 0 sda 3",
        ];
        let text = format!("junk\n{}", samples.concat());
        assert_eq!(copy(&text, 1..=2), (samples[..2].concat(), 2));
        assert_eq!(copy(&text, 2..=9), (samples[1..].concat(), 2));
        assert_eq!(copy(&text, 5..=9), (String::new(), 0));
    }

    #[test]
    fn a_part_of_a_recording_begins_with_its_header_and_the_notes_of_its_first_sample() {
        let header = "#blkstat {\"version\":\"1\",\"devices\":[]}\n#blkstat {\"devices\":[]}\n";
        let other = "#blkstat {\"version\":\"1\",\"cpus\":2,\"devices\":[]}\n";
        let note = |at: u32| format!("#blkstat {{\"clock_step_s\":{at}.0}}\n");
        let sample =
            |at: u32| format!("TS {at} x\n 8 0 sda {at}\n#blkstat {{\"complete\":true}}\n");
        let text = [
            header,
            &note(1),
            &sample(1),
            &note(2),
            &sample(2),
            &sample(3),
            other,
            &note(4),
            &sample(4),
        ];
        let text = text.concat();
        let expected = [header, &note(2), &sample(2), &sample(3)].concat();
        assert_eq!(copy(&text, 2..=3), (expected, 2));
        assert_eq!(
            copy(&text, 4..=4),
            ([other, &note(4), &sample(4)].concat(), 1)
        );
        assert_eq!(
            copy(&text, 3..=4),
            (
                [header, &sample(3), other, &note(4), &sample(4)].concat(),
                2
            )
        );
        assert_eq!(copy(&text, 1..=9), (text.clone(), 4));
    }

    #[test]
    fn a_recording_appended_to_a_line_without_end_begins_there() {
        let header = "#blkstat {\"version\":\"1\",\"devices\":[]}\n";
        let text = format!("TS 1 x\n 8 0 sda 12{header}TS 2 x\n 8 0 sda 2\n");
        assert_eq!(
            copy(&text, 2..=2),
            (format!("{header}TS 2 x\n 8 0 sda 2\n"), 1)
        );
        assert_eq!(copy(&text, 1..=2), (text.clone(), 2));
    }

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
