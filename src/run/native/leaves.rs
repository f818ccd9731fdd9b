//! Which devices a total counts, so that nothing is counted twice.

use std::collections::{HashMap, HashSet};

use crate::counters::Device;
use crate::topology::{Kind, Node, Topology};

/// Whether a device counts in a total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Share {
    /// No: another one counts what it does.
    #[default]
    None,
    /// Yes.
    Whole,
    /// As long as the device at this place never counted anything: before 6.2 only the paths of an NVMe multipath
    /// disk do.
    Unless(usize),
}

/// The share of each device: whole devices that stand on no other and are no memory. Where some were chosen, only
/// of these, and others too, from the ground up, that neither stand on one that counts nor bear one.
pub(super) fn shares(devices: &[Device], stack: &Topology, chosen: Option<&[bool]>) -> Vec<Share> {
    let is_chosen = |at: usize| chosen.is_none_or(|chosen| chosen[at]);
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(devices.len());
    for (at, device) in devices.iter().enumerate().filter(|(at, _)| is_chosen(*at)) {
        places.entry(device.name.as_str()).or_insert(at);
    }
    let share = |(at, device): (usize, &Device)| {
        if !is_chosen(at) {
            return Share::None;
        }
        match kind(device, stack) {
            Kind::NvmePath => {
                let mut above = stack.holders(&device.name).filter(|node| node.kind == Kind::Disk);
                let head = above.find_map(|node| places.get(node.name.as_str()));
                head.map_or(Share::Whole, |head| Share::Unless(*head))
            }
            Kind::Disk => Share::Whole,
            Kind::Optical if below(device, stack).is_empty() => Share::Whole,
            _ => Share::None,
        }
    };
    let mut shares: Vec<Share> = devices.iter().enumerate().map(share).collect();
    if chosen.is_some() {
        add_others(&mut shares, devices, &places, stack);
    }
    shares
}

/// Lets those that were chosen and are no leaves count too where nothing is counted twice.
fn add_others(shares: &mut [Share], devices: &[Device], places: &HashMap<&str, usize>, stack: &Topology) {
    let leaves = devices.iter().zip(shares.iter()).filter(|(_, share)| **share != Share::None);
    let mut counted: HashSet<&str> = leaves.map(|(device, _)| device.name.as_str()).collect();
    let has_leaves = !counted.is_empty();
    let mut nodes: Vec<&Node> = stack.nodes().iter().collect();
    nodes.sort_by_cached_key(|node| stack.depth(&node.name));
    // What leaves stand on, such as the paths of a multipath disk.
    let mut beneath: HashSet<&str> = HashSet::new();
    for node in nodes.iter().rev() {
        if counted.contains(node.name.as_str()) || beneath.contains(node.name.as_str()) {
            beneath.extend(node.backing_devices.iter().map(String::as_str));
        }
    }
    // A capture may not know what a volume stands on: perhaps on a disk that counts.
    let may_stand_on_leaf = |kind: Kind| has_leaves && !kind.is_memory();
    let mut upon: HashSet<&str> = HashSet::new();
    for node in nodes {
        let name = node.name.as_str();
        let stands_on = |name: &String| counted.contains(name.as_str()) || upon.contains(name.as_str());
        if node.backing_devices.iter().any(stands_on) {
            upon.insert(name);
        } else if let Some(at) = places.get(name).filter(|_| !beneath.contains(name))
            && !(node.backing_devices.is_empty() && may_stand_on_leaf(node.kind))
            && counted.insert(name)
        {
            shares[*at] = Share::Whole;
        }
    }
    for (name, at) in places.iter().filter(|(name, _)| stack.node(name).is_none()) {
        if shares[*at] == Share::None && !may_stand_on_leaf(Kind::from_name(name)) {
            shares[*at] = Share::Whole;
        }
    }
}

fn kind(device: &Device, stack: &Topology) -> Kind {
    stack.node(&device.name).map_or_else(|| Kind::from_name(&device.name), |node| node.kind)
}

fn below<'a>(device: &Device, stack: &'a Topology) -> &'a [String] {
    stack.node(&device.name).map_or(&[], |node| &node.backing_devices)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the devices that count.
    fn counted(nodes: &[(&str, Kind, &[&str])], chosen: Option<&[&str]>) -> Vec<String> {
        let device = |name: &str| Device { name: name.into(), ..Device::default() };
        let devices: Vec<Device> = nodes.iter().map(|(name, ..)| device(name)).collect();
        let node = |(name, kind, on): &(&str, Kind, &[&str])| Node {
            name: (*name).into(),
            kind: *kind,
            backing_devices: on.iter().map(|name| (*name).to_owned()).collect(),
            ..Node::default()
        };
        let stack = Topology::new(nodes.iter().map(node).collect());
        let is_chosen =
            |names: &[&str]| devices.iter().map(|device| names.contains(&device.name.as_str())).collect();
        let chosen: Option<Vec<bool>> = chosen.map(is_chosen);
        let shares = shares(&devices, &stack, chosen.as_deref());
        let told = devices.iter().zip(shares).filter_map(|(device, share)| match share {
            Share::None => None,
            Share::Whole => Some(device.name.clone()),
            Share::Unless(at) => Some(format!("{} unless {}", device.name, devices[at].name)),
        });
        told.collect()
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
    fn whole_leaf_devices_count() {
        assert_eq!(counted(MACHINE, None), ["sda", "sdb", "sr0"]);
    }

    #[test]
    fn of_those_that_were_chosen_nothing_counts_twice() {
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
            // It may stand on sda.
            (&["dm-9", "sda"], &["sda"]),
            (&[], &[]),
        ] {
            assert_eq!(counted(MACHINE, Some(chosen)), expected, "{chosen:?}");
        }
    }

    #[test]
    fn the_paths_of_a_multipath_disk_count_where_it_does_not() {
        let nodes: &[(&str, Kind, &[&str])] = &[
            ("nvme0n1", Kind::Disk, &["nvme0c0n1", "nvme0c1n1"]),
            ("nvme0c0n1", Kind::NvmePath, &[]),
            ("nvme0c1n1", Kind::NvmePath, &[]),
            ("nvme0n1p1", Kind::Partition, &["nvme0n1"]),
        ];
        let all = ["nvme0n1", "nvme0c0n1 unless nvme0n1", "nvme0c1n1 unless nvme0n1"];
        assert_eq!(counted(nodes, None), all);
        assert_eq!(counted(&nodes[1..3], None), ["nvme0c0n1", "nvme0c1n1"]);
        assert_eq!(counted(nodes, Some(&["nvme0c0n1", "nvme0n1p1"])), ["nvme0c0n1"]);
        assert_eq!(counted(nodes, Some(&["nvme0n1", "nvme0n1p1"])), ["nvme0n1"]);
    }

    #[test]
    fn a_deep_stack_and_a_circle_are_no_trouble() {
        let names: Vec<String> = (0..20_000).map(|at| format!("dm-{at}")).collect();
        let on: Vec<[&str; 1]> =
            (0..names.len()).map(|at| [names[(at + names.len() - 1) % names.len()].as_str()]).collect();
        let nodes: Vec<(&str, Kind, &[&str])> =
            names.iter().zip(&on).map(|(name, on)| (name.as_str(), Kind::Dm, &on[..])).collect();
        assert_eq!(counted(&nodes, Some(&["dm-7", "dm-7000"])).len(), 1);
    }
}
