//! The block-device tree: partitions, stacked devices, kinds, queue settings, mount points. Plain data, which `source`
//! reads from sysfs and procfs or which is inferred from the device names of a capture.

mod class;
mod device_names;
mod machine;
mod named_device;
mod names;
mod node;

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

pub use self::device_names::DeviceNames;
pub use self::machine::{Machine, bounded_text};
pub use self::named_device::{DeviceKey, NamedDevice};
pub(crate) use self::names::nvme_head;
pub use self::names::{natural_key, partition_parents, possible_disks, whole_devices};
pub use self::node::{DeviceClass, Kind, Node};
use crate::counters::Device;

/// The most devices below or above one that are considered: more than any host stacks, but a damaged recording may say so of
/// each of many devices.
const MAX_STACKED: usize = 1000;

/// The block devices of a system and how they are stacked. In JSON it is the list of devices.
///
/// How much is known of each device depends on the source: sysfs describes it in full, a listing of sysfs or a capture
/// gives only names, kinds and partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Node>", into = "Vec<Node>")]
pub struct Topology {
    nodes: Vec<Node>,
    index_by_name: HashMap<String, usize>,
    /// Indices of the devices stacked directly on the device of each name.
    holders: HashMap<String, Vec<usize>>,
    /// Number of layers below each device, by index.
    depths: Vec<usize>,
    /// The identities that more than one device has.
    shared_identities: HashSet<String>,
}

impl From<Vec<Node>> for Topology {
    fn from(nodes: Vec<Node>) -> Self {
        Self::new(nodes)
    }
}

impl From<Topology> for Vec<Node> {
    fn from(topology: Topology) -> Self {
        topology.nodes
    }
}

impl Topology {
    /// Creates the tree of these devices. If several have the same name, lookups by name find the first.
    pub fn new(nodes: Vec<Node>) -> Self {
        let mut index_by_name = HashMap::with_capacity(nodes.len());
        let mut holders: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, node) in nodes.iter().enumerate() {
            index_by_name.entry(node.name.clone()).or_insert(index);
            for backing in &node.backing_devices {
                let list = holders.entry(backing.clone()).or_default();
                // A device that lists another one twice is still stacked on it only once.
                if list.last() != Some(&index) {
                    list.push(index);
                }
            }
        }
        let depths = depths(&nodes, &index_by_name);
        let shared_identities = shared_identities(&nodes);
        Self {
            nodes,
            index_by_name,
            holders,
            depths,
            shared_identities,
        }
    }

    /// Infers kinds, partitions and the paths of NVMe multipath disks from names and major numbers.
    pub fn from_names(devices: &[Device]) -> Self {
        let mut nodes = Vec::with_capacity(devices.len());
        for (device, parent) in devices.iter().zip(partition_parents(devices)) {
            let mut node = Node {
                name: device.name.clone(),
                major: device.major,
                minor: device.minor,
                ..Node::default()
            };
            match parent {
                Some(disk) => {
                    node.kind = Kind::Partition;
                    node.backing_devices.push(devices[disk].name.clone());
                }
                None => node.kind = Kind::from_name(&device.name),
            }
            nodes.push(node);
        }
        link_nvme_paths(&mut nodes);
        Self::new(nodes)
    }

    /// An estimate of its memory in bytes: each device has a name in two maps and a few other short texts.
    pub fn memory(&self) -> usize {
        const TEXTS_OF_NODE: usize = 400;
        size_of::<Self>() + self.nodes.len() * (size_of::<Node>() + TEXTS_OF_NODE)
    }

    /// Returns all devices, in the order in which the source lists them.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the device of this kernel name; `None` if it is not known.
    pub fn node(&self, name: &str) -> Option<&Node> {
        Some(&self.nodes[self.index_of(name)?])
    }

    /// Returns the identity of a device; `None` if it is not known or if other devices have the same: the paths of a
    /// multipath disk, or disks whose serial number is a dummy.
    pub fn identity(&self, name: &str) -> Option<&str> {
        let identity = self.node(name)?.identity.as_deref()?;
        (!self.shared_identities.contains(identity)).then_some(identity)
    }

    /// Returns the index of a device in [`Self::nodes`]; `None` if it is not known.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.index_by_name.get(name).copied()
    }

    /// Returns the devices directly below this one; empty if they are not known.
    pub fn backing_devices(&self, name: &str) -> &[String] {
        match self.node(name) {
            Some(node) => &node.backing_devices,
            None => &[],
        }
    }

    /// Returns all devices below one, on any layer, up to a bound.
    pub fn devices_below(&self, name: &str) -> Vec<String> {
        self.reach(name, |device| {
            let below = self.backing_devices(device);
            below.iter().map(String::as_str).collect()
        })
    }

    /// Returns all devices above one, on any layer, up to a bound.
    pub fn devices_above(&self, name: &str) -> Vec<String> {
        self.reach(name, |device| {
            let above = self.holders(device);
            above.map(|node| node.name.as_str()).collect()
        })
    }

    /// Returns what can be reached from a device in any number of steps. A recording may hold devices in a circle.
    fn reach<'a>(&'a self, name: &'a str, step: impl Fn(&str) -> Vec<&'a str>) -> Vec<String> {
        let mut reached = vec![name];
        let mut known = HashSet::from([name]);
        let mut position = 0;
        while let Some(device) = reached.get(position) {
            for next in step(device) {
                if reached.len() <= MAX_STACKED && known.insert(next) {
                    reached.push(next);
                }
            }
            position += 1;
        }
        reached[1..].iter().map(|name| (*name).to_owned()).collect()
    }

    /// Returns the devices stacked directly on this one, in the order of [`Self::nodes`].
    pub fn holders(&self, name: &str) -> impl DoubleEndedIterator<Item = &Node> {
        let indices = self.holders.get(name).map_or(&[][..], Vec::as_slice);
        indices.iter().map(|index| &self.nodes[*index])
    }

    /// Returns whether a disk is a path of a multipath device of device-mapper.
    pub fn is_path(&self, name: &str) -> bool {
        self.holders(name)
            .any(|holder| holder.kind == Kind::Multipath)
    }

    /// Returns whether a device is of use: it is no unused RAM disk, nor an unused device that has no size because nothing
    /// backs it, such as a loop device without a file.
    pub fn is_of_use(&self, node: &Node) -> bool {
        if !node.mountpoints.is_empty() || self.holders(&node.name).next().is_some() {
            return true;
        }
        match node.kind {
            Kind::Ram => false,
            Kind::Loop | Kind::Zram | Kind::Virtual => {
                node.size_bytes != Some(0) || node.backing_file.is_some()
            }
            _ => true,
        }
    }

    /// Returns the number of layers below a device: 0 for a device that is not stacked on another, or an unknown one.
    /// For devices in a circle, it is some number up to the count of devices.
    pub fn depth(&self, name: &str) -> usize {
        match self.index_of(name) {
            Some(index) => self.depths[index],
            None => 0,
        }
    }

    /// Returns the disk that `name` is a partition of; `None` if that disk is not known, or for a whole device.
    pub fn disk_of(&self, name: &str) -> Option<&str> {
        let node = self.node(name)?;
        let disk = node.backing_devices.first()?;
        (node.kind == Kind::Partition).then_some(disk)
    }

    /// Returns whether `name` is a whole device, as an unknown one counts.
    pub fn is_whole(&self, name: &str) -> bool {
        self.node(name)
            .is_none_or(|node| node.kind != Kind::Partition)
    }

    /// The loop devices that had no file. Once one completes requests, it has one, and this description is out of date.
    pub fn unbound_loops(&self) -> impl Iterator<Item = &str> {
        let unbound = self
            .nodes
            .iter()
            .filter(|node| node.kind == Kind::Loop && node.size_bytes.unwrap_or(0) == 0);
        unbound.map(|node| node.name.as_str())
    }

    /// Merges two descriptions of one system, such as sysfs and the directory of `iostat +f`: if both have a device,
    /// this description is used, unless it has a partition without a disk, whose disk is not here either. Whole devices
    /// that `other` lists follow in its order, after those that only this one lists.
    pub fn merge(&self, other: &Self) -> Self {
        let mut merged = Vec::new();
        for node in &self.nodes {
            let is_listed_as_whole = other.node(&node.name).is_some() && other.is_whole(&node.name);
            if !is_listed_as_whole {
                merged.push(self.merged_node(other, node));
            }
        }
        for node in &other.nodes {
            if other.is_whole(&node.name) {
                merged.push(self.merged_node(other, node));
            }
        }
        Self::new(merged)
    }

    fn has_disk_of(&self, partition: &Node) -> bool {
        let disk = partition.backing_devices.first();
        disk.is_some_and(|disk| self.node(disk).is_some() && self.is_whole(disk))
    }

    /// Returns what is known of the device of this node here or, unless it is known here, in the other description.
    fn merged_node(&self, other: &Self, node: &Node) -> Node {
        let own = self.node(&node.name);
        match (own, other.node(&node.name)) {
            (Some(own), _) if !own.is_orphan_partition() => own.clone(),
            (Some(own), Some(theirs)) if self.has_disk_of(theirs) => own.clone(),
            (_, Some(theirs)) => theirs.clone(),
            _ => own.unwrap_or(node).clone(),
        }
    }
}

/// Returns the identities that more than one device has.
fn shared_identities(nodes: &[Node]) -> HashSet<String> {
    let mut seen = HashSet::new();
    let mut shared = HashSet::new();
    for node in nodes {
        if let Some(identity) = &node.identity
            && !seen.insert(identity)
        {
            shared.insert(identity.clone());
        }
    }
    shared
}

/// Returns the number of layers below each device; a backing device that is not listed also counts as a layer.
///
/// Depth-first without recursion and visiting each device once: a hostile capture may have a stack of any depth, or one
/// with circles.
fn depths(nodes: &[Node], index_by_name: &HashMap<String, usize>) -> Vec<usize> {
    let mut depths = vec![0; nodes.len()];
    let mut is_visited = vec![false; nodes.len()];
    // The index of the backing device of each that is visited next, and the devices on the way down.
    let mut next = vec![0; nodes.len()];
    let mut path = Vec::new();
    for start in 0..nodes.len() {
        if !is_visited[start] {
            is_visited[start] = true;
            path.push(start);
        }
        while let Some(device) = path.last().copied() {
            let Some(backing) = nodes[device].backing_devices.get(next[device]) else {
                path.pop();
                continue;
            };
            let mut depth_below = 0;
            if let Some(below) = index_by_name.get(backing) {
                if !is_visited[*below] {
                    is_visited[*below] = true;
                    path.push(*below);
                    continue;
                }
                // In a circle, a device that is still on the path counts as 0.
                depth_below = depths[*below];
            }
            next[device] += 1;
            depths[device] = depths[device].max(1 + depth_below);
        }
    }
    depths
}

/// Adds the paths of NVMe multipath disks to their backing devices: `nvme0n1` is on `nvme0c0n1` and `nvme0c1n1`, the
/// paths of the same subsystem and namespace.
pub fn link_nvme_paths(nodes: &mut [Node]) {
    let mut paths: HashMap<String, Vec<String>> = HashMap::new();
    for node in &*nodes {
        if node.kind == Kind::NvmePath
            && let Some(head) = nvme_head(&node.name)
        {
            paths.entry(head).or_default().push(node.name.clone());
        }
    }
    for node in nodes {
        if node.kind != Kind::NvmePath
            && let Some(found) = paths.remove(&node.name)
        {
            node.backing_devices.extend(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, on: &[&str]) -> Node {
        let on = on.iter().map(|name| (*name).to_owned()).collect();
        Node {
            name: name.into(),
            backing_devices: on,
            ..Node::default()
        }
    }

    fn partition(name: &str, disk: &[&str]) -> Node {
        Node {
            kind: Kind::Partition,
            ..node(name, disk)
        }
    }

    fn names<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Vec<&'a str> {
        nodes.into_iter().map(|node| node.name.as_str()).collect()
    }

    #[test]
    fn depth_counts_the_layers_below() {
        let topology = Topology::new(vec![
            node("sda", &[]),
            node("sda1", &["sda"]),
            node("dm-0", &["sda1", "sdb"]),
            node("sdb", &[]),
        ]);
        assert_eq!(
            ["sda", "sda1", "dm-0", "sdb", "nope"].map(|name| topology.depth(name)),
            [0, 1, 2, 0, 0]
        );
        assert_eq!(names(topology.holders("sda")), ["sda1"]);
    }

    #[test]
    fn a_circle_ends() {
        let topology = Topology::new(vec![node("a", &["b"]), node("b", &["a"])]);
        assert_eq!(topology.depth("a"), 2);
    }

    #[test]
    fn a_deep_stack_with_many_paths_down_is_walked_once() {
        let mut nodes: Vec<Node> = vec![node("0", &[])];
        for i in 1..100_000 {
            let two = [(i - 1).to_string(), i32::max(0, i - 2).to_string()];
            nodes.push(node(&i.to_string(), &[&two[0], &two[1]]));
        }
        nodes.reverse();
        let topology = Topology::new(nodes);
        assert_eq!(topology.depth("99999"), 99_999);
        assert_eq!(topology.holders("0").count(), 2);
    }

    #[test]
    fn a_partition_of_an_unknown_disk_is_no_whole_device() {
        let topology = Topology::new(vec![
            node("sda", &[]),
            partition("sda1", &["sda"]),
            partition("x", &[]),
        ]);
        assert_eq!(
            ["sda", "sda1", "x", "y"].map(|name| topology.disk_of(name)),
            [None, Some("sda"), None, None]
        );
        assert!(topology.is_whole("y") && !topology.is_whole("x"));
    }

    #[test]
    fn merging_keeps_what_either_knows() {
        let ours = Topology::new(vec![
            node("sdb", &[]),
            node("sda", &[]),
            partition("sda1", &["sda"]),
            partition("sdx", &[]),
            partition("sdx1", &[]),
            partition("y", &[]),
        ]);
        let theirs = Topology::new(vec![
            node("sdx", &[]),
            node("sdb", &[]),
            partition("sda", &[]),
            partition("sda1", &[]),
            partition("sdx1", &["sdx"]),
            partition("y", &[]),
        ]);
        let merged = ours.merge(&theirs);
        assert_eq!(
            names(
                merged
                    .nodes()
                    .iter()
                    .filter(|node| node.kind != Kind::Partition)
            ),
            ["sda", "sdx", "sdb"]
        );
        assert_eq!(
            ["sda", "sdb", "sdx", "sda1", "sdx1", "y"].map(|name| merged.disk_of(name)),
            [None, None, None, Some("sda"), Some("sdx"), None]
        );
    }

    #[test]
    fn an_identity_that_several_devices_have_identifies_none_of_them() {
        let with = |name: &str, identity: &str| Node {
            identity: Some(identity.into()),
            ..node(name, &[])
        };
        let topology = Topology::new(vec![
            with("sda", "a"),
            with("sdb", "b"),
            with("sdc", "b"),
            node("sdd", &[]),
        ]);
        assert_eq!(
            ["sda", "sdb", "sdc", "sdd", "sde"].map(|name| topology.identity(name)),
            [Some("a"), None, None, None, None]
        );
    }

    #[test]
    fn json_is_the_list_of_devices() {
        let topology = Topology::new(vec![node("sda", &[]), node("sda1", &["sda"])]);
        let json = serde_json::to_string(&topology).unwrap();
        assert!(
            json.starts_with(r#"[{"name":"sda","major":0,"minor":0,"kind":"disk""#),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<Topology>(&json).unwrap(), topology);
    }
}
