//! The sum over devices. Sums of counters would wrap and reset at other points than the counters.

use std::collections::{HashMap, HashSet};

use super::device_interval::{DeviceActivity, DeviceInterval, DeviceState};
use crate::counters::{Device, Sample};
use crate::judge::Judged;
use crate::metrics::{DataFlag, Interval};
use crate::topology::{Kind, Topology};

/// The sum over the devices of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Total {
    /// `None` without a device.
    sum: Option<Interval>,
    had_reset: bool,
    lacks_device: bool,
}

impl Total {
    pub(super) fn add(&mut self, interval: &Interval) {
        // A device alone has no util either.
        let no_device = Interval {
            in_flight_before: Some(0),
            in_flight: Some(0),
            ..Interval::default()
        };
        self.sum = Some(self.sum.unwrap_or(no_device).beside(interval));
    }

    /// Adds a device without statistics.
    pub(super) fn add_unknown(&mut self, state: &DeviceState) {
        match state {
            DeviceState::AccountingOff(_) => self.lacks_device = true,
            _ => self.had_reset = true,
        }
    }

    /// Returns the line of the total; `None` for the total of no device.
    pub(super) fn finish(&self) -> Option<DeviceInterval> {
        let state = if self.had_reset {
            DeviceState::MemberReset
        } else {
            DeviceState::Active(Box::new(DeviceActivity {
                judged: Judged::of(&self.sum?, None),
                flag: self.lacks_device.then_some(DataFlag::AccountingOff),
                ..DeviceActivity::default()
            }))
        };
        Some(DeviceInterval::without_alias("total", state))
    }
}

/// Returns whether a device counts in the total of an interval that ends with the sample `newer`.
pub(super) fn counts_in_total(role: TotalRole, newer: &Sample) -> bool {
    match role {
        TotalRole::Excluded => false,
        TotalRole::Included => true,
        TotalRole::FallbackFor(index) => newer.devices[index].counters.completed() == [0; 4],
    }
}

/// The part of a device in a total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TotalRole {
    /// Not counted: another device counts its requests.
    #[default]
    Excluded,
    /// Counted.
    Included,
    /// Counted as long as the device at this index never completed a request: before Linux 6.2 only the paths of an
    /// NVMe multipath device count requests.
    FallbackFor(usize),
}

/// Returns the role of each device. Physical disks are included, but not devices in memory or stacked on others. If
/// some devices were `requested`, only these can be included, from the bottom of the stack upwards, unless a device
/// below or above is already included.
pub(super) fn total_roles(
    devices: &[Device],
    topology: &Topology,
    requested: Option<&[bool]>,
) -> Vec<TotalRole> {
    let all = vec![true; devices.len()];
    let is_requested = requested.unwrap_or(&all);
    let mut candidates: HashMap<&str, usize> = HashMap::with_capacity(devices.len());
    for (index, device) in devices.iter().enumerate() {
        if is_requested[index] {
            candidates.entry(device.name.as_str()).or_insert(index);
        }
    }
    let mut roles = Vec::with_capacity(devices.len());
    for (index, device) in devices.iter().enumerate() {
        let role = match kind(device, topology) {
            _ if !is_requested[index] => TotalRole::Excluded,
            Kind::NvmePath => {
                let mut role = TotalRole::Included;
                for holder in topology.holders(&device.name) {
                    if let Some(head) = candidates.get(holder.name.as_str())
                        && holder.kind == Kind::Disk
                    {
                        role = TotalRole::FallbackFor(*head);
                        break;
                    }
                }
                role
            }
            Kind::Disk => TotalRole::Included,
            Kind::Optical if topology.backing_devices(&device.name).is_empty() => {
                TotalRole::Included
            }
            _ => TotalRole::Excluded,
        };
        roles.push(role);
    }
    if requested.is_some() {
        include_stacked_devices(&mut roles, devices, &candidates, topology);
    }
    roles
}

/// Includes requested devices that are not physical disks, unless that would count requests twice.
fn include_stacked_devices(
    roles: &mut [TotalRole],
    devices: &[Device],
    candidates: &HashMap<&str, usize>,
    topology: &Topology,
) {
    let mut included: HashSet<&str> = HashSet::new();
    for (device, role) in devices.iter().zip(roles.iter()) {
        if *role != TotalRole::Excluded {
            included.insert(&device.name);
        }
    }
    let has_disks = !included.is_empty();
    let mut nodes = Vec::from_iter(topology.nodes());
    nodes.sort_by_cached_key(|node| topology.depth(&node.name));
    // The devices below those included, such as the paths of a multipath disk.
    let mut below: HashSet<&str> = HashSet::new();
    for node in nodes.iter().rev() {
        if included.contains(node.name.as_str()) || below.contains(node.name.as_str()) {
            below.extend(node.backing_devices.iter().map(String::as_str));
        }
    }
    let mut above: HashSet<&str> = HashSet::new();
    for node in nodes {
        let name = node.name.as_str();
        let is_counted =
            |name: &String| included.contains(name.as_str()) || above.contains(name.as_str());
        if node.backing_devices.iter().any(is_counted) {
            above.insert(name);
        } else if let Some(index) = candidates.get(name)
            && !below.contains(name)
            && !(node.backing_devices.is_empty() && may_be_on_disk(node.kind, has_disks))
            && included.insert(name)
        {
            roles[*index] = TotalRole::Included;
        }
    }
    for (name, index) in candidates {
        if topology.node(name).is_none()
            && roles[*index] == TotalRole::Excluded
            && !may_be_on_disk(Kind::from_name(name), has_disks)
        {
            roles[*index] = TotalRole::Included;
        }
    }
}

/// Returns whether a volume without known backing devices may be on a disk that is included.
fn may_be_on_disk(kind: Kind, has_disks: bool) -> bool {
    has_disks && !kind.is_memory()
}

fn kind(device: &Device, topology: &Topology) -> Kind {
    match topology.node(&device.name) {
        Some(node) => node.kind,
        None => Kind::from_name(&device.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Node;

    /// Returns the names of the devices that count.
    fn counted(nodes: &[(&str, Kind, &[&str])], chosen: Option<&[&str]>) -> Vec<String> {
        let device = |name: &str| Device {
            name: name.into(),
            ..Device::default()
        };
        let devices: Vec<Device> = nodes.iter().map(|(name, ..)| device(name)).collect();
        let node = |(name, kind, on): &(&str, Kind, &[&str])| Node {
            name: (*name).into(),
            kind: *kind,
            backing_devices: on.iter().map(|name| (*name).to_owned()).collect(),
            ..Node::default()
        };
        let topology = Topology::new(nodes.iter().map(node).collect());
        let is_chosen = |names: &[&str]| {
            devices
                .iter()
                .map(|device| names.contains(&device.name.as_str()))
                .collect()
        };
        let chosen: Option<Vec<bool>> = chosen.map(is_chosen);
        let roles = total_roles(&devices, &topology, chosen.as_deref());
        let counted = devices
            .iter()
            .zip(roles)
            .filter_map(|(device, role)| match role {
                TotalRole::Excluded => None,
                TotalRole::Included => Some(device.name.clone()),
                TotalRole::FallbackFor(index) => {
                    Some(format!("{} unless {}", device.name, devices[index].name))
                }
            });
        counted.collect()
    }

    const MACHINE: &[(&str, Kind, &[&str])] = &[
        ("dm-1", Kind::Crypt, &["dm-0"]),
        ("dm-0", Kind::Lvm, &["sda2", "sdb"]),
        ("sda", Kind::Disk, &[]),
        ("sda1", Kind::Partition, &["sda"]),
        ("sda2", Kind::Partition, &["sda"]),
        ("sdb", Kind::Disk, &[]),
        ("zram0", Kind::Zram, &[]),
        ("sr0", Kind::Optical, &[]),
        ("loop0", Kind::Loop, &["sda1"]),
        ("dm-9", Kind::Dm, &[]),
    ];

    #[test]
    fn physical_disks_count() {
        assert_eq!(counted(MACHINE, None), ["sda", "sdb", "sr0"]);
    }

    #[test]
    fn no_request_of_the_selected_devices_counts_twice() {
        for (chosen, expected) in [
            (&["sda"][..], &["sda"][..]),
            (&["sda", "sda1", "dm-0", "dm-1", "loop0"], &["sda"]),
            (&["sda1", "sda2"], &["sda1", "sda2"]),
            (&["dm-0", "dm-1"], &["dm-0"]),
            (&["dm-1", "sda1"], &["dm-1", "sda1"]),
            (&["sda2", "dm-1"], &["sda2"]),
            (&["loop0", "sdb"], &["sdb", "loop0"]),
            (&["zram0", "sdb"], &["sdb", "zram0"]),
            (&["dm-9"], &["dm-9"]),
            // It may be on sda.
            (&["dm-9", "sda"], &["sda"]),
            (&[], &[]),
        ] {
            assert_eq!(counted(MACHINE, Some(chosen)), expected, "{chosen:?}");
        }
    }

    #[test]
    fn nvme_paths_count_where_their_multipath_device_does_not() {
        let nodes: &[(&str, Kind, &[&str])] = &[
            ("nvme0n1", Kind::Disk, &["nvme0c0n1", "nvme0c1n1"]),
            ("nvme0c0n1", Kind::NvmePath, &[]),
            ("nvme0c1n1", Kind::NvmePath, &[]),
            ("nvme0n1p1", Kind::Partition, &["nvme0n1"]),
        ];
        let all = [
            "nvme0n1",
            "nvme0c0n1 unless nvme0n1",
            "nvme0c1n1 unless nvme0n1",
        ];
        assert_eq!(counted(nodes, None), all);
        assert_eq!(counted(&nodes[1..3], None), ["nvme0c0n1", "nvme0c1n1"]);
        assert_eq!(
            counted(nodes, Some(&["nvme0c0n1", "nvme0n1p1"])),
            ["nvme0c0n1"]
        );
        assert_eq!(counted(nodes, Some(&["nvme0n1", "nvme0n1p1"])), ["nvme0n1"]);
    }

    #[test]
    fn a_deep_stack_with_a_cycle_terminates() {
        let names: Vec<String> = (0..20_000).map(|at| format!("dm-{at}")).collect();
        let on: Vec<[&str; 1]> = (0..names.len())
            .map(|at| [names[(at + names.len() - 1) % names.len()].as_str()])
            .collect();
        let nodes: Vec<(&str, Kind, &[&str])> = names
            .iter()
            .zip(&on)
            .map(|(name, on)| (name.as_str(), Kind::Dm, &on[..]))
            .collect();
        assert_eq!(counted(&nodes, Some(&["dm-7", "dm-7000"])).len(), 1);
    }
}
