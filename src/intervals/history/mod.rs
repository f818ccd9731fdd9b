//! The history of all devices and of the host, in bounded memory, for the charts of a report.
//!
//! [`History`] takes every interval and keeps, for each device that did any I/O, its quantities ([`device::CHARTED`]),
//! its verdicts and its requests by latency; the quantities of the host ([`host::CHARTED`]); and the use by cgroups and the waiting tasks. All share the points of
//! one [`super::series::Timeline`].

mod usage;

use std::collections::HashMap;
use std::sync::Arc;

pub(super) use self::usage::BlockedTaskTime;
use self::usage::BlockedTasks;
pub use self::usage::UsageHistory;
use super::device_interval::{
    DeviceActivity, DeviceInterval, DeviceState, IntervalHeader, IntervalRows,
};
use super::device_names::DeviceNames;
use super::run_clock::RunClock;
use super::series::{Extent, LatencyCounts, Series, TimeSpan, Timeline, WorstVerdict};
use crate::judge::Verdict;
use crate::quantities::{HostQuantity, Quantity, device, host};

/// The most points of a series: ten minutes of one-second samples. More can hardly be told apart on a chart, and make the
/// page larger.
const MAX_POINTS: usize = 600;
/// The fewest points of a series, however many devices there are.
const MIN_POINTS: usize = 100;
/// The most points of all devices: with more devices, each gets fewer. A point of a device has about 400 bytes.
const MAX_DEVICE_POINTS: usize = 40_000;

/// The history of all devices and of the host.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The points of time that all series share.
    pub timeline: Timeline,
    /// The clock that places the points: seconds since 1970, or since the first sample without a wall clock.
    pub clock: RunClock,
    devices: HashMap<String, DeviceHistory>,
    /// The history of the total over physical disks; empty without a total.
    pub total: DeviceHistory,
    host: [Series<Extent>; host::CHARTED.len()],
    usage: HashMap<String, UsageHistory>,
    blocked: BlockedTasks,
    /// The number of points up to the latest one with a scan of cgroups.
    attributed_points: usize,
    /// Samples that were missed, see [`IntervalHeader::missed_samples`].
    pub missed_samples: u64,
    pub intervals: u64,
}

impl History {
    pub fn observe(&mut self, rows: &IntervalRows) {
        let span = self.clock.place(&rows.header);
        let placement = self.timeline.push(span, MAX_POINTS);
        if let Some(merged) = &placement.merged {
            self.merge(merged);
        }
        let index = placement.index;
        self.intervals += 1;
        self.missed_samples = self
            .missed_samples
            .saturating_add(rows.header.missed_samples);
        self.observe_host(&rows.header, index);
        for row in &rows.devices {
            let device = self.devices.entry(row.device().to_owned()).or_default();
            device.observe(row, index, self.timeline.points());
        }
        if let Some(total) = &rows.total {
            self.total.observe(total, index, self.timeline.points());
        }
        let active_devices = self
            .devices
            .values()
            .filter(|device| device.is_active())
            .count();
        if let Some(attribution) = &rows.attribution {
            let first = self
                .first_scanned_point(span.end_s - attribution.elapsed_s)
                .min(index);
            for usage in &attribution.devices {
                let history = self.usage.entry(usage.name.to_string()).or_default();
                history.observe(usage, attribution.elapsed_s, first..index + 1);
            }
            self.attributed_points = index + 1;
            self.blocked
                .observe(&attribution.blocked, attribution.elapsed_s, span);
        }
        let max_points = (MAX_DEVICE_POINTS / active_devices.max(1)).clamp(MIN_POINTS, MAX_POINTS);
        if self.timeline.points().len() > max_points {
            self.reduce(max_points);
        }
    }

    /// Returns the first point that a scan of cgroups covers, given the time of the scan before it: scans may be rarer
    /// than intervals.
    fn first_scanned_point(&self, since_s: f64) -> usize {
        let is_before = |point: &TimeSpan| f64::midpoint(point.start_s, point.end_s) <= since_s;
        self.timeline
            .points()
            .partition_point(is_before)
            .max(self.attributed_points)
    }

    /// Merges points until at most `max_points` remain.
    fn reduce(&mut self, max_points: usize) {
        let merged = self.timeline.reduce(max_points);
        self.merge(&merged);
    }

    fn merge(&mut self, merged: &[usize]) {
        self.devices
            .values_mut()
            .for_each(|device| device.merge(merged));
        self.total.merge(merged);
        self.host.iter_mut().for_each(|series| series.merge(merged));
        self.usage
            .values_mut()
            .for_each(|usage| usage.merge(merged));
        let last = self
            .attributed_points
            .checked_sub(1)
            .and_then(|last| merged.get(last));
        self.attributed_points = last.map_or(0, |last| last + 1);
    }

    fn observe_host(&mut self, header: &IntervalHeader, index: usize) {
        for (series, quantity) in self.host.iter_mut().zip(&host::CHARTED) {
            if let Some(value) = (quantity.value)(&header.host) {
                series.at(index).observe(value, header.elapsed_s);
            }
        }
    }

    /// The span of all points, in seconds on the axis of [`RunClock::place`]; `None` without intervals.
    pub fn span(&self) -> Option<TimeSpan> {
        let (first, last) = (
            self.timeline.points().first()?,
            self.timeline.points().last()?,
        );
        Some(TimeSpan {
            start_s: first.start_s,
            end_s: last.end_s,
        })
    }

    /// The history of a device by the kernel's name; `None` if it was in no interval.
    pub fn device(&self, name: &str) -> Option<&DeviceHistory> {
        self.devices.get(name)
    }

    /// The values of a quantity of the host.
    pub fn host(&self, quantity: &HostQuantity) -> &[Extent] {
        let mut kept = self.host.iter().zip(&host::CHARTED);
        kept.find(|(_, kept)| kept.name == quantity.name)
            .map_or(&[], |(series, _)| series.values())
    }

    /// The use of a whole device by cgroups; `None` without attribution.
    pub fn usage(&self, device: &str) -> Option<&UsageHistory> {
        self.usage.get(device)
    }

    /// The tasks that waited for devices, those that were seen waiting for longest first.
    pub fn blocked_tasks(&self) -> Vec<&BlockedTaskTime> {
        self.blocked.longest_first()
    }
}

/// The history of a device: its quantities, its verdicts, and its requests by latency.
#[derive(Clone, Debug, Default)]
pub struct DeviceHistory {
    /// The latest names.
    pub names: Arc<DeviceNames>,
    pub verdicts: Series<WorstVerdict>,
    /// Empty until the device does any I/O: most devices of a large host never do.
    quantities: Vec<Series<Extent>>,
    /// Its reads, writes and flushes by the mean latency of their interval.
    pub latencies: Series<LatencyCounts>,
}

impl DeviceHistory {
    /// Returns whether the device did any I/O, or had requests in flight.
    pub fn is_active(&self) -> bool {
        !self.quantities.is_empty()
    }

    /// The values of a quantity; empty for a device that was idle.
    pub fn values(&self, quantity: &Quantity) -> &[Extent] {
        let mut kept = self.quantities.iter().zip(&device::CHARTED);
        kept.find(|(_, kept)| kept.name == quantity.name)
            .map_or(&[], |(series, _)| series.values())
    }

    fn observe(&mut self, row: &DeviceInterval, index: usize, points: &[TimeSpan]) {
        if self.names != row.names {
            self.names = Arc::clone(&row.names);
        }
        match &row.state {
            DeviceState::Active(activity) => {
                self.verdicts
                    .at(index)
                    .observe(activity.judged.assessment().verdict);
                self.observe_activity(activity, index, points);
            }
            DeviceState::AccountingOff(_) => self
                .verdicts
                .at(index)
                .observe(Some(Verdict::AccountingOff)),
            DeviceState::Reset | DeviceState::MemberReset | DeviceState::Event(_) => {}
        }
    }

    fn observe_activity(&mut self, activity: &DeviceActivity, index: usize, points: &[TimeSpan]) {
        let stats = &activity.judged.interval;
        if !self.is_active() {
            if stats.is_idle() {
                return;
            }
            self.quantities = vec![Series::default(); device::CHARTED.len()];
            self.fill_idle_points(activity, index, points);
        }
        for (series, quantity) in self.quantities.iter_mut().zip(&device::CHARTED) {
            if let Some((value, weight)) = quantity.weighted(&activity.judged) {
                series.at(index).observe(value, weight);
            }
        }
        for kind in [stats.reads, stats.writes, stats.flushes] {
            if let Some(await_ms) = kind.await_ms() {
                self.latencies.at(index).observe(await_ms, kind.ios as f64);
            }
        }
    }

    /// Adds zeros for the time in which the device was idle until now.
    fn fill_idle_points(&mut self, first: &DeviceActivity, index: usize, points: &[TimeSpan]) {
        let verdicts = self.verdicts.values().iter().take(index);
        let is_idle =
            |verdict: &WorstVerdict| matches!(verdict.get(), Some(Some(Verdict::Idle) | None));
        let idle: Vec<bool> = verdicts.map(is_idle).collect();
        for (series, quantity) in self.quantities.iter_mut().zip(&device::CHARTED) {
            // A mean over requests has no value without any.
            let is_rate = quantity.is_over_time() && quantity.value(&first.judged).is_some();
            // The util of an idle device is not doubted.
            let is_doubt = quantity.name == device::DOUBTFUL_UTIL_PCT.name;
            for (point, span) in points.iter().enumerate().take(index) {
                if is_rate && !is_doubt && idle.get(point) == Some(&true) {
                    series.at(point).observe(0.0, span.end_s - span.start_s);
                }
            }
        }
    }

    fn merge(&mut self, merged: &[usize]) {
        self.verdicts.merge(merged);
        self.quantities
            .iter_mut()
            .for_each(|series| series.merge(merged));
        self.latencies.merge(merged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{DeviceActivity, DeviceInterval, DeviceState};
    use crate::judge::Assessment;
    use crate::metrics::{Completed, HostStats, Interval};

    fn rows(second: i64, device: &str, reads: u64, host: HostStats) -> IntervalRows {
        let at = |second| jiff::Timestamp::from_second(1_800_000_000 + second).ok();
        let header = IntervalHeader {
            start: at(second),
            end: at(second + 1),
            elapsed_s: 1.0,
            host,
            ..IntervalHeader::default()
        };
        let reads = Completed::example(1.0, reads, 2.0);
        let stats = Interval {
            reads,
            in_flight: Some(0),
            ..Interval::unknown(1.0)
        };
        let state = DeviceState::Active(Box::new(DeviceActivity::example(
            stats,
            Assessment::default(),
        )));
        let row = DeviceInterval::without_alias(device, state);
        IntervalRows {
            header,
            devices: vec![row],
            total: None,
            events: Vec::new(),
            attribution: None,
            has_found_any: true,
        }
    }

    #[test]
    fn an_hour_keeps_its_means() {
        let mut history = History::default();
        for second in 0..3600 {
            let host = HostStats {
                blocked: Some(second as u64 % 2),
                ..HostStats::default()
            };
            history.observe(&rows(second, "sda", second as u64 % 100, host));
        }
        let device = history.device("sda").unwrap();
        let points = history.timeline.points();
        assert!((300..=600).contains(&points.len()));
        let rates = device.values(&device::READS_PER_S);
        assert_eq!(rates.len(), points.len());
        let requests: f64 = points
            .iter()
            .zip(rates)
            .map(|(point, rate)| rate.mean().unwrap() * (point.end_s - point.start_s))
            .sum();
        assert!(
            (requests / (36.0 * 4950.0) - 1.0).abs() < 1e-6,
            "{requests}"
        );
        assert_eq!(history.host(&host::BLOCKED)[3].max(), Some(1.0));
        assert_eq!(
            history.span().unwrap(),
            TimeSpan {
                start_s: 1.8e9,
                end_s: 1.8e9 + 3600.0
            }
        );
    }

    #[test]
    fn a_device_has_zeros_for_the_time_before_its_first_request() {
        let mut history = History::default();
        for second in 0..10 {
            history.observe(&rows(
                second,
                "sda",
                if second < 5 { 0 } else { 9 },
                HostStats::default(),
            ));
        }
        let device = history.device("sda").unwrap();
        let rates: Vec<Option<f64>> = device
            .values(&device::READS_PER_S)
            .iter()
            .map(Extent::mean)
            .collect();
        assert_eq!(
            (rates[0], rates[4], rates[5]),
            (Some(0.0), Some(0.0), Some(9.0))
        );
        assert_eq!(device.values(&device::READ_AWAIT_MS)[4].mean(), None);
    }

    /// Returns an interval with the same I/O on each device.
    fn rows_of(second: i64, names: &[String]) -> IntervalRows {
        let mut interval = rows(second, "x", 1, HostStats::default());
        let row = interval.devices.remove(0);
        let devices = names
            .iter()
            .map(|name| DeviceInterval::without_alias(name, row.state.clone()));
        interval.devices = devices.collect();
        interval
    }

    #[test]
    fn many_devices_have_fewer_points_each() {
        let mut history = History::default();
        let names: Vec<String> = (0..120).map(|index| format!("sd{index}")).collect();
        for second in 0..700 {
            history.observe(&rows_of(second, &names));
        }
        assert!(history.timeline.points().len() <= MAX_DEVICE_POINTS / 120);
    }
}
