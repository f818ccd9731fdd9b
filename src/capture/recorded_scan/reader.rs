//! Reads scans.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::{PROBLEMS, RecordedScan, RecordedUse, VERSIONS};
use crate::counters::{
    BlockedTask, BusyProcess, Cgroup, CgroupDevice, DeviceNumber, HungRead, IoCounters, IoLimits, IoScan,
    Pressure, ProcessIo, ScannedDevice,
};

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
            busiest: if processes.elapsed_ns > 0 { busiest(&scan) } else { Vec::new() },
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
            blocked: scan.has_blocked.then(|| blocked(&scan)),
            skipped: scan.skipped,
            problem: scan.problem.and_then(|name| {
                PROBLEMS.iter().find(|(known, _)| *known == name).map(|(_, problem)| *problem)
            }),
        }))
    }

    fn add_devices(&mut self, scan: &RecordedScan) {
        for device in &scan.devices {
            let number = (device.number[0], device.number[1]);
            let known = self.devices.iter().position(|known| known.name == device.name);
            if let Some(at) = known {
                self.devices[at].number = number;
                add(&mut self.devices[at].io, &device.io);
            } else if self.devices.len() < MAX_ELEMENTS {
                let io = counters(&device.io);
                self.devices.push(ScannedDevice { number, name: device.name.clone(), io });
            }
        }
    }

    fn add_cgroups(&mut self, scan: &RecordedScan) {
        // A limit that is no longer listed was removed, or its cgroup was.
        let devices = self.cgroups.iter_mut().flat_map(|cgroup| &mut cgroup.devices);
        devices.for_each(|device| device.limits = IoLimits::default());
        for recorded in &scan.cgroups {
            let path: Arc<str> = Arc::from(recorded.path.as_str());
            let known = self.positions.get(&path).copied();
            if known.is_none() && self.cgroups.len() >= MAX_ELEMENTS {
                continue;
            }
            let position = known.unwrap_or_else(|| {
                self.positions.insert(Arc::clone(&path), self.cgroups.len());
                let cgroup = Cgroup { path, is_new: false, devices: Vec::new(), pressure: None };
                self.cgroups.push(cgroup);
                self.cgroups.len() - 1
            });
            let cgroup = &mut self.cgroups[position];
            recorded.devices.iter().for_each(|device| add_use(cgroup, device));
            cgroup.pressure = recorded.pressure_us.map(|[some_us, full_us]| {
                let before = cgroup.pressure.unwrap_or_default();
                Pressure {
                    some_us: before.some_us.saturating_add(some_us),
                    full_us: before.full_us.saturating_add(full_us),
                }
            });
        }
    }
}

fn extend<T>(list: &mut Vec<T>, more: Vec<T>) {
    let room = MAX_ELEMENTS.saturating_sub(list.len());
    list.extend(more.into_iter().take(room));
}

fn add_use(cgroup: &mut Cgroup, recorded: &RecordedUse) {
    let number: DeviceNumber = (recorded.number[0], recorded.number[1]);
    let at = cgroup.devices.binary_search_by_key(&number, |device| device.number).unwrap_or_else(|at| {
        cgroup.devices.insert(at, CgroupDevice { number, ..CgroupDevice::default() });
        at
    });
    let device = &mut cgroup.devices[at];
    add(&mut device.io, &recorded.io);
    let [read_iops, write_iops, read_bytes_per_s, write_bytes_per_s] = recorded.limits.unwrap_or_default();
    device.limits = IoLimits { read_iops, write_iops, read_bytes_per_s, write_bytes_per_s };
}

fn counters(fields: &[u64; 4]) -> IoCounters {
    let [read_bytes, write_bytes, reads, writes] = *fields;
    IoCounters { read_bytes, write_bytes, reads, writes }
}

fn add(io: &mut IoCounters, growth: &[u64; 4]) {
    let growth = counters(growth);
    io.read_bytes = io.read_bytes.saturating_add(growth.read_bytes);
    io.write_bytes = io.write_bytes.saturating_add(growth.write_bytes);
    io.reads = io.reads.saturating_add(growth.reads);
    io.writes = io.writes.saturating_add(growth.writes);
}

fn busiest(scan: &RecordedScan) -> Vec<BusyProcess> {
    let processes = scan.busiest.iter().map(|process| BusyProcess {
        pid: process.pid,
        comm: process.comm.clone(),
        cgroup: process.cgroup.as_deref().map(Arc::from),
        read_bytes: process.read_bytes,
        write_bytes: process.write_bytes,
    });
    processes.collect()
}

fn blocked(scan: &RecordedScan) -> Vec<BlockedTask> {
    let tasks = scan.blocked.iter().map(|task| BlockedTask {
        pid: task.pid,
        tid: task.tid,
        comm: task.comm.clone(),
        cgroup: task.cgroup.as_deref().map(Arc::from),
        delay_permille: task.delay_permille,
    });
    tasks.collect()
}
