//! Capacity of a device: the highest rate that it held, and whether more load would bring more.

use serde::Serialize;

use super::caps::{Pace, Plateau, pace_of_level};
use super::load::{
    ConcurrencyLevel, IoDirection, LoadSample, RateUnit, count_transitions, group_by_queue,
};
use super::thresholds::{
    ABOUT_TWICE, MAX_RATE_TOLERANCE, MAX_VON_NEUMANN_RATIO, MIN_CONSTANT_QUEUE,
    MIN_INTERVAL_REQUESTS, MIN_LEVEL_INTERVALS, MIN_LOADED_QUEUE, MIN_MAX_RATE_FRACTION,
    MIN_SINGLE_DIRECTION_FRACTION,
};

/// The capacity of a device or of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CapacityReport {
    /// The highest rate of a level of concurrency, in requests per second; `None` without a level.
    pub max_iops: Option<f64>,
    /// The highest rate of a level in MiB per second.
    pub max_mib_per_s: Option<f64>,
    /// The rate stayed the same while the queue grew, but it is the one at which requests arrived, so the device may do
    /// more.
    #[serde(rename = "offered_rate")]
    pub is_offered_rate: bool,
    /// A plateau shows the maximum.
    #[serde(rename = "proven")]
    pub is_proven: bool,
    /// The direction whose rate stayed constant; `None` without a plateau.
    pub capped: Option<IoDirection>,
    /// `max_iops` is the maximum: the rate stayed the same while the queue at least doubled, and latency with it.
    #[serde(rename = "max_known")]
    pub is_max_known: bool,
    /// The queue of the last level below the maximum, from which more load still brought more; `None` if every level is
    /// at the maximum or that is not known.
    pub knee_low: Option<f64>,
    /// The queue of the first level at the maximum, from which more load brought no more; `None` if the maximum is not
    /// known.
    pub knee_high: Option<f64>,
}

impl CapacityReport {
    /// Adds plateaus: the highest is the maximum. The knee stays where the levels show the same maximum.
    pub(super) fn with_plateaus<'a>(self, plateaus: impl Iterator<Item = &'a Plateau>) -> Self {
        let plateaus: Vec<&Plateau> = plateaus.collect();
        let Some(highest) = plateaus.iter().max_by(|a, b| a.iops.total_cmp(&b.iops)) else {
            return self;
        };
        let is_same = self
            .max_iops
            .is_some_and(|max| (max / highest.iops - 1.0).abs() <= MAX_RATE_TOLERANCE);
        let has_knee = is_same && plateaus.len() == 1;
        Self {
            max_iops: Some(highest.iops),
            max_mib_per_s: Some(highest.mib_per_s),
            is_offered_rate: false,
            is_proven: true,
            capped: Some(highest.direction),
            is_max_known: true,
            knee_low: self.knee_low.filter(|_| has_knee),
            knee_high: self.knee_high.filter(|_| has_knee),
        }
    }
}

/// The capacity by direction; that of one direction is measured while there were hardly any requests of the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CapacityByDirection {
    /// Of reads; `None` without intervals of reads alone.
    pub read: Option<CapacityReport>,
    /// Of writes; `None` without intervals of writes alone.
    pub write: Option<CapacityReport>,
    /// Of both together.
    #[serde(rename = "all")]
    pub both: Option<CapacityReport>,
}

impl CapacityByDirection {
    /// The capacities that loads show. `ratios` are those of the queues of reads, of writes and of both.
    pub(super) fn measure(loads: &[LoadSample], ratios: &[VonNeumannRatio; 3]) -> Self {
        let has_transitions = count_transitions(loads) > 0;
        let used: Vec<&LoadSample> = loads
            .iter()
            .filter(|load| load.is_steady || !has_transitions)
            .collect();
        let mut found = DIRECTIONS
            .into_iter()
            .zip(ratios)
            .map(|(direction, ratio)| {
                let own: Vec<&LoadSample> = used
                    .iter()
                    .copied()
                    .filter(|load| is_single_direction(load, direction))
                    .collect();
                (!own.is_empty()).then(|| measure(&own, direction, ratio.is_held()))
            });
        let mut next = || found.next().flatten();
        Self {
            read: next(),
            write: next(),
            both: next(),
        }
    }

    /// Adds plateaus, each to the capacity of its own direction.
    pub(super) fn with_plateaus(self, plateaus: &[Plateau]) -> Self {
        let with_own = |capacity: Option<CapacityReport>, direction| {
            let own = plateaus
                .iter()
                .filter(|plateau| plateau.direction == direction);
            capacity.map(|capacity| capacity.with_plateaus(own))
        };
        Self {
            read: with_own(self.read, IoDirection::Reads),
            write: with_own(self.write, IoDirection::Writes),
            both: with_own(self.both, IoDirection::Both),
        }
    }
}

/// The capacity that loads of one direction show. Only a queue that was held or moved slowly shows a maximum.
fn measure(loads: &[&LoadSample], direction: IoDirection, is_held: bool) -> CapacityReport {
    let groups: Vec<Vec<&LoadSample>> = group_by_queue(loads, direction)
        .into_iter()
        .map(|group| group.into_iter().map(|index| loads[index]).collect())
        .collect();
    let levels: Vec<(&Vec<&LoadSample>, ConcurrencyLevel)> = groups
        .iter()
        .map(|group| (group, ConcurrencyLevel::of(group, direction)))
        .filter(|(_, level)| level.intervals >= MIN_LEVEL_INTERVALS)
        .collect();
    let highest = |rate: fn(&ConcurrencyLevel) -> f64| {
        levels.iter().map(|(_, level)| rate(level)).reduce(f64::max)
    };
    let capacity = CapacityReport {
        max_iops: highest(|level| level.iops),
        max_mib_per_s: highest(|level| level.mib_per_s),
        ..CapacityReport::default()
    };
    let is_loaded = |(group, level): &&(&Vec<&LoadSample>, ConcurrencyLevel)| {
        let requests: f64 = group.iter().map(|load| load.totals(direction).ios).sum();
        level.queue >= MIN_LOADED_QUEUE
            && requests >= MIN_INTERVAL_REQUESTS * level.intervals as f64
    };
    let loaded: Vec<_> = levels.iter().filter(is_loaded).collect();
    let Some(range) = range_at_maximum(&loaded.iter().map(|(_, level)| *level).collect::<Vec<_>>())
        .filter(|_| is_held)
    else {
        return capacity;
    };
    let at_maximum = &loaded[range.clone()];
    let intervals = |is_pace: fn(Pace) -> bool| {
        let with_pace = at_maximum
            .iter()
            .filter(|(group, _)| is_pace(pace_of_level(group, direction, RateUnit::Requests)));
        with_pace.map(|(_, level)| level.intervals).sum::<u64>()
    };
    let first = at_maximum[0].1.queue;
    // With less in flight the device is idle at times.
    if first < MIN_CONSTANT_QUEUE
        || intervals(|pace| pace == Pace::Arrivals) > intervals(Pace::is_held)
    {
        return CapacityReport {
            is_offered_rate: true,
            ..capacity
        };
    }
    let below = range
        .start
        .checked_sub(1)
        .map(|index| loaded[index].1.queue);
    CapacityReport {
        is_max_known: true,
        knee_low: below,
        knee_high: Some(first),
        ..capacity
    }
}

/// The indices of the levels about the one of the highest rate that have the same rate, if the queue at least doubled
/// among them; otherwise `None`. Levels at either end that were brief do not count.
fn range_at_maximum(levels: &[ConcurrencyLevel]) -> Option<std::ops::Range<usize>> {
    let rates = levels.iter().map(|level| level.iops).enumerate();
    let (highest, max) = rates.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let min = max * (1.0 - MAX_RATE_TOLERANCE) / (1.0 + MAX_RATE_TOLERANCE);
    let is_below = |level: &ConcurrencyLevel| level.iops < min;
    let begin = levels[..highest]
        .iter()
        .rposition(is_below)
        .map_or(0, |index| index + 1);
    let end = levels[highest..]
        .iter()
        .position(is_below)
        .map_or(levels.len(), |index| highest + index);
    let at_maximum = &levels[begin..end];
    let intervals: u64 = at_maximum.iter().map(|level| level.intervals).sum();
    let min_intervals = MIN_MAX_RATE_FRACTION * intervals as f64;
    let queue_at_end = |levels: &[&ConcurrencyLevel]| {
        let mut seen = 0;
        levels.iter().find_map(|level| {
            seen += level.intervals;
            (seen as f64 >= min_intervals).then_some(level.queue)
        })
    };
    let shortest = queue_at_end(&at_maximum.iter().collect::<Vec<_>>())?;
    let longest = queue_at_end(&at_maximum.iter().rev().collect::<Vec<_>>())?;
    (longest >= ABOUT_TWICE * shortest).then_some(begin..end)
}

/// Returns whether practically all requests of a load are of one direction.
pub(crate) fn is_single_direction(load: &LoadSample, direction: IoDirection) -> bool {
    load.totals(direction).ios >= MIN_SINGLE_DIRECTION_FRACTION * load.totals(IoDirection::Both).ios
}

/// The directions whose queues are described: reads, writes and both.
pub(crate) const DIRECTIONS: [IoDirection; 3] =
    [IoDirection::Reads, IoDirection::Writes, IoDirection::Both];

/// Von Neumann's ratio (1941) of the mean square successive difference to the variance, of the logarithms of a
/// direction's queue: about 2 for chance. It is calculated interval by interval, before loads are merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct VonNeumannRatio {
    last: Option<f64>,
    count: f64,
    mean: f64,
    squared_deviations: f64,
    squared_steps: f64,
}

impl VonNeumannRatio {
    /// Takes the load of an interval; loads that are light or not of this direction alone do not count.
    pub(crate) fn observe(&mut self, load: &LoadSample, direction: IoDirection) {
        let queue = load.queue(direction);
        if queue < MIN_LOADED_QUEUE || !is_single_direction(load, direction) {
            return;
        }
        let value = queue.ln();
        // Running mean and squared deviations: Welford (1962).
        self.count += 1.0;
        let deviation = value - self.mean;
        self.mean += deviation / self.count;
        self.squared_deviations += deviation * (value - self.mean);
        self.squared_steps += self
            .last
            .replace(value)
            .map_or(0.0, |last| (value - last).powi(2));
    }

    /// Returns whether the queue was held or moved slowly. A queue that only varies randomly at a constant load has no
    /// levels that show what the device can do.
    pub(crate) fn is_held(&self) -> bool {
        self.squared_steps <= MAX_VON_NEUMANN_RATIO * self.squared_deviations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The queues of the levels at the maximum, for levels of a queue, a rate and a number of intervals.
    fn queues_at_maximum(levels: &[(f64, f64, u64)]) -> Vec<f64> {
        let level = |(queue, iops, intervals): &(f64, f64, u64)| ConcurrencyLevel {
            queue: *queue,
            iops: *iops,
            intervals: *intervals,
            ..ConcurrencyLevel::default()
        };
        let levels: Vec<ConcurrencyLevel> = levels.iter().map(level).collect();
        let found = range_at_maximum(&levels).unwrap_or_default();
        levels[found].iter().map(|level| level.queue).collect()
    }

    #[test]
    fn a_rate_that_stays_the_same_while_the_queue_doubles_is_the_maximum() {
        let depths = [1450.0, 2370.0, 2470.0, 2450.0, 2480.0, 2460.0];
        let levels: Vec<_> = (1..)
            .map(f64::from)
            .zip(depths)
            .map(|(n, rate)| (n, rate, 30))
            .collect();
        assert_eq!(queues_at_maximum(&levels), [2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(queues_at_maximum(&levels[..3]), [0.0; 0]);
        assert_eq!(queues_at_maximum(&levels[..4]), [2.0, 3.0, 4.0]);
        assert_eq!(queues_at_maximum(&[]), [0.0; 0]);
    }

    #[test]
    fn a_rate_that_still_grows_is_not_the_maximum() {
        let threads = [(1.0, 123.0, 60), (4.0, 292.0, 60), (64.0, 593.0, 60)];
        assert_eq!(queues_at_maximum(&threads), [0.0; 0]);
        // Nor is one that a lighter load exceeds.
        let slower = [
            (1.0, 100.0, 60),
            (8.0, 900.0, 60),
            (16.0, 600.0, 60),
            (32.0, 600.0, 60),
        ];
        assert_eq!(queues_at_maximum(&slower), [0.0; 0]);
    }

    #[test]
    fn beyond_the_maximum_the_rate_may_fall() {
        let levels = [
            (8.0, 100.0, 60),
            (16.0, 146.0, 60),
            (32.0, 157.0, 60),
            (64.0, 148.0, 60),
            (256.0, 90.0, 60),
        ];
        assert_eq!(queues_at_maximum(&levels), [16.0, 32.0, 64.0]);
    }

    #[test]
    fn a_few_slow_intervals_do_not_make_a_maximum() {
        assert_eq!(
            queues_at_maximum(&[(4.8, 4800.0, 500), (40.0, 4800.0, 20)]),
            [0.0; 0]
        );
    }
}

#[cfg(test)]
mod concurrency_sweep_tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    fn load(queue: f64) -> LoadSample {
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
    }

    fn is_held(queues: impl IntoIterator<Item = f64>) -> bool {
        let mut ratio = VonNeumannRatio::default();
        queues
            .into_iter()
            .for_each(|queue| ratio.observe(&load(queue), IoDirection::Both));
        ratio.is_held()
    }

    #[test]
    fn levels_are_held_and_jumps_are_not() {
        assert!(is_held((0..60).map(|at| f64::from(1 << (at / 10)))));
        assert!(is_held(
            (0..6000).map(|at| [1.0, 8.0, 2.0, 64.0][at / 3 % 4])
        ));
        assert!(!is_held((0..60).map(|at| if at % 2 == 0 {
            1.0
        } else {
            3.0
        })));
        // Intervals that hardly load the device do not count.
        assert!(is_held((0..60).map(|at| if at % 2 == 0 {
            0.1
        } else {
            f64::from(1 << (at / 10))
        })));
    }
}
