//! Single requests in a recording: they are read as they were written, also from a part of it.

use std::collections::BTreeMap;
use std::time::Duration;

use blkstat::capture::{Reader, RecordFilter, SampleText, write_header, write_sample, write_traced};
use blkstat::counters::{
    HostState, LatencyBucket, LatencyHistogram, LatencyKey, LatencySpan, RequestKind, Sample, TraceProblem,
    TracedIo, TracedUser,
};
use blkstat::units::SampleTime;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::format::header;

fn kind() -> impl Strategy<Value = RequestKind> {
    prop::sample::select(RequestKind::ALL.to_vec())
}

fn key() -> impl Strategy<Value = LatencyKey> {
    let span = prop_oneof![Just(LatencySpan::Device), Just(LatencySpan::Queued)];
    (any::<(u32, u32)>(), kind(), span).prop_map(|(number, kind, span)| LatencyKey { number, kind, span })
}

/// Up to more buckets than a line holds.
fn histogram() -> impl Strategy<Value = LatencyHistogram> {
    let bucket = (any::<u64>(), any::<u64>(), 1..=u64::MAX, any::<u64>());
    vec(bucket, 1..700).prop_map(|buckets| {
        let mut histogram = LatencyHistogram::default();
        for (lower_ns, upper_ns, count, sum_ns) in buckets {
            histogram.add(LatencyBucket { lower_ns, upper_ns, count, sum_ns });
        }
        histogram
    })
}

fn user() -> impl Strategy<Value = TracedUser> {
    let text = "(\\PC|[\u{0}-\u{20}\u{7f}\"\\\\]){0,15}";
    let who = (any::<(u32, u32)>(), any::<u32>(), text, option::of(any::<u32>()), option::of(text));
    (who, kind(), any::<u64>(), any::<u64>()).prop_map(
        |((number, tid, comm, pid, cgroup), kind, count, sectors)| TracedUser {
            number,
            tid,
            comm: comm.into(),
            pid,
            cgroup: cgroup.map(Into::into),
            kind,
            count,
            sectors,
        },
    )
}

fn traced() -> impl Strategy<Value = TracedIo> {
    let problem = prop_oneof![
        3 => Just(None),
        1 => Just(Some(TraceProblem::Overhead)),
        1 => Just(Some(TraceProblem::Failed))
    ];
    // The first line holds up to 300 devices.
    let completed = btree_map(any::<(u32, u32)>(), any::<[u64; 4]>(), 0..300);
    let users = option::of(vec(user(), 0..400));
    (any::<u64>(), completed, btree_map(key(), histogram(), 0..4), users, any::<u64>(), problem).prop_map(
        |(elapsed_ns, completed, latencies, users, dropped, problem)| TracedIo {
            elapsed: Duration::from_nanos(elapsed_ns),
            completed,
            latencies,
            users: users.map(FromIterator::from_iter),
            dropped,
            problem,
        },
    )
}

/// Returns a recording with these requests before its samples.
fn written(all: &[Option<TracedIo>]) -> Vec<u8> {
    let mut text = Vec::new();
    write_header(&header("boot", "host"), &mut text);
    for (second, traced) in (1..).zip(all) {
        traced.iter().for_each(|traced| write_traced(traced, &mut text));
        let at = SampleTime {
            monotonic: Some(Duration::from_secs(second)),
            wall: Timestamp::from_second(1_795_198_931 + second as i64).ok(),
            uptime: None,
        };
        let diskstats = format!("8 0 sda {second} 0 8 1 0 0 0 0 0 1 1\n");
        let sample = SampleText {
            at,
            diskstats: diskstats.as_bytes(),
            cpu: b"",
            host: HostState::default(),
            missed_samples: 0,
        };
        write_sample(&sample, &RecordFilter::default(), &TimeZone::UTC, &mut text);
    }
    text
}

fn read(text: &[u8]) -> Vec<Option<TracedIo>> {
    let mut reader = Reader::new(text);
    let (mut previous, mut sample) = (Sample::default(), Sample::default());
    let mut all = Vec::new();
    while reader.next(&previous, &mut sample).unwrap() {
        all.push(sample.traced.take().map(|traced| (*traced).clone()));
        std::mem::swap(&mut previous, &mut sample);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn single_requests_are_read_as_they_were_written(all in vec(option::of(traced()), 1..4)) {
        prop_assert_eq!(read(&written(&all)), all);
    }

    #[test]
    fn a_part_of_a_recording_has_the_single_requests_of_its_samples(
        all in vec(option::of(traced()), 1..4),
        part in 0.0..1.0,
    ) {
        let text = written(&all);
        let end = (text.len() as f64 * part) as usize;
        let found = read(&text[..end]);
        // The last line may lack only its end.
        prop_assert!(found.len() < all.len() || end + 1 == text.len());
        prop_assert_eq!(&found[..], &all[..found.len()]);
        // What was written of the next sample's requests must not be added to it twice when it is appended.
        let mut appended = text[..end].to_vec();
        appended.extend_from_slice(&text);
        let found = read(&appended);
        prop_assert_eq!(&found[found.len() - all.len() + 1..], &all[1..]);
    }
}

#[test]
fn a_map_of_the_kernel_that_is_full_of_threads_is_read_quickly() {
    let user = |tid| TracedUser {
        number: (8, 0),
        tid,
        comm: format!("worker-{tid}").into(),
        pid: Some(tid),
        cgroup: None,
        kind: RequestKind::Write,
        count: 1,
        sectors: 8,
    };
    let users = Some((0..90_000).map(user).collect());
    let all = [Some(TracedIo { users, completed: BTreeMap::new(), ..TracedIo::default() })];
    let start = std::time::Instant::now();
    assert_eq!(read(&written(&all)), all);
    // A few seconds on a busy machine; comparing each thread with all others took minutes.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
