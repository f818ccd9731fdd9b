//! The class of a device, on which its unloaded latency depends.

use super::{DeviceClass, Kind, Machine, Node, Topology};

/// The model of EBS volumes, which AWS attaches as NVMe devices.
const EBS_MODEL: &str = "Amazon Elastic Block Store";
/// The beginning of the model of the local disks of an EC2 machine.
const EC2_LOCAL_MODEL: &str = "Amazon EC2 NVMe Instance Storage";
/// The beginning of the model of the local NVMe disks of an Azure machine.
const AZURE_LOCAL_MODEL: &str = "Microsoft NVMe Direct Disk";

/// Words in the models of devices that the kernel may call rotational although they are not single disks: those of
/// hypervisors and clouds, and the volumes of disk arrays and RAID controllers. In lower case, separated by commas.
const OTHER_MODELS: &str = "qemu,vbox,virtual,vmware,msft,xen,virtio,persistentdisk,elastic block store,volume,vdisk,vdasd,\
                            lun,raid,logical,perc,iscsi,scsi_debug";
/// The beginnings of the names of disks whose driver does not report what they are made of: virtio, Xen and
/// devices that are software.
const OTHER_NAMES: [&str; 8] = ["vd", "xvd", "nbd", "rbd", "drbd", "bcache", "zd", "mmcblk"];

impl Topology {
    /// Returns the class of a device of `machine`, or of the disk that it is a partition of: the one that the user states,
    /// else the one that the kernel's facts show. `None` if it is not known to be a single disk, or a volume of a cloud.
    pub fn device_class(&self, name: &str, machine: &Machine) -> Option<DeviceClass> {
        let disk = self.disk_of(name).unwrap_or(name);
        for name in [name, disk] {
            if let Some(node) = self.node(name)
                && node.stated_class.is_some()
            {
                return node.stated_class;
            }
        }
        let node = self.node(disk)?;
        if !node.is_mapped() {
            return self.class_of_disk(node, machine);
        }
        // The slowest class below; none if that of one of them is not known.
        let mut slowest = None;
        for below in self.devices_below(disk) {
            let below = self.node(&below)?;
            if below.is_mapped() || below.kind == Kind::Partition {
                continue;
            }
            slowest = slowest.max(Some(self.class_of_disk(below, machine)?));
        }
        slowest
    }

    /// Returns the class of a single disk, or a volume of a cloud; `None` if it is not known to be one.
    fn class_of_disk(&self, node: &Node, machine: &Machine) -> Option<DeviceClass> {
        if node.stated_class.is_some() {
            return node.stated_class;
        }
        if node.kind != Kind::Disk || !node.backing_devices.is_empty() {
            return None;
        }
        let model = node.model.as_deref().unwrap_or_default().trim();
        let is_local = model.starts_with(EC2_LOCAL_MODEL) || model.starts_with(AZURE_LOCAL_MODEL);
        if model == EBS_MODEL || machine.is_of_cloud() && !is_local {
            return Some(DeviceClass::Network);
        }
        let lower_model = model.to_lowercase();
        let mut others = OTHER_MODELS.split(',');
        // Without a model it may be anything: the kernel assumes that disks are rotational if they do not report it.
        let is_single = !model.is_empty()
            && !others.any(|other| lower_model.contains(other))
            && !machine.is_virtual();
        if node.name.starts_with("nvme") {
            return (is_single || is_local).then_some(DeviceClass::Nvme);
        }
        if !is_single || OTHER_NAMES.iter().any(|start| node.name.starts_with(start)) {
            return None;
        }
        Some(if node.rotational? {
            DeviceClass::HardDisk
        } else {
            DeviceClass::Ssd
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(name: &str, model: &str) -> Node {
        let model = (!model.is_empty()).then(|| model.to_owned());
        Node {
            name: name.into(),
            rotational: Some(true),
            model,
            ..Node::default()
        }
    }

    fn class_on(machine: &Machine, node: Node) -> Option<DeviceClass> {
        let name = node.name.clone();
        Topology::new(vec![node]).device_class(&name, machine)
    }

    fn class(node: Node) -> Option<DeviceClass> {
        class_on(&Machine::default(), node)
    }

    fn is_hard_disk(node: Node) -> bool {
        class(node) == Some(DeviceClass::HardDisk)
    }

    #[test]
    fn a_rotational_disk_with_the_model_of_one_is_a_hard_disk() {
        for model in [
            "ST4000NM0035-1V4",
            "WDC WD40EFRX-68N",
            "HGST HUS726T4TAL",
            "TOSHIBA MG07ACA1",
            "MB4000GDUPB",
        ] {
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
        assert!(!is_hard_disk(Node {
            rotational: Some(false),
            ..disk("sda", model)
        }));
        assert!(!is_hard_disk(Node {
            rotational: None,
            ..disk("sda", model)
        }));
        for kind in [
            Kind::Loop,
            Kind::Md,
            Kind::Dm,
            Kind::Zram,
            Kind::Multipath,
            Kind::Optical,
        ] {
            assert!(
                !is_hard_disk(Node {
                    kind,
                    ..disk("sda", model)
                }),
                "{kind:?}"
            );
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
        assert_eq!(
            topology.device_class("sda1", &Machine::default()),
            Some(DeviceClass::HardDisk)
        );
        let cloud = Machine {
            sys_vendor: Some("Google".into()),
            ..Machine::default()
        };
        assert_eq!(
            topology.device_class("sda1", &cloud),
            Some(DeviceClass::Network)
        );
        assert_eq!(topology.device_class("sdb", &Machine::default()), None);
    }

    #[test]
    fn a_volume_is_of_the_slowest_class_below_it() {
        let stacked = |name: &str, kind, below: &[&str]| Node {
            name: name.into(),
            kind,
            backing_devices: below.iter().map(|name| (*name).to_owned()).collect(),
            ..Node::default()
        };
        let ssd = Node {
            rotational: Some(false),
            ..disk("sdb", "Samsung SSD 870")
        };
        let topology = Topology::new(vec![
            disk("sda", "ST4000NM0035-1V4"),
            ssd,
            stacked("sdb1", Kind::Partition, &["sdb"]),
            stacked("md0", Kind::Md, &["sda", "sdb1"]),
            stacked("dm-0", Kind::Lvm, &["sdb1"]),
            stacked("dm-1", Kind::Lvm, &["md0", "vda"]),
            stacked("vda", Kind::Disk, &[]),
            stacked("loop0", Kind::Loop, &["sda"]),
            stacked("dm-2", Kind::Lvm, &["dm-3"]),
            stacked("dm-3", Kind::Lvm, &["dm-2"]),
        ]);
        let class = |name| topology.device_class(name, &Machine::default());
        assert_eq!(class("md0"), Some(DeviceClass::HardDisk));
        assert_eq!(class("dm-0"), Some(DeviceClass::Ssd));
        // One below is not known; a file system is between; a recording may claim a circle.
        assert_eq!(["dm-1", "loop0", "dm-2"].map(class), [None; 3]);
    }

    #[test]
    fn flash_and_volumes_of_clouds_have_their_classes() {
        let flash = |name, model| Node {
            rotational: Some(false),
            ..disk(name, model)
        };
        assert_eq!(
            class(flash("sda", "Samsung SSD 870")),
            Some(DeviceClass::Ssd)
        );
        assert_eq!(
            class(flash("nvme0n1", "SAMSUNG MZQL23T8HCLS-00A07")),
            Some(DeviceClass::Nvme)
        );
        assert_eq!(class(flash("nvme0n1", "QEMU NVMe Ctrl")), None);
        assert_eq!(
            class(flash("nvme0n1", EBS_MODEL)),
            Some(DeviceClass::Network)
        );
        let cloud = Machine {
            sys_vendor: Some("Amazon EC2".into()),
            ..Machine::default()
        };
        assert_eq!(
            class_on(&cloud, flash("nvme1n1", EC2_LOCAL_MODEL)),
            Some(DeviceClass::Nvme)
        );
        assert_eq!(
            class_on(&cloud, flash("xvda", "")),
            Some(DeviceClass::Network)
        );
    }
}
