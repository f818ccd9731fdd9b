//! Checks that the samples have the requests of all devices of the host.

use std::collections::HashSet;

use crate::counters::Device;
use crate::topology::{Kind, Node, Topology};

/// Returns whether the kernel counts the requests of every device and the samples have every disk of the host, unlike a
/// recording of only a few devices. Paths of NVMe disks may be missing, because their disks count their requests.
pub(super) fn are_all_requests_counted(topology: &Topology, devices: &[Device]) -> bool {
    let names: HashSet<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let is_disk = |node: &Node| {
        let is_empty = node.size_bytes.is_none_or(|bytes| bytes == 0);
        node.backing_devices.is_empty() && node.kind != Kind::NvmePath && !is_empty
    };
    topology
        .nodes()
        .iter()
        .all(|node| !node.is_accounting_off() && (!is_disk(node) || names.contains(node.name.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_missing_or_not_counted_may_have_any_requests() {
        let node = |name: &str, size_bytes| Node { name: name.into(), size_bytes, ..Node::default() };
        let device = |name: &str| Device { name: name.into(), ..Device::default() };
        let two = || vec![node("sda", Some(512)), node("sdb", Some(512))];
        let is_complete =
            |nodes, devices: &[Device]| are_all_requests_counted(&Topology::new(nodes), devices);
        assert!(is_complete(two(), &[device("sdb"), device("sda")]));
        assert!(!is_complete(two(), &[device("sda")]));
        // An empty drive, and a partition of a disk that is in the samples.
        let partition = Node { backing_devices: vec!["sda".into()], ..node("sda1", Some(512)) };
        assert!(is_complete(vec![node("sda", Some(512)), node("sr0", Some(0)), partition], &[device("sda")]));
        let off = |ignores| Node {
            iostats_enabled: Some(false),
            ignores_iostats: Some(ignores),
            ..node("sda", Some(512))
        };
        assert!(is_complete(vec![off(true)], &[device("sda")]));
        assert!(!is_complete(vec![off(false)], &[device("sda")]));
    }
}
