//! The points of time that series share.

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
            return Placement { index: self.points.len() - 1, merged: None };
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
        let covered_s: f64 = self.points.iter().map(|point| point.end_s - point.start_s).sum();
        let mean_s = (covered_s / self.points.len().max(1) as f64).max(f64::MIN_POSITIVE);
        let mut merged_points = self.points.len().div_ceil(max_points);
        while self.points.len() > max_points {
            self.max_length_s = self.max_length_s.max((merged_points as f64 + LENGTH_TOLERANCE) * mean_s);
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
                Some(last) if point.end_s - last.start_s <= self.max_length_s => last.end_s = point.end_s,
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
        let previous = index.checked_sub(1).and_then(|index| self.points.get(index));
        let gap_s = previous.zip(self.points.get(index)).map(|(before, point)| point.start_s - before.end_s);
        gap_s.is_some_and(|gap_s| gap_s > TOLERANCE_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(start: u32, end: u32) -> impl Iterator<Item = TimeSpan> {
        // Intervals are never exactly a second long.
        let at = |second: u32| f64::from(second) + f64::from(second % 7) * 1e-3;
        (start..end).map(move |second| TimeSpan { start_s: at(second), end_s: at(second + 1) })
    }

    #[test]
    fn intervals_have_points_of_their_own_until_there_are_too_many() {
        let mut timeline = Timeline::default();
        for (index, interval) in seconds(0, 100).enumerate() {
            assert_eq!(timeline.push(interval, 100), Placement { index, merged: None });
        }
        let placement = timeline.push(TimeSpan { start_s: 100.0, end_s: 101.0 }, 100);
        assert_eq!((placement.index, timeline.points().len()), (50, 51));
        let merged = placement.merged.unwrap();
        assert_eq!((merged.len(), &merged[..6], merged[99]), (100, &[0, 0, 1, 1, 2, 2][..], 49));
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
        assert!(points.windows(2).all(|pair| pair[0].end_s == pair[1].start_s));
        assert!((points.last().unwrap().end_s - 7.0 * 86_400.0).abs() < 0.01);
    }

    #[test]
    fn a_long_gap_stays_one() {
        let mut timeline = Timeline::default();
        seconds(0, 100).chain(seconds(400, 500)).for_each(|interval| drop(timeline.push(interval, 50)));
        let gaps: Vec<usize> =
            (0..timeline.points().len()).filter(|index| timeline.is_after_gap(*index)).collect();
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
}
