//! The history of single requests: their latencies on each device, and the threads that submitted them.

use std::cmp::Reverse;

use crate::counters::{LatencyBucket, LatencyHistogram, LatencySpan, RequestKind};
use crate::intervals::series::{LatencyCounts, Merge, Series};
use crate::intervals::traced::{TracedDevice, TracedThread};
use crate::metrics::LatencyStats;

/// The most buckets of a point: the error of a percentile is then 7% if latencies span six powers of ten, and less than
/// that of the kernel's buckets if they span one.
const MAX_BUCKETS: usize = 200;
/// Buckets that start below this count as if they started there when neighbors are compared, in nanoseconds.
const MIN_COMPARED_NS: u64 = 1000;
/// The most threads of a device that are followed; the I/O of the others is added up.
const MAX_THREADS: usize = 24;

/// The latencies of the single requests of a point: the kernel's buckets, or fewer of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointLatencies {
    /// The buckets, the fastest first.
    buckets: Vec<LatencyBucket>,
}

impl PointLatencies {
    /// Returns the percentiles; `None` without requests.
    pub fn stats(&self) -> Option<LatencyStats> {
        LatencyStats::of(&self.histogram())
    }

    /// Adds the requests, each with the mean latency of its bucket.
    pub fn add_to(&self, counts: &mut LatencyCounts) {
        for bucket in &self.buckets {
            counts.observe(bucket.mean_ns() as f64 / 1e6, bucket.count as f64);
        }
    }

    fn histogram(&self) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::default();
        self.buckets.iter().for_each(|bucket| histogram.add(*bucket));
        histogram
    }

    fn add(&mut self, added: impl Iterator<Item = LatencyBucket>) {
        let mut histogram = self.histogram();
        added.for_each(|bucket| histogram.add(bucket));
        self.buckets = histogram.buckets().copied().collect();
        let mut width = 0.01;
        while self.buckets.len() > MAX_BUCKETS {
            self.join_neighbors(1.0 + width);
            width *= 1.5;
        }
        self.buckets.shrink_to_fit();
    }

    /// Joins neighbors whose bounds differ by less than this factor. The slowest bucket remains: it has the maximum.
    fn join_neighbors(&mut self, factor: f64) {
        let last = self.buckets.len().saturating_sub(1);
        let mut joined: Vec<LatencyBucket> = Vec::with_capacity(self.buckets.len());
        for (at, bucket) in self.buckets.drain(..).enumerate() {
            match joined.last_mut() {
                Some(before)
                    if at < last
                        && bucket.upper_ns as f64 <= before.lower_ns.max(MIN_COMPARED_NS) as f64 * factor =>
                {
                    before.upper_ns = before.upper_ns.max(bucket.upper_ns);
                    before.count = before.count.saturating_add(bucket.count);
                    before.sum_ns = before.sum_ns.saturating_add(bucket.sum_ns);
                }
                _ => joined.push(bucket),
            }
        }
        self.buckets = joined;
    }
}

impl Merge for PointLatencies {
    fn merge(&mut self, later: Self) {
        if self.buckets.is_empty() {
            *self = later;
        } else {
            self.add(later.buckets.into_iter());
        }
    }
}

/// The single requests of a device: their latencies from the time at which the driver got them to their completion.
#[derive(Clone, Debug, Default)]
pub struct RequestHistory {
    latencies: [Series<PointLatencies>; RequestKind::ALL.len()],
    traced: [u64; RequestKind::ALL.len()],
    completed: [u64; RequestKind::ALL.len()],
}

impl RequestHistory {
    /// The latencies of a kind of request in each point; empty if none were traced.
    pub fn latencies(&self, kind: RequestKind) -> &[PointLatencies] {
        self.latencies[index(kind)].values()
    }

    /// The requests of a kind whose latencies are known.
    pub fn traced(&self, kind: RequestKind) -> u64 {
        self.traced[index(kind)]
    }

    /// The requests of a kind that the device completed while it was traced, by its counters.
    pub fn completed(&self, kind: RequestKind) -> u64 {
        self.completed[index(kind)]
    }

    pub(super) fn observe(&mut self, device: &TracedDevice, point: usize) {
        for (at, kind) in RequestKind::ALL.into_iter().enumerate() {
            self.completed[at] = self.completed[at].saturating_add(device.completed_of(kind));
            if let Some(histogram) = device.histogram(kind, LatencySpan::Device) {
                self.traced[at] = self.traced[at].saturating_add(histogram.count());
                self.latencies[at].at(point).add(histogram.buckets().copied());
            }
        }
    }

    pub(super) fn merge(&mut self, merged: &[usize]) {
        self.latencies.iter_mut().for_each(|series| series.merge(merged));
    }
}

fn index(kind: RequestKind) -> usize {
    RequestKind::ALL.iter().position(|other| *other == kind).unwrap_or(0)
}

/// The I/O that threads submitted to a device, or to a partition.
#[derive(Clone, Debug)]
pub struct ThreadHistory {
    threads: Vec<TracedThread>,
    others: TracedThread,
}

impl ThreadHistory {
    pub(super) fn new(device: &str) -> Self {
        let others = TracedThread { device: device.to_owned(), ..TracedThread::default() };
        Self { threads: Vec::new(), others }
    }

    /// The kernel's name of the device, or of the partition.
    pub fn device(&self) -> &str {
        &self.others.device
    }

    /// The threads with the most bytes, in descending order.
    pub fn threads(&self) -> &[TracedThread] {
        &self.threads
    }

    /// The I/O of all threads that are not followed.
    pub fn others(&self) -> &TracedThread {
        &self.others
    }

    pub(super) fn observe(&mut self, thread: &TracedThread) {
        let is_same = |own: &TracedThread| own.tid == thread.tid && own.comm == thread.comm;
        match self.threads.iter_mut().find(|own| is_same(own)) {
            Some(own) => own.add(thread),
            None => self.threads.push(thread.clone()),
        }
        if self.threads.len() > 2 * MAX_THREADS {
            self.sort();
            self.threads.drain(MAX_THREADS..).for_each(|thread| self.others.add(&thread));
        }
    }

    pub(super) fn sort(&mut self) {
        self.threads.sort_by_key(|thread| Reverse(thread.bytes()));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn bucket(lower_ns: u64, count: u64) -> LatencyBucket {
        LatencyBucket { lower_ns, upper_ns: lower_ns + 199, count, sum_ns: count * (lower_ns + 100) }
    }

    fn latencies(buckets: impl Iterator<Item = LatencyBucket>) -> PointLatencies {
        let mut latencies = PointLatencies::default();
        latencies.add(buckets);
        latencies
    }

    #[test]
    fn merged_points_have_the_percentiles_of_all_requests() {
        let mut fast = latencies([bucket(100_000, 990)].into_iter());
        let slow = latencies([bucket(900_000_000, 10)].into_iter());
        fast.merge(slow);
        let stats = fast.stats().unwrap();
        assert_eq!((stats.count, stats.percentiles_ms[0]), (1000, 0.1001));
        // The mean of the p99 of both would be 450 ms.
        assert_eq!((stats.percentiles_ms[2], stats.percentiles_ms[3]), (0.1001, 900.0001));
    }

    #[test]
    fn a_point_is_small_and_its_percentiles_are_near() {
        // From 10 µs to 10 s, in steps of 0.2%.
        let lowers = std::iter::successors(Some(10_000.0), |ns| Some(ns * 1.002));
        let all: Vec<LatencyBucket> =
            lowers.take_while(|ns| *ns < 1e10).map(|ns| bucket(ns as u64, 7)).collect();
        let mut exact = LatencyHistogram::default();
        all.iter().for_each(|bucket| exact.add(*bucket));
        let mut point = PointLatencies::default();
        for part in all.chunks(100) {
            point.merge(latencies(part.iter().copied()));
        }
        assert!(point.buckets.len() <= MAX_BUCKETS, "{}", point.buckets.len());
        let (exact, found) = (LatencyStats::of(&exact).unwrap(), point.stats().unwrap());
        assert_eq!((found.count, found.max_ms), (exact.count, exact.max_ms));
        assert!((found.mean_ms / exact.mean_ms - 1.0).abs() < 1e-9);
        for (found, exact) in found.percentiles_ms.iter().zip(exact.percentiles_ms) {
            assert!((found / exact - 1.0).abs() < 0.1, "{found} instead of {exact}");
        }
        // Nothing is lost if there are few.
        let few: Vec<LatencyBucket> = all.into_iter().take(MAX_BUCKETS).collect();
        assert_eq!(latencies(few.iter().copied()).buckets, few);
    }

    #[test]
    fn a_device_counts_requests_that_were_not_matched() {
        let mut histogram = LatencyHistogram::default();
        histogram.add(bucket(1000, 3));
        let key = (RequestKind::Write, LatencySpan::Device);
        let device = TracedDevice {
            completed: [0, 4, 0, 1],
            latencies: BTreeMap::from([(key, histogram)]),
            ..TracedDevice::default()
        };
        let mut history = RequestHistory::default();
        history.observe(&device, 2);
        history.observe(&device, 3);
        history.merge(&[0, 0, 1, 1]);
        let points = history.latencies(RequestKind::Write);
        let counts: Vec<u64> =
            points.iter().map(|point| point.stats().map_or(0, |stats| stats.count)).collect();
        assert_eq!(counts, [0, 6]);
        assert_eq!((history.traced(RequestKind::Write), history.completed(RequestKind::Write)), (6, 8));
        assert_eq!((history.traced(RequestKind::Flush), history.completed(RequestKind::Flush)), (0, 2));
        assert!(history.latencies(RequestKind::Read).is_empty());
    }

    #[test]
    fn the_threads_with_the_most_bytes_remain_and_no_byte_is_lost() {
        let mut history = ThreadHistory::new("sda");
        for _ in 0..2 {
            for tid in 0..200 {
                let thread =
                    TracedThread { tid, reads: 1, read_bytes: u64::from(tid), ..TracedThread::default() };
                history.observe(&thread);
            }
        }
        history.sort();
        assert_eq!(history.threads()[0].tid, 199);
        assert!(history.threads().len() <= 2 * MAX_THREADS);
        let all: u64 = history.threads().iter().chain([history.others()]).map(TracedThread::bytes).sum();
        let reads: u64 = history.threads().iter().chain([history.others()]).map(|thread| thread.reads).sum();
        assert_eq!((all, reads), (2 * 19_900, 400));
    }
}
