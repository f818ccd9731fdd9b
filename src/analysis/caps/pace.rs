//! The cause of a constant rate: requests that are issued at a constant pace, or a device that completes them at one.

use super::rate::RateKind;
use crate::analysis::load::{IoDirection, LoadSample, RateUnit, weighted_median_of};
use crate::analysis::stats::weighted_median;
use crate::analysis::thresholds::{
    CONSTANT_QUEUE_FRACTION, CONSTANT_QUEUE_INTERVALS, MAX_CONSTANT_QUEUE_RATIO,
    MAX_COUNTING_ERROR_REQUESTS, MAX_OTHERS_RATIO, MAX_REGULAR_RATIO, MAX_SAMPLE_DELAY_FRACTION,
    MIN_CONSTANT_QUEUE, MIN_IRREGULAR_ARRIVALS_FRACTION, MIN_LATE_QUEUE_DEVIATION,
    MIN_LATE_QUEUE_RATIO, MIN_LIGHT_INTERVALS, SAME_QUEUE_TOLERANCE,
};

/// The more regular of arrivals and completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Requests arrive regularly: the rate is that of those who issue them.
    Arrivals,
    /// Requests complete regularly, however they arrive: something holds the rate.
    Completions,
    /// Each request is issued when another completes, at a constant number in flight: something holds the rate.
    ClosedLoop,
    /// Both are about equally regular.
    Unclear,
}

impl Pace {
    /// Returns whether something holds the rate, rather than those who issue the requests.
    pub(crate) fn is_held(self) -> bool {
        matches!(self, Self::Completions | Self::ClosedLoop)
    }
}

/// The pace of loads at a `rate`. Let e be the number of completions minus rate times time, and D the change of the
/// requests in flight. Arrivals then deviate from a constant rate by e + D: if these deviations are far smaller than e,
/// the arrivals are regular. Medians are compared, because single samples are taken late.
///
/// In a closed loop, each completion causes the next request to be issued, so the number in flight is constant and e +
/// D equals e; then the completions set the pace.
///
/// `is_at_constant_queue` is what [`has_constant_queue`] returns for the loads. `were_faster` if requests are known to
/// wait, because they took less time at a shorter queue: then the number in flight does not vary by chance.
pub(super) fn pace(
    loads: &[&LoadSample],
    direction: IoDirection,
    unit: RateUnit,
    rate: f64,
    is_at_constant_queue: bool,
    were_faster: bool,
) -> Pace {
    let single = || {
        loads
            .iter()
            .copied()
            .filter(|load| load.intervals == 1.0 && load.in_flight_at_end.is_some())
    };
    let completions = |load: &LoadSample| (load.rate(direction, unit) - rate) * load.seconds;
    let change = |load: &LoadSample| {
        let totals = load.totals(direction);
        let each = if unit == RateUnit::Requests {
            1.0
        } else {
            totals.size_kib().unwrap_or(0.0)
        };
        load.in_flight_change * each
    };
    let median = |value: &dyn Fn(&LoadSample) -> f64| {
        weighted_median(
            &mut single()
                .map(|load| (value(load).abs(), 1.0))
                .collect::<Vec<_>>(),
        )
    };
    // Even at a constant pace, the request at the end of an interval falls into it or not. And requests of the other
    // direction come and go, whose number in flight is not known by itself.
    let each = weighted_median_of(loads, |load| {
        Some(load.amount(direction, unit) / load.totals(direction).ios)
    });
    let others = weighted_median_of(loads, |load| {
        Some(load.queue(IoDirection::Both) - load.queue(direction))
    });
    // Of requests that do not wait, a chance number is in flight, which varies by its square root.
    let queue = || weighted_median_of(loads, |load| Some(load.queue(direction))).unwrap_or(0.0);
    let chance = if were_faster { 0.0 } else { queue().sqrt() };
    let uncertain = MAX_COUNTING_ERROR_REQUESTS
        .max(chance)
        .max(MAX_OTHERS_RATIO * others.unwrap_or(0.0));
    let uncertain = uncertain * each.unwrap_or(0.0);
    let arrivals = |load: &LoadSample| completions(load) + change(load);
    let is_irregular = || {
        let deviations: Vec<f64> = single().map(|load| arrivals(load).abs()).collect();
        let count = deviations
            .iter()
            .filter(|deviation| **deviation > uncertain)
            .count();
        count as f64 >= MIN_IRREGULAR_ARRIVALS_FRACTION * deviations.len() as f64
    };
    match median(&completions).zip(median(&arrivals)) {
        Some((departures, arrivals)) if arrivals < MAX_REGULAR_RATIO * departures => Pace::Arrivals,
        Some((departures, arrivals))
            if departures < MAX_REGULAR_RATIO * arrivals && is_irregular() =>
        {
            Pace::Completions
        }
        _ if is_at_constant_queue || is_closed_loop(&in_upper_half(loads, direction)) => {
            Pace::ClosedLoop
        }
        _ => Pace::Unclear,
    }
}

/// Returns the pace of loads at about one concurrency, at their own rate.
pub(crate) fn pace_of_level(loads: &[&LoadSample], direction: IoDirection, unit: RateUnit) -> Pace {
    let rate = weighted_median_of(loads, |load| Some(load.rate(direction, unit)));
    rate.map_or(Pace::Unclear, |rate| {
        pace(
            loads,
            direction,
            unit,
            rate,
            has_constant_queue(loads, direction),
            true,
        )
    })
}

/// Returns whether the numbers completed in neighboring intervals under load are clearly more alike than their rates.
pub(super) fn has_steadier_counts(loads: &[&LoadSample], kind: RateKind) -> bool {
    let pairs = neighbors_under_load(loads, kind);
    let amount = |load: &LoadSample| load.amount(kind.direction, kind.unit);
    let counts = || {
        pairs
            .iter()
            .map(|(a, b)| relative_difference(amount(a), amount(b)))
    };
    let rates = || {
        pairs
            .iter()
            .map(|(a, b)| relative_difference(kind.rate(a), kind.rate(b)))
    };
    let median = |values: &mut dyn Iterator<Item = f64>| {
        weighted_median(&mut values.map(|value| (value, 1.0)).collect::<Vec<_>>())
    };
    median(&mut counts())
        .zip(median(&mut rates()))
        .is_some_and(|(counts, rates)| counts < MAX_REGULAR_RATIO * rates)
}

/// Returns the pairs of intervals in a row under load whose lengths differ by no more than late samples explain.
fn neighbors_under_load<'a>(
    loads: &[&'a LoadSample],
    kind: RateKind,
) -> Vec<(&'a LoadSample, &'a LoadSample)> {
    let is_loaded =
        |load: &LoadSample| load.intervals == 1.0 && kind.queue(load) >= MIN_CONSTANT_QUEUE;
    let are_neighbors = |(a, b): &(&LoadSample, &LoadSample)| {
        is_loaded(a)
            && is_loaded(b)
            && b.interval_index - a.interval_index < 1.5
            && relative_difference(a.seconds, b.seconds) <= MAX_SAMPLE_DELAY_FRACTION
    };
    loads
        .windows(2)
        .map(|pair| (pair[0], pair[1]))
        .filter(are_neighbors)
        .collect()
}

fn relative_difference(before: f64, after: f64) -> f64 {
    (after / before - 1.0).abs()
}

/// The loads whose queue lies above the middle, on a logarithmic scale, between the shortest and the longest.
fn in_upper_half<'a>(loads: &[&'a LoadSample], direction: IoDirection) -> Vec<&'a LoadSample> {
    let queues = loads.iter().map(|load| load.queue(direction));
    let (shortest, longest) = queues.fold((f64::INFINITY, 0.0f64), |(min, max), queue| {
        (min.min(queue), max.max(queue))
    });
    let middle = (1.0 - SAME_QUEUE_TOLERANCE) * (shortest * longest).sqrt();
    loads
        .iter()
        .copied()
        .filter(|load| load.queue(direction) >= middle)
        .collect()
}

/// Returns whether, in nearly every interval, as many requests were in flight at the end as on average within it. The
/// number may change from time to time.
fn is_closed_loop(loads: &[&LoadSample]) -> bool {
    let count = loads.iter().filter(|load| load.is_closed_loop()).count();
    loads.len() >= MIN_LIGHT_INTERVALS
        && count as f64 >= CONSTANT_QUEUE_FRACTION * loads.len() as f64
}

/// Returns whether the number of requests in flight was constant for long enough to show a closed loop: all the time,
/// or at each of several levels.
pub(super) fn has_constant_queue(loads: &[&LoadSample], direction: IoDirection) -> bool {
    let is_same_level = |a: &&LoadSample, b: &&LoadSample| {
        let (a, b) = (a.queue(direction), b.queue(direction));
        (a - b).abs() <= SAME_QUEUE_TOLERANCE * a.max(b)
    };
    let is_constant = |level: &&[&LoadSample]| {
        level.len() >= MIN_LIGHT_INTERVALS && has_same_in_flight(level, direction)
    };
    loads.len() >= CONSTANT_QUEUE_INTERVALS
        && (has_same_in_flight(loads, direction)
            || loads
                .chunk_by(is_same_level)
                .filter(is_constant)
                .map(<[_]>::len)
                .sum::<usize>()
                >= CONSTANT_QUEUE_INTERVALS)
}

/// Returns whether the same number of requests was in flight at the end of nearly every interval, so that each was
/// issued when another completed.
pub(super) fn has_same_in_flight(loads: &[&LoadSample], direction: IoDirection) -> bool {
    let in_flight = |load: &LoadSample| load.in_flight_at_end.map(|in_flight| in_flight as f64);
    let median_queue = |direction| weighted_median_of(loads, |load| Some(load.queue(direction)));
    let (Some(queue), Some(total_queue), Some(usual)) = (
        median_queue(direction),
        median_queue(IoDirection::Both),
        weighted_median_of(loads, in_flight),
    ) else {
        return false;
    };
    let is_same = |load: &&&LoadSample| {
        let others = load.queue(IoDirection::Both) - load.queue(direction);
        let tolerance = (SAME_QUEUE_TOLERANCE * usual).max(MAX_OTHERS_RATIO * others);
        in_flight(load).is_some_and(|one| (one - usual).abs() <= tolerance)
    };
    let count = loads.iter().filter(is_same).count() as f64;
    // A constant number of clients never has more in flight.
    let is_more =
        |load: &&&LoadSample| load.queue(direction) > MAX_CONSTANT_QUEUE_RATIO * (usual + 1.0);
    let exceeds = loads.iter().filter(is_more).count() as f64
        > (1.0 - CONSTANT_QUEUE_FRACTION) / 2.0 * loads.len() as f64;
    // Clients that wait for a CPU between two requests are not late by the same time in every interval. Bursts in step
    // with the samples have idle time in between, always the same.
    let deviation = weighted_median_of(loads, |load| {
        Some((load.queue(IoDirection::Both) - total_queue).abs())
    });
    let is_irregular = deviation.is_some_and(|one| one >= MIN_LATE_QUEUE_DEVIATION * total_queue);
    let min_ratio = if is_irregular {
        MIN_LATE_QUEUE_RATIO
    } else {
        MIN_CONSTANT_QUEUE
    };
    !exceeds
        && queue >= MIN_CONSTANT_QUEUE
        && total_queue >= min_ratio * usual
        && count >= CONSTANT_QUEUE_FRACTION * loads.len() as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::settings::KnownDevice;
    use crate::analysis::stats::IoTotals;

    /// The pace of loads of `(completions, in flight at the end)`, with a mean queue of that at the end.
    fn pace_of(intervals: &[(f64, u64)]) -> Pace {
        pace_at(intervals, None)
    }

    /// The pace of such loads, with this mean queue if it is given.
    fn pace_at(intervals: &[(f64, u64)], queue: Option<f64>) -> Pace {
        let mut before = intervals[0].1;
        let load = |(ios, in_flight): &(f64, u64)| {
            let change = *in_flight as f64 - std::mem::replace(&mut before, *in_flight) as f64;
            LoadSample {
                seconds: 1.0,
                intervals: 1.0,
                reads: IoTotals {
                    ios: *ios,
                    kib: 4.0 * ios,
                    ms: 1000.0 * queue.unwrap_or(*in_flight as f64),
                },
                in_flight_at_end: Some(*in_flight),
                in_flight_change: change,
                ..LoadSample::default()
            }
        };
        let loads: Vec<LoadSample> = intervals.iter().map(load).collect();
        let loads: Vec<&LoadSample> = loads.iter().collect();
        let is_at_constant_queue = has_constant_queue(&loads, IoDirection::Reads);
        pace(
            &loads,
            IoDirection::Reads,
            RateUnit::Requests,
            1000.0,
            is_at_constant_queue,
            true,
        )
    }

    proptest! {
        #[test]
        fn counts_are_steadier_than_rates_exactly_where_their_median_says_so(
            jitter in 0.0..0.12_f64,
            noise in 0.0..0.1_f64,
            steps in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 2..40),
        ) {
            let load = |(index, (late, more)): (usize, &(f64, f64))| LoadSample {
                interval_index: index as f64,
                seconds: 1.0 + jitter * late,
                intervals: 1.0,
                reads: IoTotals { ios: 1000.0 * (1.0 + noise * more), kib: 4000.0, ms: 8000.0 },
                ..LoadSample::default()
            };
            let loads: Vec<LoadSample> = steps.iter().enumerate().map(load).collect();
            let loads: Vec<&LoadSample> = loads.iter().collect();
            let unit = RateUnit::Requests;
            let kind = RateKind { direction: IoDirection::Reads, unit, device: KnownDevice::default() };
            let median = |value: &dyn Fn(&LoadSample) -> f64| {
                let pairs = neighbors_under_load(&loads, kind).len();
                let is_usual = |pair: &&[&LoadSample]| {
                    (pair[1].seconds / pair[0].seconds - 1.0).abs() <= MAX_SAMPLE_DELAY_FRACTION
                };
                let mut differences: Vec<(f64, f64)> = loads
                    .windows(2)
                    .filter(is_usual)
                    .map(|pair| ((value(pair[1]) / value(pair[0]) - 1.0).abs(), 1.0))
                    .collect();
                assert_eq!(differences.len(), pairs);
                weighted_median(&mut differences)
            };
            let (counts, rates) = (median(&|load| load.reads.ios), median(&|load| load.reads.ios / load.seconds));
            let expected = counts.zip(rates).is_some_and(|(counts, rates)| counts < MAX_REGULAR_RATIO * rates);
            prop_assert_eq!(has_steadier_counts(&loads, kind), expected);
        }
    }

    #[test]
    fn completions_that_make_up_for_those_in_flight_are_paced_by_their_arrivals() {
        assert_eq!(
            pace_of(&[
                (1000.0, 4),
                (996.0, 8),
                (1003.0, 5),
                (997.0, 8),
                (1006.0, 2)
            ]),
            Pace::Arrivals
        );
    }

    #[test]
    fn completions_that_ignore_those_in_flight_are_held_by_something() {
        assert_eq!(
            pace_of(&[(1000.0, 20), (1000.0, 40), (1000.0, 25), (1001.0, 70)]),
            Pace::Completions
        );
    }

    #[test]
    fn arrivals_that_differ_by_one_request_may_be_at_a_constant_pace() {
        let few = [
            (1000.0, 0),
            (999.5, 1),
            (1000.5, 0),
            (1000.0, 1),
            (1000.0, 0),
            (1000.0, 0),
        ];
        assert_eq!(pace_at(&few, Some(8.0)), Pace::Unclear);
        let more = few.map(|(completions, in_flight)| (completions, 5 * in_flight));
        assert_eq!(pace_at(&more, Some(8.0)), Pace::Completions);
    }

    #[test]
    fn writes_that_come_and_go_do_not_show_that_reads_arrive_irregularly() {
        let pace_beside = |writes_queue: f64| {
            let in_flight = [9, 14, 6, 12, 8, 15, 7, 10, 13, 6, 11];
            let load = |pair: &[i32]| LoadSample {
                seconds: 1.0,
                intervals: 1.0,
                reads: IoTotals {
                    ios: 1000.0,
                    kib: 4000.0,
                    ms: 4000.0,
                },
                writes: IoTotals {
                    ios: 500.0,
                    kib: 2000.0,
                    ms: 1000.0 * writes_queue,
                },
                in_flight_at_end: Some(pair[1] as u64),
                in_flight_change: f64::from(pair[1] - pair[0]),
                ..LoadSample::default()
            };
            let loads: Vec<LoadSample> = in_flight.windows(2).map(load).collect();
            let loads: Vec<&LoadSample> = loads.iter().collect();
            pace(
                &loads,
                IoDirection::Reads,
                RateUnit::Requests,
                1000.0,
                false,
                true,
            )
        };
        assert_eq!(pace_beside(6.0), Pace::Unclear);
        assert_eq!(pace_beside(0.5), Pace::Completions);
    }

    #[test]
    fn requests_in_flight_in_step_with_the_sampler_are_no_constant_queue() {
        let load = |queue: f64| LoadSample {
            seconds: 5.0,
            intervals: 1.0,
            reads: IoTotals {
                ios: 4000.0,
                kib: 16_000.0,
                ms: 5000.0 * queue,
            },
            in_flight_at_end: Some(32),
            ..LoadSample::default()
        };
        let is_constant = |queues: [f64; 4]| {
            let loads: Vec<LoadSample> = queues
                .iter()
                .cycle()
                .take(12)
                .map(|queue| load(*queue))
                .collect();
            has_constant_queue(&loads.iter().collect::<Vec<_>>(), IoDirection::Reads)
        };
        assert!(is_constant([31.0; 4]));
        // A burst of 64 ms every 80 ms, always seen with all its requests.
        assert!(!is_constant([25.6; 4]));
        // Clients that wait for a CPU between two requests.
        assert!(is_constant([28.3, 24.7, 26.2, 30.1]) && !is_constant([20.0, 28.0, 16.0, 19.0]));
    }

    #[test]
    fn a_closed_loop_is_paced_by_its_completions() {
        assert_eq!(pace_of(&[(1000.0, 16); 12]), Pace::ClosedLoop);
        assert_eq!(pace_of(&[(1000.0, 16); 4]), Pace::Unclear);
    }
}
