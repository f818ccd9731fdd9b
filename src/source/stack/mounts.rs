//! Where devices are mounted, and what is swapped to.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use procfs::process::MountInfo;

use super::{Known, number, text, within};

/// What stands in the place of a mount point for a device that is swapped to, as lsblk has it.
const SWAP: &str = "[SWAP]";

/// Something that is mounted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// Where.
    pub(super) point: String,
    /// The number of the device, which is made up for the likes of btrfs; `None` where only names are known.
    pub(super) number: Option<(u32, u32)>,
    /// What was mounted, as it was called.
    pub(super) source: String,
}

/// What is mounted and swapped to, in the order in which it was.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    all: Vec<Mount>,
    /// The last mount at each point, which hides those before.
    at: HashMap<PathBuf, usize>,
    swaps: Vec<String>,
}

impl Mounts {
    /// The mounts below `root`: those of the first process where `root` is not this machine's, as that of a host in
    /// a container, and else those of this one.
    pub(super) fn read(root: &Path) -> Self {
        let first: &[&str] = if root == Path::new("/") { &[] } else { &["proc/1/mountinfo"] };
        let read = |path: &str| text(&within(root, root.join(path)));
        let infos = first.iter().chain(&["proc/self/mountinfo"]).map(|path| (path, info as fn(&str) -> _));
        let all = infos.chain([(&"proc/mounts", plain as fn(&str) -> _)]).find_map(|(path, parse)| {
            let mounts: Vec<Mount> = read(path)?.lines().filter_map(parse).collect();
            Some(mounts).filter(|mounts| !mounts.is_empty())
        });
        let swaps = read("proc/swaps").unwrap_or_default().lines().filter_map(swap).collect();
        Self::new(all.unwrap_or_default(), swaps)
    }

    fn new(all: Vec<Mount>, swaps: Vec<String>) -> Self {
        let at = all.iter().enumerate().map(|(place, mount)| (PathBuf::from(&mount.point), place)).collect();
        Self { all, at, swaps }
    }

    /// By the place of a device where it is mounted, each mount point once.
    pub(super) fn by_device(&self, known: &Known<'_>) -> Vec<Vec<String>> {
        let mut points = vec![Vec::new(); known.count];
        let mut seen = HashSet::new();
        let mounts = self.all.iter().filter_map(|mount| {
            let place = known.numbered(mount.number).or_else(|| known.noded(&mount.source))?;
            Some((place, mount.point.as_str()))
        });
        let swaps = self.swaps.iter().filter_map(|path| Some((known.noded(path)?, SWAP)));
        for (place, point) in mounts.chain(swaps) {
            if seen.insert((place, point)) {
                points[place].push(point.to_owned());
            }
        }
        points
    }

    /// The mount that a file lies on.
    pub(super) fn holding(&self, file: &Path) -> Option<&Mount> {
        file.ancestors().skip(1).find_map(|folder| self.at.get(folder)).map(|place| &self.all[*place])
    }
}

/// A line of /proc/PID/mountinfo.
fn info(line: &str) -> Option<Mount> {
    let info = MountInfo::from_line(line).ok()?;
    Some(Mount {
        // The crate hands the kernel's escapes on.
        point: unescaped(info.mount_point.to_str()?),
        number: number(&info.majmin),
        source: unescaped(&info.mount_source.unwrap_or_default()),
    })
}

/// A line of /proc/mounts. The crate's parser of it undoes some of the escapes and leaves others, so that nobody
/// can tell which are left.
fn plain(line: &str) -> Option<Mount> {
    let (source, rest) = line.split_once(' ')?;
    let point = rest.split(' ').next().filter(|point| !point.is_empty())?;
    Some(Mount { point: unescaped(point), number: None, source: unescaped(source) })
}

/// The device of a line of /proc/swaps; `None` for a file and for the header.
fn swap(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let path = words.next()?;
    (words.next()? == "partition").then(|| unescaped(path))
}

/// Without the kernel's escapes: a backslash and three octal digits are a byte.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = tail.get(..3).filter(|_| *first == b'\\').and_then(octal);
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn octal(digits: &[u8]) -> Option<u8> {
    // A sign would be taken for part of the number.
    let digits = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?;
    u8::from_str_radix(digits, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(point: &str, number: Option<(u32, u32)>, source: &str) -> Mount {
        Mount { point: point.into(), number, source: source.into() }
    }

    #[test]
    fn escapes_are_bytes() {
        assert_eq!(unescaped(r"/mnt/my\040disk\134040\011"), "/mnt/my disk\\040\t");
        assert_eq!(unescaped(r"/a\04"), r"/a\04");
        assert_eq!(unescaped(r"/a\999\+12\"), r"/a\999\+12\");
        assert_eq!(unescaped(r"/\303\244"), "/ä");
    }

    #[test]
    fn a_line_says_what_is_mounted_where() {
        let line = r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        assert_eq!(info(line), Some(mount("/mnt 2", Some((98, 0)), "/dev/root")));
        assert_eq!(info("36 35 98:0 /mnt1"), None);
        assert_eq!(plain(r"/dev/sda1 /mnt\0402 ext4 rw 0 0"), Some(mount("/mnt 2", None, "/dev/sda1")));
        assert_eq!(plain("nonsense"), None);
    }

    #[test]
    fn swap_files_are_no_devices() {
        assert_eq!(swap("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority"), None);
        assert_eq!(swap("/dev/dm-1   partition\t8388604\t0\t-2").as_deref(), Some("/dev/dm-1"));
        assert_eq!(swap("/swapfile   file\t8388604\t0\t-2"), None);
    }

    #[test]
    fn a_file_lies_on_the_last_mount_at_the_longest_point() {
        let points = [("/", 1), ("/srv", 2), ("/srv", 3), ("/srvx", 4)];
        let all = points.iter().map(|(point, minor)| mount(point, Some((8, *minor)), "")).collect();
        let mounts = Mounts::new(all, Vec::new());
        let minor = |file: &str| mounts.holding(Path::new(file)).unwrap().number.unwrap().1;
        assert_eq!([minor("/srv/a/b.img"), minor("/srvy"), minor("/srvx/a (deleted)")], [3, 1, 4]);
        assert_eq!(mounts.holding(Path::new("relative")), None);
    }
}
