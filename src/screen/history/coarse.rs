//! The time before the exact intervals: points, which become longer the more time there is.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::frame::{DeviceId, Frame};
use super::point::Point;
use crate::intervals::series::{Merge, Series, TimeSpan, Timeline};
use crate::intervals::{DeviceInterval, DeviceNames};

/// The memory of a device in a span, in bytes.
const POINT_BYTES: usize = size_of::<(DeviceId, Arc<DeviceNames>, Point)>();

/// A span of time with the devices that were present.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoarseSpan {
    /// Seconds of all intervals before it.
    pub(crate) begin_s: f64,
    /// Seconds of all intervals up to its end.
    pub(crate) end_s: f64,
    /// Its beginning and its end; `None` without a wall clock.
    pub(crate) begin: Option<Timestamp>,
    pub(crate) end: Option<Timestamp>,
    /// The devices, by their numbers.
    pub(crate) points: BTreeMap<DeviceId, (Arc<DeviceNames>, Point)>,
}

impl CoarseSpan {
    fn of(frame: &Frame) -> Self {
        let point = |(_, id, device): (usize, DeviceId, &DeviceInterval)| {
            (id, (Arc::clone(&device.names), Point::of(device)))
        };
        Self {
            begin_s: frame.begin_s(),
            end_s: frame.end_s,
            begin: frame.rows.header.start,
            end: frame.rows.header.end,
            points: frame.devices().map(point).collect(),
        }
    }
}

impl Merge for CoarseSpan {
    fn merge(&mut self, later: Self) {
        if self.points.is_empty() && self.end_s == 0.0 {
            *self = later;
            return;
        }
        for (id, (names, point)) in later.points {
            self.points.entry(id).and_modify(|(_, sum)| sum.add(&point)).or_insert((names, point));
        }
        (self.end_s, self.end) = (later.end_s, later.end.or(self.end));
    }
}

/// The spans, which become longer the more of them there are.
#[derive(Debug)]
pub(crate) struct CoarseHistory {
    timeline: Timeline,
    spans: Series<CoarseSpan>,
    max_points: usize,
    /// The most devices of a span.
    devices: usize,
}

impl CoarseHistory {
    /// Creates an empty history of at most about this memory in bytes.
    pub(super) fn new(max_bytes: usize) -> Self {
        let max_points = max_bytes / POINT_BYTES;
        Self { timeline: Timeline::default(), spans: Series::default(), max_points, devices: 1 }
    }

    /// Adds an interval that is no longer kept exactly.
    pub(super) fn push(&mut self, frame: &Frame) {
        self.devices = self.devices.max(frame.rows.devices.len());
        let time = TimeSpan { start_s: frame.begin_s(), end_s: frame.end_s };
        let placement = self.timeline.push(time, self.max_points / self.devices);
        placement.merged.iter().for_each(|merged| self.spans.merge(merged));
        let span = self.spans.at(placement.index);
        span.merge(CoarseSpan::of(frame));
        // Other devices may have been there before.
        self.devices = self.devices.max(span.points.len());
    }

    /// The spans, oldest first.
    pub(crate) fn spans(&self) -> &[CoarseSpan] {
        self.spans.values()
    }

    #[cfg(test)]
    /// An estimate of the memory.
    pub(crate) fn bytes(&self) -> usize {
        self.spans().iter().map(|span| span.points.len() * POINT_BYTES).sum()
    }
}
