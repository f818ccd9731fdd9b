//! The levels of concurrency of a device.

use serde::Serialize;

use super::history::those_or_all;
use super::queue_groups::group_by_queue;
use super::sample::{IoDirection, LoadSample};
use crate::analysis::stats::{IoTotals, weighted_median};
use crate::analysis::thresholds::MIN_KNOWN_FRACTION;

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

impl ConcurrencyLevel {
    /// The means of loads by their requests of a direction, without a saturation.
    pub(crate) fn of(loads: &[&LoadSample], direction: IoDirection) -> Self {
        let (mut totals, mut seconds, mut intervals) = (IoTotals::default(), 0.0, 0.0);
        for load in loads {
            totals = totals.plus(&load.totals(direction));
            seconds += load.seconds;
            intervals += load.intervals;
        }
        Self {
            queue: totals.ms / 1000.0 / seconds,
            intervals: intervals as u64,
            iops: totals.ios / seconds,
            mib_per_s: totals.kib / seconds / 1024.0,
            await_ms: totals.ms / totals.ios,
            saturation: None,
        }
    }
}

/// The levels of loads, reads and writes together, the lowest first. `saturations` has the saturation of each load,
/// `None` if it is unknown.
pub fn concurrency_levels(loads: &[LoadSample], saturations: &[Option<f64>]) -> Vec<ConcurrencyLevel> {
    let level = |group: Vec<usize>| {
        let used = those_or_all(&group, |index| loads[*index].is_steady);
        let used_loads: Vec<&LoadSample> = used.iter().map(|index| &loads[*index]).collect();
        let known: Vec<(&LoadSample, Option<f64>)> =
            used.iter().map(|index| (&loads[*index], saturations[*index])).collect();
        ConcurrencyLevel {
            intervals: group.iter().map(|index| loads[*index].intervals).sum::<f64>() as u64,
            saturation: combined_saturation(&known),
            ..ConcurrencyLevel::of(&used_loads, IoDirection::Both)
        }
    };
    let all: Vec<&LoadSample> = loads.iter().collect();
    group_by_queue(&all, IoDirection::Both).into_iter().map(level).collect()
}

/// The median of a quantity over the intervals of loads; `None` if no load has it.
pub(crate) fn weighted_median_of(
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

    #[test]
    fn a_level_obeys_littles_law() {
        let levels = concurrency_levels(&loads(&[0.9, 1.0, 1.1, 4.0]), &[Some(1.0); 4]);
        assert_eq!(levels.len(), 2);
        assert_eq!((levels[0].queue, levels[0].intervals, levels[0].iops), (1.0, 3, 100.0));
        assert!((levels[0].iops * levels[0].await_ms / 1000.0 - levels[0].queue).abs() < 1e-9);
        assert!((levels[0].await_ms - 10.0).abs() < 1e-9 && levels[0].saturation == Some(1.0));
    }
}
