//! The values of a device since the start.

use crate::attribution::{Limit, LimitSource};
use crate::intervals::DeviceInterval;
use crate::judge::{BaselineSource, Judged, RateUnit};
use crate::metrics::Completed;

/// The upper bounds of the buckets of latency, in milliseconds: about three per factor of ten, from an NVMe disk at
/// work (0.1 ms) to a hard disk with a long queue (100 ms). Above a second, a device is hardly usable. There are few
/// buckets, because each becomes a time series for every device of every host.
pub const LATENCY_BOUNDS_MS: [f64; 8] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0];

/// The upper bounds of the buckets of the queue: up to one request at a time, the depth of a busy disk, that of its
/// hardware queue (32 for SATA), and more than most devices accept at once.
pub const QUEUE_BOUNDS: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 256.0];

/// The values of a device since the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceTotals {
    pub sum: Judged,
    /// Seconds in intervals in which requests were in flight and none completed.
    pub stalled_s: f64,
    /// The requests whose times the kernel gives, those of each interval in the bucket of their mean latency. The sums are
    /// in milliseconds.
    pub reads: Buckets<{ LATENCY_BOUNDS_MS.len() }>,
    pub writes: Buckets<{ LATENCY_BOUNDS_MS.len() }>,
    pub discards: Buckets<{ LATENCY_BOUNDS_MS.len() }>,
    /// The mean queue of each interval.
    pub queue: Buckets<{ QUEUE_BOUNDS.len() }>,
    /// The unloaded latency in milliseconds that the latest reads and the latest writes were compared with, and its origin;
    /// `None` before the first.
    pub unloaded: [Option<(f64, BaselineSource)>; 2],
    /// The limits of requests and of bytes that it reached last; `None` before it reached any.
    pub(super) reached_limits: [Option<Limit>; 2],
}

impl DeviceTotals {
    /// Adds an interval of this length.
    pub(super) fn observe(&mut self, device: &DeviceInterval, elapsed_s: f64) {
        let Some(activity) = device.activity() else {
            self.sum.times.add(device.verdict(), elapsed_s);
            return;
        };
        let judged = &activity.judged;
        let interval = &judged.interval;
        self.sum += judged;
        if interval.is_stalled() {
            self.stalled_s += interval.seconds();
        }
        self.reads.add_requests(&interval.reads);
        self.writes.add_requests(&interval.writes);
        self.discards.add_requests(&interval.discards);
        if let Some(queue) = interval.queue() {
            self.queue.add(&QUEUE_BOUNDS, queue, 1, queue);
        }
        let requests = [&interval.reads, &interval.writes];
        for (index, unloaded) in self.unloaded.iter_mut().enumerate() {
            let compared = judged.compared[index];
            if let (Some(await_ms), Some(source)) = (
                requests[index].await_ms(),
                judged.assessment().baseline_source,
            ) && compared.unloaded_ms > 0.0
            {
                *unloaded = Some((await_ms * compared.unloaded_ms / compared.taken_ms, source));
            }
        }
        // A limit that the user states is known anyway.
        if let Some(limit) = device
            .reached_limits()
            .find(|limit| limit.source != LimitSource::Given)
        {
            let index = usize::from(limit.unit == RateUnit::Kib);
            self.reached_limits[index] = Some(limit);
        }
    }
}

/// A histogram with fixed buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buckets<const N: usize> {
    /// Observations at or below each bound and above the bound before.
    pub within: [u64; N],
    /// All observations.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
}

impl<const N: usize> Default for Buckets<N> {
    fn default() -> Self {
        Self {
            within: [0; N],
            count: 0,
            sum: 0.0,
        }
    }
}

impl<const N: usize> Buckets<N> {
    /// Adds `count` observations that are put into the bucket of `value`; `sum` is theirs, exact.
    fn add(&mut self, bounds: &[f64; N], value: f64, count: u64, sum: f64) {
        if let Some(bucket) = bounds.iter().position(|bound| value <= *bound) {
            self.within[bucket] = self.within[bucket].saturating_add(count);
        }
        self.count = self.count.saturating_add(count);
        self.sum += sum;
    }
}

impl Buckets<{ LATENCY_BOUNDS_MS.len() }> {
    fn add_requests(&mut self, completed: &Completed) {
        if let Some(await_ms) = completed.await_ms() {
            self.add(
                &LATENCY_BOUNDS_MS,
                await_ms,
                completed.timed_ios as u64,
                completed.time.sum,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{DeviceActivity, DeviceState};
    use crate::judge::{Assessment, Compared, Verdict};
    use crate::metrics::{Amount, Interval};

    fn interval(state: DeviceState) -> DeviceInterval {
        DeviceInterval::without_alias("sda", state)
    }

    fn active(stats: Interval, assessment: Assessment) -> DeviceInterval {
        let activity = DeviceActivity::example(stats, assessment);
        interval(DeviceState::Active(Box::new(activity)))
    }

    #[test]
    fn every_second_has_a_verdict_or_none() {
        let mut totals = DeviceTotals::default();
        let stats = Interval::unknown(2.0);
        let capped = Assessment {
            verdict: Some(Verdict::Capped),
            ..Assessment::default()
        };
        totals.observe(&active(stats, capped), 2.0);
        totals.observe(&active(stats, Assessment::default()), 2.0);
        totals.observe(
            &interval(DeviceState::AccountingOff(Box::new(Judged::of(
                &stats, None,
            )))),
            2.0,
        );
        totals.observe(&interval(DeviceState::Reset), 2.0);
        let times = totals.sum.times;
        let seconds: Vec<(Option<Verdict>, f64)> =
            times.iter().filter(|(_, seconds)| *seconds > 0.0).collect();
        let expected = [
            (Some(Verdict::Capped), 2.0),
            (Some(Verdict::AccountingOff), 2.0),
            (None, 4.0),
        ];
        assert_eq!(seconds, expected);
    }

    #[test]
    fn intervals_without_completions_are_stalled() {
        let mut totals = DeviceTotals::default();
        let stalled = Interval::unknown(1.5).with_in_flight(3);
        totals.observe(&active(stalled, Assessment::default()), 1.5);
        totals.observe(
            &active(
                Interval {
                    reads: Completed::example(1.5, 1, 1.0),
                    ..stalled
                },
                Assessment::default(),
            ),
            1.5,
        );
        assert_eq!(totals.stalled_s, 1.5);
    }

    #[test]
    fn saturation_over_any_time_follows_from_two_sums() {
        let mut totals = DeviceTotals::default();
        let mut observe = |ios, await_ms, saturation| {
            let reads = Completed::example(1.0, ios, await_ms);
            let assessment = Assessment {
                read_saturation: saturation,
                baseline_source: Some(BaselineSource::Learned),
                ..Assessment::default()
            };
            let stats = Interval {
                reads,
                ..Interval::unknown(1.0).with_queue(2.0)
            };
            totals.observe(&active(stats, assessment), 1.0);
        };
        observe(100, 4.0, Some(8.0));
        observe(300, 1.0, Some(2.0));
        observe(500, 9.0, None);
        let [reads, writes, _] = totals.sum.compared;
        assert_eq!((reads.taken_ms, reads.unloaded_ms), (700.0, 200.0));
        assert_eq!(writes, Compared::default());
        assert_eq!(
            totals.unloaded,
            [Some((0.5, BaselineSource::Learned)), None]
        );
        assert_eq!(
            (totals.queue.count, totals.queue.sum, totals.reads.sum),
            (3, 6.0, 5200.0)
        );
    }

    #[test]
    fn a_value_on_a_bound_belongs_to_its_bucket() {
        let mut counts = Buckets::default();
        for value in [0.0, 1.0, 1.1, 300.0] {
            counts.add(&QUEUE_BOUNDS, value, 2, 2.0 * value);
        }
        assert_eq!((counts.within, counts.count), ([4, 2, 0, 0, 0], 8));
    }

    #[test]
    fn sum_and_count_are_exact() {
        let mut requests = Buckets::default();
        let (mut ios, mut ms) = (0, 0);
        for n in 1..1000_u64 {
            let of_interval = n * 7 % 113;
            let completed = Completed {
                ios: Amount {
                    ns: 1,
                    sum: n as f64,
                },
                ..Completed::default()
            };
            requests.add_requests(&completed.with_time(Some(of_interval as f64)));
            (ios, ms) = (ios + n, ms + of_interval);
        }
        assert_eq!((requests.count, requests.sum), (ios, ms as f64));
        requests.add_requests(&Completed::example(1.0, 0, 0.0));
        assert_eq!(requests.count, ios);
    }
}
