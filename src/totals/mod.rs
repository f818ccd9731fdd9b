//! Values that only grow, added up over all intervals since the start, for metrics: the kernel has no counters for
//! them, and occasional scrapes would miss what happens in between.
//!
//! [`RunningTotals`] takes the intervals, and a [`MetricsSnapshot`] has what a scrape is told. Names and texts of metrics
//! are in `report`.

mod cgroup_totals;
mod device_info;
mod device_totals;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use self::cgroup_totals::CgroupTotals;
pub use self::cgroup_totals::LimitedCgroup;
pub use self::device_info::DeviceInfo;
pub use self::device_totals::{Buckets, DeviceTotals, LATENCY_BOUNDS_MS, QUEUE_BOUNDS};
use crate::attribution::Limit;
use crate::counters::{Counters, Pressure};
use crate::incidents::Told;
use crate::intervals::{IntervalRows, Intervals};
use crate::judge::StatedCap;
use crate::topology::Kind;

/// The selected devices that have metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceScope {
    pub partitions: bool,
    /// Include loop, ram and zram devices that never did any I/O.
    pub unused: bool,
}

#[derive(Debug, Default)]
pub struct RunningTotals {
    scope: DeviceScope,
    /// The cap that the user states of every device.
    cap: Option<StatedCap>,
    devices: HashMap<String, Record>,
    cgroups: CgroupTotals,
    /// The revision of the topology that the descriptions of devices are from; `None` before the first.
    topology_revision: Option<u64>,
    intervals: u64,
    missed_samples: u64,
}

/// A device of the last sample.
#[derive(Debug, Default)]
struct Record {
    info: Arc<DeviceInfo>,
    totals: DeviceTotals,
    /// The incident that it belonged to in the last interval.
    incident: Option<Arc<Told>>,
}

/// The metrics at the end of an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricsSnapshot {
    /// The time of the last sample; `None` without a wall clock.
    pub at: Option<Timestamp>,
    /// The intervals since the start.
    pub intervals: u64,
    /// The samples missed since the start.
    pub missed_samples: u64,
    /// The pressure by I/O in the last sample; `None` if the kernel does not tell it.
    pub io_pressure: Option<Pressure>,
    /// The devices of the last sample.
    pub devices: Vec<DeviceSnapshot>,
    /// The cgroups that have limits, sorted by device and path.
    pub cgroups: Vec<LimitedCgroup>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSnapshot {
    pub info: Arc<DeviceInfo>,
    /// The counters of the kernel in the last sample.
    pub counters: Counters,
    /// Its values since the start.
    pub totals: DeviceTotals,
    /// The limits that the user states, and those of requests and of bytes that it reached last.
    pub limits: Vec<Limit>,
    /// The incident that it belongs to; `None` without one.
    pub incident: Option<Arc<Told>>,
    /// The latency of reads and of writes as multiples of the median of its peers, smoothed over about the last ten
    /// comparisons; `None` without peers that serve a like load.
    pub over_peers: [Option<f64>; 2],
}

impl RunningTotals {
    /// Starts at zero for the devices in scope; `cap` is the cap that the user states, if any.
    pub fn new(scope: DeviceScope, cap: Option<StatedCap>) -> Self {
        Self {
            scope,
            cap,
            ..Self::default()
        }
    }

    pub fn observe(&mut self, rows: &IntervalRows) {
        let elapsed_s = rows.header.elapsed_s;
        self.intervals += 1;
        self.missed_samples = self
            .missed_samples
            .saturating_add(rows.header.missed_samples);
        for record in self.devices.values_mut() {
            record.incident = None;
        }
        for device in &rows.devices {
            let record = self.devices.entry(device.device().to_owned()).or_default();
            record.totals.observe(device, elapsed_s);
            record.incident = device.incident().map(|ongoing| Arc::clone(&ongoing.told));
        }
        if let Some(attribution) = &rows.attribution {
            self.cgroups.observe(attribution);
        }
    }

    /// Returns the metrics after the last sample. Devices that are not in it are forgotten.
    pub fn snapshot(&mut self, intervals: &Intervals<'_>) -> MetricsSnapshot {
        if self.topology_revision != Some(intervals.topology_revision) {
            self.topology_revision = Some(intervals.topology_revision);
            self.describe_devices(intervals);
        }
        let sample = intervals.newest();
        let mut devices = Vec::new();
        for device in intervals.selected_devices() {
            let name = device.name.as_str();
            let Some(record) = self.devices.get(name) else {
                continue;
            };
            if !self.is_in_scope(record.info.node.kind, &device.counters) {
                continue;
            }
            let mut limits = Vec::new();
            if let Some(cap) = self.cap {
                limits.extend(cap.limits(name));
            }
            limits.extend(record.totals.reached_limits.iter().flatten().cloned());
            devices.push(DeviceSnapshot {
                info: Arc::clone(&record.info),
                counters: device.counters,
                totals: record.totals.clone(),
                limits,
                incident: record.incident.clone(),
                over_peers: intervals.beside_peers(name),
            });
        }
        MetricsSnapshot {
            at: sample.at.wall,
            intervals: self.intervals,
            missed_samples: self.missed_samples,
            io_pressure: sample.host.pressure,
            devices,
            cgroups: self.cgroups.cgroups(),
        }
    }

    /// Describes the devices of the last sample, and forgets those that it lacks.
    fn describe_devices(&mut self, intervals: &Intervals<'_>) {
        let sample = intervals.newest();
        let topology = intervals.topology();
        let mut known = std::mem::take(&mut self.devices);
        for (device, is_counted) in sample.devices.iter().zip(intervals.counted_once()) {
            let mut record = known.remove(&device.name).unwrap_or_default();
            record.info = Arc::new(DeviceInfo::new(
                &device.name,
                topology.node(&device.name),
                is_counted,
            ));
            self.devices.entry(device.name.clone()).or_insert(record);
        }
    }

    fn is_in_scope(&self, kind: Kind, counters: &Counters) -> bool {
        let is_often_unused = kind.is_memory() || kind == Kind::Loop;
        let was_ever_active = counters.completed() != [0; 4] || counters.in_flight > 0;
        match kind {
            Kind::Partition => self.scope.partitions,
            _ => self.scope.unused || !is_often_unused || was_ever_active,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::clock::RealClock;
    use crate::intervals::{BaselineStore, Detail, DeviceSelection, NextInterval};
    use crate::source::Input;

    #[test]
    fn devices_that_come_and_go_leave_nothing_behind() {
        let mut text = String::new();
        for second in 0..100 {
            writeln!(text, "TS {} 2026-11-20 18:22:11", 1_795_198_931 + second).unwrap();
            // Each is there for two samples.
            for loop_device in [second, second + 1] {
                let reads = 100 * (second + 1);
                writeln!(
                    text,
                    "7 {loop_device} loop{loop_device} {reads} 0 {reads} {reads} 0 0 0 0 0 {reads} {reads}"
                )
                .unwrap();
            }
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let input = Input {
            from: Some(file.path().to_owned()),
            ..Input::default()
        };
        let (selection, baselines) = (DeviceSelection::default(), BaselineStore::default());
        let clock = RealClock::new(None);
        let mut intervals =
            Intervals::open(&input, &selection, Detail::Report, &baselines, &clock).unwrap();
        assert!(intervals.start(&mut |_| {}).unwrap());
        let mut totals = RunningTotals::new(DeviceScope::default(), None);
        let mut seen = 0;
        while let NextInterval::Rows(rows) = intervals.next(&mut |_| {}).unwrap() {
            totals.observe(&rows);
            seen += totals.snapshot(&intervals).devices.len();
        }
        assert!(seen >= 99, "{seen}");
        assert_eq!(totals.devices.len(), 2);
    }

    #[test]
    fn partitions_and_devices_that_were_never_used_have_no_metrics_by_default() {
        let counters = |ios| {
            let mut counters = Counters::ZERO;
            counters.reads.ios = ios;
            counters
        };
        let is_in_scope =
            |scope, kind, ios| RunningTotals::new(scope, None).is_in_scope(kind, &counters(ios));
        let default = DeviceScope::default();
        assert!(is_in_scope(default, Kind::Disk, 0) && is_in_scope(default, Kind::Lvm, 0));
        assert!(is_in_scope(default, Kind::Loop, 1) && !is_in_scope(default, Kind::Loop, 0));
        assert!(!is_in_scope(default, Kind::Partition, 1));
        let all = DeviceScope {
            partitions: true,
            unused: true,
        };
        assert!(
            Kind::NAMES
                .into_iter()
                .all(|(kind, _)| is_in_scope(all, kind, 0))
        );
    }
}
