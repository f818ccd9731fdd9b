//! The loads that were seen of one kind of request, by rate and latency: they narrow the range in which the unloaded
//! latency lies.

use crate::analysis::stats::{IoTotals, floor_log2};
use crate::analysis::thresholds::{
    ABOUT_TWICE, CHANCE_SIGMAS, MAX_PROVEN_RATE_RATIO, MAX_UNBEATEN_RATIO, MAX_UNLOADED_QUEUE,
    MIN_CHORD_RATE_RATIO, MIN_CHORD_SHARE, MIN_CONTINUOUS_BUSY_FRACTION, MIN_LATENCY_REQUESTS,
    MIN_LATENCY_SUM_MS, MIN_QUEUEING_SATURATION, MIN_WITNESS_INTERVALS,
};

/// The groups that are kept at most; the one that was not seen for longest is dropped.
const MAX_GROUPS: usize = 48;

/// The requests of one kind in one or more intervals, beside all requests of the device.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeenLoad {
    pub(super) intervals: f64,
    pub(super) totals: IoTotals,
    pub(super) seconds: f64,
    /// The request time of all requests of the device in seconds: the mean queue times the seconds.
    pub(super) queue_s: f64,
    /// Seconds with a request in flight; `None` if the kernel does not count them.
    pub(super) busy_s: Option<f64>,
}

impl SeenLoad {
    pub(super) fn plus(&self, other: &Self) -> Self {
        let busy_s = |load: &Self| {
            if load.seconds > 0.0 {
                load.busy_s
            } else {
                Some(0.0)
            }
        };
        Self {
            intervals: self.intervals + other.intervals,
            totals: self.totals.plus(&other.totals),
            seconds: self.seconds + other.seconds,
            queue_s: self.queue_s + other.queue_s,
            busy_s: busy_s(self)
                .zip(busy_s(other))
                .map(|(one, other)| one + other),
        }
    }

    /// Returns whether there were enough requests for a latency.
    pub(super) fn has_latency(&self) -> bool {
        self.totals.ios >= MIN_LATENCY_REQUESTS && self.totals.ms >= MIN_LATENCY_SUM_MS
    }

    fn await_ms(&self) -> f64 {
        self.totals.ms / self.totals.ios
    }

    fn rate(&self) -> f64 {
        self.totals.ios / self.seconds
    }

    /// The mean queue of the device.
    fn queue(&self) -> f64 {
        self.queue_s / self.seconds
    }

    /// Returns whether requests were in flight for as much of the time as at a queue that is as long all the time, or
    /// nearly. In bursts with idle time in between, the queue is longer than on average.
    fn is_continuous(&self) -> bool {
        let expected_s = (1.0 - (-self.queue()).exp()) * self.seconds;
        self.busy_s
            .is_some_and(|busy_s| busy_s >= MIN_CONTINUOUS_BUSY_FRACTION * expected_s)
    }
}

/// The intervals of similar rate and latency.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Twice the binary logarithms of rate and latency, rounded down.
    class: (i32, i32),
    sum: SeenLoad,
    /// The number of the latest interval in it.
    latest: u32,
}

impl Group {
    /// Returns whether its latency is known well enough.
    fn is_known(&self) -> bool {
        self.sum.intervals >= MIN_WITNESS_INTERVALS
    }

    /// The mean latency that such requests have at most: of few, it may be low by chance.
    fn max_mean_ms(&self) -> f64 {
        self.sum.await_ms() * (1.0 + CHANCE_SIGMAS / self.sum.totals.ios.sqrt())
    }

    /// The lower bound of the unloaded latency that follows if `faster` is the same device at a higher rate; `None` if
    /// nothing follows. Latency grows ever faster with the rate, so it lies above the straight line through both where
    /// there is no load.
    fn chord_ms(&self, faster: &Self) -> Option<f64> {
        let (slow, fast) = (&self.sum, &faster.sum);
        let ratio = fast.rate() / slow.rate();
        let is_comparable = (MIN_CHORD_RATE_RATIO..=MAX_PROVEN_RATE_RATIO).contains(&ratio)
            && fast.queue() >= MIN_CHORD_RATE_RATIO * slow.queue()
            && fast.await_ms() > MAX_UNBEATEN_RATIO * slow.await_ms()
            && slow.is_continuous()
            && fast.is_continuous();
        let growth_ms = (fast.await_ms() - slow.await_ms()).max(0.0);
        let at_no_load_ms = slow.await_ms() - growth_ms / (ratio - 1.0);
        (is_comparable && at_no_load_ms >= MIN_CHORD_SHARE * slow.await_ms())
            .then_some(at_no_load_ms)
    }

    /// The unloaded latency if no limit held these requests back, which hardly waited for each other; `None` if they
    /// may have.
    fn alone_ms(&self) -> Option<f64> {
        (self.sum.queue() <= MAX_UNLOADED_QUEUE).then(|| self.sum.await_ms())
    }

    /// Returns whether `faster` shows that no limit held these requests back: the device doubled their rate, although
    /// not by so much that it may have slept between them.
    fn is_below_limit(&self, faster: &Self) -> bool {
        (ABOUT_TWICE..=MAX_PROVEN_RATE_RATIO).contains(&(faster.sum.rate() / self.sum.rate()))
            && faster.sum.await_ms() > MAX_UNBEATEN_RATIO * self.sum.await_ms()
    }
}

/// A lower bound of the unloaded latency.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LowerBound {
    pub(super) ms: f64,
    /// The highest rate per second for which it holds: at far higher ones the device may be faster, because it sleeps
    /// between rare requests.
    pub(super) max_rate: f64,
    /// The number of the interval in which the older of its two witnesses was seen last.
    latest: u32,
}

/// The lowest latency that was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lowest {
    pub(super) ms: f64,
    /// The same without the luck of few requests.
    pub(super) max_ms: f64,
    /// The mean queue of the device.
    pub(super) queue: f64,
}

/// The conclusions from the loads that were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SeenRange {
    pub(super) lowest: Option<Lowest>,
    /// The highest bound that a higher rate proves.
    pub(super) by_rate: Option<LowerBound>,
    /// The bound that holds if completions are irregular.
    pub(super) if_irregular: Option<LowerBound>,
    /// The highest rate per second at about the lowest latency.
    pub(super) max_unloaded_rate: Option<f64>,
}

/// The loads of one kind of request. Their memory is bounded.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenLoads {
    groups: Vec<Group>,
    count: u32,
}

impl SeenLoads {
    /// Adds an interval. Returns whether its rate and latency have just been seen often enough to be known.
    pub(super) fn observe(&mut self, load: &SeenLoad) -> bool {
        self.count += 1;
        let halves = |value: f64| floor_log2(value * value);
        let class = (halves(load.rate()), halves(load.await_ms()));
        if let Some(group) = self.groups.iter_mut().find(|group| group.class == class) {
            let was_known = group.is_known();
            group.sum = group.sum.plus(load);
            group.latest = self.count;
            return group.is_known() && !was_known;
        }
        if self.groups.len() == MAX_GROUPS
            && let Some(oldest) = self.groups.iter().map(|group| group.latest).min()
        {
            self.groups.retain(|group| group.latest != oldest);
        }
        self.groups.push(Group {
            class,
            sum: *load,
            latest: self.count,
        });
        false
    }

    fn known(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|group| group.is_known())
    }

    /// The lowest latency. Of requests that hardly waited for each other it is their median, because what is read varies
    /// more than they waited.
    fn lowest(&self) -> Option<&Group> {
        let waiting = self
            .groups
            .iter()
            .filter(|group| group.alone_ms().is_none());
        let candidates = waiting.chain(self.median_alone());
        candidates.min_by(|a, b| a.max_mean_ms().total_cmp(&b.max_mean_ms()))
    }

    fn by_rate(&self) -> Option<LowerBound> {
        let pairs = self
            .known()
            .flat_map(|slow| self.known().map(move |fast| (slow, fast)));
        let bounds = pairs.filter_map(|(slow, fast)| {
            let alone_ms = slow.alone_ms().filter(|_| slow.is_below_limit(fast));
            let ms = [slow.chord_ms(fast), alone_ms]
                .into_iter()
                .flatten()
                .reduce(f64::max)?;
            let max_rate = MAX_PROVEN_RATE_RATIO * fast.sum.rate();
            Some(LowerBound {
                ms,
                max_rate,
                latest: slow.latest.min(fast.latest),
            })
        });
        bounds.max_by(|a, b| a.ms.total_cmp(&b.ms))
    }

    /// The group with the median latency of the requests that hardly waited for each other.
    fn median_alone(&self) -> Option<&Group> {
        let mut alone: Vec<&Group> = self
            .groups
            .iter()
            .filter(|group| group.alone_ms().is_some())
            .collect();
        alone.sort_by(|a, b| a.sum.await_ms().total_cmp(&b.sum.await_ms()));
        let half = alone.iter().map(|group| group.sum.totals.ios).sum::<f64>() / 2.0;
        let mut seen = 0.0;
        alone.into_iter().find(|group| {
            seen += group.sum.totals.ios;
            seen >= half
        })
    }

    /// The conclusions. Where they contradict each other, the contents or the device changed, and what was seen last
    /// longer ago is forgotten.
    pub(super) fn conclude(&mut self) -> SeenRange {
        loop {
            let (lowest, by_rate) = (self.lowest().copied(), self.by_rate());
            if let Some((lowest, bound)) = lowest.zip(by_rate)
                && lowest.max_mean_ms() < MAX_UNBEATEN_RATIO * bound.ms
            {
                let older = lowest.latest.min(bound.latest);
                self.groups.retain(|group| group.latest != older);
                continue;
            }
            let lowest_ms = lowest.map(|group| group.sum.await_ms());
            let is_unloaded = |group: &&Group| {
                lowest_ms.is_some_and(|ms| group.sum.await_ms() < MIN_QUEUEING_SATURATION * ms)
            };
            return SeenRange {
                lowest: lowest.map(|group| Lowest {
                    ms: group.sum.await_ms(),
                    max_ms: group.max_mean_ms(),
                    queue: group.sum.queue(),
                }),
                by_rate,
                if_irregular: self.median_alone().map(|group| LowerBound {
                    ms: group.sum.await_ms(),
                    max_rate: MAX_PROVEN_RATE_RATIO * group.sum.rate(),
                    latest: group.latest,
                }),
                max_unloaded_rate: self
                    .known()
                    .filter(is_unloaded)
                    .map(|group| group.sum.rate())
                    .reduce(f64::max),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four intervals of a second of each rate, latency and mean queue, with a request in flight for `busy` of the
    /// time.
    fn seen(loads: &[(f64, f64, f64)], busy: f64) -> SeenRange {
        let mut seen = SeenLoads::default();
        for (rate, await_ms, queue) in loads {
            let totals = IoTotals {
                ios: *rate,
                kib: 4.0 * rate,
                ms: await_ms * rate,
            };
            let load = SeenLoad {
                intervals: 1.0,
                totals,
                seconds: 1.0,
                queue_s: *queue,
                busy_s: Some(busy),
            };
            let news = [(); 4].map(|()| seen.observe(&load));
            assert_eq!(news, [false, false, true, false]);
        }
        seen.conclude()
    }

    fn lower_ms(loads: &[(f64, f64, f64)]) -> Option<f64> {
        seen(loads, 1.0)
            .by_rate
            .map(|bound| (bound.ms * 100.0).round() / 100.0)
    }

    #[test]
    fn the_line_through_two_loads_is_a_lower_bound() {
        assert_eq!(
            lower_ms(&[(4000.0, 0.5, 2.0), (8000.0, 0.55, 4.4)]),
            Some(0.45)
        );
        // The rate must grow, and latency must grow so little that the rest is more than noise.
        assert_eq!(lower_ms(&[(4000.0, 0.5, 2.0), (5000.0, 0.5, 2.5)]), None);
        assert_eq!(lower_ms(&[(4000.0, 0.5, 2.0), (8000.0, 0.9, 7.2)]), None);
        // Bursts of 64 requests, then bursts that last twice as long: the requests of both waited.
        let bursts = [(1000.0, 14.0, 14.0), (2000.0, 14.0, 28.0)];
        assert!(seen(&bursts, 1.0).by_rate.is_some() && seen(&bursts, 0.22).by_rate.is_none());
    }

    #[test]
    fn twice_the_rate_proves_that_a_latency_is_not_that_of_a_limit() {
        // The higher rate may have any latency.
        assert_eq!(
            lower_ms(&[(1000.0, 0.5, 0.5), (4000.0, 4.0, 16.0)]),
            Some(0.5)
        );
        assert_eq!(lower_ms(&[(1000.0, 0.5, 0.5), (1800.0, 0.9, 1.62)]), None);
        // A device that sleeps between rare requests.
        assert_eq!(lower_ms(&[(30.0, 1.7, 0.05), (40_000.0, 1.5, 60.0)]), None);
    }

    #[test]
    fn of_two_sources_that_contradict_each_other_the_newer_stays() {
        let flat = [(3000.0, 1.8, 5.4), (6000.0, 1.8, 10.8)];
        let cached = (500.0, 0.4, 0.2);
        let newly_flat = seen(&[&[cached], &flat[..]].concat(), 1.0);
        assert_eq!(newly_flat.lowest.map(|lowest| lowest.ms), Some(1.8));
        let newly_cached = seen(&[&flat[..], &[cached]].concat(), 1.0);
        assert_eq!(newly_cached.lowest.map(|lowest| lowest.ms), Some(0.4));
        assert!(newly_cached.by_rate.is_none_or(|bound| bound.ms < 0.5));
    }

    #[test]
    fn few_fast_requests_may_be_luck() {
        let found = seen(&[(1000.0, 1.0, 1.0), (10.0, 0.8, 0.008)], 1.0);
        assert_eq!(found.lowest.map(|lowest| lowest.ms), Some(1.0));
    }

    #[test]
    fn the_highest_rate_at_low_latency_is_found() {
        let found = seen(
            &[(1000.0, 0.5, 0.5), (2500.0, 0.6, 1.5), (4000.0, 4.0, 16.0)],
            1.0,
        );
        assert_eq!(found.max_unloaded_rate, Some(2500.0));
        assert_eq!(seen(&[], 1.0), SeenRange::default());
    }

    #[test]
    fn any_number_of_different_loads_takes_the_same_memory() {
        let mut seen = SeenLoads::default();
        for index in 0..10_000 {
            let ios = 1.5_f64.powi(index % 40);
            let totals = IoTotals {
                ios,
                kib: ios,
                ms: ios * 1.7_f64.powi(index % 37 - 10),
            };
            seen.observe(&SeenLoad {
                intervals: 1.0,
                totals,
                seconds: 1.0,
                queue_s: 1.0,
                busy_s: None,
            });
        }
        assert!(seen.groups.len() <= MAX_GROUPS);
    }
}
