//! The intervals so far: exact ones for as long as memory permits, and earlier time as
//! points, which become longer the more time there is.
//!
//! Time is counted in seconds of all intervals so far (`_s`), as in events: breaks in time have no length.

mod frame;
mod texts;

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;

pub(crate) use frame::{Frame, Point, is_trouble, lasted_s, severity};
pub(crate) use texts::SampleTexts;

use crate::intervals::IntervalRows;
use crate::intervals::series::Merge;
use crate::topology::Topology;

/// The most memory for intervals that are added up, in bytes, and as a fraction of that for exact intervals.
const MAX_SUM_BYTES: usize = 8 << 20;
const SUM_FRACTION: usize = 4;
/// How much longer than the mean a sum of intervals may be.
const LENGTH_TOLERANCE: f64 = 1.15;
pub(crate) struct History {
    /// The moments, oldest first.
    frames: VecDeque<Frame>,
    /// The number of the first frames that are sums of intervals, and the longest time that such a sum takes.
    sums: usize,
    sum_s: f64,
    max_sum_bytes: usize,
    /// The memory of the other frames.
    bytes: usize,
    max_bytes: usize,
    max_seconds: f64,
}

impl History {
    /// Creates a history that keeps exact intervals for these seconds, in at most about this memory in bytes.
    pub(crate) fn new(max_seconds: f64, max_bytes: usize) -> Self {
        Self {
            frames: VecDeque::new(),
            sums: 0,
            sum_s: 0.0,
            max_sum_bytes: MAX_SUM_BYTES.min(max_bytes / SUM_FRACTION),
            bytes: 0,
            max_bytes,
            max_seconds,
        }
    }

    /// Sets the memory for exact intervals, in bytes, from the next one on.
    pub(crate) fn set_max_bytes(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
    }

    /// Adds an interval; `topology` is that of its devices.
    pub(crate) fn push(&mut self, rows: IntervalRows, topology: Arc<Topology>) {
        let frame = Frame::new(rows, topology, self.end_s());
        self.bytes += frame.memory();
        let now = frame.end_s;
        self.frames.push_back(frame);
        while self.frames.len() > self.sums + 1
            && let Some(oldest) = self.frames.get(self.sums)
            && (self.bytes > self.max_bytes || oldest.end_s < now - self.max_seconds)
        {
            self.bytes -= oldest.memory();
            self.add_to_sums();
        }
    }

    /// Adds the oldest exact interval to the sums. If they need too much memory, each two of them become one.
    fn add_to_sums(&mut self) {
        let joined = self.sums.saturating_sub(1);
        if self.frames[self.sums].end_s - self.frames[joined].begin_s() > self.sum_s || self.sums == 0 {
            self.sum(self.sums, self.sums + 1);
            self.sums += 1;
        } else {
            self.sum(joined, joined + 2);
        }
        if self.sums > 1 && self.frames[self.sums - 1].memory() * self.sums > self.max_sum_bytes {
            (0..self.sums / 2).for_each(|at| self.sum(at, at + 2));
            self.sums = self.sums.div_ceil(2);
            let all_s = self.frames[self.sums - 1].end_s - self.frames[0].begin_s();
            self.sum_s = all_s / self.sums as f64 * LENGTH_TOLERANCE;
        }
    }

    /// Replaces frames by their sum.
    fn sum(&mut self, first: usize, end: usize) {
        if let Some(sum) = Frame::sum(self.frames.range(first..end)) {
            self.frames.drain(first..end);
            self.frames.insert(first, sum);
        }
    }

    /// All moments, oldest first.
    pub(crate) fn frames(&self) -> &VecDeque<Frame> {
        &self.frames
    }

    /// The last interval; `None` before the first.
    pub(crate) fn newest(&self) -> Option<&Frame> {
        self.frames.back()
    }

    /// The seconds of all intervals.
    pub(crate) fn end_s(&self) -> f64 {
        self.newest().map_or(0.0, |newest| newest.end_s)
    }

    /// Returns the moments that overlap a time.
    pub(crate) fn within(&self, begin_s: f64, end_s: f64) -> impl Iterator<Item = &Frame> {
        let first = self.count_before(begin_s);
        self.frames.range(first..).take_while(move |frame| frame.begin_s() < end_s)
    }

    /// Returns the number of moments that end before a time.
    fn count_before(&self, time_s: f64) -> usize {
        self.frames.partition_point(|frame| frame.end_s < time_s)
    }

    /// Returns the moment at a time: the interval that contains it, or the nearest one; `None` before the first
    /// interval.
    pub(crate) fn at(&self, time_s: f64) -> Option<&Frame> {
        self.frames.get(self.count_before(time_s - 1e-9)).or(self.newest())
    }

    /// Returns the moment after one that ends at this time; `None` at the end.
    pub(crate) fn after(&self, end_s: f64) -> Option<&Frame> {
        self.frames.get(self.count_before(end_s + 1e-9))
    }

    /// Returns the moment before one that ends at this time; `None` at the beginning.
    pub(crate) fn before(&self, end_s: f64) -> Option<&Frame> {
        self.frames.get(self.count_before(end_s - 1e-9).checked_sub(1)?)
    }

    /// Returns the ends of all moments that have a time.
    pub(crate) fn times(&self) -> Vec<Timestamp> {
        self.frames.iter().filter_map(Frame::end).collect()
    }

    /// Returns the moment at a time of day, or the nearest one; `None` before the first interval with a wall clock.
    pub(crate) fn at_wall(&self, wall: Timestamp) -> Option<&Frame> {
        let distance = |end: Timestamp| {
            let late = wall.as_nanosecond() - end.as_nanosecond();
            // The interval that contains the time ends later than the time.
            if late > 0 { late + 1 } else { -late }
        };
        let timed = self.frames.iter().filter_map(|frame| Some((frame, distance(frame.end()?))));
        timed.min_by_key(|(_, distance)| *distance).map(|(frame, _)| frame)
    }

    /// Returns a device over a time that is a whole multiple of `column_s`: the column of this number.
    pub(crate) fn column(&self, device: &str, column_s: f64, number: i64) -> Option<Point> {
        let (begin_s, end_s) = (number as f64 * column_s, (number + 1) as f64 * column_s);
        // A column much longer than an interval leaves out intervals that only touch it.
        let tolerance = 1e-6;
        let points = self.within(begin_s + tolerance, end_s - tolerance).filter_map(|one| one.point(device));
        points.reduce(|mut sum, point| {
            sum.merge(point);
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl History {
        /// An estimate of the memory of all intervals and points.
        pub(crate) fn memory(&self) -> usize {
            self.frames.iter().map(Frame::memory).sum()
        }
    }
}
