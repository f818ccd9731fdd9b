//! Compares parsing ahead with parsing in turn.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;

/// Bytes that come in pieces, then perhaps an error.
struct Pieces<'a> {
    bytes: &'a [u8],
    piece: usize,
    is_ready: bool,
    fails: bool,
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.bytes.is_empty() && self.fails {
            return Err(io::Error::other("broken"));
        }
        let length = self.piece.min(self.bytes.len()).min(into.len());
        let (piece, rest) = self.bytes.split_at(length);
        into[..length].copy_from_slice(piece);
        self.bytes = rest;
        Ok(length)
    }
}

impl ChunkInput for Pieces<'_> {
    fn is_ready(&self) -> bool {
        self.is_ready
    }
}

/// Everything that a reader reports about a sample, or about the end.
type Told = (Option<Sample>, u64, Option<RecordingHeader>, Vec<CaptureWarning>, Option<String>);

fn in_turn(input: Pieces<'_>, keeps_truncated_sample: bool) -> Vec<Told> {
    let mut reader = Reader::new(decompress(Box::new(input)).unwrap());
    if keeps_truncated_sample {
        reader.keep_truncated_sample();
    }
    let (mut previous, mut told) = (Sample::default(), Vec::new());
    loop {
        let mut sample = Sample::default();
        let read = reader.next(&previous, &mut sample);
        let error = read.as_ref().err().map(ToString::to_string);
        let is_sample = matches!(read, Ok(true));
        told.push((
            is_sample.then(|| sample.clone()),
            reader.header_count(),
            reader.header().cloned(),
            reader.take_warnings(),
            error,
        ));
        if !is_sample {
            return told;
        }
        previous = sample;
    }
}

fn ahead(mut input: Pieces<'_>, keeps_truncated_sample: bool) -> Vec<Told> {
    let mut ahead = ParseAhead::open(&mut input).unwrap().unwrap();
    let mut told = Vec::new();
    loop {
        let mut sample = Sample::default();
        let read = ahead.next(&mut input, keeps_truncated_sample, &mut sample);
        let error = read.as_ref().err().map(ToString::to_string);
        let is_sample = matches!(read, Ok(true));
        let warnings = ahead.take_warnings();
        let state = ahead.state();
        let header = state.header.as_deref().cloned();
        told.push((is_sample.then_some(sample), state.header_count, header, warnings, error));
        if !is_sample {
            assert!(!matches!(
                ahead.next(&mut input, keeps_truncated_sample, &mut Sample::default()),
                Ok(true)
            ));
            return told;
        }
    }
}

/// A recording, then a capture with invalid lines, a clock that goes back and an end within a line.
fn capture(samples: u64) -> Vec<u8> {
    let header = "#blkstat {\"version\":\"1\",\"host\":\"db1\",\"devices\":[]}\n#blkstat {\"devices\":[]}\n";
    let mut text = header.as_bytes().to_vec();
    for second in 0..samples {
        writeln!(text, "TS {}.5 2026-11-20 12:00:00", 1000 + second).unwrap();
        for device in 0..9 {
            writeln!(text, "   8 {device:>7} sd{device} {second} 2 3 4 5 6 7 8 9 10 {}", second * 7).unwrap();
        }
        writeln!(text, r##"#blkstat {{"monotonic_ns":{},"complete":true}}"##, second * 1_000_000_000)
            .unwrap();
        if second % 100 == 40 {
            text.extend_from_slice(header.as_bytes());
            text.extend_from_slice(b"junk 1 2\nTS 7x\n   8 0 sda 1 2\n");
        }
    }
    text.extend_from_slice(b"TS 5.0\n   8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n   8 1 sdb 1 2 3 4 5");
    text
}

fn assert_same(bytes: &[u8], fails: bool) -> Vec<Told> {
    let mut last = Vec::new();
    for (piece, is_ready) in [(usize::MAX, true), (usize::MAX, false), (1013, true), (77, false)] {
        for keeps_truncated_sample in [false, true] {
            let input = || Pieces { bytes, piece, is_ready, fails };
            let expected = in_turn(input(), keeps_truncated_sample);
            last = ahead(input(), keeps_truncated_sample);
            assert!(last == expected, "{piece} bytes at a time");
        }
    }
    last
}

#[test]
fn samples_warnings_and_headers_are_those_of_a_reader_in_turn() {
    let told = assert_same(&capture(3000), false);
    assert!(told.len() > 2900);
    assert!(told.iter().any(|(_, headers, ..)| *headers > 20));
    assert!(told.iter().any(|(.., warnings, _)| !warnings.is_empty()));
    assert_same(&b"TS 7\nTS 8.5\n".repeat(20_000), false);
    assert_same(b"", false);
    assert_same(b"no capture", false);
    assert_same(&capture(1), false);
}

#[test]
fn samples_before_an_error_are_handed_out_first() {
    let told = assert_same(&capture(300), true);
    assert_eq!(told.last().unwrap().4.as_deref(), Some("broken"));
    assert!(told.len() > 200);
}

#[test]
fn compressed_data_that_ends_early_or_is_damaged_gives_the_samples_before() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&capture(3000)).unwrap();
    let mut gzip = encoder.finish().unwrap();
    assert_same(&gzip, false);
    assert_same(&gzip[..gzip.len() / 2], false);
    let middle = gzip.len() / 2;
    gzip[middle..middle + 64].fill(0xff);
    assert!(assert_same(&gzip, false).len() > 2);
}

#[test]
fn compressed_data_that_is_not_valid_from_the_start_is_an_error_of_opening() {
    let bytes = [&b"\x28\xb5\x2f\xfd"[..], &[0xff; 20]].concat();
    let mut input = Pieces { bytes: &bytes, piece: 1, is_ready: true, fails: false };
    assert!(ParseAhead::open(&mut input).is_err());
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
        piece in 1usize..400,
        is_ready: bool,
        keeps_truncated_sample: bool,
        missing in 0usize..30,
    ) {
        let end = if is_crlf { "\r\n" } else { "\n" };
        let text: String = lines.iter().flat_map(|line| [line, end]).collect();
        let bytes = &text.as_bytes()[..text.len().saturating_sub(missing)];
        let input = || Pieces { bytes, piece, is_ready, fails: false };
        prop_assert!(ahead(input(), keeps_truncated_sample) == in_turn(input(), keeps_truncated_sample));
    }
}
