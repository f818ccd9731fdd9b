//! The numbers of the intervals of an event, added up.

use std::sync::Arc;

use crate::analysis::{IoDirection, TroubleSpan};
use crate::intervals::{DeviceActivity, TopCgroup};
use crate::metrics::Interval;

/// The most cgroups whose bytes are added up.
const MAX_CGROUPS: usize = 8;

/// The numbers of one interval, and of several added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) seconds: f64,
    /// The numbers of completed reads, writes and flushes, and the milliseconds that they took.
    ios: [f64; 3],
    ms: [f64; 3],
    queue_s: f64,
    has_queue: bool,
    /// The bytes of each cgroup in percent of the device's, multiplied by the seconds.
    cgroups: Vec<(Arc<str>, f64)>,
    /// The seconds for which a cgroup is known to have used the device.
    attributed_s: f64,
}

/// Returns the part of the three numbers that are about a kind of requests.
fn total(of: &[f64; 3], requests: IoDirection) -> f64 {
    match requests {
        IoDirection::Reads => of[0],
        IoDirection::Writes => of[1],
        IoDirection::Both => of[0] + of[1],
        IoDirection::Flushes => of[2],
    }
}

impl Figures {
    pub(super) fn of(activity: &DeviceActivity) -> Self {
        let stats = &activity.stats;
        let kinds = [&stats.reads, &stats.writes, &stats.flushes];
        let queue = queue(stats);
        let top = activity.top_cgroup.as_ref();
        Self {
            seconds: stats.seconds(),
            ios: kinds.map(|of| of.ios as f64),
            ms: kinds.map(|of| of.await_ms().unwrap_or(0.0) * of.ios as f64),
            queue_s: queue.unwrap_or(0.0) * stats.seconds(),
            has_queue: queue.is_some(),
            cgroups: top
                .map_or_else(Vec::new, |top| vec![(Arc::clone(&top.path), top.share_pct * stats.seconds())]),
            attributed_s: if top.is_some() { stats.seconds() } else { 0.0 },
        }
    }

    /// The numbers of a time of trouble that only all intervals together show.
    pub(super) fn of_span(span: &TroubleSpan) -> Self {
        let load = &span.load;
        let kinds = [load.reads, load.writes, load.flushes];
        Self {
            seconds: load.seconds,
            ios: kinds.map(|totals| totals.ios),
            ms: kinds.map(|totals| totals.ms),
            queue_s: load.reads.ms / 1000.0 + load.writes.ms / 1000.0,
            has_queue: true,
            ..Self::default()
        }
    }

    /// Adds the numbers of another time.
    pub(super) fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        for kind in 0..3 {
            self.ios[kind] += other.ios[kind];
            self.ms[kind] += other.ms[kind];
        }
        self.queue_s += other.queue_s;
        self.has_queue |= other.has_queue;
        self.attributed_s += other.attributed_s;
        for (path, share) in &other.cgroups {
            match self.cgroups.iter().position(|(known, _)| known == path) {
                Some(at) => self.cgroups[at].1 += share,
                None if self.cgroups.len() < MAX_CGROUPS => self.cgroups.push((Arc::clone(path), *share)),
                None => {}
            }
        }
    }

    /// The kind of requests that waited most beyond what they took before; `None` if none completed in a time that the
    /// kernel counts. `before_ms` is the mean latency of a kind before, if that is known.
    pub(super) fn slowest(&self, before_ms: impl Fn(IoDirection) -> Option<f64>) -> Option<IoDirection> {
        let kinds = [IoDirection::Reads, IoDirection::Writes, IoDirection::Flushes];
        let waited = kinds.into_iter().zip(self.ms).zip(self.ios).filter(|((_, ms), _)| *ms > 0.0);
        let beyond = waited.map(|((kind, ms), ios)| (kind, ms - before_ms(kind).unwrap_or(0.0) * ios));
        beyond.reduce(|most, one| if one.1 > most.1 { one } else { most }).map(|(kind, _)| kind)
    }

    /// Returns whether nothing completed although requests were in flight.
    pub(super) fn is_stalled(&self) -> bool {
        self.ios == [0.0; 3] && self.queue_s > 0.0
    }

    /// The mean latency of a kind of requests in milliseconds; `None` if none completed.
    pub(super) fn await_ms(&self, requests: IoDirection) -> Option<f64> {
        let ios = total(&self.ios, requests);
        (ios > 0.0).then(|| total(&self.ms, requests) / ios)
    }

    /// The mean number of requests that waited or were served, including flushes.
    pub(super) fn waiting(&self) -> f64 {
        let [reads, writes, flushes] = self.ms;
        (self.queue_s.max((reads + writes) / 1000.0) + flushes / 1000.0) / self.seconds
    }

    /// The mean queue; while nothing completes, the requests in flight. `None` if it is not known.
    pub(super) fn queue(&self) -> Option<f64> {
        (self.has_queue && self.seconds > 0.0).then(|| self.queue_s / self.seconds)
    }

    /// The rate of a kind of requests per second; `None` if none completed.
    pub(super) fn per_s(&self, requests: IoDirection) -> Option<f64> {
        let ios = total(&self.ios, requests);
        (ios > 0.0 && self.seconds > 0.0).then(|| ios / self.seconds)
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
