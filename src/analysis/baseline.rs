//! The unloaded response time of a device, learnt as it goes or given.

use std::collections::BTreeMap;

use libm::{exp2, log2};
use serde::{Deserialize, Serialize};

use super::load::{IoDirection, IoTotals, LoadSample};
use super::statistic::Histogram;

/// Up to which concurrency a response time counts as that of the unloaded device.
pub(super) const UNLOADED: f64 = 1.5;
/// Of how many requests a response time is made at least.
const LEAST_REQUESTS: f64 = 30.0;
/// A sum of response times is exact to a millisecond: this many make it exact to some percent.
const LEAST_MS: f64 = 20.0;
/// The share of the requests, fastest first, at whose end the baseline is read.
const LOW: f64 = 0.25;
/// How many classes of concurrency are kept for a class of sizes, the lowest.
const KEPT: usize = 3;

/// The response time of the unloaded device for requests of like size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnloadedLatency {
    /// The size, a power of two in KiB; `None`: any size.
    pub size_kib: Option<f64>,
    /// The response time in milliseconds.
    pub await_ms: f64,
    /// The mean concurrency at which it was seen; `None` when it was stated by hand.
    pub concurrency: Option<f64>,
    /// That concurrency is so high (above 1.5) that the unloaded device may answer faster.
    pub is_upper_bound: bool,
}

/// Baselines of both directions of a device, as they are saved and given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceBaseline {
    /// Of reads, by size.
    pub read: Vec<UnloadedLatency>,
    /// Of writes, by size.
    pub write: Vec<UnloadedLatency>,
}

impl DeviceBaseline {
    /// Fixed values in milliseconds for every size (`--baseline-ms R[,W]`).
    pub fn stated(read_ms: Option<f64>, write_ms: Option<f64>) -> Self {
        let any = |ms: Option<f64>| {
            ms.map(|await_ms| UnloadedLatency {
                size_kib: None,
                await_ms,
                concurrency: None,
                is_upper_bound: false,
            })
            .into_iter()
            .collect()
        };
        Self { read: any(read_ms), write: any(write_ms) }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty()
    }
}

/// The baselines of a machine, by device: the file of `--save-baseline`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedBaselines {
    /// By the kernel's name of the device.
    pub devices: BTreeMap<String, DeviceBaseline>,
}

/// From which concurrencies a baseline is learnt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaselinePolicy {
    /// About one or less: what comes later may be less loaded, so nothing else can be trusted yet.
    #[default]
    Live,
    /// The lowest that was seen, for a capture that is known to its end.
    Whole,
}

/// The baseline of one direction: a low quantile, weighted by requests, of the response times at the lowest
/// concurrency seen, for like sizes (formulas, "In words the verdicts"). Its memory is bounded.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    reach: BaselinePolicy,
    given: Vec<UnloadedLatency>,
    seen: BTreeMap<i32, BTreeMap<i32, Seen>>,
}

/// What was seen at one class of sizes and concurrency.
#[derive(Clone, Debug, Default)]
struct Seen {
    times: Histogram,
    concurrency: Histogram,
    /// What is too little for a response time yet.
    pending: IoTotals,
}

impl Seen {
    fn see(&mut self, work: &IoTotals, concurrency: f64) {
        self.concurrency.add(concurrency, work.ios);
        self.pending = self.pending.plus(work);
        // Short intervals are pooled, not left out: leaving out those of little time would keep the slow ones.
        if self.pending.ios >= LEAST_REQUESTS && self.pending.ms >= LEAST_MS {
            let pooled = std::mem::take(&mut self.pending);
            self.times.add(pooled.ms / pooled.ios, pooled.ios);
        }
    }
}

/// Has the baselines of a device learn from a load, unless its mean concurrency says nothing of what its requests met.
pub(super) fn learn(load: &LoadSample, reads: &mut Baseline, writes: &mut Baseline) {
    if !load.is_edge_of_burst() {
        let total = load.concurrency(IoDirection::Both);
        reads.see(&load.reads, total);
        writes.see(&load.writes, total);
    }
}

/// The class of a size: the nearest power of two in KiB.
pub(super) fn size_class(size_kib: f64) -> i32 {
    log2(size_kib.max(0.25)).round() as i32
}

/// The class of a concurrency: below one everything is alike.
fn concurrency_class(concurrency: f64) -> i32 {
    log2(concurrency.max(0.5)).floor() as i32
}

impl Baseline {
    /// A baseline that is learnt within this reach, with those given, which win.
    pub fn new(reach: BaselinePolicy, given: &[UnloadedLatency]) -> Self {
        Self { reach, given: given.to_vec(), seen: BTreeMap::new() }
    }

    /// The same with other given ones.
    pub fn with(self, given: &[UnloadedLatency]) -> Self {
        Self { given: given.to_vec(), ..self }
    }

    /// Learns from an interval's requests in this direction at the concurrency of all requests of the device.
    pub fn see(&mut self, work: &IoTotals, total_concurrency: f64) {
        let Some(size) = work.size_kib() else { return };
        if !total_concurrency.is_finite()
            || (self.reach == BaselinePolicy::Live && total_concurrency > UNLOADED)
        {
            return;
        }
        let classes = self.seen.entry(size_class(size)).or_default();
        classes.entry(concurrency_class(total_concurrency)).or_default().see(work, total_concurrency);
        while classes.len() > KEPT {
            classes.pop_last();
        }
    }

    /// The unloaded response time for requests of this size; `None` while it is not known.
    pub fn of(&self, size_kib: f64) -> Option<UnloadedLatency> {
        let class = size_class(size_kib);
        let fits = |given: &&UnloadedLatency| given.size_kib.is_none_or(|size| size_class(size) == class);
        self.given.iter().find(fits).copied().or_else(|| self.learnt(class))
    }

    fn learnt(&self, class: i32) -> Option<UnloadedLatency> {
        self.seen.get(&class)?.values().find_map(|seen| {
            let concurrency = seen.concurrency.quantile(0.5)?;
            Some(UnloadedLatency {
                size_kib: Some(exp2(f64::from(class))),
                await_ms: seen.times.quantile(LOW)?,
                concurrency: Some(concurrency),
                is_upper_bound: concurrency > UNLOADED,
            })
        })
    }

    /// Every baseline known, to be saved and given again.
    pub fn known(&self) -> Vec<UnloadedLatency> {
        let learnt = self.seen.keys().filter_map(|class| self.learnt(*class));
        let given =
            |learnt: &UnloadedLatency| self.given.iter().any(|given| given.size_kib == learnt.size_kib);
        self.given.iter().copied().chain(learnt.filter(|learnt| !given(learnt))).collect()
    }

    /// The response time as a multiple of the unloaded device's for like sizes; `None` where that is not known.
    ///
    /// Against an upper bound the multiple is too low; so there it is given only for requests at twice the
    /// concurrency of the bound or about that, and is the least that it can be.
    pub fn saturation(&self, work: &IoTotals, total_concurrency: f64) -> Option<f64> {
        let unloaded = self.of(work.size_kib()?)?;
        // LoadHistory of twice the concurrency scatter about it, and should all be told alike.
        const TWICE: f64 = 1.8;
        let is_telling = !unloaded.is_upper_bound
            || unloaded.concurrency.is_some_and(|seen| total_concurrency >= TWICE * seen);
        let saturation = work.await_ms()? / unloaded.await_ms;
        (is_telling && saturation.is_finite()).then_some(saturation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(ios: f64, size: f64, await_ms: f64) -> IoTotals {
        IoTotals { ios, kib: ios * size, ms: ios * await_ms }
    }

    #[test]
    fn a_live_baseline_is_learnt_at_a_concurrency_of_about_one() {
        let mut baseline = Baseline::default();
        baseline.see(&work(10_000.0, 4.0, 1.6), 16.0);
        assert_eq!(baseline.of(4.0), None);
        baseline.see(&work(1000.0, 4.0, 0.2), 0.2);
        let unloaded = baseline.of(4.1).unwrap();
        assert!((unloaded.await_ms - 0.2).abs() < 1e-9 && !unloaded.is_upper_bound);
        // Other sizes are not like it.
        assert_eq!(baseline.of(64.0), None);
        assert_eq!(baseline.saturation(&work(5000.0, 4.0, 0.6), 3.0).map(|x| (x * 10.0).round()), Some(30.0));
        assert_eq!(baseline.saturation(&work(5000.0, 64.0, 0.6), 3.0), None);
    }

    #[test]
    fn a_capture_uses_the_lowest_concurrency_and_says_it_is_a_bound() {
        let mut baseline = Baseline::new(BaselinePolicy::Whole, &[]);
        for concurrency in [64.0, 32.0, 16.0, 8.0] {
            baseline.see(&work(1000.0, 4.0, concurrency / 10.0), concurrency);
        }
        let unloaded = baseline.of(4.0).unwrap();
        assert!(unloaded.is_upper_bound && unloaded.concurrency.is_some_and(|n| (n - 8.0).abs() < 1e-9));
        // At the concurrency that it was learnt from it says nothing.
        assert_eq!(baseline.saturation(&work(1000.0, 4.0, 0.8), 8.0), None);
        assert!(baseline.saturation(&work(1000.0, 4.0, 3.2), 32.0).is_some_and(|x| (x - 4.0).abs() < 1e-9));
    }

    #[test]
    fn few_requests_are_pooled_until_a_millisecond_weighs_little() {
        let mut baseline = Baseline::default();
        // 0.7 ms each, seen as 1, 1, 0 ms and so on.
        for n in 0..40 {
            baseline.see(&IoTotals { ios: 1.0, kib: 4.0, ms: if n % 10 < 7 { 1.0 } else { 0.0 } }, 0.01);
        }
        assert!(baseline.of(4.0).is_some_and(|found| (found.await_ms - 0.7).abs() < 0.05));
    }

    #[test]
    fn what_is_given_wins_and_what_is_known_can_be_given() {
        let mut learnt = Baseline::default();
        learnt.see(&work(1000.0, 4.0, 0.2), 0.2);
        let saved = serde_json::to_string(&learnt.known()).unwrap();
        let again = Baseline::new(
            BaselinePolicy::Live,
            &serde_json::from_str::<Vec<UnloadedLatency>>(&saved).unwrap(),
        );
        assert_eq!(again.of(4.0), learnt.of(4.0));
        let mut stated = Baseline::new(BaselinePolicy::Live, &DeviceBaseline::stated(Some(0.5), None).read);
        stated.see(&work(1000.0, 4.0, 0.2), 0.2);
        assert_eq!(stated.of(4.0).map(|found| found.await_ms), Some(0.5));
        assert!(DeviceBaseline::stated(Some(0.5), None).write.is_empty());
    }
}
