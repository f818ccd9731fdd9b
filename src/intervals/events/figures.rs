//! Sums and peaks over the intervals of an event.

use std::sync::Arc;

use super::event::{EventRate, PeakLatency};
use crate::analysis::{IoDirection, RateUnit, TroubleSpan};
use crate::intervals::{DeviceActivity, TopCgroup};
use crate::metrics::{Completed, Interval};

/// The fraction of the queue that a direction must have for its latency to be that of the event: rare requests of
/// another kind may take long without any client waiting for them.
const MIN_QUEUE_FRACTION: f64 = 0.1;

/// The most cgroups whose bytes are added up.
const MAX_CGROUPS: usize = 8;

/// The numbers of one interval, and of several added up.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) seconds: f64,
    /// The number of completed reads and writes, and their KiB below.
    ios: [f64; 2],
    kib: [f64; 2],
    flushes: f64,
    /// The milliseconds that reads, writes and flushes took.
    ms: [f64; 3],
    queue_s: f64,
    has_queue: bool,
    peak_queue: f64,
    peak_latency: Option<PeakLatency>,
    /// The bytes of each cgroup in percent of the device's, multiplied by the seconds.
    cgroups: Vec<(Arc<str>, f64)>,
    /// The seconds for which a cgroup is known to have used the device.
    attributed_s: f64,
}

impl Figures {
    pub(super) fn of(activity: &DeviceActivity) -> Self {
        let stats = &activity.stats;
        let directions = [&stats.reads, &stats.writes];
        let queue = queue(stats);
        let top = activity.top_cgroup.as_ref();
        Self {
            seconds: stats.seconds(),
            ios: directions.map(|of| of.ios as f64),
            kib: directions.map(|of| of.kib()),
            flushes: stats.flushes.ios as f64,
            ms: [&stats.reads, &stats.writes, &stats.flushes]
                .map(|of| of.await_ms().unwrap_or(0.0) * of.ios as f64),
            queue_s: queue.unwrap_or(0.0) * stats.seconds(),
            has_queue: queue.is_some(),
            peak_queue: queue.unwrap_or(0.0),
            peak_latency: peak_latency(stats),
            cgroups: top
                .map_or_else(Vec::new, |top| vec![(Arc::clone(&top.path), top.share_pct * stats.seconds())]),
            attributed_s: if top.is_some() { stats.seconds() } else { 0.0 },
        }
    }

    /// The numbers of a time of trouble that only all intervals together show.
    pub(super) fn of_span(span: &TroubleSpan) -> Self {
        let load = &span.load;
        let totals = [load.reads, load.writes];
        Self {
            seconds: load.seconds,
            ios: totals.map(|totals| totals.ios),
            kib: totals.map(|totals| totals.kib),
            flushes: load.flushes.ios,
            ms: [load.reads.ms, load.writes.ms, load.flushes.ms],
            queue_s: totals.iter().map(|totals| totals.ms / 1000.0).sum(),
            has_queue: true,
            peak_queue: span.peak_queue,
            peak_latency: span.peak_await.map(|(await_ms, direction)| PeakLatency { await_ms, direction }),
            cgroups: Vec::new(),
            attributed_s: 0.0,
        }
    }

    /// Adds the numbers of another time.
    pub(super) fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        for at in 0..2 {
            self.ios[at] += other.ios[at];
            self.kib[at] += other.kib[at];
        }
        self.flushes += other.flushes;
        (0..3).for_each(|at| self.ms[at] += other.ms[at]);
        self.queue_s += other.queue_s;
        self.has_queue |= other.has_queue;
        self.peak_queue = self.peak_queue.max(other.peak_queue);
        let await_ms = |peak: Option<PeakLatency>| peak.map_or(-1.0, |peak| peak.await_ms);
        if await_ms(other.peak_latency) > await_ms(self.peak_latency) {
            self.peak_latency = other.peak_latency;
        }
        self.attributed_s += other.attributed_s;
        for (path, share) in &other.cgroups {
            match self.cgroups.iter().position(|(known, _)| known == path) {
                Some(at) => self.cgroups[at].1 += share,
                None if self.cgroups.len() < MAX_CGROUPS => self.cgroups.push((Arc::clone(path), *share)),
                None => {}
            }
        }
    }

    /// The highest mean latency of an interval; `None` if requests took less time than the kernel counts, which adds up
    /// to 0 ms.
    pub(super) fn peak_latency(&self) -> Option<PeakLatency> {
        self.peak_latency.filter(|peak| peak.await_ms > 0.0)
    }

    /// The kind of requests that waited most beyond what they took before; `None` if none completed in a time that the
    /// kernel counts. `before_ms` is the mean latency of a kind before, if that is known.
    pub(super) fn slowest(&self, before_ms: impl Fn(IoDirection) -> Option<f64>) -> Option<IoDirection> {
        let kinds = [IoDirection::Reads, IoDirection::Writes, IoDirection::Flushes];
        let counts = [self.ios[0], self.ios[1], self.flushes];
        let waited = kinds.into_iter().zip(self.ms).zip(counts).filter(|((_, ms), _)| *ms > 0.0);
        let beyond = waited.map(|((kind, ms), count)| (kind, ms - before_ms(kind).unwrap_or(0.0) * count));
        beyond.reduce(|most, one| if one.1 > most.1 { one } else { most }).map(|(kind, _)| kind)
    }

    /// Returns whether nothing completed although requests were in flight.
    pub(super) fn is_stalled(&self) -> bool {
        self.ios == [0.0; 2] && self.flushes == 0.0 && self.peak_queue > 0.0
    }

    /// The mean latency of a kind of requests in milliseconds; `None` if none completed.
    pub(super) fn await_ms(&self, requests: IoDirection) -> Option<f64> {
        let [reads, writes, flushes] = self.ms;
        let (ms, ios) = match requests {
            IoDirection::Reads => (reads, self.ios[0]),
            IoDirection::Writes => (writes, self.ios[1]),
            IoDirection::Both => (reads + writes, self.ios[0] + self.ios[1]),
            IoDirection::Flushes => (flushes, self.flushes),
        };
        (ios > 0.0).then(|| ms / ios)
    }

    /// The mean number of requests that waited or were served, including flushes.
    pub(super) fn waiting(&self) -> f64 {
        let [reads, writes, flushes] = self.ms;
        (self.queue_s.max((reads + writes) / 1000.0) + flushes / 1000.0) / self.seconds
    }

    /// The mean and the longest queue.
    pub(super) fn queue(&self) -> Option<(f64, f64)> {
        (self.has_queue && self.seconds > 0.0).then(|| (self.queue_s / self.seconds, self.peak_queue))
    }

    /// The mean rate in the `wanted` direction and unit; by default, requests of the main direction. `None` if nothing
    /// completed.
    pub(super) fn rate(&self, wanted: Option<(IoDirection, RateUnit)>) -> Option<EventRate> {
        let (direction, unit) = wanted.unwrap_or_else(|| (self.main_direction(), RateUnit::Requests));
        let of = |[reads, writes]: [f64; 2]| match direction {
            IoDirection::Reads => reads,
            IoDirection::Writes => writes,
            IoDirection::Both => reads + writes,
            IoDirection::Flushes => self.flushes,
        };
        let amount = of(if unit == RateUnit::Kib { self.kib } else { self.ios });
        let is_known = amount > 0.0 && self.seconds > 0.0;
        is_known.then(|| EventRate { direction, unit, per_s: amount / self.seconds })
    }

    /// Reads or writes if hardly any others complete, otherwise both; flushes if neither completes.
    fn main_direction(&self) -> IoDirection {
        let [reads, writes] = self.ios;
        let is_minor = |one: f64| one <= MIN_QUEUE_FRACTION * (reads + writes);
        match (is_minor(reads), is_minor(writes)) {
            (true, true) => IoDirection::Flushes,
            (_, true) => IoDirection::Reads,
            (true, _) => IoDirection::Writes,
            _ => IoDirection::Both,
        }
    }

    /// The cgroup with most of the bytes, and its mean share. Where no cgroup is known to have used the device, its
    /// share counts as 0: a cgroup that has just begun is not known before the next scan.
    pub(super) fn top_cgroup(&self) -> Option<TopCgroup> {
        let (path, sum) = self.cgroups.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let is_at_least = self.attributed_s < self.seconds;
        Some(TopCgroup { path: Arc::clone(path), share_pct: sum / self.seconds, is_at_least })
    }
}

/// The mean queue of an interval; if nothing completes, the requests in flight.
fn queue(stats: &Interval) -> Option<f64> {
    match stats.in_flight.filter(|_| stats.completed() == 0) {
        Some(in_flight) => Some(in_flight as f64),
        None => stats.queue().or_else(|| Some(stats.reads.queue()? + stats.writes.queue()?)),
    }
}

fn peak_latency(stats: &Interval) -> Option<PeakLatency> {
    let flush_await_ms = stats.flushes.await_ms();
    let flush_queue = flush_await_ms.zip(stats.flushes.per_s()).map(|(ms, per_s)| ms * per_s / 1000.0);
    let of = |of: &Completed| (of.await_ms(), of.queue());
    let all = [
        (IoDirection::Reads, of(&stats.reads)),
        (IoDirection::Writes, of(&stats.writes)),
        (IoDirection::Flushes, (flush_await_ms, flush_queue)),
    ];
    let total: f64 = all.iter().filter_map(|(_, (_, queue))| *queue).sum();
    let mut peak: Option<PeakLatency> = None;
    for (direction, (await_ms, queue)) in all {
        let (Some(await_ms), Some(queue)) = (await_ms, queue) else { continue };
        let is_highest = peak.is_none_or(|peak| await_ms.total_cmp(&peak.await_ms).is_ge());
        if queue >= MIN_QUEUE_FRACTION * total && is_highest {
            peak = Some(PeakLatency { await_ms, direction });
        }
    }
    peak
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Interval;

    #[test]
    fn the_share_of_a_cgroup_is_a_lower_bound_if_it_is_not_known_all_the_time() {
        let interval = |share_pct: Option<f64>| {
            let top = |share_pct| TopCgroup { path: "/backup".into(), share_pct, is_at_least: false };
            let stats = Interval::unknown(2.0);
            Figures::of(&DeviceActivity {
                stats,
                top_cgroup: share_pct.map(top),
                ..DeviceActivity::default()
            })
        };
        let total = |shares: [Option<f64>; 2]| {
            let mut figures = Figures::default();
            shares.into_iter().for_each(|share| figures.add(&interval(share)));
            figures.top_cgroup().map(|top| (top.share_pct, top.is_at_least))
        };
        assert_eq!(total([Some(90.0), Some(80.0)]), Some((85.0, false)));
        assert_eq!(total([None, Some(80.0)]), Some((40.0, true)));
        assert_eq!(total([None, None]), None);
    }
}
