//! The history of all devices and of the host, in bounded memory, for the charts of a report.
//!
//! A [`History`] takes every interval and keeps, for each device that did any I/O, its quantities ([`crate::quantities::device::CHARTED`]), its
//! verdicts and its requests by latency; the quantities of the host ([`crate::quantities::host::CHARTED`]); and the use by cgroups and the waiting
//! tasks.

mod usage;

use std::collections::HashMap;
use std::sync::Arc;

pub use self::usage::UsageHistory;
use self::usage::{BlockedTaskTime, BlockedTasks, UsedByPrograms, UsedBytes};
use super::device_interval::{DeviceActivity, DeviceInterval, DeviceState, IntervalRows};
use super::run_clock::RunClock;
use super::series::{Extent, Fold, LatencyCounts, Point, Series, TimeSpan};
use crate::judge::{Assessment, Judged, JudgedStep, Verdict};
use crate::metrics::Interval;
use crate::quantities::{HostQuantity, Quantity};
use crate::topology::DeviceNames;
use crate::units::Span;

/// The most points of a series: ten minutes of one-second samples. More can hardly be told apart on a chart, and make the
/// page larger.
const MAX_POINTS: usize = 600;
/// The most points of all devices: with more devices, each gets fewer. A point of a device has about 2 KB.
const MAX_DEVICE_POINTS: usize = 40_000;
/// The fewest points of a series while [`MANY_DEVICES`] permit it.
const MIN_POINTS: usize = 100;
/// The devices from which each has so few points that all have no more than these had.
const MANY_DEVICES: usize = 1000;

/// The history of all devices and of the host.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub series: Series<Charted>,
    /// The clock that places the points: seconds since 1970, or since the first sample without a wall clock.
    pub clock: RunClock,
    /// The devices that did any I/O, or had requests in flight, and their places among those of the latest interval: they are
    /// looked for there first.
    active: HashMap<String, usize>,
    /// For each other device, the time since which it is idle.
    idle_since_s: HashMap<String, f64>,
    blocked: BlockedTasks,
    programs: HashMap<Arc<str>, UsedByPrograms>,
    /// The end of the latest scan of cgroups.
    attributed_s: f64,
    /// Samples that were missed, see [`super::IntervalHeader::missed_samples`].
    pub missed_samples: u64,
    pub intervals: u64,
}

/// A point of the charts.
#[derive(Clone, Debug, Default)]
pub struct Charted {
    /// The host, the total over physical disks, and the devices that were active until then.
    pub rows: IntervalRows,
    /// The use of whole devices by cgroups, by the kernel's names.
    usage: HashMap<Arc<str>, UsedBytes>,
}

impl Fold for Charted {
    fn add(&mut self, later: Self) {
        self.rows.add(later.rows);
        for (device, bytes) in later.usage {
            self.usage.entry(device).or_default().add(bytes);
        }
    }
}

impl History {
    pub fn observe(&mut self, rows: &IntervalRows) {
        let span = self.clock.place(&rows.header);
        self.intervals += 1;
        self.missed_samples = self
            .missed_samples
            .saturating_add(rows.header.missed_samples);
        let mut devices = Vec::with_capacity(self.active.len());
        for row in &rows.devices {
            if self.is_active(row, span) {
                if let Some(place) = self.active.get_mut(row.device()) {
                    *place = devices.len();
                }
                devices.push(row.clone());
            }
        }
        let rows_of_point = IntervalRows {
            header: rows.header.clone(),
            devices,
            total: rows.total.clone(),
            ..IntervalRows::default()
        };
        let charted = Charted {
            rows: rows_of_point,
            usage: HashMap::new(),
        };
        self.series.push(span, charted);
        self.series.add_oldest_step();
        self.observe_usage(rows, span);
        let devices = self.active.len().max(1);
        let max_points = (MAX_DEVICE_POINTS / devices).clamp(MIN_POINTS, MAX_POINTS);
        let most_of_many = MANY_DEVICES * MIN_POINTS / devices;
        self.series.reduce(max_points.min(most_of_many));
    }

    /// Returns whether a device was ever active. When it becomes active, the time since which it was idle gets zeros.
    fn is_active(&mut self, row: &DeviceInterval, span: TimeSpan) -> bool {
        let name = row.device();
        if self.active.contains_key(name) {
            return true;
        }
        match &row.state {
            DeviceState::Active(activity) => {
                let is_idle = activity.judged.interval.is_idle();
                if is_idle && activity.judged.verdict() <= Some(Verdict::Idle) {
                    if !self.idle_since_s.contains_key(name) {
                        self.idle_since_s.insert(name.to_owned(), span.start_s);
                    }
                    return false;
                }
            }
            DeviceState::AccountingOff(_) => {}
            DeviceState::Reset | DeviceState::MemberReset | DeviceState::Event(_) => {
                self.idle_since_s.remove(name);
                return false;
            }
        }
        self.active.insert(name.to_owned(), 0);
        if let Some(since_s) = self.idle_since_s.remove(name) {
            self.fill_idle_points(row, since_s);
        }
        true
    }

    /// Adds zeros for the time in which a device was idle until now.
    fn fill_idle_points(&mut self, row: &DeviceInterval, since_s: f64) {
        let idle = Arc::new(JudgedStep {
            assessment: Assessment::without_evidence(Verdict::Idle),
            at: None,
            seconds: 0.0,
            ..JudgedStep::default()
        });
        for point in self.series.points_mut().rev() {
            if point.span.middle_s() < since_s {
                break;
            }
            let Some(span) = Span::from_nanos((point.rows.header.elapsed_s * 1e9) as u64) else {
                continue;
            };
            let activity = DeviceActivity {
                judged: Judged::of(&Interval::idle(span), Some(&idle)),
                ..DeviceActivity::default()
            };
            point.rows.devices.push(DeviceInterval {
                names: Arc::clone(&row.names),
                state: DeviceState::Active(Box::new(activity)),
            });
        }
    }

    /// Takes a scan of cgroups. Scans may be rarer than intervals: what was used is divided among the points since the scan before.
    fn observe_usage(&mut self, rows: &IntervalRows, span: TimeSpan) {
        let Some(attribution) = &rows.attribution else {
            return;
        };
        self.blocked
            .observe(&attribution.blocked, attribution.elapsed_s, span);
        for usage in &attribution.devices {
            if !usage.programs.is_empty() {
                let programs = self.programs.entry(Arc::clone(&usage.name)).or_default();
                programs.observe(usage, attribution.elapsed_s);
            }
        }
        let since_s = self.attributed_s.max(span.end_s - attribution.elapsed_s);
        self.attributed_s = span.end_s;
        let mut count = 0;
        for point in self.series.points().iter().rev() {
            if count > 0 && point.span.middle_s() <= since_s {
                break;
            }
            count += 1;
        }
        for point in self.series.points_mut().rev().take(count) {
            for usage in &attribution.devices {
                let seconds = attribution.elapsed_s / count as f64;
                let bytes = point.usage.entry(Arc::clone(&usage.name)).or_default();
                bytes.observe(usage, seconds);
            }
        }
    }

    /// The span of all points, in seconds on the axis of [`RunClock::place`]; `None` without intervals.
    pub fn span(&self) -> Option<TimeSpan> {
        let points = self.series.points();
        Some(TimeSpan {
            start_s: points.front()?.span.start_s,
            end_s: points.back()?.span.end_s,
        })
    }

    /// The history of a device by the kernel's name; `None` if it was always idle.
    pub fn device(&self, name: &str) -> Option<DeviceHistory<'_>> {
        let mut place = *self.active.get(name)?;
        let mut rows = Vec::with_capacity(self.series.points().len());
        for point in self.series.points().iter().rev() {
            let at = point.rows.position_near(place, name);
            place = at.unwrap_or(place);
            rows.push(at.map(|at| &point.rows.devices[at]));
        }
        rows.reverse();
        Some(DeviceHistory { rows })
    }

    /// The history of the total over physical disks; without rows if there is no total.
    pub fn total(&self) -> DeviceHistory<'_> {
        let points = self.series.points().iter();
        DeviceHistory {
            rows: points.map(|point| point.rows.total.as_ref()).collect(),
        }
    }

    /// The values of a quantity of the host.
    pub fn host(&self, quantity: &HostQuantity) -> Vec<Extent> {
        let points = self.series.points().iter();
        points
            .map(|point| point.rows.header.host_extent(quantity))
            .collect()
    }

    /// The use of a whole device by cgroups; `None` without attribution.
    pub fn usage(&self, device: &str) -> Option<UsageHistory> {
        let points = self.series.points().iter();
        UsageHistory::new(
            device,
            points.map(|point: &Point<Charted>| point.usage.get(device)),
            self.programs.get(device),
        )
    }

    /// The tasks that waited for devices, those that were seen waiting for longest first.
    pub fn blocked_tasks(&self) -> Vec<&BlockedTaskTime> {
        self.blocked.longest_first()
    }
}

/// The history of a device.
pub struct DeviceHistory<'a> {
    /// Its row in each point; `None` where it is missing.
    rows: Vec<Option<&'a DeviceInterval>>,
}

impl<'a> DeviceHistory<'a> {
    /// The latest names.
    pub fn names(&self) -> Option<&'a DeviceNames> {
        let latest = self.rows.iter().rev().find_map(|row| *row)?;
        Some(&latest.names)
    }

    /// The worst verdict in each point; `None` where there are no data.
    pub fn verdicts(&self) -> Vec<Option<Verdict>> {
        let mut verdicts = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            verdicts.push(row.and_then(DeviceInterval::verdict));
        }
        verdicts
    }

    fn activities(&self) -> impl Iterator<Item = Option<&'a DeviceActivity>> {
        self.rows
            .iter()
            .map(|row| row.and_then(DeviceInterval::activity))
    }

    /// The values of a quantity.
    pub fn values(&self, quantity: &Quantity) -> Vec<Extent> {
        let mut values = Vec::with_capacity(self.rows.len());
        for activity in self.activities() {
            values.push(match activity {
                Some(activity) => activity.extent(quantity),
                None => Extent::default(),
            });
        }
        values
    }

    /// Its reads, writes and flushes by the mean latency of their interval.
    pub fn latencies(&self) -> Vec<LatencyCounts> {
        let mut latencies = Vec::with_capacity(self.rows.len());
        for activity in self.activities() {
            let latency = activity.map(DeviceActivity::latencies);
            latencies.push(latency.unwrap_or_default());
        }
        latencies
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::IntervalHeader;
    use crate::metrics::{Completed, HostStats};
    use crate::quantities::{device, host};

    fn rows(second: i64, device: &str, reads: u64, host: HostStats) -> IntervalRows {
        let at = |second| jiff::Timestamp::from_second(1_800_000_000 + second).ok();
        let header = IntervalHeader {
            start: at(second),
            end: at(second + 1),
            elapsed_s: 1.0,
            host,
            ..IntervalHeader::default()
        };
        let interval = Interval {
            reads: Completed::example(1.0, reads, 2.0),
            in_flight: Some(0),
            ..Interval::unknown(1.0)
        };
        let activity = DeviceActivity::example(interval, Assessment::default());
        IntervalRows {
            header,
            devices: vec![DeviceInterval::without_alias(
                device,
                DeviceState::Active(Box::new(activity)),
            )],
            has_found_any: true,
            ..IntervalRows::default()
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
            history.observe(&rows(second, "sda", 1 + second as u64 % 100, host));
        }
        let sda = history.device("sda").unwrap();
        let points = history.series.points();
        assert!((300..=600).contains(&points.len()));
        let rates = sda.values(&device::READS_PER_S);
        assert_eq!(rates.len(), points.len());
        let requests: f64 = points
            .iter()
            .zip(rates)
            .map(|(point, rate)| rate.mean().unwrap() * (point.span.end_s - point.span.start_s))
            .sum();
        assert!(
            (requests / (36.0 * 5050.0) - 1.0).abs() < 1e-6,
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
            let reads = if second < 5 { 0 } else { 9 };
            history.observe(&rows(second, "sda", reads, HostStats::default()));
        }
        let sda = history.device("sda").unwrap();
        let rates: Vec<Option<f64>> = sda
            .values(&device::READS_PER_S)
            .iter()
            .map(Extent::mean)
            .collect();
        assert_eq!(
            (rates[0], rates[4], rates[5]),
            (Some(0.0), Some(0.0), Some(9.0))
        );
        assert_eq!(sda.values(&device::READ_AWAIT_MS)[4].mean(), None);
        assert!(history.device("sdb").is_none());
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
        assert!(history.series.points().len() <= MAX_DEVICE_POINTS / 120);
    }
}
