//! Intervals grouped by their concurrency.

use libm::{log, log2};
use serde::Serialize;

use super::history::those_or_all;
use super::sample::{IoDirection, LoadSample};
use crate::analysis::stats::{IoTotals, weighted_median};
use crate::analysis::thresholds::{
    LEVEL_GAP_RATIO, LEVEL_SPAN_RATIO, MAX_LEVEL_WIDTH_RATIO, MIN_FIT_LEVELS, MIN_KNOWN_FRACTION,
    MIN_LEVEL_INTERVALS, MIN_LEVEL_QUEUE, MIN_LEVEL_SIZE_FRACTION,
};

/// The intervals of about one concurrency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ConcurrencyLevel {
    /// Mean number of requests in the queue or being served, weighted by time.
    pub queue: f64,
    /// Number of intervals, including those in which the load changed. If most intervals are steady, the means leave
    /// the others out.
    pub intervals: u64,
    /// Mean requests per second: multiplied by `await_ms`, it is the queue (Little's law).
    pub iops: f64,
    /// MiB per second, the mean.
    pub mib_per_s: f64,
    /// Mean latency in milliseconds: the time of all requests over their number.
    pub await_ms: f64,
    /// Latency as a multiple of unloaded latency: the time of the requests divided by the time that they would have
    /// taken unloaded; `None` if that is not known for most of the level.
    pub saturation: Option<f64>,
}

/// The levels of loads, reads and writes together, the lowest first. `saturations` has the saturation of each load,
/// `None` if it is unknown.
pub fn concurrency_levels(loads: &[LoadSample], saturations: &[Option<f64>]) -> Vec<ConcurrencyLevel> {
    let all: Vec<(&LoadSample, Option<f64>)> = loads.iter().zip(saturations.iter().copied()).collect();
    let level = |group: Vec<(&LoadSample, Option<f64>)>| {
        let used = those_or_all(&group, |(load, _)| load.is_steady);
        let (mut totals, mut seconds) = (IoTotals::default(), 0.0);
        for (load, _) in &used {
            totals = totals.plus(&load.totals(IoDirection::Both));
            seconds += load.seconds;
        }
        ConcurrencyLevel {
            queue: totals.ms / 1000.0 / seconds,
            intervals: group.iter().map(|(load, _)| load.intervals).sum::<f64>() as u64,
            iops: totals.ios / seconds,
            mib_per_s: totals.kib / seconds / 1024.0,
            await_ms: totals.ms / totals.ios,
            saturation: combined_saturation(&used),
        }
    };
    bin_by_octave(&all, IoDirection::Both).into_iter().map(level).collect()
}

/// The loads with requests of a direction, each with its extra data, grouped by powers of two of that direction's
/// queue; the shortest first.
///
/// The bounds lie a power of two apart, where they have the fewest loads nearby: at 2, 4, 8 if the loads lie between
/// these, and in between if the loads lie at these.
fn bin_by_octave<'a, T: Copy>(
    loads: &[(&'a LoadSample, T)],
    direction: IoDirection,
) -> Vec<Vec<(&'a LoadSample, T)>> {
    let sorted = sort_by_queue(loads, |(load, _)| load.queue(direction));
    // A logarithm takes long, and is needed for each position of the bounds, so it is computed once for each load.
    let octave = |queue: f64| log2(queue.max(MIN_LEVEL_QUEUE));
    let octaves: Vec<(f64, f64)> =
        sorted.iter().map(|(queue, (load, _))| (octave(*queue), load.intervals)).collect();
    let bound = quietest_bound(&octaves);
    let mut bins: Vec<Vec<(&LoadSample, T)>> = Vec::new();
    let mut last_bin = f64::NAN;
    for ((_, load), (octave, _)) in sorted.into_iter().zip(octaves) {
        let bin = floor(octave - bound);
        match bins.last_mut() {
            Some(group) if bin == last_bin => group.push(load),
            _ => bins.push(vec![load]),
        }
        last_bin = bin;
    }
    bins
}

/// The largest whole number that is not above an octave. The library function is slow, because not every CPU that the
/// program supports has an instruction for it.
fn floor(octave: f64) -> f64 {
    let towards_zero = octave as i64 as f64;
    if towards_zero > octave { towards_zero - 1.0 } else { towards_zero }
}

/// The position of the bounds between 0 and 1 (in powers of two) with the least weight of `(octave, intervals)` near;
/// half-way on a tie.
fn quietest_bound(octaves: &[(f64, f64)]) -> f64 {
    const POSITIONS: [f64; 8] = [0.5, 0.625, 0.375, 0.75, 0.25, 0.875, 0.125, 0.0];
    const SPACING: f64 = 0.125;
    let weight = |bound: f64| -> f64 {
        let distance = |octave: f64| {
            // The same as `rem_euclid(1.0)`, which would call a slow function.
            let above = (octave - bound) - floor(octave - bound);
            above.min(1.0 - above)
        };
        octaves
            .iter()
            .map(|(octave, intervals)| intervals * (1.0 - distance(*octave) / SPACING).max(0.0))
            .sum()
    };
    let weights = POSITIONS.map(|position| (position, weight(position)));
    weights.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0.5, |(position, _)| position)
}

/// The loads grouped by similar queues of a direction, as far as gaps separate them; the shortest first. Without gaps,
/// a group spans at most half a power of two.
pub(in crate::analysis) fn cluster_levels<'a>(
    loads: &[&'a LoadSample],
    direction: IoDirection,
) -> Vec<Vec<&'a LoadSample>> {
    let sorted = sort_by_queue(loads, |load| load.queue(direction));
    let loads_of = |run: &[(f64, &'a LoadSample)]| run.iter().map(|(_, load)| *load).collect::<Vec<_>>();
    let mut groups: Vec<Vec<&LoadSample>> = Vec::new();
    for run in sorted.chunk_by(|(a, _), (b, _)| *b <= LEVEL_GAP_RATIO * a) {
        let width = run.first().zip(run.last()).map_or(1.0, |(first, last)| last.0 / first.0);
        if width <= MAX_LEVEL_WIDTH_RATIO {
            groups.push(loads_of(run));
            continue;
        }
        // A logarithm takes long, and each is used in two comparisons.
        let part = |queue: f64| (log(queue / run[0].0) / log(LEVEL_SPAN_RATIO)).floor();
        let parts: Vec<(f64, &LoadSample)> = run.iter().map(|(queue, load)| (part(*queue), *load)).collect();
        groups.extend(parts.chunk_by(|a, b| a.0 == b.0).map(loads_of));
    }
    without_stray_groups(groups)
}

/// The groups without those that are transitions or chance, if enough others remain for a fit.
fn without_stray_groups(mut groups: Vec<Vec<&LoadSample>>) -> Vec<Vec<&LoadSample>> {
    let intervals = |group: &Vec<&LoadSample>| group.iter().map(|load| load.intervals).sum::<f64>();
    let median = weighted_median(&mut groups.iter().map(|group| (intervals(group), 1.0)).collect::<Vec<_>>());
    let min_intervals = (MIN_LEVEL_SIZE_FRACTION * median.unwrap_or(0.0)).max(MIN_LEVEL_INTERVALS);
    if groups.iter().filter(|group| intervals(group) >= min_intervals).count() >= MIN_FIT_LEVELS {
        groups.retain(|group| intervals(group) >= min_intervals);
    }
    groups
}

/// The loads that have requests of a direction, with that direction's queue, sorted by it. Equal ones stay in their
/// order.
fn sort_by_queue<T: Copy>(loads: &[T], queue: impl Fn(&T) -> f64) -> Vec<(f64, T)> {
    // Positive floats sort like their bits. One integer that also holds the index is faster to compare than both.
    let key = |(index, load): (usize, &T)| u128::from(queue(load).to_bits()) << 64 | index as u128;
    let has_queue = |key: &u128| f64::from_bits((key >> 64) as u64) > 0.0;
    let mut keys: Vec<u128> = Vec::with_capacity(loads.len());
    keys.extend(loads.iter().enumerate().map(key).filter(has_queue));
    keys.sort_unstable();
    keys.into_iter().map(|key| (f64::from_bits((key >> 64) as u64), loads[key as u64 as usize])).collect()
}

/// The median of a quantity over the intervals of loads; `None` if no load has it.
pub(in crate::analysis) fn weighted_median_of(
    loads: &[&LoadSample],
    quantity: impl Fn(&LoadSample) -> Option<f64>,
) -> Option<f64> {
    let weighted = |load: &&LoadSample| quantity(load).map(|value| (value, load.intervals));
    let mut known = Vec::with_capacity(loads.len());
    known.extend(loads.iter().filter_map(weighted));
    weighted_median(&mut known)
}

/// The saturation of several loads together; `None` if that of most of them is unknown.
fn combined_saturation(loads: &[(&LoadSample, Option<f64>)]) -> Option<f64> {
    let (mut intervals, mut ms, mut unloaded_ms) = (0.0, 0.0, 0.0);
    for (load, saturation) in loads.iter().filter_map(|(load, saturation)| Some((load, (*saturation)?))) {
        let load_ms = load.totals(IoDirection::Both).ms;
        intervals += load.intervals;
        ms += load_ms;
        unloaded_ms += load_ms / saturation;
    }
    let is_enough =
        intervals >= MIN_KNOWN_FRACTION * loads.iter().map(|(load, _)| load.intervals).sum::<f64>();
    Some(ms / unloaded_ms).filter(|saturation| is_enough && saturation.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(queues: &[f64]) -> Vec<LoadSample> {
        let load = |queue: &f64| {
            let reads = IoTotals { ios: 100.0 * queue, kib: 400.0 * queue, ms: 1000.0 * queue };
            LoadSample { seconds: 1.0, intervals: 1.0, reads, ..LoadSample::default() }
        };
        queues.iter().map(load).collect()
    }

    fn bin_sizes(queues: &[f64]) -> Vec<usize> {
        let loads = loads(queues);
        let loads: Vec<_> = loads.iter().map(|load| (load, ())).collect();
        bin_by_octave(&loads, IoDirection::Both).iter().map(Vec::len).collect()
    }

    fn count_clusters(queues: &[f64]) -> usize {
        let loads = loads(queues);
        cluster_levels(&loads.iter().collect::<Vec<_>>(), IoDirection::Both).len()
    }

    #[test]
    fn loads_near_a_power_of_two_stay_in_one_bin() {
        assert_eq!(bin_sizes(&[0.99, 1.01, 1.98, 2.01, 2.0, 3.95, 4.03]), [2, 3, 2]);
        // So do those between powers of two.
        assert_eq!(bin_sizes(&[0.72, 0.70, 1.40, 1.43, 2.8, 2.85]), [2, 2, 2]);
        // Queues that are nearly empty are one bin.
        assert_eq!(bin_sizes(&[0.001, 0.02, 0.024, 0.09, 1.0]), [4, 1]);
    }

    #[test]
    fn every_concurrency_that_was_driven_is_a_level() {
        assert_eq!(count_clusters(&[1.0, 1.02, 2.0, 2.01, 3.0, 3.01, 4.0, 4.1, 5.0, 5.05, 6.0, 6.01]), 6);
        let without_gaps: Vec<f64> = (0..100).map(|k| 1.05f64.powi(k)).collect();
        assert!((13..=16).contains(&count_clusters(&without_gaps)));
    }

    #[test]
    fn a_few_intervals_among_many_are_not_a_level() {
        let levels = [1.0, 2.0, 4.0, 8.0].into_iter().flat_map(|queue| vec![queue; 100]);
        assert_eq!(count_clusters(&levels.chain([2.8, 2.81, 2.82]).collect::<Vec<_>>()), 4);
    }

    #[test]
    fn a_level_obeys_littles_law() {
        let levels = concurrency_levels(&loads(&[0.9, 1.0, 1.1, 4.0]), &[Some(1.0); 4]);
        assert_eq!(levels.len(), 2);
        assert_eq!((levels[0].queue, levels[0].intervals, levels[0].iops), (1.0, 3, 100.0));
        assert!((levels[0].iops * levels[0].await_ms / 1000.0 - levels[0].queue).abs() < 1e-9);
        assert!((levels[0].await_ms - 10.0).abs() < 1e-9 && levels[0].saturation == Some(1.0));
    }
}
