//! Prepares scans for writing.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::growth::ScanGrowth;
use super::{PROBLEMS, RecordedHungRead, RecordedProcesses, RecordedScan, VERSIONS};
use crate::counters::{Cgroup, CgroupDevice, DeviceNumber, IoCounters, IoScan, ScannedDevice};

/// The length in bytes from which a scan continues on another line, because readers limit the length of a line.
const MAX_PART_BYTES: usize = 24 * 1024;
/// The longest element that is written, in bytes.
const MAX_ELEMENT_BYTES: usize = 16 * 1024;
/// The cgroups of a scan that are recorded: those with limits, then those with the most bytes.
const MAX_CGROUPS: usize = 256;

/// Finds the growth from one scan to the next.
#[derive(Clone, Debug, Default)]
pub struct ScanWriter {
    last: Option<Arc<IoScan>>,
}

impl ScanWriter {
    /// Returns how much the counters of these devices (all if empty) have grown since the previous scan; `None` for a
    /// scan that was passed before.
    pub fn growth(&mut self, scan: &Arc<IoScan>, devices: &HashSet<DeviceNumber>) -> Option<ScanGrowth> {
        let last = self.last.replace(Arc::clone(scan));
        if last.as_ref().is_some_and(|last| last.at == scan.at) {
            return None;
        }
        let is_recorded = |number: DeviceNumber| devices.is_empty() || devices.contains(&number);
        Some(ScanGrowth::new(recorded(scan, last.as_deref(), &is_recorded)))
    }
}

/// Returns the scan with the growth since the last one; without one, nothing has grown.
fn recorded(
    scan: &IoScan,
    last: Option<&IoScan>,
    is_recorded: &dyn Fn(DeviceNumber) -> bool,
) -> RecordedScan {
    let name =
        |problem| PROBLEMS.iter().find(|(_, known)| *known == problem).map(|(name, _)| (*name).to_owned());
    let processes = scan.processes.as_deref();
    let cgroups = recorded_cgroups(scan, last, is_recorded);
    RecordedScan {
        at_ns: u64::try_from(scan.at.as_nanos()).ok(),
        cgroup_version: scan.hierarchy.and_then(|version| {
            VERSIONS.iter().find(|(_, known)| *known == version).map(|(number, _)| *number)
        }),
        skipped: scan.skipped,
        problem: scan.problem.and_then(name),
        devices: recorded_devices(scan, last, &cgroups, is_recorded),
        cgroups,
        processes: processes.map(|processes| RecordedProcesses {
            elapsed_ns: u64::try_from(processes.elapsed.as_nanos()).unwrap_or(u64::MAX),
            hidden: processes.hidden,
            is_partial: processes.is_partial,
        }),
        busiest: processes.map(|processes| processes.busiest.clone()).unwrap_or_default(),
        hung_read: scan.hung_read.map(|hung| RecordedHungRead {
            pid: hung.pid,
            elapsed_ns: u64::try_from(hung.elapsed.as_nanos()).unwrap_or(u64::MAX),
        }),
        has_blocked: scan.blocked.is_some(),
        blocked: scan.blocked.clone().unwrap_or_default(),
    }
}

/// Returns the devices with I/O since the last scan, and those of the recorded cgroups.
fn recorded_devices(
    scan: &IoScan,
    last: Option<&IoScan>,
    cgroups: &[Cgroup],
    is_recorded: &dyn Fn(DeviceNumber) -> bool,
) -> Vec<ScannedDevice> {
    let of_cgroups: HashSet<DeviceNumber> =
        cgroups.iter().flat_map(|cgroup| &cgroup.devices).map(|device| device.number).collect();
    let recorded = scan.devices.iter().filter(|device| is_recorded(device.number)).map(|device| {
        let before = last.map(|last| {
            let old = last.devices.iter().find(|old| old.name == device.name);
            old.map(|old| old.io).unwrap_or_default()
        });
        let io = before.map(|before| device.io.growth_since(&before)).unwrap_or_default();
        ScannedDevice { io, ..device.clone() }
    });
    recorded
        .filter(|device| device.io != IoCounters::default() || of_cgroups.contains(&device.number))
        .collect()
}

fn recorded_cgroups(
    scan: &IoScan,
    last: Option<&IoScan>,
    is_recorded: &dyn Fn(DeviceNumber) -> bool,
) -> Vec<Cgroup> {
    let before: HashMap<&str, &Cgroup> =
        last.iter().flat_map(|last| &last.cgroups).map(|cgroup| (&*cgroup.path, cgroup)).collect();
    let mut recorded: Vec<Cgroup> = scan
        .cgroups
        .iter()
        .map(|cgroup| {
            let is_known = last.is_some() && !cgroup.is_new;
            recorded_cgroup(cgroup, before.get(&*cgroup.path).copied(), is_known, is_recorded)
        })
        .filter(|cgroup| has_limits(cgroup) || bytes(cgroup) > 0)
        .collect();
    keep_largest(&mut recorded);
    recorded
}

/// Keeps the cgroups with limits, and those with the most bytes.
pub(super) fn keep_largest(recorded: &mut Vec<Cgroup>) {
    recorded.sort_by_key(|cgroup| (!has_limits(cgroup), Reverse(bytes(cgroup))));
    recorded.truncate(MAX_CGROUPS);
    // Parents before their children, as in a scan.
    recorded.sort_by(|a, b| a.path.cmp(&b.path));
}

/// Returns the growth of a cgroup's counters; zero if it is not known over which time they grew.
fn recorded_cgroup(
    cgroup: &Cgroup,
    before: Option<&Cgroup>,
    is_known: bool,
    is_recorded: &dyn Fn(DeviceNumber) -> bool,
) -> Cgroup {
    let devices = cgroup.devices.iter().filter(|device| is_recorded(device.number)).map(|device| {
        let old = before.iter().flat_map(|old| &old.devices).find(|old| old.number == device.number);
        let old = old.map(|old| old.io).unwrap_or_default();
        let io = if is_known { device.io.growth_since(&old) } else { IoCounters::default() };
        CgroupDevice { io, ..*device }
    });
    let has_use = |device: &CgroupDevice| device.io != IoCounters::default() || !device.limits.is_empty();
    let old_pressure = before.and_then(|before| before.pressure).filter(|_| is_known);
    let pressure = cgroup.pressure.map(|pressure| pressure.minus(&old_pressure.unwrap_or(pressure)));
    Cgroup {
        path: Arc::clone(&cgroup.path),
        is_new: false,
        devices: devices.filter(has_use).collect(),
        pressure,
    }
}

fn has_limits(cgroup: &Cgroup) -> bool {
    cgroup.devices.iter().any(|device| !device.limits.is_empty())
}

fn bytes(cgroup: &Cgroup) -> u64 {
    cgroup
        .devices
        .iter()
        .map(|device| device.io.read_bytes.saturating_add(device.io.write_bytes))
        .fold(0, u64::saturating_add)
}

/// Splits a scan into parts that fit on lines.
pub(super) fn parts(scan: RecordedScan) -> Vec<RecordedScan> {
    let RecordedScan { devices, cgroups, busiest, blocked, .. } = scan;
    let head = RecordedScan {
        devices: Vec::new(),
        cgroups: Vec::new(),
        busiest: Vec::new(),
        blocked: Vec::new(),
        ..scan
    };
    let mut parts = Parts { parts: vec![head], last_bytes: 0 };
    devices.into_iter().for_each(|device| parts.push(device, |part| &mut part.devices));
    cgroups.into_iter().for_each(|cgroup| parts.push(cgroup, |part| &mut part.cgroups));
    busiest.into_iter().for_each(|process| parts.push(process, |part| &mut part.busiest));
    blocked.into_iter().for_each(|task| parts.push(task, |part| &mut part.blocked));
    parts.parts
}

struct Parts {
    parts: Vec<RecordedScan>,
    /// The length of the elements of the last part.
    last_bytes: usize,
}

impl Parts {
    fn push<T: Serialize>(&mut self, element: T, list: fn(&mut RecordedScan) -> &mut Vec<T>) {
        let bytes = serde_json::to_string(&element).map_or(0, |text| text.len());
        if bytes > MAX_ELEMENT_BYTES {
            return;
        }
        if self.last_bytes + bytes > MAX_PART_BYTES {
            self.parts.push(RecordedScan::default());
            self.last_bytes = 0;
        }
        self.last_bytes += bytes;
        if let Some(part) = self.parts.last_mut() {
            list(part).push(element);
        }
    }
}
