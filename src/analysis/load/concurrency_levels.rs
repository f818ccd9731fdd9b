//! The levels of concurrency of a device.

use serde::Serialize;

use super::history::those_or_all;
use super::sample::{IoDirection, LoadSample};
use crate::analysis::stats::{IoTotals, weighted_median};
use crate::analysis::thresholds::{
    LEVEL_GAP_RATIO, LEVEL_REACH_RATIO, MAX_LEVEL_WIDTH_RATIO, MAX_UNIMPORTANT_QUEUE,
    MIN_CONFIRMATIONS, MOST_FRACTION,
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
pub(crate) fn concurrency_levels(
    loads: &[LoadSample],
    saturations: &[Option<f64>],
) -> Vec<ConcurrencyLevel> {
    let level = |group: Vec<usize>| {
        let used = those_or_all(&group, |index| loads[*index].is_steady);
        let used_loads: Vec<&LoadSample> = used.iter().map(|index| &loads[*index]).collect();
        let known: Vec<(&LoadSample, Option<f64>)> = used
            .iter()
            .map(|index| (&loads[*index], saturations[*index]))
            .collect();
        ConcurrencyLevel {
            intervals: group
                .iter()
                .map(|index| loads[*index].intervals)
                .sum::<f64>() as u64,
            saturation: combined_saturation(&known),
            ..ConcurrencyLevel::of(&used_loads, IoDirection::Both)
        }
    };
    let all: Vec<&LoadSample> = loads.iter().collect();
    group_by_queue(&all, IoDirection::Both)
        .into_iter()
        .map(level)
        .collect()
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
    for (load, saturation) in loads
        .iter()
        .filter_map(|(load, saturation)| Some((load, (*saturation)?)))
    {
        let load_ms = load.totals(IoDirection::Both).ms;
        intervals += load.intervals;
        ms += load_ms;
        unloaded_ms += load_ms / saturation;
    }
    let is_enough =
        intervals >= MOST_FRACTION * loads.iter().map(|(load, _)| load.intervals).sum::<f64>();
    Some(ms / unloaded_ms).filter(|saturation| is_enough && saturation.is_finite())
}

#[derive(Clone, Copy)]
struct Queue {
    /// Its length, [`MAX_UNIMPORTANT_QUEUE`] at least.
    length: f64,
    /// The number of intervals of the load.
    intervals: f64,
    index: usize,
}

/// A length of the queue that was held for several loads in a row, once or more often.
#[derive(Clone, Copy)]
struct HeldQueue {
    shortest: f64,
    longest: f64,
    /// The number of intervals in which it was held.
    intervals: f64,
}

impl HeldQueue {
    /// A run of loads with about the same queue; `None` if it is too short. Its first and last load may hold the change
    /// to another queue, so that their lengths do not count.
    fn of_run(run: &[Queue]) -> Option<Self> {
        let inner = run
            .get(1..run.len() - 1)
            .filter(|_| run.len() >= MIN_CONFIRMATIONS)?;
        let lengths = || inner.iter().map(|queue| queue.length);
        Some(Self {
            shortest: lengths().fold(f64::INFINITY, f64::min),
            longest: lengths().fold(0.0, f64::max),
            intervals: run.iter().map(|queue| queue.intervals).sum(),
        })
    }

    fn with(self, other: &Self) -> Self {
        Self {
            shortest: self.shortest.min(other.shortest),
            longest: self.longest.max(other.longest),
            intervals: self.intervals + other.intervals,
        }
    }

    /// The factor between a length and the nearest one that was held.
    fn distance(&self, length: f64) -> f64 {
        (length / self.longest).max(self.shortest / length).max(1.0)
    }
}

/// The indices of the loads with requests of a direction, grouped by that direction's queue; the shortest first.
///
/// A length that was held is a group, with the loads near it. All other loads are grouped by powers of two.
pub(crate) fn group_by_queue(loads: &[&LoadSample], direction: IoDirection) -> Vec<Vec<usize>> {
    let queue = |(index, load): (usize, &&LoadSample)| Queue {
        length: load.queue(direction),
        intervals: load.intervals,
        index,
    };
    let mut queues: Vec<Queue> = loads
        .iter()
        .enumerate()
        .map(queue)
        .filter(|queue| queue.length > 0.0)
        .collect();
    queues
        .iter_mut()
        .for_each(|queue| queue.length = queue.length.max(MAX_UNIMPORTANT_QUEUE));
    let held = held_queues(&queues);
    queues.sort_by(|a, b| a.length.total_cmp(&b.length));
    let octaves: Vec<(f64, f64)> = queues
        .iter()
        .filter(|queue| nearest(&held, queue.length).is_none())
        .map(|queue| (queue.length.log2(), queue.intervals))
        .collect();
    let bound = quietest_bound(&octaves);
    let groups: Vec<(Option<usize>, i64, usize)> = queues
        .iter()
        .map(|queue| match nearest(&held, queue.length) {
            Some(held) => (Some(held), 0, queue.index),
            None => (
                None,
                (queue.length.log2() - bound).floor() as i64,
                queue.index,
            ),
        })
        .collect();
    groups
        .chunk_by(|a, b| (a.0, a.1) == (b.0, b.1))
        .map(|group| group.iter().map(|(.., index)| *index).collect())
        .collect()
}

/// The lengths that were held, the shortest first; `queues` are in the order of time.
///
/// A length was held in a run of loads each of which has about the queue of the one before, unless the run is so wide that
/// the queue moved. Runs with no clear gap between their lengths are one. A length was not held if runs are only the
/// smaller part of the time near it: a queue that varies randomly has short runs by chance.
fn held_queues(queues: &[Queue]) -> Vec<HeldQueue> {
    let is_near = |a: f64, b: f64| a.max(b) <= LEVEL_GAP_RATIO * a.min(b);
    let is_narrow = |one: &HeldQueue| one.longest <= MAX_LEVEL_WIDTH_RATIO * one.shortest;
    let runs = queues
        .chunk_by(|a, b| is_near(a.length, b.length))
        .filter_map(HeldQueue::of_run);
    let mut runs: Vec<HeldQueue> = runs.filter(is_narrow).collect();
    runs.sort_by(|a, b| a.shortest.total_cmp(&b.shortest));
    let mut held: Vec<HeldQueue> = Vec::new();
    for run in runs {
        match held.last_mut() {
            Some(last) if run.shortest <= LEVEL_GAP_RATIO * last.longest => *last = last.with(&run),
            _ => held.push(run),
        }
    }
    held.retain(is_narrow);
    let mut near = vec![0.0; held.len()];
    for queue in queues {
        if let Some(index) = nearest(&held, queue.length) {
            near[index] += queue.intervals;
        }
    }
    held.into_iter()
        .zip(near)
        .filter(|(one, near)| one.intervals >= MOST_FRACTION * near)
        .map(|(one, _)| one)
        .collect()
}

/// The index of the held length next to a length; `None` if none is near.
fn nearest(held: &[HeldQueue], length: f64) -> Option<usize> {
    let distances = held.iter().map(|one| one.distance(length)).enumerate();
    let (index, distance) = distances.min_by(|a, b| a.1.total_cmp(&b.1))?;
    (distance <= LEVEL_REACH_RATIO).then_some(index)
}

/// The position of the bounds between groups, from 0 to 1 (in powers of two), with the least weight of `(octave,
/// intervals)` near; half-way on a tie. So the bounds are at 2, 4, 8 if the loads lie between these, and in between if
/// the loads lie at these.
fn quietest_bound(octaves: &[(f64, f64)]) -> f64 {
    const POSITIONS: [f64; 8] = [0.5, 0.625, 0.375, 0.75, 0.25, 0.875, 0.125, 0.0];
    const SPACING: f64 = 0.125;
    let weight = |bound: f64| -> f64 {
        let distance = |octave: f64| {
            let above = (octave - bound) - (octave - bound).floor();
            above.min(1.0 - above)
        };
        octaves
            .iter()
            .map(|(octave, intervals)| intervals * (1.0 - distance(*octave) / SPACING).max(0.0))
            .sum()
    };
    let weights = POSITIONS.map(|position| (position, weight(position)));
    weights
        .into_iter()
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map_or(0.5, |(position, _)| position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(queues: &[f64]) -> Vec<LoadSample> {
        let load = |queue: &f64| {
            let reads = IoTotals {
                ios: 100.0 * queue,
                kib: 400.0 * queue,
                ms: 1000.0 * queue,
            };
            LoadSample {
                seconds: 1.0,
                intervals: 1.0,
                reads,
                ..LoadSample::default()
            }
        };
        queues.iter().map(load).collect()
    }

    #[test]
    fn a_level_obeys_littles_law() {
        let levels = concurrency_levels(&loads(&[0.9, 1.0, 1.1, 4.0]), &[Some(1.0); 4]);
        assert_eq!(levels.len(), 2);
        assert_eq!(
            (levels[0].queue, levels[0].intervals, levels[0].iops),
            (1.0, 3, 100.0)
        );
        assert!((levels[0].iops * levels[0].await_ms / 1000.0 - levels[0].queue).abs() < 1e-9);
        assert!((levels[0].await_ms - 10.0).abs() < 1e-9 && levels[0].saturation == Some(1.0));
    }
}

#[cfg(test)]
mod queue_groups_tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    /// The sizes of the groups of loads with these queues.
    fn sizes(queues: impl IntoIterator<Item = f64>) -> Vec<usize> {
        let load = |queue: f64| {
            let reads = IoTotals {
                ios: 100.0,
                kib: 400.0,
                ms: 1000.0 * queue,
            };
            LoadSample {
                seconds: 1.0,
                intervals: 1.0,
                reads,
                ..LoadSample::default()
            }
        };
        let loads: Vec<LoadSample> = queues.into_iter().map(load).collect();
        let loads: Vec<&LoadSample> = loads.iter().collect();
        group_by_queue(&loads, IoDirection::Both)
            .iter()
            .map(Vec::len)
            .collect()
    }

    #[test]
    fn loads_near_a_power_of_two_stay_in_one_group() {
        assert_eq!(sizes([0.99, 1.98, 1.01, 2.01, 3.95, 2.0, 4.03]), [2, 3, 2]);
        // So do those between powers of two.
        assert_eq!(sizes([0.72, 1.40, 0.70, 2.8, 1.43, 2.85]), [2, 2, 2]);
        // Queues that are nearly empty are one group.
        assert_eq!(sizes([0.001, 0.02, 0.024, 0.09, 1.0]), [4, 1]);
        assert_eq!(sizes([0.0, 1.0, 0.0]), [1]);
    }

    #[test]
    fn each_length_that_was_held_is_a_group() {
        let held = |length: f64| [0.99, 1.0, 1.01, 1.0, 0.99].map(|factor| factor * length);
        assert_eq!(
            sizes([1.0, 2.0, 3.0, 4.0, 5.0, 6.0].into_iter().flat_map(held)),
            [5; 6]
        );
        // Again and again, with a mixture of both in the interval of the change.
        let changes = [5.1, 5.3, 5.4, 5.5, 5.7, 5.9].into_iter();
        let steps = changes
            .flat_map(|change| [held(5.0).to_vec(), vec![change], held(6.0).to_vec()].concat());
        assert_eq!(sizes(steps), [33, 33]);
        // Loads that are far from it are in other groups.
        assert_eq!(
            sizes(held(4.0).into_iter().chain([40.0, 1.0, 5.0])),
            [1, 6, 1]
        );
    }

    #[test]
    fn a_queue_that_moves_or_varies_was_not_held() {
        // Slowly, to 131 times the length: groups of powers of two.
        let moving = sizes((0..500).map(|at| 1.01f64.powi(at)));
        assert!((7..=9).contains(&moving.len()), "{moving:?}");
        // Between 3 and 6 in a random order: two runs by chance.
        let random =
            (0..200u32).map(|at| 3.0 + f64::from(at.wrapping_mul(2_654_435_761) >> 8) / 5.6e6);
        let varying = sizes(random);
        assert!(varying.len() <= 2, "{varying:?}");
    }
}
