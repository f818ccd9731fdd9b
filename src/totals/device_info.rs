//! What a device is, for metrics.

use crate::topology::{Kind, Node};

/// A device and its place in the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceInfo {
    pub node: Node,
    /// Its place among the others in machine formats: sums over the role `physical` count each request once.
    pub role: &'static str,
}

impl DeviceInfo {
    /// Describes a device by its node of the topology, if it has one. `is_counted` is true if a total over all devices
    /// counts its requests.
    pub(super) fn new(device: &str, node: Option<&Node>, is_counted: bool) -> Self {
        let unknown = || Node {
            name: device.to_owned(),
            kind: Kind::from_name(device),
            ..Node::default()
        };
        let node = node.cloned().unwrap_or_else(unknown);
        let role = match node.kind {
            _ if is_counted => "physical",
            Kind::Partition => "partition",
            Kind::NvmePath => "path",
            kind if kind.is_memory() => "memory",
            _ => "stacked",
        };
        Self { node, role }
    }

    /// The name that administrators use, such as that of a logical volume; otherwise the kernel's.
    pub fn name(&self) -> &str {
        self.node
            .alias
            .as_deref()
            .filter(|alias| !alias.is_empty())
            .unwrap_or(&self.node.name)
    }

    /// The volume of Kubernetes that the device is, and the UID of the pod that it is mounted for: the kubelet mounts it
    /// at `.../pods/POD/volumes/PLUGIN/VOLUME`, and for CSI at `/mount` below that.
    pub fn kubernetes_volume(&self) -> Option<(&str, &str)> {
        self.node.mountpoints.iter().find_map(|path| {
            let (_, path) = path.split_once("/pods/")?;
            let parts: Vec<&str> = path.split('/').collect();
            match parts[..] {
                [pod, "volumes", _, volume] | [pod, "volumes", _, volume, "mount"] => {
                    Some((volume, pod))
                }
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_devices_that_a_total_counts_are_physical() {
        let role = |kind, is_counted| {
            DeviceInfo::new(
                "x",
                Some(&Node {
                    kind,
                    ..Node::default()
                }),
                is_counted,
            )
            .role
        };
        assert_eq!(role(Kind::Disk, true), "physical");
        assert_eq!(role(Kind::Lvm, false), "stacked");
        assert_eq!(role(Kind::Loop, false), "stacked");
        assert_eq!(role(Kind::Partition, false), "partition");
        assert_eq!(role(Kind::NvmePath, false), "path");
        assert_eq!(role(Kind::Zram, false), "memory");
    }

    #[test]
    fn a_volume_of_kubernetes_is_known_by_where_the_kubelet_mounts_it() {
        let volume = |path: &str| {
            let node = Node {
                mountpoints: vec!["/data".into(), path.into()],
                ..Node::default()
            };
            let info = DeviceInfo::new("sda", Some(&node), true);
            info.kubernetes_volume()
                .map(|(volume, pod)| format!("{volume} of {pod}"))
        };
        let expected = Some("pvc-7 of 1f-2e".to_owned());
        assert_eq!(
            volume("/var/lib/kubelet/pods/1f-2e/volumes/kubernetes.io~csi/pvc-7/mount"),
            expected
        );
        assert_eq!(
            volume("/srv/kubelet/pods/1f-2e/volumes/kubernetes.io~local-volume/pvc-7"),
            expected
        );
        assert_eq!(
            volume("/var/lib/kubelet/pods/1f-2e/volume-subpaths/pvc-7/db/0"),
            None
        );
        assert_eq!(volume("/var/lib/pods/volumes"), None);
    }

    #[test]
    fn a_volume_has_the_name_that_administrators_use() {
        let node = Node {
            name: "dm-0".into(),
            alias: Some("vg0-root".into()),
            kind: Kind::Lvm,
            ..Node::default()
        };
        let info = DeviceInfo::new("dm-0", Some(&node), false);
        assert_eq!([&info.node.name, info.name()], ["dm-0", "vg0-root"]);
        assert_eq!(DeviceInfo::new("dm-0", None, false).name(), "dm-0");
    }
}
