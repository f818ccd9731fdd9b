//! Looks up devices by the names and numbers in files of /proc and /dev.

use std::collections::HashMap;
use std::path::Path;

use crate::source::link::link_target_name;
use crate::topology::Node;

/// Finds the index of a device in a list of nodes.
pub(super) struct DeviceIndex<'a> {
    root: &'a Path,
    device_count: usize,
    by_name: HashMap<String, usize>,
    by_mapper_name: HashMap<String, usize>,
    by_devno: HashMap<(u32, u32), usize>,
}

impl<'a> DeviceIndex<'a> {
    /// Indexes the nodes of the system below `root`.
    pub(super) fn new(root: &'a Path, nodes: &[Node]) -> Self {
        let mapper_name = |(index, node): (usize, &Node)| {
            let name = node.alias.clone().filter(|_| node.name.starts_with("dm-"))?;
            Some((name, index))
        };
        let indexed = || nodes.iter().enumerate();
        Self {
            root,
            device_count: nodes.len(),
            by_name: indexed().map(|(index, node)| (node.name.clone(), index)).collect(),
            by_mapper_name: indexed().filter_map(mapper_name).collect(),
            by_devno: indexed().map(|(index, node)| ((node.major, node.minor), index)).collect(),
        }
    }

    pub(super) fn device_count(&self) -> usize {
        self.device_count
    }

    /// Returns the device of this number; `None` for 0:0, which hidden devices share.
    pub(super) fn by_devno(&self, devno: Option<(u32, u32)>) -> Option<usize> {
        self.by_devno.get(&devno.filter(|devno| *devno != (0, 0))?).copied()
    }

    /// Returns the device of a path in /dev: a kernel name, a name in /dev/mapper or in an LVM directory, or a link.
    pub(super) fn by_dev_path(&self, path: &str) -> Option<usize> {
        let name = path.strip_prefix("/dev/")?;
        let by_name = || self.by_name.get(name);
        let by_mapper_name = || self.by_mapper_name.get(name.strip_prefix("mapper/")?);
        // LVM doubles the hyphens within names, so that a single one separates the volume group from the volume.
        let by_volume = || {
            let (group, volume) = name.split_once('/')?;
            self.by_mapper_name.get(&format!("{}-{}", group.replace('-', "--"), volume.replace('-', "--")))
        };
        let by_link = || {
            let target = link_target_name(&self.root.join("dev").join(name))?;
            self.by_name.get(&target)
        };
        by_name().or_else(by_mapper_name).or_else(by_volume).or_else(by_link).copied()
    }
}
