//! The growth of counters between two scans, and its rates.

use std::collections::HashMap;
use std::sync::Arc;

use crate::counters::{CgroupDevice, CgroupHierarchy, DeviceNumber, IoCounters, IoScan};

/// The growth of the counters of a cgroup on a device.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CgroupDelta {
    /// The position of the cgroup in the newer scan.
    pub(super) cgroup: usize,
    pub(super) number: DeviceNumber,
    /// The I/O that the kernel counts and limits: in version 2, it includes that of descendants.
    pub(super) counted: IoCounters,
    /// Its own I/O, without descendants.
    pub(super) own: IoCounters,
    /// True if its counters were known before and none of them went back.
    continues: bool,
}

/// The amount by which the counters of each cgroup's children were ahead of its own at the last reading: the files are
/// read one after the other, the parent first.
pub(super) type AheadOfParents = HashMap<(Arc<str>, DeviceNumber), IoCounters>;

/// The counters of each cgroup at one time, by path.
pub(super) type Counted = HashMap<Arc<str>, Vec<CgroupDevice>>;

/// Adds the cgroups that a scan found to those of an earlier scan, because it is not known over which time their
/// counters grew before.
pub(super) fn add_new_cgroups(scan: &IoScan, before: &mut Counted) {
    let new = scan.cgroups.iter().filter(|cgroup| cgroup.is_new);
    before.extend(new.map(|cgroup| (Arc::clone(&cgroup.path), cgroup.devices.clone())));
}

/// Returns the growth of each cgroup's counters. The counters of a cgroup that is not in `before` were zero. I/O by
/// which the children were ahead is not attributed to the parent; `ahead` is set to the state of the newer scan.
pub(super) fn cgroup_deltas(
    before: &Counted,
    newer: &IoScan,
    ahead: &mut AheadOfParents,
) -> Vec<CgroupDelta> {
    let mut deltas = Vec::new();
    // The index in `deltas` of each cgroup on each device.
    let mut positions: HashMap<(&str, DeviceNumber), usize> = HashMap::new();
    for (at, cgroup) in newer.cgroups.iter().enumerate() {
        let old_devices = before.get(&cgroup.path).map_or(&[][..], Vec::as_slice);
        for device in &cgroup.devices {
            let old = old_devices.iter().find(|old| old.number == device.number);
            let old = old.map(|old| old.io);
            let counted = device.io.growth_since(&old.unwrap_or_default());
            let continues = old.is_some_and(|old| old.plus(&counted) == device.io);
            positions.insert((&cgroup.path, device.number), deltas.len());
            deltas.push(CgroupDelta { cgroup: at, number: device.number, counted, own: counted, continues });
        }
    }
    if newer.hierarchy == Some(CgroupHierarchy::V2) {
        subtract_children(newer, &positions, ahead, &mut deltas);
    }
    deltas
}

/// Subtracts the growth of each cgroup from that of the nearest cgroup above that has counters.
fn subtract_children(
    scan: &IoScan,
    positions: &HashMap<(&str, DeviceNumber), usize>,
    ahead: &mut AheadOfParents,
    deltas: &mut [CgroupDelta],
) {
    // The growth to subtract from each parent, and `true` if all counters below it were known before.
    let mut below: HashMap<usize, (IoCounters, bool)> = HashMap::new();
    for CgroupDelta { cgroup, number, counted, continues, .. } in &*deltas {
        let path = &scan.cgroups[*cgroup].path;
        let mut above = parents(path).filter_map(|path| positions.get(&(path, *number)));
        if let Some(parent) = above.next() {
            let (sum, all_continue) = below.entry(*parent).or_insert((IoCounters::default(), true));
            *sum = sum.plus(counted);
            *all_continue &= *continues;
        }
    }
    let mut before = std::mem::take(ahead);
    for (parent, (sum, all_continue)) in below {
        let delta = &mut deltas[parent];
        let key = (Arc::clone(&scan.cgroups[delta.cgroup].path), delta.number);
        let sum = sum.plus(&before.remove(&key).unwrap_or_default());
        delta.own = delta.counted.minus(&sum);
        let still_ahead = sum.minus(&delta.counted);
        if all_continue && delta.continues && still_ahead != IoCounters::default() {
            ahead.insert(key, still_ahead);
        }
    }
}

/// Returns the paths of the cgroups above one, nearest first, without the root.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(parent(path), |path| parent(path))
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent).filter(|parent| !parent.is_empty())
}

/// Reads and writes per second. For a device they are requests; for a cgroup they are bios, several of which the kernel
/// may merge into one request. Only bytes can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IoRates {
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    pub read_bytes_per_s: f64,
    pub write_bytes_per_s: f64,
}

impl IoRates {
    /// Returns the rates of counters that grew by `delta` in some seconds.
    pub(super) fn of(delta: &IoCounters, elapsed_s: f64) -> Self {
        Self {
            reads_per_s: delta.reads as f64 / elapsed_s,
            writes_per_s: delta.writes as f64 / elapsed_s,
            read_bytes_per_s: delta.read_bytes as f64 / elapsed_s,
            write_bytes_per_s: delta.write_bytes as f64 / elapsed_s,
        }
    }

    /// Returns bytes read and written per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.read_bytes_per_s + self.write_bytes_per_s
    }

    /// Returns reads and writes per second.
    pub fn ios_per_s(&self) -> f64 {
        self.reads_per_s + self.writes_per_s
    }
}
