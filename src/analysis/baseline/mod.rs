//! Unloaded latency of a device as a range: whatever is known of it (given, saved, the class of the device, loads that
//! were seen, the counters since boot) narrows the range, and a verdict is claimed where all of the range agrees.

mod elasticity;
mod irregularity;
mod seen_loads;
mod since_boot;

use std::collections::BTreeMap;
use std::f64::consts::SQRT_2;

use super::load::{IoDirection, LoadSample, RateUnit};
use super::saved_baselines::UnloadedLatency;
use super::settings::{BaselineSource, Settings};
use super::stats::{IoTotals, floor_log2};
use super::thresholds::{
    MAX_DISK_MS, MAX_FLASH_MS, MAX_HARD_DISK_MS, MAX_NETWORK_MS, MAX_NVME_MS, MAX_UNBEATEN_RATIO,
    MAX_UNLOADED_QUEUE, MIN_FLASH_KIB_PER_MS, MIN_HARD_DISK_KIB_PER_MS, MIN_NETWORK_KIB_PER_MS,
    MIN_NVME_KIB_PER_MS, MIN_QUEUEING_SATURATION, MIN_SATURATED_QUEUE, SINCE_BOOT_RATIO,
};
use crate::topology::DeviceClass;
use elasticity::Elasticity;
use irregularity::Irregularity;
use seen_loads::{Lowest, SeenLoad, SeenLoads, SeenRange};
pub use since_boot::SinceBoot;
use since_boot::WRAP_MARGIN;

/// The conclusions of a size class are drawn again when a load is new, or when the number of intervals has grown by one in
/// this many.
const INTERVALS_PER_UPDATE: u32 = 16;
/// Sizes up to this many KiB are one class.
const MIN_SIZE_CLASS_KIB: f64 = 0.25;

/// An upper bound of the unloaded latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct UpperBound {
    /// The latency that its source shows, in milliseconds.
    pub ms: f64,
    /// The same with an allowance for chance or for requests of other kinds.
    pub max_ms: f64,
    pub source: BaselineSource,
}

/// The range in which the unloaded latency of requests lies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct UnloadedRange {
    /// In milliseconds; `None` if it may be any shorter.
    pub lo_ms: Option<f64>,
    /// `None` if it may be any longer.
    pub hi: Option<UpperBound>,
    /// The unloaded device is not known to be faster than `hi`, which is about its latency unless a limit was active.
    pub is_exact: bool,
    /// The highest rate per second that was seen at about the lowest latency; `None` if no rate was.
    pub max_unloaded_rate: Option<f64>,
}

impl UnloadedRange {
    /// Latency as a multiple of unloaded latency, at least; `None` if nothing is known.
    pub(super) fn min_saturation(&self, await_ms: f64) -> Option<f64> {
        self.hi
            .map(|hi| await_ms / hi.max_ms)
            .filter(|one| one.is_finite())
    }

    /// Latency as a multiple of unloaded latency, at most; infinite if it may be any.
    pub(super) fn max_saturation(&self, await_ms: f64) -> f64 {
        self.lo_ms.map_or(f64::INFINITY, |lo_ms| await_ms / lo_ms)
    }

    /// The multiple to be shown, with the source of what it is a multiple of: `None` unless that is about the unloaded
    /// latency, or the multiple shows that requests waited.
    pub(super) fn shown_saturation(&self, await_ms: f64) -> Option<(f64, BaselineSource)> {
        let UpperBound { ms, source, .. } = self.hi?;
        let is_meaningful = (self.is_exact && !matches!(source, BaselineSource::Class(_)))
            || source == BaselineSource::SinceBoot
            || self.min_saturation(await_ms)? >= MIN_QUEUEING_SATURATION;
        let saturation = await_ms / ms;
        (is_meaningful && saturation.is_finite()).then_some((saturation, source))
    }
}

/// The baseline of one direction. Its memory is bounded.
#[derive(Clone, Debug, Default)]
pub(super) struct Baseline {
    given: Vec<UnloadedLatency>,
    given_source: BaselineSource,
    class: Option<DeviceClass>,
    since_boot: SinceBoot,
    /// By class of size. Boxed because they are large: a search then goes through less memory.
    observed: BTreeMap<i32, Box<SizeClass>>,
}

/// The intervals of requests of similar size.
#[derive(Clone, Debug, Default)]
struct SizeClass {
    loads: SeenLoads,
    /// Requests that are still too few for a latency. Short intervals are pooled, not left out: leaving out those with
    /// little request time would keep the slow ones.
    pending: SeenLoad,
    intervals: u32,
    /// The number of intervals at which conclusions are drawn again: the more there are, the less one more changes.
    next_update: u32,
    seen: SeenRange,
}

impl SizeClass {
    fn observe(&mut self, load: &SeenLoad) {
        self.pending = self.pending.plus(load);
        if !self.pending.has_latency() {
            return;
        }
        let is_news = self.loads.observe(&std::mem::take(&mut self.pending));
        self.intervals += 1;
        if is_news || self.intervals >= self.next_update {
            self.next_update = self.intervals + 1 + self.intervals / INTERVALS_PER_UPDATE;
            self.seen = self.loads.conclude();
        }
    }
}

impl Baseline {
    /// Replaces the given values, which come from the user or from a saved baseline. They win over learned ones.
    pub(super) fn with_given(self, given: &[UnloadedLatency], source: BaselineSource) -> Self {
        Self {
            given: given.to_vec(),
            given_source: source,
            ..self
        }
    }

    /// Learns from an interval's requests in this direction.
    fn observe(&mut self, load: &SeenLoad) {
        if let Some(size_kib) = load.totals.size_kib() {
            self.observed
                .entry(size_class(size_kib))
                .or_default()
                .observe(load);
        }
    }

    /// The value that was given for a size, unless faster requests beside others disprove it.
    fn given(&self, class: i32) -> Option<&UnloadedLatency> {
        let fits =
            |given: &&UnloadedLatency| given.size_kib.is_none_or(|size| size_class(size) == class);
        let given = self.given.iter().find(fits)?;
        let lowest = self
            .observed
            .get(&class)
            .and_then(|class| class.seen.lowest);
        let is_disproved = lowest.is_some_and(|lowest| {
            lowest.queue >= MIN_SATURATED_QUEUE
                && lowest.max_ms < MAX_UNBEATEN_RATIO * given.await_ms
        });
        (!is_disproved).then_some(given)
    }

    /// The range that is known for requests of a direction that take so long at this rate. `is_irregular` if completions are so irregular that no
    /// limit can be active; `inelastic_ms` is their usual latency if it is proven not to depend on how many come.
    fn range(
        &self,
        direction: IoDirection,
        totals: &IoTotals,
        rate: f64,
        is_irregular: bool,
        inelastic_ms: Option<f64>,
    ) -> UnloadedRange {
        let Some((size_kib, await_ms)) = totals.size_kib().zip(totals.await_ms()) else {
            return UnloadedRange::default();
        };
        let class = size_class(size_kib);
        let seen = self
            .observed
            .get(&class)
            .map(|class| class.seen)
            .unwrap_or_default();
        let max_unloaded_rate = seen.max_unloaded_rate;
        let upper = |ms: f64, max_ms: f64, source| UpperBound { ms, max_ms, source };
        if let Some(UnloadedLatency {
            await_ms: ms,
            is_upper_bound,
            ..
        }) = self.given(class).copied()
        {
            let hi = Some(upper(ms, ms, self.given_source));
            let lo_ms = (!is_upper_bound).then_some(ms);
            return UnloadedRange {
                lo_ms,
                hi,
                is_exact: !is_upper_bound,
                max_unloaded_rate,
            };
        }
        let lower = [seen.by_rate, seen.if_irregular.filter(|_| is_irregular)]
            .into_iter()
            .flatten();
        let lo_ms = lower
            .filter(|bound| rate <= bound.max_rate)
            .map(|bound| bound.ms);
        // No unloaded disk takes longer than that, so what takes longer waits, however even its latency.
        let is_of_disk = |ms: &f64| *ms <= max_unloaded_ms(None, size_kib);
        let lo_ms = lo_ms
            .chain(inelastic_ms.filter(is_of_disk))
            .reduce(f64::max);
        let lowest = seen.lowest.map(|lowest| {
            let is_unloaded = lowest.queue <= MAX_UNLOADED_QUEUE;
            let source = if is_unloaded {
                BaselineSource::Learned
            } else {
                BaselineSource::Lowest
            };
            upper(lowest.ms, lowest.max_ms, source)
        });
        let since_boot =
            self.since_boot
                .mean_latency_ms(direction, size_kib, WRAP_MARGIN * await_ms);
        let since_boot =
            since_boot.map(|ms| upper(ms, SINCE_BOOT_RATIO * ms, BaselineSource::SinceBoot));
        let is_flush = direction == IoDirection::Flushes;
        let of_class = (!is_flush).then(|| {
            let ms = max_unloaded_ms(self.class, size_kib);
            upper(ms, ms, BaselineSource::Class(self.class))
        });
        // A source that a newer one contradicts is of other contents, or was wrong.
        let is_possible =
            |hi: &UpperBound| lo_ms.is_none_or(|lo_ms| hi.max_ms >= MAX_UNBEATEN_RATIO * lo_ms);
        let older = [of_class, since_boot]
            .into_iter()
            .flatten()
            .filter(is_possible);
        let hi = lowest
            .into_iter()
            .chain(older)
            .min_by(|a, b| a.max_ms.total_cmp(&b.max_ms));
        let is_near = hi
            .zip(lo_ms)
            .is_some_and(|(hi, lo_ms)| hi.max_ms <= MIN_QUEUEING_SATURATION * lo_ms);
        let was_unloaded = hi.is_some_and(|hi| hi.source == BaselineSource::Learned);
        let is_about = |hi: UpperBound, ms: f64| ms < MIN_QUEUEING_SATURATION * hi.max_ms;
        let was_at_hi = hi
            .zip(lowest)
            .is_some_and(|(hi, lowest)| is_about(hi, lowest.ms));
        let max_unloaded_rate = max_unloaded_rate.filter(|_| was_at_hi);
        UnloadedRange {
            lo_ms,
            hi,
            is_exact: is_near || was_unloaded,
            max_unloaded_rate,
        }
    }

    /// The mean latency since boot under the assumption that requests have always taken as long as these. If it is far
    /// below theirs, the assumption was wrong. That does not prove trouble, because slower requests may have made the
    /// kernel's column wrap, but it is enough to doubt that the latency is usual.
    pub(super) fn likely_since_boot_ms(
        &self,
        direction: IoDirection,
        totals: &IoTotals,
    ) -> Option<f64> {
        self.since_boot
            .mean_latency_ms(direction, totals.size_kib()?, totals.await_ms()?)
    }

    /// The unloaded latency for requests of this size, given or learned; `None` while it is unknown.
    pub(super) fn unloaded_latency(&self, size_kib: f64) -> Option<UnloadedLatency> {
        let class = size_class(size_kib);
        self.given(class).copied().or_else(|| self.learned(class))
    }

    /// The latency learned for a class of sizes.
    fn learned(&self, class: i32) -> Option<UnloadedLatency> {
        let seen = self.observed.get(&class)?.seen;
        let Lowest {
            ms: await_ms,
            queue,
            ..
        } = seen.lowest?;
        let is_near = seen
            .by_rate
            .is_some_and(|lo| await_ms <= MIN_QUEUEING_SATURATION * lo.ms);
        Some(UnloadedLatency {
            size_kib: Some(f64::from(class).exp2()),
            await_ms,
            queue: Some(queue),
            is_upper_bound: queue > MAX_UNLOADED_QUEUE && !is_near,
        })
    }

    /// Every value, given or learned, to be saved and given again.
    pub(super) fn export(&self) -> Vec<UnloadedLatency> {
        let learned = self
            .observed
            .keys()
            .filter_map(|class| self.learned(*class));
        let is_given = |learned: &UnloadedLatency| {
            self.given
                .iter()
                .any(|given| given.size_kib == learned.size_kib)
        };
        self.given
            .iter()
            .copied()
            .chain(learned.filter(|learned| !is_given(learned)))
            .collect()
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Baselines {
    pub reads: Baseline,
    pub writes: Baseline,
    pub flushes: Baseline,
    irregularity: Irregularity,
    elasticity: Elasticity,
}

impl Baselines {
    /// Baselines with these given values and their origin, and with the counters at the first sample.
    pub(super) fn with_given(self, settings: &Settings, since_boot: SinceBoot) -> Self {
        let given = settings.baseline.clone().unwrap_or_default();
        let complete = |baseline: Baseline, given: &[UnloadedLatency]| Baseline {
            since_boot,
            ..baseline.with_given(given, settings.baseline_source)
        };
        let class = settings.device.class;
        Self {
            reads: Baseline {
                class,
                ..complete(self.reads, &given.read)
            },
            writes: Baseline {
                class,
                ..complete(self.writes, &given.write)
            },
            flushes: complete(self.flushes, &given.flush),
            irregularity: self.irregularity,
            elasticity: self.elasticity,
        }
    }

    /// The directions that have a baseline.
    pub(super) const DIRECTIONS: [IoDirection; 3] = [
        IoDirection::Reads,
        IoDirection::Writes,
        IoDirection::Flushes,
    ];

    /// The baseline of a direction. Reads and writes together have none of their own and get that of reads.
    pub(super) fn of(&self, direction: IoDirection) -> &Baseline {
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
        let without = |baseline: &Baseline| Baseline {
            observed: BTreeMap::default(),
            ..baseline.clone()
        };
        Self {
            reads: without(&self.reads),
            writes: without(&self.writes),
            flushes: without(&self.flushes),
            irregularity: Irregularity::default(),
            elasticity: Elasticity::default(),
        }
    }

    /// Learns from a load, unless it may be the edge of a burst, whose requests met a longer queue than its mean.
    /// Directions for which `slow` returns true are not learned: however long slowness lasts, it is not the usual
    /// latency.
    pub(super) fn learn(&mut self, load: &LoadSample, slow: impl Fn(IoDirection) -> bool) {
        self.irregularity.observe(load);
        if !load.is_edge_of_burst() {
            self.elasticity.observe(load);
            let queue_s = load.total_queue() * load.seconds;
            for direction in Self::DIRECTIONS
                .into_iter()
                .filter(|direction| !slow(*direction))
            {
                let totals = load.totals(direction);
                self.of_mut(direction).observe(&SeenLoad {
                    intervals: load.intervals,
                    totals,
                    seconds: load.seconds,
                    queue_s,
                    busy_s: load.busy_s,
                });
            }
        }
    }

    /// The range in which the unloaded latency of the requests of a direction lies.
    pub(super) fn range(&self, direction: IoDirection, load: &LoadSample) -> UnloadedRange {
        let (totals, rate) = (
            load.totals(direction),
            load.rate(direction, RateUnit::Requests),
        );
        let is_irregular = self.irregularity.is_proven();
        let inelastic_ms = totals
            .size_kib()
            .and_then(|size_kib| self.elasticity.inelastic_ms(direction, size_kib));
        self.of(direction)
            .range(direction, &totals, rate, is_irregular, inelastic_ms)
    }

    /// The multiples of latencies that were given or seen.
    pub(super) fn saturations(&self, load: &LoadSample) -> Saturations {
        let [reads, writes] = [IoDirection::Reads, IoDirection::Writes].map(|direction| {
            let await_ms = load.totals(direction).await_ms()?;
            let (saturation, source) = self.range(direction, load).shown_saturation(await_ms)?;
            (!source.is_assumed()).then_some(saturation)
        });
        Saturations {
            reads,
            writes,
            both: combined_saturation(load, reads, writes),
        }
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

/// The milliseconds that requests of a size take on average on an unloaded device of a class, at most; of any class if
/// it is `None`.
fn max_unloaded_ms(class: Option<DeviceClass>, size_kib: f64) -> f64 {
    let (small_ms, kib_per_ms) = match class {
        None => (MAX_DISK_MS, MIN_NETWORK_KIB_PER_MS),
        Some(DeviceClass::HardDisk) => (MAX_HARD_DISK_MS, MIN_HARD_DISK_KIB_PER_MS),
        Some(DeviceClass::Ssd) => (MAX_FLASH_MS, MIN_FLASH_KIB_PER_MS),
        Some(DeviceClass::Nvme) => (MAX_NVME_MS, MIN_NVME_KIB_PER_MS),
        Some(DeviceClass::Network) => (MAX_NETWORK_MS, MIN_NETWORK_KIB_PER_MS),
    };
    small_ms + size_kib / kib_per_ms
}

/// The class of a size: the nearest power of two in KiB.
fn size_class(size_kib: f64) -> i32 {
    floor_log2(SQRT_2 * size_kib.max(MIN_SIZE_CLASS_KIB))
}

#[cfg(test)]
mod tests {
    use super::super::saved_baselines::DeviceBaseline;
    use super::super::settings::KnownDevice;
    use super::*;
    use crate::counters::{Columns, Counters, Requests};

    /// A second of reads.
    fn load(ios: f64, size_kib: f64, await_ms: f64) -> LoadSample {
        let reads = IoTotals {
            ios,
            kib: ios * size_kib,
            ms: ios * await_ms,
        };
        LoadSample {
            seconds: 1.0,
            intervals: 1.0,
            reads,
            ..LoadSample::default()
        }
    }

    fn learned(loads: impl IntoIterator<Item = LoadSample>, settings: &Settings) -> Baselines {
        let mut baselines = Baselines::default().with_given(settings, SinceBoot::default());
        loads
            .into_iter()
            .for_each(|load| baselines.learn(&load, |_| false));
        baselines
    }

    fn hi(baselines: &Baselines, load: &LoadSample) -> (f64, BaselineSource) {
        let hi = baselines.range(IoDirection::Reads, load).hi.unwrap();
        ((hi.max_ms * 1000.0).round() / 1000.0, hi.source)
    }

    #[test]
    fn the_lowest_latency_narrows_the_range_of_its_size() {
        let baselines = learned(
            [load(10_000.0, 4.0, 1.6), load(1_000_000.0, 4.0, 0.2)],
            &Settings::default(),
        );
        // Less than a thousandth may be chance.
        assert_eq!(
            hi(&baselines, &load(100.0, 4.1, 1.0)),
            (0.2, BaselineSource::Lowest)
        );
        assert_eq!(
            hi(&baselines, &load(100.0, 60.0, 1.0)),
            (27.0, BaselineSource::Class(None))
        );
        let unloaded = baselines.reads.unloaded_latency(4.0).unwrap();
        assert!((unloaded.await_ms - 0.2).abs() < 1e-9 && unloaded.is_upper_bound);
    }

    #[test]
    fn a_class_and_the_mean_since_boot_narrow_the_range() {
        let device = KnownDevice {
            class: Some(DeviceClass::Ssd),
            ..KnownDevice::default()
        };
        let settings = Settings {
            device,
            ..Settings::default()
        };
        let waiting = load(1000.0, 4.0, 8.0);
        let baselines = learned([waiting], &settings);
        let of_class = (0.52, BaselineSource::Class(Some(DeviceClass::Ssd)));
        assert_eq!(hi(&baselines, &waiting), of_class);
        let reads = Requests {
            ios: 100_000,
            merges: 0,
            sectors: 800_000,
            ms: 10_000,
        };
        let counters = Counters {
            columns: Columns::Flushes,
            reads,
            ..Counters::ZERO
        };
        let baselines = baselines.with_given(&settings, SinceBoot::from_counters(&counters));
        assert_eq!(hi(&baselines, &waiting), (0.2, BaselineSource::SinceBoot));
    }

    #[test]
    fn a_multiple_is_shown_if_it_is_about_the_true_one_or_shows_waiting() {
        let baselines = learned([load(1000.0, 4.0, 8.0)], &Settings::default());
        let shown = |await_ms| {
            baselines
                .range(IoDirection::Reads, &load(1000.0, 4.0, await_ms))
                .shown_saturation(await_ms)
        };
        assert_eq!(shown(8.0), None);
        assert_eq!(shown(32.0), Some((4.0, BaselineSource::Lowest)));
        let baselines = learned([load(1000.0, 4.0, 0.2)], &Settings::default());
        let range = baselines.range(IoDirection::Reads, &load(1000.0, 4.0, 0.2));
        assert!(range.is_exact && range.shown_saturation(0.2).is_some());
    }

    #[test]
    fn few_requests_are_pooled_until_a_millisecond_matters_little() {
        // 0.7 ms each, counted as 1, 1, 0 ms and so on.
        let reads = (0..40).map(|n| load(1.0, 4.0, if n % 10 < 7 { 1.0 } else { 0.0 }));
        let baselines = learned(reads, &Settings::default());
        let unloaded = baselines.reads.unloaded_latency(4.0);
        assert!(
            unloaded.is_some_and(|found| (found.await_ms - 0.7).abs() < 0.05),
            "{unloaded:?}"
        );
    }

    #[test]
    fn given_values_win_and_learned_ones_can_be_given() {
        let once = learned([load(1000.0, 4.0, 0.2)], &Settings::default()).reads;
        let saved = serde_json::to_string(&once.export()).unwrap();
        let given: Vec<UnloadedLatency> = serde_json::from_str(&saved).unwrap();
        let again = Baseline::default().with_given(&given, BaselineSource::Given);
        assert_eq!(again.unloaded_latency(4.0), once.unloaded_latency(4.0));
        let baseline = Some(DeviceBaseline::stated(Some(0.5), None));
        let stated = learned(
            [load(1000.0, 4.0, 0.2)],
            &Settings {
                baseline,
                ..Settings::default()
            },
        );
        assert_eq!(
            hi(&stated, &load(1000.0, 4.0, 0.2)),
            (0.5, BaselineSource::Given)
        );
    }
}
