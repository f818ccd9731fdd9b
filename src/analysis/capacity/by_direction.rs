//! From loads to the capacity of each direction.

use super::fit::CapacityFit;
use super::rate_point::RatePoint;
use super::report::{CapacityByDirection, CapacityReport};
use crate::analysis::caps::{Pace, pace_of_level};
use crate::analysis::load::{
    IoDirection, LoadSample, RateUnit, VonNeumannRatio, cluster_levels, count_transitions,
    is_single_direction, is_spread, weighted_median_of,
};
use crate::analysis::thresholds::{
    KNEE_FRACTION, MIN_CONSTANT_QUEUE, MIN_INTERVAL_REQUESTS, MIN_LOADED_QUEUE,
};

/// The shortest knee of a limit. With less in flight, the device is idle for more of the time than the rate at the knee is below
/// its maximum: it can do more, and the rates are those at which requests arrived.
const MIN_LIMIT_KNEE: f64 = KNEE_FRACTION * MIN_CONSTANT_QUEUE;

/// The capacity of each direction, from the loads of that direction alone; `None` for a direction without such loads. A
/// model is fitted only if the concurrency was swept.
pub(in crate::analysis) fn capacity_by_direction(
    loads: &[LoadSample],
    reads: &VonNeumannRatio,
    writes: &VonNeumannRatio,
    both: &VonNeumannRatio,
) -> CapacityByDirection {
    let has_transitions = count_transitions(loads) > 0;
    let used: Vec<&LoadSample> = loads.iter().filter(|load| load.is_steady || !has_transitions).collect();
    let capacity = |direction: IoDirection, ratio: &VonNeumannRatio| {
        let own: Vec<&LoadSample> =
            used.iter().copied().filter(|load| is_single_direction(load, direction)).collect();
        let is_sweep = ratio.is_held() && is_spread(&own, direction);
        let levels = cluster_levels(&own, direction);
        let known: Vec<(&Vec<&LoadSample>, f64)> =
            levels.iter().filter_map(|level| Some((level, concurrency_of(level, direction)?))).collect();
        let fit = |unit| {
            let point = |(level, concurrency): &(&Vec<&LoadSample>, f64)| {
                let rate = weighted_median_of(level, |load| Some(load.rate(direction, unit)))?;
                (rate > 0.0).then_some(RatePoint { concurrency: *concurrency, rate })
            };
            let points: Vec<RatePoint> = known.iter().filter_map(point).collect();
            if !is_sweep {
                return CapacityFit::highest_only(&points);
            }
            let fit = CapacityFit::fit(&points);
            let is_offered = fit
                .knee
                .is_some_and(|knee| knee < MIN_LIMIT_KNEE || is_offered_from(knee, &levels, direction));
            if is_offered { CapacityFit::offered_only(&points) } else { fit }
        };
        (!own.is_empty()).then(|| CapacityReport::new(&fit(RateUnit::Requests), &fit(RateUnit::Kib)))
    };
    CapacityByDirection {
        read: capacity(IoDirection::Reads, reads),
        write: capacity(IoDirection::Writes, writes),
        both: capacity(IoDirection::Both, both),
    }
}

/// The median queue of a level of loads; `None` if the queue is too short or the level has too few requests.
fn concurrency_of(level: &[&LoadSample], direction: IoDirection) -> Option<f64> {
    let concurrency = weighted_median_of(level, |load| Some(load.queue(direction)))?;
    let requests = || weighted_median_of(level, |load| Some(load.totals(direction).ios / load.intervals));
    (concurrency >= MIN_LOADED_QUEUE && requests()? >= MIN_INTERVAL_REQUESTS).then_some(concurrency)
}

/// Returns whether the levels beyond the knee show the rate at which requests arrived rather than the rate at which the
/// device can complete them: more time was spent at levels where arrivals set the pace than at levels where completions
/// did.
fn is_offered_from(knee: f64, levels: &[Vec<&LoadSample>], direction: IoDirection) -> bool {
    let is_beyond = |level: &&Vec<&LoadSample>| {
        weighted_median_of(level, |load| Some(load.queue(direction))).is_some_and(|queue| queue >= knee)
    };
    let (mut offered, mut held) = (0.0, 0.0);
    for level in levels.iter().filter(is_beyond) {
        let intervals: f64 = level.iter().map(|load| load.intervals).sum();
        match pace_of_level(level, direction) {
            Pace::Arrivals => offered += intervals,
            pace if pace.is_held() => held += intervals,
            _ => {}
        }
    }
    offered > held
}
