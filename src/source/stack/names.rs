//! What only the names of devices tell, and the links in /dev that give them others.

use std::collections::HashMap;
use std::fs::read_dir;
use std::path::Path;

use crate::counters::Device;
use crate::topology::partition_parents;
use crate::topology::{Kind, Node, Topology};

/// The stack of the devices of a capture, of which nothing but the names is known: kinds, partitions and the paths
/// of NVMe multipath disks.
pub fn topology_from_names(devices: &[Device]) -> Topology {
    let disks =
        partition_parents(devices).into_iter().map(|disk| disk.map(|index| devices[index].name.clone()));
    let node = |(device, disk): (&Device, Option<String>)| Node {
        name: device.name.clone(),
        major: device.major,
        minor: device.minor,
        kind: if disk.is_some() { Kind::Partition } else { Kind::by_name(&device.name) },
        backing_devices: disk.into_iter().collect(),
        ..Node::default()
    };
    let mut nodes: Vec<Node> = devices.iter().zip(disks).map(node).collect();
    pair_nvme_paths(&mut nodes);
    Topology::new(nodes)
}

/// Puts NVMe multipath disks on their paths: `nvme0n1` stands on `nvme0c0n1` and `nvme0c1n1`, of the same
/// subsystem and namespace.
pub(super) fn pair_nvme_paths(nodes: &mut [Node]) {
    let mut paths: HashMap<String, Vec<String>> = HashMap::new();
    for node in nodes.iter().filter(|node| node.kind == Kind::NvmePath) {
        if let Some(head) = head_of(&node.name) {
            paths.entry(head).or_default().push(node.name.clone());
        }
    }
    for node in nodes.iter_mut().filter(|node| node.kind != Kind::NvmePath) {
        node.backing_devices.extend(paths.remove(&node.name).unwrap_or_default());
    }
}

/// The disk that an NVMe path leads to.
fn head_of(path: &str) -> Option<String> {
    let (subsystem, rest) = path.strip_prefix("nvme")?.split_once('c')?;
    let (_, namespace) = rest.split_once('n')?;
    Some(format!("nvme{subsystem}n{namespace}"))
}

/// The names that the devices of md and the device-mapper have in /dev, for those that have no other: `md/home`,
/// and `vg0-root` of the folder `mapper`.
pub(super) fn add_links(root: &Path, nodes: &mut [Node]) {
    let mut names = HashMap::new();
    for (folder, prefix) in [("md", "md/"), ("mapper", "")] {
        let entries = read_dir(root.join("dev").join(folder)).into_iter().flatten().flatten();
        let mut links: Vec<_> = entries.map(|entry| entry.path()).collect();
        links.sort();
        for link in links {
            let name = link.file_name().and_then(|name| name.to_str());
            let target =
                link.read_link().ok().and_then(|target| Some(target.file_name()?.to_str()?.to_owned()));
            // `md/0` says no more than `md0`.
            if let (Some(name), Some(target)) = (name.filter(|name| !is_number(name)), target) {
                names.entry(target).or_insert(format!("{prefix}{name}"));
            }
        }
    }
    for node in nodes.iter_mut().filter(|node| node.alias.is_none()) {
        node.alias = names.remove(&node.name);
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_has_only_names() {
        let names =
            [(259, "nvme0c0n1"), (259, "nvme0c1n1"), (259, "nvme0n1"), (259, "nvme0n1p1"), (253, "dm-0")];
        let device = |&(major, name): &(u32, &str)| Device { major, name: name.into(), ..Device::default() };
        let stack = topology_from_names(&names.iter().map(device).collect::<Vec<_>>());
        assert_eq!(stack.node("nvme0n1").unwrap().backing_devices, ["nvme0c0n1", "nvme0c1n1"]);
        assert_eq!(stack.node("nvme0n1p1").unwrap().backing_devices, ["nvme0n1"]);
        assert_eq!(stack.node("nvme0c1n1").unwrap().kind, Kind::NvmePath);
        assert_eq!(stack.node("dm-0").unwrap().kind, Kind::Dm);
        assert_eq!(stack.depth("nvme0n1p1"), 2);
    }
}
