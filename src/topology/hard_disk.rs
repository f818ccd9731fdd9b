//! Hard disks, as far as the kernel and the model of a device identify them.

use super::{Kind, Machine, Topology};

/// Words in the models of devices that the kernel may call rotational although they are not single disks: those of
/// hypervisors and clouds, and the volumes of disk arrays and RAID controllers. In lower case.
const OTHER_MODELS: [&str; 18] = [
    "qemu",
    "vbox",
    "virtual",
    "vmware",
    "msft",
    "xen",
    "virtio",
    "persistentdisk",
    "elastic block store",
    "volume",
    "vdisk",
    "vdasd",
    "lun",
    "raid",
    "logical",
    "perc",
    "iscsi",
    "scsi_debug",
];

/// The beginnings of the names of disks whose driver does not report what they are made of: virtio, Xen, NVMe and
/// devices that are software.
const OTHER_NAMES: [&str; 9] = ["vd", "xvd", "nvme", "nbd", "rbd", "drbd", "bcache", "zd", "mmcblk"];

impl Topology {
    /// Returns whether a device of `machine`, or the disk that it is a partition of, is known to be a single hard disk:
    /// rotational according to the kernel, with a model that is not that of a hypervisor or of a disk array.
    pub fn is_hard_disk(&self, name: &str, machine: &Machine) -> bool {
        let disk = self.disk_of(name).unwrap_or(name);
        let has_other_name = OTHER_NAMES.iter().any(|start| disk.starts_with(start));
        self.node(disk).is_some_and(|node| {
            let is_disk = node.kind == Kind::Disk && node.backing_devices.is_empty();
            let is_rotational = node.rotational == Some(true);
            // Without a model it may be anything: the kernel assumes that disks are rotational if they do not report
            // it.
            let is_model_of_disk = node.model.as_deref().is_some_and(|model| {
                let model = model.trim().to_lowercase();
                !model.is_empty() && !OTHER_MODELS.iter().any(|other| model.contains(other))
            });
            is_disk && is_rotational && is_model_of_disk && !has_other_name && !machine.is_virtual()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Node;

    fn disk(name: &str, model: &str) -> Node {
        let model = (!model.is_empty()).then(|| model.to_owned());
        Node { name: name.into(), rotational: Some(true), model, ..Node::default() }
    }

    fn is_hard_disk(node: Node) -> bool {
        let name = node.name.clone();
        Topology::new(vec![node]).is_hard_disk(&name, &Machine::default())
    }

    #[test]
    fn a_rotational_disk_with_the_model_of_one_is_a_hard_disk() {
        for model in
            ["ST4000NM0035-1V4", "WDC WD40EFRX-68N", "HGST HUS726T4TAL", "TOSHIBA MG07ACA1", "MB4000GDUPB"]
        {
            assert!(is_hard_disk(disk("sda", model)), "{model}");
        }
    }

    #[test]
    fn a_disk_that_may_be_something_else_is_not_one() {
        for model in [
            "",
            "QEMU HARDDISK",
            "VBOX HARDDISK",
            "Virtual disk",
            "Virtual Disk",
            "PersistentDisk",
            "Amazon Elastic Block Store",
            "LOGICAL VOLUME",
            "PERC H730P Mini",
            "RAID 5",
            "LUN C-Mode",
        ] {
            assert!(!is_hard_disk(disk("sda", model)), "{model}");
        }
        let model = "ST4000NM0035-1V4";
        for name in ["vda", "xvda", "nvme0n1"] {
            assert!(!is_hard_disk(disk(name, model)), "{name}");
        }
        assert!(!is_hard_disk(Node { rotational: Some(false), ..disk("sda", model) }));
        assert!(!is_hard_disk(Node { rotational: None, ..disk("sda", model) }));
        for kind in [Kind::Loop, Kind::Md, Kind::Dm, Kind::Zram, Kind::Multipath, Kind::Optical] {
            assert!(!is_hard_disk(Node { kind, ..disk("sda", model) }), "{kind:?}");
        }
    }

    #[test]
    fn a_partition_of_a_hard_disk_is_on_one() {
        let partition = Node {
            name: "sda1".into(),
            kind: Kind::Partition,
            rotational: Some(true),
            backing_devices: vec!["sda".into()],
            ..Node::default()
        };
        let topology = Topology::new(vec![disk("sda", "ST4000NM0035-1V4"), partition]);
        assert!(topology.is_hard_disk("sda1", &Machine::default()));
        let cloud = Machine { sys_vendor: Some("Google".into()), ..Machine::default() };
        assert!(!topology.is_hard_disk("sda1", &cloud) && !topology.is_hard_disk("sdb", &Machine::default()));
    }
}
