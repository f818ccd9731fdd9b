//! What was read from a machine and recorded replays as it was, whatever the lines of /proc/diskstats hold.
#![no_main]

use std::time::Duration;

use blkstat::capture::{RecordFilter, Reader, SampleText, RecordingHeader, parse_diskstats, write_header, write_sample};
use blkstat::counters::{HostState, Pressure, Sample};
use blkstat::topology::{Node, Topology};
use blkstat::units::SampleTime;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // Each part is what the machine showed at one moment; the lines of a kernel are of digits and blanks up to the
    // name, so that none begins like one of ours.
    let texts: Vec<Vec<u8>> = bytes.split(|byte| *byte == 0xff).map(as_a_kernel_prints).collect();
    let mut written = Vec::new();
    let node =
        |at: usize| Node { name: format!("n{at}"), mounts: vec!["\u{1b}/".repeat(at)], ..Node::default() };
    let stack = Topology::new((0..bytes.len() % 7).map(node).collect());
    let recorded = RecordingHeader { version: "1".into(), host: Some("h".into()), stack, ..RecordingHeader::default() };
    write_header(&recorded, &mut written);
    let samples: Vec<Sample> = texts.iter().enumerate().map(|(at, text)| sample(at as u64, text)).collect();
    for (sample, text) in samples.iter().zip(&texts) {
        let reading = SampleText { at: sample.at, diskstats: text, cpu: b"", machine: sample.host, missed: 0 };
        write_sample(&reading, &RecordFilter::default(), &TimeZone::UTC, &mut written);
    }

    let mut reader = Reader::new(written.as_slice());
    let (mut before, mut read) = (Sample::default(), Sample::default());
    for sample in &samples {
        assert!(reader.next(&before, &mut read).unwrap(), "{:?}", reader.take_warnings());
        assert_eq!((&read.devices, read.at, read.machine), (&sample.devices, sample.at, sample.host));
        assert_eq!((read.segment, reader.recorded()), (0, Some(&recorded)));
        std::mem::swap(&mut before, &mut read);
    }
    assert!(!reader.next(&before, &mut read).unwrap());
});

fn as_a_kernel_prints(text: &[u8]) -> Vec<u8> {
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| line.first().is_some_and(|byte| *byte == b' ' || byte.is_ascii_digit()));
    // What begins like a line of ours inside of another is the start of a recording behind one that was cut off.
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
        // Set back with every sample: the monotonic clock counts.
        wall: Timestamp::new(1_000_000_000 - at as i64, 7).ok(),
        uptime: Some(at),
    };
    sample.host = HostState {
        blocked: Some(at),
        pressure: Some(Pressure { some_us: u64::MAX - at, full_us: at }),
        dirty_kib: None,
        writeback_kib: Some(at),
    };
    sample
}
