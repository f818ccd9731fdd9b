//! One device of the tree.

use serde::{Deserialize, Serialize};

use super::Kind;

/// A block device as sysfs describes it. An unknown value is `None`, an unknown list is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
// The aliases are the names that recordings of 0.1.0 use.
pub struct Node {
    /// The kernel's name, as in /proc/diskstats.
    pub name: String,
    /// Major device number.
    pub major: u32,
    /// Minor device number.
    pub minor: u32,
    /// The kind of device.
    pub kind: Kind,
    /// The name that administrators use where it differs from the kernel's: `vg0-root` for `dm-0`, `md/home`.
    #[serde(alias = "known_as")]
    pub alias: Option<String>,
    /// The devices directly below this one: a partition's disk, the members of an array or volume, the device that
    /// holds the backing file of a loop device, the paths of a multipath disk.
    #[serde(alias = "on")]
    pub backing_devices: Vec<String>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// Rotational media, according to the kernel.
    pub rotational: Option<bool>,
    /// The active I/O scheduler, which may be `none`.
    pub scheduler: Option<String>,
    /// Number of requests that the queue can hold (`queue/nr_requests`).
    pub nr_requests: Option<u64>,
    /// The setting `queue/iostats`: the kernel counts the device's requests.
    #[serde(alias = "accounting")]
    pub iostats_enabled: Option<bool>,
    /// The file behind a loop device.
    pub backing_file: Option<String>,
    /// The mount points, in the order in which they were mounted.
    #[serde(alias = "mounts")]
    pub mountpoints: Vec<String>,
}

impl Node {
    /// Returns whether the device is a partition whose disk is not known.
    pub fn is_orphan_partition(&self) -> bool {
        self.kind == Kind::Partition && self.backing_devices.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_of_0_1_0_loads() {
        let old = r#"{"name":"nvme0c0n1","major":259,"minor":1,"kind":"nvme-path","known_as":"a","on":["b"],
            "size_bytes":512,"rotational":false,"scheduler":"none","nr_requests":64,"accounting":false,
            "backing_file":null,"mounts":["/"]}"#;
        let node: Node = serde_json::from_str(old).unwrap();
        let expected = Node {
            name: "nvme0c0n1".into(),
            major: 259,
            minor: 1,
            kind: Kind::NvmePath,
            alias: Some("a".into()),
            backing_devices: vec!["b".into()],
            size_bytes: Some(512),
            rotational: Some(false),
            scheduler: Some("none".into()),
            nr_requests: Some(64),
            iostats_enabled: Some(false),
            mountpoints: vec!["/".into()],
            ..Node::default()
        };
        assert_eq!(node, expected);
    }
}
