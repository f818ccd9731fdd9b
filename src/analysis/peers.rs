//! Each device beside its peers: devices of one kind that serve a like load on the same host at the same time. One that
//! takes longer than they do is slow, even if it always was.

use std::collections::{BTreeMap, VecDeque};

use super::load::IoDirection;
use super::stats::{IoTotals, median};
use super::thresholds::{
    CHANCE_SIGMAS, CLOSED_LOOP_TOLERANCE, DEFAULT_SATURATION_THRESHOLD, MAX_LIKE_RATIO,
    MAX_MINOR_TIME_FRACTION, MIN_CONFIRMATIONS, MIN_LATENCY_REQUESTS, MIN_LATENCY_SUM_MS,
    MIN_LIKE_PEERS_FRACTION, MIN_PEERS, MIN_SATURATED_QUEUE, MIN_SLOW_PEER_RATIO, MOST_FRACTION,
    PEER_WINDOW_ROUNDS, SAME_RATE_TOLERANCE,
};
use crate::metrics::Interval;
use crate::topology::{Kind, Topology};

/// Seconds over which devices are compared at once, at least.
pub const PEER_ROUND_S: f64 = 60.0;
/// The directions that are compared.
const DIRECTIONS: [IoDirection; 2] = [IoDirection::Reads, IoDirection::Writes];

/// Devices that should be alike, by their indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerGroup {
    members: Vec<usize>,
    relation: Relation,
}

/// Why devices should be alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// They are members of one array, which spreads its requests over them.
    Array,
    /// They are of one model and size.
    Model,
    /// Nothing but their names is known, so that only an even load shows that they belong together.
    Name,
}

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

impl PeerGroup {
    /// The groups of these devices. A device is in one at most.
    pub fn all<'a>(names: impl Iterator<Item = &'a str>, topology: &Topology) -> Vec<Self> {
        let index_of: BTreeMap<&str, usize> = names
            .enumerate()
            .map(|(index, name)| (name, index))
            .collect();
        let mut is_grouped = vec![false; index_of.len()];
        let mut groups = Vec::new();
        let mut add = |members: Vec<usize>, relation| {
            let members: Vec<usize> = members
                .into_iter()
                .filter(|index| !is_grouped[*index])
                .collect();
            if members.len() > MIN_PEERS {
                members.iter().for_each(|index| is_grouped[*index] = true);
                groups.push(Self { members, relation });
            }
        };
        let is_array = |kind| matches!(kind, Kind::Md | Kind::Dm | Kind::Lvm | Kind::Virtual);
        for array in topology.nodes().iter().filter(|node| is_array(node.kind)) {
            let mut by_model: BTreeMap<_, Vec<usize>> = BTreeMap::new();
            for name in &array.backing_devices {
                let disk = topology.node(topology.disk_of(name).unwrap_or(name));
                if let Some((index, disk)) = index_of.get(name.as_str()).zip(disk) {
                    by_model
                        .entry((&disk.model, disk.rotational))
                        .or_default()
                        .push(*index);
                }
            }
            by_model
                .into_values()
                .for_each(|members| add(members, Relation::Array));
        }
        let mut by_kind: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (name, index) in &index_of {
            let node = topology.node(name).filter(|node| node.kind == Kind::Disk);
            let is_path = topology
                .holders(name)
                .any(|holder| holder.kind == Kind::Multipath);
            if let Some((node, prefix)) = node.zip(name_prefix(name)).filter(|_| !is_path) {
                let kind = (
                    node.model.as_deref(),
                    node.size_bytes,
                    node.rotational,
                    prefix,
                );
                by_kind.entry(kind).or_default().push(*index);
            }
        }
        for ((model, size_bytes, ..), members) in by_kind {
            let is_known = model.is_some() || size_bytes.is_some();
            add(
                members,
                if is_known {
                    Relation::Model
                } else {
                    Relation::Name
                },
            );
        }
        groups
    }

    /// The indices of its devices.
    pub fn members(&self) -> &[usize] {
        &self.members
    }

    /// Compares the rounds of its members, which are in the same order.
    pub fn compare(&self, rounds: &[PeerRound]) -> Vec<Comparison> {
        let mut found = vec![Comparison::default(); rounds.len()];
        for (at, direction) in DIRECTIONS.into_iter().enumerate() {
            let is_known = |round: &&PeerRound| round.has_latency(direction);
            let known: Vec<&PeerRound> = rounds.iter().filter(is_known).collect();
            if known.len() <= MIN_PEERS {
                continue;
            }
            for (place, round) in found
                .iter_mut()
                .zip(rounds)
                .filter(|(_, round)| is_known(round))
            {
                let others: Vec<&PeerRound> = known
                    .iter()
                    .copied()
                    .filter(|other| !std::ptr::eq(*other, round))
                    .collect();
                place[at] = round
                    .times(&others, direction, self.relation)
                    .map(|times| (times, others.len()));
            }
        }
        found
    }
}

/// The multiple of the median latency of the peers, with their number, of reads and writes; `None` without a peer that
/// it can be compared with.
pub(crate) type Comparison = [Option<(f64, usize)>; DIRECTIONS.len()];

/// The part of a disk's name that disks of one kind share; `None` for names that do not show the kind.
fn name_prefix(name: &str) -> Option<&'static str> {
    ["nvme", "xvd", "sd", "vd", "hd", "dasd"]
        .into_iter()
        .find(|prefix| name.starts_with(prefix))
}

fn other(direction: IoDirection) -> IoDirection {
    if direction == IoDirection::Reads {
        IoDirection::Writes
    } else {
        IoDirection::Reads
    }
}

/// The requests of a device in a round.
#[derive(Clone, Copy, Debug, Default)]
pub struct PeerRound {
    reads: IoTotals,
    writes: IoTotals,
    seconds: f64,
    intervals: u32,
    /// The intervals whose requests came without regard to those in flight.
    open_intervals: u32,
}

impl PeerRound {
    fn add(&mut self, stats: &Interval) {
        self.seconds += stats.seconds();
        self.intervals += 1;
        if let Some((reads, writes)) = IoTotals::of(&stats.reads).zip(IoTotals::of(&stats.writes)) {
            self.reads = self.reads.plus(&reads);
            self.writes = self.writes.plus(&writes);
            let queue = (reads.ms + writes.ms) / 1000.0 / stats.seconds();
            let is_open =
                |in_flight: u64| (in_flight as f64 - queue).abs() > CLOSED_LOOP_TOLERANCE * queue;
            self.open_intervals += u32::from(stats.in_flight.is_some_and(is_open));
        }
    }

    fn totals(&self, direction: IoDirection) -> &IoTotals {
        if direction == IoDirection::Reads {
            &self.reads
        } else {
            &self.writes
        }
    }

    fn has_latency(&self, direction: IoDirection) -> bool {
        let totals = self.totals(direction);
        totals.ios >= MIN_LATENCY_REQUESTS && totals.ms >= MIN_LATENCY_SUM_MS
    }

    fn await_ms(&self, direction: IoDirection) -> f64 {
        self.totals(direction).await_ms().unwrap_or(0.0)
    }

    fn size_kib(&self, direction: IoDirection) -> f64 {
        self.totals(direction).size_kib().unwrap_or(0.0)
    }

    fn rate(&self, direction: IoDirection) -> f64 {
        self.totals(direction).ios / self.seconds
    }

    fn queue(&self) -> f64 {
        (self.reads.ms + self.writes.ms) / 1000.0 / self.seconds
    }

    /// Its latency as a multiple of that of its peers; `None` unless most of these are alike, and its load is like theirs
    /// and no higher.
    fn times(&self, others: &[&Self], direction: IoDirection, relation: Relation) -> Option<f64> {
        let median_of = |of: &dyn Fn(&Self) -> f64| median(others.iter().map(|one| of(one)));
        let ratio_of = |of: &dyn Fn(&Self) -> f64| Some(of(self) / median_of(of)?);
        let usual_ms = median_of(&|one| one.await_ms(direction))?;
        let times = self.await_ms(direction) / usual_ms;
        let alike = others
            .iter()
            .filter(|one| is_like(one.await_ms(direction) / usual_ms))
            .count();
        if (alike as f64) < MIN_LIKE_PEERS_FRACTION * others.len() as f64 {
            return None;
        }
        let rate_ratio = ratio_of(&|one| one.rate(direction))?;
        let queue_ratio = ratio_of(&Self::queue)?;
        let is_major =
            |of: &IoTotals| of.ms > MAX_MINOR_TIME_FRACTION * (self.reads.ms + self.writes.ms);
        let other = other(direction);
        let is_like_mix =
            !is_major(self.totals(other)) || is_at_most_like(ratio_of(&|one| one.rate(other))?);
        let max_shared_ratio =
            1.0 + SAME_RATE_TOLERANCE + CHANCE_SIGMAS / self.totals(direction).ios.sqrt();
        // Requests that wait make the latency of a little more load, or of more clients at the same rate, much longer.
        let is_no_higher = match (
            self.queue() < MIN_SATURATED_QUEUE || is_at_most_like(queue_ratio),
            relation,
        ) {
            (true, _) => is_at_most_like(rate_ratio),
            (false, Relation::Array) => rate_ratio <= max_shared_ratio,
            (false, Relation::Model | Relation::Name) => {
                rate_ratio <= max_shared_ratio && 2 * self.open_intervals > self.intervals
            }
        };
        let is_like_load = match relation {
            Relation::Name => is_like(rate_ratio),
            // A slow device does less for as many clients; one that is seldom used may sleep in between.
            Relation::Array | Relation::Model => {
                rate_ratio >= MOST_FRACTION || is_like(queue_ratio)
            }
        };
        let is_comparable = is_like(ratio_of(&|one| one.size_kib(direction))?)
            && is_major(self.totals(direction))
            && is_like_mix
            && is_no_higher
            && is_like_load;
        is_comparable.then_some(times)
    }
}

fn is_at_most_like(ratio: f64) -> bool {
    ratio <= MAX_LIKE_RATIO
}

fn is_like(ratio: f64) -> bool {
    (1.0 / MAX_LIKE_RATIO..=MAX_LIKE_RATIO).contains(&ratio)
}

/// A device beside its peers over time. Its memory is bounded.
#[derive(Clone, Debug, Default)]
pub struct PeerHistory {
    round: PeerRound,
    /// The latest rounds with their seconds, in the order of time.
    latest: VecDeque<(Comparison, f64)>,
    slow: Option<SlowBesidePeers>,
}

impl PeerHistory {
    /// Adds an interval to the present round.
    pub fn add(&mut self, stats: &Interval) {
        self.round.add(stats);
    }

    /// The latency of reads and of writes as multiples of the median of the peers, over the latest window; `None` if less
    /// than half of it is known.
    pub fn usual(&self) -> [Option<f64>; DIRECTIONS.len()] {
        [0, 1].map(|at| usual(&self.known(at)))
    }

    fn known(&self, at: usize) -> Vec<(f64, usize)> {
        self.latest
            .iter()
            .filter_map(|(round, _)| round[at])
            .collect()
    }

    /// Ends the present round and returns it.
    pub fn take_round(&mut self) -> PeerRound {
        std::mem::take(&mut self.round)
    }

    /// How much slower it is than its peers, by the rounds so far; `None` if it is not.
    pub fn slow(&self) -> Option<&SlowBesidePeers> {
        self.slow.as_ref()
    }

    /// Adds the comparison of a round of this length.
    pub fn push(&mut self, comparison: Comparison, seconds: f64) {
        if self.latest.len() == PEER_WINDOW_ROUNDS {
            self.latest.pop_front();
        }
        self.latest.push_back((comparison, seconds));
        let was_slow = self.slow.is_some();
        let before = self
            .slow
            .take()
            .filter(|before| !self.has_recovered(before.direction));
        if before.is_none() && was_slow {
            // The rounds in which it was slow say nothing about the device as it is now.
            self.latest.clear();
        }
        let found =
            (0..DIRECTIONS.len()).filter_map(|at| self.conclude(at, before.as_ref(), seconds));
        self.slow = found.max_by(|a, b| a.times.total_cmp(&b.times));
    }

    /// Returns whether the latest rounds are all like those of the peers.
    fn has_recovered(&self, direction: IoDirection) -> bool {
        let at = usize::from(direction == IoDirection::Writes);
        let latest = self
            .latest
            .iter()
            .rev()
            .filter_map(|(round, _)| round[at])
            .take(MIN_CONFIRMATIONS);
        latest.filter(|(times, _)| is_at_most_like(*times)).count() == MIN_CONFIRMATIONS
    }

    fn conclude(
        &self,
        at: usize,
        before: Option<&SlowBesidePeers>,
        seconds: f64,
    ) -> Option<SlowBesidePeers> {
        let direction = DIRECTIONS[at];
        let before = before.filter(|before| before.direction == direction);
        let known = self.known(at);
        let is_slow = |times: f64| times >= MIN_SLOW_PEER_RATIO;
        let usual = usual(&known);
        let is_usually_slow = usual.is_some_and(is_slow);
        let run = &known[known
            .iter()
            .rposition(|(times, _)| !is_slow(*times))
            .map_or(0, |last| last + 1)..];
        // The slower, the sooner it is certain: what lies above one adds up to the same in fewer rounds.
        let excess: f64 = run
            .iter()
            .map(|(times, _)| times.min(DEFAULT_SATURATION_THRESHOLD) - 1.0)
            .sum();
        let is_certain = run.len() >= MIN_CONFIRMATIONS
            && excess >= (MIN_SLOW_PEER_RATIO - 1.0) * (PEER_WINDOW_ROUNDS / 2) as f64;
        let latest = median_times(&known[known.len().saturating_sub(MIN_CONFIRMATIONS)..]);
        let is_still =
            || usual.is_some_and(|usual| !is_at_most_like(usual)) || latest.is_some_and(is_slow);
        if !(is_usually_slow || is_certain || before.is_some() && is_still()) {
            return None;
        }
        let in_run =
            |(round, _): &&(Comparison, f64)| round[at].is_none_or(|(times, _)| is_slow(times));
        let lasted_s = match before {
            Some(before) => before.lasted_s + seconds,
            None if is_usually_slow => self.latest.iter().map(|(_, seconds)| seconds).sum(),
            None => self
                .latest
                .iter()
                .rev()
                .take_while(in_run)
                .map(|(_, seconds)| seconds)
                .sum(),
        };
        let times = usual
            .filter(|usual| !is_certain || is_slow(*usual))
            .or(median_times(run))
            .or(latest)?;
        Some(SlowBesidePeers {
            direction,
            times,
            peers: known.last()?.1,
            lasted_s,
        })
    }
}

/// The median of rounds, if those that are known are more than half of a window.
fn usual(known: &[(f64, usize)]) -> Option<f64> {
    median_times(known).filter(|_| known.len() > PEER_WINDOW_ROUNDS / 2)
}

fn median_times(rounds: &[(f64, usize)]) -> Option<f64> {
    median(rounds.iter().map(|(times, _)| *times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Completed;
    use crate::topology::Node;

    fn names(groups: &[PeerGroup], names: &[&str]) -> Vec<Vec<String>> {
        let of = |group: &PeerGroup| {
            group
                .members
                .iter()
                .map(|index| names[*index].to_owned())
                .collect()
        };
        groups.iter().map(of).collect()
    }

    #[test]
    fn groups_are_of_one_array_one_model_or_one_kind_of_name() {
        let all = ["sda", "sdb", "sdc", "sdd", "sde", "nvme0n1", "md0", "sda1"];
        let disk = |name: &str, model: Option<&str>| Node {
            name: name.into(),
            model: model.map(str::to_owned),
            ..Node::default()
        };
        let groups = |nodes: Vec<Node>| {
            names(
                &PeerGroup::all(all.into_iter(), &Topology::new(nodes)),
                &all,
            )
        };
        let sd = |model: Option<&str>| {
            ["sda", "sdb", "sdc", "sdd"]
                .map(|name| disk(name, model))
                .to_vec()
        };
        assert_eq!(groups(sd(None)), [["sda", "sdb", "sdc", "sdd"]]);
        let mut mixed = sd(Some("A"));
        mixed[3].model = Some("B".into());
        assert_eq!(groups(mixed), Vec::<Vec<String>>::new());
        let mut array = sd(Some("A"));
        array.push(disk("sde", Some("A")));
        let below = ["sdb", "sdc", "sdd", "sde"].map(str::to_owned).to_vec();
        array.push(Node {
            kind: Kind::Md,
            backing_devices: below,
            ..disk("md0", None)
        });
        assert_eq!(groups(array.clone()), [["sdb", "sdc", "sdd", "sde"]]);
        array[4].model = Some("B".into());
        assert_eq!(groups(array), [["sda", "sdb", "sdc", "sdd"]]);
    }

    /// Returns how many times slower than its peers each device is found to be after some rounds, given the milliseconds
    /// of a write and the writes per second of each.
    fn slow_after(rounds: usize, devices: &[(f64, u64)]) -> Vec<Option<f64>> {
        slow_after_both((rounds, devices), (0, devices))
    }

    /// The same after two times.
    fn slow_after_both(
        (first, before): (usize, &[(f64, u64)]),
        (second, devices): (usize, &[(f64, u64)]),
    ) -> Vec<Option<f64>> {
        let group = PeerGroup {
            members: (0..devices.len()).collect(),
            relation: Relation::Name,
        };
        let mut histories = vec![PeerHistory::default(); devices.len()];
        for round in 0..first + second {
            let devices = if round < first { before } else { devices };
            let taken = histories
                .iter_mut()
                .zip(devices)
                .map(|(history, (await_ms, per_s))| {
                    let writes = Completed::example(60.0, 60 * per_s, *await_ms);
                    let reads = Completed::example(60.0, 0, 0.0);
                    history.add(&Interval {
                        reads,
                        writes,
                        ..Interval::unknown(60.0)
                    });
                    history.take_round()
                });
            let taken: Vec<PeerRound> = taken.collect();
            for (history, comparison) in histories.iter_mut().zip(group.compare(&taken)) {
                history.push(comparison, 60.0);
            }
        }
        histories
            .iter()
            .map(|history| {
                history
                    .slow()
                    .map(|slow| (slow.times * 10.0).round() / 10.0)
            })
            .collect()
    }

    #[test]
    fn the_slower_a_device_the_sooner_it_is_found() {
        let found = |rounds, await_ms| {
            slow_after(
                rounds,
                &[(1.0, 100), (1.1, 100), (0.9, 100), (await_ms, 100)],
            )[3]
        };
        assert_eq!((found(2, 5.0), found(3, 5.0)), (None, Some(5.0)));
        assert_eq!((found(3, 2.0), found(4, 2.0)), (None, Some(2.0)));
        assert_eq!((found(5, 1.6), found(6, 1.6)), (None, Some(1.6)));
        assert_eq!(found(50, 1.4), None);
        let slow = [(1.0, 100), (1.0, 100), (1.0, 100), (2.0, 100)];
        let alike = [(1.0, 100); 4];
        assert_eq!(slow_after_both((60, &slow), (2, &alike))[3], Some(2.0));
        assert_eq!(slow_after_both((60, &slow), (3, &alike))[3], None);
    }

    #[test]
    fn unlike_devices_or_loads_are_not_compared() {
        let found = |devices: [(f64, u64); 4]| slow_after(20, &devices)[3];
        // Of three, or of two slow ones among four, either may be the odd one.
        assert_eq!(
            slow_after(20, &[(1.0, 100), (1.0, 100), (3.0, 100)]),
            [None; 3]
        );
        assert_eq!(
            found([(1.0, 100), (1.0, 100), (3.0, 100), (3.0, 100)]),
            None
        );
        // More or fewer requests, and peers that differ as much among themselves.
        assert_eq!(
            found([(1.0, 100), (1.0, 100), (1.0, 100), (3.0, 200)]),
            None
        );
        assert_eq!(found([(1.0, 100), (1.0, 100), (1.0, 100), (3.0, 10)]), None);
        assert_eq!(
            found([(0.5, 100), (1.0, 100), (2.0, 100), (3.0, 100)]),
            None
        );
    }
}
