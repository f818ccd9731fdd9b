//! The folder of one device in /sys.

use std::collections::HashSet;
use std::fs::read_dir;
use std::path::{Path, PathBuf};

use super::{line, number, within};
use crate::source::sysfs::shown_name;
use crate::topology::possible_disks;
use crate::topology::{Kind, Node, natural_key};

/// Every device that /sys/block lists, and the partitions in their folders.
pub(super) fn read_all(root: &Path) -> Vec<Node> {
    let block = within(root, root.join("sys/block"));
    let mut names = listing(&block);
    names.sort_by_cached_key(|name| natural_key(name));
    let listed: HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut nodes = Vec::with_capacity(names.len());
    for name in &names {
        let device = Folder::open(root, block.join(name), name);
        let mut disk = device.node();
        if disk.kind == Kind::Partition {
            // A made-up tree may list partitions beside their disks.
            disk.backing_devices.extend(
                possible_disks(name).into_iter().flatten().find(|disk| listed.contains(disk)).map(shown_name),
            );
        }
        let parts = device.partitions().into_iter().filter(|part| !listed.contains(part.as_str()));
        let parts: Vec<Node> = parts.map(|part| device.partition(&part, &disk)).collect();
        nodes.push(disk);
        nodes.extend(parts);
    }
    nodes
}

/// The names in a folder, in no order; none where it cannot be read.
fn listing(folder: &Path) -> Vec<String> {
    let entries = read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

struct Folder {
    path: PathBuf,
    /// As in /sys, where `!` stands for a slash.
    name: String,
    /// What lies in it.
    entries: HashSet<String>,
    /// It lies among the devices that stand for no hardware.
    is_virtual: bool,
}

impl Folder {
    fn open(root: &Path, path: PathBuf, name: &str) -> Self {
        // The NVMe subsystems of multipath disks are below `virtual` as well, but not in `block`.
        let among_virtual = |target: PathBuf| target.to_string_lossy().contains("devices/virtual/block/");
        let is_virtual = path.read_link().is_ok_and(among_virtual);
        let path = within(root, path);
        let entries = listing(&path).into_iter().collect();
        Self { path, name: name.to_owned(), entries, is_virtual }
    }

    fn has(&self, entry: &str) -> bool {
        self.entries.contains(entry)
    }

    fn line(&self, entry: &str) -> Option<String> {
        line(&self.path.join(entry))
    }

    /// A flag in the folder of the queue: 0 or 1.
    fn flag(&self, entry: &str) -> Option<bool> {
        match self.line(entry)?.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    fn node(&self) -> Node {
        let (major, minor) = numbers(&self.path);
        let mut node = Node {
            name: shown_name(&self.name),
            major,
            minor,
            kind: self.kind(),
            alias: if self.has("dm") { self.line("dm/name") } else { None },
            backing_devices: members(&self.path),
            size_bytes: size_bytes(&self.path),
            ..Node::default()
        };
        if self.has("queue") {
            node.rotational = self.flag("queue/rotational");
            node.scheduler = self.line("queue/scheduler").and_then(|text| chosen(&text));
            node.nr_requests = self.line("queue/nr_requests").and_then(|text| text.parse().ok());
            node.iostats_enabled = self.flag("queue/iostats");
        }
        if self.has("loop") {
            node.backing_file = self.line("loop/backing_file");
        }
        node
    }

    fn kind(&self) -> Kind {
        if self.has("partition") {
            return Kind::Partition;
        }
        let by_name = Kind::by_name(&shown_name(&self.name));
        match by_name {
            Kind::Dm => self.line("dm/uuid").map_or(Kind::Dm, |uuid| mapped(&uuid)),
            Kind::Disk if self.has("dm") => self.line("dm/uuid").map_or(Kind::Dm, |uuid| mapped(&uuid)),
            Kind::Disk if self.has("md") => Kind::Md,
            Kind::Disk if self.has("hidden") && self.flag("hidden") == Some(true) => Kind::NvmePath,
            Kind::Disk if self.has("loop") => Kind::Loop,
            Kind::Disk if self.is_virtual => Kind::Virtual,
            kind => kind,
        }
    }

    /// The folders of its partitions, in their order.
    fn partitions(&self) -> Vec<String> {
        let is_part = |entry: &&String| possible_disks(entry).contains(&Some(self.name.as_str()));
        let mut parts: Vec<String> = self.entries.iter().filter(is_part).cloned().collect();
        parts.retain(|part| self.path.join(part).is_dir());
        parts.sort_by_cached_key(|name| natural_key(name));
        parts
    }

    fn partition(&self, name: &str, disk: &Node) -> Node {
        let path = self.path.join(name);
        let (major, minor) = numbers(&path);
        Node {
            name: shown_name(name),
            major,
            minor,
            kind: Kind::Partition,
            backing_devices: vec![disk.name.clone()],
            size_bytes: size_bytes(&path),
            // A partition has no queue of its own: its requests go through that of the disk, and whether they
            // are counted is set there for both.
            rotational: disk.rotational,
            scheduler: disk.scheduler.clone(),
            nr_requests: disk.nr_requests,
            iostats_enabled: disk.iostats_enabled,
            ..Node::default()
        }
    }
}

/// What a device-mapper device is, by who made it.
fn mapped(uuid: &str) -> Kind {
    let kinds = [("LVM-", Kind::Lvm), ("CRYPT-", Kind::Crypt), ("mpath-", Kind::Multipath)];
    kinds.into_iter().find(|(prefix, _)| uuid.starts_with(prefix)).map_or(Kind::Dm, |(_, kind)| kind)
}

/// The device number; 0:0, as the kernel prints it for hidden devices, where there is none.
fn numbers(folder: &Path) -> (u32, u32) {
    line(&folder.join("dev")).as_deref().and_then(number).unwrap_or_default()
}

/// The file counts sectors of 512 bytes, whatever those of the device are.
fn size_bytes(folder: &Path) -> Option<u64> {
    line(&folder.join("size"))?.parse::<u64>().ok()?.checked_mul(512)
}

/// The devices that it was put together from.
fn members(folder: &Path) -> Vec<String> {
    let mut names = listing(&folder.join("slaves"));
    names.sort_by_cached_key(|name| natural_key(name));
    names.iter().map(|name| shown_name(name)).collect()
}

/// The scheduler in brackets, or the only one.
fn chosen(text: &str) -> Option<String> {
    let bracketed = || text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name);
    let only = || Some(text).filter(|text| !text.contains([' ', '[']));
    bracketed().or_else(only).filter(|name| !name.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_is_the_one_in_brackets() {
        let of = |text: &str| chosen(text);
        assert_eq!(of("[none] mq-deadline kyber").as_deref(), Some("none"));
        assert_eq!(of("none [mq-deadline]").as_deref(), Some("mq-deadline"));
        assert_eq!(of("none").as_deref(), Some("none"));
        assert_eq!(of("none bfq"), None);
        assert_eq!(of("[]"), None);
    }

    #[test]
    fn whoever_made_a_mapped_device_tells_its_kind() {
        let kinds = ["LVM-abc", "CRYPT-LUKS2-12-root", "mpath-360", "part1-mpath-360", ""].map(mapped);
        assert_eq!(kinds, [Kind::Lvm, Kind::Crypt, Kind::Multipath, Kind::Dm, Kind::Dm]);
    }
}
