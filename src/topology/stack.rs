//! What is stacked on what, and how each queue is set up.

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
    pub known_as: Option<String>,
    /// The devices that it is stacked on: a partition's disk, the members of a volume, the device of the file
    /// system that holds a loop's file, the paths of a multipath disk.
    pub on: Vec<String>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// Whether it is a spinning disk, as far as the kernel knows.
    pub rotational: Option<bool>,
    /// The I/O scheduler; `none` is one.
    pub scheduler: Option<String>,
    /// How many requests its queue takes (queue/nr_requests).
    pub nr_requests: Option<u64>,
    /// Whether the kernel counts its requests (queue/iostats).
    pub accounting: Option<bool>,
    /// The file behind a loop device.
    pub backing_file: Option<String>,
    /// Where it is mounted, in the order in which it was.
    pub mounts: Vec<String>,
}

/// The devices of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stack {
    nodes: Vec<Node>,
}

impl Stack {
    /// Of these devices.
    pub fn new(nodes: Vec<Node>) -> Self {
        Self { nodes }
    }

    /// All devices, in the order in which they were found.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The device that the kernel calls so.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The devices that are stacked on this one.
    pub fn above(&self, name: &str) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(move |node| node.on.iter().any(|below| below == name))
    }

    /// How many layers lie below a device: 0 for one that stands on nothing that is known.
    pub fn depth(&self, name: &str) -> usize {
        // A made-up /sys may go round in circles.
        self.depth_within(name, self.nodes.len())
    }

    fn depth_within(&self, name: &str, most: usize) -> usize {
        let below = self.node(name).map_or(&[][..], |node| node.on.as_slice());
        if most == 0 {
            return 0;
        }
        below.iter().map(|name| 1 + self.depth_within(name, most - 1)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, on: &[&str]) -> Node {
        let on = on.iter().map(|name| (*name).to_owned()).collect();
        Node { name: name.into(), on, ..Node::default() }
    }

    #[test]
    fn depth_counts_the_layers_below() {
        let stack = Stack::new(vec![
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
        let stack = Stack::new(vec![node("a", &["b"]), node("b", &["a"])]);
        assert_eq!(stack.depth("a"), 2);
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
