//! What is stacked on what, and how each queue is set up.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// What sort of block device it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A whole disk, or what looks like one to this machine.
    #[default]
    Disk,
    /// A part of a disk.
    Partition,
    /// A file that is used as a disk.
    Loop,
    /// A disk in memory.
    Ram,
    /// A compressed disk in memory.
    Zram,
    /// A device-mapper device of no finer kind.
    Dm,
    /// A logical volume of LVM.
    Lvm,
    /// A device-mapper device that is encrypted.
    Crypt,
    /// Several paths to one disk, by the device-mapper.
    Multipath,
    /// Several disks in one, by md.
    Md,
    /// One of the paths of an NVMe multipath disk; the disk counts the same requests.
    NvmePath,
    /// A CD or DVD drive.
    Optical,
    /// Anything else that is virtual: nbd, bcache, drbd, zd.
    Virtual,
}

impl Kind {
    /// Whether it lives in memory.
    pub fn is_memory(self) -> bool {
        matches!(self, Self::Ram | Self::Zram)
    }

    /// What the kernel's name alone tells; a partition does not tell.
    pub fn by_name(name: &str) -> Self {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let numbered = stem.len() < name.len();
        match stem {
            "loop" if numbered => Self::Loop,
            "ram" if numbered => Self::Ram,
            "zram" if numbered => Self::Zram,
            "dm-" if numbered => Self::Dm,
            "md" | "md_d" if numbered => Self::Md,
            "sr" | "scd" if numbered => Self::Optical,
            "nbd" | "drbd" | "bcache" | "zd" if numbered => Self::Virtual,
            _ if is_nvme_path(name) => Self::NvmePath,
            _ if name.starts_with("md_") => Self::Md,
            _ => Self::Disk,
        }
    }
}

/// `nvme<subsystem>c<controller>n<namespace>`, as the kernel names the paths of a multipath disk.
fn is_nvme_path(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("nvme") else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((subsystem, rest)) = rest.split_once('c') else { return false };
    let Some((controller, namespace)) = rest.split_once('n') else { return false };
    digits(subsystem) && digits(controller) && digits(namespace)
}

/// One device, as /sys describes it. What is not known is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Node {
    /// The kernel's name, as in /proc/diskstats.
    pub name: String,
    /// Major device number.
    pub major: u32,
    /// Minor device number.
    pub minor: u32,
    /// What sort of device it is.
    pub kind: Kind,
    /// The name that people know, where the kernel's is another: `vg0-root` of `dm-0`, `md/home`.
    #[serde(alias = "known_as")]
    pub alias: Option<String>,
    /// The devices that it is stacked on: a partition's disk, the members of a volume, the device of the file
    /// system that holds a loop's file, the paths of a multipath disk.
    #[serde(alias = "on")]
    pub backing_devices: Vec<String>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// Whether it is a spinning disk, as far as the kernel knows.
    pub rotational: Option<bool>,
    /// The I/O scheduler; `none` is one.
    pub scheduler: Option<String>,
    /// How many requests its queue takes (queue/nr_requests).
    pub nr_requests: Option<u64>,
    /// Whether the kernel counts its requests (queue/iostats).
    #[serde(alias = "accounting")]
    pub iostats_enabled: Option<bool>,
    /// The file behind a loop device.
    pub backing_file: Option<String>,
    /// Where it is mounted, in the order in which it was.
    #[serde(alias = "mounts")]
    pub mountpoints: Vec<String>,
}

/// The devices of a machine. In JSON it is the list of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Node>", into = "Vec<Node>")]
pub struct Topology {
    nodes: Vec<Node>,
    /// The place of each name.
    places: HashMap<String, usize>,
    /// By the name of a device the places of those that are stacked on it.
    above: HashMap<String, Vec<usize>>,
    /// By place, how many layers lie below.
    depths: Vec<usize>,
}

impl From<Vec<Node>> for Topology {
    fn from(nodes: Vec<Node>) -> Self {
        Self::new(nodes)
    }
}

impl From<Topology> for Vec<Node> {
    fn from(stack: Topology) -> Self {
        stack.nodes
    }
}

impl Topology {
    /// Of these devices.
    pub fn new(nodes: Vec<Node>) -> Self {
        let mut places = HashMap::with_capacity(nodes.len());
        let mut above: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, node) in nodes.iter().enumerate() {
            places.entry(node.name.clone()).or_insert(place);
            for below in &node.backing_devices {
                let list = above.entry(below.clone()).or_default();
                // A device that names another twice stands on it once.
                if list.last() != Some(&place) {
                    list.push(place);
                }
            }
        }
        let depths = depths(&nodes, &places);
        Self { nodes, places, above, depths }
    }

    /// All devices, in the order in which they were found.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The device that the kernel calls so.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.places.get(name).map(|place| &self.nodes[*place])
    }

    /// The devices that are stacked on this one, in the order in which they were found.
    pub fn above(&self, name: &str) -> impl DoubleEndedIterator<Item = &Node> {
        let places = self.above.get(name).map_or(&[][..], Vec::as_slice);
        places.iter().map(|place| &self.nodes[*place])
    }

    /// How many layers lie below a device: 0 for one that stands on nothing that is known. What stands on itself
    /// in a circle has some number that is no larger than that of the devices.
    pub fn depth(&self, name: &str) -> usize {
        self.places.get(name).map_or(0, |place| self.depths[*place])
    }
}

/// How many layers lie below each device; a name that no device has is a layer too. Each device is looked at once,
/// without recursion: a capture may hold a stack as deep as it likes, or one that goes round in circles.
fn depths(nodes: &[Node], places: &HashMap<String, usize>) -> Vec<usize> {
    let mut depths = vec![0; nodes.len()];
    let mut seen = vec![false; nodes.len()];
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..nodes.len() {
        if !seen[start] {
            seen[start] = true;
            path.push((start, 0));
        }
        while let Some((place, next)) = path.last_mut() {
            let place = *place;
            let Some(below) = nodes[place].backing_devices.get(*next) else {
                path.pop();
                continue;
            };
            match places.get(below) {
                Some(below) if !seen[*below] => {
                    seen[*below] = true;
                    path.push((*below, 0));
                }
                below => {
                    *next += 1;
                    // One that is still on the path, in a circle, counts as 0 for now.
                    depths[place] = depths[place].max(1 + below.map_or(0, |below| depths[*below]));
                }
            }
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, on: &[&str]) -> Node {
        let on = on.iter().map(|name| (*name).to_owned()).collect();
        Node { name: name.into(), backing_devices: on, ..Node::default() }
    }

    #[test]
    fn depth_counts_the_layers_below() {
        let stack = Topology::new(vec![
            node("sda", &[]),
            node("sda1", &["sda"]),
            node("dm-0", &["sda1", "sdb"]),
            node("sdb", &[]),
        ]);
        assert_eq!(["sda", "sda1", "dm-0", "sdb", "nope"].map(|name| stack.depth(name)), [0, 1, 2, 0, 0]);
        assert_eq!(stack.above("sda").map(|node| node.name.as_str()).collect::<Vec<_>>(), ["sda1"]);
    }

    #[test]
    fn a_circle_has_an_end() {
        let stack = Topology::new(vec![node("a", &["b"]), node("b", &["a"])]);
        assert_eq!(stack.depth("a"), 2);
    }

    #[test]
    fn a_deep_stack_and_many_ways_down_are_no_trouble() {
        let mut nodes: Vec<Node> = vec![node("0", &[])];
        for i in 1..100_000 {
            let two = [(i - 1).to_string(), i32::max(0, i - 2).to_string()];
            nodes.push(node(&i.to_string(), &[&two[0], &two[1]]));
        }
        nodes.reverse();
        let stack = Topology::new(nodes);
        assert_eq!(stack.depth("99999"), 99_999);
        assert_eq!(stack.above("0").count(), 2);
    }

    #[test]
    fn json_is_the_list_of_devices() {
        let stack = Topology::new(vec![node("sda", &[]), node("sda1", &["sda"])]);
        let json = serde_json::to_string(&stack).unwrap();
        assert!(json.starts_with(r#"[{"name":"sda","major":0,"minor":0,"kind":"disk""#), "{json}");
        assert_eq!(serde_json::from_str::<Topology>(&json).unwrap(), stack);
    }

    #[test]
    fn names_tell_the_kind() {
        let kinds = ["loop3", "zram0", "ram1", "dm-12", "md127", "nvme0c1n1", "nvme0n1", "sda", "cciss/c0d0"]
            .map(Kind::by_name);
        let expected = [
            Kind::Loop,
            Kind::Zram,
            Kind::Ram,
            Kind::Dm,
            Kind::Md,
            Kind::NvmePath,
            Kind::Disk,
            Kind::Disk,
            Kind::Disk,
        ];
        assert_eq!(kinds, expected);
    }
}
