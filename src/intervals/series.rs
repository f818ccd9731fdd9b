//! Bounded history: any number of intervals in a bounded number of points, for charts.
//!
//! A [`Timeline`] divides the time that was observed into at most a given number of points. When it is full, it doubles
//! the length of a point and merges neighbors, so that one pass over a capture of any length needs bounded memory. Any
//! number of [`Series`] share a timeline: each keeps a value for every point of the timeline and merges the same
//! neighbors. Time that no interval covers is not part of any point and remains a gap as long as it is longer than a
//! point.
//!
//! ```text
//! let placement = timeline.push(span, max_points);
//! placement.merged.iter().for_each(|merged| series.merge(merged)); // every series, before it gets values
//! series.at(placement.index).observe(latency, requests);
//! ```
//!
//! The values of a series are of any type that can be merged: [`Extent`] has minimum, mean and maximum of a quantity,
//! `f64` an amount, [`WorstVerdict`] the most severe verdict, [`LatencyCounts`] the requests by their latency.

use crate::judge::Verdict;

/// The fraction of a mean interval by which a point may exceed its planned length, because intervals are not equally
/// long.
const LENGTH_TOLERANCE: f64 = 0.3;

/// A span of time in seconds, on any clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeSpan {
    pub start_s: f64,
    pub end_s: f64,
}

/// The place of an interval on a timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The index of its point.
    pub index: usize,
    /// The new index of each earlier point, if points were merged: merged neighbors have the same one. `None`
    /// otherwise.
    pub merged: Option<Vec<usize>>,
}

/// Consecutive points of time, at most a given number. A point covers one interval or several.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The longest time that a point may span in seconds, unless it has a single interval.
    max_length_s: f64,
    points: Vec<TimeSpan>,
}

impl Timeline {
    /// Its points, the earliest first.
    pub fn points(&self) -> &[TimeSpan] {
        &self.points
    }

    /// Adds an interval, which must not begin before the end of the latest. At most `max_points` points remain.
    pub fn push(&mut self, interval: TimeSpan, max_points: usize) -> Placement {
        if let Some(last) = self.points.last_mut()
            && interval.end_s - last.start_s <= self.max_length_s
        {
            last.end_s = interval.end_s;
            return Placement {
                index: self.points.len() - 1,
                merged: None,
            };
        }
        self.points.push(interval);
        let merged = (self.points.len() > max_points).then(|| self.reduce(max_points));
        let index = self.points.len() - 1;
        // The new point did not exist before.
        let merged = merged.map(|mut merged| {
            merged.pop();
            merged
        });
        Placement { index, merged }
    }

    /// Merges points until at most `max_points` remain, and returns the new index of each point.
    pub fn reduce(&mut self, max_points: usize) -> Vec<usize> {
        let mut indices: Vec<usize> = (0..self.points.len()).collect();
        let max_points = max_points.max(1);
        let covered_s: f64 = self
            .points
            .iter()
            .map(|point| point.end_s - point.start_s)
            .sum();
        let mean_s = (covered_s / self.points.len().max(1) as f64).max(f64::MIN_POSITIVE);
        let mut merged_points = self.points.len().div_ceil(max_points);
        while self.points.len() > max_points {
            self.max_length_s = self
                .max_length_s
                .max((merged_points as f64 + LENGTH_TOLERANCE) * mean_s);
            let merged = self.merge_neighbors();
            indices.iter_mut().for_each(|index| *index = merged[*index]);
            // Gaps between points may be far longer than the points and need a longer one to span them.
            merged_points += 1 + merged_points / 4;
        }
        indices
    }

    /// Merges neighbors that are short enough together, and returns the new index of each point.
    fn merge_neighbors(&mut self) -> Vec<usize> {
        let mut points: Vec<TimeSpan> = Vec::with_capacity(self.points.len());
        let mut indices = Vec::with_capacity(self.points.len());
        for point in &self.points {
            match points.last_mut() {
                Some(last) if point.end_s - last.start_s <= self.max_length_s => {
                    last.end_s = point.end_s
                }
                _ => points.push(*point),
            }
            indices.push(points.len() - 1);
        }
        self.points = points;
        indices
    }

    /// Returns whether there is time between a point and the one before it that no interval covers.
    pub fn is_after_gap(&self, index: usize) -> bool {
        /// More than the rounding error of a time, and less than any interval.
        const TOLERANCE_S: f64 = 1e-3;
        let previous = index
            .checked_sub(1)
            .and_then(|index| self.points.get(index));
        let gap_s = previous
            .zip(self.points.get(index))
            .map(|(before, point)| point.start_s - before.end_s);
        gap_s.is_some_and(|gap_s| gap_s > TOLERANCE_S)
    }
}

/// A value that can be merged with the one after it.
pub trait Merge: Default {
    /// Adds a later value.
    fn merge(&mut self, later: Self);
}

/// A value for each point of a timeline, up to the last point that has one.
#[derive(Clone, Debug, Default)]
pub struct Series<T> {
    values: Vec<T>,
}

impl<T: Merge> Series<T> {
    /// Merges the same points as the timeline: each value goes to the index that `merged` has for it. Must be called for
    /// every placement before values are added to its point.
    pub fn merge(&mut self, merged: &[usize]) {
        let values = std::mem::take(&mut self.values);
        for (value, index) in values.into_iter().zip(merged) {
            self.at(*index).merge(value);
        }
    }

    /// Returns mutable access to the value of a point; points before it without a value get an empty one.
    pub fn at(&mut self, index: usize) -> &mut T {
        if self.values.len() <= index {
            self.values.resize_with(index + 1, T::default);
        }
        &mut self.values[index]
    }

    /// Returns the value of a point; `None` after the last that has one.
    pub fn get(&self, index: usize) -> Option<&T> {
        self.values.get(index)
    }

    /// Its values from the first point of the timeline on; the timeline may have more points.
    pub fn values(&self) -> &[T] {
        &self.values
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
            self.merge(Self {
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

impl Merge for Extent {
    fn merge(&mut self, later: Self) {
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

impl Merge for f64 {
    fn merge(&mut self, later: Self) {
        *self += later;
    }
}

/// The most severe verdict of several intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorstVerdict {
    worst: Option<Option<Verdict>>,
}

impl WorstVerdict {
    /// Adds the verdict on an interval; `None` if it has none.
    pub fn observe(&mut self, verdict: Option<Verdict>) {
        self.merge(Self {
            worst: Some(verdict),
        });
    }

    /// Returns the verdict: `Some(None)` for intervals without a verdict, `None` without intervals.
    pub fn get(&self) -> Option<Option<Verdict>> {
        self.worst
    }
}

impl Merge for WorstVerdict {
    fn merge(&mut self, later: Self) {
        *self = (*self).max(later);
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
            self.add(class(mean_ms), requests as f32);
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

    fn add(&mut self, class: u8, requests: f32) {
        match self
            .counts
            .binary_search_by_key(&class, |(class, _)| *class)
        {
            Ok(at) => self.counts[at].1 += requests,
            Err(at) => self.counts.insert(at, (class, requests)),
        }
    }
}

impl Merge for LatencyCounts {
    fn merge(&mut self, later: Self) {
        if self.counts.is_empty() {
            *self = later;
        } else {
            later
                .counts
                .into_iter()
                .for_each(|(class, requests)| self.add(class, requests));
        }
    }
}

fn class(ms: f64) -> u8 {
    /// Makes a latency on a bound belong to the class above it despite rounding of the logarithm.
    const ROUNDING: f64 = 1e-9;
    let class = ((ms / MIN_MS).log10() * CLASSES_PER_DECADE + ROUNDING).floor();
    class.clamp(0.0, f64::from(CLASS_COUNT - 1)) as u8
}

const MAX_BUCKETS: usize = 128;

/// The highest mean latency of an interval by time, in buckets whose length doubles when there are too many.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencySeries {
    /// The length of a bucket in seconds; 0 before the first interval.
    bucket_s: f64,
    /// Milliseconds: infinite if nothing completed although requests were in flight, NaN without I/O.
    buckets: Vec<f32>,
}

impl LatencySeries {
    /// Adds an interval of some seconds, which began `begin_s` after the first sample.
    pub(super) fn add(&mut self, begin_s: f64, seconds: f64, await_ms: f64) {
        if self.bucket_s == 0.0 {
            self.bucket_s = seconds;
        }
        let index = loop {
            // In the middle, so that rounding errors do not matter.
            let index = ((begin_s + seconds / 2.0) / self.bucket_s) as usize;
            if index < MAX_BUCKETS {
                break index;
            }
            self.halve();
        };
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, f32::NAN);
        }
        // The maximum of a number and NaN is the number.
        self.buckets[index] = self.buckets[index].max(await_ms as f32);
    }

    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Returns the highest latency in milliseconds from `begin_s` to `end_s` after the first sample: `None` without
    /// I/O, infinite during a stall.
    pub fn max(&self, begin_s: f64, end_s: f64) -> Option<f64> {
        let first = (begin_s / self.bucket_s) as usize;
        let end = ((end_s / self.bucket_s).ceil() as usize)
            .max(first + 1)
            .min(self.buckets.len());
        let values = self
            .buckets
            .get(first..end)?
            .iter()
            .copied()
            .filter(|value| !value.is_nan());
        values.reduce(f32::max).map(f64::from)
    }

    /// Returns the lowest and the highest latency of a bucket in milliseconds, without stalls and requests that took less
    /// than the kernel counts; `None` without any.
    pub fn range(&self) -> Option<(f64, f64)> {
        let finite = || {
            self.buckets
                .iter()
                .copied()
                .filter(|value| value.is_finite() && *value > 0.0)
        };
        Some((
            finite().reduce(f32::min)?.into(),
            finite().reduce(f32::max)?.into(),
        ))
    }

    fn halve(&mut self) {
        self.bucket_s *= 2.0;
        self.buckets = self
            .buckets
            .chunks(2)
            .map(|pair| pair.iter().copied().fold(f32::NAN, f32::max))
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(start: u32, end: u32) -> impl Iterator<Item = TimeSpan> {
        // Intervals are never exactly a second long.
        let at = |second: u32| f64::from(second) + f64::from(second % 7) * 1e-3;
        (start..end).map(move |second| TimeSpan {
            start_s: at(second),
            end_s: at(second + 1),
        })
    }

    #[test]
    fn intervals_have_points_of_their_own_until_there_are_too_many() {
        let mut timeline = Timeline::default();
        for (index, interval) in seconds(0, 100).enumerate() {
            assert_eq!(
                timeline.push(interval, 100),
                Placement {
                    index,
                    merged: None
                }
            );
        }
        let placement = timeline.push(
            TimeSpan {
                start_s: 100.0,
                end_s: 101.0,
            },
            100,
        );
        assert_eq!((placement.index, timeline.points().len()), (50, 51));
        let merged = placement.merged.unwrap();
        assert_eq!(
            (merged.len(), &merged[..6], merged[99]),
            (100, &[0, 0, 1, 1, 2, 2][..], 49)
        );
    }

    #[test]
    fn a_week_of_seconds_has_no_more_points_than_a_minute() {
        let mut timeline = Timeline::default();
        for interval in seconds(0, 7 * 86_400) {
            let placement = timeline.push(interval, 1000);
            assert!(placement.index < 1000);
        }
        let points = timeline.points();
        assert!((500..=1000).contains(&points.len()), "{}", points.len());
        assert!(
            points
                .windows(2)
                .all(|pair| pair[0].end_s == pair[1].start_s)
        );
        assert!((points.last().unwrap().end_s - 7.0 * 86_400.0).abs() < 0.01);
    }

    #[test]
    fn a_long_gap_stays_one() {
        let mut timeline = Timeline::default();
        seconds(0, 100)
            .chain(seconds(400, 500))
            .for_each(|interval| drop(timeline.push(interval, 50)));
        let gaps: Vec<usize> = (0..timeline.points().len())
            .filter(|index| timeline.is_after_gap(*index))
            .collect();
        assert_eq!(gaps.len(), 1);
        assert!((timeline.points()[gaps[0]].start_s - 400.0).abs() < 0.01);
    }

    #[test]
    fn scattered_intervals_are_merged_across_their_gaps() {
        let mut timeline = Timeline::default();
        for second in (0..10_000).step_by(37) {
            seconds(second, second + 1).for_each(|interval| drop(timeline.push(interval, 20)));
        }
        assert!((5..=20).contains(&timeline.points().len()));
    }

    #[test]
    fn a_series_follows_its_timeline() {
        let mut timeline = Timeline::default();
        let mut series = Series::<f64>::default();
        for second in 0..100u32 {
            let start_s = f64::from(second);
            let placement = timeline.push(
                TimeSpan {
                    start_s,
                    end_s: start_s + 1.0,
                },
                8,
            );
            placement
                .merged
                .iter()
                .for_each(|merged| series.merge(merged));
            // The first seconds have no value.
            if second >= 40 {
                *series.at(placement.index) += 1.0;
            }
        }
        assert_eq!(series.values().len(), timeline.points().len());
        assert_eq!(series.values().iter().sum::<f64>(), 60.0);
        for (point, sum) in timeline.points().iter().zip(series.values()) {
            let length = point.end_s.max(40.0) - point.start_s.max(40.0);
            assert_eq!(*sum, length, "{point:?}");
        }
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
                one.merge(pair[1]);
                one
            });
            parts = merged.collect();
        }
        let expected = values.iter().sum::<f64>() / values.len() as f64;
        assert!((parts[0].mean().unwrap() / expected - 1.0).abs() < 1e-6);
        assert_eq!((parts[0].min(), parts[0].max()), (Some(0.0), Some(4095.0)));
    }

    #[test]
    fn the_most_severe_verdict_is_kept() {
        let worst = |verdicts: &[Option<Verdict>]| {
            let mut worst = WorstVerdict::default();
            verdicts.iter().for_each(|verdict| worst.observe(*verdict));
            worst.get()
        };
        let (ok, idle) = (Some(Verdict::Ok), Some(Verdict::Idle));
        assert_eq!(worst(&[]), None);
        assert_eq!(
            (worst(&[None]), worst(&[ok, None, idle])),
            (Some(None), Some(ok))
        );
        let stalled = Some(Verdict::Stalled);
        assert_eq!(
            worst(&[None, stalled, Some(Verdict::Saturated)]),
            Some(stalled)
        );
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
        counts.merge(later);
        assert_eq!(counts.counts().collect::<Vec<_>>(), [(20, 40.0), (36, 1.0)]);
    }

    #[test]
    fn peaks_survive_when_buckets_become_longer() {
        let mut series = LatencySeries::default();
        assert!(series.is_empty());
        for second in (0..1000).filter(|second| !(300..400).contains(second)) {
            let await_ms = if second == 777 { 50.0 } else { 1.0 };
            series.add(f64::from(second), 1.0, await_ms);
        }
        assert!(series.buckets.len() <= MAX_BUCKETS);
        assert_eq!(
            (series.max(0.0, 100.0), series.max(768.0, 784.0)),
            (Some(1.0), Some(50.0))
        );
        assert_eq!(series.max(320.0, 384.0), None);
        assert_eq!(series.range(), Some((1.0, 50.0)));
        series.add(990.0, 1.0, f64::INFINITY);
        series.add(310.0, 1.0, 0.0);
        assert_eq!(
            (series.max(984.0, 1000.0), series.range()),
            (Some(f64::INFINITY), Some((1.0, 50.0)))
        );
    }
}
