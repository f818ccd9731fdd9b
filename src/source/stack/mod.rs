//! What is stacked on what, as /sys and /proc tell: made of the folders of the devices, then of what only several
//! of them together say.

mod folder;
mod mounts;
mod names;

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::topology::{Kind, Node, Topology};

use mounts::Mounts;
pub use names::topology_from_names;

/// No file in /sys is longer than a page, which is 64 KiB at most.
const LONGEST: u64 = 64 * 1024;

/// The block devices of the machine below `root`, whole devices by name and each followed by its partitions.
///
/// Reads `ROOT/sys/block`, the mounts and the swap areas in `ROOT/proc`, and links in `ROOT/dev`. What is missing,
/// cannot be read or makes no sense is `None` or empty; without `ROOT/sys/block` there are no devices.
pub fn read_topology(root: &Path) -> Topology {
    let mut nodes = folder::read_all(root);
    names::add_links(root, &mut nodes);
    let mounts = Mounts::read(root);
    let known = Known::new(root, &nodes);
    let mounted = mounts.by_device(&known);
    let below_loops: Vec<Option<String>> = nodes
        .iter()
        .map(|node| {
            let place = known.holding(node.backing_file.as_deref()?, &mounts)?;
            Some(nodes[place].name.clone())
        })
        .collect();
    for ((node, mounts), below) in nodes.iter_mut().zip(mounted).zip(below_loops) {
        node.mountpoints = mounts;
        node.backing_devices.extend(below.filter(|_| node.kind == Kind::Loop));
    }
    names::pair_nvme_paths(&mut nodes);
    Topology::new(nodes)
}

/// Finds the place of a device in the list by what a file calls it.
struct Known<'a> {
    root: &'a Path,
    count: usize,
    by_name: HashMap<String, usize>,
    by_mapper_name: HashMap<String, usize>,
    by_number: HashMap<(u32, u32), usize>,
}

impl<'a> Known<'a> {
    fn new(root: &'a Path, nodes: &[Node]) -> Self {
        let of_mapper = |node: &Node| node.name.starts_with("dm-");
        let numbered = |(place, node): (usize, &Node)| ((node.major, node.minor), place);
        let mapper_named = |(place, node): (usize, &Node)| {
            let name = node.alias.clone().filter(|_| of_mapper(node))?;
            Some((name, place))
        };
        Self {
            root,
            count: nodes.len(),
            by_name: nodes.iter().enumerate().map(|(place, node)| (node.name.clone(), place)).collect(),
            by_mapper_name: nodes.iter().enumerate().filter_map(mapper_named).collect(),
            by_number: nodes.iter().enumerate().map(numbered).collect(),
        }
    }

    /// The device of this number. 0:0 is what stands where there is none.
    fn numbered(&self, number: Option<(u32, u32)>) -> Option<usize> {
        self.by_number.get(&number.filter(|number| *number != (0, 0))?).copied()
    }

    /// The device of a node in /dev, by its path: the kernel's name, the device-mapper's, LVM's folders, or a link.
    fn noded(&self, path: &str) -> Option<usize> {
        let name = path.strip_prefix("/dev/")?;
        let by_name = || self.by_name.get(name);
        let by_mapper_name = || self.by_mapper_name.get(name.strip_prefix("mapper/")?);
        // In the names of LVM a hyphen is doubled, so that a single one can stand between group and volume.
        let by_volume = || {
            let (group, volume) = name.split_once('/')?;
            self.by_mapper_name.get(&format!("{}-{}", group.replace('-', "--"), volume.replace('-', "--")))
        };
        let by_link = || {
            let target = self.root.join("dev").join(name).read_link().ok()?;
            self.by_name.get(target.file_name()?.to_str()?)
        };
        by_name().or_else(by_mapper_name).or_else(by_volume).or_else(by_link).copied()
    }

    /// The device of the file system that holds a file.
    fn holding(&self, file: &str, mounts: &Mounts) -> Option<usize> {
        let mount = mounts.holding(Path::new(file))?;
        self.numbered(mount.number).or_else(|| self.noded(&mount.source))
    }
}

/// Where `path` leads below `root`: a link in a copied tree may be absolute, and must not lead to this machine.
fn within(root: &Path, path: PathBuf) -> PathBuf {
    if root == Path::new("/") {
        return path;
    }
    match path.read_link() {
        Ok(target) if target.is_absolute() && !is_below(&target, root) => {
            root.join(target.strip_prefix("/").unwrap_or(&target))
        }
        _ => path,
    }
}

fn is_below(target: &Path, root: &Path) -> bool {
    target.starts_with(root) || root.canonicalize().is_ok_and(|root| target.starts_with(root))
}

/// The first line of a small file without the blanks around it; `None` where it cannot be read or is empty.
fn line(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    OpenOptions::new().read(true).open(path).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().next().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned)
}

/// A whole file; `None` where it cannot be read.
fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    OpenOptions::new().read(true).open(path).ok()?.read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// `8:1` as numbers.
fn number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
