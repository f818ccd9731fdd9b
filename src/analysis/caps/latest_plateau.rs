//! The plateau of the latest load, for the live verdict.

use super::find_plateaus::find_plateaus;
use super::plateau::Plateau;
use crate::analysis::load::{IoDirection, LoadSample, RateUnit};
use crate::analysis::settings::{KnownDevice, StatedCap};
use crate::analysis::thresholds::{
    CONSTANT_QUEUE_INTERVALS, MIN_CAPPED_QUEUE, MIN_CAPPED_QUEUE_RATIO, MIN_CONSTANT_QUEUE,
    MIN_PLATEAU_INTERVALS, ON_PLATEAU_TOLERANCE, STEADY_WINDOW,
};

/// Returns whether a search for plateaus can find one that the latest load lies on: enough intervals had about its
/// rate. It costs little, and most intervals end here.
pub(in crate::analysis) fn may_be_plateau(recent: &[LoadSample], latest: &LoadSample) -> bool {
    const DIRECTIONS: [IoDirection; 3] = [IoDirection::Both, IoDirection::Reads, IoDirection::Writes];
    // The width of a plateau, and the distance from it at which the interval may lie.
    const MAX_DISTANCE: f64 = STEADY_WINDOW + ON_PLATEAU_TOLERANCE;
    let has_enough_near = |direction: IoDirection, unit: RateUnit| {
        let rate = latest.rate(direction, unit);
        let is_near = |other: &&LoadSample| (other.rate(direction, unit) / rate - 1.0).abs() <= MAX_DISTANCE;
        rate > 0.0 && recent.iter().filter(is_near).count() as f64 >= MIN_PLATEAU_INTERVALS
    };
    let units = |direction: IoDirection| RateUnit::ALL.into_iter().map(move |unit| (direction, unit));
    let queue = latest.queue(IoDirection::Both);
    // With fewer requests at a time, only a constant number of clients can be held back.
    let has_constant_clients = || {
        let in_flight = latest.in_flight_at_end;
        let is_same = |load: &&LoadSample| load.in_flight_at_end == in_flight;
        recent.iter().filter(is_same).count() >= CONSTANT_QUEUE_INTERVALS
    };
    (queue >= MIN_CAPPED_QUEUE || (queue >= MIN_CONSTANT_QUEUE && has_constant_clients()))
        && DIRECTIONS.into_iter().flat_map(units).any(|(direction, unit)| has_enough_near(direction, unit))
}

/// The plateau that the latest load lies on with a queue; `None` where there is none.
pub(in crate::analysis) fn plateau_of_latest(
    recent: &[LoadSample],
    stated: Option<StatedCap>,
    device: &KnownDevice,
) -> Option<Plateau> {
    let latest = recent.last()?;
    find_plateaus(recent, stated, device).into_iter().find(|plateau| {
        let plateau_rate = match plateau.unit {
            RateUnit::Requests => plateau.iops,
            RateUnit::Kib => plateau.mib_per_s * 1024.0,
        };
        let min_queue = MIN_CAPPED_QUEUE.max(MIN_CAPPED_QUEUE_RATIO * plateau.queue_from);
        let queue = latest.queue(plateau.direction);
        let is_at_constant_queue = queue >= MIN_CONSTANT_QUEUE && plateau.is_at_constant_queue;
        let is_loaded = queue >= min_queue || plateau.queue_from >= MIN_CAPPED_QUEUE || is_at_constant_queue;
        let is_long = plateau.intervals as f64 >= MIN_PLATEAU_INTERVALS;
        let distance = latest.rate(plateau.direction, plateau.unit) / plateau_rate - 1.0;
        distance.abs() <= ON_PLATEAU_TOLERANCE && is_loaded && is_long
    })
}
