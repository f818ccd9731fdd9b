//! Steady rates: loads at one constant rate.

use std::cell::OnceCell;
use std::rc::Rc;

use super::cloud_limits::matches_limit_exactly;
use super::dispersion::dispersion;
use super::pace::{Pace, has_constant_queue, has_same_in_flight, pace};
use super::rate::{RateKind, count_intervals, median_rates};
use crate::analysis::load::{IoDirection, LoadSample, weighted_median_of};
use crate::analysis::thresholds::{
    ABOVE_RATE_TOLERANCE_RATIO, CONSTANT_QUEUE_INTERVALS, LOADED_RATIO_CONSTANT,
    LOADED_RATIO_GROWN, MAX_ABOVE_RATE_FRACTION, MAX_CALIBRATED_FRACTION, MAX_CAP_DISPERSION,
    MAX_CONSTANT_QUEUE_DISPERSION, MAX_LIGHTER_QUEUE_RATIO, MAX_ONE_CLIENT_DISPERSION,
    MAX_ONE_CLIENT_QUEUE, MAX_POSSIBLE_CAP_DISPERSION, MIN_CONCURRENCY_GROWTH, MIN_CONSTANT_QUEUE,
    MIN_INTERVAL_REQUESTS, MIN_LIGHT_INTERVALS, MIN_ON_RATE_FRACTION, MIN_PLATEAU_INTERVALS,
    MIN_PLATEAU_QUEUE, MIN_QUEUE_END_INTERVALS, MIN_QUEUEING_SATURATION, MIN_RATE_CHANGE_RATIO,
    MIN_SATURATED_QUEUE, MIN_WITNESS_INTERVALS, ON_RATE_TOLERANCE_RATIO, PLATEAU_END_INTERVALS,
    SAME_LIMIT_TOLERANCE, SAME_QUEUE_TOLERANCE,
};

/// Loads whose rates lie within [`STEADY_TOLERANCE`] of one rate, in the order of time.
pub(super) struct SteadyRate<'a> {
    pub(super) loads: Vec<&'a LoadSample>,
    pub(super) rate: f64,
    /// The shortest queue, which at least two intervals had.
    pub(super) min_queue: f64,
    /// The longest queue, which two consecutive intervals had.
    pub(super) max_queue: f64,
    /// The queue quadrupled meanwhile.
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
    /// The following two take long to compute and are not needed for most rates.
    dispersion: OnceCell<f64>,
    pace: OnceCell<Pace>,
    /// At a constant queue, and never more than one request at a time.
    is_of_one_client: bool,
    /// The number of requests in flight was the same all the time.
    pub(super) is_at_constant_queue: bool,
}

impl SteadyRate<'_> {
    /// Returns whether it proves a cap by itself. Fully busy servers hold their rate too, but not as exactly.
    pub(super) fn proves_cap(&self) -> bool {
        let max = if self.is_exact_limit {
            MAX_POSSIBLE_CAP_DISPERSION
        } else {
            MAX_CAP_DISPERSION
        };
        self.is_stated
            || self.can_be_cap()
                && (self.concurrency_grew && self.dispersion() < max || self.is_held())
    }

    /// Returns whether nothing contradicts a cap: requests do not arrive as regularly, and the device is not as regular
    /// at lighter loads.
    pub(super) fn can_be_cap(&self) -> bool {
        self.is_stated || (self.pace().is_held() && !self.is_as_even_as_at_light_load())
    }

    /// Returns whether the device is about as regular in closed loops at lighter loads.
    fn is_as_even_as_at_light_load(&self) -> bool {
        let longest = self.max_queue / self.rate;
        let lighter = lighter_loads(&self.all, self.kind, self.rate, self.min_queue, longest);
        closed_loop_dispersion(lighter, self.kind).is_some_and(|light| {
            self.dispersion() >= (MAX_CALIBRATED_FRACTION * light).min(MAX_POSSIBLE_CAP_DISPERSION)
        })
    }

    /// Returns whether the rate is more exact than any server, at a constant queue or however requests arrive.
    fn is_held(&self) -> bool {
        let (is_possible, max) = if self.min_queue >= MIN_SATURATED_QUEUE {
            (
                self.is_at_constant_queue || self.pace() == Pace::Completions,
                MAX_CONSTANT_QUEUE_DISPERSION,
            )
        } else {
            (self.is_of_one_client, MAX_ONE_CLIENT_DISPERSION)
        };
        is_possible && self.loads.len() >= CONSTANT_QUEUE_INTERVALS && self.dispersion() < max
    }

    /// Returns whether its dispersion or the user shows that it is a cap, and not only the limit that it matches.
    pub(super) fn is_certain(&self) -> bool {
        self.is_stated || self.is_low_dispersion()
    }

    /// Returns whether the rate is more exact than that of busy servers.
    pub(super) fn is_low_dispersion(&self) -> bool {
        self.dispersion() < MAX_CAP_DISPERSION
    }

    /// Returns whether it can be a cap if another rate of the same load is one.
    pub(super) fn may_be_cap(&self) -> bool {
        self.proves_cap() || (self.can_be_cap() && self.dispersion() < MAX_POSSIBLE_CAP_DISPERSION)
    }

    /// The largest dispersion that it may have: 1 is that of requests that complete at random.
    fn dispersion(&self) -> f64 {
        *self.dispersion.get_or_init(|| {
            dispersion(&self.loaded, self.kind.direction, self.kind.unit).unwrap_or(f64::INFINITY)
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
        let RateKind {
            direction, unit, ..
        } = self.kind;
        *self.pace.get_or_init(|| {
            let is_at_constant_queue = self.is_at_constant_queue;
            pace(
                &self.loaded,
                direction,
                unit,
                self.rate,
                is_at_constant_queue,
                self.were_faster(),
            )
        })
    }

    /// The index of its first interval.
    pub(super) fn first_interval(&self) -> f64 {
        self.loads
            .first()
            .map_or(f64::INFINITY, |load| load.interval_index)
    }

    /// The index of its last interval.
    pub(super) fn last_interval(&self) -> f64 {
        self.loads
            .last()
            .map_or(f64::NEG_INFINITY, |load| load.interval_index)
    }

    /// Compares the loads of one rate with `all` loads of the device, in the order of time. `None` if the rate is not
    /// steady: it is if the device, whenever it was as loaded, spent most of the time at the rate and little above it.
    pub(super) fn find<'a>(
        mut loads: Vec<&'a LoadSample>,
        all: &Rc<[&'a LoadSample]>,
        kind: RateKind,
        stated: Option<f64>,
    ) -> Option<SteadyRate<'a>> {
        loads.sort_by(|a, b| a.interval_index.total_cmp(&b.interval_index));
        let (first, last) = (loads.first()?.interval_index, loads.last()?.interval_index);
        let rate = kind.median_rate(&loads)?;
        let (min_queue, max_queue) = queue_range(&loads, kind)?;
        let has_grown = max_queue >= MIN_CONCURRENCY_GROWTH * min_queue;
        let loaded_ratio = if has_grown {
            LOADED_RATIO_GROWN
        } else {
            LOADED_RATIO_CONSTANT
        };
        let within_span = || {
            all.iter()
                .copied()
                .filter(|load| (first..=last).contains(&load.interval_index))
        };
        let loaded: Vec<&LoadSample> = within_span()
            .filter(|load| kind.queue(load) >= loaded_ratio * min_queue)
            .collect();
        let is_on_rate = |load: &&LoadSample| {
            let tolerance = kind.tolerance(load);
            (kind.rate(load) / rate - 1.0).abs() <= ON_RATE_TOLERANCE_RATIO * tolerance
                && load.variation <= tolerance
        };
        let loaded_intervals = count_intervals(loaded.iter().copied());
        let on_rate = count_intervals(loaded.iter().copied().filter(is_on_rate));
        let min_on_rate = MIN_ON_RATE_FRACTION * loaded_intervals;
        if on_rate < min_on_rate.max(MIN_PLATEAU_INTERVALS - PLATEAU_END_INTERVALS) {
            return None;
        }
        let above = count_intervals(within_span().filter(|load| {
            kind.rate(load) / rate > 1.0 + ABOVE_RATE_TOLERANCE_RATIO * kind.tolerance(load)
        }));
        let is_at_constant_queue = has_constant_queue(&loads, kind.direction);
        let min_long_queue = if is_at_constant_queue {
            MIN_CONSTANT_QUEUE
        } else {
            MIN_PLATEAU_QUEUE
        };
        let requests = weighted_median_of(&loads, |load| {
            Some(load.totals(kind.direction).ios / load.intervals)
        })?;
        if requests < MIN_INTERVAL_REQUESTS
            || above > (MAX_ABOVE_RATE_FRACTION * loaded_intervals).max(PLATEAU_END_INTERVALS)
            || max_queue < min_long_queue
        {
            return None;
        }
        let (iops, mib_per_s) = median_rates(&loads, kind.direction)?;
        Some(SteadyRate {
            concurrency_grew: has_grown,
            is_stated: stated.is_some_and(|cap| (rate / cap - 1.0).abs() <= SAME_LIMIT_TOLERANCE),
            is_exact_limit: matches_limit_exactly(&kind.device, kind.unit, iops, mib_per_s),
            kind,
            loaded,
            all: Rc::clone(all),
            dispersion: OnceCell::new(),
            pace: OnceCell::new(),
            is_of_one_client: is_at_constant_queue
                && loads
                    .iter()
                    .all(|load| load.queue(IoDirection::Both) <= MAX_ONE_CLIENT_QUEUE),
            is_at_constant_queue,
            loads,
            rate,
            min_queue,
            max_queue,
        })
    }
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
fn closed_loop_dispersion(mut lighter: Vec<&LoadSample>, kind: RateKind) -> Option<f64> {
    lighter.sort_by(|a, b| kind.queue(a).total_cmp(&kind.queue(b)));
    let is_same = |a: &&LoadSample, b: &&LoadSample| {
        kind.queue(b) - kind.queue(a) <= SAME_QUEUE_TOLERANCE * kind.queue(b)
    };
    let closed = lighter.chunk_by(is_same).filter(|group| {
        group.len() >= MIN_LIGHT_INTERVALS && has_same_in_flight(group, kind.direction)
    });
    let most = closed.max_by_key(|group| group.len())?;
    let mut most = most.to_vec();
    most.sort_by(|a, b| a.interval_index.total_cmp(&b.interval_index));
    dispersion(&most, kind.direction, kind.unit)
}

/// A load with its rate and the highest rate that counts as the same.
pub(super) struct RatedLoad<'a> {
    rate: f64,
    max_same_rate: f64,
    load: &'a LoadSample,
}

/// The loads sorted by rate.
pub(super) fn sorted_by_rate<'a>(loads: &[&'a LoadSample], kind: RateKind) -> Vec<RatedLoad<'a>> {
    let rated = |load: &&'a LoadSample| {
        let rate = kind.rate(load);
        RatedLoad {
            rate,
            max_same_rate: rate * (1.0 + 2.0 * kind.tolerance(load)),
            load,
        }
    };
    let mut sorted: Vec<RatedLoad> = loads.iter().map(rated).collect();
    sorted.sort_unstable_by(|a, b| a.rate.total_cmp(&b.rate));
    sorted
}

/// Takes the loads at whose rate most time was spent out of loads sorted by rate; `None` if that is too little for a
/// plateau.
pub(super) fn take_densest<'a>(sorted: &mut Vec<RatedLoad<'a>>) -> Option<Vec<&'a LoadSample>> {
    let (mut first, mut weight, mut best) = (0, 0.0, (0.0, 0..0));
    for (end, last) in sorted.iter().enumerate() {
        weight += last.load.intervals;
        while last.rate > sorted[first].max_same_rate {
            weight -= sorted[first].load.intervals;
            first += 1;
        }
        if weight > best.0 {
            best = (weight, first..end + 1);
        }
    }
    (best.0 >= MIN_PLATEAU_INTERVALS).then(|| sorted.drain(best.1).map(|one| one.load).collect())
}

/// The shortest queue that at least two intervals had and the longest that two consecutive ones had, from loads in the
/// order of time: a device that stops for a moment and catches up has a single long queue. `None` without such
/// intervals.
fn queue_range(loads: &[&LoadSample], kind: RateKind) -> Option<(f64, f64)> {
    let mut sorted: Vec<(f64, f64)> = loads
        .iter()
        .map(|load| (kind.queue(load), load.intervals))
        .collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut passed = 0.0;
    let shortest = sorted.into_iter().find(|(_, intervals)| {
        passed += intervals;
        passed >= MIN_QUEUE_END_INTERVALS
    });
    let is_next = |pair: &&[&LoadSample]| {
        pair[1].interval_index - pair[0].interval_index <= pair[0].intervals + 0.5
    };
    let in_a_row = loads
        .windows(2)
        .filter(is_next)
        .map(|pair| kind.queue(pair[0]).min(kind.queue(pair[1])));
    let merged = loads
        .iter()
        .filter(|load| load.intervals >= MIN_QUEUE_END_INTERVALS)
        .map(|load| kind.queue(load));
    shortest
        .map(|(queue, _)| queue)
        .zip(in_a_row.chain(merged).reduce(f64::max))
}
