//! Evidence for and against a cap at a steady rate, from other times of the same device.

use super::steady_rate::{RateKind, RatedLoad, SameRate, SteadyRate, count_intervals};
use crate::analysis::load::{IoDirection, LoadSample, weighted_median_of};
use crate::analysis::thresholds::{
    MIN_BRIEF_PLATEAU_INTERVALS, MIN_CONCURRENCY_GROWTH, MIN_CONSTANT_QUEUE, MIN_FASTER_QUEUE_FRACTION,
    MIN_PLATEAU_INTERVALS, MIN_PLATEAU_QUEUE, MIN_RATE_CHANGE_RATIO, MIN_WITNESS_INTERVALS,
    SAME_MIX_TOLERANCE, SAME_QUEUE_TOLERANCE, SAME_SIZE_TOLERANCE, STEADY_TOLERANCE,
};

/// All loads except those at which the same kind of load had one of the rates `others`: these do not contradict a cap
/// that came back. For a rate that is not steady because of such loads within its span. `None` if leaving them out
/// changes nothing or cannot make the rate steady.
pub(super) fn without_others<'a>(
    one: &SteadyRate,
    others: &[&SteadyRate],
    all: &[&'a LoadSample],
    kind: RateKind,
) -> Option<Vec<&'a LoadSample>> {
    // Usually too few loads are at the rate, so that nothing has to be compared.
    let of_others = others.iter().map(|other| count_intervals(other.loads.iter().copied())).sum();
    if one.is_steady || !one.may_be_steady_without(of_others) {
        return None;
    }
    let others: Vec<&SteadyRate> =
        others.iter().copied().filter(|other| cap_changed(one, other, kind)).collect();
    let is_other = |load: &LoadSample| {
        others.iter().any(|other| other.loads.iter().any(|held| std::ptr::eq(*held, load)))
    };
    (!others.is_empty()).then(|| all.iter().copied().filter(|load| !is_other(load)).collect())
}

/// Returns whether the rate was also seen while no request waited, which makes it the rate at which requests are
/// issued.
pub(super) fn is_offered_load(one: &SteadyRate, loads: &[&LoadSample], kind: RateKind) -> bool {
    // A client that waits for each of its requests has one in flight nearly all the time: with less, the device was idle at
    // times, and nothing was held back.
    let max_queue = (one.max_queue / MIN_CONCURRENCY_GROWTH).min(MIN_CONSTANT_QUEUE);
    let is_at_rest = |load: &&LoadSample| {
        kind.queue(load) < max_queue && (kind.rate(load) / one.rate - 1.0).abs() <= STEADY_TOLERANCE
    };
    count_intervals(loads.iter().copied().filter(is_at_rest)) >= MIN_WITNESS_INTERVALS
}

/// Returns whether the same load, at the same queue or a longer one, had a clearly different steady rate at another
/// time: a cap that changed.
pub(super) fn cap_changed(one: &SteadyRate, other: &SteadyRate, kind: RateKind) -> bool {
    let (slow, fast) = if one.rate < other.rate { (one, other) } else { (other, one) };
    fast.rate >= MIN_RATE_CHANGE_RATIO * slow.rate
        && slow.max_queue >= (1.0 - SAME_QUEUE_TOLERANCE) * fast.max_queue
        && (fast.min_queue >= MIN_PLATEAU_QUEUE || fast.proves_cap())
        && (fast.max_queue >= MIN_FASTER_QUEUE_FRACTION * slow.max_queue
            || slow.min_queue <= (1.0 + SAME_QUEUE_TOLERANCE) * fast.max_queue
            || fast.proves_cap())
        && is_same_kind_of_load(&one.loads, &other.loads, kind.direction)
}

/// Returns whether the same kind of load had a clearly higher rate at another time, at a queue that was not longer, so
/// that the device itself can do more.
pub(super) fn exceeded_elsewhere(one: &SteadyRate, all: &[&LoadSample], kind: RateKind) -> bool {
    let is_faster = |load: &&LoadSample| {
        kind.rate(load) >= MIN_RATE_CHANGE_RATIO * one.rate
            && kind.queue(load) <= (1.0 + SAME_QUEUE_TOLERANCE) * one.max_queue
    };
    let faster: Vec<&LoadSample> = all.iter().copied().filter(is_faster).collect();
    count_intervals(faster.iter().copied()) >= MIN_WITNESS_INTERVALS
        && is_same_kind_of_load(&one.loads, &faster, kind.direction)
}

/// Returns whether the rate was clearly higher afterwards with more requests at a time, as it is at a device without a
/// limit. Always false if the user states the cap.
pub(super) fn exceeded_later(one: &SteadyRate, all: &[&LoadSample], kind: RateKind) -> bool {
    let is_faster = |load: &&LoadSample| {
        load.interval_index > one.last_interval()
            && kind.rate(load) >= MIN_RATE_CHANGE_RATIO * one.rate
            && kind.queue(load) > (1.0 + SAME_QUEUE_TOLERANCE) * one.max_queue
    };
    let faster: Vec<&LoadSample> = all.iter().copied().filter(is_faster).collect();
    !one.is_stated
        && count_intervals(faster.iter().copied()) >= MIN_WITNESS_INTERVALS
        && is_same_kind_of_load(&one.loads, &faster, kind.direction)
}

/// Returns whether requests of two sets of loads are of similar size and mix.
fn is_same_kind_of_load(one: &[&LoadSample], other: &[&LoadSample], direction: IoDirection) -> bool {
    let is_similar = |quantity: &dyn Fn(&LoadSample) -> Option<f64>, tolerance: f64| {
        weighted_median_of(one, quantity)
            .zip(weighted_median_of(other, quantity))
            .is_some_and(|(a, b)| (a - b).abs() <= tolerance * a.max(b))
    };
    is_similar(&|load| load.totals(direction).size_kib(), SAME_SIZE_TOLERANCE)
        && is_similar(&|load| Some(1.0 + load.read_fraction()), SAME_MIX_TOLERANCE)
}

/// The longest run of intervals before a plateau at a clearly higher rate that is as constant: a higher cap whose burst
/// credits were soon spent. `None` without such a run, or if it is long enough to be found by itself.
pub(super) fn brief_cap_before<'a>(
    one: &SteadyRate,
    all: &[&'a LoadSample],
    kind: RateKind,
) -> Option<SteadyRate<'a>> {
    let start = one.loads.first()?.interval_index;
    let before: Vec<&LoadSample> = all.iter().copied().filter(|load| load.interval_index < start).collect();
    let has_same_rate =
        |a: &&LoadSample, b: &&LoadSample| (kind.rate(a) / kind.rate(b) - 1.0).abs() <= STEADY_TOLERANCE;
    let longest = before
        .chunk_by(has_same_rate)
        .filter(|run| kind.rate(run[0]) >= MIN_RATE_CHANGE_RATIO * one.rate)
        .max_by_key(|run| run.len())
        .filter(|run| (MIN_BRIEF_PLATEAU_INTERVALS..MIN_PLATEAU_INTERVALS as usize).contains(&run.len()))?;
    let rated: Vec<RatedLoad> = before.iter().map(|load| RatedLoad::new(load, kind)).collect();
    let longest = SameRate::of(longest.to_vec(), &rated, kind)?;
    let found = SteadyRate::evaluate(longest, &before.into(), kind, None)?;
    (found.may_be_brief_cap() && cap_changed(one, &found, kind)).then_some(found)
}
