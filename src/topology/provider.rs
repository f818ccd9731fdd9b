//! The provider of a volume, as far as the firmware of the machine and the model of the device identify it.

use serde::{Deserialize, Serialize};

use super::{DeviceClass, Kind, Node, Topology};

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
        let bounded = |text: Option<String>| text.map(|text| bounded_text(&text));
        Self {
            sys_vendor: bounded(self.sys_vendor),
            product_name: bounded(self.product_name),
            chassis_asset_tag: bounded(self.chassis_asset_tag),
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
        let is = |value: &Option<String>, text: &str| value.as_deref() == Some(text);
        if is(&self.sys_vendor, "Amazon EC2") || is(&self.chassis_asset_tag, "Amazon EC2") {
            Some(Provider::Aws)
        } else if is(&self.sys_vendor, "Microsoft Corporation") {
            // Without that tag it is a Hyper-V host outside Azure.
            let is_azure = is(&self.chassis_asset_tag, AZURE_ASSET_TAG);
            Some(if is_azure { Provider::Azure } else { Provider::Other })
        } else if is(&self.sys_vendor, "Google") || is(&self.product_name, "Google Compute Engine") {
            Some(Provider::Google)
        } else {
            None
        }
    }
}

/// Returns the beginning of a text without control characters.
pub fn bounded_text(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_TEXT_CHARS).collect()
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
            let below: Vec<&String> =
                here.backing_devices.iter().filter(|below| !self.is_nvme_path(below)).collect();
            node = match below.as_slice() {
                [] => {
                    let size_bytes = here.size_bytes.filter(|_| !has_loop);
                    return (provider(here, machine), size_bytes);
                }
                [below, others @ ..] if others.is_empty() || here.kind == Kind::Multipath => self.node(below),
                _ => return (Some(Provider::Other), None),
            };
        }
        (machine.provider(), None)
    }

    fn is_nvme_path(&self, name: &str) -> bool {
        self.node(name).is_some_and(|node| node.kind == Kind::NvmePath)
    }
}

/// The provider of a device that is not stacked on another.
fn provider(disk: &Node, machine: &Machine) -> Option<Provider> {
    let model = disk.model.as_deref().unwrap_or_default();
    if disk.kind.is_memory() || model.starts_with(EC2_LOCAL_MODEL) || model.starts_with(AZURE_LOCAL_MODEL) {
        Some(Provider::Other)
    } else if model == EBS_MODEL {
        Some(Provider::Aws)
    } else {
        machine.provider()
    }
}

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

/// The beginnings of the names of disks whose driver does not report what they are made of: virtio, Xen and
/// devices that are software.
const OTHER_NAMES: [&str; 8] = ["vd", "xvd", "nbd", "rbd", "drbd", "bcache", "zd", "mmcblk"];

impl Topology {
    /// Returns the class of a device of `machine`, or of the disk that it is a partition of: the one that the user states,
    /// else the one that the kernel's facts show. `None` if it is not known to be a single disk, or a volume of a cloud.
    pub fn device_class(&self, name: &str, machine: &Machine) -> Option<DeviceClass> {
        let disk = self.disk_of(name).unwrap_or(name);
        let stated = [name, disk].into_iter().find_map(|name| self.node(name)?.stated_class);
        if stated.is_some() {
            return stated;
        }
        let node =
            self.node(disk).filter(|node| node.kind == Kind::Disk && node.backing_devices.is_empty())?;
        let is_volume = provider(node, machine).is_some_and(|provider| provider != Provider::Other);
        let model = node.model.as_deref().unwrap_or_default().trim();
        let is_local = model.starts_with(EC2_LOCAL_MODEL) || model.starts_with(AZURE_LOCAL_MODEL);
        let lower_model = model.to_lowercase();
        // Without a model it may be anything: the kernel assumes that disks are rotational if they do not report it.
        let is_model_of_disk =
            !model.is_empty() && !OTHER_MODELS.iter().any(|other| lower_model.contains(other));
        let is_single = is_model_of_disk && !machine.is_virtual();
        match node.rotational {
            _ if is_volume => Some(DeviceClass::Network),
            _ if disk.starts_with("nvme") => (is_single || is_local).then_some(DeviceClass::Nvme),
            Some(is_rotational) if is_single && !OTHER_NAMES.iter().any(|start| disk.starts_with(start)) => {
                Some(if is_rotational { DeviceClass::HardDisk } else { DeviceClass::Ssd })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Node;

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
            (machine("Xen", "HVM domU", "Amazon EC2"), Some(Provider::Aws)),
            (machine("Microsoft Corporation", "Virtual Machine", AZURE_ASSET_TAG), Some(Provider::Azure)),
            (machine("Microsoft Corporation", "Virtual Machine", "None"), Some(Provider::Other)),
            (machine("Google", "Google Compute Engine", ""), Some(Provider::Google)),
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
            assert_eq!(topology.volume(name, &Machine::default()), (aws, size), "{name}");
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
        assert_eq!(bounded_text(&"ä".repeat(100_000)).chars().count(), MAX_TEXT_CHARS);
    }

    fn disk(name: &str, model: &str) -> Node {
        let model = (!model.is_empty()).then(|| model.to_owned());
        Node { name: name.into(), rotational: Some(true), model, ..Node::default() }
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
        assert_eq!(topology.device_class("sda1", &Machine::default()), Some(DeviceClass::HardDisk));
        let cloud = Machine { sys_vendor: Some("Google".into()), ..Machine::default() };
        assert_eq!(topology.device_class("sda1", &cloud), Some(DeviceClass::Network));
        assert_eq!(topology.device_class("sdb", &Machine::default()), None);
    }

    #[test]
    fn flash_and_volumes_of_clouds_have_their_classes() {
        let flash = |name, model| Node { rotational: Some(false), ..disk(name, model) };
        assert_eq!(class(flash("sda", "Samsung SSD 870")), Some(DeviceClass::Ssd));
        assert_eq!(class(flash("nvme0n1", "SAMSUNG MZQL23T8HCLS-00A07")), Some(DeviceClass::Nvme));
        assert_eq!(class(flash("nvme0n1", "QEMU NVMe Ctrl")), None);
        assert_eq!(class(flash("nvme0n1", EBS_MODEL)), Some(DeviceClass::Network));
        let cloud = Machine { sys_vendor: Some("Amazon EC2".into()), ..Machine::default() };
        assert_eq!(class_on(&cloud, flash("nvme1n1", EC2_LOCAL_MODEL)), Some(DeviceClass::Nvme));
        assert_eq!(class_on(&cloud, flash("xvda", "")), Some(DeviceClass::Network));
    }
}
