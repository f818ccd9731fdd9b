//! Devices stacked on selected ones or below them, which show where the requests of the selected ones wait.

use std::collections::HashSet;

use crate::topology::{Kind, Node, Topology};

/// Returns the devices, by the kernel's names, whose statistics the evidence of layers needs for the selected ones:
/// those below a selected device, those on it, and those below the latter.
pub(super) fn neighbors<'a>(
    selected: impl Iterator<Item = &'a str>,
    topology: &'a Topology,
) -> HashSet<&'a str> {
    let mut found = HashSet::new();
    let mut add = |node: &'a Node| {
        if node.kind != Kind::Partition {
            found.extend([node.name.as_str()]);
            found.extend(node.backing_devices.iter().map(String::as_str));
        }
    };
    for name in selected {
        topology.node(name).into_iter().for_each(&mut add);
        for holder in topology.holders(name) {
            add(holder);
            // If it is a partition, requests to the devices on it reach the selected disk.
            let is_partition = holder.kind == Kind::Partition;
            topology.holders(&holder.name).filter(|_| is_partition).for_each(&mut add);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, kind: Kind, below: &[&str]) -> Node {
        let backing_devices = below.iter().map(|name| (*name).to_owned()).collect();
        Node { name: name.into(), kind, backing_devices, ..Node::default() }
    }

    #[test]
    fn neighbors_are_one_layer_away() {
        let topology = Topology::new(vec![
            node("loop0", Kind::Loop, &["dm-0"]),
            node("dm-0", Kind::Lvm, &["sda1", "sdb"]),
            node("sda1", Kind::Partition, &["sda"]),
            node("sda", Kind::Disk, &[]),
            node("sdb", Kind::Disk, &[]),
            node("sdc", Kind::Disk, &[]),
        ]);
        let of = |name: &'static str| {
            let mut found: Vec<String> =
                neighbors([name].into_iter(), &topology).into_iter().map(str::to_owned).collect();
            found.sort();
            found
        };
        assert_eq!(of("loop0"), ["dm-0", "loop0"]);
        assert_eq!(of("dm-0"), ["dm-0", "loop0", "sda1", "sdb"]);
        assert_eq!(of("sda"), ["dm-0", "sda", "sda1", "sdb"]);
        assert_eq!(of("sdb"), ["dm-0", "sda1", "sdb"]);
        assert_eq!(of("sdc"), ["sdc"]);
        assert!(of("nope").is_empty());
    }
}
