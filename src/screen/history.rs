//! The intervals so far: exact ones for as long as memory permits, and earlier time as points, which become longer the
//! more time there is; and the samples of the running system as compressed text, for recordings that begin in the past.
//!
//! Time is counted in seconds of all intervals so far (`_s`), as in events: breaks in time have no length.

use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use jiff::Timestamp;

use crate::attribution::Attribution;
use crate::intervals::series::{Extent, Merge, WorstVerdict};
use crate::intervals::{DeviceActivity, DeviceInterval, DeviceState, IntervalHeader, IntervalRows};
use crate::judge::{Judged, Verdict};
use crate::quantities::{Quantity, device};
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
    pub(crate) max_bytes: usize,
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
        if self.frames[self.sums].end_s - self.frames[joined].begin_s() > self.sum_s
            || self.sums == 0
        {
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
        self.frames
            .range(first..)
            .take_while(move |frame| frame.begin_s() < end_s)
    }

    /// Returns the number of moments that end before a time.
    fn count_before(&self, time_s: f64) -> usize {
        self.frames.partition_point(|frame| frame.end_s < time_s)
    }

    /// Returns the moment at a time: the interval that contains it, or the nearest one; `None` before the first
    /// interval.
    pub(crate) fn at(&self, time_s: f64) -> Option<&Frame> {
        self.frames
            .get(self.count_before(time_s - 1e-9))
            .or(self.newest())
    }

    /// Returns the moment after one that ends at this time; `None` at the end.
    pub(crate) fn after(&self, end_s: f64) -> Option<&Frame> {
        self.frames.get(self.count_before(end_s + 1e-9))
    }

    /// Returns the moment before one that ends at this time; `None` at the beginning.
    pub(crate) fn before(&self, end_s: f64) -> Option<&Frame> {
        self.frames
            .get(self.count_before(end_s - 1e-9).checked_sub(1)?)
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
        let timed = self
            .frames
            .iter()
            .filter_map(|frame| Some((frame, distance(frame.end()?))));
        timed
            .min_by_key(|(_, distance)| *distance)
            .map(|(frame, _)| frame)
    }

    /// Returns a device over a time that is a whole multiple of `column_s`: the column of this number.
    pub(crate) fn column(&self, device: &str, column_s: f64, number: i64) -> Option<Point> {
        let (begin_s, end_s) = (number as f64 * column_s, (number + 1) as f64 * column_s);
        // A column much longer than an interval leaves out intervals that only touch it.
        let tolerance = 1e-6;
        let points = self
            .within(begin_s + tolerance, end_s - tolerance)
            .filter_map(|one| one.point(device));
        points.reduce(|mut sum, point| {
            sum.merge(point);
            sum
        })
    }
}

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
    fn new(rows: IntervalRows, topology: Arc<Topology>, begin_s: f64) -> Self {
        let end_s = begin_s + rows.header.elapsed_s;
        let attribution = rows.attribution.map(|all| Attribution {
            processes: None,
            ..all
        });
        let rows = IntervalRows {
            total: None,
            attribution,
            has_found_any: true,
            ..rows
        };
        Self {
            rows,
            end_s,
            topology,
            points: None,
        }
    }

    /// Adds up consecutive frames; `None` for no frames.
    fn sum<'a>(frames: impl DoubleEndedIterator<Item = &'a Self> + Clone) -> Option<Self> {
        let (first, last) = (frames.clone().next()?, frames.clone().next_back()?);
        let mut rows: HashMap<&str, usize> = HashMap::new();
        let mut sums: Vec<(&DeviceInterval, Judged, Point)> = Vec::new();
        for (frame, row) in
            frames.flat_map(|frame| (0..frame.rows.devices.len()).map(move |row| (frame, row)))
        {
            let (device, point) = (&frame.rows.devices[row], frame.point_of_row(row));
            let judged = device.activity().map(|activity| activity.judged.clone());
            let judged = judged.unwrap_or_default();
            let row = *rows.entry(device.device()).or_insert(sums.len());
            match sums.get_mut(row) {
                Some((_, sum, merged)) => {
                    *sum += &judged;
                    merged.merge(point);
                }
                None => sums.push((device, judged, point)),
            }
        }
        let devices = sums.iter().map(|(device, judged, _)| {
            let activity = DeviceActivity {
                judged: judged.clone(),
                shown_verdict: judged.verdict(),
                ..DeviceActivity::default()
            };
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
            rows: IntervalRows {
                header,
                devices: devices.collect(),
                ..IntervalRows::default()
            },
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
        self.rows
            .devices
            .iter()
            .position(|device| device.device() == name)
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
    fn memory(&self) -> usize {
        let devices = self
            .rows
            .devices
            .iter()
            .map(|device| size_of::<usize>() + device.state.memory());
        let events = self
            .rows
            .events
            .iter()
            .map(|event| 64 + event.names.device.len() + event.names.label.len());
        size_of::<Self>()
            + devices.sum::<usize>()
            + events.sum::<usize>()
            + self
                .rows
                .attribution
                .as_ref()
                .map_or(0, |attribution| attribution.memory())
            + self
                .points
                .as_ref()
                .map_or(0, |points| size_of_val(&points[..]))
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

/// A device over some time, for a column of a chart: the worst verdict and the quantities.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    verdict: WorstVerdict,
    extents: [Extent; device::CHARTED.len()],
}

impl Point {
    /// Returns the point of a device in one interval.
    fn of(device: &DeviceInterval) -> Self {
        let mut point = Self::default();
        point.verdict.observe(device.verdict());
        let Some(activity) = device.activity() else {
            return point;
        };
        for (extent, quantity) in point.extents.iter_mut().zip(&device::CHARTED) {
            if let Some((value, weight)) = quantity.weighted(&activity.judged) {
                extent.observe(value, weight);
            }
        }
        point
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.verdict.get().flatten()
    }

    /// Returns a quantity; empty if it is not known.
    pub(crate) fn extent(&self, quantity: &Quantity) -> Extent {
        let mut kept = device::CHARTED.iter();
        let found = kept.position(|kept| kept.name == quantity.name);
        found.map_or_else(Extent::default, |at| self.extents[at])
    }
}

impl Merge for Point {
    fn merge(&mut self, later: Self) {
        self.verdict.merge(later.verdict);
        self.extents
            .iter_mut()
            .zip(later.extents)
            .for_each(|(extent, later)| extent.merge(later));
    }
}

#[derive(Clone, Debug)]
struct Stored {
    /// The time at which it was taken; `None` if it is not known.
    at: Option<Timestamp>,
    /// The header that it needs.
    header: Arc<[u8]>,
    /// Its compressed text.
    text: Arc<[u8]>,
}

/// The samples so far, oldest first. A copy shares their memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampleTexts {
    samples: VecDeque<Stored>,
    bytes: usize,
    max_bytes: usize,
    max_seconds: f64,
}

impl SampleTexts {
    /// Creates an empty list for these seconds and at most about this memory in bytes.
    pub(crate) fn new(max_seconds: f64, max_bytes: usize) -> Self {
        Self {
            max_seconds,
            max_bytes,
            ..Self::default()
        }
    }

    /// Adds the text of a sample, and the header before it if it needs another one.
    pub(crate) fn push(&mut self, at: Option<Timestamp>, header: &[u8], text: &[u8]) {
        let last = self.samples.back().filter(|_| header.is_empty());
        let header = last.map_or_else(|| header.into(), |last| Arc::clone(&last.header));
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        // Writing to memory cannot fail.
        let _ = encoder.write_all(text);
        let text: Arc<[u8]> = encoder.finish().unwrap_or_default().into();
        self.bytes += text.len();
        self.samples.push_back(Stored { at, header, text });
        let is_old = |old: &Stored| {
            let age = at
                .zip(old.at)
                .map(|(at, old)| at.duration_since(old).as_secs_f64());
            age.is_some_and(|age| age > self.max_seconds)
        };
        while self.samples.len() > 1
            && let Some(oldest) = self.samples.front()
            && (self.bytes > self.max_bytes || is_old(oldest))
        {
            self.bytes -= oldest.text.len();
            self.samples.pop_front();
        }
    }

    /// The memory of the compressed texts.
    pub(crate) fn memory(&self) -> usize {
        self.bytes
    }

    pub(crate) fn len(&self) -> u64 {
        self.samples.len() as u64
    }

    /// Returns the samples from one time to another.
    pub(crate) fn within(mut self, (begin, end): (Timestamp, Timestamp)) -> Self {
        self.samples
            .retain(|sample| sample.at.is_some_and(|at| (begin..=end).contains(&at)));
        self
    }

    /// Passes a recording of the samples to `take`, in parts. The first begins with a header.
    ///
    /// # Errors
    /// Those of `take`.
    pub(crate) fn try_for_each<E>(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut header: Option<&Arc<[u8]>> = None;
        let mut text = Vec::new();
        for sample in &self.samples {
            text.clear();
            if header
                .replace(&sample.header)
                .is_none_or(|header| !Arc::ptr_eq(header, &sample.header))
            {
                text.extend_from_slice(&sample.header);
            }
            // Data compressed here is valid.
            let _ = DeflateDecoder::new(&*sample.text).read_to_end(&mut text);
            take(&text)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod mod_tests {
    use super::*;

    impl History {
        /// An estimate of the memory of all intervals and points.
        pub(crate) fn memory(&self) -> usize {
            self.frames.iter().map(Frame::memory).sum()
        }
    }
}

#[cfg(test)]
mod frame_tests {
    use super::*;
    use crate::judge::Assessment;
    use crate::metrics::{Completed, Interval};

    fn point(verdict: Verdict, await_ms: Option<f64>) -> Point {
        let reads = await_ms.map_or(Completed::default(), |await_ms| {
            Completed::example(1.0, 10, await_ms)
        });
        let stats = Interval {
            reads,
            ..Interval::default()
        };
        let assessment = Assessment {
            verdict: Some(verdict),
            ..Assessment::default()
        };
        let activity = DeviceActivity::example(stats, assessment);
        Point::of(&DeviceInterval::without_alias(
            "sda",
            DeviceState::Active(Box::new(activity)),
        ))
    }

    #[test]
    fn a_point_has_the_worst_verdict_and_the_extent_of_what_is_known() {
        let mut sum = point(Verdict::Ok, None);
        for (verdict, await_ms) in [
            (Verdict::Saturated, 4.0),
            (Verdict::Queueing, 1.0),
            (Verdict::Ok, 1.0),
        ] {
            sum.merge(point(verdict, Some(await_ms)));
        }
        assert_eq!(sum.verdict(), Some(Verdict::Saturated));
        let reads = sum.extent(&device::READ_AWAIT_MS);
        assert_eq!(
            (reads.min(), reads.mean(), reads.max()),
            (Some(1.0), Some(2.0), Some(4.0))
        );
        assert!(sum.extent(&device::WRITE_AWAIT_MS).is_empty());
    }
}

#[cfg(test)]
mod texts_tests {
    use super::*;

    fn text_of(texts: &SampleTexts, (begin, end): (i64, i64)) -> String {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut all = Vec::new();
        let take = |text: &[u8]| -> Result<(), std::convert::Infallible> {
            all.extend_from_slice(text);
            Ok(())
        };
        texts
            .clone()
            .within((at(begin), at(end)))
            .try_for_each(take)
            .unwrap();
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn a_recording_of_any_part_begins_with_the_header_that_it_needs() {
        let mut texts = SampleTexts::new(3600.0, 1 << 20);
        for second in 0..200 {
            let header = match second {
                0 => "header 1\n",
                100 => "header 2\n",
                _ => "",
            };
            let at = Timestamp::from_second(second).ok();
            texts.push(
                at,
                header.as_bytes(),
                format!("sample {second}\n").as_bytes(),
            );
        }
        assert_eq!(text_of(&texts, (5, 6)), "header 1\nsample 5\nsample 6\n");
        assert_eq!(
            text_of(&texts, (150, 151)),
            "header 2\nsample 150\nsample 151\n"
        );
        assert_eq!(
            text_of(&texts, (99, 100)),
            "header 1\nsample 99\nheader 2\nsample 100\n"
        );
        let all = text_of(&texts, (0, 999));
        assert_eq!(all.lines().count(), 202);
        assert!(all.starts_with("header 1\nsample 0\n"), "{all}");
    }

    #[test]
    fn old_samples_are_dropped() {
        let mut texts = SampleTexts::new(120.0, 1 << 20);
        for second in 0..600 {
            texts.push(
                Timestamp::from_second(second).ok(),
                b"",
                format!("sample {second}\n").as_bytes(),
            );
        }
        let all = text_of(&texts, (0, 999));
        assert!(
            !all.contains("sample 478\n") && all.contains("sample 480\n"),
            "{all}"
        );
    }
}
