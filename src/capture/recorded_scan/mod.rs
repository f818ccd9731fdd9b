//! Scans of cgroups and processes in a recording. A scan is written as the growth of its counters since the scan
//! before, so that only cgroups with I/O or limits take space, and so that a file that begins in the middle of a
//! recording, as after a rotation, can be read by itself.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::annotation::{IoScanLine, MAX_LIST_BYTES, json_bytes, split_list, write_annotation};
use super::scan_growth::{ScanGrowth, is_default};
use crate::counters::{
    Cgroup, CgroupDevice, CgroupHierarchy, DeviceNumber, IoCounters, IoLimits, IoScan, ProcessIo,
    ScannedDevice,
};

/// The cgroups of a scan that are recorded: those with limits, then those with the most bytes.
const MAX_CGROUPS: usize = 256;
/// The maximum number of cgroups, devices and other elements that are kept: a hostile recording must not fill the
/// memory.
const MAX_ELEMENTS: usize = 20_000;

/// Finds the growth from one scan to the next.
#[derive(Clone, Debug, Default)]
pub struct ScanWriter {
    last: Option<Arc<IoScan>>,
}

impl ScanWriter {
    /// Appends the lines of a scan of these devices (all if empty), and returns whether there are any: a scan that was
    /// passed before is not written again.
    pub fn write(
        &mut self,
        scan: &Arc<IoScan>,
        devices: &HashSet<DeviceNumber>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(growth) = self.growth(scan, devices) else {
            return false;
        };
        growth.write(out);
        true
    }

    /// Returns how much the counters have grown since the previous scan; `None` for a scan that was passed before.
    /// Without a previous scan, nothing has grown.
    fn growth(
        &mut self,
        scan: &Arc<IoScan>,
        devices: &HashSet<DeviceNumber>,
    ) -> Option<ScanGrowth> {
        let last = self.last.replace(Arc::clone(scan));
        let last = last.as_deref();
        if last.is_some_and(|last| last.at == scan.at) {
            return None;
        }
        let is_recorded = |number: DeviceNumber| devices.is_empty() || devices.contains(&number);
        let cgroups = grown_cgroups(scan, last, &is_recorded);
        Some(ScanGrowth {
            at_ns: u64::try_from(scan.at.as_nanos()).ok(),
            cgroup_version: scan.hierarchy.map(|version| version as u8),
            skipped: scan.skipped,
            problem: scan.problem,
            devices: grown_devices(scan, last, &cgroups, &is_recorded),
            cgroups,
            processes: scan.processes.as_deref().cloned(),
            busiest: scan
                .processes
                .iter()
                .flat_map(|processes| processes.busiest.clone())
                .collect(),
            are_processes_late: scan.are_processes_late,
            hung_read: scan.hung_read,
            has_blocked: scan.blocked.is_some(),
            blocked: scan.blocked.clone().unwrap_or_default(),
        })
    }
}

/// Returns the devices with I/O since the last scan, and those of the recorded cgroups.
fn grown_devices(
    scan: &IoScan,
    last: Option<&IoScan>,
    cgroups: &[Cgroup],
    is_recorded: &dyn Fn(DeviceNumber) -> bool,
) -> Vec<ScannedDevice> {
    let of_cgroups: HashSet<DeviceNumber> = cgroups
        .iter()
        .flat_map(|cgroup| &cgroup.devices)
        .map(|device| device.number)
        .collect();
    let grown = scan
        .devices
        .iter()
        .filter(|device| is_recorded(device.number))
        .map(|device| {
            let growth = last.map(|last| {
                let old = last.devices.iter().find(|old| old.name == device.name);
                device
                    .io
                    .growth_since(&old.map(|old| old.io).unwrap_or_default())
            });
            ScannedDevice {
                io: growth.unwrap_or_default(),
                ..device.clone()
            }
        });
    grown
        .filter(|device| !is_default(&device.io) || of_cgroups.contains(&device.number))
        .collect()
}

fn grown_cgroups(
    scan: &IoScan,
    last: Option<&IoScan>,
    is_recorded: &dyn Fn(DeviceNumber) -> bool,
) -> Vec<Cgroup> {
    let before: HashMap<&str, &Cgroup> = last
        .iter()
        .flat_map(|last| &last.cgroups)
        .map(|cgroup| (&*cgroup.path, cgroup))
        .collect();
    let grown = scan.cgroups.iter().map(|cgroup| {
        // Otherwise it is not known over which time the counters grew.
        let is_known = last.is_some() && !cgroup.is_new;
        let old = before.get(&*cgroup.path).copied().filter(|_| is_known);
        let recorded = cgroup
            .devices
            .iter()
            .filter(|device| is_recorded(device.number));
        let devices = recorded.map(|device| {
            let old = old
                .iter()
                .flat_map(|old| &old.devices)
                .find(|old| old.number == device.number);
            let old = old.map(|old| old.io).unwrap_or_default();
            let io = if is_known {
                device.io.growth_since(&old)
            } else {
                IoCounters::default()
            };
            CgroupDevice { io, ..*device }
        });
        let old_pressure = old.and_then(|old| old.pressure);
        Cgroup {
            path: Arc::clone(&cgroup.path),
            is_new: false,
            devices: devices
                .filter(|device| !is_default(&device.io) || device.has_limits())
                .collect(),
            pressure: cgroup
                .pressure
                .map(|pressure| pressure.minus(&old_pressure.unwrap_or(pressure))),
        }
    });
    let mut grown: Vec<Cgroup> = grown
        .filter(|cgroup| has_limits(cgroup) || total_bytes(cgroup) > 0)
        .collect();
    keep_largest(&mut grown);
    grown
}

/// Keeps the cgroups with limits, and those with the most bytes.
fn keep_largest(cgroups: &mut Vec<Cgroup>) {
    cgroups.sort_by_key(|cgroup| (!has_limits(cgroup), Reverse(total_bytes(cgroup))));
    cgroups.truncate(MAX_CGROUPS);
    cgroups.sort_by(|a, b| a.path.cmp(&b.path));
}

fn has_limits(cgroup: &Cgroup) -> bool {
    cgroup.devices.iter().any(CgroupDevice::has_limits)
}

fn total_bytes(cgroup: &Cgroup) -> u64 {
    let bytes = cgroup
        .devices
        .iter()
        .map(|device| device.io.read_bytes.saturating_add(device.io.write_bytes));
    bytes.fold(0, u64::saturating_add)
}

impl ScanGrowth {
    /// Appends the lines of the scan: one, unless it is long.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if json_bytes(self) <= MAX_LIST_BYTES {
            return write_annotation(&IoScanLine { io_scan: self }, out);
        }
        let mut parts = vec![Self {
            devices: Vec::new(),
            cgroups: Vec::new(),
            busiest: Vec::new(),
            blocked: Vec::new(),
            processes: self.processes.clone(),
            ..*self
        }];
        for devices in split_list(&self.devices) {
            parts.push(Self {
                devices,
                ..Self::default()
            });
        }
        for cgroups in split_list(&self.cgroups) {
            parts.push(Self {
                cgroups,
                ..Self::default()
            });
        }
        for busiest in split_list(&self.busiest) {
            parts.push(Self {
                busiest,
                ..Self::default()
            });
        }
        for blocked in split_list(&self.blocked) {
            parts.push(Self {
                blocked,
                ..Self::default()
            });
        }
        for io_scan in parts {
            write_annotation(&IoScanLine { io_scan }, out);
        }
    }
}

/// Reads scans by adding up their growth.
#[derive(Clone, Debug, Default)]
pub(super) struct ScanReader {
    /// The parts of the scan that is being read.
    pending: Option<ScanGrowth>,
    devices: Vec<ScannedDevice>,
    cgroups: Vec<Cgroup>,
}

impl ScanReader {
    /// Takes a part of a scan. The first part of a new scan replaces the scan before it if no sample took that.
    pub(super) fn add(&mut self, part: ScanGrowth) {
        if part.at_ns.is_some() {
            self.take();
            self.pending = Some(part);
        } else if let Some(scan) = &mut self.pending {
            extend(&mut scan.devices, part.devices);
            extend(&mut scan.cgroups, part.cgroups);
            extend(&mut scan.busiest, part.busiest);
            extend(&mut scan.blocked, part.blocked);
        }
    }

    /// Returns the scan that was read since the last call; `None` if there was none.
    pub(super) fn take(&mut self) -> Option<Arc<IoScan>> {
        let scan = self.pending.take()?;
        add_devices(&mut self.devices, &scan.devices);
        add_cgroups(&mut self.cgroups, &scan.cgroups);
        let processes = scan.processes.map(|processes| {
            // Their rates need a time.
            let busiest = if processes.elapsed.is_zero() {
                Vec::new()
            } else {
                scan.busiest
            };
            Arc::new(ProcessIo {
                busiest,
                ..processes
            })
        });
        Some(Arc::new(IoScan {
            at: Duration::from_nanos(scan.at_ns?),
            devices: self.devices.clone(),
            hierarchy: [CgroupHierarchy::V1, CgroupHierarchy::V2]
                .into_iter()
                .find(|version| scan.cgroup_version == Some(*version as u8)),
            cgroups: self.cgroups.clone(),
            processes,
            are_processes_late: scan.are_processes_late,
            hung_read: scan.hung_read,
            blocked: scan.has_blocked.then_some(scan.blocked),
            skipped: scan.skipped,
            problem: scan.problem,
        }))
    }
}

fn extend<T>(list: &mut Vec<T>, more: Vec<T>) {
    let room = MAX_ELEMENTS.saturating_sub(list.len());
    list.extend(more.into_iter().take(room));
}

/// Adds the growth of devices in a later scan.
fn add_devices(sums: &mut Vec<ScannedDevice>, growth: &[ScannedDevice]) {
    for device in growth {
        if let Some(sum) = sums.iter_mut().find(|sum| sum.name == device.name) {
            (sum.number, sum.io) = (device.number, sum.io.plus(&device.io));
        } else if sums.len() < MAX_ELEMENTS {
            sums.push(device.clone());
        }
    }
}

/// Adds the growth of cgroups in a later scan to `sums`, which are sorted by path.
fn add_cgroups(sums: &mut Vec<Cgroup>, growth: &[Cgroup]) {
    // A limit that is no longer listed was removed, or its cgroup was.
    let devices = sums.iter_mut().flat_map(|cgroup| &mut cgroup.devices);
    devices.for_each(|device| device.limits = IoLimits::default());
    for cgroup in growth {
        let at = match sums.binary_search_by(|sum| sum.path.cmp(&cgroup.path)) {
            Ok(at) => at,
            Err(_) if sums.len() >= MAX_ELEMENTS => continue,
            Err(at) => {
                sums.insert(
                    at,
                    Cgroup {
                        path: Arc::clone(&cgroup.path),
                        ..Cgroup::default()
                    },
                );
                at
            }
        };
        for device in &cgroup.devices {
            let sum = CgroupDevice::entry(&mut sums[at].devices, device.number);
            (sum.io, sum.limits) = (sum.io.plus(&device.io), device.limits);
        }
        let before = sums[at].pressure.unwrap_or_default();
        sums[at].pressure = cgroup.pressure.map(|growth| before.plus(&growth));
    }
}
