//! The intervals so far: exact ones for as long as memory permits, and earlier time as
//! points, which become longer the more time there is.
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
pub(crate) use texts::SampleTexts;

use self::coarse::CoarseHistory;

/// The most memory for points, in bytes, and as a fraction of that for exact intervals.
const MAX_COARSE_BYTES: usize = 4 << 20;
const COARSE_FRACTION: usize = 8;
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
    /// The columns of charts that are complete, by device, length of a column and number of the column.
    columns: RefCell<HashMap<(DeviceId, u64, i64), Option<Point>>>,
}

/// A moment as stored in the history.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moment<'a> {
    Exact(&'a Frame),
    /// Only the means over a longer time.
    Coarse(&'a CoarseSpan),
}

impl Moment<'_> {
    /// Seconds of all intervals before it.
    fn begin_s(&self) -> f64 {
        match self {
            Self::Exact(frame) => frame.begin_s(),
            Self::Coarse(span) => span.begin_s,
        }
    }

    /// Seconds of all intervals up to its end.
    pub(crate) fn end_s(&self) -> f64 {
        match self {
            Self::Exact(frame) => frame.end_s,
            Self::Coarse(span) => span.end_s,
        }
    }

    /// Its beginning and its end; `None` without a wall clock.
    pub(crate) fn times(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        match self {
            Self::Exact(frame) => (frame.rows.header.start, frame.rows.header.end),
            Self::Coarse(span) => (span.begin, span.end),
        }
    }

    /// Its end; `None` without a wall clock.
    pub(crate) fn end(&self) -> Option<Timestamp> {
        self.times().1
    }

    /// Returns a device; `None` if it was not present.
    pub(crate) fn point(&self, id: DeviceId) -> Option<Point> {
        match self {
            Self::Exact(frame) => Some(Point::of(frame.device(frame.row_of(id)?))),
            Self::Coarse(span) => span.points.get(&id).map(|(_, point)| *point),
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
            coarse: CoarseHistory::new(MAX_COARSE_BYTES.min(max_bytes / COARSE_FRACTION)),
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

    /// Returns a moment by its number, from the oldest on.
    fn get(&self, number: usize) -> Option<Moment<'_>> {
        let spans = self.coarse.spans();
        let frame = || self.frames.get(number - spans.len());
        spans.get(number).map(Moment::Coarse).or_else(|| frame().map(Moment::Exact))
    }

    /// All moments, oldest first.
    fn moments(&self) -> impl Iterator<Item = Moment<'_>> {
        self.coarse.spans().iter().map(Moment::Coarse).chain(self.frames.iter().map(Moment::Exact))
    }

    /// Returns the number of moments that end before a time.
    fn count_before(&self, time_s: f64) -> usize {
        self.coarse.spans().partition_point(|span| span.end_s < time_s)
            + self.frames.partition_point(|frame| frame.end_s < time_s)
    }

    /// The first moment; `None` before the first interval.
    pub(crate) fn oldest(&self) -> Option<Moment<'_>> {
        self.get(0)
    }

    /// Returns the moment at a time: the interval that contains it, or the nearest one; `None` before the first
    /// interval.
    pub(crate) fn at(&self, time_s: f64) -> Option<Moment<'_>> {
        self.get(self.count_before(time_s - 1e-9)).or(self.newest().map(Moment::Exact))
    }

    /// Returns the moment after one that ends at this time; `None` at the end.
    pub(crate) fn after(&self, end_s: f64) -> Option<Moment<'_>> {
        self.get(self.count_before(end_s + 1e-9))
    }

    /// Returns the moment before one that ends at this time; `None` at the beginning.
    pub(crate) fn before(&self, end_s: f64) -> Option<Moment<'_>> {
        self.get(self.count_before(end_s - 1e-9).checked_sub(1)?)
    }

    /// Returns the ends of all moments that have a time.
    pub(crate) fn times(&self) -> Vec<Timestamp> {
        self.moments().filter_map(|moment| moment.end()).collect()
    }

    /// Returns the moment at a time of day, or the nearest one; `None` before the first interval with a wall clock.
    pub(crate) fn at_wall(&self, wall: Timestamp) -> Option<Moment<'_>> {
        let distance = |end: Timestamp| {
            let late = wall.as_nanosecond() - end.as_nanosecond();
            // The interval that contains the time ends later than the time.
            if late > 0 { late + 1 } else { -late }
        };
        let timed = self.moments().filter_map(|moment| Some((moment, distance(moment.end()?))));
        timed.min_by_key(|(_, distance)| *distance).map(|(moment, _)| moment)
    }

    /// Returns a device over a time that is a whole multiple of `column_s`: the column of this number.
    pub(crate) fn column(&self, id: DeviceId, column_s: f64, number: i64) -> Option<Point> {
        let mut columns = self.columns.borrow_mut();
        if columns.len() > MAX_CACHED_COLUMNS {
            columns.clear();
        }
        let key = (id, column_s.to_bits(), number);
        if let Some(point) = columns.get(&key) {
            return *point;
        }
        let (begin_s, end_s) = (number as f64 * column_s, (number + 1) as f64 * column_s);
        let point = self.point(id, begin_s, end_s);
        if self.newest().is_some_and(|newest| newest.end_s >= end_s) {
            columns.insert(key, point);
        }
        point
    }

    /// Returns a device over the intervals that overlap a time; `None` if it was in none of them.
    fn point(&self, id: DeviceId, begin_s: f64, end_s: f64) -> Option<Point> {
        // A column much longer than an interval leaves out intervals that only touch it.
        let tolerance = 1e-6;
        let first = self.count_before(begin_s + tolerance);
        let moments = (first..).map_while(|number| self.get(number));
        let overlapping = moments.take_while(|moment| moment.begin_s() < end_s - tolerance);
        overlapping.filter_map(|moment| moment.point(id)).reduce(|mut sum, point| {
            sum.add(&point);
            sum
        })
    }
}
