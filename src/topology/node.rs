//! A block device: its kind, its class, and what sysfs says of it.

use serde::{Deserialize, Serialize};

use super::names::nvme_head;

/// A block device as sysfs describes it. An unknown value is `None`, an unknown list is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
// The aliases are the names that recordings of 0.1.0 use.
pub struct Node {
    /// The kernel's name, as in /proc/diskstats.
    pub name: String,
    pub major: u32,
    pub minor: u32,
    pub kind: Kind,
    /// The name that administrators use, if it differs from the kernel's: `vg0-root` for `dm-0`, `md/home`.
    #[serde(alias = "known_as")]
    pub alias: Option<String>,
    /// The devices directly below this one: a partition's disk, the members of an array or volume, the device that
    /// holds the backing file of a loop device, the paths of a multipath disk.
    #[serde(alias = "on")]
    pub backing_devices: Vec<String>,
    pub size_bytes: Option<u64>,
    /// The model that the device reports, such as `Amazon Elastic Block Store`; only of disks.
    pub model: Option<String>,
    /// The class that the user states.
    #[serde(skip)]
    pub stated_class: Option<DeviceClass>,
    /// True for rotational media, according to the kernel.
    pub rotational: Option<bool>,
    /// The active I/O scheduler, which may be `none`.
    pub scheduler: Option<String>,
    /// Number of requests that the queue can hold (`queue/nr_requests`).
    pub nr_requests: Option<u64>,
    /// The setting `queue/iostats`, which not every device obeys: see [`Node::is_accounting_off`].
    #[serde(alias = "accounting")]
    pub iostats_enabled: Option<bool>,
    /// True if the driver counts requests even if `queue/iostats` is 0. `None` if it is not known what the driver or
    /// the kernel version does.
    pub ignores_iostats: Option<bool>,
    /// The file behind a loop device.
    pub backing_file: Option<String>,
    /// The mount points, in the order in which they were mounted.
    #[serde(alias = "mounts")]
    pub mountpoints: Vec<String>,
    /// A text that stays the same when the device gets another name or the host is booted: `wwid:eui.0025...`,
    /// `serial:...`, `dm:LVM-...`, `md:...`, with `-part1` for a partition. Devices that the kernel cannot tell apart
    /// may share one: see [`super::Topology::identity`].
    pub identity: Option<String>,
    /// The kernel's sequence number of the disk. It is unique until the next boot, and changes when a loop device gets
    /// another file; since Linux 5.15.
    pub diskseq: Option<u64>,
    /// The serial number that the device reports, with blanks as `_`; only of disks.
    pub serial: Option<String>,
}

impl Node {
    /// Returns whether it passes its requests on to devices below it, with little work of its own: a volume or an array, but not
    /// a loop device, whose requests go through a file system.
    pub(super) fn is_mapped(&self) -> bool {
        use Kind::{Crypt, Dm, Lvm, Md, Multipath};
        matches!(self.kind, Dm | Lvm | Crypt | Multipath | Md) && !self.backing_devices.is_empty()
    }

    /// The mount point given for a swap area, as in lsblk.
    pub const SWAP: &'static str = "[SWAP]";

    /// Returns whether the device's counters do not change because `queue/iostats` is 0.
    ///
    /// Which devices obey that setting was measured with 120 direct requests to each kind of device, on Linux
    /// 6.1.0-56 and 6.12.117 as packaged by Debian:
    ///
    /// | device | 6.1 | 6.12 |
    /// | --- | --- | --- |
    /// | SCSI, virtio, NVMe and its paths, loop, null_blk, md RAID 0 and RAID 1 | obeys | obeys |
    /// | head of an NVMe multipath disk | never counts | obeys |
    /// | request-based device-mapper (multipath) | obeys | obeys |
    /// | bio-based device-mapper (linear, striped, crypt, multipath with `queue_mode bio`) | counts all the same | obeys |
    /// | zram | counts all the same | counts all the same |
    /// | RAM disk (brd) | never counts | never counts |
    ///
    /// On 6.1 the setting of bio-based device-mapper devices is 0 by default. If [`Node::ignores_iostats`] is not
    /// known, as in recordings of 0.1.0, bio-based kinds are assumed not to obey: `false` is the safe answer.
    pub fn is_accounting_off(&self) -> bool {
        use Kind::{Crypt, Dm, Lvm, Md, Virtual, Zram};
        let may_ignore = matches!(self.kind, Dm | Lvm | Crypt | Md | Zram | Virtual);
        self.iostats_enabled == Some(false) && !self.ignores_iostats.unwrap_or(may_ignore)
    }

    /// Returns whether both describe the same device, rather than another one that took its name, as far as the kernel
    /// numbers disks.
    pub fn is_same_instance(&self, other: &Self) -> bool {
        (&self.name, self.major, self.minor, self.diskseq)
            == (&other.name, other.major, other.minor, other.diskseq)
    }

    /// Returns whether the device is a swap area in use.
    pub fn is_swap(&self) -> bool {
        self.mountpoints.iter().any(|mount| mount == Self::SWAP)
    }

    /// Returns whether the device is a partition whose disk is not known.
    pub fn is_orphan_partition(&self) -> bool {
        self.kind == Kind::Partition && self.backing_devices.is_empty()
    }
}

/// The kind of a block device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A whole disk, physical or presented as one to this system.
    #[default]
    Disk,
    Partition,
    /// A loop device, backed by a file.
    Loop,
    /// A RAM disk (brd).
    Ram,
    /// A compressed RAM disk.
    Zram,
    /// A device-mapper device other than the three kinds below.
    Dm,
    Lvm,
    /// An encrypted device-mapper device.
    Crypt,
    Multipath,
    /// A Linux software RAID array (md).
    Md,
    /// A path of an NVMe multipath disk, whose head counts the same requests.
    // Recordings of 0.1.0 spell it with a hyphen.
    #[serde(alias = "nvme-path")]
    NvmePath,
    /// A CD or DVD drive.
    Optical,
    /// Another virtual device: nbd, bcache, drbd, zd (a ZFS volume).
    Virtual,
}

impl Kind {
    /// All kinds, with their names in JSON.
    pub const NAMES: [(Self, &str); 13] = [
        (Self::Disk, "disk"),
        (Self::Partition, "partition"),
        (Self::Loop, "loop"),
        (Self::Ram, "ram"),
        (Self::Zram, "zram"),
        (Self::Dm, "dm"),
        (Self::Lvm, "lvm"),
        (Self::Crypt, "crypt"),
        (Self::Multipath, "multipath"),
        (Self::Md, "md"),
        (Self::NvmePath, "nvme_path"),
        (Self::Optical, "optical"),
        (Self::Virtual, "virtual"),
    ];

    /// Returns the name of the kind in JSON.
    pub fn name(self) -> &'static str {
        let known = Self::NAMES.iter().find(|(kind, _)| *kind == self);
        known.map_or("", |(_, name)| name)
    }

    /// Returns whether the device stores its data in memory.
    pub fn is_memory(self) -> bool {
        matches!(self, Self::Ram | Self::Zram)
    }

    /// Infers the kind of a whole device from the kernel's name; [`Kind::Disk`] unless the name shows otherwise.
    /// Partitions cannot be recognized this way, because that requires the names of the disks.
    pub fn from_name(name: &str) -> Self {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_numbered = stem.len() < name.len();
        match stem {
            "loop" if is_numbered => Self::Loop,
            "ram" if is_numbered => Self::Ram,
            "zram" if is_numbered => Self::Zram,
            "dm-" if is_numbered => Self::Dm,
            "md" | "md_d" if is_numbered => Self::Md,
            "sr" | "scd" if is_numbered => Self::Optical,
            "nbd" | "drbd" | "bcache" | "zd" if is_numbered => Self::Virtual,
            _ if nvme_head(name).is_some() => Self::NvmePath,
            _ if name.starts_with("md_") => Self::Md,
            _ => Self::Disk,
        }
    }
}

/// The technology of a device, on which its unloaded latency depends.
///
/// The faster ones come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceClass {
    /// Flash in the host behind NVMe.
    Nvme,
    /// Flash behind SATA or SAS.
    Ssd,
    /// A volume of a cloud.
    Network,
    HardDisk,
}

impl DeviceClass {
    /// All classes, with their names in options.
    pub const NAMES: [(Self, &str); 4] = [
        (Self::HardDisk, "hdd"),
        (Self::Ssd, "ssd"),
        (Self::Nvme, "nvme"),
        (Self::Network, "network"),
    ];

    /// Returns its name in options.
    pub fn name(self) -> &'static str {
        let known = Self::NAMES.iter().find(|(class, _)| *class == self);
        known.map_or("", |(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounting_is_off_only_where_the_counters_do_not_change() {
        let is_off = |kind, iostats_enabled, ignores_iostats| {
            Node {
                kind,
                iostats_enabled,
                ignores_iostats,
                ..Node::default()
            }
            .is_accounting_off()
        };
        for (kind, _) in Kind::NAMES {
            assert!(
                !is_off(kind, None, None) && !is_off(kind, Some(true), Some(false)),
                "{kind:?}"
            );
            assert!(
                is_off(kind, Some(false), Some(false)) && !is_off(kind, Some(false), Some(true)),
                "{kind:?}"
            );
        }
        let unknown: Vec<Kind> = Kind::NAMES
            .into_iter()
            .map(|(kind, _)| kind)
            .filter(|kind| !is_off(*kind, Some(false), None))
            .collect();
        assert_eq!(
            unknown,
            [
                Kind::Zram,
                Kind::Dm,
                Kind::Lvm,
                Kind::Crypt,
                Kind::Md,
                Kind::Virtual
            ]
        );
    }

    #[test]
    fn a_recording_of_0_1_0_loads() {
        let old = r#"{"name":"nvme0c0n1","major":259,"minor":1,"kind":"nvme-path","known_as":"a","on":["b"],
            "size_bytes":512,"rotational":false,"scheduler":"none","nr_requests":64,"accounting":false,
            "backing_file":null,"mounts":["/"]}"#;
        let node: Node = serde_json::from_str(old).unwrap();
        let expected = Node {
            name: "nvme0c0n1".into(),
            major: 259,
            minor: 1,
            kind: Kind::NvmePath,
            alias: Some("a".into()),
            backing_devices: vec!["b".into()],
            size_bytes: Some(512),
            rotational: Some(false),
            scheduler: Some("none".into()),
            nr_requests: Some(64),
            iostats_enabled: Some(false),
            mountpoints: vec!["/".into()],
            ..Node::default()
        };
        assert_eq!(node, expected);
    }

    #[test]
    fn a_name_gives_the_kind() {
        let kinds = [
            "loop3",
            "zram0",
            "ram1",
            "dm-12",
            "md127",
            "nvme0c1n1",
            "nvme0n1",
            "sda",
            "cciss/c0d0",
        ]
        .map(Kind::from_name);
        let expected = [
            Kind::Loop,
            Kind::Zram,
            Kind::Ram,
            Kind::Dm,
            Kind::Md,
            Kind::NvmePath,
            Kind::Disk,
            Kind::Disk,
            Kind::Disk,
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn a_kind_has_the_same_name_in_json() {
        for (kind, _) in Kind::NAMES {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(
            serde_json::from_str::<Kind>("\"nvme-path\"").unwrap(),
            Kind::NvmePath
        );
    }
}
