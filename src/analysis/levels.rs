//! Intervals grouped by concurrency: the table of formulas.md from the user's own data.

use serde::Serialize;

use super::load::{Load, Measure, Side};
use super::statistic::median;

/// The intervals of about one concurrency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Level {
    /// The median of their mean concurrencies.
    pub concurrency: f64,
    /// How many intervals there were.
    pub intervals: u64,
    /// Requests a second, the median.
    pub iops: f64,
    /// MiB a second, the median.
    pub mib_per_s: f64,
    /// Mean response time in milliseconds: the time of all requests over their number.
    pub await_ms: f64,
    /// The response time as a multiple of the unloaded device's, the median over intervals; `None` where that is
    /// not known for most of them.
    pub saturation: Option<f64>,
}

/// Groups loads by powers of two of a side's concurrency; the lowest first. Loads without such requests are left
/// out.
///
/// The bounds lie a power of two apart, where the fewest loads are near: at 2, 4, 8 when the loads lie between
/// these, and between them when the loads lie on them.
pub(super) fn grouped<'a>(loads: &[&'a Load], side: Side) -> Vec<Vec<&'a Load>> {
    let log = |load: &Load| load.concurrency(side).log2();
    let mut with: Vec<&Load> = loads.iter().copied().filter(|load| log(load).is_finite()).collect();
    with.sort_by(|a, b| log(a).total_cmp(&log(b)));
    let bound = quietest_bound(&with, log);
    let class = |load: &Load| (log(load) - bound).floor();
    with.chunk_by(|a, b| class(a) == class(b)).map(<[&Load]>::to_vec).collect()
}

/// The place of the bounds between 0 and 1 (in powers of two) with the least weight near; half-way on a tie.
fn quietest_bound(loads: &[&Load], log: impl Fn(&Load) -> f64) -> f64 {
    const PLACES: [f64; 8] = [0.5, 0.625, 0.375, 0.75, 0.25, 0.875, 0.125, 0.0];
    const NEAR: f64 = 0.125;
    let weight = |bound: f64| -> f64 {
        let distance = |load: &Load| {
            let above = (log(load) - bound).rem_euclid(1.0);
            above.min(1.0 - above)
        };
        loads.iter().map(|load| load.intervals * (1.0 - distance(load) / NEAR).max(0.0)).sum()
    };
    PLACES.into_iter().min_by(|a, b| weight(*a).total_cmp(&weight(*b))).unwrap_or(0.5)
}

/// The median of a quantity over the intervals of loads.
pub(super) fn median_of(loads: &[&Load], of: impl Fn(&Load) -> Option<f64>) -> Option<f64> {
    let value = |load: &&Load| of(load).map(|value| (value, load.intervals));
    median(&mut loads.iter().filter_map(value).collect::<Vec<_>>())
}

/// The concurrency table of loads, reads and writes together; `saturation` tells that of a load.
pub fn levels(loads: &[Load], saturation: impl Fn(&Load) -> Option<f64>) -> Vec<Level> {
    let all: Vec<&Load> = loads.iter().collect();
    let level = |group: Vec<&Load>| {
        let sum = |of: fn(&Load) -> f64| group.iter().map(|load| of(load)).sum::<f64>();
        Some(Level {
            concurrency: median_of(&group, |load| Some(load.concurrency(Side::Both)))?,
            intervals: sum(|load| load.intervals) as u64,
            iops: median_of(&group, |load| Some(load.rate(Side::Both, Measure::Requests)))?,
            mib_per_s: median_of(&group, |load| Some(load.rate(Side::Both, Measure::Kib)))? / 1024.0,
            await_ms: sum(|load| load.work(Side::Both).ms) / sum(|load| load.work(Side::Both).ios),
            saturation: median_of(&group, &saturation).filter(|_| {
                let known = |load: &&&Load| saturation(load).is_some();
                2.0 * group.iter().filter(known).map(|load| load.intervals).sum::<f64>()
                    >= sum(|load| load.intervals)
            }),
        })
    };
    grouped(&all, Side::Both).into_iter().filter_map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::super::load::Work;
    use super::*;

    fn loads(concurrencies: &[f64]) -> Vec<Load> {
        let of = |n: &f64| {
            let reads = Work { ios: 100.0 * n, kib: 400.0 * n, ms: 1000.0 * n };
            Load { seconds: 1.0, intervals: 1.0, reads, ..Load::default() }
        };
        concurrencies.iter().map(of).collect()
    }

    fn groups(concurrencies: &[f64]) -> Vec<usize> {
        let loads = loads(concurrencies);
        grouped(&loads.iter().collect::<Vec<_>>(), Side::Both).iter().map(Vec::len).collect()
    }

    #[test]
    fn loads_on_the_powers_of_two_are_not_torn_apart() {
        assert_eq!(groups(&[0.99, 1.01, 1.98, 2.01, 2.0, 3.95, 4.03]), [2, 3, 2]);
        // Nor those between them.
        assert_eq!(groups(&[0.72, 0.70, 1.40, 1.43, 2.8, 2.85]), [2, 2, 2]);
    }

    #[test]
    fn a_level_has_the_medians_of_its_intervals() {
        let table = levels(&loads(&[0.9, 1.0, 1.1, 4.0]), |_| Some(1.0));
        assert_eq!(table.len(), 2);
        assert_eq!((table[0].concurrency, table[0].intervals, table[0].iops), (1.0, 3, 100.0));
        assert!((table[0].await_ms - 10.0).abs() < 1e-9 && table[0].saturation == Some(1.0));
    }
}
