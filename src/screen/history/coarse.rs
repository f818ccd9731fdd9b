//! The time before the exact intervals: points of a minute, which become longer the more time there is.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;

use super::frame::{DeviceId, Frame, ListedDevice};
use super::point::Point;

/// The initial length of a span in seconds.
const FIRST_SPAN_S: f64 = 60.0;

/// A span of time with the devices that were present.
#[derive(Clone, Debug)]
pub(crate) struct CoarseSpan {
    /// Seconds of all intervals before it.
    pub(crate) begin_s: f64,
    /// Seconds of all intervals up to its end.
    pub(crate) end_s: f64,
    /// Its beginning and its end; `None` without a wall clock.
    pub(crate) begin: Option<Timestamp>,
    pub(crate) end: Option<Timestamp>,
    /// The devices, sorted by their numbers.
    points: Vec<(ListedDevice, Point)>,
}

impl CoarseSpan {
    pub(crate) fn points(&self) -> &[(ListedDevice, Point)] {
        &self.points
    }

    /// Returns a device; `None` if it was not present.
    pub(crate) fn point(&self, id: DeviceId) -> Option<&Point> {
        let at = self.points.binary_search_by_key(&id, |(device, _)| device.id).ok()?;
        Some(&self.points[at].1)
    }

    /// Adds the span that follows this one.
    fn append(&mut self, later: Self) {
        let mut by_id: HashMap<DeviceId, (ListedDevice, Point)> =
            self.points.drain(..).map(|point| (point.0.id, point)).collect();
        for (names, point) in later.points {
            match by_id.get_mut(&names.id) {
                Some((_, sum)) => sum.add(&point),
                None => drop(by_id.insert(names.id, (names, point))),
            }
        }
        self.points = by_id.into_values().collect();
        self.points.sort_unstable_by_key(|(device, _)| device.id);
        (self.end_s, self.end) = (later.end_s, later.end.or(self.end));
    }

    fn memory(&self) -> usize {
        size_of::<Self>() + self.points.len() * size_of::<(ListedDevice, Point)>()
    }
}

/// The spans, oldest first.
#[derive(Debug)]
pub(crate) struct CoarseHistory {
    spans: VecDeque<CoarseSpan>,
    span_s: f64,
    max_bytes: usize,
    bytes: usize,
}

impl CoarseHistory {
    /// Creates an empty history of at most about this memory in bytes.
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { spans: VecDeque::new(), span_s: FIRST_SPAN_S, max_bytes, bytes: 0 }
    }

    /// Adds an interval that is no longer kept exactly.
    pub(super) fn push(&mut self, frame: &Frame) {
        let mut points: Vec<_> = (0..frame.len()).map(|row| frame.point(row)).collect();
        points.sort_unstable_by_key(|(device, _)| device.id);
        let (begin_s, end_s) = (frame.begin_s(), frame.end_s);
        let (begin, end) = (frame.header.start, frame.header.end);
        let span = CoarseSpan { begin_s, end_s, begin, end, points };
        let span_s = self.span_s;
        match self.spans.back_mut().filter(|last| end_s - last.begin_s <= span_s && !frame.follows_break) {
            Some(last) => {
                self.bytes -= last.memory();
                last.append(span);
                self.bytes += last.memory();
            }
            None => {
                self.bytes += span.memory();
                self.spans.push_back(span);
            }
        }
        if self.bytes > self.max_bytes && self.spans.len() > 1 {
            self.halve();
        }
    }

    /// Merges spans in pairs.
    fn halve(&mut self) {
        self.span_s *= 2.0;
        let mut joined: VecDeque<CoarseSpan> = VecDeque::with_capacity(self.spans.len() / 2 + 1);
        for (at, span) in std::mem::take(&mut self.spans).into_iter().enumerate() {
            match joined.back_mut().filter(|_| at % 2 == 1) {
                Some(last) => last.append(span),
                None => joined.push_back(span),
            }
        }
        self.bytes = joined.iter().map(CoarseSpan::memory).sum();
        self.spans = joined;
    }

    /// The spans, oldest first.
    pub(crate) fn spans(&self) -> &VecDeque<CoarseSpan> {
        &self.spans
    }

    #[cfg(test)]
    /// An estimate of the memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
