//! The intervals so far: exact ones for as long as memory permits, and earlier time as sums, which become longer the more time
//! there is.
//!
//! Time is counted in seconds of all intervals so far (`_s`), as in events: breaks in time have no length.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;

use crate::attribution::Attribution;
use crate::intervals::series::{Extent, Fold, Point, Series, TimeSpan};
use crate::intervals::{DeviceInterval, IntervalRows};
use crate::judge::Verdict;
use crate::quantities::Quantity;
use crate::topology::Topology;

/// The fraction of the memory that is for intervals which are added up.
const SUM_FRACTION: usize = 5;
/// The most memory for these, in bytes.
const MAX_SUM_BYTES: usize = 8 << 20;
/// The fewest sums, however many devices there are.
const MIN_SUMS: usize = 4;

pub(crate) struct History {
    series: Series<Content>,
    /// The memory of the exact intervals.
    bytes: usize,
    /// The memory of the sums.
    sum_bytes: usize,
    pub(crate) max_bytes: usize,
    max_seconds: f64,
}

/// A moment: one interval, or several that were added up.
pub(crate) type Frame = Point<Content>;

/// What the screen shows of a moment.
pub(crate) struct Content {
    /// Without processes and a total, which the screen does not show.
    pub(crate) rows: IntervalRows,
    /// The devices and how they are stacked.
    pub(crate) topology: Arc<Topology>,
}

impl Fold for Content {
    fn add(&mut self, later: Self) {
        self.rows.add(later.rows);
        self.topology = later.topology;
    }
}

impl History {
    /// Creates a history of at most about this memory in bytes, which keeps exact intervals for these seconds.
    pub(crate) fn new(max_seconds: f64, max_bytes: usize) -> Self {
        Self {
            series: Series::default(),
            bytes: 0,
            sum_bytes: 0,
            max_bytes,
            max_seconds,
        }
    }

    /// Adds an interval; `topology` is that of its devices.
    pub(crate) fn push(&mut self, rows: IntervalRows, topology: Arc<Topology>) {
        let start_s = self.end_s();
        let span = TimeSpan {
            start_s,
            end_s: start_s + rows.header.elapsed_s,
        };
        let rows = IntervalRows {
            total: None,
            ..rows
        };
        let content = Content { rows, topology };
        self.bytes += content.memory(self.newest());
        self.series.push(span, content);
        while let Some(bytes) = self.oldest_step_in_excess(span.end_s) {
            self.bytes -= bytes;
            self.series.add_oldest_step();
            self.limit_sums();
        }
    }

    fn limit_sums(&mut self) {
        let mut frames = self.frames().iter();
        let Some(oldest) = frames.next() else {
            return;
        };
        // The oldest sum is the largest: it is of the most devices that have come and gone.
        let bytes_of_sum = oldest.memory(frames.next());
        let max_sum_bytes = MAX_SUM_BYTES.min(self.max_bytes / SUM_FRACTION);
        self.series
            .reduce((max_sum_bytes / bytes_of_sum).max(MIN_SUMS));
        self.sum_bytes = self.series.sums().len() * bytes_of_sum;
    }

    /// Returns the memory of the oldest exact interval if that is too old at this time, or all need too much memory; the newest one
    /// stays in any case.
    fn oldest_step_in_excess(&self, now_s: f64) -> Option<usize> {
        let mut steps = self.series.steps();
        let (oldest, next) = (steps.next()?, steps.next()?);
        let is_old = oldest.span.end_s < now_s - self.max_seconds;
        (is_old || self.bytes + self.sum_bytes > self.max_bytes).then(|| oldest.memory(Some(next)))
    }

    /// All moments, oldest first.
    pub(crate) fn frames(&self) -> &VecDeque<Frame> {
        self.series.points()
    }

    /// The last interval; `None` before the first.
    pub(crate) fn newest(&self) -> Option<&Frame> {
        self.frames().back()
    }

    /// The seconds of all intervals.
    pub(crate) fn end_s(&self) -> f64 {
        self.newest().map_or(0.0, |newest| newest.span.end_s)
    }

    /// Returns the moments that overlap a time.
    pub(crate) fn within(&self, begin_s: f64, end_s: f64) -> impl Iterator<Item = &Frame> {
        let first = self.count_before(begin_s);
        self.frames()
            .range(first..)
            .take_while(move |frame| frame.span.start_s < end_s)
    }

    /// Returns the number of moments that end before a time.
    fn count_before(&self, time_s: f64) -> usize {
        self.frames()
            .partition_point(|frame| frame.span.end_s < time_s)
    }

    /// Returns the moment at a time: the interval that contains it, or the nearest one; `None` before the first
    /// interval.
    pub(crate) fn at(&self, time_s: f64) -> Option<&Frame> {
        self.frames()
            .get(self.count_before(time_s - 1e-9))
            .or(self.newest())
    }

    /// Returns the end of the moment at a time.
    pub(crate) fn end_at(&self, time_s: f64) -> Option<f64> {
        self.at(time_s).map(|moment| moment.span.end_s)
    }

    /// Returns the moment after one that ends at this time; `None` at the end.
    pub(crate) fn after(&self, end_s: f64) -> Option<&Frame> {
        self.frames().get(self.count_before(end_s + 1e-9))
    }

    /// Returns the moment before one that ends at this time; `None` at the beginning.
    pub(crate) fn before(&self, end_s: f64) -> Option<&Frame> {
        self.frames()
            .get(self.count_before(end_s - 1e-9).checked_sub(1)?)
    }

    /// Returns the ends of all moments that have a time.
    pub(crate) fn times(&self) -> Vec<Timestamp> {
        self.frames().iter().filter_map(Frame::end).collect()
    }

    /// Returns the moment at a time of day, or the nearest one; `None` before the first interval with a wall clock.
    pub(crate) fn at_wall(&self, wall: Timestamp) -> Option<&Frame> {
        let mut nearest = None;
        let mut least = i128::MAX;
        for frame in self.frames() {
            let Some(end) = frame.end() else { continue };
            let late = wall.as_nanosecond() - end.as_nanosecond();
            // The interval that contains the time ends later than the time.
            let distance = if late > 0 { late + 1 } else { -late };
            if distance < least {
                nearest = Some(frame);
                least = distance;
            }
        }
        nearest
    }

    /// Returns a device over a time that is a whole multiple of `column_s`: the column of this number.
    pub(crate) fn column(&self, device: &str, column_s: f64, number: i64) -> Column<'_> {
        let (begin_s, end_s) = (number as f64 * column_s, (number + 1) as f64 * column_s);
        // A column much longer than an interval leaves out intervals that only touch it.
        let tolerance = 1e-6;
        let mut place = 0;
        let mut column = Column::default();
        for frame in self.within(begin_s + tolerance, end_s - tolerance) {
            if let Some(at) = frame.rows.position_near(place, device) {
                place = at;
                column.rows.push(&frame.rows.devices[at]);
            }
        }
        column
    }
}

impl Content {
    /// An estimate of its memory. What it shares with `neighbor`, the interval before or after it, is left out.
    fn memory(&self, neighbor: Option<&Frame>) -> usize {
        let mut bytes = size_of::<Frame>();
        if neighbor.is_none_or(|one| !Arc::ptr_eq(&one.topology, &self.topology)) {
            bytes += self.topology.memory();
        }
        for device in &self.rows.devices {
            bytes += size_of::<usize>() + device.state.memory();
        }
        for event in &self.rows.events {
            bytes += 64 + event.names.device.len() + event.names.label.len();
        }
        let attribution = self.rows.attribution.as_ref();
        bytes + attribution.map_or(0, Attribution::memory)
    }
}

impl Frame {
    /// Returns whether it is a single interval, of which everything is known.
    pub(crate) fn is_exact(&self) -> bool {
        self.steps == 1
    }

    /// Its end; `None` without a wall clock.
    pub(crate) fn end(&self) -> Option<Timestamp> {
        self.rows.header.end
    }

    /// Returns a device by the kernel's name; `None` if it was not present.
    pub(crate) fn device(&self, name: &str) -> Option<&DeviceInterval> {
        self.rows.device(name)
    }
}

/// Returns the seconds for which the incident of a device has lasted; 0 without one.
pub(crate) fn lasted_s(device: &DeviceInterval) -> f64 {
    device.incident().map_or(0.0, |ongoing| ongoing.lasted_s)
}

/// Returns whether a device is in trouble: not ok, not idle, and known.
pub(crate) fn is_trouble(verdict: Option<Verdict>) -> bool {
    verdict.is_some_and(Verdict::is_trouble)
}

/// A device over the time of a column of a chart.
#[derive(Default)]
pub(crate) struct Column<'a> {
    rows: Vec<&'a DeviceInterval>,
}

impl Column<'_> {
    /// Returns whether the device was present.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The worst verdict.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.rows.iter().map(|row| row.verdict()).max().flatten()
    }

    /// Returns a quantity that charts have; empty if it is not known.
    pub(crate) fn extent(&self, quantity: &Quantity) -> Extent {
        let mut extent = Extent::default();
        for activity in self.rows.iter().filter_map(|row| row.activity()) {
            extent.add(activity.extent(quantity));
        }
        extent
    }
}

#[cfg(test)]
mod memory_tests {
    use super::*;

    impl History {
        /// An estimate of the memory of all intervals and sums.
        pub(crate) fn memory(&self) -> usize {
            let mut bytes = 0;
            let mut last = None;
            for frame in self.frames() {
                bytes += frame.memory(last.replace(frame));
            }
            bytes
        }
    }
}

#[cfg(test)]
mod column_tests {
    use super::*;
    use crate::intervals::{DeviceActivity, DeviceState, IntervalHeader};
    use crate::judge::Assessment;
    use crate::metrics::{Completed, Interval};
    use crate::quantities::device::{READ_AWAIT_MS, WRITE_AWAIT_MS};

    fn rows(verdict: Verdict, await_ms: Option<f64>) -> IntervalRows {
        let reads = await_ms.map_or(Completed::default(), |await_ms| {
            Completed::example(1.0, 10, await_ms)
        });
        let interval = Interval {
            reads,
            ..Interval::unknown(1.0)
        };
        let assessment = Assessment {
            verdict: Some(verdict),
            ..Assessment::default()
        };
        let activity = DeviceActivity::example(interval, assessment);
        IntervalRows {
            header: IntervalHeader {
                elapsed_s: 1.0,
                ..IntervalHeader::default()
            },
            devices: vec![DeviceInterval::without_alias(
                "sda",
                DeviceState::Active(Box::new(activity)),
            )],
            ..IntervalRows::default()
        }
    }

    #[test]
    fn a_column_has_the_worst_verdict_and_the_extent_of_what_is_known() {
        // All steps are exact, or all but the last are added up.
        for max_bytes in [usize::MAX, 1] {
            let mut history = History::new(f64::INFINITY, max_bytes);
            for (verdict, await_ms) in [
                (Verdict::Ok, None),
                (Verdict::Saturated, Some(4.0)),
                (Verdict::Queueing, Some(1.0)),
                (Verdict::Ok, Some(1.0)),
            ] {
                history.push(rows(verdict, await_ms), Arc::default());
            }
            let column = history.column("sda", 4.0, 0);
            assert_eq!(column.verdict(), Some(Verdict::Saturated));
            let reads = column.extent(&READ_AWAIT_MS);
            assert_eq!(
                (reads.min(), reads.mean(), reads.max()),
                (Some(1.0), Some(2.0), Some(4.0))
            );
            assert!(column.extent(&WRITE_AWAIT_MS).is_empty());
            assert!(history.column("sdb", 4.0, 0).is_empty());
        }
    }
}
