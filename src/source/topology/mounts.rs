//! Mount points and swap areas, and the devices that they name.

use std::collections::HashSet;
use std::path::Path;

use procfs::process::MountInfo;

use crate::counters::parse_device_number;
use crate::source::small_file::{link_target_name, mountinfos, read_text, resolve_in_root};
use crate::topology::Node;

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    mountpoint: String,
    /// The device number, which for some file systems (btrfs) is not that of a block device; `None` if only the name is
    /// known.
    devno: Option<(u32, u32)>,
    /// The mounted device, by the name given to mount(8).
    source: String,
    /// Only a directory of the file system is mounted here (a bind mount). Not so in btrfs, whose subvolumes are
    /// mounted like that.
    is_part: bool,
}

/// The mounts of a system in their order, then its swap areas as mounts at [`Node::SWAP`].
#[derive(Debug, Default)]
pub(super) struct Mounts(Vec<Mount>);

impl Mounts {
    /// Reads the mounts below `root`.
    pub(super) fn read(root: &Path) -> Self {
        let mut mounts: Vec<Mount> = Vec::new();
        for text in mountinfos(root) {
            mounts.extend(text.lines().filter_map(parse_mountinfo));
            if !mounts.is_empty() {
                break;
            }
        }
        if mounts.is_empty() {
            let text = read_text(&resolve_in_root(root, root.join("proc/mounts")));
            mounts.extend(text.unwrap_or_default().lines().filter_map(parse_mounts));
        }
        let swaps = read_text(&resolve_in_root(root, root.join("proc/swaps")));
        mounts.extend(swaps.unwrap_or_default().lines().filter_map(parse_swaps));
        Self(mounts)
    }

    /// Returns the mount points of each device, by its index, each mount point once. Bind mounts are left out if the
    /// whole file system is mounted as well: every sandbox, such as that of a service, has its own.
    pub(super) fn by_device(&self, devices: &DeviceIndex<'_>) -> Vec<Vec<String>> {
        let mut mounts = Vec::new();
        let mut has_whole = HashSet::new();
        for mount in &self.0 {
            let Some(device) = devices.of_mount(mount) else {
                continue;
            };
            mounts.push((device, mount));
            if !mount.is_part {
                has_whole.insert(device);
            }
        }
        let mut mountpoints = vec![Vec::new(); devices.nodes.len()];
        let mut seen = HashSet::new();
        for (device, mount) in mounts {
            let is_shown = !mount.is_part || !has_whole.contains(&device);
            if is_shown && seen.insert((device, &mount.mountpoint)) {
                mountpoints[device].push(mount.mountpoint.clone());
            }
        }
        mountpoints
    }

    /// Returns the device of the file system that contains a file.
    pub(super) fn device_of_file(&self, file: &str, devices: &DeviceIndex<'_>) -> Option<usize> {
        devices.of_mount(self.mount_of(Path::new(file))?)
    }

    /// Returns the mount that contains a file, given by its absolute path; `None` if no mount is known for it. The last mount
    /// at a mount point hides those before it. A single file can be a mount point, too: a container gets its disk image so.
    fn mount_of(&self, file: &Path) -> Option<&Mount> {
        for dir in file.ancestors() {
            let mut mounts = self.0.iter().rev();
            if let Some(mount) = mounts.find(|mount| Path::new(&mount.mountpoint) == dir) {
                return Some(mount);
            }
        }
        None
    }
}

/// Parses a line of /proc/PID/mountinfo.
fn parse_mountinfo(line: &str) -> Option<Mount> {
    let info = MountInfo::from_line(line).ok()?;
    Some(Mount {
        is_part: info.root != "/" && info.fs_type != "btrfs",
        // procfs does not decode the escapes.
        mountpoint: unescape(info.mount_point.to_str()?),
        devno: parse_device_number(&info.majmin),
        source: unescape(&info.mount_source.unwrap_or_default()),
    })
}

/// Parses a line of /proc/mounts. The parser of procfs decodes only some of the escapes; the others can then no
/// longer be distinguished from literal text.
fn parse_mounts(line: &str) -> Option<Mount> {
    let (source, rest) = line.split_once(' ')?;
    let mountpoint = rest.split(' ').next()?;
    if mountpoint.is_empty() {
        return None;
    }
    Some(Mount {
        mountpoint: unescape(mountpoint),
        devno: None,
        source: unescape(source),
        is_part: false,
    })
}

/// Parses a line of /proc/swaps; `None` for a swap file and for the header.
fn parse_swaps(line: &str) -> Option<Mount> {
    let mut words = line.split_whitespace();
    let path = words.next()?;
    if words.next()? != "partition" {
        return None;
    }
    Some(Mount {
        mountpoint: Node::SWAP.to_owned(),
        devno: None,
        source: unescape(path),
        is_part: false,
    })
}

/// Decodes the kernel's escapes: a backslash and three octal digits are a byte.
pub(in crate::source) fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'\\'
            && let Some((digits, after)) = tail.split_at_checked(3)
            && let Some(byte) = octal(digits)
        {
            bytes.push(byte);
            rest = after;
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn octal(digits: &[u8]) -> Option<u8> {
    // Parsing would accept a sign.
    if digits.starts_with(b"+") {
        return None;
    }
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()
}

/// Finds the index of a device in a list of nodes.
pub(super) struct DeviceIndex<'a> {
    /// The root of the system that the nodes are of.
    pub(super) root: &'a Path,
    pub(super) nodes: &'a [Node],
}

impl DeviceIndex<'_> {
    fn of_mount(&self, mount: &Mount) -> Option<usize> {
        // Hidden devices share the number 0:0.
        if let Some(devno) = mount.devno
            && devno != (0, 0)
            && let Some(index) = self.find(|node| (node.major, node.minor) == devno)
        {
            return Some(index);
        }
        self.by_dev_path(&mount.source)
    }

    /// Returns the device of a path in /dev: a kernel name, a name in /dev/mapper or in an LVM directory, or a link.
    fn by_dev_path(&self, path: &str) -> Option<usize> {
        let name = path.strip_prefix("/dev/")?;
        if let Some(index) = self.find(|node| node.name == name) {
            return Some(index);
        }
        if let Some(mapper_name) = name.strip_prefix("mapper/")
            && let Some(index) = self.by_mapper_name(mapper_name)
        {
            return Some(index);
        }
        if let Some((group, volume)) = name.split_once('/') {
            // LVM doubles the hyphens within names, so that a single one separates the volume group from the volume.
            let [group, volume] = [group, volume].map(|name| name.replace('-', "--"));
            if let Some(index) = self.by_mapper_name(&format!("{group}-{volume}")) {
                return Some(index);
            }
        }
        let target = link_target_name(&self.root.join("dev").join(name))?;
        self.find(|node| node.name == target)
    }

    fn by_mapper_name(&self, name: &str) -> Option<usize> {
        self.find(|node| node.name.starts_with("dm-") && node.alias.as_deref() == Some(name))
    }

    fn find(&self, is: impl Fn(&Node) -> bool) -> Option<usize> {
        self.nodes.iter().position(is)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(mountpoint: &str, devno: Option<(u32, u32)>, source: &str) -> Mount {
        Mount {
            mountpoint: mountpoint.into(),
            devno,
            source: source.into(),
            is_part: false,
        }
    }

    #[test]
    fn escapes_are_bytes() {
        assert_eq!(
            unescape(r"/mnt/my\040disk\134040\011"),
            "/mnt/my disk\\040\t"
        );
        assert_eq!(unescape(r"/a\04"), r"/a\04");
        assert_eq!(unescape(r"/a\999\+12\"), r"/a\999\+12\");
        assert_eq!(unescape(r"/\303\244"), "/ä");
    }

    #[test]
    fn a_line_gives_mount_point_device_and_source() {
        let line =
            r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let bind = mount("/mnt 2", Some((98, 0)), "/dev/root");
        assert_eq!(
            parse_mountinfo(line),
            Some(Mount {
                is_part: true,
                ..bind
            })
        );
        for whole in [line.replace("/mnt1", "/"), line.replace("ext3", "btrfs")] {
            assert_eq!(
                parse_mountinfo(&whole),
                Some(mount("/mnt 2", Some((98, 0)), "/dev/root")),
                "{whole}"
            );
        }
        assert_eq!(parse_mountinfo("36 35 98:0 /mnt1"), None);
        assert_eq!(
            parse_mounts(r"/dev/sda1 /mnt\0402 ext4 rw 0 0"),
            Some(mount("/mnt 2", None, "/dev/sda1"))
        );
        assert_eq!(parse_mounts("nonsense"), None);
    }

    #[test]
    fn a_swap_file_is_not_a_device() {
        assert_eq!(
            parse_swaps("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority"),
            None
        );
        assert_eq!(
            parse_swaps("/dev/dm-1   partition\t8388604\t0\t-2"),
            Some(mount("[SWAP]", None, "/dev/dm-1"))
        );
        assert_eq!(parse_swaps("/swapfile   file\t8388604\t0\t-2"), None);
    }

    #[test]
    fn the_longest_mount_point_holds_a_file_and_the_last_mount_there() {
        let points = [
            ("/", 1),
            ("/srv", 2),
            ("/srv", 3),
            ("/srvx", 4),
            ("/images/a.img", 5),
        ];
        let all = points
            .iter()
            .map(|(point, minor)| mount(point, Some((8, *minor)), ""))
            .collect();
        let mounts = Mounts(all);
        let minor = |file: &str| mounts.mount_of(Path::new(file)).unwrap().devno.unwrap().1;
        assert_eq!(
            [
                minor("/srv/a/b.img"),
                minor("/srvy"),
                minor("/srvx/a (deleted)"),
                minor("/images/a.img"),
                minor("/images/b.img")
            ],
            [3, 1, 4, 5, 1]
        );
        assert_eq!(mounts.mount_of(Path::new("relative")), None);
    }
}
