//! The class of a device, on which its unloaded latency depends.

use super::provider::{is_local_model, provider};
use super::{DeviceClass, Kind, Machine, Node, Provider, Topology};

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
        match provider(node, machine) {
            None | Some(Provider::Other) => {}
            Some(_) => return Some(DeviceClass::Network),
        }
        let model = node.model.as_deref().unwrap_or_default().trim();
        let lower_model = model.to_lowercase();
        let mut others = OTHER_MODELS.split(',');
        // Without a model it may be anything: the kernel assumes that disks are rotational if they do not report it.
        let is_single = !model.is_empty()
            && !others.any(|other| lower_model.contains(other))
            && !machine.is_virtual();
        if node.name.starts_with("nvme") {
            return (is_single || is_local_model(model)).then_some(DeviceClass::Nvme);
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
