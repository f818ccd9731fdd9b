//! The block-device tree: partitions, stacked devices, kinds, queue settings, mount points. Plain data, which `source`
//! reads from sysfs and procfs or which is inferred from the device names of a capture.

mod node;

use std::collections::HashSet;

use foldhash::{HashMap, HashMapExt};
use serde::{Deserialize, Serialize};

pub(crate) use self::node::nvme_head;
pub use self::node::{DeviceClass, Kind, Machine, Node, Provider, bounded_text};
use crate::counters::Device;

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
        Self { nodes, index_by_name, holders, depths, shared_identities }
    }

    /// Returns all devices, in the order in which the source lists them.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the device of this kernel name; `None` if it is not known.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.index_of(name).map(|index| &self.nodes[index])
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
        self.node(name).map_or(&[], |node| &node.backing_devices)
    }

    /// Returns all devices below one, on any layer. A recording may hold devices in a circle.
    pub fn devices_below(&self, name: &str) -> Vec<String> {
        let mut below: Vec<String> = Vec::new();
        let mut next = Some(name.to_owned());
        let mut position = 0;
        while let Some(device) = next {
            for lower in self.backing_devices(&device) {
                if lower != name && !below.contains(lower) {
                    below.push(lower.clone());
                }
            }
            next = below.get(position).cloned();
            position += 1;
        }
        below
    }

    /// Returns the devices stacked directly on this one, in the order of [`Self::nodes`].
    pub fn holders(&self, name: &str) -> impl DoubleEndedIterator<Item = &Node> {
        let indices = self.holders.get(name).map_or(&[][..], Vec::as_slice);
        indices.iter().map(|index| &self.nodes[*index])
    }

    /// Returns the number of layers below a device: 0 for a device that is not stacked on another, or an unknown one.
    /// For devices in a circle, it is some number up to the count of devices.
    pub fn depth(&self, name: &str) -> usize {
        self.index_of(name).map_or(0, |index| self.depths[index])
    }

    /// Returns the disk that `name` is a partition of; empty if that disk is not known, `None` for a whole device. An
    /// unknown device counts as whole.
    pub fn disk_of(&self, name: &str) -> Option<&str> {
        let node = self.node(name).filter(|node| node.kind == Kind::Partition)?;
        Some(node.backing_devices.first().map_or("", String::as_str))
    }

    /// The loop devices that had no file. Once one completes requests, it has one, and this description is out of date.
    pub fn unbound_loops(&self) -> impl Iterator<Item = &str> {
        let unbound =
            self.nodes.iter().filter(|node| node.kind == Kind::Loop && node.size_bytes.unwrap_or(0) == 0);
        unbound.map(|node| node.name.as_str())
    }

    /// Returns whether `name` is a whole device; see [`Self::disk_of`].
    pub fn is_whole(&self, name: &str) -> bool {
        self.disk_of(name).is_none()
    }

    /// Merges two descriptions of one system, such as sysfs and the directory of `iostat +f`: if both have a device,
    /// this description is used, unless it has a partition without a disk. Whole devices that `other` lists follow in
    /// its order, after those that only this one lists.
    pub fn merge(&self, other: &Self) -> Self {
        let lists = |node: &&Node| other.node(&node.name).is_some() && other.is_whole(&node.name);
        let only_here = self.nodes.iter().filter(|node| !lists(node));
        let merged = only_here.chain(other.nodes.iter().filter(lists)).map(|node| {
            let own = self.node(&node.name);
            let known = own.filter(|own| !own.is_orphan_partition());
            known.or_else(|| other.node(&node.name)).or(own).unwrap_or(node).clone()
        });
        Self::new(merged.collect())
    }
}

/// Returns the identities that more than one device has.
fn shared_identities(nodes: &[Node]) -> HashSet<String> {
    let mut seen = HashSet::new();
    let identities = nodes.iter().filter_map(|node| node.identity.as_deref());
    identities.filter(|identity| !seen.insert(*identity)).map(str::to_owned).collect()
}

/// Returns the number of layers below each device; a backing device that is not listed counts as a layer, too.
///
/// Depth-first without recursion and visiting each device once: a hostile capture may have a stack of any depth, or one
/// with circles.
fn depths(nodes: &[Node], index_by_name: &HashMap<String, usize>) -> Vec<usize> {
    let mut depths = vec![0; nodes.len()];
    let mut is_visited = vec![false; nodes.len()];
    // Devices on the way down, each with the index of the backing device that is visited next.
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..nodes.len() {
        if !is_visited[start] {
            is_visited[start] = true;
            path.push((start, 0));
        }
        while let Some((index, next)) = path.last_mut() {
            let index = *index;
            let Some(backing) = nodes[index].backing_devices.get(*next) else {
                path.pop();
                continue;
            };
            match index_by_name.get(backing) {
                Some(backing) if !is_visited[*backing] => {
                    is_visited[*backing] = true;
                    path.push((*backing, 0));
                }
                backing => {
                    *next += 1;
                    // In a circle, a device that is still on the path counts as 0.
                    depths[index] = depths[index].max(1 + backing.map_or(0, |backing| depths[*backing]));
                }
            }
        }
    }
    depths
}

/// A device that was requested by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDevice {
    /// The name that reports show.
    pub shown: String,
    /// Identifies the device among those of a sample.
    pub key: DeviceKey,
    /// The name that determines its position among others, if it differs from the name shown.
    pub sorts_as: Option<String>,
    /// True if its partitions were requested as well.
    pub partitions: bool,
}

/// Identifies a device among those of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceKey {
    /// The name in /proc/diskstats.
    Name(String),
    /// The major and minor number, for a device that was given as another node in /dev.
    Number(u32, u32),
}

impl NamedDevice {
    /// Creates the device of this name in /proc/diskstats.
    pub fn plain(name: &str) -> Self {
        Self {
            shown: name.to_owned(),
            key: DeviceKey::Name(name.to_owned()),
            sorts_as: None,
            partitions: false,
        }
    }

    /// Returns the name to show if it may differ from the kernel's; otherwise `None`.
    pub fn alias(&self) -> Option<String> {
        matches!(self.key, DeviceKey::Number(..)).then(|| self.shown.clone())
    }

    /// Returns whether `device` is the requested one.
    pub fn is(&self, device: &Device) -> bool {
        match &self.key {
            DeviceKey::Name(name) => *name == device.name,
            DeviceKey::Number(major, minor) => (*major, *minor) == (device.major, device.minor),
        }
    }
}

/// The major number of partitions whose minor number does not fit into the range of their disk (`BLOCK_EXT_MAJOR`).
const EXTENDED_MAJOR: u32 = 259;

/// Returns, for each device, the index of the disk that it is a partition of, judged by names and major numbers alone.
///
/// The disk must come earlier in the list and have the same major number, unless the partition has the extended one.
/// `None` for a whole device.
pub fn partition_parents(devices: &[Device]) -> Vec<Option<usize>> {
    let mut index_by_name: HashMap<&str, usize> = HashMap::with_capacity(devices.len());
    let mut parents = Vec::with_capacity(devices.len());
    for (index, device) in devices.iter().enumerate() {
        let has_its_major =
            |disk: &usize| devices[*disk].major == device.major || device.major == EXTENDED_MAJOR;
        let parent = possible_disks(&device.name)
            .into_iter()
            .flatten()
            .find_map(|disk| index_by_name.get(disk).copied().filter(has_its_major));
        parents.push(parent);
        index_by_name.entry(&device.name).or_insert(index);
    }
    parents
}

/// Returns the names of the disks that a partition called `name` could be on, the longest first.
pub fn possible_disks(name: &str) -> [Option<&str>; 2] {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() == name.len() || stem.is_empty() {
        return [None, None];
    }
    let before_p = stem.strip_suffix('p').filter(|disk| disk.ends_with(|c: char| c.is_ascii_digit()));
    [Some(stem), before_p]
}

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

/// Returns the sort key that orders names naturally: `sdb` before `sdaa`, `loop2` before `loop10`.
pub fn natural_key(name: &str) -> Vec<(String, usize, String)> {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let word = rest.find(is_digit).unwrap_or(rest.len());
        let digits = rest[word..].find(|c| !is_digit(c)).unwrap_or(rest.len() - word);
        let (letters, number) = (&rest[..word], rest[word..word + digits].trim_start_matches('0'));
        // `sdaa` follows `sdz` as 27 follows 26, so longer words sort last; the first two letters name the driver.
        let driver = letters.char_indices().nth(2).map_or(letters.len(), |(at, _)| at);
        key.push((letters[..driver].to_owned(), letters.len(), letters.to_owned()));
        key.push((String::new(), number.len(), number.to_owned()));
        rest = &rest[word + digits..];
    }
    key
}

#[cfg(test)]
mod mod_tests {
    use super::*;

    fn node(name: &str, on: &[&str]) -> Node {
        let on = on.iter().map(|name| (*name).to_owned()).collect();
        Node { name: name.into(), backing_devices: on, ..Node::default() }
    }

    fn partition(name: &str, disk: &[&str]) -> Node {
        Node { kind: Kind::Partition, ..node(name, disk) }
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
        assert_eq!(["sda", "sda1", "dm-0", "sdb", "nope"].map(|name| topology.depth(name)), [0, 1, 2, 0, 0]);
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
    fn a_device_of_unknown_standing_is_a_partition_of_a_nameless_disk() {
        let topology =
            Topology::new(vec![node("sda", &[]), partition("sda1", &["sda"]), partition("x", &[])]);
        assert_eq!(
            ["sda", "sda1", "x", "y"].map(|name| topology.disk_of(name)),
            [None, Some("sda"), Some(""), None]
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
            names(merged.nodes().iter().filter(|node| node.kind != Kind::Partition)),
            ["sda", "sdx", "sdb"]
        );
        assert_eq!(
            ["sda", "sdb", "sdx", "sda1", "sdx1", "y"].map(|name| merged.disk_of(name)),
            [None, None, None, Some("sda"), Some("sdx"), Some("")]
        );
    }

    #[test]
    fn an_identity_that_several_devices_have_identifies_none_of_them() {
        let with = |name: &str, identity: &str| Node { identity: Some(identity.into()), ..node(name, &[]) };
        let topology =
            Topology::new(vec![with("sda", "a"), with("sdb", "b"), with("sdc", "b"), node("sdd", &[])]);
        assert_eq!(
            ["sda", "sdb", "sdc", "sdd", "sde"].map(|name| topology.identity(name)),
            [Some("a"), None, None, None, None]
        );
    }

    #[test]
    fn json_is_the_list_of_devices() {
        let topology = Topology::new(vec![node("sda", &[]), node("sda1", &["sda"])]);
        let json = serde_json::to_string(&topology).unwrap();
        assert!(json.starts_with(r#"[{"name":"sda","major":0,"minor":0,"kind":"disk""#), "{json}");
        assert_eq!(serde_json::from_str::<Topology>(&json).unwrap(), topology);
    }
}

#[cfg(test)]
mod partitions_tests {
    use super::*;

    fn parents(names: &[(u32, &str)]) -> Vec<Option<usize>> {
        let device = |&(major, name): &(u32, &str)| Device { major, name: name.into(), ..Device::default() };
        let devices: Vec<_> = names.iter().map(device).collect();
        partition_parents(&devices)
    }

    #[test]
    fn a_partition_belongs_to_the_disk_whose_name_it_extends() {
        let names = [
            (8, "sda"),
            (8, "sda1"),
            (8, "sda15"),
            (259, "nvme0n1"),
            (259, "nvme0n1p1"),
            (104, "cciss/c0d0"),
            (104, "cciss/c0d0p2"),
        ];
        assert_eq!(parents(&names), [None, Some(0), Some(0), None, Some(3), None, Some(5)]);
    }

    #[test]
    fn a_higher_number_does_not_make_a_partition_of_a_lower_one() {
        assert_eq!(parents(&[(253, "dm-1"), (253, "dm-10"), (7, "loop1"), (7, "loop10")]), [None; 4]);
        assert_eq!(parents(&[(8, "sda"), (8, "sdaa"), (8, "sdaa1")]), [None, None, Some(1)]);
    }

    #[test]
    fn the_major_number_must_match_or_be_the_extended_one() {
        assert_eq!(parents(&[(8, "sda"), (9, "sda1")]), [None, None]);
        assert_eq!(
            parents(&[(8, "sda"), (259, "sda16"), (7, "loop0"), (259, "loop0p1")]),
            [None, Some(0), None, Some(2)]
        );
    }

    #[test]
    fn the_disk_must_be_listed_before_its_partition() {
        assert_eq!(parents(&[(8, "sda1"), (8, "sda")]), [None, None]);
    }

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

    #[test]
    fn names_are_ordered_as_people_count() {
        let mut names =
            ["sdaa", "vda", "sdb", "loop10", "sda10", "loop2", "sda2", "nvme10n1", "nvme2n1", "sda"];
        names.sort_by_cached_key(|name| natural_key(name));
        let expected =
            ["loop2", "loop10", "nvme2n1", "nvme10n1", "sda", "sda2", "sda10", "sdb", "sdaa", "vda"];
        assert_eq!(names, expected);
    }
}
