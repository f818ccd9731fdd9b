//! The part of the tree that follows from device names alone, as in a capture that records nothing else.

use std::collections::HashMap;

use super::kind::nvme_head;
use super::{Kind, Node, Topology, partition_parents};
use crate::counters::Device;

impl Topology {
    /// Infers kinds, partitions and the paths of NVMe multipath disks from names and major numbers.
    pub fn from_names(devices: &[Device]) -> Self {
        let node = |(device, parent): (&Device, Option<usize>)| Node {
            name: device.name.clone(),
            major: device.major,
            minor: device.minor,
            kind: if parent.is_some() { Kind::Partition } else { Kind::from_name(&device.name) },
            backing_devices: parent.map(|index| devices[index].name.clone()).into_iter().collect(),
            ..Node::default()
        };
        let mut nodes: Vec<Node> = devices.iter().zip(partition_parents(devices)).map(node).collect();
        link_nvme_paths(&mut nodes);
        Self::new(nodes)
    }
}

/// Adds the paths of NVMe multipath disks to their backing devices: `nvme0n1` is on `nvme0c0n1` and `nvme0c1n1`, the
/// paths of the same subsystem and namespace.
pub fn link_nvme_paths(nodes: &mut [Node]) {
    let mut paths: HashMap<String, Vec<String>> = HashMap::new();
    for node in nodes.iter().filter(|node| node.kind == Kind::NvmePath) {
        if let Some(head) = nvme_head(&node.name) {
            paths.entry(head).or_default().push(node.name.clone());
        }
    }
    for node in nodes.iter_mut().filter(|node| node.kind != Kind::NvmePath) {
        node.backing_devices.extend(paths.remove(&node.name).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_kinds_partitions_and_nvme_paths() {
        let names =
            [(259, "nvme0c0n1"), (259, "nvme0c1n1"), (259, "nvme0n1"), (259, "nvme0n1p1"), (253, "dm-0")];
        let device = |&(major, name): &(u32, &str)| Device { major, name: name.into(), ..Device::default() };
        let topology = Topology::from_names(&names.iter().map(device).collect::<Vec<_>>());
        assert_eq!(topology.node("nvme0n1").unwrap().backing_devices, ["nvme0c0n1", "nvme0c1n1"]);
        assert_eq!(topology.disk_of("nvme0n1p1"), Some("nvme0n1"));
        assert_eq!(topology.node("nvme0c1n1").unwrap().kind, Kind::NvmePath);
        assert_eq!(topology.node("dm-0").unwrap().kind, Kind::Dm);
        assert_eq!(topology.depth("nvme0n1p1"), 2);
    }
}
