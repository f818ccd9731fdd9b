//! Unloaded latency of a device: given, learned from its intervals, or inferred from its counters since boot; and
//! saturation against it.

mod irregularity;
mod rate_levels;

use std::collections::BTreeMap;
use std::f64::consts::SQRT_2;

use libm::{exp2, ilogb};

use super::load::{IoDirection, LoadSample};
use super::saved_baselines::UnloadedLatency;
use super::settings::{BaselineSource, Settings};
use super::stats::{Histogram, IoTotals};
use super::thresholds::{
    BASELINE_QUANTILE, MAX_SIZE_RATIO, MAX_UNLOADED_QUEUE, MIN_BOUND_QUEUE_RATIO, MIN_LATENCY_REQUESTS,
    MIN_LATENCY_SUM_MS, MIN_LIFETIME_REQUESTS,
};
use crate::counters::{Columns, Counters, Requests};
use crate::units::SECTOR_BYTES;
use irregularity::Irregularity;
use rate_levels::RateLevels;

/// The number of queue classes kept for each size class: those of the shortest queues.
const MAX_QUEUE_CLASSES: usize = 3;
/// The baseline of a size class is computed again when its number of intervals has grown by one in this many.
const INTERVALS_PER_UPDATE: u32 = 16;
/// Sizes up to this many KiB are one class.
const MIN_SIZE_CLASS_KIB: f64 = 0.25;
/// Queues below this are one class: an unloaded device has no shorter queue that would matter.
const MIN_QUEUE_CLASS: f64 = 0.5;

/// The latency that requests are compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// Unloaded latency in milliseconds, or an upper bound of it.
    pub await_ms: f64,
    pub source: BaselineSource,
    /// The mean queue at which it was seen, if it is only an upper bound: the unloaded device may be faster.
    pub bound_queue: Option<f64>,
    /// True if it is certainly not the latency of a device at its limit: it was given or saved, or the device doubled
    /// the rate at another time. Only such a latency proves that a device is ok.
    pub is_proven: bool,
    /// The highest rate per second that was seen at about this latency; `None` if no rate was.
    pub max_unloaded_rate: Option<f64>,
    /// The rate per second above which this latency may be that of another state of the device, which sleeps between
    /// rare requests. Infinite if it is given.
    pub max_comparable_rate: f64,
}

impl Reference {
    /// Latency as a multiple of this one. Against an upper bound it is a lower bound, and `None` unless the queue is
    /// about twice that of the bound.
    pub fn saturation(&self, await_ms: f64, total_queue: f64) -> Option<f64> {
        let is_comparable = self.bound_queue.is_none_or(|queue| total_queue >= MIN_BOUND_QUEUE_RATIO * queue);
        let saturation = await_ms / self.await_ms;
        (is_comparable && saturation.is_finite()).then_some(saturation)
    }
}

/// The baseline of one direction: the median, weighted by requests, of the latencies at the shortest queue seen, for
/// similar sizes. Its memory is bounded.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    given: Vec<UnloadedLatency>,
    given_source: BaselineSource,
    since_boot: SinceBoot,
    /// By class of size. Boxed because they are large: a search then goes through less memory.
    observed: BTreeMap<i32, Box<SizeClass>>,
}

/// The intervals of requests of similar size.
#[derive(Clone, Debug, Default)]
struct SizeClass {
    /// By class of queue.
    by_queue: BTreeMap<i32, LatencyClass>,
    by_rate: RateLevels,
    intervals: u32,
    /// The number of intervals at which `learned` is computed again: the more there are, the less one more changes it.
    next_update: u32,
    learned: Option<Reference>,
}

/// The conclusions from the intervals of a size.
#[derive(Clone, Copy, Debug)]
struct LearnedLatency {
    unloaded: UnloadedLatency,
    is_proven: bool,
    max_unloaded_rate: Option<f64>,
    max_comparable_rate: f64,
}

impl LearnedLatency {
    fn reference(self, source: BaselineSource) -> Reference {
        let UnloadedLatency { await_ms, queue, is_upper_bound, .. } = self.unloaded;
        Reference {
            await_ms,
            source,
            bound_queue: queue.filter(|_| is_upper_bound),
            is_proven: !is_upper_bound && self.is_proven,
            max_unloaded_rate: self.max_unloaded_rate,
            max_comparable_rate: self.max_comparable_rate,
        }
    }
}

impl SizeClass {
    /// Computes the learned latency again if enough intervals were added since the last time.
    fn update(&mut self, size_class: i32) {
        self.intervals += 1;
        if self.intervals >= self.next_update {
            self.next_update = self.intervals + 1 + self.intervals / INTERVALS_PER_UPDATE;
            self.learned = self.learn(size_class).map(|learned| learned.reference(BaselineSource::Learned));
        }
    }

    /// Takes the requests of an interval, the mean queue of all requests of the device, and the seconds with a request
    /// in flight.
    fn observe(&mut self, totals: &IoTotals, seconds: f64, total_queue: f64, busy_s: Option<f64>) {
        self.by_rate.observe(totals, seconds, total_queue, busy_s);
        let queue = queue_class(total_queue);
        // Once the latency at a shorter queue is known, longer queues are not needed.
        if self.by_queue.iter().any(|(shorter, latencies)| *shorter < queue && latencies.is_known()) {
            return;
        }
        if !self.by_queue.contains_key(&queue) && self.by_queue.len() == MAX_QUEUE_CLASSES {
            if self.by_queue.keys().next_back().is_some_and(|longest| queue > *longest) {
                return;
            }
            self.by_queue.pop_last();
        }
        let latencies = self.by_queue.entry(queue).or_default();
        latencies.observe(totals, total_queue);
        if latencies.is_known() {
            self.by_queue.retain(|other, _| *other <= queue);
        }
    }

    fn learn(&self, size_class: i32) -> Option<LearnedLatency> {
        let at_shortest_queue = self.by_queue.values().find_map(|latencies| {
            let queue = latencies.queue.quantile(0.5)?;
            let await_ms = latencies.await_ms.quantile(BASELINE_QUANTILE)?;
            Some(UnloadedLatency {
                size_kib: Some(exp2(f64::from(size_class))),
                await_ms,
                queue: Some(queue),
                is_upper_bound: queue > MAX_UNLOADED_QUEUE && !self.by_rate.is_flat(await_ms),
            })
        })?;
        let unloaded = match self.by_rate.beaten_by(at_shortest_queue.await_ms) {
            None => at_shortest_queue,
            Some((await_ms, queue)) => {
                UnloadedLatency { await_ms, queue: Some(queue), is_upper_bound: true, ..at_shortest_queue }
            }
        };
        Some(LearnedLatency {
            unloaded,
            is_proven: self.by_rate.is_proven(unloaded.await_ms),
            max_unloaded_rate: self.by_rate.max_unloaded_rate(unloaded.await_ms),
            max_comparable_rate: self.by_rate.max_comparable_rate(unloaded.await_ms),
        })
    }
}

impl Baseline {
    /// Replaces the given values, which come from the user or from a saved baseline. They win over learned ones.
    pub fn with_given(self, given: &[UnloadedLatency], source: BaselineSource) -> Self {
        Self { given: given.to_vec(), given_source: source, ..self }
    }

    /// Learns from an interval's requests in this direction, at the mean queue of all requests of the device, which had
    /// a request in flight for `busy_s` (`None` if that is unknown).
    pub fn observe(&mut self, totals: &IoTotals, seconds: f64, total_queue: f64, busy_s: Option<f64>) {
        let Some(size) = totals.size_kib() else { return };
        if !total_queue.is_finite() {
            return;
        }
        let size_class = size_class(size);
        let class = self.observed.entry(size_class).or_default();
        class.observe(totals, seconds, total_queue, busy_s);
        class.update(size_class);
    }

    /// Forgets the latency learned for requests of this size, and the mean since boot: the requests are of another kind
    /// now.
    pub fn forget(&mut self, size_kib: f64) {
        self.observed.remove(&size_class(size_kib));
        self.since_boot = SinceBoot::default();
    }

    /// The latency to compare requests of this size with, other than the mean since boot; `None` while it is unknown.
    pub fn reference(&self, size_kib: f64) -> Option<Reference> {
        let class = size_class(size_kib);
        let observed = self.observed.get(&class);
        let fits = |given: &&UnloadedLatency| given.size_kib.is_none_or(|size| size_class(size) == class);
        let is_beaten = |one: &UnloadedLatency| {
            observed.is_some_and(|class| class.by_rate.beaten_by(one.await_ms).is_some())
        };
        let Some(given) = self.given.iter().find(fits).copied().filter(|one| !is_beaten(one)) else {
            return observed?.learned;
        };
        let given = LearnedLatency {
            unloaded: given,
            is_proven: true,
            max_unloaded_rate: observed.and_then(|class| class.by_rate.max_unloaded_rate(given.await_ms)),
            max_comparable_rate: f64::INFINITY,
        };
        Some(given.reference(self.given_source))
    }

    /// The mean latency since boot of requests of about this size; `None` unless it is certain. It can show trouble,
    /// but not that there is none.
    pub fn since_boot_ms(&self, direction: IoDirection, totals: &IoTotals) -> Option<f64> {
        self.since_boot.mean_latency_ms(direction, totals.size_kib()?, WRAP_MARGIN * totals.await_ms()?)
    }

    /// The mean latency since boot under the assumption that requests have always taken as long as these. If it is far
    /// below theirs, the assumption was wrong. That does not prove trouble, because slower requests may have made the
    /// kernel's column wrap, but it is enough to doubt that the latency is usual.
    pub fn likely_since_boot_ms(&self, direction: IoDirection, totals: &IoTotals) -> Option<f64> {
        self.since_boot.mean_latency_ms(direction, totals.size_kib()?, totals.await_ms()?)
    }

    /// The unloaded latency for requests of this size, given or learned; `None` while it is unknown.
    pub fn unloaded_latency(&self, size_kib: f64) -> Option<UnloadedLatency> {
        let class = size_class(size_kib);
        let fits = |given: &&UnloadedLatency| given.size_kib.is_none_or(|size| size_class(size) == class);
        self.given.iter().find(fits).copied().or_else(|| self.learned(class))
    }

    /// The latency learned for a class of sizes, from all its intervals.
    fn learned(&self, class: i32) -> Option<UnloadedLatency> {
        Some(self.observed.get(&class)?.learn(class)?.unloaded)
    }

    /// Every value, given or learned, to be saved and given again.
    pub fn export(&self) -> Vec<UnloadedLatency> {
        let learned = self.observed.keys().filter_map(|class| self.learned(*class));
        let is_given =
            |learned: &UnloadedLatency| self.given.iter().any(|given| given.size_kib == learned.size_kib);
        self.given.iter().copied().chain(learned.filter(|learned| !is_given(learned))).collect()
    }

    /// Latency as a multiple of unloaded latency for similar sizes; `None` if unloaded latency is unknown.
    ///
    /// If only an upper bound of unloaded latency is known, the multiple is a lower bound. It is then given only at
    /// about twice the queue of the bound or more.
    pub fn saturation(&self, totals: &IoTotals, total_queue: f64) -> Option<f64> {
        self.reference(totals.size_kib()?)?.saturation(totals.await_ms()?, total_queue)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Baselines {
    pub reads: Baseline,
    pub writes: Baseline,
    pub flushes: Baseline,
    irregularity: Irregularity,
}

impl Baselines {
    /// Baselines with these given values and their origin, and with the counters at the first sample.
    pub(super) fn with_given(self, settings: &Settings, since_boot: SinceBoot) -> Self {
        let given = settings.baseline.clone().unwrap_or_default();
        let complete = |baseline: Baseline, given: &[UnloadedLatency]| Baseline {
            since_boot,
            ..baseline.with_given(given, settings.baseline_source)
        };
        Self {
            reads: complete(self.reads, &given.read),
            writes: complete(self.writes, &given.write),
            flushes: complete(self.flushes, &given.flush),
            irregularity: self.irregularity,
        }
    }

    /// The directions that have a baseline.
    pub(super) const DIRECTIONS: [IoDirection; 3] =
        [IoDirection::Reads, IoDirection::Writes, IoDirection::Flushes];

    /// The baseline of a direction. Reads and writes together have none of their own and get that of reads.
    pub fn of(&self, direction: IoDirection) -> &Baseline {
        match direction {
            IoDirection::Flushes => &self.flushes,
            IoDirection::Writes => &self.writes,
            IoDirection::Reads | IoDirection::Both => &self.reads,
        }
    }

    /// Mutable access to the baseline of a direction.
    pub(super) fn of_mut(&mut self, direction: IoDirection) -> &mut Baseline {
        match direction {
            IoDirection::Flushes => &mut self.flushes,
            IoDirection::Writes => &mut self.writes,
            IoDirection::Reads | IoDirection::Both => &mut self.reads,
        }
    }

    /// The baselines without the learned latencies.
    pub(super) fn without_learned(&self) -> Self {
        let without = |baseline: &Baseline| Baseline { observed: BTreeMap::default(), ..baseline.clone() };
        Self {
            reads: without(&self.reads),
            writes: without(&self.writes),
            flushes: without(&self.flushes),
            irregularity: Irregularity::default(),
        }
    }

    /// Learns from a load, unless it may be the edge of a burst, whose requests met a longer queue than its mean.
    /// Directions for which `slow` returns true are not learned: however long slowness lasts, it is not the usual
    /// latency.
    pub(super) fn learn(&mut self, load: &LoadSample, slow: impl Fn(IoDirection) -> bool) {
        self.irregularity.observe(load);
        if !load.is_edge_of_burst() {
            let total_queue = load.total_queue();
            for direction in Self::DIRECTIONS.into_iter().filter(|direction| !slow(*direction)) {
                let totals = load.totals(direction);
                self.of_mut(direction).observe(&totals, load.seconds, total_queue, load.busy_s);
            }
        }
    }

    /// Returns whether it is proven that the latency of reads and writes that come one at a time is not caused by a
    /// limit.
    pub(super) fn are_completions_irregular(&self) -> bool {
        self.irregularity.is_proven()
    }

    pub(super) fn saturations(&self, load: &LoadSample) -> Saturations {
        let total_queue = load.total_queue();
        let [reads, writes] =
            [(&self.reads, &load.reads), (&self.writes, &load.writes)].map(|(baseline, totals)| {
                // Many loads have requests of one direction only.
                if totals.ios > 0.0 { baseline.saturation(totals, total_queue) } else { None }
            });
        Saturations { reads, writes, both: combined_saturation(load, reads, writes) }
    }
}

/// The latencies of a load as multiples of the unloaded ones; `None` if these are not known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Saturations {
    pub(super) reads: Option<f64>,
    pub(super) writes: Option<f64>,
    /// The request time divided by the time that the same requests would have taken unloaded; `None` if that is unknown
    /// for a direction that matters.
    pub(super) both: Option<f64>,
}

fn combined_saturation(load: &LoadSample, reads: Option<f64>, writes: Option<f64>) -> Option<f64> {
    let (mut ms, mut unloaded_ms) = (0.0, 0.0);
    for (direction, saturation) in [(IoDirection::Reads, reads), (IoDirection::Writes, writes)] {
        match saturation {
            Some(saturation) if saturation > 0.0 => {
                let direction_ms = load.totals(direction).ms;
                ms += direction_ms;
                unloaded_ms += direction_ms / saturation;
            }
            None if load.is_major(direction) => return None,
            _ => {}
        }
    }
    Some(ms / unloaded_ms).filter(|saturation| saturation.is_finite())
}

/// The class of a size: the nearest power of two in KiB.
fn size_class(size_kib: f64) -> i32 {
    ilogb(SQRT_2 * size_kib.max(MIN_SIZE_CLASS_KIB))
}

/// The class of a queue: its power of two.
fn queue_class(queue: f64) -> i32 {
    ilogb(queue.max(MIN_QUEUE_CLASS))
}

/// Latencies of one class of sizes and queues.
#[derive(Clone, Debug, Default)]
pub(super) struct LatencyClass {
    pub(super) await_ms: Histogram,
    pub(super) queue: Histogram,
    /// Requests that are still too few for a latency.
    pending: IoTotals,
}

impl LatencyClass {
    /// Returns whether there were enough requests for a latency.
    pub(super) fn is_known(&self) -> bool {
        self.await_ms.weight() > 0.0
    }

    /// Takes the requests of an interval and the mean queue of all requests of the device.
    pub(super) fn observe(&mut self, totals: &IoTotals, queue: f64) {
        self.queue.add(queue, totals.ios);
        self.pending = self.pending.plus(totals);
        // Short intervals are pooled, not left out: leaving out those with little request time would keep the slow
        // ones.
        if self.pending.ios >= MIN_LATENCY_REQUESTS && self.pending.ms >= MIN_LATENCY_SUM_MS {
            let pooled = std::mem::take(&mut self.pending);
            self.await_ms.add(pooled.ms / pooled.ios, pooled.ios);
        }
    }
}

/// Milliseconds after which the kernel's column of request times starts again at zero.
const TIME_WRAPS_AT_MS: f64 = (1u64 << 32) as f64;
/// Multiple of the mean latency that past requests may have had without the column having wrapped unnoticed.
pub(super) const WRAP_MARGIN: f64 = 10.0;

/// The sums of a device's counters at the first sample. They mix all sizes and patterns, including past incidents, so
/// they can show trouble but not that there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct SinceBoot {
    reads: IoTotals,
    writes: IoTotals,
    flushes: IoTotals,
}

impl SinceBoot {
    /// The sums in the counters of a device. Empty if the kernel gives no request times.
    pub fn from_counters(counters: &Counters) -> Self {
        if counters.columns == Columns::Partition {
            return Self::default();
        }
        let totals = |requests: &Requests| IoTotals {
            ios: requests.ios as f64,
            kib: requests.sectors as f64 * SECTOR_BYTES as f64 / 1024.0,
            ms: requests.ms as f64,
        };
        let flushes = IoTotals { ios: counters.flushes as f64, kib: 0.0, ms: counters.flush_ms as f64 };
        Self { reads: totals(&counters.reads), writes: totals(&counters.writes), flushes }
    }

    /// The mean latency in milliseconds of requests of about this size. `None` if there were too few requests, if they
    /// had other sizes, or if the column of their times, which has 32 bits, would have wrapped had they always taken
    /// `assumed_ms`.
    pub(super) fn mean_latency_ms(
        &self,
        direction: IoDirection,
        size_kib: f64,
        assumed_ms: f64,
    ) -> Option<f64> {
        let totals = match direction {
            IoDirection::Reads => self.reads,
            IoDirection::Writes => self.writes,
            IoDirection::Flushes => self.flushes,
            IoDirection::Both => self.reads.plus(&self.writes),
        };
        let is_enough = totals.ios >= MIN_LIFETIME_REQUESTS && totals.ms >= MIN_LATENCY_SUM_MS;
        let is_complete = totals.ios * assumed_ms < TIME_WRAPS_AT_MS;
        let size_ratio = size_kib.max(MIN_SIZE_KIB) / totals.size_kib()?.max(MIN_SIZE_KIB);
        let is_like = (1.0 / MAX_SIZE_RATIO..=MAX_SIZE_RATIO).contains(&size_ratio);
        totals.await_ms().filter(|_| is_enough && is_complete && is_like)
    }
}

/// Sizes up to this many KiB count as the same: a single sector, and flushes, which have no size.
const MIN_SIZE_KIB: f64 = 0.25;

#[cfg(test)]
mod tests {
    use super::super::saved_baselines::DeviceBaseline;
    use super::*;

    fn totals(ios: f64, size_kib: f64, await_ms: f64) -> IoTotals {
        IoTotals { ios, kib: ios * size_kib, ms: ios * await_ms }
    }

    #[test]
    fn a_baseline_is_learned_from_the_shortest_queue() {
        let mut baseline = Baseline::default();
        baseline.observe(&totals(10_000.0, 4.0, 1.6), 1.0, 16.0, None);
        assert!(baseline.unloaded_latency(4.0).is_some_and(|found| found.is_upper_bound));
        baseline.observe(&totals(1000.0, 4.0, 0.2), 1.0, 0.2, None);
        let unloaded = baseline.unloaded_latency(4.1).unwrap();
        assert!((unloaded.await_ms - 0.2).abs() < 1e-9 && !unloaded.is_upper_bound);
        // A baseline does not hold for other sizes.
        assert_eq!(baseline.unloaded_latency(64.0), None);
        let saturation = baseline.saturation(&totals(5000.0, 4.0, 0.6), 3.0);
        assert_eq!(saturation.map(|x| (x * 10.0).round()), Some(30.0));
        assert_eq!(baseline.saturation(&totals(5000.0, 64.0, 0.6), 3.0), None);
    }

    #[test]
    fn the_baseline_of_a_capture_is_an_upper_bound_where_the_shortest_queue_is_long() {
        let mut baseline = Baseline::default();
        for queue in [64.0, 32.0, 16.0, 8.0] {
            baseline.observe(&totals(1000.0, 4.0, queue / 10.0), 1.0, queue, None);
        }
        let unloaded = baseline.unloaded_latency(4.0).unwrap();
        assert!(unloaded.is_upper_bound && unloaded.queue.is_some_and(|queue| (queue - 8.0).abs() < 1e-9));
        // At the queue that it was learned from, saturation is unknown.
        assert_eq!(baseline.saturation(&totals(1000.0, 4.0, 0.8), 8.0), None);
        let saturation = baseline.saturation(&totals(1000.0, 4.0, 3.2), 32.0);
        assert!(saturation.is_some_and(|x| (x - 4.0).abs() < 1e-9));
    }

    #[test]
    fn few_requests_are_pooled_until_a_millisecond_matters_little() {
        let mut baseline = Baseline::default();
        // 0.7 ms each, counted as 1, 1, 0 ms and so on.
        for n in 0..40 {
            let ms = if n % 10 < 7 { 1.0 } else { 0.0 };
            baseline.observe(&IoTotals { ios: 1.0, kib: 4.0, ms }, 1.0, 0.01, None);
        }
        assert!(baseline.unloaded_latency(4.0).is_some_and(|found| (found.await_ms - 0.7).abs() < 0.05));
    }

    #[test]
    fn given_values_win_and_learned_ones_can_be_given() {
        let mut learned = Baseline::default();
        learned.observe(&totals(1000.0, 4.0, 0.2), 1.0, 0.2, None);
        let saved = serde_json::to_string(&learned.export()).unwrap();
        let given: Vec<UnloadedLatency> = serde_json::from_str(&saved).unwrap();
        let again = Baseline::default().with_given(&given, BaselineSource::Given);
        assert_eq!(again.unloaded_latency(4.0), learned.unloaded_latency(4.0));
        let stated = DeviceBaseline::stated(Some(0.5), None);
        let mut stated = Baseline::default().with_given(&stated.read, BaselineSource::Given);
        stated.observe(&totals(1000.0, 4.0, 0.2), 1.0, 0.2, None);
        assert_eq!(stated.unloaded_latency(4.0).map(|found| found.await_ms), Some(0.5));
    }
}

#[cfg(test)]
mod since_boot_tests {
    use super::*;

    fn reads(ios: u64, ms: u64) -> SinceBoot {
        let reads = Requests { ios, merges: 0, sectors: ios * 8, ms };
        SinceBoot::from_counters(&Counters { columns: Columns::Flushes, reads, ..Counters::ZERO })
    }

    #[test]
    fn the_mean_since_boot_is_of_like_requests_only() {
        let history = reads(1_000_000, 200_000);
        assert_eq!(history.mean_latency_ms(IoDirection::Reads, 4.0, 5.0), Some(0.2));
        assert_eq!(history.mean_latency_ms(IoDirection::Reads, 64.0, 5.0), None);
        assert_eq!(history.mean_latency_ms(IoDirection::Writes, 4.0, 5.0), None);
        assert_eq!(reads(10, 2).mean_latency_ms(IoDirection::Reads, 4.0, 5.0), None);
    }

    #[test]
    fn a_column_that_may_have_wrapped_is_not_used() {
        // 100 million requests of 5 ms are 500 million ms, which fit in 32 bits. Ten times that is more than they hold.
        let history = reads(100_000_000, 20_000_000);
        assert_eq!(history.mean_latency_ms(IoDirection::Reads, 4.0, 5.0), Some(0.2));
        assert_eq!(history.mean_latency_ms(IoDirection::Reads, 4.0, 50.0), None);
    }
}
