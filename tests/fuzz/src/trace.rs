//! Arbitrary recorded single requests: they read the same when they are recorded again, and every view of them is
//! printed without absurd numbers.
#![no_main]

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use blkstat::capture::{Reader, RecordFilter, SampleText, write_sample, write_traced};
use blkstat::clock::ManualClock;
use blkstat::counters::{HostState, LatencySpan, RequestKind, Sample, TracedIo};
use blkstat::exit::Exit;
use blkstat::metrics::LatencyStats;
use blkstat::run::{RunContext, run};
use blkstat::units::SampleTime;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;

/// The views of single requests; the first byte of the input selects one.
const VIEWS: [&str; 8] = [
    "latency --json --buckets --queued",
    "latency --csv 2",
    "latency --queued --width 70",
    "latency --heatmap",
    "who --json",
    "who",
    "--explain --json",
    "report -o - --baseline-ms 1",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((view, lines)) = bytes.split_first() else { return };
    // Each line is a part of the requests between two samples; one that begins with a plus is followed by another part.
    let parts = lines.split(|byte| *byte == b'\n').map(|line| {
        let is_last = line.first() != Some(&b'+');
        let mut text = b"#blkstat {\"traced\":".to_vec();
        text.extend_from_slice(line.strip_prefix(b"+").unwrap_or(line));
        text.extend_from_slice(b"}\n");
        (text, is_last)
    });
    let written = recording(parts);
    let all = read(&written);
    let ending_at = |traced: &Arc<TracedIo>| {
        let mut text = Vec::new();
        write_traced(traced, &mut text);
        (text, true)
    };
    let again = read(&recording(all.iter().map(ending_at)));
    assert_eq!(again.len(), all.len());
    for (first, again) in all.iter().zip(&again) {
        // A recording holds up to 584 years of it.
        let elapsed = first.elapsed.min(Duration::from_nanos(u64::MAX));
        assert_eq!(TracedIo { elapsed, ..(**first).clone() }, **again);
        check(first);
    }
    show(VIEWS[usize::from(*view) % VIEWS.len()], &written);
});

/// Returns a recording with a sample after each text that is the last of its sample.
fn recording(texts: impl Iterator<Item = (Vec<u8>, bool)>) -> Vec<u8> {
    let mut written = Vec::new();
    let push_sample = |second: u64, written: &mut Vec<u8>| {
        let at = SampleTime {
            monotonic: Some(Duration::from_secs(second)),
            wall: Timestamp::from_second(second as i64).ok(),
            uptime: Some(second),
        };
        let (ios, ms) = (2000 * second, 9000 * second);
        let diskstats = format!(
            "8 0 sda {ios} 0 {ios} {ms} {ios} 0 {ios} {ms} 0 {second} {ms} 0 0 0 0 {ios} {ms}\n8 1 sda1 {ios} 0 {ios} {ms} 0 0 0 0 0 1 1\n"
        );
        let diskstats = diskstats.as_bytes();
        let text = SampleText { at, diskstats, cpu: b"", host: HostState::default(), missed_samples: 0 };
        write_sample(&text, &RecordFilter::default(), &TimeZone::UTC, written);
    };
    push_sample(1, &mut written);
    let mut second = 1;
    for (text, is_last) in texts {
        written.extend_from_slice(&text);
        if is_last {
            second += 1;
            push_sample(second, &mut written);
        }
    }
    written
}

fn read(recording: &[u8]) -> Vec<Arc<TracedIo>> {
    let mut reader = Reader::new(recording);
    let (mut previous, mut sample) = (Sample::default(), Sample::default());
    let mut all = Vec::new();
    while reader.next(&previous, &mut sample).unwrap() {
        all.extend(sample.traced.take());
        std::mem::swap(&mut previous, &mut sample);
    }
    all
}

fn check(traced: &TracedIo) {
    for (key, histogram) in &traced.latencies {
        assert!(RequestKind::ALL.contains(&key.kind));
        assert!([LatencySpan::Device, LatencySpan::Queued].contains(&key.span));
        let Some(stats) = LatencyStats::of(histogram) else {
            assert_eq!(histogram.count(), 0);
            continue;
        };
        let latencies = [&stats.percentiles_ms[..], &[stats.max_ms]].concat();
        assert!(latencies.iter().all(|ms| ms.is_finite() && *ms >= 0.0), "{stats:?}");
        assert!(stats.mean_ms.is_finite() && stats.count > 0, "{stats:?}");
    }
}

/// Prints a view of a recording. JSON must be valid, and text must not control a terminal.
fn show(view: &str, recording: &[u8]) {
    let mut file =
        tempfile::NamedTempFile::new_in("/dev/shm").or_else(|_| tempfile::NamedTempFile::new()).unwrap();
    file.write_all(recording).unwrap();
    let mut words: Vec<String> = ["blkstat"].into_iter().chain(view.split(' ')).map(str::to_owned).collect();
    match words[1] == "report" {
        true => words.push(file.path().display().to_string()),
        false => words.extend(["--from".to_owned(), file.path().display().to_string()]),
    }
    let environment = |name: &str| (name == "TZ").then(|| "UTC".into());
    let plan = blkstat::cli::plan(words.into_iter().map(Into::into), &environment)
        .unwrap_or_else(|error| panic!("{view}: {}", error.message));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |_| unreachable!("a replay does not wait"));
    let exit = run(
        &plan,
        &mut RunContext {
            clock: &clock,
            out: &mut out,
            err: &mut err,
            is_terminal: false,
            may_lock_memory: false,
        },
    );
    assert!(
        matches!(exit, Exit::Success | Exit::NoData),
        "{view}: {exit:?}: {}",
        String::from_utf8_lossy(&err)
    );
    let out = String::from_utf8(out).unwrap();
    assert!(!out.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')), "{view}: {out:?}");
}
