//! Compares parsing ahead with parsing in turn.

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;
use crate::capture::RecordingHeader;
use crate::source::decompress::decompress;

/// Bytes, then perhaps an error.
#[derive(Clone)]
struct Input {
    bytes: Cursor<Vec<u8>>,
    fails: bool,
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.bytes.read(into)? {
            0 if self.fails => Err(io::Error::other("broken")),
            length => Ok(length),
        }
    }
}

/// Everything that a reader reports about a sample, or about the end.
type Told = (
    Option<Sample>,
    u64,
    bool,
    Option<RecordingHeader>,
    Vec<CaptureWarning>,
    Option<String>,
);

fn told(found: io::Result<bool>, sample: &Sample, state: &CaptureState) -> Told {
    let is_sample = matches!(found, Ok(true));
    (
        is_sample.then(|| sample.clone()),
        state.header_count,
        state.is_truncated,
        state.header.as_deref().cloned(),
        state.warnings.clone(),
        found.err().map(|error| error.to_string()),
    )
}

/// Everything that is reported of a capture when it is parsed in turn and ahead, which must be the same.
fn read_both_ways(bytes: &[u8], fails: bool) -> Vec<Told> {
    let input = Input {
        bytes: Cursor::new(bytes.to_vec()),
        fails,
    };
    let mut reader = Reader::new(decompress(input.clone(), u64::MAX, "a").unwrap());
    let mut ahead =
        ParseAhead::start(Reader::new(decompress(input, u64::MAX, "a").unwrap())).unwrap();
    let (mut previous, mut all) = (Sample::default(), Vec::new());
    loop {
        let (mut sample, mut sample_ahead) = (Sample::default(), Sample::default());
        let in_turn = told(reader.next(&previous, &mut sample), &sample, reader.state());
        let found_ahead = ahead.next(&mut sample_ahead);
        assert!(told(found_ahead, &sample_ahead, ahead.state()) == in_turn);
        assert_eq!(reader.take_warnings(), ahead.take_warnings());
        let is_sample = in_turn.0.is_some();
        all.push(in_turn);
        if !is_sample {
            return all;
        }
        previous = sample;
    }
}

/// A recording, then a capture with invalid lines, a clock that goes back and an end within a line.
fn capture(samples: u64) -> Vec<u8> {
    let header =
        "#blkstat {\"version\":\"1\",\"host\":\"db1\",\"devices\":[]}\n#blkstat {\"devices\":[]}\n";
    let mut text = header.as_bytes().to_vec();
    for second in 0..samples {
        writeln!(text, "TS {}.5 2026-11-20 12:00:00", 1000 + second).unwrap();
        for device in 0..9 {
            writeln!(
                text,
                "   8 {device:>7} sd{device} {second} 2 3 4 5 6 7 8 9 10 {}",
                second * 7
            )
            .unwrap();
        }
        writeln!(
            text,
            r##"#blkstat {{"monotonic_ns":{},"complete":true}}"##,
            second * 1_000_000_000
        )
        .unwrap();
        if second % 100 == 40 {
            text.extend_from_slice(header.as_bytes());
            text.extend_from_slice(b"junk 1 2\nTS 7x\n   8 0 sda 1 2\n");
        }
    }
    text.extend_from_slice(b"TS 5.0\n   8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n   8 1 sdb 1 2 3 4 5");
    text
}

#[test]
fn samples_warnings_and_headers_are_those_of_a_reader_in_turn() {
    let told = read_both_ways(&capture(3000), false);
    assert!(told.len() > 2900);
    assert!(told.iter().any(|(_, headers, ..)| *headers > 20));
    assert!(told.iter().any(|(.., warnings, _)| !warnings.is_empty()));
    read_both_ways(&b"TS 7\nTS 8.5\n".repeat(20_000), false);
    read_both_ways(b"", false);
    read_both_ways(b"no capture", false);
    read_both_ways(&capture(1), false);
}

#[test]
fn samples_before_an_error_are_handed_out_first() {
    let told = read_both_ways(&capture(300), true);
    assert_eq!(told.last().unwrap().5.as_deref(), Some("broken"));
    assert!(told.len() > 200);
}

#[test]
fn compressed_data_that_ends_early_or_is_damaged_gives_the_samples_before() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&capture(3000)).unwrap();
    let mut gzip = encoder.finish().unwrap();
    read_both_ways(&gzip, false);
    read_both_ways(&gzip[..gzip.len() / 2], false);
    let middle = gzip.len() / 2;
    gzip[middle..middle + 64].fill(0xff);
    assert!(read_both_ways(&gzip, false).len() > 2);
}

/// A line of a capture, valid or not; the counters of a device may fall.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0u32..4, 0u64..1 << 40).prop_map(|(disk, n)| format!("   8 {disk:>7} sd{disk} {n} 2 3 4 5 6 7 8 9 10 {n}")),
        2 => (1000u32..1010, 0u32..1000).prop_map(|(second, ms)| format!("TS {second}.{ms:03} 2026-11-20 12:00:00")),
        1 => prop::sample::select(vec!["junk 1 2", "", "TS 7x", "TS", "   8 0 sda 1 2", "cpu  1 2 3 4 5 6 7 8 9 10", "#blkstat {"])
            .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_capture_that_is_cut_anywhere_gives_the_same_samples_and_warnings(
        lines in prop::collection::vec(line(), 0..60),
        is_crlf: bool,
        missing in 0usize..30,
    ) {
        let end = if is_crlf { "\r\n" } else { "\n" };
        let text: String = lines.iter().flat_map(|line| [line, end]).collect();
        read_both_ways(&text.as_bytes()[..text.len().saturating_sub(missing)], false);
    }
}
