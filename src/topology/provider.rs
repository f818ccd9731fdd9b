//! The provider of a disk: that of the machine or that of its model.

use serde::{Deserialize, Serialize};

use super::{Kind, Node, Topology};

/// The most characters that are kept of a text from firmware or from a device: more than any text compared here has.
const MAX_TEXT_CHARS: usize = 64;
/// The most devices visited on the way down from a device to its disk: no real stack is as high.
const MAX_LAYERS: usize = 16;

/// The asset tag of every Azure machine, which other Hyper-V hosts do not have.
const AZURE_ASSET_TAG: &str = "7783-7084-3265-9085-8269-3286-77";
/// The model of EBS volumes, which AWS attaches as NVMe devices.
const EBS_MODEL: &str = "Amazon Elastic Block Store";
/// The beginning of the model of the local disks of an EC2 machine.
const EC2_LOCAL_MODEL: &str = "Amazon EC2 NVMe Instance Storage";
/// The beginning of the model of the local NVMe disks of an Azure machine.
const AZURE_LOCAL_MODEL: &str = "Microsoft NVMe Direct Disk";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Amazon Web Services (EBS).
    Aws,
    /// Microsoft Azure (managed disks).
    Azure,
    /// Google Cloud (persistent disks, Hyperdisk).
    Google,
    /// None of these: a local disk of the machine, memory, or several devices together.
    Other,
}

/// The machine as its firmware identifies itself (`/sys/class/dmi/id`). Values that are not known are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    pub sys_vendor: Option<String>,
    pub product_name: Option<String>,
    /// The asset tag of the chassis (`chassis_asset_tag`).
    pub chassis_asset_tag: Option<String>,
}

impl Machine {
    /// Limits the length of the texts and removes control characters.
    #[must_use]
    pub fn bounded(self) -> Self {
        Self {
            sys_vendor: self.sys_vendor.as_deref().map(bounded_text),
            product_name: self.product_name.as_deref().map(bounded_text),
            chassis_asset_tag: self.chassis_asset_tag.as_deref().map(bounded_text),
        }
    }

    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether the firmware identifies a virtual machine of a provider or of Hyper-V, whose disks are volumes.
    pub(super) fn is_virtual(&self) -> bool {
        self.provider().is_some()
    }

    /// The provider of the machine; `None` if the firmware does not identify one.
    fn provider(&self) -> Option<Provider> {
        let vendor = self.sys_vendor.as_deref().unwrap_or_default();
        let product = self.product_name.as_deref().unwrap_or_default();
        let tag = self.chassis_asset_tag.as_deref().unwrap_or_default();
        if vendor == "Amazon EC2" || tag == "Amazon EC2" {
            Some(Provider::Aws)
        } else if vendor == "Microsoft Corporation" && tag == AZURE_ASSET_TAG {
            Some(Provider::Azure)
        } else if vendor == "Microsoft Corporation" {
            // Without that tag it is a Hyper-V host outside Azure.
            Some(Provider::Other)
        } else if vendor == "Google" || product == "Google Compute Engine" {
            Some(Provider::Google)
        } else {
            None
        }
    }
}

/// Returns the beginning of a text without control characters.
pub fn bounded_text(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(MAX_TEXT_CHARS)
        .collect()
}

impl Topology {
    /// Returns the provider of the volume that a device of `machine` lies on, and the size of the volume in bytes. Each
    /// is `None` if it is not known; the size is also `None` for a loop device, whose file is only a part of the
    /// volume.
    pub fn volume(&self, name: &str, machine: &Machine) -> (Option<Provider>, Option<u64>) {
        let mut has_loop = false;
        let mut node = self.node(name);
        for _ in 0..MAX_LAYERS {
            let Some(here) = node else { break };
            has_loop |= here.kind == Kind::Loop;
            let mut below = Vec::from_iter(&here.backing_devices);
            below.retain(|name| !self.is_nvme_path(name));
            node = match below.as_slice() {
                [] if has_loop => return (provider(here, machine), None),
                [] => return (provider(here, machine), here.size_bytes),
                [below, others @ ..] if others.is_empty() || here.kind == Kind::Multipath => {
                    self.node(below)
                }
                _ => return (Some(Provider::Other), None),
            };
        }
        (machine.provider(), None)
    }

    fn is_nvme_path(&self, name: &str) -> bool {
        self.node(name)
            .is_some_and(|node| node.kind == Kind::NvmePath)
    }
}

/// The provider of a device that is not stacked on another.
pub(super) fn provider(disk: &Node, machine: &Machine) -> Option<Provider> {
    let model = disk.model.as_deref().unwrap_or_default();
    if disk.kind.is_memory() || is_local_model(model) {
        Some(Provider::Other)
    } else if model == EBS_MODEL {
        Some(Provider::Aws)
    } else {
        machine.provider()
    }
}

/// Returns whether a model is that of a local disk of a cloud's machine.
pub(super) fn is_local_model(model: &str) -> bool {
    model.starts_with(EC2_LOCAL_MODEL) || model.starts_with(AZURE_LOCAL_MODEL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::DeviceClass;

    fn machine(sys_vendor: &str, product_name: &str, chassis_asset_tag: &str) -> Machine {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Machine {
            sys_vendor: known(sys_vendor),
            product_name: known(product_name),
            chassis_asset_tag: known(chassis_asset_tag),
        }
    }

    fn node(name: &str, kind: Kind, backing: &[&str], model: &str) -> Node {
        Node {
            name: name.into(),
            kind,
            backing_devices: backing.iter().map(|name| (*name).to_owned()).collect(),
            size_bytes: Some(1 << 40),
            model: (!model.is_empty()).then(|| model.to_owned()),
            ..Node::default()
        }
    }

    #[test]
    fn the_firmware_identifies_the_provider() {
        for (machine, provider) in [
            (machine("Amazon EC2", "m5.large", ""), Some(Provider::Aws)),
            (
                machine("Xen", "HVM domU", "Amazon EC2"),
                Some(Provider::Aws),
            ),
            (
                machine("Microsoft Corporation", "Virtual Machine", AZURE_ASSET_TAG),
                Some(Provider::Azure),
            ),
            (
                machine("Microsoft Corporation", "Virtual Machine", "None"),
                Some(Provider::Other),
            ),
            (
                machine("Google", "Google Compute Engine", ""),
                Some(Provider::Google),
            ),
            (machine("QEMU", "Standard PC", ""), None),
            (Machine::default(), None),
        ] {
            assert_eq!(machine.provider(), provider, "{machine:?}");
        }
    }

    #[test]
    fn a_device_belongs_to_the_provider_of_the_only_disk_below_it() {
        let topology = Topology::new(vec![
            node("nvme0n1", Kind::Disk, &["nvme0c0n1"], EBS_MODEL),
            node("nvme0c0n1", Kind::NvmePath, &[], ""),
            node("nvme0n1p1", Kind::Partition, &["nvme0n1"], ""),
            node("nvme1n1", Kind::Disk, &[], EC2_LOCAL_MODEL),
            node("dm-0", Kind::Lvm, &["nvme0n1p1"], ""),
            node("md0", Kind::Md, &["nvme0n1", "nvme2n1"], ""),
            node("loop0", Kind::Loop, &["nvme0n1p1"], ""),
            node("zram0", Kind::Zram, &[], ""),
            node("circle", Kind::Dm, &["circle"], ""),
        ]);
        let here = machine("Amazon EC2", "", "");
        let volume = |name| topology.volume(name, &here);
        let (aws, other, size) = (Some(Provider::Aws), Some(Provider::Other), Some(1 << 40));
        for name in ["nvme0n1", "nvme0n1p1", "dm-0"] {
            assert_eq!(
                topology.volume(name, &Machine::default()),
                (aws, size),
                "{name}"
            );
        }
        assert_eq!(volume("loop0"), (aws, None));
        assert_eq!([volume("nvme1n1"), volume("zram0")], [(other, size); 2]);
        assert_eq!(volume("md0"), (other, None));
        // An unknown device counts as one of the machine, and a circle is not followed forever.
        assert_eq!([volume("xvda"), volume("circle")], [(aws, None); 2]);
    }

    #[test]
    fn texts_are_bounded_and_safe() {
        assert_eq!(bounded_text("a\u{1b}[1m\nb"), "a[1mb");
        assert_eq!(
            bounded_text(&"ä".repeat(100_000)).chars().count(),
            MAX_TEXT_CHARS
        );
    }

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
