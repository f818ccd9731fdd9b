//! Steady rates: loads at one constant rate.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

use super::cloud_limits::matches_limit_exactly;
use super::dispersion::{Dispersion, dispersion};
use super::pace::{Pace, has_constant_queue, has_same_in_flight, pace};
use crate::analysis::load::{IoDirection, LoadSample, RateUnit, weighted_median_of};
use crate::analysis::settings::KnownDevice;
use crate::analysis::thresholds::{
    ABOVE_RATE_TOLERANCE_RATIO, CONSTANT_QUEUE_INTERVALS, LARGE_REQUEST_RATIO, LOADED_RATIO_CONSTANT,
    LOADED_RATIO_GROWN, MAX_ABOVE_RATE_FRACTION, MAX_ABOVE_RATE_INTERVALS, MAX_CALIBRATED_FRACTION,
    MAX_CAP_DISPERSION, MAX_CONSTANT_QUEUE_DISPERSION, MAX_LIGHTER_QUEUE_RATIO, MAX_ONE_CLIENT_DISPERSION,
    MAX_ONE_CLIENT_QUEUE, MAX_POSSIBLE_CAP_DISPERSION, MIN_CAPPED_QUEUE, MIN_CONCURRENCY_GROWTH,
    MIN_CONSTANT_QUEUE, MIN_INTERVAL_REQUESTS, MIN_LIGHT_INTERVALS, MIN_ON_RATE_FRACTION,
    MIN_PLATEAU_INTERVALS, MIN_PLATEAU_QUEUE, MIN_QUEUE_END_INTERVALS, MIN_QUEUEING_SATURATION,
    MIN_RATE_CHANGE_RATIO, MIN_WITNESS_INTERVALS, ON_RATE_TOLERANCE_RATIO, PLATEAU_END_INTERVALS,
    SAME_LIMIT_TOLERANCE, SAME_QUEUE_TOLERANCE, STEADY_TOLERANCE,
};

/// A direction of a device and the unit of its rate.
#[derive(Clone, Copy)]
pub(super) struct RateKind {
    pub(super) direction: IoDirection,
    pub(super) unit: RateUnit,
    pub(super) device: KnownDevice,
}

impl RateKind {
    pub(super) fn rate(self, load: &LoadSample) -> f64 {
        load.rate(self.direction, self.unit)
    }

    pub(super) fn queue(self, load: &LoadSample) -> f64 {
        load.queue(self.direction)
    }

    /// The relative difference within which a rate equals that of a load: the tolerance, or one request (possibly a
    /// large one) if that is more.
    fn tolerance(self, load: &LoadSample) -> f64 {
        let request = if self.unit == RateUnit::Kib { LARGE_REQUEST_RATIO } else { 1.0 };
        STEADY_TOLERANCE.max(request * load.intervals / load.totals(self.direction).ios)
    }

    /// The median rate of loads; `None` without loads.
    fn median_rate(self, loads: &[&LoadSample]) -> Option<f64> {
        weighted_median_of(loads, |load| Some(self.rate(load)))
    }
}

/// Loads whose rates lie within [`STEADY_TOLERANCE`] of one rate, in the order of time.
pub(super) struct SteadyRate<'a> {
    pub(super) loads: Vec<&'a LoadSample>,
    pub(super) rate: f64,
    /// The shortest queue, which at least two intervals had.
    pub(super) min_queue: f64,
    /// The longest queue, which two consecutive intervals had.
    pub(super) max_queue: f64,
    /// Most of the loaded time within its time span was spent at the rate.
    pub(super) is_steady: bool,
    /// The queue quadrupled meanwhile, and the rate was the same below and above.
    pub(super) concurrency_grew: bool,
    /// It is the cap that the user stated.
    pub(super) is_stated: bool,
    /// It matches exactly a limit of the cloud that the device is known to be a volume of.
    is_exact_limit: bool,
    kind: RateKind,
    /// The loads within its span that had a queue as long as those at the rate.
    loaded: Vec<&'a LoadSample>,
    /// All loads that it was evaluated against.
    all: Rc<[&'a LoadSample]>,
    /// The number of intervals in `loaded`, and of those among them that are on the rate.
    loaded_intervals: f64,
    on_rate_intervals: f64,
    /// The following three take long to compute and are not needed for most rates.
    dispersion: OnceCell<f64>,
    light_dispersion: OnceCell<Option<Dispersion>>,
    pace: OnceCell<Pace>,
    /// At a constant queue, and never more than one request at a time.
    is_of_one_client: bool,
    /// The number of requests in flight was the same all the time.
    pub(super) is_at_constant_queue: bool,
}

impl SteadyRate<'_> {
    /// Returns whether it proves a cap by itself. Fully busy servers hold their rate too, but not as exactly.
    pub(super) fn proves_cap(&self) -> bool {
        let max = if self.is_exact_limit { MAX_POSSIBLE_CAP_DISPERSION } else { MAX_CAP_DISPERSION };
        self.is_stated
            || self.can_be_cap()
                && (self.concurrency_grew && (self.dispersion() < max || self.is_calibrated())
                    || self.is_held())
    }

    /// Returns whether nothing contradicts a cap: requests do not arrive as regularly, and the device is not as regular
    /// at lighter loads.
    pub(super) fn can_be_cap(&self) -> bool {
        let max_even = |light: Dispersion| Self::max_calibrated(light.upper);
        let is_as_even = || self.light_dispersion().is_some_and(|light| self.dispersion() >= max_even(light));
        self.is_stated || (self.pace().is_held() && !is_as_even())
    }

    /// Returns whether the rate is far more exact than the device is at lighter loads.
    fn is_calibrated(&self) -> bool {
        self.light_dispersion().is_some_and(|light| self.dispersion() < Self::max_calibrated(light.lower))
    }

    /// The dispersion up to which a rate is far more exact than at a lighter load with the dispersion `light`.
    fn max_calibrated(light: f64) -> f64 {
        (MAX_CALIBRATED_FRACTION * light).min(MAX_POSSIBLE_CAP_DISPERSION)
    }

    /// Returns whether the rate is more exact than any server, at a constant queue or however requests arrive.
    fn is_held(&self) -> bool {
        let (is_possible, max) = if self.min_queue >= MIN_CAPPED_QUEUE {
            (self.is_at_constant_queue || self.pace() == Pace::Completions, MAX_CONSTANT_QUEUE_DISPERSION)
        } else {
            (self.is_of_one_client, MAX_ONE_CLIENT_DISPERSION)
        };
        is_possible
            && self.loads.len() >= CONSTANT_QUEUE_INTERVALS
            && (self.dispersion() < max || self.is_calibrated())
    }

    /// Returns whether its dispersion or the user shows that it is a cap, and not only the limit that it matches.
    pub(super) fn is_certain(&self) -> bool {
        self.is_stated || self.is_low_dispersion() || self.is_calibrated()
    }

    /// Returns whether the rate is more exact than that of busy servers.
    pub(super) fn is_low_dispersion(&self) -> bool {
        self.dispersion() < MAX_CAP_DISPERSION
    }

    /// Returns whether it can be a cap if another rate of the same load is proven to be one.
    pub(super) fn may_be_cap(&self) -> bool {
        self.proves_cap() || (self.can_be_cap() && self.dispersion() < MAX_POSSIBLE_CAP_DISPERSION)
    }

    /// Returns whether it can be a cap before another one, too short to show its pace.
    pub(super) fn may_be_brief_cap(&self) -> bool {
        self.pace() != Pace::Arrivals && self.dispersion() < MAX_POSSIBLE_CAP_DISPERSION
    }

    /// The largest dispersion that it may have: 1 is that of requests that complete at random.
    fn dispersion(&self) -> f64 {
        *self.dispersion.get_or_init(|| {
            dispersion(&self.loaded, self.kind.direction, self.kind.unit)
                .map_or(f64::INFINITY, |dispersion| dispersion.upper)
        })
    }

    /// The dispersion at lighter loads of the device in closed loops; `None` if there are too few of them.
    fn light_dispersion(&self) -> Option<Dispersion> {
        *self.light_dispersion.get_or_init(|| {
            let longest = self.max_queue / self.rate;
            let lighter = lighter_loads(&self.all, self.kind, self.rate, self.min_queue, longest);
            closed_loop_dispersion(lighter, self.kind)
        })
    }

    /// Returns whether requests took clearly less time at a shorter queue, so that they wait at this rate.
    fn were_faster(&self) -> bool {
        let longest = self.min_queue / self.rate / MIN_QUEUEING_SATURATION;
        let lighter = lighter_loads(&self.all, self.kind, self.rate, self.min_queue, longest);
        count_intervals(lighter.into_iter()) >= MIN_WITNESS_INTERVALS
    }

    /// The more regular of arrivals and completions.
    fn pace(&self) -> Pace {
        let RateKind { direction, unit, .. } = self.kind;
        *self.pace.get_or_init(|| {
            let is_at_constant_queue = self.is_at_constant_queue;
            pace(&self.loaded, direction, unit, self.rate, is_at_constant_queue, self.were_faster())
        })
    }

    /// Returns whether it may be steady if `others` of the loaded intervals are left out.
    pub(super) fn may_be_steady_without(&self, others: f64) -> bool {
        may_be_steady(self.on_rate_intervals, self.loaded_intervals - others)
    }

    /// The index of its first interval.
    pub(super) fn first_interval(&self) -> f64 {
        self.loads.first().map_or(f64::INFINITY, |load| load.interval_index)
    }

    /// The index of its last interval.
    pub(super) fn last_interval(&self) -> f64 {
        self.loads.last().map_or(f64::NEG_INFINITY, |load| load.interval_index)
    }

    /// Evaluates the loads of one rate against all loads of the device. The rate is steady if the device, whenever it
    /// was as loaded, spent most of the time at the rate and little above it. `None` if there are too few loads for a
    /// rate and a queue.
    pub(super) fn evaluate<'a>(
        one: SameRate<'a>,
        all: &Rc<[&'a LoadSample]>,
        kind: RateKind,
        stated: Option<f64>,
    ) -> Option<SteadyRate<'a>> {
        let SameRate { loads, rate, min_queue, max_queue, has_grown, loaded_intervals, on_rate_intervals } =
            one;
        let (first, last) = (loads.first()?.interval_index, loads.last()?.interval_index);
        let within_span = || all.iter().copied().filter(|load| (first..=last).contains(&load.interval_index));
        let min_loaded_queue = SameRate::min_loaded_queue(has_grown, min_queue);
        let loaded: Vec<&'a LoadSample> =
            within_span().filter(|load| kind.queue(load) >= min_loaded_queue).collect();
        let above =
            count_intervals(within_span().filter(|load| {
                kind.rate(load) / rate > 1.0 + ABOVE_RATE_TOLERANCE_RATIO * kind.tolerance(load)
            }));
        let is_at_constant_queue = has_constant_queue(&loads, kind.direction);
        let min_long_queue = if is_at_constant_queue { MIN_CONSTANT_QUEUE } else { MIN_PLATEAU_QUEUE };
        let requests =
            weighted_median_of(&loads, |load| Some(load.totals(kind.direction).ios / load.intervals))?;
        let min_on_rate = MIN_ON_RATE_FRACTION * loaded_intervals;
        let is_steady = requests >= MIN_INTERVAL_REQUESTS
            && on_rate_intervals >= min_on_rate.max(MIN_PLATEAU_INTERVALS - PLATEAU_END_INTERVALS)
            && above <= (MAX_ABOVE_RATE_FRACTION * loaded_intervals).max(MAX_ABOVE_RATE_INTERVALS)
            && max_queue >= min_long_queue;
        let (iops, mib_per_s) = median_rates(&loads, kind.direction)?;
        Some(SteadyRate {
            is_steady,
            concurrency_grew: has_grown
                && rate_equal_below_and_above(&loads, kind, (min_queue * max_queue).sqrt()),
            is_stated: stated.is_some_and(|cap| (rate / cap - 1.0).abs() <= SAME_LIMIT_TOLERANCE),
            is_exact_limit: matches_limit_exactly(&kind.device, kind.unit, iops, mib_per_s),
            kind,
            loaded,
            all: Rc::clone(all),
            loaded_intervals,
            on_rate_intervals,
            dispersion: OnceCell::new(),
            light_dispersion: OnceCell::new(),
            pace: OnceCell::new(),
            is_of_one_client: is_at_constant_queue
                && loads.iter().all(|load| load.queue(IoDirection::Both) <= MAX_ONE_CLIENT_QUEUE),
            is_at_constant_queue,
            loads,
            rate,
            min_queue,
            max_queue,
        })
    }
}

/// Loads of about one rate, before it is known whether that is steady.
pub(super) struct SameRate<'a> {
    /// In the order of time.
    loads: Vec<&'a LoadSample>,
    rate: f64,
    min_queue: f64,
    max_queue: f64,
    /// The queue quadrupled within the loads.
    has_grown: bool,
    loaded_intervals: f64,
    on_rate_intervals: f64,
}

impl<'a> SameRate<'a> {
    /// Compares loads with `all` loads of the device, in the order of time. `None` if there are too few for a rate and
    /// a queue.
    pub(super) fn of(mut loads: Vec<&'a LoadSample>, all: &[RatedLoad<'a>], kind: RateKind) -> Option<Self> {
        loads.sort_by(|a, b| a.interval_index.total_cmp(&b.interval_index));
        let (first, last) = (loads.first()?.interval_index, loads.last()?.interval_index);
        let rate = kind.median_rate(&loads)?;
        let (min_queue, max_queue) = queue_range(&loads, kind)?;
        let has_grown = max_queue >= MIN_CONCURRENCY_GROWTH * min_queue;
        let min_loaded_queue = Self::min_loaded_queue(has_grown, min_queue);
        let (mut loaded_intervals, mut on_rate_intervals) = (0.0, 0.0);
        for one in all {
            let is_within_span = (first <= one.interval_index) & (one.interval_index <= last);
            let is_loaded = is_within_span & (one.queue >= min_loaded_queue);
            loaded_intervals += if is_loaded { one.intervals } else { 0.0 };
            // Most rates are far off, which can be seen without a division.
            let tolerance = ON_RATE_TOLERANCE_RATIO * one.tolerance;
            let may_be_on_rate = (one.rate - rate).abs() <= (tolerance + ROUNDING_TOLERANCE) * rate;
            if is_loaded & may_be_on_rate {
                let is_on_rate = (one.rate / rate - 1.0).abs() <= tolerance && one.variation <= one.tolerance;
                on_rate_intervals += if is_on_rate { one.intervals } else { 0.0 };
            }
        }
        Some(Self { loads, rate, min_queue, max_queue, has_grown, loaded_intervals, on_rate_intervals })
    }

    /// The shortest queue at which a load within the time span counts as loaded like those at the rate.
    fn min_loaded_queue(has_grown: bool, min_queue: f64) -> f64 {
        let loaded_ratio = if has_grown { LOADED_RATIO_GROWN } else { LOADED_RATIO_CONSTANT };
        loaded_ratio * min_queue
    }

    /// Returns whether it may be steady if at most `others` of the loaded intervals are left out.
    pub(super) fn may_be_steady_without(&self, others: f64) -> bool {
        may_be_steady(self.on_rate_intervals, self.loaded_intervals - others)
    }
}

/// Returns whether a rate with this number of the loaded intervals may be steady.
fn may_be_steady(on_rate_intervals: f64, loaded_intervals: f64) -> bool {
    on_rate_intervals >= MIN_ON_RATE_FRACTION * loaded_intervals
}

/// The clearly slower loads of a device whose queues are clearly shorter than `min_queue`.
///
/// A load with a latency above `longest` (queue divided by rate) met another limit and is left out.
fn lighter_loads<'a>(
    all: &[&'a LoadSample],
    kind: RateKind,
    rate: f64,
    min_queue: f64,
    longest: f64,
) -> Vec<&'a LoadSample> {
    let is_lighter = |load: &&LoadSample| {
        MIN_RATE_CHANGE_RATIO * kind.rate(load) <= rate
            && MAX_LIGHTER_QUEUE_RATIO * kind.queue(load) <= min_queue
            && kind.queue(load) / kind.rate(load) <= longest
    };
    all.iter().copied().filter(is_lighter).collect()
}

/// The dispersion at the queue with most intervals among the closed loops of `lighter` loads; `None` if there are
/// too few. Requests that arrive at random vary by themselves and show nothing about the device.
fn closed_loop_dispersion(mut lighter: Vec<&LoadSample>, kind: RateKind) -> Option<Dispersion> {
    lighter.sort_by(|a, b| kind.queue(a).total_cmp(&kind.queue(b)));
    let is_same = |a: &&LoadSample, b: &&LoadSample| {
        kind.queue(b) - kind.queue(a) <= SAME_QUEUE_TOLERANCE * kind.queue(b)
    };
    let closed = lighter
        .chunk_by(is_same)
        .filter(|group| group.len() >= MIN_LIGHT_INTERVALS && has_same_in_flight(group, kind.direction));
    let most = closed.max_by_key(|group| group.len())?;
    let mut most = most.to_vec();
    most.sort_by(|a, b| a.interval_index.total_cmp(&b.interval_index));
    dispersion(&most, kind.direction, kind.unit)
}

/// The median rates of loads in requests and in MiB per second; `None` without loads.
pub(super) fn median_rates(loads: &[&LoadSample], direction: IoDirection) -> Option<(f64, f64)> {
    let median = |unit| weighted_median_of(loads, |load| Some(load.rate(direction, unit)));
    Some((median(RateUnit::Requests)?, median(RateUnit::Kib)? / 1024.0))
}

pub(super) fn count_intervals<'a>(loads: impl Iterator<Item = &'a LoadSample>) -> f64 {
    loads.map(|load| load.intervals).sum()
}

/// A load with its rate and the other numbers that a search needs. They are copied here because they are slow to
/// compute, are compared many times, and would be scattered over memory once loads are sorted by rate.
#[derive(Clone, Copy)]
pub(super) struct RatedLoad<'a> {
    pub(super) rate: f64,
    /// The highest rate that counts as the same as this one.
    max_same_rate: f64,
    pub(super) queue: f64,
    tolerance: f64,
    intervals: f64,
    interval_index: f64,
    variation: f64,
    pub(super) load: &'a LoadSample,
}

impl<'a> RatedLoad<'a> {
    #[inline]
    pub(super) fn new(load: &'a LoadSample, kind: RateKind) -> Self {
        let (rate, tolerance) = (kind.rate(load), kind.tolerance(load));
        Self {
            rate,
            max_same_rate: rate * (1.0 + 2.0 * tolerance),
            queue: kind.queue(load),
            tolerance,
            intervals: load.intervals,
            interval_index: load.interval_index,
            variation: load.variation,
            load,
        }
    }
}

/// More than the error of a few operations with numbers near one.
const ROUNDING_TOLERANCE: f64 = 1e-9;

/// The loads sorted by their rates, which are positive. Equal ones stay in their order.
pub(super) fn sorted_by_rate<'a>(loads: &[RatedLoad<'a>]) -> Vec<RatedLoad<'a>> {
    let by_leading_bits = sorted_by_leading_bits(loads);
    if by_leading_bits.is_sorted_by(|a, b| a.rate <= b.rate) {
        return by_leading_bits;
    }
    // Positive floats sort like their bits. One integer that also holds the index is faster to compare than both.
    let key = |(index, one): (usize, &RatedLoad)| u128::from(one.rate.to_bits()) << 64 | index as u128;
    let mut keys: Vec<u128> = loads.iter().enumerate().map(key).collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| loads[key as u64 as usize]).collect()
}

/// The loads sorted by the leading bits of their rates, which usually all differ.
fn sorted_by_leading_bits<'a>(loads: &[RatedLoad<'a>]) -> Vec<RatedLoad<'a>> {
    let index_bits = u64::MAX >> (loads.len() as u64 | 1).leading_zeros();
    let key = |(index, one): (usize, &RatedLoad)| one.rate.to_bits() & !index_bits | index as u64;
    let mut keys: Vec<u64> = loads.iter().enumerate().map(key).collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| loads[(key & index_bits) as usize]).collect()
}

/// Returns whether enough intervals for a plateau may have about the same rate. This costs far less than sorting the
/// loads, and is false for most devices.
pub(super) fn may_have_dense_window(loads: &[RatedLoad]) -> bool {
    // 64 classes for each power of two. Rates far apart may share a counter, which then counts too many, never too few.
    const COUNTERS: usize = 256;
    let class = |rate: f64| (rate.to_bits() >> 46) as usize;
    let mut intervals = [0.0; COUNTERS];
    for one in loads {
        intervals[class(one.rate) % COUNTERS] += one.intervals;
    }
    loads.iter().any(|one| {
        let same = class(one.rate)..=class(one.max_same_rate);
        same.end() - same.start() >= COUNTERS
            || same.map(|class| intervals[class % COUNTERS]).sum::<f64>() >= MIN_PLATEAU_INTERVALS
    })
}

/// The range of loads, sorted by rate, at whose rate most time was spent; `None` if that is too little for a plateau.
pub(super) fn densest_rate_window(sorted: &[RatedLoad]) -> Option<Range<usize>> {
    let (mut first, mut weight, mut best) = (0, 0.0, (0.0, 0..0));
    for (end, last) in sorted.iter().enumerate() {
        weight += last.intervals;
        while last.rate > sorted[first].max_same_rate {
            weight -= sorted[first].intervals;
            first += 1;
        }
        if weight > best.0 {
            best = (weight, first..end + 1);
        }
    }
    (best.0 >= MIN_PLATEAU_INTERVALS).then_some(best.1)
}

/// The shortest queue that at least two intervals had and the longest that two consecutive ones had, from loads in the
/// order of time: a device that stops for a moment and catches up has a single long queue. `None` without such
/// intervals.
fn queue_range(loads: &[&LoadSample], kind: RateKind) -> Option<(f64, f64)> {
    let mut sorted: Vec<(f64, f64)> = loads.iter().map(|load| (kind.queue(load), load.intervals)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut passed = 0.0;
    let shortest = sorted.into_iter().find(|(_, intervals)| {
        passed += intervals;
        passed >= MIN_QUEUE_END_INTERVALS
    });
    let is_next =
        |pair: &&[&LoadSample]| pair[1].interval_index - pair[0].interval_index <= pair[0].intervals + 0.5;
    let in_a_row = loads.windows(2).filter(is_next).map(|pair| kind.queue(pair[0]).min(kind.queue(pair[1])));
    let merged =
        loads.iter().filter(|load| load.intervals >= MIN_QUEUE_END_INTERVALS).map(|load| kind.queue(load));
    shortest.map(|(queue, _)| queue).zip(in_a_row.chain(merged).reduce(f64::max))
}

/// Returns whether the rate is the same at queues below and above `middle`, with intervals on both sides.
fn rate_equal_below_and_above(loads: &[&LoadSample], kind: RateKind, middle: f64) -> bool {
    let (below, above): (Vec<&LoadSample>, Vec<&LoadSample>) =
        loads.iter().partition(|load| kind.queue(load) <= middle);
    kind.median_rate(&below)
        .zip(kind.median_rate(&above))
        .is_some_and(|(below, above)| (below / above - 1.0).abs() <= STEADY_TOLERANCE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::stats::IoTotals;

    /// Any step, and some of those that are equal, or nearly so.
    fn step() -> impl Strategy<Value = f64> {
        prop_oneof![
            0.0..1.0_f64,
            (0..3_u8).prop_map(|step| f64::from(step) / 2.0),
            (0..4_u8).prop_map(|step| 0.5 + 4.0 * f64::EPSILON * f64::from(step)),
        ]
    }

    proptest! {
        #[test]
        fn a_dense_window_is_never_overlooked(
            base in 0.1..1e6_f64,
            spread in 0.001..4.0_f64,
            steps in prop::collection::vec((step(), 1.0..4.0_f64), 0..64),
        ) {
            let load = |(step, intervals): (f64, f64)| {
                let ios = base * (1.0 + spread * step);
                let reads = IoTotals { ios, kib: 4.0 * ios, ms: ios };
                LoadSample { seconds: 1.0, intervals: intervals.floor(), reads, ..LoadSample::default() }
            };
            let loads: Vec<LoadSample> = steps.into_iter().map(load).collect();
            for unit in RateUnit::ALL {
                let kind = RateKind { direction: IoDirection::Reads, unit, device: KnownDevice::default() };
                let mut by_rate: Vec<RatedLoad> = loads.iter().map(|load| RatedLoad::new(load, kind)).collect();
                let may_have = may_have_dense_window(&by_rate);
                let found = sorted_by_rate(&by_rate);
                by_rate.sort_by(|a, b| a.rate.total_cmp(&b.rate));
                prop_assert!(found.iter().zip(&by_rate).all(|(a, b)| std::ptr::eq(a.load, b.load)));
                prop_assert!(may_have || densest_rate_window(&by_rate).is_none());
            }
        }
    }
}
