//! Arbitrary recorded scans of cgroups and processes: their use of devices has no absurd number, and reads the same when it is
//! recorded again.
#![no_main]

#[allow(dead_code)]
#[path = "../../numbers/program.rs"]
mod program;
#[allow(dead_code)]
#[path = "../../support"]
mod support {
    pub(crate) mod clock;
    pub(crate) mod in_process;
    pub(crate) mod text;
}

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use blkstat::capture::{Reader, RecordFilter, ScanWriter};
use blkstat::counters::{IoScan, Sample};
use blkstat::exit::Exit;
use blkstat::units::SampleTime;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    // Each line is one scan, or a part of one.
    let recorded = recording(bytes.split(|byte| *byte == b'\n').map(|line| {
        let mut text = b"#blkstat {\"io_scan\":".to_vec();
        text.extend_from_slice(line);
        text.extend_from_slice(b"}\n");
        text
    }));
    check(&recorded);
    let scans = read(&recorded);

    let mut writer = ScanWriter::default();
    let mut texts = Vec::new();
    for scan in &scans {
        let mut text = Vec::new();
        if writer.write(scan, &HashSet::new(), &mut text) {
            texts.push(text);
        }
    }
    let count = texts.len();
    let again = recording(texts.into_iter());
    assert_eq!(read(&again).len(), count);
    check(&again);
});

/// Returns a recording with a sample after each text.
fn recording(texts: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut written = Vec::new();
    for (at, text) in (1..).zip(texts) {
        written.extend_from_slice(&text);
        let at = SampleTime {
            monotonic: Some(Duration::from_secs(at)),
            wall: Timestamp::from_second(at as i64).ok(),
            uptime: Some(at),
        };
        let diskstats = b"8 0 sda 1 0 8 1 0 0 0 0 0 1 1\n";
        let sample = Sample {
            at,
            ..Sample::default()
        };
        RecordFilter::default().write_sample(&sample, diskstats, &TimeZone::UTC, &mut written);
    }
    written
}

fn read(recording: &[u8]) -> Vec<Arc<IoScan>> {
    let mut reader = Reader::new(recording);
    let (mut previous, mut sample) = (Sample::default(), Sample::default());
    let mut scans = Vec::new();
    while reader.next(&previous, &mut sample).unwrap() {
        scans.extend(sample.io_scan.take());
        std::mem::swap(&mut previous, &mut sample);
    }
    scans
}

/// Checks what a recording says of cgroups and processes, interval by interval and all at once.
fn check(recording: &[u8]) {
    for view in ["who --json --from", "who --json 1000000 --from"] {
        let (out, err, exit) = program::run(view, &[recording]);
        assert!(
            matches!(exit, Exit::Success | Exit::NoData),
            "{view}: {exit:?}: {err}"
        );
        let mut shares: HashMap<(Value, Value), f64> = HashMap::new();
        for line in out.lines() {
            assert!(!line.contains(char::is_control), "{line:?}");
            let fields: Value = serde_json::from_str(line).unwrap();
            let mut values = fields.as_object().unwrap().values();
            assert!(
                values.all(|value| value.as_f64().is_none_or(|number| number >= 0.0)),
                "{line}"
            );
            let share = fields["share_pct"].as_f64().unwrap_or(0.0);
            let total = shares
                .entry((fields["time"].clone(), fields["device"].clone()))
                .or_default();
            *total += share;
            assert!(*total <= 100.001, "{total}: {line}");
        }
    }
}
