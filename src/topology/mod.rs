//! What is a partition of what, what is stacked on what, and which device a name stands for. Plain data; `source`
//! learns it from /sys or, for a capture, from the names.

mod order;
mod partitions;
mod stack;

use std::collections::HashMap;

use crate::counters::Device;

pub use order::natural_key;
pub use partitions::{partition_parents, possible_disks};
pub use stack::{Kind, Node, Topology};

/// The partitions of a machine, and its whole devices, by the names that /proc/diskstats prints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionMap {
    disk_of: HashMap<String, String>,
    listed: Vec<String>,
}

impl PartitionMap {
    /// Of pairs of a partition and the disk that it is on. A device of unknown standing counts as a partition of
    /// a disk without a name.
    pub fn new(partitions: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { disk_of: partitions.into_iter().collect(), listed: Vec::new() }
    }

    /// The same with the whole devices in the order in which /sys lists them.
    pub fn with_listing(self, listed: Vec<String>) -> Self {
        Self { listed, ..self }
    }

    /// What this or else the other knows: a whole device of either is one.
    pub fn or(self, other: &Self) -> Self {
        let disk_of = self.disk_of.into_iter().filter_map(|(part, disk)| {
            let disk = if disk.is_empty() { other.disk_of(&part)?.to_owned() } else { disk };
            Some((part, disk))
        });
        Self { disk_of: disk_of.collect(), listed: [self.listed, other.listed.clone()].concat() }
    }

    /// The disk that `name` is a partition of; `None` for a whole device.
    pub fn disk_of(&self, name: &str) -> Option<&str> {
        self.disk_of.get(name).map(String::as_str)
    }

    /// Whether `name` is a whole device.
    pub fn is_whole(&self, name: &str) -> bool {
        self.disk_of(name).is_none()
    }

    /// The whole devices in the order in which /sys lists them; empty where that is not known.
    pub fn listed(&self) -> &[String] {
        &self.listed
    }
}

/// A device asked for by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// What it is to be called in a report.
    pub shown: String,
    /// How it is found.
    pub key: Key,
    /// What its place among others goes by, where that is not what it is called.
    pub sorts_as: Option<String>,
    /// Its partitions are asked for as well.
    pub partitions: bool,
}

/// How a device is found among those read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// By its name in /proc/diskstats.
    Name(String),
    /// By its major and minor number: it was named by another node in /dev.
    Number(u32, u32),
}

impl Named {
    /// The device that /proc/diskstats calls by this name.
    pub fn plain(name: &str) -> Self {
        Self { shown: name.to_owned(), key: Key::Name(name.to_owned()), sorts_as: None, partitions: false }
    }

    /// What it is to be called where that may differ from its name.
    pub fn alias(&self) -> Option<String> {
        matches!(self.key, Key::Number(..)).then(|| self.shown.clone())
    }

    /// Whether it is this device.
    pub fn is(&self, device: &Device) -> bool {
        match &self.key {
            Key::Name(name) => *name == device.name,
            Key::Number(major, minor) => (*major, *minor) == (device.major, device.minor),
        }
    }
}
