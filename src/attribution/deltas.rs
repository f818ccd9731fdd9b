//! The growth of counters between two scans.

use std::collections::HashMap;
use std::sync::Arc;

use crate::counters::{CgroupDevice, CgroupHierarchy, DeviceNumber, IoCounters, IoScan};

/// The growth of the counters of a cgroup on a device.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CgroupDelta {
    /// The position of the cgroup in the newer scan.
    pub(super) cgroup: usize,
    pub(super) number: DeviceNumber,
    /// The I/O that the kernel counts and limits: with that of descendants in version 2.
    pub(super) counted: IoCounters,
    /// Its own, without descendants.
    pub(super) own: IoCounters,
}

/// The counters of each cgroup at one time, by path.
pub(super) type Counted = HashMap<Arc<str>, Vec<CgroupDevice>>;

/// Adds the cgroups that a scan found to those of an earlier one: since when their counters grew before is not known.
pub(super) fn add_new_cgroups(scan: &IoScan, before: &mut Counted) {
    let new = scan.cgroups.iter().filter(|cgroup| cgroup.is_new);
    before.extend(new.map(|cgroup| (Arc::clone(&cgroup.path), cgroup.devices.clone())));
}

/// Returns the growth of each cgroup's counters. One that is not in `before` had none then.
pub(super) fn cgroup_deltas(before: &Counted, newer: &IoScan) -> Vec<CgroupDelta> {
    let mut deltas = Vec::new();
    // The position in `deltas` of each cgroup on each device.
    let mut positions: HashMap<(&str, DeviceNumber), usize> = HashMap::new();
    for (at, cgroup) in newer.cgroups.iter().enumerate() {
        let old_devices = before.get(&cgroup.path).map_or(&[][..], Vec::as_slice);
        for device in &cgroup.devices {
            let old = old_devices.iter().find(|old| old.number == device.number);
            let counted = device.io.growth_since(&old.map(|old| old.io).unwrap_or_default());
            positions.insert((&cgroup.path, device.number), deltas.len());
            deltas.push(CgroupDelta { cgroup: at, number: device.number, counted, own: counted });
        }
    }
    if newer.hierarchy == Some(CgroupHierarchy::V2) {
        subtract_children(newer, &positions, &mut deltas);
    }
    deltas
}

/// Subtracts the growth of each cgroup from that of the nearest cgroup above that has counters.
fn subtract_children(
    scan: &IoScan,
    positions: &HashMap<(&str, DeviceNumber), usize>,
    deltas: &mut [CgroupDelta],
) {
    for at in 0..deltas.len() {
        let CgroupDelta { cgroup, number, counted, .. } = deltas[at];
        let path: Arc<str> = Arc::clone(&scan.cgroups[cgroup].path);
        let mut above = parents(&path).filter_map(|path| positions.get(&(path, number)));
        if let Some(parent) = above.next() {
            let own = &mut deltas[*parent].own;
            // The files are read one after the other, so that a child may be ahead of its parent.
            own.read_bytes = own.read_bytes.saturating_sub(counted.read_bytes);
            own.write_bytes = own.write_bytes.saturating_sub(counted.write_bytes);
            own.reads = own.reads.saturating_sub(counted.reads);
            own.writes = own.writes.saturating_sub(counted.writes);
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
