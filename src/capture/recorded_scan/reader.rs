//! Reads scans.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::{PROBLEMS, RecordedScan, VERSIONS};
use crate::counters::{Cgroup, CgroupDevice, HungRead, IoLimits, IoScan, ProcessIo, ScannedDevice};

/// The maximum number of cgroups, devices and other elements that are kept: a hostile recording must not fill the
/// memory.
const MAX_ELEMENTS: usize = 20_000;

/// Reads scans by adding up their growth.
#[derive(Clone, Debug, Default)]
pub(in crate::capture) struct ScanReader {
    /// The parts of the scan that is being read.
    pending: Option<RecordedScan>,
    devices: Vec<ScannedDevice>,
    cgroups: Vec<Cgroup>,
    /// The position of each cgroup.
    positions: HashMap<Arc<str>, usize>,
}

impl ScanReader {
    /// Takes a part of a scan. The first part of a new scan replaces the scan before it if no sample took that.
    pub(in crate::capture) fn add(&mut self, part: RecordedScan) {
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
    pub(in crate::capture) fn take(&mut self) -> Option<Arc<IoScan>> {
        let scan = self.pending.take()?;
        self.add_devices(&scan);
        self.add_cgroups(&scan);
        let processes = scan.processes.map(|processes| ProcessIo {
            elapsed: Duration::from_nanos(processes.elapsed_ns),
            hidden: processes.hidden,
            is_partial: processes.is_partial,
            // Their rates need a time.
            busiest: if processes.elapsed_ns > 0 { scan.busiest } else { Vec::new() },
        });
        Some(Arc::new(IoScan {
            at: Duration::from_nanos(scan.at_ns?),
            devices: self.devices.clone(),
            hierarchy: scan.cgroup_version.and_then(|number| {
                VERSIONS.iter().find(|(known, _)| *known == number).map(|(_, version)| *version)
            }),
            cgroups: self.cgroups.clone(),
            processes: processes.map(Arc::new),
            hung_read: scan
                .hung_read
                .map(|hung| HungRead { pid: hung.pid, elapsed: Duration::from_nanos(hung.elapsed_ns) }),
            blocked: scan.has_blocked.then_some(scan.blocked),
            skipped: scan.skipped,
            problem: scan.problem.and_then(|name| {
                PROBLEMS.iter().find(|(known, _)| *known == name).map(|(_, problem)| *problem)
            }),
        }))
    }

    fn add_devices(&mut self, scan: &RecordedScan) {
        for device in &scan.devices {
            let known = self.devices.iter().position(|known| known.name == device.name);
            if let Some(at) = known {
                let known = &mut self.devices[at];
                (known.number, known.io) = (device.number, known.io.plus(&device.io));
            } else if self.devices.len() < MAX_ELEMENTS {
                self.devices.push(device.clone());
            }
        }
    }

    fn add_cgroups(&mut self, scan: &RecordedScan) {
        // A limit that is no longer listed was removed, or its cgroup was.
        let devices = self.cgroups.iter_mut().flat_map(|cgroup| &mut cgroup.devices);
        devices.for_each(|device| device.limits = IoLimits::default());
        for recorded in &scan.cgroups {
            let path = &recorded.path;
            let known = self.positions.get(path).copied();
            if known.is_none() && self.cgroups.len() >= MAX_ELEMENTS {
                continue;
            }
            let position = known.unwrap_or_else(|| {
                self.positions.insert(Arc::clone(path), self.cgroups.len());
                self.cgroups.push(Cgroup { path: Arc::clone(path), ..Cgroup::default() });
                self.cgroups.len() - 1
            });
            let cgroup = &mut self.cgroups[position];
            recorded.devices.iter().for_each(|device| add_use(cgroup, device));
            let before = cgroup.pressure.unwrap_or_default();
            cgroup.pressure = recorded.pressure.map(|growth| before.plus(&growth));
        }
    }
}

fn extend<T>(list: &mut Vec<T>, more: Vec<T>) {
    let room = MAX_ELEMENTS.saturating_sub(list.len());
    list.extend(more.into_iter().take(room));
}

fn add_use(cgroup: &mut Cgroup, recorded: &CgroupDevice) {
    let number = recorded.number;
    let at = cgroup.devices.binary_search_by_key(&number, |device| device.number).unwrap_or_else(|at| {
        cgroup.devices.insert(at, CgroupDevice { number, ..CgroupDevice::default() });
        at
    });
    let device = &mut cgroup.devices[at];
    (device.io, device.limits) = (device.io.plus(&recorded.io), recorded.limits);
}
