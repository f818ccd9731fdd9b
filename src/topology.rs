//! The block-device tree: partitions, stacked devices, kinds, queue settings, mount points. Plain data, which `source`
//! reads from sysfs and procfs or which is inferred from the device names of a capture.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::counters::Device;

/// The most devices below or above one that are considered: more than any host stacks, but a damaged recording may say so of
/// each of many devices.
const MAX_STACKED: usize = 1000;

/// The block devices of a system and how they are stacked. In JSON it is the list of devices.
///
/// How much is known of each device depends on the source: sysfs describes it in full, a listing of sysfs or a capture
/// gives only names, kinds and partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Node>", into = "Vec<Node>")]
pub struct Topology {
    nodes: Vec<Node>,
    index_by_name: HashMap<String, usize>,
    /// Indices of the devices stacked directly on the device of each name.
    holders: HashMap<String, Vec<usize>>,
    /// Number of layers below each device, by index.
    depths: Vec<usize>,
    /// The identities that more than one device has.
    shared_identities: HashSet<String>,
}

impl From<Vec<Node>> for Topology {
    fn from(nodes: Vec<Node>) -> Self {
        Self::new(nodes)
    }
}

impl From<Topology> for Vec<Node> {
    fn from(topology: Topology) -> Self {
        topology.nodes
    }
}

impl Topology {
    /// Creates the tree of these devices. If several have the same name, lookups by name find the first.
    pub fn new(nodes: Vec<Node>) -> Self {
        let mut index_by_name = HashMap::with_capacity(nodes.len());
        let mut holders: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, node) in nodes.iter().enumerate() {
            index_by_name.entry(node.name.clone()).or_insert(index);
            for backing in &node.backing_devices {
                let list = holders.entry(backing.clone()).or_default();
                // A device that lists another one twice is still stacked on it only once.
                if list.last() != Some(&index) {
                    list.push(index);
                }
            }
        }
        let depths = depths(&nodes, &index_by_name);
        let shared_identities = shared_identities(&nodes);
        Self {
            nodes,
            index_by_name,
            holders,
            depths,
            shared_identities,
        }
    }

    /// Returns all devices, in the order in which the source lists them.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the device of this kernel name; `None` if it is not known.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.index_of(name).map(|index| &self.nodes[index])
    }

    /// Returns the identity of a device; `None` if it is not known or if other devices have the same: the paths of a
    /// multipath disk, or disks whose serial number is a dummy.
    pub fn identity(&self, name: &str) -> Option<&str> {
        let identity = self.node(name)?.identity.as_deref()?;
        (!self.shared_identities.contains(identity)).then_some(identity)
    }

    /// Returns the index of a device in [`Self::nodes`]; `None` if it is not known.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.index_by_name.get(name).copied()
    }

    /// Returns the devices directly below this one; empty if they are not known.
    pub fn backing_devices(&self, name: &str) -> &[String] {
        self.node(name).map_or(&[], |node| &node.backing_devices)
    }

    /// Returns all devices below one, on any layer, up to [`MAX_STACKED`].
    pub fn devices_below(&self, name: &str) -> Vec<String> {
        self.reach(name, |device| {
            let below = self.backing_devices(device);
            below.iter().map(String::as_str).collect()
        })
    }

    /// Returns all devices above one, on any layer, up to [`MAX_STACKED`].
    pub fn devices_above(&self, name: &str) -> Vec<String> {
        self.reach(name, |device| {
            let above = self.holders(device);
            above.map(|node| node.name.as_str()).collect()
        })
    }

    /// Returns what can be reached from a device in any number of steps. A recording may hold devices in a circle.
    fn reach<'a>(&'a self, name: &'a str, step: impl Fn(&str) -> Vec<&'a str>) -> Vec<String> {
        let mut reached = vec![name];
        let mut known = HashSet::from([name]);
        let mut position = 0;
        while let Some(device) = reached.get(position) {
            for next in step(device) {
                if reached.len() <= MAX_STACKED && known.insert(next) {
                    reached.push(next);
                }
            }
            position += 1;
        }
        reached[1..].iter().map(|name| (*name).to_owned()).collect()
    }

    /// Returns the devices stacked directly on this one, in the order of [`Self::nodes`].
    pub fn holders(&self, name: &str) -> impl DoubleEndedIterator<Item = &Node> {
        let indices = self.holders.get(name).map_or(&[][..], Vec::as_slice);
        indices.iter().map(|index| &self.nodes[*index])
    }

    /// Returns whether a device is of use: it is no unused RAM disk, nor an unused device that has no size because nothing
    /// backs it, such as a loop device without a file.
    pub fn is_of_use(&self, node: &Node) -> bool {
        let is_in_use = !node.mountpoints.is_empty() || self.holders(&node.name).next().is_some();
        let is_empty = node.size_bytes == Some(0) && node.backing_file.is_none();
        let may_be_unused =
            matches!(node.kind, Kind::Loop | Kind::Zram | Kind::Virtual) && is_empty;
        is_in_use || !(may_be_unused || node.kind == Kind::Ram)
    }

    /// Returns the number of layers below a device: 0 for a device that is not stacked on another, or an unknown one.
    /// For devices in a circle, it is some number up to the count of devices.
    pub fn depth(&self, name: &str) -> usize {
        self.index_of(name).map_or(0, |index| self.depths[index])
    }

    /// Returns the disk that `name` is a partition of; empty if that disk is not known, `None` for a whole device. An
    /// unknown device counts as whole.
    pub fn disk_of(&self, name: &str) -> Option<&str> {
        let node = self
            .node(name)
            .filter(|node| node.kind == Kind::Partition)?;
        Some(node.backing_devices.first().map_or("", String::as_str))
    }

    /// The loop devices that had no file. Once one completes requests, it has one, and this description is out of date.
    pub fn unbound_loops(&self) -> impl Iterator<Item = &str> {
        let unbound = self
            .nodes
            .iter()
            .filter(|node| node.kind == Kind::Loop && node.size_bytes.unwrap_or(0) == 0);
        unbound.map(|node| node.name.as_str())
    }

    /// Returns whether `name` is a whole device; see [`Self::disk_of`].
    pub fn is_whole(&self, name: &str) -> bool {
        self.disk_of(name).is_none()
    }

    /// Merges two descriptions of one system, such as sysfs and the directory of `iostat +f`: if both have a device,
    /// this description is used, unless it has a partition without a disk. Whole devices that `other` lists follow in
    /// its order, after those that only this one lists.
    pub fn merge(&self, other: &Self) -> Self {
        let lists = |node: &&Node| other.node(&node.name).is_some() && other.is_whole(&node.name);
        let only_here = self.nodes.iter().filter(|node| !lists(node));
        let merged = only_here
            .chain(other.nodes.iter().filter(lists))
            .map(|node| {
                let own = self.node(&node.name);
                let known = own.filter(|own| !own.is_orphan_partition());
                known
                    .or_else(|| other.node(&node.name))
                    .or(own)
                    .unwrap_or(node)
                    .clone()
            });
        Self::new(merged.collect())
    }
}

/// Returns the identities that more than one device has.
fn shared_identities(nodes: &[Node]) -> HashSet<String> {
    let mut seen = HashSet::new();
    let identities = nodes.iter().filter_map(|node| node.identity.as_deref());
    identities
        .filter(|identity| !seen.insert(*identity))
        .map(str::to_owned)
        .collect()
}

/// Returns the number of layers below each device; a backing device that is not listed counts as a layer, too.
///
/// Depth-first without recursion and visiting each device once: a hostile capture may have a stack of any depth, or one
/// with circles.
fn depths(nodes: &[Node], index_by_name: &HashMap<String, usize>) -> Vec<usize> {
    let mut depths = vec![0; nodes.len()];
    let mut is_visited = vec![false; nodes.len()];
    // Devices on the way down, each with the index of the backing device that is visited next.
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..nodes.len() {
        if !is_visited[start] {
            is_visited[start] = true;
            path.push((start, 0));
        }
        while let Some((index, next)) = path.last_mut() {
            let index = *index;
            let Some(backing) = nodes[index].backing_devices.get(*next) else {
                path.pop();
                continue;
            };
            match index_by_name.get(backing) {
                Some(backing) if !is_visited[*backing] => {
                    is_visited[*backing] = true;
                    path.push((*backing, 0));
                }
                backing => {
                    *next += 1;
                    // In a circle, a device that is still on the path counts as 0.
                    depths[index] =
                        depths[index].max(1 + backing.map_or(0, |backing| depths[*backing]));
                }
            }
        }
    }
    depths
}

/// A device that was requested by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDevice {
    /// The name that reports show.
    pub shown: String,
    /// Identifies the device among those of a sample.
    pub key: DeviceKey,
    /// The name that determines its position among others, if it differs from the name shown.
    pub sorts_as: Option<String>,
    /// True if its partitions were requested as well.
    pub partitions: bool,
}

/// Identifies a device among those of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceKey {
    /// The name in /proc/diskstats.
    Name(String),
    /// The major and minor number, for a device that was given as another node in /dev.
    Number(u32, u32),
}

impl NamedDevice {
    /// Creates the device of this name in /proc/diskstats.
    pub fn plain(name: &str) -> Self {
        Self {
            shown: name.to_owned(),
            key: DeviceKey::Name(name.to_owned()),
            sorts_as: None,
            partitions: false,
        }
    }

    /// Returns the name to show if it may differ from the kernel's; otherwise `None`.
    pub fn alias(&self) -> Option<String> {
        matches!(self.key, DeviceKey::Number(..)).then(|| self.shown.clone())
    }

    /// Returns whether `device` is the requested one.
    pub fn is(&self, device: &Device) -> bool {
        match &self.key {
            DeviceKey::Name(name) => *name == device.name,
            DeviceKey::Number(major, minor) => (*major, *minor) == (device.major, device.minor),
        }
    }
}

/// The major number of partitions whose minor number does not fit into the range of their disk (`BLOCK_EXT_MAJOR`).
const EXTENDED_MAJOR: u32 = 259;

/// Returns, for each device, the index of the disk that it is a partition of, judged by names and major numbers alone.
///
/// The disk must come earlier in the list and have the same major number, unless the partition has the extended one.
/// `None` for a whole device.
pub fn partition_parents(devices: &[Device]) -> Vec<Option<usize>> {
    let mut index_by_name: HashMap<&str, usize> = HashMap::with_capacity(devices.len());
    let mut parents = Vec::with_capacity(devices.len());
    for (index, device) in devices.iter().enumerate() {
        let has_its_major =
            |disk: &usize| devices[*disk].major == device.major || device.major == EXTENDED_MAJOR;
        let parent = possible_disks(&device.name)
            .into_iter()
            .flatten()
            .find_map(|disk| index_by_name.get(disk).copied().filter(has_its_major));
        parents.push(parent);
        index_by_name.entry(&device.name).or_insert(index);
    }
    parents
}

/// Returns the names of the disks that a partition called `name` could be on, the longest first.
pub fn possible_disks(name: &str) -> [Option<&str>; 2] {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() == name.len() || stem.is_empty() {
        return [None, None];
    }
    let before_p = stem
        .strip_suffix('p')
        .filter(|disk| disk.ends_with(|c: char| c.is_ascii_digit()));
    [Some(stem), before_p]
}

impl Topology {
    /// Infers kinds, partitions and the paths of NVMe multipath disks from names and major numbers.
    pub fn from_names(devices: &[Device]) -> Self {
        let node = |(device, parent): (&Device, Option<usize>)| Node {
            name: device.name.clone(),
            major: device.major,
            minor: device.minor,
            kind: if parent.is_some() {
                Kind::Partition
            } else {
                Kind::from_name(&device.name)
            },
            backing_devices: parent
                .map(|index| devices[index].name.clone())
                .into_iter()
                .collect(),
            ..Node::default()
        };
        let mut nodes: Vec<Node> = devices
            .iter()
            .zip(partition_parents(devices))
            .map(node)
            .collect();
        link_nvme_paths(&mut nodes);
        Self::new(nodes)
    }
}

/// Adds the paths of NVMe multipath disks to their backing devices: `nvme0n1` is on `nvme0c0n1` and `nvme0c1n1`, the
/// paths of the same subsystem and namespace.
pub fn link_nvme_paths(nodes: &mut [Node]) {
    let mut paths: HashMap<String, Vec<String>> = HashMap::new();
    for node in nodes.iter().filter(|node| node.kind == Kind::NvmePath) {
        if let Some(head) = nvme_head(&node.name) {
            paths.entry(head).or_default().push(node.name.clone());
        }
    }
    for node in nodes.iter_mut().filter(|node| node.kind != Kind::NvmePath) {
        node.backing_devices
            .extend(paths.remove(&node.name).unwrap_or_default());
    }
}

/// Returns the sort key that orders names naturally: `sdb` before `sdaa`, `loop2` before `loop10`.
pub fn natural_key(name: &str) -> Vec<(String, usize, String)> {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut key = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let word = rest.find(is_digit).unwrap_or(rest.len());
        let digits = rest[word..]
            .find(|c| !is_digit(c))
            .unwrap_or(rest.len() - word);
        let (letters, number) = (
            &rest[..word],
            rest[word..word + digits].trim_start_matches('0'),
        );
        // `sdaa` follows `sdz` as 27 follows 26, so longer words sort last; the first two letters name the driver.
        let driver = letters
            .char_indices()
            .nth(2)
            .map_or(letters.len(), |(at, _)| at);
        key.push((
            letters[..driver].to_owned(),
            letters.len(),
            letters.to_owned(),
        ));
        key.push((String::new(), number.len(), number.to_owned()));
        rest = &rest[word + digits..];
    }
    key
}

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
    /// may share one: see [`Topology::identity`].
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
    fn is_mapped(&self) -> bool {
        let is_mapping = matches!(
            self.kind,
            Kind::Dm | Kind::Lvm | Kind::Crypt | Kind::Multipath | Kind::Md
        );
        is_mapping && !self.backing_devices.is_empty()
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
        let may_ignore = || matches!(self.kind, Dm | Lvm | Crypt | Md | Zram | Virtual);
        self.iostats_enabled == Some(false) && !self.ignores_iostats.unwrap_or_else(may_ignore)
    }

    /// Returns whether both describe the same device, rather than another one that took its name, as far as the kernel
    /// numbers disks.
    pub fn is_same_instance(&self, other: &Self) -> bool {
        (&self.name, self.major, self.minor, self.diskseq)
            == (&other.name, other.major, other.minor, other.diskseq)
    }

    /// Returns whether the device is a swap area in use.
    pub fn is_swap(&self) -> bool {
        self.mountpoints
            .iter()
            .any(|mountpoint| mountpoint == Self::SWAP)
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
        Self::NAMES
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("", |(_, name)| name)
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
        Self::NAMES
            .iter()
            .find(|(class, _)| *class == self)
            .map_or("", |(_, name)| name)
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
    fn is_virtual(&self) -> bool {
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
            Some(if is_azure {
                Provider::Azure
            } else {
                Provider::Other
            })
        } else if is(&self.sys_vendor, "Google") || is(&self.product_name, "Google Compute Engine")
        {
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
            let below: Vec<&String> = here
                .backing_devices
                .iter()
                .filter(|below| !self.is_nvme_path(below))
                .collect();
            node = match below.as_slice() {
                [] => {
                    let size_bytes = here.size_bytes.filter(|_| !has_loop);
                    return (provider(here, machine), size_bytes);
                }
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
fn provider(disk: &Node, machine: &Machine) -> Option<Provider> {
    let model = disk.model.as_deref().unwrap_or_default();
    if disk.kind.is_memory()
        || model.starts_with(EC2_LOCAL_MODEL)
        || model.starts_with(AZURE_LOCAL_MODEL)
    {
        Some(Provider::Other)
    } else if model == EBS_MODEL {
        Some(Provider::Aws)
    } else {
        machine.provider()
    }
}

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
        let stated = [name, disk]
            .into_iter()
            .find_map(|name| self.node(name)?.stated_class);
        if stated.is_some() {
            return stated;
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
        let disk = node.name.as_str();
        let is_volume = provider(node, machine).is_some_and(|provider| provider != Provider::Other);
        let model = node.model.as_deref().unwrap_or_default().trim();
        let is_local = model.starts_with(EC2_LOCAL_MODEL) || model.starts_with(AZURE_LOCAL_MODEL);
        let lower_model = model.to_lowercase();
        // Without a model it may be anything: the kernel assumes that disks are rotational if they do not report it.
        let is_model_of_disk = !model.is_empty()
            && !OTHER_MODELS
                .split(',')
                .any(|other| lower_model.contains(other));
        let is_single = is_model_of_disk && !machine.is_virtual();
        match node.rotational {
            _ if is_volume => Some(DeviceClass::Network),
            _ if disk.starts_with("nvme") => (is_single || is_local).then_some(DeviceClass::Nvme),
            Some(is_rotational)
                if is_single && !OTHER_NAMES.iter().any(|start| disk.starts_with(start)) =>
            {
                Some(if is_rotational {
                    DeviceClass::HardDisk
                } else {
                    DeviceClass::Ssd
                })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod mod_tests {
    use super::*;

    fn node(name: &str, on: &[&str]) -> Node {
        let on = on.iter().map(|name| (*name).to_owned()).collect();
        Node {
            name: name.into(),
            backing_devices: on,
            ..Node::default()
        }
    }

    fn partition(name: &str, disk: &[&str]) -> Node {
        Node {
            kind: Kind::Partition,
            ..node(name, disk)
        }
    }

    fn names<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Vec<&'a str> {
        nodes.into_iter().map(|node| node.name.as_str()).collect()
    }

    #[test]
    fn depth_counts_the_layers_below() {
        let topology = Topology::new(vec![
            node("sda", &[]),
            node("sda1", &["sda"]),
            node("dm-0", &["sda1", "sdb"]),
            node("sdb", &[]),
        ]);
        assert_eq!(
            ["sda", "sda1", "dm-0", "sdb", "nope"].map(|name| topology.depth(name)),
            [0, 1, 2, 0, 0]
        );
        assert_eq!(names(topology.holders("sda")), ["sda1"]);
    }

    #[test]
    fn a_circle_ends() {
        let topology = Topology::new(vec![node("a", &["b"]), node("b", &["a"])]);
        assert_eq!(topology.depth("a"), 2);
    }

    #[test]
    fn a_deep_stack_with_many_paths_down_is_walked_once() {
        let mut nodes: Vec<Node> = vec![node("0", &[])];
        for i in 1..100_000 {
            let two = [(i - 1).to_string(), i32::max(0, i - 2).to_string()];
            nodes.push(node(&i.to_string(), &[&two[0], &two[1]]));
        }
        nodes.reverse();
        let topology = Topology::new(nodes);
        assert_eq!(topology.depth("99999"), 99_999);
        assert_eq!(topology.holders("0").count(), 2);
    }

    #[test]
    fn a_device_of_unknown_standing_is_a_partition_of_a_nameless_disk() {
        let topology = Topology::new(vec![
            node("sda", &[]),
            partition("sda1", &["sda"]),
            partition("x", &[]),
        ]);
        assert_eq!(
            ["sda", "sda1", "x", "y"].map(|name| topology.disk_of(name)),
            [None, Some("sda"), Some(""), None]
        );
        assert!(topology.is_whole("y") && !topology.is_whole("x"));
    }

    #[test]
    fn merging_keeps_what_either_knows() {
        let ours = Topology::new(vec![
            node("sdb", &[]),
            node("sda", &[]),
            partition("sda1", &["sda"]),
            partition("sdx", &[]),
            partition("sdx1", &[]),
            partition("y", &[]),
        ]);
        let theirs = Topology::new(vec![
            node("sdx", &[]),
            node("sdb", &[]),
            partition("sda", &[]),
            partition("sda1", &[]),
            partition("sdx1", &["sdx"]),
            partition("y", &[]),
        ]);
        let merged = ours.merge(&theirs);
        assert_eq!(
            names(
                merged
                    .nodes()
                    .iter()
                    .filter(|node| node.kind != Kind::Partition)
            ),
            ["sda", "sdx", "sdb"]
        );
        assert_eq!(
            ["sda", "sdb", "sdx", "sda1", "sdx1", "y"].map(|name| merged.disk_of(name)),
            [None, None, None, Some("sda"), Some("sdx"), Some("")]
        );
    }

    #[test]
    fn an_identity_that_several_devices_have_identifies_none_of_them() {
        let with = |name: &str, identity: &str| Node {
            identity: Some(identity.into()),
            ..node(name, &[])
        };
        let topology = Topology::new(vec![
            with("sda", "a"),
            with("sdb", "b"),
            with("sdc", "b"),
            node("sdd", &[]),
        ]);
        assert_eq!(
            ["sda", "sdb", "sdc", "sdd", "sde"].map(|name| topology.identity(name)),
            [Some("a"), None, None, None, None]
        );
    }

    #[test]
    fn json_is_the_list_of_devices() {
        let topology = Topology::new(vec![node("sda", &[]), node("sda1", &["sda"])]);
        let json = serde_json::to_string(&topology).unwrap();
        assert!(
            json.starts_with(r#"[{"name":"sda","major":0,"minor":0,"kind":"disk""#),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<Topology>(&json).unwrap(), topology);
    }
}

#[cfg(test)]
mod partitions_tests {
    use super::*;

    fn parents(names: &[(u32, &str)]) -> Vec<Option<usize>> {
        let device = |&(major, name): &(u32, &str)| Device {
            major,
            name: name.into(),
            ..Device::default()
        };
        let devices: Vec<_> = names.iter().map(device).collect();
        partition_parents(&devices)
    }

    #[test]
    fn a_partition_belongs_to_the_disk_whose_name_it_extends() {
        let names = [
            (8, "sda"),
            (8, "sda1"),
            (8, "sda15"),
            (259, "nvme0n1"),
            (259, "nvme0n1p1"),
            (104, "cciss/c0d0"),
            (104, "cciss/c0d0p2"),
        ];
        assert_eq!(
            parents(&names),
            [None, Some(0), Some(0), None, Some(3), None, Some(5)]
        );
    }

    #[test]
    fn a_higher_number_does_not_make_a_partition_of_a_lower_one() {
        assert_eq!(
            parents(&[(253, "dm-1"), (253, "dm-10"), (7, "loop1"), (7, "loop10")]),
            [None; 4]
        );
        assert_eq!(
            parents(&[(8, "sda"), (8, "sdaa"), (8, "sdaa1")]),
            [None, None, Some(1)]
        );
    }

    #[test]
    fn the_major_number_must_match_or_be_the_extended_one() {
        assert_eq!(parents(&[(8, "sda"), (9, "sda1")]), [None, None]);
        assert_eq!(
            parents(&[(8, "sda"), (259, "sda16"), (7, "loop0"), (259, "loop0p1")]),
            [None, Some(0), None, Some(2)]
        );
    }

    #[test]
    fn the_disk_must_be_listed_before_its_partition() {
        assert_eq!(parents(&[(8, "sda1"), (8, "sda")]), [None, None]);
    }

    #[test]
    fn names_give_kinds_partitions_and_nvme_paths() {
        let names = [
            (259, "nvme0c0n1"),
            (259, "nvme0c1n1"),
            (259, "nvme0n1"),
            (259, "nvme0n1p1"),
            (253, "dm-0"),
        ];
        let device = |&(major, name): &(u32, &str)| Device {
            major,
            name: name.into(),
            ..Device::default()
        };
        let topology = Topology::from_names(&names.iter().map(device).collect::<Vec<_>>());
        assert_eq!(
            topology.node("nvme0n1").unwrap().backing_devices,
            ["nvme0c0n1", "nvme0c1n1"]
        );
        assert_eq!(topology.disk_of("nvme0n1p1"), Some("nvme0n1"));
        assert_eq!(topology.node("nvme0c1n1").unwrap().kind, Kind::NvmePath);
        assert_eq!(topology.node("dm-0").unwrap().kind, Kind::Dm);
        assert_eq!(topology.depth("nvme0n1p1"), 2);
    }

    #[test]
    fn names_are_ordered_as_people_count() {
        let mut names = [
            "sdaa", "vda", "sdb", "loop10", "sda10", "loop2", "sda2", "nvme10n1", "nvme2n1", "sda",
        ];
        names.sort_by_cached_key(|name| natural_key(name));
        let expected = [
            "loop2", "loop10", "nvme2n1", "nvme10n1", "sda", "sda2", "sda10", "sdb", "sdaa", "vda",
        ];
        assert_eq!(names, expected);
    }
}

#[cfg(test)]
mod node_tests {
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

#[cfg(test)]
mod provider_tests {
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
