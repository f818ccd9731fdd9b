//! The CPU time that tracing takes, as measured on this computer, the requests that devices completed, and the pauses while
//! tracing them all would take too much.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::trace_dir::{Owner, TraceDir, remove_instance};
use crate::capture::parse_diskstats;
use crate::clock::thread_cpu_time;
use crate::counters::{DeviceNumber, LatencyHistogram, LatencyKey, RequestKind, Sample, TracedIo};
use crate::source::small_file::read_bytes_into;
use crate::topology::partition_parents;

/// The time for which tracing must be cheap enough before it is resumed.
const RESUME_AFTER: Duration = Duration::from_secs(3);
/// The part of the permitted cost below which tracing is resumed.
const RESUME_FRACTION: f64 = 0.7;

/// The cost of tracing and its limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    /// The CPU time in seconds that tracing a request takes.
    pub(super) cost_s: f64,
    pub(super) cpus: usize,
    /// The most CPU time that tracing may take, as a fraction of that of all CPUs.
    pub(super) max_fraction: f64,
    pub(super) is_paused: bool,
    cheap_since: Option<Duration>,
}

impl Guard {
    pub(super) fn new(cost_s: f64, cpus: usize, max_fraction: f64) -> Self {
        Self { cost_s, cpus: cpus.max(1), max_fraction, is_paused: false, cheap_since: None }
    }

    /// Decides at a monotonic time whether tracing is paused, based on the requests per second of all devices.
    pub(super) fn decide(&mut self, now: Duration, requests_per_s: f64) {
        let fraction = requests_per_s * self.cost_s / self.cpus as f64;
        if !self.is_paused {
            // The cost is an estimate: a user who permits all CPU time wants no limit.
            self.is_paused = fraction > self.max_fraction && self.max_fraction < 1.0;
            self.cheap_since = None;
        } else if fraction > self.max_fraction * RESUME_FRACTION {
            self.cheap_since = None;
        } else {
            let since = *self.cheap_since.get_or_insert(now);
            self.is_paused = now.saturating_sub(since) < RESUME_AFTER;
        }
    }
}

/// The histograms that are measured together, by their keys.
const HISTOGRAMS: [&str; 4] = ["ip", "common_pid", "ip,common_pid", "common_pid,ip"];
/// The number of events in an attempt, so few that it is seldom interrupted, and the number of attempts in a
/// measurement.
const EVENTS: u32 = 25;
const TRIES: u32 = 16;
/// The lowest result in seconds: no CPU of today looks up and counts an event faster. On a busy host, the measurement
/// without histograms may take longer than the one with them, and a cost of zero would permit any rate.
const MIN_COST_S: f64 = 50e-9;

/// Returns the CPU time in seconds that a histogram takes to count an event; at least [`MIN_COST_S`].
///
/// # Errors
/// If the kernel refuses it.
pub(super) fn histogram_cost_s(dir: &TraceDir, owner: &Owner) -> Result<f64> {
    let name = owner.name("c");
    dir.make_instance(&name)?;
    let cost = measure(dir, &name);
    remove_instance(dir, &name)?;
    cost
}

fn measure(dir: &TraceDir, name: &str) -> Result<f64> {
    let [marker, trigger] =
        ["trace_marker", "events/ftrace/print/trigger"].map(|file| format!("instances/{name}/{file}"));
    // The best of several attempts: an interrupt or another program can only add time.
    let seconds = || -> Result<f64> {
        let mut best = f64::MAX;
        for _ in 0..TRIES {
            let begin = thread_cpu_time();
            (0..EVENTS).try_for_each(|_| dir.write(&marker, "x"))?;
            best = best.min(thread_cpu_time().saturating_sub(begin).as_secs_f64());
        }
        Ok(best / f64::from(EVENTS))
    };
    let without = seconds()?;
    for keys in HISTOGRAMS {
        dir.write(&trigger, &format!("hist:keys={keys}:size=256"))?;
    }
    Ok(((seconds()? - without) / HISTOGRAMS.len() as f64).max(MIN_COST_S))
}

/// The completed requests of each device: reads, writes and discards.
type Completed = BTreeMap<DeviceNumber, [u64; 3]>;

/// Returns the completed requests that can be matched, from those of the counters, which also count flushes. The kernel
/// counts a bio that only flushes as a write, and the flush itself in addition; so for each flush, a write that was not
/// traced is left out.
pub(super) fn without_empty_flushes(
    counters: &BTreeMap<DeviceNumber, [u64; 4]>,
    latencies: &BTreeMap<LatencyKey, LatencyHistogram>,
) -> Completed {
    let matchable = |(number, counts): (&DeviceNumber, &[u64; 4])| {
        let [reads, writes, discards, flushes] = *counts;
        let key = LatencyKey { number: *number, kind: RequestKind::Write };
        let traced = latencies.get(&key).map_or(0, LatencyHistogram::count);
        let counts = [reads, writes - writes.saturating_sub(traced).min(flushes), discards];
        (counts != [0; 3]).then_some((*number, counts))
    };
    counters.iter().filter_map(matchable).collect()
}

/// Requests that were completed after a device's counters were read but before the histograms were, so that they belong
/// to the next reading of the counters.
#[derive(Default)]
pub(super) struct Surplus {
    /// By device and kind of request.
    ahead: Completed,
}

impl Surplus {
    /// Counts the traced requests as completed, and makes sure that those not yet in the counters are not counted again
    /// later.
    pub(super) fn settle(&mut self, counted: &mut TracedIo) {
        let mut traced = Completed::new();
        for (key, histogram) in &counted.latencies {
            let counts = traced.entry(key.number).or_default();
            let kinds = counts.iter_mut().zip(RequestKind::ALL);
            kinds.filter(|(_, kind)| *kind == key.kind).for_each(|(count, _)| *count += histogram.count());
        }
        let numbers = counted.completed.keys().chain(traced.keys()).copied().collect::<BTreeSet<_>>();
        for number in numbers {
            let completed = counted.completed.entry(number).or_default();
            let ahead = self.ahead.entry(number).or_default();
            let traced = traced.get(&number).copied().unwrap_or_default();
            for ((completed, ahead), traced) in completed.iter_mut().zip(ahead).zip(traced) {
                let known = (*completed).min(*ahead);
                *completed -= known;
                *ahead = *ahead - known + traced.saturating_sub(*completed);
                *completed = (*completed).max(traced);
            }
        }
        counted.completed.retain(|_, counts| *counts != [0; 3]);
    }
}

/// The CPU time that the histograms between two tracepoints take per request, as a multiple of that of a plain
/// histogram for an event: two add an entry each, and one out of several with filters counts the latency. On an
/// emulated computer a request took 24 to 139 µs longer (Linux 6.1 and 6.12, five runs), and a plain histogram 1.06 µs.
/// The median is a little below this.
pub(super) const PAIR_WEIGHT: f64 = 60.0;

/// The rate of the requests that whole devices complete.
#[derive(Default)]
pub(super) struct RequestRate {
    /// The devices and partitions whose requests are traced; all if empty.
    pub(super) selected: Vec<DeviceNumber>,
    /// The requests of all traced devices, including those that devices pass on to each other.
    pub(super) requests: u64,
    /// The requests of the other devices.
    pub(super) others: u64,
    /// The requests per second that are traced, plus those of the other devices, weighted by their cost.
    pub(super) per_s: f64,
    pub(super) at: Option<Duration>,
    /// The counters of each device at the last reading: reads, writes, discards and flushes.
    pub(super) by_device: BTreeMap<DeviceNumber, [u64; 4]>,
    pub(super) text: Vec<u8>,
    pub(super) sample: Sample,
}

impl RequestRate {
    /// The time in seconds over which the rate is averaged.
    const SMOOTHING_S: f64 = 0.5;
    /// The cost of a request of another device, as a fraction of that of one that is traced: the kernel checks the
    /// filters at two tracepoints, which takes no longer than two plain histograms.
    const OTHERS_COST: f64 = 2.0 / PAIR_WEIGHT;

    pub(super) fn observe(&mut self, root: &Path, now: Duration) {
        if read_bytes_into(&root.join("proc/diskstats"), &mut self.text).is_err() {
            return;
        }
        parse_diskstats(&self.text, &mut self.sample, |_, _| {});
        let [requests, others] = self.completed_requests();
        if let Some(at) = self.at.replace(now) {
            let seconds = now.saturating_sub(at).as_secs_f64();
            // When a device disappears, the sum decreases by its requests.
            let others = others.saturating_sub(self.others) as f64 * Self::OTHERS_COST;
            let passed = requests.saturating_sub(self.requests) as f64 + others;
            if seconds > 0.0 {
                let share = (seconds / Self::SMOOTHING_S).min(1.0);
                self.per_s += (passed / seconds - self.per_s) * share;
            }
        }
        (self.requests, self.others) = (requests, others);
    }

    /// Returns the number of requests that all traced devices have completed, and the number of those of the other
    /// devices.
    pub(super) fn completed_requests(&self) -> [u64; 2] {
        let devices = &self.sample.devices;
        let parents = partition_parents(devices);
        let mut is_traced = vec![self.selected.is_empty(); devices.len()];
        for (at, device) in devices.iter().enumerate() {
            if self.selected.contains(&(device.major, device.minor)) {
                is_traced[parents[at].unwrap_or(at)] = true;
            }
        }
        let mut sums = [0_u64; 2];
        for ((device, parent), is_traced) in devices.iter().zip(parents).zip(is_traced) {
            if parent.is_none() {
                let sum = &mut sums[usize::from(!is_traced)];
                *sum = device.counters.completed().into_iter().fold(*sum, u64::wrapping_add);
            }
        }
        sums
    }

    /// Returns the requests of each device since the last call, up to the last [`Self::observe`]: reads, writes, discards
    /// and flushes.
    pub(super) fn take_completed(&mut self) -> BTreeMap<DeviceNumber, [u64; 4]> {
        let devices = &self.sample.devices;
        let whole = devices.iter().zip(partition_parents(devices)).filter(|(_, parent)| parent.is_none());
        let now: BTreeMap<DeviceNumber, [u64; 4]> =
            whole.map(|(device, _)| ((device.major, device.minor), device.counters.completed())).collect();
        let before = std::mem::replace(&mut self.by_device, now);
        let growth = self.by_device.iter().filter_map(|(number, now)| {
            // A new device, or one whose counters were reset, has completed all of its requests since the last call.
            let before = before.get(number).copied().unwrap_or_default();
            let is_reset = now.iter().zip(before).any(|(now, before)| *now < before);
            let before = if is_reset { [0; 4] } else { before };
            let growth = std::array::from_fn(|kind| now[kind] - before[kind]);
            (growth != [0; 4]).then_some((*number, growth))
        });
        growth.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracing_pauses_above_the_limit_and_resumes_after_a_time_well_below_it() {
        // 10 µs per request on two CPUs: 2% are 4000 requests per second.
        let mut guard = Guard::new(10e-6, 2, 0.02);
        let mut is_paused = |second: f64, rate: f64| {
            guard.decide(Duration::from_secs_f64(second), rate);
            guard.is_paused
        };
        assert_eq!([is_paused(0.0, 3990.0), is_paused(1.0, 4010.0)], [false, true]);
        // Not low enough, then low for too short a time.
        assert_eq!([is_paused(2.0, 3500.0), is_paused(3.0, 2000.0), is_paused(5.9, 2000.0)], [true; 3]);
        assert_eq!([is_paused(6.0, 3500.0), is_paused(7.0, 100.0)], [true; 2]);
        assert_eq!([is_paused(10.0, 100.0), is_paused(11.0, 100.0)], [false; 2]);
        let mut without_limit = Guard::new(10e-6, 2, 1.0);
        without_limit.decide(Duration::ZERO, 1e6);
        assert!(!without_limit.is_paused);
    }
}

#[cfg(test)]
mod completed_tests {
    use super::*;
    use crate::counters::LatencyBucket;

    const DISK: DeviceNumber = (8, 0);

    /// Returns the counts of completed writes and of traced latencies of writes.
    fn counted(completed: u64, traced: u64) -> TracedIo {
        let mut histogram = LatencyHistogram::default();
        histogram.add(LatencyBucket { lower_ns: 0, upper_ns: 9, count: traced, sum_ns: traced });
        let key = LatencyKey { number: DISK, kind: RequestKind::Write };
        TracedIo {
            completed: BTreeMap::from([(DISK, [0, completed, 0])]),
            latencies: BTreeMap::from([(key, histogram)]),
            ..TracedIo::default()
        }
    }

    fn writes(counted: &TracedIo) -> Option<u64> {
        counted.completed.get(&DISK).map(|counts| counts[1])
    }

    #[test]
    fn a_bio_that_only_flushes_is_no_write_to_be_matched() {
        let left = |completed: u64, flushes: u64, traced: u64| {
            let counters = BTreeMap::from([(DISK, [0, completed, 0, flushes])]);
            let latencies = counted(0, traced).latencies;
            without_empty_flushes(&counters, &latencies).get(&DISK).map(|counts| counts[1])
        };
        // 150 writes with a flush after each: 300 writes to the kernel.
        assert_eq!(left(300, 150, 150), Some(150));
        // A write that is not matched, and writes that flush themselves.
        assert_eq!([left(22, 10, 11), left(20, 10, 20)], [Some(12), Some(20)]);
        assert_eq!(left(5, 5, 0), None);
    }

    #[test]
    fn a_request_that_was_completed_between_two_readings_counts_once() {
        let mut surplus = Surplus::default();
        let mut settled = |completed: u64, traced: u64| {
            let mut counted = counted(completed, traced);
            surplus.settle(&mut counted);
            writes(&counted)
        };
        // Two requests are in the counters only next time, and one was not traced at all.
        assert_eq!([settled(10, 12), settled(10, 7), settled(0, 0)], [Some(12), Some(8), None]);
        assert_eq!([settled(0, 5), settled(3, 0), settled(3, 1)], [Some(5), None, Some(1)]);
    }
}
