//! The intervals so far: exact ones for as long as memory permits, and earlier time as points of a minute or longer.
//!
//! Time is counted in seconds of all intervals so far (`_s`), as in events: breaks in time have no length.

mod coarse;
mod frame;
mod point;
mod texts;

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;

pub(crate) use coarse::CoarseSpan;
pub(crate) use frame::{DeviceId, Frame, FrameEncoder, is_event, is_trouble, severity};
pub(crate) use point::{Extent, Point, Quantity};
pub(crate) use texts::{SampleTexts, TextSnapshot};

use self::coarse::CoarseHistory;

/// The memory for points, in bytes.
const MAX_COARSE_BYTES: usize = 4 << 20;
/// The most points of columns that are kept for the next frame: twice as many as a screen of 300x100 shows, in about 3
/// MB.
const MAX_CACHED_COLUMNS: usize = 14_000;

#[derive(Debug)]
pub(crate) struct History {
    frames: VecDeque<Frame>,
    bytes: usize,
    max_bytes: usize,
    max_seconds: f64,
    coarse: CoarseHistory,
    columns: RefCell<ColumnCache>,
}

/// The columns of charts that are complete, by device and position.
#[derive(Debug, Default)]
struct ColumnCache {
    /// The points by device, length of a column and number of the column.
    points: HashMap<(DeviceId, u64, i64), Option<Point>>,
}

/// A moment as stored in the history.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moment<'a> {
    Exact(&'a Frame),
    /// Only the means over a longer time.
    Coarse(&'a CoarseSpan),
}

impl Moment<'_> {
    /// Seconds of all intervals up to its end.
    pub(crate) fn end_s(&self) -> f64 {
        match self {
            Self::Exact(frame) => frame.end_s,
            Self::Coarse(span) => span.end_s,
        }
    }

    /// Its end; `None` without a wall clock.
    pub(crate) fn end(&self) -> Option<Timestamp> {
        match self {
            Self::Exact(frame) => frame.header.end,
            Self::Coarse(span) => span.end,
        }
    }
}

impl History {
    /// Creates a history that keeps exact intervals for these seconds, in at most about this memory in bytes.
    pub(crate) fn new(max_seconds: f64, max_bytes: usize) -> Self {
        Self {
            frames: VecDeque::new(),
            bytes: 0,
            max_bytes,
            max_seconds,
            coarse: CoarseHistory::new(MAX_COARSE_BYTES),
            columns: RefCell::default(),
        }
    }

    /// Sets the memory for exact intervals, in bytes, from the next one on.
    pub(crate) fn set_max_bytes(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
    }

    pub(crate) fn push(&mut self, frame: Frame) {
        self.bytes += frame.memory();
        let now = frame.end_s;
        self.frames.push_back(frame);
        while self.frames.len() > 1
            && let Some(oldest) = self.frames.front()
            && (self.bytes > self.max_bytes || oldest.end_s < now - self.max_seconds)
        {
            self.bytes -= oldest.memory();
            self.coarse.push(oldest);
            self.frames.pop_front();
        }
    }

    /// The exact intervals, oldest first.
    pub(crate) fn frames(&self) -> &VecDeque<Frame> {
        &self.frames
    }

    /// The last interval; `None` before the first.
    pub(crate) fn newest(&self) -> Option<&Frame> {
        self.frames.back()
    }

    #[cfg(test)]
    /// An estimate of the memory of all intervals and points.
    pub(crate) fn memory(&self) -> usize {
        self.bytes + self.coarse.bytes()
    }

    /// The first moment; `None` before the first interval.
    pub(crate) fn oldest(&self) -> Option<Moment<'_>> {
        let coarse = self.coarse.spans().front().map(Moment::Coarse);
        coarse.or(self.frames.front().map(Moment::Exact))
    }

    /// Returns the moment at a time: the interval that contains it, or the nearest one; `None` before the first
    /// interval.
    pub(crate) fn at(&self, time_s: f64) -> Option<Moment<'_>> {
        let first = self.frames.front()?;
        if time_s <= first.begin_s() {
            let spans = self.coarse.spans();
            let after = spans.partition_point(|span| span.end_s < time_s - 1e-9);
            let span = spans.get(after).or(spans.back());
            return Some(span.map_or(Moment::Exact(first), Moment::Coarse));
        }
        let after = self.frames.partition_point(|frame| frame.end_s < time_s - 1e-9);
        self.frames.get(after).or(self.frames.back()).map(Moment::Exact)
    }

    /// Returns the moment after one that ends at this time; `None` at the end.
    pub(crate) fn after(&self, end_s: f64) -> Option<Moment<'_>> {
        let spans = self.coarse.spans();
        if let Some(span) = spans.get(spans.partition_point(|span| span.end_s <= end_s + 1e-9)) {
            return Some(Moment::Coarse(span));
        }
        self.frames.get(self.frames.partition_point(|frame| frame.end_s <= end_s + 1e-9)).map(Moment::Exact)
    }

    /// Returns the moment before one that ends at this time; `None` at the beginning.
    pub(crate) fn before(&self, end_s: f64) -> Option<Moment<'_>> {
        let frame = self.frames.partition_point(|frame| frame.end_s < end_s - 1e-9);
        if let Some(frame) = frame.checked_sub(1).and_then(|at| self.frames.get(at)) {
            return Some(Moment::Exact(frame));
        }
        let span = self.coarse.spans().partition_point(|span| span.end_s < end_s - 1e-9);
        span.checked_sub(1).and_then(|at| self.coarse.spans().get(at)).map(Moment::Coarse)
    }

    /// Returns the ends of all moments that have a time.
    pub(crate) fn times(&self) -> Vec<Timestamp> {
        let spans = self.coarse.spans().iter().filter_map(|span| span.end);
        spans.chain(self.frames.iter().filter_map(|frame| frame.header.end)).collect()
    }

    /// Returns the moment at a time of day, or the nearest one; `None` before the first interval with a wall clock.
    pub(crate) fn at_wall(&self, wall: Timestamp) -> Option<Moment<'_>> {
        let moments = self.coarse.spans().iter().map(Moment::Coarse);
        let moments = moments.chain(self.frames.iter().map(Moment::Exact));
        let distance = |moment: &Moment<'_>| {
            moment.end().map_or(i128::MAX, |end| {
                let late = wall.as_nanosecond() - end.as_nanosecond();
                // The interval that contains the time ends later than the time.
                if late > 0 { late + 1 } else { -late }
            })
        };
        moments.filter(|moment| moment.end().is_some()).min_by_key(distance)
    }

    /// Returns a device over a time that is a whole multiple of `column_s`: the column of this number.
    pub(crate) fn column(&self, id: DeviceId, column_s: f64, number: i64) -> Option<Point> {
        let mut columns = self.columns.borrow_mut();
        if columns.points.len() > MAX_CACHED_COLUMNS {
            columns.points.clear();
        }
        let key = (id, column_s.to_bits(), number);
        if let Some(point) = columns.points.get(&key) {
            return *point;
        }
        let (begin_s, end_s) = (number as f64 * column_s, (number + 1) as f64 * column_s);
        let point = self.point(id, begin_s, end_s);
        if self.newest().is_some_and(|newest| newest.end_s >= end_s) {
            columns.points.insert(key, point);
        }
        point
    }

    /// Returns a device over the intervals that overlap a time; `None` if it was in none of them.
    fn point(&self, id: DeviceId, begin_s: f64, end_s: f64) -> Option<Point> {
        let mut sum: Option<Point> = None;
        let mut add = |point: Point| match &mut sum {
            Some(sum) => sum.add(&point),
            None => sum = Some(point),
        };
        // A column much longer than an interval leaves out intervals that only touch it.
        let tolerance = 1e-6;
        let spans = self.coarse.spans();
        let first = spans.partition_point(|span| span.end_s <= begin_s + tolerance);
        for span in spans.range(first..).take_while(|span| span.begin_s < end_s - tolerance) {
            span.point(id).copied().into_iter().for_each(&mut add);
        }
        let first = self.frames.partition_point(|frame| frame.end_s <= begin_s + tolerance);
        for frame in self.frames.range(first..).take_while(|frame| frame.begin_s() < end_s - tolerance) {
            if let Some(row) = frame.row_of(id) {
                add(frame.point(row).1);
            }
        }
        sum
    }
}
