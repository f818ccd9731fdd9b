//! Unloaded latency of a device, learned from its intervals or given, and saturation against it.

use std::collections::BTreeMap;

use libm::{exp2, log2};

use super::load::{IoDirection, LoadSample};
use super::saved_baselines::UnloadedLatency;
use super::stats::{Histogram, IoTotals};
use super::thresholds::{
    BASELINE_QUANTILE, MAX_UNLOADED_QUEUE, MIN_BOUND_QUEUE_RATIO, MIN_LATENCY_REQUESTS, MIN_LATENCY_SUM_MS,
};

/// Classes of queues kept for a class of sizes, the shortest.
const MAX_QUEUE_CLASSES: usize = 3;
/// Sizes up to this many KiB are one class.
const MIN_SIZE_CLASS_KIB: f64 = 0.25;
/// Queues below this are one class: an unloaded device has no shorter queue that would matter.
const MIN_QUEUE_CLASS: f64 = 0.5;

/// The intervals from which a baseline is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaselinePolicy {
    /// Only intervals of an unloaded device: later ones may be less loaded, so no others can be trusted yet.
    #[default]
    Streaming,
    /// The intervals with the shortest queues, for a capture that is known to its end.
    WholeCapture,
}

/// The baseline of one direction: a low quantile, weighted by requests, of the latencies at the shortest queue seen,
/// for similar sizes. Its memory is bounded.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    policy: BaselinePolicy,
    given: Vec<UnloadedLatency>,
    /// By class of size, then by class of queue.
    observed: BTreeMap<i32, BTreeMap<i32, LatencyClass>>,
}

/// Latencies of one class of sizes and queues.
#[derive(Clone, Debug, Default)]
struct LatencyClass {
    await_ms: Histogram,
    queue: Histogram,
    /// Requests that are too few for a latency yet.
    pending: IoTotals,
}

impl LatencyClass {
    fn observe(&mut self, totals: &IoTotals, queue: f64) {
        self.queue.add(queue, totals.ios);
        self.pending = self.pending.plus(totals);
        // Short intervals are pooled, not left out: leaving out those of little time would keep the slow ones.
        if self.pending.ios >= MIN_LATENCY_REQUESTS && self.pending.ms >= MIN_LATENCY_SUM_MS {
            let pooled = std::mem::take(&mut self.pending);
            self.await_ms.add(pooled.ms / pooled.ios, pooled.ios);
        }
    }
}

impl Baseline {
    /// A baseline that is learned by `policy`; values `given` win over learned ones.
    pub fn new(policy: BaselinePolicy, given: &[UnloadedLatency]) -> Self {
        Self { policy, given: given.to_vec(), observed: BTreeMap::new() }
    }

    /// The same with other given values.
    pub fn with_given(self, given: &[UnloadedLatency]) -> Self {
        Self { given: given.to_vec(), ..self }
    }

    /// Learns from an interval's requests in this direction, at the mean queue of all requests of the device.
    pub fn observe(&mut self, totals: &IoTotals, total_queue: f64) {
        let Some(size) = totals.size_kib() else { return };
        if !total_queue.is_finite()
            || (self.policy == BaselinePolicy::Streaming && total_queue > MAX_UNLOADED_QUEUE)
        {
            return;
        }
        let classes = self.observed.entry(size_class(size)).or_default();
        classes.entry(queue_class(total_queue)).or_default().observe(totals, total_queue);
        while classes.len() > MAX_QUEUE_CLASSES {
            classes.pop_last();
        }
    }

    /// The unloaded latency for requests of this size; `None` while it is unknown.
    pub fn unloaded_latency(&self, size_kib: f64) -> Option<UnloadedLatency> {
        let class = size_class(size_kib);
        let fits = |given: &&UnloadedLatency| given.size_kib.is_none_or(|size| size_class(size) == class);
        self.given.iter().find(fits).copied().or_else(|| self.learned(class))
    }

    fn learned(&self, class: i32) -> Option<UnloadedLatency> {
        self.observed.get(&class)?.values().find_map(|latencies| {
            let queue = latencies.queue.quantile(0.5)?;
            Some(UnloadedLatency {
                size_kib: Some(exp2(f64::from(class))),
                await_ms: latencies.await_ms.quantile(BASELINE_QUANTILE)?,
                queue: Some(queue),
                is_upper_bound: queue > MAX_UNLOADED_QUEUE,
            })
        })
    }

    /// Every value, given or learned, to be saved and given again.
    pub fn export(&self) -> Vec<UnloadedLatency> {
        let learned = self.observed.keys().filter_map(|class| self.learned(*class));
        let is_given =
            |learned: &UnloadedLatency| self.given.iter().any(|given| given.size_kib == learned.size_kib);
        self.given.iter().copied().chain(learned.filter(|learned| !is_given(learned))).collect()
    }

    /// Latency as a multiple of unloaded latency for similar sizes; `None` where that is unknown.
    ///
    /// Against an upper bound the multiple is too low. It is then given only at about twice the queue of the bound or
    /// more, and is a lower bound.
    pub fn saturation(&self, totals: &IoTotals, total_queue: f64) -> Option<f64> {
        let unloaded = self.unloaded_latency(totals.size_kib()?)?;
        let is_comparable = !unloaded.is_upper_bound
            || unloaded.queue.is_some_and(|queue| total_queue >= MIN_BOUND_QUEUE_RATIO * queue);
        let saturation = totals.await_ms()? / unloaded.await_ms;
        (is_comparable && saturation.is_finite()).then_some(saturation)
    }
}

/// Teaches both baselines of a device a load, unless it may be the edge of a burst, whose mean queue is not what its
/// requests met.
pub(super) fn learn(load: &LoadSample, reads: &mut Baseline, writes: &mut Baseline) {
    if !load.is_edge_of_burst() {
        let total_queue = load.queue(IoDirection::Both);
        reads.observe(&load.reads, total_queue);
        writes.observe(&load.writes, total_queue);
    }
}

/// The saturation of a load: the time of its requests over what they would have taken unloaded; `None` where that is
/// unknown for a direction that matters.
pub(super) fn load_saturation(load: &LoadSample, reads: &Baseline, writes: &Baseline) -> Option<f64> {
    let total_queue = load.queue(IoDirection::Both);
    let (mut ms, mut unloaded_ms) = (0.0, 0.0);
    for (baseline, direction) in [(reads, IoDirection::Reads), (writes, IoDirection::Writes)] {
        let totals = load.totals(direction);
        match baseline.saturation(&totals, total_queue) {
            Some(saturation) if saturation > 0.0 => {
                ms += totals.ms;
                unloaded_ms += totals.ms / saturation;
            }
            None if load.is_major(direction) => return None,
            _ => {}
        }
    }
    Some(ms / unloaded_ms).filter(|saturation| saturation.is_finite())
}

/// The class of a size: the nearest power of two in KiB.
fn size_class(size_kib: f64) -> i32 {
    log2(size_kib.max(MIN_SIZE_CLASS_KIB)).round() as i32
}

/// The class of a queue: its power of two.
fn queue_class(queue: f64) -> i32 {
    log2(queue.max(MIN_QUEUE_CLASS)).floor() as i32
}

#[cfg(test)]
mod tests {
    use super::super::saved_baselines::DeviceBaseline;
    use super::*;

    fn totals(ios: f64, size_kib: f64, await_ms: f64) -> IoTotals {
        IoTotals { ios, kib: ios * size_kib, ms: ios * await_ms }
    }

    #[test]
    fn a_streaming_baseline_is_learned_from_an_unloaded_device_only() {
        let mut baseline = Baseline::default();
        baseline.observe(&totals(10_000.0, 4.0, 1.6), 16.0);
        assert_eq!(baseline.unloaded_latency(4.0), None);
        baseline.observe(&totals(1000.0, 4.0, 0.2), 0.2);
        let unloaded = baseline.unloaded_latency(4.1).unwrap();
        assert!((unloaded.await_ms - 0.2).abs() < 1e-9 && !unloaded.is_upper_bound);
        // It does not hold for other sizes.
        assert_eq!(baseline.unloaded_latency(64.0), None);
        let saturation = baseline.saturation(&totals(5000.0, 4.0, 0.6), 3.0);
        assert_eq!(saturation.map(|x| (x * 10.0).round()), Some(30.0));
        assert_eq!(baseline.saturation(&totals(5000.0, 64.0, 0.6), 3.0), None);
    }

    #[test]
    fn the_baseline_of_a_capture_is_an_upper_bound_where_the_shortest_queue_is_long() {
        let mut baseline = Baseline::new(BaselinePolicy::WholeCapture, &[]);
        for queue in [64.0, 32.0, 16.0, 8.0] {
            baseline.observe(&totals(1000.0, 4.0, queue / 10.0), queue);
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
            baseline.observe(&IoTotals { ios: 1.0, kib: 4.0, ms }, 0.01);
        }
        assert!(baseline.unloaded_latency(4.0).is_some_and(|found| (found.await_ms - 0.7).abs() < 0.05));
    }

    #[test]
    fn given_values_win_and_learned_ones_can_be_given() {
        let mut learned = Baseline::default();
        learned.observe(&totals(1000.0, 4.0, 0.2), 0.2);
        let saved = serde_json::to_string(&learned.export()).unwrap();
        let given: Vec<UnloadedLatency> = serde_json::from_str(&saved).unwrap();
        let again = Baseline::new(BaselinePolicy::Streaming, &given);
        assert_eq!(again.unloaded_latency(4.0), learned.unloaded_latency(4.0));
        let stated = DeviceBaseline::stated(Some(0.5), None);
        let mut stated = Baseline::new(BaselinePolicy::Streaming, &stated.read);
        stated.observe(&totals(1000.0, 4.0, 0.2), 0.2);
        assert_eq!(stated.unloaded_latency(4.0).map(|found| found.await_ms), Some(0.5));
    }
}
