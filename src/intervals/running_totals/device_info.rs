//! The names of a device and its place in the stack.

use crate::topology::{Kind, Node};

/// The place of a device among the others: sums over [`StackRole::Physical`] count each request once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StackRole {
    /// It serves requests itself; a total over all devices counts it.
    #[default]
    Physical,
    Partition,
    /// It passes requests on to other devices: a logical volume, an array, a loop device.
    Stacked,
    /// A path to a disk that has several.
    Path,
    /// It stores data in memory.
    Memory,
}

impl StackRole {
    /// Its name in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Physical => "physical",
            Self::Partition => "partition",
            Self::Stacked => "stacked",
            Self::Path => "path",
            Self::Memory => "memory",
        }
    }
}

/// The names of a device and its place in the stack. Texts that are not known are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The kernel's name.
    pub device: String,
    /// The name that administrators use, such as that of a logical volume; otherwise the kernel's.
    pub name: String,
    pub kind: Kind,
    /// Its place in the stack.
    pub role: StackRole,
    /// The model that it reports.
    pub model: String,
    pub serial: String,
    /// A text that stays the same when it gets another name: see [`Node::identity`].
    pub identity: String,
    /// The volume of Kubernetes that the device is, and the UID of the pod that it is mounted for.
    pub volume: Option<(String, String)>,
}

impl DeviceInfo {
    /// Describes a device by its node of the topology, if it has one. `is_counted` is true if a total over all devices
    /// counts its requests.
    pub(super) fn new(device: &str, node: Option<&Node>, is_counted: bool) -> Self {
        let unknown = || Node { kind: Kind::from_name(device), ..Node::default() };
        let Node { kind, alias, model, serial, identity, mountpoints, .. } =
            node.cloned().unwrap_or_else(unknown);
        let role = match kind {
            _ if is_counted => StackRole::Physical,
            Kind::Partition => StackRole::Partition,
            Kind::NvmePath => StackRole::Path,
            kind if kind.is_memory() => StackRole::Memory,
            _ => StackRole::Stacked,
        };
        Self {
            name: alias.filter(|alias| !alias.is_empty()).unwrap_or_else(|| device.to_owned()),
            device: device.to_owned(),
            kind,
            role,
            model: model.unwrap_or_default(),
            serial: serial.unwrap_or_default(),
            identity: identity.unwrap_or_default(),
            volume: mountpoints.iter().find_map(|path| kubernetes_volume(path)),
        }
    }
}

/// Returns the names of the volume and of the pod in the path where the kubelet mounts a volume for a pod:
/// `.../pods/POD/volumes/PLUGIN/VOLUME`, and for CSI `/mount` after it.
fn kubernetes_volume(path: &str) -> Option<(String, String)> {
    let (_, path) = path.split_once("/pods/")?;
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        [pod, "volumes", _, volume] | [pod, "volumes", _, volume, "mount"] => {
            Some((volume.to_owned(), pod.to_owned()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_devices_that_a_total_counts_are_physical() {
        let role =
            |kind, is_counted| DeviceInfo::new("x", Some(&Node { kind, ..Node::default() }), is_counted).role;
        assert_eq!(role(Kind::Disk, true), StackRole::Physical);
        assert_eq!(role(Kind::Lvm, false), StackRole::Stacked);
        assert_eq!(role(Kind::Loop, false), StackRole::Stacked);
        assert_eq!(role(Kind::Partition, false), StackRole::Partition);
        assert_eq!(role(Kind::NvmePath, false), StackRole::Path);
        assert_eq!(role(Kind::Zram, false), StackRole::Memory);
    }

    #[test]
    fn a_volume_of_kubernetes_is_known_by_where_the_kubelet_mounts_it() {
        let volume = |path: &str| {
            let node = Node { mountpoints: vec!["/data".into(), path.into()], ..Node::default() };
            DeviceInfo::new("sda", Some(&node), true).volume
        };
        let expected = Some(("pvc-7".into(), "1f-2e".into()));
        assert_eq!(volume("/var/lib/kubelet/pods/1f-2e/volumes/kubernetes.io~csi/pvc-7/mount"), expected);
        assert_eq!(volume("/srv/kubelet/pods/1f-2e/volumes/kubernetes.io~local-volume/pvc-7"), expected);
        assert_eq!(volume("/var/lib/kubelet/pods/1f-2e/volume-subpaths/pvc-7/db/0"), None);
        assert_eq!(volume("/var/lib/pods/volumes"), None);
    }

    #[test]
    fn a_volume_has_the_name_that_administrators_use() {
        let node = Node {
            alias: Some("vg0-root".into()),
            serial: Some("S1".into()),
            kind: Kind::Lvm,
            ..Node::default()
        };
        let info = DeviceInfo::new("dm-0", Some(&node), false);
        assert_eq!([&*info.device, &info.name, &info.serial, &info.model], ["dm-0", "vg0-root", "S1", ""]);
        assert_eq!(DeviceInfo::new("dm-0", None, false).name, "dm-0");
    }
}
