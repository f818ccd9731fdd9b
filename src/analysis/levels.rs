//! Intervals grouped by concurrency: the table of formulas.md from the user's own data.

use libm::{log, log2};
use serde::Serialize;

use super::load::{IoDirection, LoadSample};
use super::statistic::median;

/// The intervals of about one concurrency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ConcurrencyLevel {
    /// The mean of their mean concurrencies, weighted by time.
    pub concurrency: f64,
    /// How many intervals there were, also those in which the load changed: these are left out of the means where
    /// most are steady.
    pub intervals: u64,
    /// Requests a second, the mean: with `await_ms` it makes the mean concurrency.
    pub iops: f64,
    /// MiB a second, the mean.
    pub mib_per_s: f64,
    /// Mean response time in milliseconds: the time of all requests over their number.
    pub await_ms: f64,
    /// The response time as a multiple of the unloaded device's: the time of the requests over what they would have
    /// taken there; `None` where that is not known for most of it.
    pub saturation: Option<f64>,
}

/// From here down every concurrency is alike: nobody waits, and digits would not tell rows apart.
const HARDLY_ANY: f64 = 0.1;

/// Groups loads by powers of two of a side's concurrency; the lowest first. LoadHistory without such requests are left
/// out.
///
/// The bounds lie a power of two apart, where the fewest loads are near: at 2, 4, 8 when the loads lie between
/// these, and between them when the loads lie on them.
fn grouped<'a>(loads: &[&'a LoadSample], side: IoDirection) -> Vec<Vec<&'a LoadSample>> {
    let log = |load: &LoadSample| log2(load.concurrency(side).max(HARDLY_ANY));
    let with = sorted(loads, side);
    let bound = quietest_bound(&with, log);
    let class = |load: &LoadSample| (log(load) - bound).floor();
    with.chunk_by(|a, b| class(a) == class(b)).map(<[&LoadSample]>::to_vec).collect()
}

/// Groups loads of about the same concurrency of a side, as far as they lie apart from the others; the lowest
/// first. Where there are no gaps a group spans no more than half a power of two.
pub(super) fn clustered<'a>(loads: &[&'a LoadSample], side: IoDirection) -> Vec<Vec<&'a LoadSample>> {
    const GAP: f64 = 1.1;
    const WIDEST: f64 = 1.2;
    const SPAN: f64 = std::f64::consts::SQRT_2;
    let with = sorted(loads, side);
    let at = |load: &LoadSample| load.concurrency(side);
    let mut groups: Vec<Vec<&LoadSample>> = Vec::new();
    for run in with.chunk_by(|a, b| at(b) <= GAP * at(a)) {
        let width = run.first().zip(run.last()).map_or(1.0, |(first, last)| at(last) / at(first));
        if width <= WIDEST {
            groups.push(run.to_vec());
            continue;
        }
        // No gaps: parts of like width.
        let part = |load: &LoadSample| (log(at(load) / at(run[0])) / log(SPAN)).floor();
        groups.extend(run.chunk_by(|a, b| part(a) == part(b)).map(<[&LoadSample]>::to_vec));
    }
    // Where others are levels, a single interval is a transition or chance, and so are a few of thousands.
    const FEW: f64 = 0.05;
    let intervals = |group: &Vec<&LoadSample>| group.iter().map(|load| load.intervals).sum::<f64>();
    let usual = median(&mut groups.iter().map(|group| (intervals(group), 1.0)).collect::<Vec<_>>());
    let least = (FEW * usual.unwrap_or(0.0)).max(2.0);
    if groups.iter().filter(|group| intervals(group) >= least).count() >= 4 {
        groups.retain(|group| intervals(group) >= least);
    }
    groups
}

/// The loads that have such requests, in the order of concurrency.
fn sorted<'a>(loads: &[&'a LoadSample], side: IoDirection) -> Vec<&'a LoadSample> {
    let mut with: Vec<&LoadSample> =
        loads.iter().copied().filter(|load| load.concurrency(side) > 0.0).collect();
    with.sort_by(|a, b| a.concurrency(side).total_cmp(&b.concurrency(side)));
    with
}

/// The place of the bounds between 0 and 1 (in powers of two) with the least weight near; half-way on a tie.
fn quietest_bound(loads: &[&LoadSample], log: impl Fn(&LoadSample) -> f64) -> f64 {
    const PLACES: [f64; 8] = [0.5, 0.625, 0.375, 0.75, 0.25, 0.875, 0.125, 0.0];
    const NEAR: f64 = 0.125;
    let weight = |bound: f64| -> f64 {
        let distance = |load: &LoadSample| {
            let above = (log(load) - bound).rem_euclid(1.0);
            above.min(1.0 - above)
        };
        loads.iter().map(|load| load.intervals * (1.0 - distance(load) / NEAR).max(0.0)).sum()
    };
    PLACES.into_iter().min_by(|a, b| weight(*a).total_cmp(&weight(*b))).unwrap_or(0.5)
}

/// The median of a quantity over the intervals of loads.
pub(super) fn median_of(loads: &[&LoadSample], of: impl Fn(&LoadSample) -> Option<f64>) -> Option<f64> {
    let value = |load: &&LoadSample| of(load).map(|value| (value, load.intervals));
    median(&mut loads.iter().filter_map(value).collect::<Vec<_>>())
}

/// The loads of a level that tell its means: where most of them are steady, those in which the load changed would
/// only blur them.
fn told<'a>(group: &[&'a LoadSample]) -> Vec<&'a LoadSample> {
    let steady: Vec<&LoadSample> = group.iter().copied().filter(|load| load.steady).collect();
    if 2 * steady.len() >= group.len() { steady } else { group.to_vec() }
}

/// The saturation of several loads together, where that of most of them is known.
fn together(loads: &[&LoadSample], saturation: impl Fn(&LoadSample) -> Option<f64>) -> Option<f64> {
    let known = loads.iter().filter_map(|load| Some((load, saturation(load)?)));
    let (mut intervals, mut ms, mut unloaded_ms) = (0.0, 0.0, 0.0);
    for (load, saturation) in known {
        let spent = load.work(IoDirection::Both).ms;
        intervals += load.intervals;
        ms += spent;
        unloaded_ms += spent / saturation;
    }
    let is_most = 2.0 * intervals >= loads.iter().map(|load| load.intervals).sum::<f64>();
    Some(ms / unloaded_ms).filter(|times| is_most && times.is_finite())
}

/// The concurrency table of loads, reads and writes together; `saturation` tells that of a load.
pub fn levels(
    loads: &[LoadSample],
    saturation: impl Fn(&LoadSample) -> Option<f64>,
) -> Vec<ConcurrencyLevel> {
    let all: Vec<&LoadSample> = loads.iter().collect();
    let level = |group: Vec<&LoadSample>| {
        let told = told(&group);
        let sum = |of: fn(&LoadSample) -> f64| told.iter().map(|load| of(load)).sum::<f64>();
        ConcurrencyLevel {
            concurrency: sum(|load| load.work(IoDirection::Both).ms) / 1000.0 / sum(|load| load.seconds),
            intervals: group.iter().map(|load| load.intervals).sum::<f64>() as u64,
            iops: sum(|load| load.work(IoDirection::Both).ios) / sum(|load| load.seconds),
            mib_per_s: sum(|load| load.work(IoDirection::Both).kib) / sum(|load| load.seconds) / 1024.0,
            await_ms: sum(|load| load.work(IoDirection::Both).ms)
                / sum(|load| load.work(IoDirection::Both).ios),
            saturation: together(&told, &saturation),
        }
    };
    grouped(&all, IoDirection::Both).into_iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::super::load::IoTotals;
    use super::*;

    fn loads(concurrencies: &[f64]) -> Vec<LoadSample> {
        let of = |n: &f64| {
            let reads = IoTotals { ios: 100.0 * n, kib: 400.0 * n, ms: 1000.0 * n };
            LoadSample { seconds: 1.0, intervals: 1.0, reads, ..LoadSample::default() }
        };
        concurrencies.iter().map(of).collect()
    }

    fn groups(concurrencies: &[f64]) -> Vec<usize> {
        let loads = loads(concurrencies);
        grouped(&loads.iter().collect::<Vec<_>>(), IoDirection::Both).iter().map(Vec::len).collect()
    }

    #[test]
    fn loads_on_the_powers_of_two_are_not_torn_apart() {
        assert_eq!(groups(&[0.99, 1.01, 1.98, 2.01, 2.0, 3.95, 4.03]), [2, 3, 2]);
        // Nor those between them.
        assert_eq!(groups(&[0.72, 0.70, 1.40, 1.43, 2.8, 2.85]), [2, 2, 2]);
    }

    #[test]
    fn every_level_driven_is_one_to_fit() {
        let of = |concurrencies: &[f64]| {
            let loads = loads(concurrencies);
            clustered(&loads.iter().collect::<Vec<_>>(), IoDirection::Both).len()
        };
        assert_eq!(of(&[1.0, 1.02, 2.0, 2.01, 3.0, 3.01, 4.0, 4.1, 5.0, 5.05, 6.0, 6.01]), 6);
        let smooth: Vec<f64> = (0..100).map(|k| 1.05f64.powi(k)).collect();
        assert!((13..=16).contains(&of(&smooth)));
        // Nobody waits there, so it is one row.
        assert_eq!(groups(&[0.001, 0.02, 0.024, 0.09, 1.0]), [4, 1]);
    }

    #[test]
    fn a_few_intervals_among_many_are_no_level() {
        let levels = [1.0, 2.0, 4.0, 8.0].into_iter().flat_map(|concurrency| vec![concurrency; 100]);
        let loads = loads(&levels.chain([2.8, 2.81, 2.82]).collect::<Vec<_>>());
        assert_eq!(clustered(&loads.iter().collect::<Vec<_>>(), IoDirection::Both).len(), 4);
    }

    #[test]
    fn a_level_obeys_littles_law() {
        let table = levels(&loads(&[0.9, 1.0, 1.1, 4.0]), |_| Some(1.0));
        assert_eq!(table.len(), 2);
        assert_eq!((table[0].concurrency, table[0].intervals, table[0].iops), (1.0, 3, 100.0));
        assert!((table[0].iops * table[0].await_ms / 1000.0 - table[0].concurrency).abs() < 1e-9);
        assert!((table[0].await_ms - 10.0).abs() < 1e-9 && table[0].saturation == Some(1.0));
    }
}
