//! The directory of block devices, `/sys/block` or that of `iostat -f`, and that of one device. It has an entry for each whole
//! device, which contains the entries of its partitions.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::read_dir;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::counters::{Device, parse_device_number};
use crate::source::small_file::{read_line, resolve_in_root};
use crate::topology::{Kind, Node, Topology, bounded_text, natural_key, possible_disks};

/// The directory of a whole device.
pub(super) struct SysfsDevice {
    path: PathBuf,
    name: String,
    entries: HashSet<String>,
    /// It is below `devices/virtual/block`, so it is not hardware.
    is_virtual: bool,
}

impl SysfsDevice {
    /// Opens the entry of a device in `block`; an entry that cannot be read counts as empty.
    pub(super) fn open(root: &Path, block: &Path, name: &str) -> Self {
        let link = device_dir(block, name);
        // The heads of NVMe multipath disks are below `virtual` as well, but in `nvme-subsystem`.
        let target = link.read_link().unwrap_or_default();
        let path = resolve_in_root(root, link);
        let entries = list_devices(&path).unwrap_or_default();
        Self {
            path,
            name: name.to_owned(),
            entries: HashSet::from_iter(entries),
            is_virtual: target.to_string_lossy().contains("devices/virtual/block/"),
        }
    }

    /// Returns whether the directory has an entry of this name.
    pub(super) fn has(&self, entry: &str) -> bool {
        self.entries.contains(entry)
    }

    /// Returns the path of a file in the directory.
    pub(super) fn file(&self, entry: &str) -> PathBuf {
        self.path.join(entry)
    }

    /// Reads the first line of a file; `None` if it cannot be read or is empty.
    pub(super) fn line(&self, entry: &str) -> Option<String> {
        read_line(&self.path.join(entry))
    }

    /// Reads a file that contains a number.
    fn number<T: FromStr>(&self, entry: &str) -> Option<T> {
        self.line(entry)?.parse().ok()
    }

    /// Reads a file that contains 0 or 1.
    fn flag(&self, entry: &str) -> Option<bool> {
        match self.line(entry)?.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    /// Reads the properties of the device. `kernel` is the version as major and minor number.
    pub(super) fn node(&self, kernel: Option<(u32, u32)>) -> Node {
        // Without a number, 0:0, which the kernel prints for hidden devices.
        let (major, minor) = read_devno(&self.path).unwrap_or_default();
        let mut slaves = list_devices(&self.file("slaves")).unwrap_or_default();
        slaves.sort_by_cached_key(|name| natural_key(name));
        let mut node = Node {
            name: self.name.clone(),
            major,
            minor,
            kind: self.kind(),
            alias: self.line("dm/name"),
            backing_devices: slaves,
            size_bytes: size_bytes(&self.path),
            model: self.line("device/model").as_deref().map(bounded_text),
            diskseq: self.number("diskseq"),
            rotational: self.flag("queue/rotational"),
            scheduler: active_scheduler(&self.line("queue/scheduler").unwrap_or_default()),
            nr_requests: self.number("queue/nr_requests"),
            iostats_enabled: self.flag("queue/iostats"),
            backing_file: self.line("loop/backing_file"),
            ..Node::default()
        };
        if node.iostats_enabled.is_some() {
            // blk-mq, the kernel's layer for request-based drivers, has a directory `mq` for each of its devices.
            node.ignores_iostats = match self.has("mq") {
                true => Some(false),
                false => ignores_iostats(node.kind, kernel),
            };
        }
        node
    }

    fn kind(&self) -> Kind {
        if self.has("partition") {
            return Kind::Partition;
        }
        match Kind::from_name(&self.name) {
            kind if kind == Kind::Dm || kind == Kind::Disk && self.has("dm") => {
                kind_of_uuid(&self.line("dm/uuid").unwrap_or_default())
            }
            Kind::Disk if self.has("md") => Kind::Md,
            Kind::Disk if self.flag("hidden") == Some(true) => Kind::NvmePath,
            Kind::Disk if self.has("loop") => Kind::Loop,
            Kind::Disk if self.is_virtual => Kind::Virtual,
            kind => kind,
        }
    }

    /// Returns the partitions in natural order. `disk` is the node of this device.
    pub(super) fn partitions(&self, disk: &Node) -> Vec<Node> {
        let mut partitions = Vec::new();
        for name in &self.entries {
            if possible_disks(name).contains(&Some(self.name.as_str()))
                && device_dir(&self.path, name).is_dir()
            {
                partitions.push(self.partition(name, disk));
            }
        }
        partitions.sort_by_cached_key(|node| natural_key(&node.name));
        partitions
    }

    fn partition(&self, name: &str, disk: &Node) -> Node {
        let path = device_dir(&self.path, name);
        let (major, minor) = read_devno(&path).unwrap_or_default();
        Node {
            name: name.to_owned(),
            major,
            minor,
            kind: Kind::Partition,
            backing_devices: vec![disk.name.clone()],
            size_bytes: size_bytes(&path),
            // Requests to a partition go through the queue of its disk, whose settings apply to both.
            rotational: disk.rotational,
            scheduler: disk.scheduler.clone(),
            nr_requests: disk.nr_requests,
            iostats_enabled: disk.iostats_enabled,
            ignores_iostats: disk.ignores_iostats,
            diskseq: disk.diskseq,
            ..Node::default()
        }
    }
}

/// Returns whether a driver counts requests even if `queue/iostats` is 0, by the measurements of
/// [`Node::is_accounting_off`]; `None` if they do not show it.
///
/// Device-mapper devices are assumed to be bio-based. Kernels before 6.1 are assumed to behave like 6.1, which does not
/// check the setting yet.
fn ignores_iostats(kind: Kind, kernel: Option<(u32, u32)>) -> Option<bool> {
    match kind {
        Kind::Disk | Kind::Partition | Kind::Loop | Kind::Ram | Kind::NvmePath | Kind::Optical => {
            Some(false)
        }
        Kind::Zram => Some(true),
        Kind::Md if kernel? >= (6, 1) => Some(false),
        Kind::Md => None,
        Kind::Dm | Kind::Lvm | Kind::Crypt | Kind::Multipath => match kernel? {
            (..=5, _) | (6, ..=1) => Some(true),
            (6, 2..=11) => None,
            _ => Some(false),
        },
        Kind::Virtual => None,
    }
}

/// Returns the kind of a device-mapper device by the prefix of its UUID, which the program that created it chose.
fn kind_of_uuid(uuid: &str) -> Kind {
    match uuid.split_once('-') {
        Some(("LVM", _)) => Kind::Lvm,
        Some(("CRYPT", _)) => Kind::Crypt,
        Some(("mpath", _)) => Kind::Multipath,
        _ => Kind::Dm,
    }
}

/// Reads the size, which the kernel gives in units of 512 bytes for any sector size.
fn size_bytes(dir: &Path) -> Option<u64> {
    read_line(&dir.join("size"))?
        .parse::<u64>()
        .ok()?
        .checked_mul(512)
}

/// Returns the scheduler in brackets, or the only one.
fn active_scheduler(text: &str) -> Option<String> {
    let name = match text.split_once('[') {
        Some((_, rest)) => rest.split_once(']')?.0,
        None if text.contains(' ') => return None,
        None => text,
    };
    if name.is_empty() {
        return None;
    }
    Some(name.to_owned())
}

/// Returns the directory of a device below `block`, or of a partition below its disk. A name in sysfs cannot contain
/// a slash; the kernel replaces it by `!`.
pub(in crate::source) fn device_dir(block: &Path, name: &str) -> PathBuf {
    let entry = if name.contains('/') {
        Cow::Owned(name.replace('/', "!"))
    } else {
        Cow::Borrowed(name)
    };
    block.join(&*entry)
}

/// Returns the name in /proc/diskstats of the device of a sysfs entry.
pub(in crate::source) fn device_name(entry: &str) -> String {
    entry.replace('!', "/")
}

/// Reads the device number (major, minor) in the directory of a device; `None` if there is none.
pub(in crate::source) fn read_devno(dir: &Path) -> Option<(u32, u32)> {
    parse_device_number(&read_line(&dir.join("dev"))?)
}

/// Lists the device names of the entries in a directory, in the order in which the kernel lists them.
///
/// # Errors
/// If the directory cannot be read.
pub fn list_devices(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in read_dir(dir)?.flatten() {
        if let Some(name) = entry.file_name().to_str() {
            names.push(device_name(name));
        }
    }
    Ok(names)
}

/// Reads which devices are whole and which are partitions. It only lists `sys/block` and looks up each partition, so it
/// is cheap even with hundreds of devices, for reports that need nothing else.
///
/// The entries of `sys/block` are whole devices, in the order listed. Any other of `devices` is a partition of the disk
/// whose directory contains it, or of an unknown disk. Without `sys/block`, partitions are inferred from the names.
pub fn read_partitions(sys: &Path, devices: &[Device]) -> Topology {
    let block = sys.join("block");
    let Ok(listed) = list_devices(&block) else {
        // No listing gives the order of whole devices.
        let mut nodes: Vec<Node> = Topology::from_names(devices).into();
        nodes.retain(|node| node.kind == Kind::Partition);
        return Topology::new(nodes);
    };
    let mut nodes = Vec::new();
    for name in &listed {
        nodes.push(Node {
            kind: Kind::from_name(name),
            name: name.clone(),
            ..Node::default()
        });
    }
    let disks: HashSet<&str> = listed.iter().map(String::as_str).collect();
    for device in devices {
        if disks.contains(device.name.as_str()) {
            continue;
        }
        nodes.push(Node {
            name: device.name.clone(),
            kind: Kind::Partition,
            backing_devices: Vec::from_iter(find_disk(&block, &listed, &disks, &device.name)),
            ..Node::default()
        });
    }
    Topology::new(nodes)
}

/// Returns the disk whose directory contains `partition`; disks that its name suggests are tried first. `disks` is
/// `listed` as a set.
fn find_disk(
    block: &Path,
    listed: &[String],
    disks: &HashSet<&str>,
    partition: &str,
) -> Option<String> {
    let mut candidates = Vec::from_iter(possible_disks(partition).into_iter().flatten());
    candidates.retain(|disk| disks.contains(disk));
    candidates.extend(listed.iter().map(String::as_str));
    for disk in candidates {
        if device_dir(&device_dir(block, disk), partition).is_dir() {
            return Some(disk.to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_scheduler_is_the_one_in_brackets() {
        for (text, scheduler) in [
            ("[none] mq-deadline kyber", Some("none")),
            ("none [mq-deadline]", Some("mq-deadline")),
            ("none", Some("none")),
            ("none bfq", None),
            ("[]", None),
        ] {
            assert_eq!(active_scheduler(text).as_deref(), scheduler, "{text}");
        }
    }

    #[test]
    fn the_uuid_of_a_mapped_device_gives_its_kind() {
        for (uuid, kind) in [
            ("LVM-abc", Kind::Lvm),
            ("CRYPT-LUKS2-12-root", Kind::Crypt),
            ("mpath-360", Kind::Multipath),
            ("part1-mpath-360", Kind::Dm),
            ("", Kind::Dm),
        ] {
            assert_eq!(kind_of_uuid(uuid), kind, "{uuid}");
        }
    }

    #[test]
    fn device_mapper_obeys_iostats_in_later_kernels_only() {
        let versions = [
            None,
            Some((4, 18)),
            Some((6, 1)),
            Some((6, 8)),
            Some((6, 12)),
            Some((7, 0)),
        ];
        let of = |kind| versions.map(|kernel| ignores_iostats(kind, kernel));
        assert_eq!(
            of(Kind::Lvm),
            [None, Some(true), Some(true), None, Some(false), Some(false)]
        );
        assert_eq!(
            of(Kind::Md),
            [
                None,
                None,
                Some(false),
                Some(false),
                Some(false),
                Some(false)
            ]
        );
    }
}
