//! How much the counters of cgroups grow between two scans, with and without their descendants.

use std::collections::HashMap;
use std::sync::Arc;

use crate::counters::{CgroupDevice, CgroupHierarchy, DeviceNumber, IoCounters, IoScan};

/// The growth of the counters of a cgroup on a device.
pub(super) struct CgroupDelta {
    /// The position of the cgroup in the newer scan.
    pub(super) cgroup: usize,
    pub(super) number: DeviceNumber,
    /// The I/O that the kernel counts and limits; in version 2, with descendants.
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

/// Returns the counters of each cgroup of a scan.
pub(super) fn counters_by_path(scan: &IoScan) -> Counted {
    let cgroups = scan.cgroups.iter();
    cgroups
        .map(|cgroup| (Arc::clone(&cgroup.path), cgroup.devices.clone()))
        .collect()
}

/// Adds cgroups that are new in a scan to an earlier one, with the counters they have now: it is not known since when they
/// grew.
pub(super) fn add_new_cgroups(scan: &IoScan, before: &mut Counted) {
    for cgroup in &scan.cgroups {
        if cgroup.is_new {
            before.insert(Arc::clone(&cgroup.path), cgroup.devices.clone());
        }
    }
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
            let (counted, continues) =
                match old_devices.iter().find(|old| old.number == device.number) {
                    Some(old) => {
                        let grown = device.io.growth_since(&old.io);
                        (grown, old.io.plus(&grown) == device.io)
                    }
                    None => (device.io, false),
                };
            positions.insert((&cgroup.path, device.number), deltas.len());
            deltas.push(CgroupDelta {
                cgroup: at,
                number: device.number,
                counted,
                own: counted,
                continues,
            });
        }
    }
    if newer.hierarchy == Some(CgroupHierarchy::V2) {
        subtract_children(newer, &positions, ahead, &mut deltas);
    }
    deltas
}

/// The growth of the cgroups directly below one.
struct Children {
    grown: IoCounters,
    /// True if all their counters were known before.
    all_continue: bool,
}

/// Subtracts the growth of each cgroup from its nearest ancestor with counters.
fn subtract_children(
    scan: &IoScan,
    positions: &HashMap<(&str, DeviceNumber), usize>,
    ahead: &mut AheadOfParents,
    deltas: &mut [CgroupDelta],
) {
    let mut children: HashMap<usize, Children> = HashMap::new();
    for delta in &*deltas {
        let path = &scan.cgroups[delta.cgroup].path;
        let Some(parent) = nearest_above(path, delta.number, positions) else {
            continue;
        };
        let below = children.entry(parent).or_insert(Children {
            grown: IoCounters::default(),
            all_continue: true,
        });
        below.grown = below.grown.plus(&delta.counted);
        below.all_continue &= delta.continues;
    }

    let mut before = std::mem::take(ahead);
    for (parent, below) in children {
        let delta = &mut deltas[parent];
        let key = (Arc::clone(&scan.cgroups[delta.cgroup].path), delta.number);
        let grown = below.grown.plus(&before.remove(&key).unwrap_or_default());
        delta.own = delta.counted.minus(&grown);
        let still_ahead = grown.minus(&delta.counted);
        if below.all_continue && delta.continues && still_ahead != IoCounters::default() {
            ahead.insert(key, still_ahead);
        }
    }
}

/// Returns the position of the nearest cgroup above one that has counters on a device; the root does not count.
fn nearest_above(
    path: &str,
    number: DeviceNumber,
    positions: &HashMap<(&str, DeviceNumber), usize>,
) -> Option<usize> {
    for (end, _) in path.rmatch_indices('/') {
        if let Some(position) = positions.get(&(&path[..end], number))
            && end > 0
        {
            return Some(*position);
        }
    }
    None
}
