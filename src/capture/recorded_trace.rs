//! Single requests in a recording: those since the sample before, in one or more lines before the sample.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::annotation::Annotation;
use crate::counters::{
    LatencyBucket, LatencyHistogram, LatencyKey, LatencySpan, RequestKind, TraceProblem, TracedIo,
    TracedUser, TracedUsers,
};

/// The most elements (buckets, devices and threads) on a line, because readers limit its length.
const MAX_PART_ELEMENTS: usize = 300;
/// The most elements between two samples that are kept: a hostile recording must not fill the memory.
const MAX_ELEMENTS: usize = 100_000;

/// The requests between two samples, or a part of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RecordedTrace {
    /// The time in which they were completed; 0 in further parts.
    #[serde(skip_serializing_if = "is_zero")]
    elapsed_ns: u64,
    /// Device numbers with reads, writes, discards and flushes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    completed: Vec<[u64; 6]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    latencies: Vec<RecordedLatencies>,
    /// `None` if threads were not traced.
    #[serde(skip_serializing_if = "Option::is_none")]
    users: Option<Vec<RecordedUser>>,
    #[serde(skip_serializing_if = "is_zero")]
    dropped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// A histogram, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RecordedLatencies {
    number: [u32; 2],
    kind: String,
    #[serde(skip_serializing_if = "is_false")]
    is_queued: bool,
    /// The smallest latency, the largest, the number of requests and the sum of their latencies, in nanoseconds.
    buckets: Vec<[u64; 4]>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RecordedUser {
    number: [u32; 2],
    tid: u32,
    comm: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<String>,
    kind: String,
    count: u64,
    sectors: u64,
}

const KINDS: [(&str, RequestKind); 4] = [
    ("read", RequestKind::Read),
    ("write", RequestKind::Write),
    ("discard", RequestKind::Discard),
    ("flush", RequestKind::Flush),
];

const PROBLEMS: [(&str, TraceProblem); 2] =
    [("overhead", TraceProblem::Overhead), ("failed", TraceProblem::Failed)];

fn kind_name(kind: RequestKind) -> String {
    KINDS.iter().find(|(_, known)| *known == kind).map_or_else(String::new, |(name, _)| (*name).to_owned())
}

fn kind_of(name: &str) -> Option<RequestKind> {
    KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Appends the requests since the sample before.
pub fn write_traced(traced: &TracedIo, out: &mut Vec<u8>) {
    let problem = traced.problem.and_then(|problem| PROBLEMS.iter().find(|(_, known)| *known == problem));
    let completed = traced.completed.iter().take(MAX_PART_ELEMENTS);
    let first = RecordedTrace {
        elapsed_ns: u64::try_from(traced.elapsed.as_nanos()).unwrap_or(u64::MAX),
        completed: completed
            .map(|(number, counts)| {
                let [reads, writes, discards, flushes] = *counts;
                [number.0.into(), number.1.into(), reads, writes, discards, flushes]
            })
            .collect(),
        users: traced.users.as_ref().map(|_| Vec::new()),
        dropped: traced.dropped,
        problem: problem.map(|(name, _)| (*name).to_owned()),
        latencies: Vec::new(),
    };
    Annotation::traced(first).write(out);
    for (key, histogram) in &traced.latencies {
        let buckets: Vec<[u64; 4]> = histogram
            .buckets()
            .map(|bucket| [bucket.lower_ns, bucket.upper_ns, bucket.count, bucket.sum_ns])
            .collect();
        for part in buckets.chunks(MAX_PART_ELEMENTS) {
            let latencies = RecordedLatencies {
                number: [key.number.0, key.number.1],
                kind: kind_name(key.kind),
                is_queued: key.span == LatencySpan::Queued,
                buckets: part.to_vec(),
            };
            let part = RecordedTrace { latencies: vec![latencies], ..RecordedTrace::default() };
            Annotation::traced(part).write(out);
        }
    }
    let users = traced.users.iter().flat_map(TracedUsers::as_slice);
    let users: Vec<RecordedUser> = users.map(recorded_user).collect();
    for part in users.chunks(MAX_PART_ELEMENTS / 2) {
        let part = RecordedTrace { users: Some(part.to_vec()), ..RecordedTrace::default() };
        Annotation::traced(part).write(out);
    }
}

fn recorded_user(user: &TracedUser) -> RecordedUser {
    RecordedUser {
        number: [user.number.0, user.number.1],
        tid: user.tid,
        comm: user.comm.to_string(),
        pid: user.pid,
        cgroup: user.cgroup.as_deref().map(str::to_owned),
        kind: kind_name(user.kind),
        count: user.count,
        sectors: user.sectors,
    }
}

impl RecordedTrace {
    /// Adds these requests to others, unless there are too many. `elements` is the number of elements added so far.
    pub(super) fn add_to(self, traced: &mut TracedIo, elements: &mut usize) {
        let buckets: usize = self.latencies.iter().map(|latencies| latencies.buckets.len()).sum();
        *elements += buckets + self.completed.len() + self.users.as_ref().map_or(0, Vec::len);
        if *elements > MAX_ELEMENTS {
            return;
        }
        let part = TracedIo {
            elapsed: Duration::from_nanos(self.elapsed_ns),
            completed: self.completed.iter().filter_map(completed).collect(),
            latencies: latencies(&self.latencies),
            users: self.users.map(|users| users.iter().filter_map(user).collect()),
            dropped: self.dropped,
            problem: self.problem.and_then(|name| {
                PROBLEMS.iter().find(|(known, _)| *known == name).map(|(_, problem)| *problem)
            }),
        };
        traced.extend(&part);
    }
}

fn completed(fields: &[u64; 6]) -> Option<((u32, u32), [u64; 4])> {
    let [major, minor, reads, writes, discards, flushes] = *fields;
    Some(((u32::try_from(major).ok()?, u32::try_from(minor).ok()?), [reads, writes, discards, flushes]))
}

fn latencies(recorded: &[RecordedLatencies]) -> BTreeMap<LatencyKey, LatencyHistogram> {
    let mut latencies: BTreeMap<LatencyKey, LatencyHistogram> = BTreeMap::new();
    for part in recorded {
        let Some(kind) = kind_of(&part.kind) else { continue };
        let span = if part.is_queued { LatencySpan::Queued } else { LatencySpan::Device };
        let key = LatencyKey { number: (part.number[0], part.number[1]), kind, span };
        let histogram = latencies.entry(key).or_default();
        for [lower_ns, upper_ns, count, sum_ns] in part.buckets.iter().copied() {
            histogram.add(LatencyBucket { lower_ns, upper_ns, count, sum_ns });
        }
    }
    latencies.retain(|_, histogram| histogram.buckets().next().is_some());
    latencies
}

fn user(recorded: &RecordedUser) -> Option<TracedUser> {
    Some(TracedUser {
        number: (recorded.number[0], recorded.number[1]),
        tid: recorded.tid,
        comm: recorded.comm.as_str().into(),
        pid: recorded.pid,
        cgroup: recorded.cgroup.as_deref().map(Arc::from),
        kind: kind_of(&recorded.kind)?,
        count: recorded.count,
        sectors: recorded.sectors,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced() -> TracedIo {
        let mut histogram = LatencyHistogram::default();
        for at in 0..1000 {
            let lower_ns = at * 200;
            histogram.add(LatencyBucket {
                lower_ns,
                upper_ns: lower_ns + 199,
                count: 2,
                sum_ns: 2 * lower_ns + 9,
            });
        }
        let key = |span| LatencyKey { number: (259, 0), kind: RequestKind::Write, span };
        let user = TracedUser {
            number: (259, 0),
            tid: 7,
            comm: "a\u{1b}\"".into(),
            pid: Some(6),
            cgroup: Some("/b".into()),
            kind: RequestKind::Read,
            count: 3,
            sectors: 24,
        };
        TracedIo {
            elapsed: Duration::from_millis(1001),
            completed: BTreeMap::from([((259, 0), [1, 2, 3, 4])]),
            latencies: BTreeMap::from([
                (key(LatencySpan::Device), histogram.clone()),
                (key(LatencySpan::Queued), histogram),
            ]),
            users: Some([user].into_iter().collect()),
            dropped: 5,
            problem: Some(TraceProblem::Overhead),
        }
    }

    fn read(text: &[u8]) -> TracedIo {
        let (mut read, mut elements) = (TracedIo::default(), 0);
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            assert!(line.len() < 32 * 1024, "{}", line.len());
            let Some(Ok(mut annotation)) = Annotation::parse_line(line) else { panic!("{line:?}") };
            annotation.take_traced().unwrap().add_to(&mut read, &mut elements);
        }
        read
    }

    #[test]
    fn requests_are_the_same_after_reading() {
        let mut text = Vec::new();
        write_traced(&traced(), &mut text);
        assert_eq!(read(&text), traced());
        // The requests of a dropped sample are added to those of the next one.
        write_traced(&traced(), &mut text);
        let both = read(&text);
        assert_eq!((both.dropped, both.elapsed), (10, Duration::from_millis(2002)));
        // An empty list of threads differs from threads that were not traced.
        for users in [None, Some(TracedUsers::default())] {
            let mut text = Vec::new();
            let none = TracedIo { users, ..TracedIo::default() };
            write_traced(&none, &mut text);
            assert_eq!(read(&text), none);
        }
    }

    #[test]
    fn a_hostile_recording_is_bounded() {
        let mut text = Vec::new();
        write_traced(&traced(), &mut text);
        let many = read(&text.repeat(MAX_ELEMENTS / 1000));
        assert!(many.dropped < 5 * (MAX_ELEMENTS as u64 / 1000));
    }
}
