//! Arbitrary recorded scans of cgroups and processes: their use of devices has no absurd number, and reads the same when it is
//! recorded again.
#![no_main]

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use blkstat::attribution::{Attribution, Attributor, IoRates, cgroup_name};
use blkstat::capture::{Reader, RecordFilter, SampleText, ScanGrowth, ScanWriter, write_sample};
use blkstat::counters::{HostState, IoScan, Sample};
use blkstat::units::SampleTime;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // Each line is one scan, or a part of one.
    let scans = read(&recording(bytes.split(|byte| *byte == b'\n').map(|line| {
        let mut text = b"#blkstat {\"io_scan\":".to_vec();
        text.extend_from_slice(line);
        text.extend_from_slice(b"}\n");
        text
    })));
    attribute(&scans);

    let mut writer = ScanWriter::default();
    let mut growths: Vec<ScanGrowth> =
        scans.iter().filter_map(|scan| writer.growth(scan, &HashSet::new())).collect();
    let text = |growth: &ScanGrowth| {
        let mut text = Vec::new();
        growth.write(&mut text);
        text
    };
    let again = read(&recording(growths.iter().map(text)));
    assert_eq!(again.len(), growths.len());
    attribute(&again);

    // Where scans are dropped, the last one has the growth of all.
    let Some(mut last) = growths.pop() else { return };
    while let Some(earlier) = growths.pop() {
        last.add_before(earlier);
    }
    let merged = read(&recording([text(&last)].into_iter()));
    assert_eq!(merged.len(), 1);
    attribute(&merged);
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
        let text = SampleText { at, diskstats, cpu: b"", host: HostState::default(), missed_samples: 0 };
        write_sample(&text, &RecordFilter::default(), &TimeZone::UTC, &mut written);
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

/// Attributes what scans counted, one after another and all at once.
fn attribute(scans: &[Arc<IoScan>]) {
    let (mut each, mut all) = (Attributor::default(), Attributor::default());
    for scan in scans {
        each.observe(scan);
        all.observe(scan);
        each.finish_interval().iter().for_each(check);
    }
    all.finish_interval().iter().for_each(check);
}

fn check(attribution: &Attribution) {
    assert!(attribution.elapsed_s > 0.0);
    for device in &attribution.devices {
        check_rates(&device.total);
        device.unattributed_bytes_per_s().into_iter().for_each(check_rate);
        device.unattributed_pct().into_iter().for_each(check_pct);
        let shares = device.cgroups.iter().filter_map(|cgroup| cgroup.share_pct);
        check_pct(shares.sum());
        for cgroup in &device.cgroups {
            check_rates(&cgroup.rates);
            cgroup_name(&cgroup.path);
            cgroup.limits.iter().for_each(|limit| check_rate(limit.rate));
        }
        attribution.reached_limit(&device.name, &[]);
    }
}

fn check_rates(rates: &IoRates) {
    let all = [rates.reads_per_s, rates.writes_per_s, rates.read_bytes_per_s, rates.write_bytes_per_s];
    all.into_iter().for_each(check_rate);
}

fn check_rate(rate: f64) {
    assert!(rate.is_finite() && rate >= 0.0, "{rate}");
}

fn check_pct(pct: f64) {
    assert!((0.0..=100.001).contains(&pct), "{pct}");
}
