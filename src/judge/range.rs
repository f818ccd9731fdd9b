//! What is known of the unloaded latency of one kind of requests: a range, by size.
//!
//! At most `hi`: the slowest unloaded device of the class, the lowest latency seen of requests as large or larger, twice the
//! mean since boot, a baseline that was given or saved. At least `lo`, "they take that long even if nobody waits": two loads
//! on a line (chord), a latency that hardly scatters (still), a baseline.

use std::collections::VecDeque;

use super::best::{Best, End, Seen};
use super::by_class::ByClass;
use super::load::Load;
use super::settings::{BaselineSource, Settings};
use super::still::StillSteps;
use super::thresholds::{
    BOOT_REQUESTS, CLEARLY_LESS, CLEARLY_MORE, ClassLimits, GIVEN, LARGER_CLASSES, MAX_STEPS,
    MIN_QUEUE, RATE_REACH, SAVED_INTERVALS, TIMES_ERLANG, TIMES_SINCE_BOOT,
};
use crate::baselines::UnloadedLatency;
use crate::topology::DeviceClass;

/// The power of two of a size in KiB.
pub(super) fn size_class(kib: f64) -> i32 {
    kib.max(0.5).log2().round_ties_even() as i32
}

/// The power of four of a rate per second.
fn rate_class(rate: f64) -> i32 {
    rate.max(1e-3).log(4.0).floor() as i32
}

/// The range of the unloaded latency of requests of one size, at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub(super) lo: f64,
    /// Infinite if nothing is known.
    pub(super) hi: f64,
    /// The same without the mean since boot, which is of other content and proves no more than saturation.
    pub(super) hi_without_boot: f64,
    /// Where `hi` is known from; `None` if it is infinite.
    pub(super) source: Option<BaselineSource>,
    /// The seconds of the run at which `hi` was seen; `None` if it is known from elsewhere.
    pub(super) seen_s: Option<f64>,
}

impl Bounds {
    /// Takes what is known of the highest unloaded latency, if it is lower than what was known before.
    fn lower_hi(&mut self, hi: f64, source: BaselineSource, seen_s: Option<f64>) {
        if hi < self.hi {
            self.hi = hi;
            self.source = Some(source);
            self.seen_s = seen_s;
        }
    }

    /// The multiple of `hi` that requests took; `None` if nothing is known of them. That no disk at all is slower says nothing
    /// of requests that take less.
    pub(super) fn saturation(&self, ms: f64) -> Option<f64> {
        let is_of_any_disk = self.source == Some(BaselineSource::Class(None));
        let is_known = self.hi.is_finite() && !(is_of_any_disk && ms < self.hi);
        is_known.then(|| ms / self.hi)
    }
}

/// The mean of a kind of requests since boot.
#[derive(Clone, Copy, Debug)]
pub(super) struct SinceBoot {
    kib: f64,
    ms: f64,
}

impl SinceBoot {
    /// `None` if there were too few requests.
    pub(super) fn of(requests: f64, kib: f64, ms: f64) -> Option<Self> {
        (requests > BOOT_REQUESTS && ms > 0.0).then(|| Self {
            kib: kib / requests,
            ms: ms / requests,
        })
    }
}

/// A steady step, an end of a chord.
#[derive(Clone, Copy, Debug)]
struct Point {
    size: i32,
    ms: f64,
    rate: f64,
    queue: f64,
    requests: f64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Range {
    class: Option<DeviceClass>,
    given: Vec<UnloadedLatency>,
    given_source: BaselineSource,
    boot: Option<SinceBoot>,
    /// The lowest latencies, by size class.
    low: ByClass<i32, Best>,
    /// The steps with fewer than two requests at a time, by size class.
    quiet: ByClass<i32, u32>,
    /// The highest proofs of an unloaded latency, by size class and rate class.
    proof: ByClass<(i32, i32), Best>,
    /// The highest rates of the device, by size class.
    top: ByClass<i32, Best>,
    /// The latest steady steps, [`MAX_STEPS`] at most.
    points: VecDeque<Point>,
    still: StillSteps,
}

impl Range {
    pub(super) fn new(
        settings: &Settings,
        given: &[UnloadedLatency],
        boot: Option<SinceBoot>,
    ) -> Self {
        Self {
            class: settings.class,
            given: given.to_vec(),
            given_source: settings.baseline_source,
            boot,
            ..Self::default()
        }
    }

    /// The range for requests of `kib` KiB, of which `queue` are in flight at a time, at `rate` requests of the device per
    /// second.
    pub(super) fn bounds(&self, kib: f64, rate: f64, queue: f64) -> Bounds {
        let size = size_class(kib);
        let mut bounds = Bounds {
            lo: 0.0,
            hi: f64::INFINITY,
            hi_without_boot: f64::INFINITY,
            source: None,
            seen_s: None,
        };
        // No disk at all is slower unloaded than a slow hard disk; but a few requests may have met one that slept.
        if self.class.is_some() || queue >= MIN_QUEUE {
            let max_ms = ClassLimits::of(self.class).max_ms(kib);
            bounds.lower_hi(max_ms, BaselineSource::Class(self.class), None);
        }
        for (class, best) in self.low.iter() {
            if (size..=size + LARGER_CLASSES).contains(class)
                && let Some(seen) = best.seen()
            {
                bounds.lower_hi(seen.value, BaselineSource::Lowest, Some(seen.at_s));
            }
        }
        for ((of_size, at_rate), best) in self.proof.iter() {
            if *of_size <= size
                && *at_rate >= rate_class(rate) - RATE_REACH
                && let Some(proven) = best.value()
            {
                bounds.lo = bounds.lo.max(proven);
            }
        }
        if let Some(given) = self.given_for(size) {
            bounds.lower_hi(GIVEN[1] * given.await_ms, self.given_source, None);
            // Smaller requests may be faster.
            let is_same_size = given.size_kib.is_none_or(|kib| size_class(kib) == size);
            if is_same_size && !given.is_upper_bound {
                bounds.lo = bounds.lo.max(GIVEN[0] * given.await_ms);
            }
        }
        if bounds.source == Some(BaselineSource::Lowest) && bounds.hi < CLEARLY_MORE * bounds.lo {
            bounds.source = Some(BaselineSource::Learned);
        }
        bounds.hi_without_boot = bounds.hi;
        if let Some(boot) = self.boot
            && boot.kib >= CLEARLY_LESS * kib
        {
            bounds.lower_hi(TIMES_SINCE_BOOT * boot.ms, BaselineSource::SinceBoot, None);
        }
        bounds
    }

    /// The given baseline for a size class: that of the same size or of the next larger one, or one for any size.
    fn given_for(&self, size: i32) -> Option<&UnloadedLatency> {
        let distance =
            |given: &&UnloadedLatency| given.size_kib.map_or(0, |kib| size_class(kib) - size);
        self.given
            .iter()
            .filter(|given| (0..=LARGER_CLASSES).contains(&distance(given)))
            .min_by_key(distance)
    }

    /// The lowest flush latency in milliseconds, given or seen; `None` without one. Flushes have no size.
    pub(super) fn lowest_flush(&self) -> Option<Seen> {
        let given = self.given_for(0).map(|given| Seen {
            value: GIVEN[1] * given.await_ms,
            at_s: 0.0,
        });
        let seen = self.low.get(&0).and_then(Best::seen);
        match (given, seen) {
            (Some(given), Some(seen)) if given.value < seen.value => Some(given),
            (given, seen) => seen.or(given),
        }
    }

    /// Takes the mean latency of requests of a size class as seen.
    pub(super) fn learn_lowest(&mut self, size: i32, ms: f64, requests: f64, at_s: f64) {
        self.low
            .get_or_insert_with(size, || Best::new(End::Low))
            .add(ms * (1.0 + 1.0 / requests.sqrt()), at_s);
    }

    /// Takes a step with this mean latency of requests of a size class. `is_steady` if the queue was about that of the step
    /// before, so that it is no edge of a burst.
    pub(super) fn learn(
        &mut self,
        size: i32,
        ms: f64,
        requests: f64,
        load: &Load,
        is_steady: bool,
        at_s: f64,
    ) {
        self.learn_lowest(size, ms, requests, at_s);
        if load.queue < MIN_QUEUE {
            *self.quiet.get_or_insert_with(size, || 0) += 1;
        }
        self.top
            .get_or_insert_with(size, || Best::new(End::High))
            .add(load.rate(), at_s);
        if let Some((rate, ms)) = self.still.observe(size, ms, requests, load) {
            self.prove(size, rate, ms, at_s);
        }
        if !is_steady {
            return;
        }
        let point = Point {
            size,
            ms,
            rate: load.rate(),
            queue: load.queue,
            requests,
        };
        self.prove_by_chords(&point, at_s);
        if self.points.len() == MAX_STEPS {
            self.points.pop_front();
        }
        self.points.push_back(point);
    }

    fn prove(&mut self, size: i32, rate: f64, ms: f64, at_s: f64) {
        self.proof
            .get_or_insert_with((size, rate_class(rate)), || Best::new(End::High))
            .add(ms, at_s);
    }

    /// Latency is convex in the rate: the line through two loads meets rate 0 below the unloaded latency.
    fn prove_by_chords(&mut self, point: &Point, at_s: f64) {
        let mut proofs = Vec::new();
        for other in self.points.iter().filter(|other| other.size == point.size) {
            let (lower, higher) = if other.rate < point.rate {
                (other, point)
            } else {
                (point, other)
            };
            let grew = CLEARLY_MORE * lower.rate <= higher.rate
                && CLEARLY_MORE * lower.queue <= higher.queue;
            if !grew || higher.ms < CLEARLY_LESS * lower.ms {
                continue;
            }
            let slope = (higher.ms - lower.ms).max(0.0) / (higher.rate - lower.rate);
            let unloaded = lower.ms - lower.rate * slope;
            if unloaded > 0.0 {
                let fewest = point.requests.min(other.requests);
                proofs.push((lower.rate, unloaded * (1.0 - 1.0 / fewest.sqrt())));
            }
        }
        for (rate, ms) in proofs {
            self.prove(point.size, rate, ms, at_s);
        }
    }

    /// Returns whether the device has room: if a third of the latency were waiting, the highest rate seen would mean so many
    /// servers that at the present rate nobody waited (Sakasegawa's form of Erlang's formula, 1977). Only where the latency
    /// is near the lowest seen.
    pub(super) fn has_room(&self, size: i32, ms: f64, rate: f64) -> bool {
        let most = self
            .top
            .iter()
            .filter(|(class, _)| *class >= size)
            .filter_map(|(_, best)| best.value())
            .fold(0.0, f64::max);
        if rate > CLEARLY_LESS * most {
            return false;
        }
        let used = rate / most;
        let servers = (most * ms / CLEARLY_MORE / 1000.0).max(1.0);
        let exponent = (2.0 * (servers + 1.0)).sqrt() - 1.0;
        TIMES_ERLANG * used.powf(exponent) / servers / (1.0 - used) < CLEARLY_MORE - 1.0
    }

    /// Forgets the latest steps; what was learned stays.
    pub(super) fn forget_steps(&mut self) {
        self.points = VecDeque::new();
        self.still = StillSteps::default();
    }

    /// The lowest latencies by size that are worth saving: those of a minute of quiet steps or, for sizes without, what was given.
    pub(super) fn saved(&self) -> Vec<UnloadedLatency> {
        let mut saved = Vec::new();
        for (size, best) in self.low.iter() {
            let quiet = self.quiet.get(size).copied().unwrap_or_default();
            if let Some(await_ms) = best.value()
                && quiet >= SAVED_INTERVALS
            {
                saved.push(UnloadedLatency {
                    size_kib: Some(f64::from(*size).exp2()),
                    await_ms,
                    queue: None,
                    is_upper_bound: false,
                });
            }
        }
        for given in &self.given {
            if saved.iter().all(|one| one.size_kib != given.size_kib) {
                saved.push(*given);
            }
        }
        saved
    }

    /// The unloaded latency in milliseconds of requests of this size, at most; `None` if it is not known.
    pub(super) fn unloaded_ms(&self, kib: f64) -> Option<f64> {
        let hi = self.bounds(kib, 0.0, 0.0).hi;
        hi.is_finite().then_some(hi)
    }
}
