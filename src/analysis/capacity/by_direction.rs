//! From loads to the capacity of each direction.

use super::fit::CapacityFit;
use super::rate_point::RatePoint;
use super::report::{CapacityByDirection, CapacityReport};
use crate::analysis::load::{
    IoDirection, LoadSample, RateUnit, VonNeumannRatio, cluster_levels, count_transitions,
    is_single_direction, is_spread, weighted_median_of,
};
use crate::analysis::thresholds::{MIN_INTERVAL_REQUESTS, MIN_LOADED_QUEUE};

/// The capacity of each direction, from the loads of that direction alone; `None` for a direction without such loads.
/// A model is fitted only where the concurrency was swept.
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
        let fit = |unit| {
            let points = rate_points(&own, direction, unit);
            if is_sweep { CapacityFit::fit(&points) } else { CapacityFit::highest_only(&points) }
        };
        (!own.is_empty()).then(|| CapacityReport::new(&fit(RateUnit::Requests), &fit(RateUnit::Kib)))
    };
    CapacityByDirection {
        read: capacity(IoDirection::Reads, reads),
        write: capacity(IoDirection::Writes, writes),
        both: capacity(IoDirection::Both, both),
    }
}

/// The medians of the levels of loads.
fn rate_points(loads: &[&LoadSample], direction: IoDirection, unit: RateUnit) -> Vec<RatePoint> {
    let point = |group: Vec<&LoadSample>| {
        let concurrency = weighted_median_of(&group, |load| Some(load.queue(direction)))?;
        let rate = weighted_median_of(&group, |load| Some(load.rate(direction, unit)))?;
        let requests = weighted_median_of(&group, |load| Some(load.totals(direction).ios / load.intervals))?;
        (concurrency >= MIN_LOADED_QUEUE && rate > 0.0 && requests >= MIN_INTERVAL_REQUESTS)
            .then_some(RatePoint { concurrency, rate })
    };
    cluster_levels(loads, direction).into_iter().filter_map(point).collect()
}
