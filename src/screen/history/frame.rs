//! A moment of the history.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::analysis::{Assessment, Verdict};
use crate::attribution::Attribution;
use crate::intervals::series::{Extent, Merge, WorstVerdict};
use crate::intervals::{
    DEVICE_QUANTITIES, DeviceActivity, DeviceInterval, DeviceState, IntervalHeader, IntervalRows,
};
use crate::metrics::Interval;
use crate::topology::Topology;

/// An interval, or several old ones that were added up.
pub(crate) struct Frame {
    /// The interval as it was, without processes and a total, which the screen does not show. Of several intervals, only
    /// the sums and the worst verdicts of the devices are known.
    pub(crate) rows: IntervalRows,
    /// The total seconds of all intervals up to its end.
    pub(crate) end_s: f64,
    /// The devices and how they are stacked.
    pub(crate) topology: Arc<Topology>,
    /// The points of charts for each row of several intervals; `None` for a single one.
    points: Option<Vec<Point>>,
}

impl Frame {
    /// Returns the frame of an interval that begins after `begin_s`; `topology` is that of its devices.
    pub(super) fn new(rows: IntervalRows, topology: Arc<Topology>, begin_s: f64) -> Self {
        let end_s = begin_s + rows.header.elapsed_s;
        let attribution = rows.attribution.map(|all| Attribution { processes: None, ..all });
        let rows = IntervalRows { total: None, attribution, has_found_any: true, ..rows };
        Self { rows, end_s, topology, points: None }
    }

    /// Adds up consecutive frames; `None` for no frames.
    pub(super) fn sum<'a>(frames: impl DoubleEndedIterator<Item = &'a Self> + Clone) -> Option<Self> {
        let (first, last) = (frames.clone().next()?, frames.clone().next_back()?);
        let mut rows: HashMap<&str, usize> = HashMap::new();
        let mut sums: Vec<(&DeviceInterval, Interval, Point)> = Vec::new();
        for (frame, row) in
            frames.flat_map(|frame| (0..frame.rows.devices.len()).map(move |row| (frame, row)))
        {
            let (device, point) = (&frame.rows.devices[row], frame.point_of_row(row));
            let stats = device.stats().copied().unwrap_or_default();
            let row = *rows.entry(device.device()).or_insert(sums.len());
            match sums.get_mut(row) {
                Some((_, sum, merged)) => {
                    *sum = sum.followed_by(&stats);
                    merged.merge(point);
                }
                None => sums.push((device, stats, point)),
            }
        }
        let devices = sums.iter().map(|(device, stats, point)| {
            let assessment = Assessment { verdict: point.verdict(), ..Assessment::default() };
            let activity = DeviceActivity { stats: *stats, assessment, ..DeviceActivity::default() };
            DeviceInterval {
                names: Arc::clone(&device.names),
                state: DeviceState::Active(Box::new(activity)),
            }
        });
        let header = IntervalHeader {
            start: first.rows.header.start,
            end: last.end().or(first.end()),
            elapsed_s: last.end_s - first.begin_s(),
            ..IntervalHeader::default()
        };
        Some(Self {
            rows: IntervalRows { header, devices: devices.collect(), ..IntervalRows::default() },
            end_s: last.end_s,
            topology: Arc::clone(&last.topology),
            points: Some(sums.iter().map(|(.., point)| *point).collect()),
        })
    }

    /// Returns whether it is a single interval, of which everything is known.
    pub(crate) fn is_exact(&self) -> bool {
        self.points.is_none()
    }

    /// Its beginning: seconds of all intervals before it.
    pub(crate) fn begin_s(&self) -> f64 {
        self.end_s - self.rows.header.elapsed_s
    }

    /// Its end; `None` without a wall clock.
    pub(crate) fn end(&self) -> Option<Timestamp> {
        self.rows.header.end
    }

    /// Returns the row of a device by the kernel's name; `None` if it was not present.
    fn row(&self, name: &str) -> Option<usize> {
        self.rows.devices.iter().position(|device| device.device() == name)
    }

    /// Returns a device by the kernel's name; `None` if it was not present.
    pub(crate) fn device(&self, name: &str) -> Option<&DeviceInterval> {
        self.row(name).map(|row| &self.rows.devices[row])
    }

    /// Returns what charts show of a device; `None` if it was not present.
    pub(crate) fn point(&self, name: &str) -> Option<Point> {
        self.row(name).map(|row| self.point_of_row(row))
    }

    fn point_of_row(&self, row: usize) -> Point {
        let of_several = self.points.as_ref().map(|points| points[row]);
        of_several.unwrap_or_else(|| Point::of(&self.rows.devices[row]))
    }

    /// An estimate of its memory, without the parts that it shares with other intervals.
    pub(super) fn memory(&self) -> usize {
        let devices = self.rows.devices.iter().map(|device| size_of::<usize>() + device.state.memory());
        let events =
            self.rows.events.iter().map(|event| 64 + event.names.device.len() + event.names.label.len());
        size_of::<Self>()
            + devices.sum::<usize>()
            + events.sum::<usize>()
            + self.rows.attribution.as_ref().map_or(0, |attribution| attribution.memory())
            + self.points.as_ref().map_or(0, |points| size_of_val(&points[..]))
    }
}

/// Returns the seconds for which the incident of a device has lasted; 0 without one.
pub(crate) fn lasted_s(device: &DeviceInterval) -> f64 {
    device.incident().map_or(0.0, |ongoing| ongoing.lasted_s)
}

/// Returns whether a device is in trouble: not ok, not idle, and known.
pub(crate) fn is_trouble(verdict: Option<Verdict>) -> bool {
    verdict.is_some_and(|verdict| verdict.severity() >= Verdict::Queueing.severity())
}

/// A device over some time, for a column of a chart: the worst verdict and the quantities.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    verdict: WorstVerdict,
    extents: [Extent; DEVICE_QUANTITIES.len()],
}

impl Point {
    /// Returns the point of a device in one interval.
    fn of(device: &DeviceInterval) -> Self {
        let mut point = Self::default();
        point.verdict.observe(device.verdict());
        for (extent, (_, value)) in point.extents.iter_mut().zip(DEVICE_QUANTITIES) {
            let known = device.activity().and_then(value);
            known.into_iter().for_each(|(value, weight)| extent.observe(value, weight));
        }
        point
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.verdict.get().flatten()
    }

    /// Returns a quantity by its name; empty if it is not known.
    pub(crate) fn extent(&self, name: &str) -> Extent {
        let found = DEVICE_QUANTITIES.iter().position(|(one, _)| *one == name);
        found.map_or_else(Extent::default, |at| self.extents[at])
    }
}

impl Merge for Point {
    fn merge(&mut self, later: Self) {
        self.verdict.merge(later.verdict);
        self.extents.iter_mut().zip(later.extents).for_each(|(extent, later)| extent.merge(later));
    }
}

/// Returns the rank of a verdict for sorting: an unknown verdict ranks above ok and below every trouble.
pub(crate) fn severity(verdict: Option<Verdict>) -> u8 {
    verdict.unwrap_or(Verdict::AccountingOff).severity()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Assessment;
    use crate::metrics::{Completed, Interval};

    fn point(verdict: Verdict, await_ms: Option<f64>) -> Point {
        let reads = await_ms.map_or(Completed::default(), |await_ms| Completed::example(1.0, 10, await_ms));
        let stats = Interval { reads, ..Interval::default() };
        let assessment = Assessment { verdict: Some(verdict), ..Assessment::default() };
        let activity = DeviceActivity { stats, assessment, ..DeviceActivity::default() };
        Point::of(&DeviceInterval::without_alias("sda", DeviceState::Active(Box::new(activity))))
    }

    #[test]
    fn a_point_has_the_worst_verdict_and_the_extent_of_what_is_known() {
        let mut sum = point(Verdict::Ok, None);
        for (verdict, await_ms) in [(Verdict::Saturated, 4.0), (Verdict::Queueing, 1.0), (Verdict::Ok, 1.0)] {
            sum.merge(point(verdict, Some(await_ms)));
        }
        assert_eq!(sum.verdict(), Some(Verdict::Saturated));
        let reads = sum.extent("read_await_ms");
        assert_eq!((reads.min(), reads.mean(), reads.max()), (Some(1.0), Some(2.0), Some(4.0)));
        assert!(sum.extent("write_await_ms").is_empty());
    }
}
