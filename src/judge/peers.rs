//! Each disk beside its peers: disks that should be alike, with a like load on the same host at the same time. One that takes
//! longer than they do is slow, even if it always was.

use std::collections::BTreeMap;

use super::best::upper_median;
use super::load::Load;
use super::thresholds::{
    CLEARLY_LESS, CLEARLY_MORE, HOLD_FRACTION, MIN_CONFIRMATIONS, MIN_QUEUE, MIN_REQUESTS,
    PEER_STEP_S, PEER_SUM,
};
use crate::attribution::IoDirection;
use crate::topology::{Kind, Topology};

/// A device is slower than its peers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowBesidePeers {
    pub direction: IoDirection,
    /// Its latency as a multiple of the median of its peers.
    pub times: f64,
    pub peers: usize,
    /// Seconds for which this has lasted.
    pub lasted_s: f64,
}

/// The disks of a group, as many as a large shelf holds. Each is compared with all others, so that the time for ten thousand
/// disks of one model would grow with their square.
const MAX_GROUP: usize = 64;

/// Returns the groups of disks that should be alike, by their indices: whole disks of one array or, outside of arrays, of one
/// model, size and class; where nothing but names is known, of one kind of name. Never partitions, stacked devices or paths.
/// Groups that are too large are divided into equal parts, in the order of names.
pub(super) fn peer_groups(names: &[&str], topology: &Topology) -> Vec<Vec<usize>> {
    let mut index_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, name) in names.iter().enumerate() {
        index_of.insert(name, index);
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for array in topology.nodes() {
        if !matches!(array.kind, Kind::Md | Kind::Dm | Kind::Lvm | Kind::Virtual) {
            continue;
        }
        let mut by_model: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for member in &array.backing_devices {
            let disk = topology.disk_of(member).unwrap_or(member);
            let node = topology.node(disk).filter(|node| node.kind == Kind::Disk);
            if let (Some(node), Some(index)) = (node, index_of.get(disk)) {
                let members = by_model.entry((&node.model, node.rotational)).or_default();
                if !members.contains(index) {
                    members.push(*index);
                }
            }
        }
        groups.extend(by_model.into_values());
    }
    let mut by_kind: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (name, index) in &index_of {
        if topology.is_path(name) {
            continue;
        }
        let node = topology.node(name).filter(|node| node.kind == Kind::Disk);
        if let (Some(node), Some(prefix)) = (node, name_prefix(name)) {
            let kind = (&node.model, node.size_bytes, node.rotational, prefix);
            by_kind.entry(kind).or_default().push(*index);
        }
    }
    groups.extend(by_kind.into_values());
    // A disk is in one group at most: the first in which it has enough peers.
    let mut is_grouped = vec![false; names.len()];
    groups.retain_mut(|group| {
        group.retain(|index| !is_grouped[*index]);
        let has_enough_peers = group.len() > MIN_CONFIRMATIONS;
        for index in group {
            is_grouped[*index] |= has_enough_peers;
        }
        has_enough_peers
    });
    let mut parts = Vec::new();
    for group in groups {
        let count = group.len().div_ceil(MAX_GROUP);
        for part in group.chunks(group.len().div_ceil(count)) {
            parts.push(part.to_vec());
        }
    }
    parts
}

/// The part of a disk's name that disks of one kind share; `None` for names that do not show the kind.
fn name_prefix(name: &str) -> Option<&'static str> {
    ["nvme", "mmcblk", "xvd", "sd", "vd", "hd", "dasd"]
        .into_iter()
        .find(|prefix| name.starts_with(prefix))
}

/// A disk beside its peers over time, for reads or for writes.
#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    /// A running sum (CUSUM) of ln(ratio), less half of ln 1.5: it grows while the disk is clearly slower.
    sum: f64,
    /// The ratio to the median, smoothed; 0 before the first comparison.
    ratio: f64,
    is_slow: bool,
    lasted_s: f64,
}

/// What the reads or the writes of a disk show in a step.
#[derive(Clone, Copy, Debug)]
struct Shown {
    ms: f64,
    rate: f64,
    kib: f64,
}

impl Shown {
    /// `None` if too few completed.
    fn of(load: &Load, kind: usize) -> Option<Self> {
        let requests = load.kinds[kind];
        (requests.count >= MIN_REQUESTS && requests.ms > 0.0).then(|| Self {
            ms: requests.await_ms(),
            rate: requests.count / load.seconds,
            kib: requests.size_kib(),
        })
    }

    fn is_like(&self, other: &Self) -> bool {
        is_within(self.rate, other.rate, MIN_QUEUE) && is_within(self.kib, other.kib, CLEARLY_MORE)
    }
}

/// Returns whether two amounts differ by this factor at most.
fn is_within(a: f64, b: f64, factor: f64) -> bool {
    a <= factor * b && b <= factor * a
}

/// The reads and the writes of a disk in a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerLoad {
    seconds: f64,
    shown: [Option<Shown>; 2],
}

impl PeerLoad {
    pub(super) fn of(load: &Load) -> Self {
        Self {
            seconds: load.seconds,
            shown: [Shown::of(load, 0), Shown::of(load, 1)],
        }
    }
}

/// The standing of reads and of writes of a disk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeerHistory {
    standing: [Standing; 2],
}

impl PeerHistory {
    /// The latency of reads and of writes as multiples of the median of the peers; `None` if it was never compared.
    pub(super) fn ratios(&self) -> [Option<f64>; 2] {
        self.standing
            .map(|standing| (standing.ratio > 0.0).then_some(standing.ratio))
    }

    /// Compares the disk at an index of a group with the others in a step; a disk without data is `None`. Returns how much slower
    /// it is; `None` if it is not, or if no three peers had a like load.
    pub(super) fn compare(
        &mut self,
        at: usize,
        group: &[Option<PeerLoad>],
    ) -> Option<SlowBesidePeers> {
        let own = group[at]?;
        let mut found = None;
        for (kind, standing) in self.standing.iter_mut().enumerate() {
            let Some(now) = own.shown[kind] else {
                continue;
            };
            let mut like = Vec::new();
            for (index, other) in group.iter().enumerate() {
                if let Some(other) = other.and_then(|other| other.shown[kind])
                    && index != at
                    && now.is_like(&other)
                {
                    like.push(other.ms);
                }
            }
            if like.len() < MIN_CONFIRMATIONS {
                continue;
            }
            let ratio = now.ms / upper_median(like.iter().copied());
            if standing.observe(ratio, own.seconds) {
                let directions = [IoDirection::Reads, IoDirection::Writes];
                found = Some(SlowBesidePeers {
                    direction: directions[kind],
                    times: standing.ratio,
                    peers: like.len(),
                    lasted_s: standing.lasted_s,
                });
            }
        }
        found
    }
}

impl Standing {
    /// Takes the ratio to the median of the peers in a step. Returns whether the disk is slow.
    fn observe(&mut self, ratio: f64, seconds: f64) -> bool {
        /// Of the newest ratio in the smoothed one.
        const WEIGHT: f64 = 0.1;
        /// More than is needed, so that a disk that has been slow for long is not for as long after.
        const MAX_SUM: f64 = 1.1 * PEER_SUM;
        let excess = (ratio / CLEARLY_MORE.sqrt()).ln();
        let weight = (seconds / PEER_STEP_S).min(1.0);
        self.sum = (self.sum + weight * excess).clamp(0.0, MAX_SUM);
        self.ratio = if self.ratio > 0.0 {
            self.ratio.powf(1.0 - WEIGHT) * ratio.powf(WEIGHT)
        } else {
            ratio
        };
        let was_slow = self.is_slow;
        let (hold, least) = if was_slow {
            (HOLD_FRACTION, -(1.0 - CLEARLY_LESS))
        } else {
            (1.0, 0.0)
        };
        self.is_slow = self.sum >= hold * PEER_SUM && excess > least;
        self.lasted_s = if self.is_slow {
            self.lasted_s + seconds
        } else {
            0.0
        };
        self.is_slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Node;

    #[test]
    fn a_group_of_many_disks_is_divided_equally() {
        let mut names = Vec::new();
        for number in 0..130 {
            names.push(format!("nvme{number:03}n1"));
        }
        let mut nodes = Vec::new();
        for name in &names {
            let name = name.clone();
            nodes.push(Node {
                name,
                ..Node::default()
            });
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let groups = peer_groups(&names, &Topology::new(nodes));
        let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
        assert_eq!(sizes, [44, 44, 42]);
        assert_eq!(groups.concat(), (0..130).collect::<Vec<_>>());
    }
}
