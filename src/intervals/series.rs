//! Bounded history: the latest steps one by one, and the time before them in points that get longer the more time there is.
//!
//! The memory that it needs has a bound, whatever the number of steps. A [`Series`] is of any values that add. Time that no step covers is not part of
//! any point, and remains a gap as long as it is longer than a point.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

/// The fraction of a mean step by which a point may exceed its planned length, because steps are not equally long.
const LENGTH_TOLERANCE: f64 = 0.3;

/// A span of time in seconds, on any clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeSpan {
    pub start_s: f64,
    pub end_s: f64,
}

impl TimeSpan {
    pub fn middle_s(&self) -> f64 {
        f64::midpoint(self.start_s, self.end_s)
    }
}

/// A value that adds over time.
pub trait Fold {
    /// Adds a later value.
    fn add(&mut self, later: Self);
}

impl<T: Fold, const N: usize> Fold for [T; N] {
    fn add(&mut self, later: Self) {
        for (own, later) in self.iter_mut().zip(later) {
            own.add(later);
        }
    }
}

/// One step, or several that were added up.
#[derive(Clone, Debug)]
pub struct Point<T> {
    pub span: TimeSpan,
    pub steps: u64,
    value: T,
}

impl<T> Deref for Point<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Point<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Fold> Point<T> {
    fn add(&mut self, later: Self) {
        self.span.end_s = later.span.end_s;
        self.steps += later.steps;
        self.value.add(later.value);
    }
}

/// The history of a value.
#[derive(Clone, Debug)]
pub struct Series<T> {
    points: VecDeque<Point<T>>,
    /// The number of the first points that steps are added to.
    sums: usize,
    /// The longest time in seconds that such a point may span, unless it has a single step.
    max_length_s: f64,
}

impl<T> Default for Series<T> {
    fn default() -> Self {
        Self {
            points: VecDeque::new(),
            sums: 0,
            max_length_s: 0.0,
        }
    }
}

impl<T: Fold> Series<T> {
    /// All points, the earliest first.
    pub fn points(&self) -> &VecDeque<Point<T>> {
        &self.points
    }

    pub fn points_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Point<T>> {
        self.points.iter_mut()
    }

    /// The points that steps are added to.
    pub fn sums(&self) -> impl DoubleEndedIterator<Item = &Point<T>> + ExactSizeIterator {
        self.points.range(..self.sums)
    }

    /// The latest steps, which have a point each.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &Point<T>> {
        self.points.range(self.sums..)
    }

    /// Adds a step, which must not begin before the end of the latest.
    pub fn push(&mut self, span: TimeSpan, value: T) {
        self.points.push_back(Point {
            span,
            steps: 1,
            value,
        });
    }

    /// Adds the oldest of the latest steps to the points before it.
    pub fn add_oldest_step(&mut self) {
        if self.sums == self.points.len() {
            return;
        }
        if self.sums > 0 && self.fit_together(self.sums - 1) {
            self.join(self.sums - 1);
        } else {
            self.sums += 1;
        }
    }

    /// Makes the points longer until at most `max_sums` have several steps.
    pub fn reduce(&mut self, max_sums: usize) {
        let max_sums = max_sums.max(1);
        if self.sums <= max_sums {
            return;
        }
        let covered_s: f64 = self
            .sums()
            .map(|point| point.span.end_s - point.span.start_s)
            .sum();
        let mean_s = covered_s / self.sums as f64;
        let mut joined_points = self.sums.div_ceil(max_sums);
        while self.sums > max_sums {
            let length_s = (joined_points as f64 + LENGTH_TOLERANCE) * mean_s;
            self.max_length_s = self.max_length_s.max(length_s).max(f64::MIN_POSITIVE);
            self.join_neighbors();
            // Gaps between points may be far longer than the points and need a longer one to span them.
            joined_points += 1 + joined_points / 4;
        }
    }

    /// Joins neighbors that are short enough together.
    fn join_neighbors(&mut self) {
        let steps = self.points.split_off(self.sums);
        let mut sums: VecDeque<Point<T>> = VecDeque::with_capacity(self.sums);
        for point in self.points.drain(..) {
            match sums.back_mut() {
                Some(last) if point.span.end_s - last.span.start_s <= self.max_length_s => {
                    last.add(point);
                }
                _ => sums.push_back(point),
            }
        }
        self.sums = sums.len();
        sums.extend(steps);
        self.points = sums;
    }

    /// Returns whether the point at this index and the next may become one.
    fn fit_together(&self, index: usize) -> bool {
        let (first, second) = (&self.points[index], &self.points[index + 1]);
        second.span.end_s - first.span.start_s <= self.max_length_s
    }

    /// Adds the point after this index to the one at it.
    fn join(&mut self, index: usize) {
        if let Some(later) = self.points.remove(index + 1) {
            self.points[index].add(later);
        }
    }
}

/// Minimum, weighted mean and maximum of a quantity. Single precision is enough for charts: seven digits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extent {
    min: f32,
    mean: f32,
    max: f32,
    weight: f32,
}

impl Extent {
    /// Adds a value with its weight: the requests of a latency, the seconds of a rate. A value that is not finite or
    /// has no weight is ignored.
    pub fn observe(&mut self, value: f64, weight: f64) {
        let (value, weight) = (value as f32, weight as f32);
        if value.is_finite() && weight.is_finite() && weight > 0.0 {
            self.add(Self {
                min: value,
                mean: value,
                max: value,
                weight,
            });
        }
    }

    /// Returns whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.weight == 0.0
    }

    /// The minimum; `None` without values.
    pub fn min(&self) -> Option<f64> {
        (!self.is_empty()).then(|| f64::from(self.min))
    }

    /// The weighted mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| f64::from(self.mean))
    }

    /// The maximum; `None` without values.
    pub fn max(&self) -> Option<f64> {
        (!self.is_empty()).then(|| f64::from(self.max))
    }
}

impl Fold for Extent {
    fn add(&mut self, later: Self) {
        if later.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = later;
            return;
        }
        let weight = self.weight + later.weight;
        self.mean += (later.mean - self.mean) * (later.weight / weight);
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        self.weight = weight;
    }
}

/// The number of latency classes in a power of ten: neighbors differ by a factor of 1.26.
const CLASSES_PER_DECADE: f64 = 10.0;
/// The lower bound of the first class in milliseconds: 1 µs.
const MIN_MS: f64 = 1e-3;
/// The number of classes: up to 1,000 s.
const CLASS_COUNT: u8 = 90;

/// The number of requests in each class of latency. The kernel counts the time of all requests of an interval together,
/// so each request counts with the mean latency of its interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyCounts {
    /// Class and number of requests, sorted by class. An interval has few.
    counts: Vec<(u8, f32)>,
}

impl LatencyCounts {
    /// Adds requests with their mean latency in milliseconds; ignored unless both are positive numbers.
    pub fn observe(&mut self, mean_ms: f64, requests: f64) {
        if mean_ms > 0.0 && mean_ms.is_finite() && requests > 0.0 && requests.is_finite() {
            self.add_class(class(mean_ms), requests as f32);
        }
    }

    /// The classes with requests, the fastest first, with their number.
    pub fn counts(&self) -> impl Iterator<Item = (u8, f64)> {
        self.counts
            .iter()
            .map(|(class, count)| (*class, f64::from(*count)))
    }

    /// Returns the latency in milliseconds at which a class begins; the one before it ends there.
    pub fn class_start_ms(class: u8) -> f64 {
        MIN_MS * 10.0_f64.powf(f64::from(class) / CLASSES_PER_DECADE)
    }

    fn add_class(&mut self, class: u8, requests: f32) {
        match self
            .counts
            .binary_search_by_key(&class, |(class, _)| *class)
        {
            Ok(at) => self.counts[at].1 += requests,
            Err(at) => self.counts.insert(at, (class, requests)),
        }
    }
}

impl Fold for LatencyCounts {
    fn add(&mut self, later: Self) {
        if self.counts.is_empty() {
            *self = later;
        } else {
            later
                .counts
                .into_iter()
                .for_each(|(class, requests)| self.add_class(class, requests));
        }
    }
}

fn class(ms: f64) -> u8 {
    /// Makes a latency on a bound belong to the class above it despite rounding of the logarithm.
    const ROUNDING: f64 = 1e-9;
    let class = ((ms / MIN_MS).log10() * CLASSES_PER_DECADE + ROUNDING).floor();
    class.clamp(0.0, f64::from(CLASS_COUNT - 1)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of steps.
    impl Fold for u64 {
        fn add(&mut self, later: Self) {
            *self += later;
        }
    }

    fn seconds(start: u32, end: u32) -> impl Iterator<Item = TimeSpan> {
        // Steps are never exactly a second long.
        let at = |second: u32| f64::from(second) + f64::from(second % 7) * 1e-3;
        (start..end).map(move |second| TimeSpan {
            start_s: at(second),
            end_s: at(second + 1),
        })
    }

    /// A series of these steps, of which the latest ones are kept.
    fn series(
        spans: impl Iterator<Item = TimeSpan>,
        max_sums: usize,
        max_steps: usize,
    ) -> Series<u64> {
        let mut series = Series::default();
        for span in spans {
            series.push(span, 1);
            if series.steps().count() > max_steps {
                series.add_oldest_step();
            }
            series.reduce(max_sums);
        }
        series
    }

    #[test]
    fn steps_have_points_of_their_own_until_there_are_too_many() {
        assert_eq!(series(seconds(0, 100), 100, 0).points().len(), 100);
        let one_more = series(seconds(0, 101), 100, 0);
        let steps: Vec<u64> = one_more.points().iter().map(|point| point.steps).collect();
        assert_eq!(
            (steps.len(), &steps[..3], steps[50]),
            (51, &[2, 2, 2][..], 1)
        );
    }

    #[test]
    fn a_week_of_seconds_has_no_more_points_than_an_hour() {
        let week = series(seconds(0, 7 * 86_400), 1000, 60);
        let points = week.points();
        assert!((560..=1060).contains(&points.len()), "{}", points.len());
        assert_eq!(points.iter().map(|point| **point).sum::<u64>(), 7 * 86_400);
        for index in 1..points.len() {
            assert_eq!(points[index - 1].span.end_s, points[index].span.start_s);
        }
        assert!((points[points.len() - 1].span.end_s - 7.0 * 86_400.0).abs() < 0.01);
        assert!(week.steps().all(|step| step.steps == 1));
        assert_eq!(week.steps().count(), 60);
    }

    #[test]
    fn a_long_gap_stays_one() {
        let series = series(seconds(0, 100).chain(seconds(400, 500)), 50, 0);
        let points = series.points();
        let gaps: Vec<usize> = (1..points.len())
            .filter(|index| points[*index].span.start_s - points[index - 1].span.end_s > 1e-3)
            .collect();
        assert_eq!(gaps.len(), 1);
        assert!((points[gaps[0]].span.start_s - 400.0).abs() < 0.01);
    }

    #[test]
    fn scattered_steps_are_joined_across_their_gaps() {
        let spans = (0..10_000)
            .step_by(37)
            .flat_map(|second| seconds(second, second + 1));
        let series = series(spans, 20, 0);
        assert!((5..=20).contains(&series.points().len()));
    }

    #[test]
    fn a_mean_is_weighted_and_the_extremes_remain() {
        let mut latency = Extent::default();
        assert_eq!(
            (latency.min(), latency.mean(), latency.max()),
            (None, None, None)
        );
        latency.observe(1.0, 300.0);
        latency.observe(9.0, 100.0);
        latency.observe(f64::NAN, 1.0);
        latency.observe(1e9, 0.0);
        assert_eq!(
            (latency.min(), latency.mean(), latency.max()),
            (Some(1.0), Some(3.0), Some(9.0))
        );
    }

    #[test]
    fn means_of_means_are_the_mean_of_all() {
        let values: Vec<f64> = (0..4096).map(|n| f64::from(n * 7919 % 4096)).collect();
        let mut parts: Vec<Extent> = values
            .iter()
            .map(|value| {
                let mut extent = Extent::default();
                extent.observe(*value, 1.0);
                extent
            })
            .collect();
        while parts.len() > 1 {
            let merged = parts.chunks(2).map(|pair| {
                let mut one = pair[0];
                one.add(pair[1]);
                one
            });
            parts = merged.collect();
        }
        let expected = values.iter().sum::<f64>() / values.len() as f64;
        assert!((parts[0].mean().unwrap() / expected - 1.0).abs() < 1e-6);
        assert_eq!((parts[0].min(), parts[0].max()), (Some(0.0), Some(4095.0)));
    }

    #[test]
    fn each_class_holds_the_latencies_from_its_start_to_the_next() {
        for index in 0..CLASS_COUNT {
            let start = LatencyCounts::class_start_ms(index);
            assert_eq!(
                (class(start), class(start * 1.2)),
                (index, index),
                "{start}"
            );
        }
        assert_eq!((class(1e-9), class(1e30)), (0, CLASS_COUNT - 1));
    }

    #[test]
    fn merged_counts_keep_every_request() {
        let mut counts = LatencyCounts::default();
        for (ms, requests) in [(0.1, 10.0), (5.0, 1.0), (0.0, 9.0), (f64::NAN, 9.0)] {
            counts.observe(ms, requests);
        }
        let mut later = LatencyCounts::default();
        later.observe(0.105, 30.0);
        counts.add(later);
        assert_eq!(counts.counts().collect::<Vec<_>>(), [(20, 40.0), (36, 1.0)]);
    }
}
