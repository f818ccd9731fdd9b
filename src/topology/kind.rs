//! Kinds of block devices.

use serde::{Deserialize, Serialize};

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
    pub const ALL: [Self; 13] = [
        Self::Disk,
        Self::Partition,
        Self::Loop,
        Self::Ram,
        Self::Zram,
        Self::Dm,
        Self::Lvm,
        Self::Crypt,
        Self::Multipath,
        Self::Md,
        Self::NvmePath,
        Self::Optical,
        Self::Virtual,
    ];

    /// Returns the name of the kind in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Partition => "partition",
            Self::Loop => "loop",
            Self::Ram => "ram",
            Self::Zram => "zram",
            Self::Dm => "dm",
            Self::Lvm => "lvm",
            Self::Crypt => "crypt",
            Self::Multipath => "multipath",
            Self::Md => "md",
            Self::NvmePath => "nvme_path",
            Self::Optical => "optical",
            Self::Virtual => "virtual",
        }
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

/// Returns the name of the multipath disk that an NVMe path leads to: `nvme0n1` for `nvme0c1n1`, which the kernel
/// composes of subsystem, controller and namespace. `None` for another name.
pub(crate) fn nvme_head(name: &str) -> Option<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (subsystem, rest) = name.strip_prefix("nvme")?.split_once('c')?;
    let (controller, namespace) = rest.split_once('n')?;
    [subsystem, controller, namespace]
        .into_iter()
        .all(is_number)
        .then(|| format!("nvme{subsystem}n{namespace}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_the_kind() {
        let kinds = ["loop3", "zram0", "ram1", "dm-12", "md127", "nvme0c1n1", "nvme0n1", "sda", "cciss/c0d0"]
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
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(serde_json::from_str::<Kind>("\"nvme-path\"").unwrap(), Kind::NvmePath);
    }
}
