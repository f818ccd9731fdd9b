//! The values of a series.

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

#[cfg(test)]
mod tests {
    use super::super::{Sum, TimeSpan, Timeline};
    use super::*;

    #[test]
    fn a_series_follows_its_timeline() {
        let mut timeline = Timeline::default();
        let mut series = Series::<Sum>::default();
        for second in 0..100u32 {
            let start_s = f64::from(second);
            let placement = timeline.push(TimeSpan { start_s, end_s: start_s + 1.0 }, 8);
            placement.merged.iter().for_each(|merged| series.merge(merged));
            // The first seconds have no value.
            if second >= 40 {
                series.at(placement.index).add(1.0);
            }
        }
        assert_eq!(series.values().len(), timeline.points().len());
        assert_eq!(series.values().iter().map(|sum| sum.total()).sum::<f64>(), 60.0);
        for (point, sum) in timeline.points().iter().zip(series.values()) {
            let length = point.end_s.max(40.0) - point.start_s.max(40.0);
            assert_eq!(sum.total(), length, "{point:?}");
        }
    }
}
