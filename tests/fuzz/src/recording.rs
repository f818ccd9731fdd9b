//! Recordings of arbitrary lines of /proc/diskstats replay as the samples that were recorded.
#![no_main]

use std::time::Duration;

use blkstat::capture::{Reader, RecordFilter, RecordingHeader, parse_diskstats, write_header};
use blkstat::counters::{HostState, Pressure, Sample};
use blkstat::topology::{Node, Topology};
use blkstat::units::SampleTime;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // Each part is the text of one sample. Lines of the kernel begin with a digit or a blank, unlike all other kinds of
    // lines in a recording.
    let texts: Vec<Vec<u8>> = bytes
        .split(|byte| *byte == 0xff)
        .map(kernel_lines)
        .collect();
    let mut written = Vec::new();
    let node = |at: usize| Node {
        name: format!("n{at}"),
        mountpoints: vec!["\u{1b}/".repeat(at)],
        ..Node::default()
    };
    let topology = Topology::new((0..bytes.len() % 7).map(node).collect());
    let header = RecordingHeader {
        version: "1".into(),
        host: Some("h".into()),
        topology,
        ..RecordingHeader::default()
    };
    write_header(&header, &mut written);
    let samples: Vec<Sample> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| sample(at as u64, text))
        .collect();
    for (sample, text) in samples.iter().zip(&texts) {
        RecordFilter::default().write_sample(sample, text, &TimeZone::UTC, &mut written);
    }

    let mut reader = Reader::new(written.as_slice());
    let (mut previous, mut read) = (Sample::default(), Sample::default());
    for sample in &samples {
        assert!(
            reader.next(&previous, &mut read).unwrap(),
            "{:?}",
            reader.take_warnings()
        );
        assert_eq!(
            (&read.devices, read.at, read.host),
            (&sample.devices, sample.at, sample.host)
        );
        assert_eq!((read.segment, reader.header()), (0, Some(&header)));
        std::mem::swap(&mut previous, &mut read);
    }
    assert!(!reader.next(&previous, &mut read).unwrap());
});

/// Keeps the lines that a kernel could print.
fn kernel_lines(text: &[u8]) -> Vec<u8> {
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| {
        line.first()
            .is_some_and(|byte| *byte == b' ' || byte.is_ascii_digit())
    });
    // An annotation within a line is read as the start of an appended recording.
    let lines = lines.filter(|line| !line.contains(&b'#'));
    let mut text = lines.collect::<Vec<_>>().join(&b'\n');
    if !text.is_empty() {
        text.push(b'\n');
    }
    text
}

fn sample(at: u64, text: &[u8]) -> Sample {
    let mut sample = Sample::default();
    parse_diskstats(text, &mut sample, |_, _| {});
    sample.at = SampleTime {
        monotonic: Some(Duration::from_nanos(at + 1)),
        // The wall clock goes back with every sample, which must not matter.
        wall: Timestamp::new(1_000_000_000 - at as i64, 7).ok(),
        uptime: Some(at),
    };
    sample.host = HostState {
        blocked: Some(at),
        pressure: Some(Pressure {
            some_us: u64::MAX - at,
            full_us: at,
        }),
        memory_pressure: Some(Pressure {
            some_us: at,
            full_us: u64::MAX,
        }),
        swapped: Some([at, u64::MAX - at]),
        dirty_kib: None,
        writeback_kib: Some(at),
    };
    sample
}
