//! The judge of a host: a step of all devices in, one judgement for each device out, with everything that may decide it.
//! Nothing changes a verdict afterwards.

use std::collections::HashMap;

use super::device::{DeviceJudge, DeviceKnowledge};
use super::health_watch::HealthWatch;
use super::host_report::NfsWait;
use super::layers::{held_between, is_idle_below};
use super::load::Load;
use super::peers::{PeerHistory, PeerLoad, peer_groups};
use super::settings::{BaselineSource, Settings};
use super::shared_limit::SharedLimits;
use super::step::{DeviceStep, Step};
use super::verdict::{Assessment, Evidence, Verdict};
use crate::attribution::IoDirection;
use crate::baselines::DeviceBaseline;
use crate::metrics::{HostStats, Interval};
use crate::topology::{Kind, Node, Topology};

/// The most devices that are remembered after they disappeared.
const MAX_REMEMBERED: usize = 1000;
/// The most seconds for which a device may hold requests before that is seen: facts are read every 10 s where all is well,
/// and a step passes until they are used.
const MAX_UNSEEN_S: f64 = 11.0;

/// What was learned of devices, by their identity or, without one, by their name and how often another device took it.
#[derive(Clone, Debug, Default)]
pub struct Knowledge(HashMap<String, Box<DeviceKnowledge>>);

/// How the judge learns.
#[derive(Clone, Debug, Default)]
enum Mode {
    /// As it goes.
    #[default]
    Live,
    /// The same, and all that is learned is kept for a second run.
    FirstRun,
    /// Everything is known from the first run.
    SecondRun,
}

/// A device as the judge follows it.
#[derive(Debug, Default)]
struct Followed {
    /// `None` until the device is active: most devices of a large host never are.
    judge: Option<Box<DeviceJudge>>,
    peers: PeerHistory,
    /// The key of what is known of it.
    key: String,
    identity: Option<String>,
    /// Seconds since a request completed; `None` if none has since the beginning or a break.
    idle_s: Option<f64>,
}

impl Followed {
    /// Notes a break in time: the next step does not follow the latest.
    fn interrupt(&mut self) {
        if let Some(judge) = &mut self.judge {
            judge.interrupt();
        }
        self.peers = PeerHistory::default();
        self.idle_s = None;
    }
}

#[derive(Debug, Default)]
pub struct HostJudge {
    mode: Mode,
    known: Knowledge,
    /// How often a device of a name was followed by another one.
    generations: HashMap<String, u32>,
    devices: HashMap<String, Followed>,
    /// The index of each device of the last step, for stacked devices.
    index_of: HashMap<String, usize>,
    is_disk: Vec<bool>,
    peer_groups: Vec<Vec<usize>>,
    shared_limits: SharedLimits,
    health: HealthWatch,
}

impl HostJudge {
    /// A first run over a capture, which a second one follows.
    pub fn first_run() -> Self {
        Self {
            mode: Mode::FirstRun,
            ..Self::default()
        }
    }

    /// A second run over a capture with what the first one learned: hindsight.
    pub fn second_run(known: Knowledge) -> Self {
        Self {
            mode: Mode::SecondRun,
            known,
            ..Self::default()
        }
    }

    /// Ends a first run. Returns what it learned.
    pub fn into_knowledge(mut self) -> Knowledge {
        let names: Vec<String> = self.devices.keys().cloned().collect();
        for name in names {
            self.forget(&name);
        }
        self.known
    }

    /// Follows the devices of a sample, which may have changed, or whose topology is known better. Each has a name and, if
    /// known, an identity.
    pub fn learn_devices<'a>(
        &mut self,
        devices: impl Iterator<Item = (&'a str, Option<&'a str>)>,
        topology: &Topology,
    ) {
        let mut names = Vec::new();
        self.index_of.clear();
        for (name, identity) in devices {
            self.index_of.insert(name.to_owned(), names.len());
            self.identify(name, identity);
            names.push(name);
        }
        let mut gone = Vec::new();
        for name in self.devices.keys() {
            if !self.index_of.contains_key(name) {
                gone.push(name.clone());
            }
        }
        for name in gone {
            self.forget(&name);
        }
        self.is_disk.clear();
        for name in &names {
            let node = topology.node(name);
            self.is_disk
                .push(node.is_some_and(|node| is_whole_disk(node, topology)));
        }
        self.peer_groups = peer_groups(&names, topology);
        self.shared_limits.clear();
    }

    /// Notes the identity of a device. One whose identity changed is another device.
    fn identify(&mut self, name: &str, identity: Option<&str>) {
        let Some(identity) = identity else {
            return;
        };
        if let Some(device) = self.devices.get(name)
            && let Some(before) = &device.identity
            && before != identity
        {
            self.forget(name);
        }
        self.devices.entry(name.to_owned()).or_default().identity = Some(identity.to_owned());
    }

    /// Notes a break in time: the next step does not follow the latest. What was learned stays.
    pub fn interrupt(&mut self) {
        for device in self.devices.values_mut() {
            device.interrupt();
        }
        self.shared_limits.clear();
        self.health.interrupt();
    }

    /// Notes that a device is gone, or that another one took its name. What is known of one with an identity is kept, because
    /// it may come back; in a first run, that of all.
    pub fn forget(&mut self, name: &str) {
        let Some(device) = self.devices.remove(name) else {
            return;
        };
        // A live run keeps nothing of a device without an identity, so that its key can be used again.
        if !matches!(self.mode, Mode::Live) {
            *self.generations.entry(name.to_owned()).or_default() += 1;
        }
        let key = match (&self.mode, device.identity) {
            // It may have become known after the judge started.
            (Mode::Live, Some(identity)) => identity,
            (Mode::FirstRun, _) => device.key,
            (Mode::Live, None) | (Mode::SecondRun, _) => return,
        };
        let is_full = matches!(self.mode, Mode::Live) && self.known.0.len() >= MAX_REMEMBERED;
        if let Some(mut judge) = device.judge
            && (!is_full || self.known.0.contains_key(&key))
        {
            judge.knowledge.forget_steps();
            self.known.0.insert(key, judge.knowledge);
        }
    }

    /// Judges a step. `settings` returns those of the device at an index, when it becomes active. Returns a judgement for each
    /// device, in their order; `None` for one without data.
    pub fn judge(
        &mut self,
        step: &Step<'_>,
        settings: impl Fn(usize) -> Settings,
    ) -> Vec<Option<Assessment>> {
        self.health.begin(step.sample, step.seconds);
        self.health.note_nfs(step.host);
        let mut assessments = Vec::with_capacity(step.devices.len());
        for (index, device) in step.devices.iter().enumerate() {
            assessments.push(self.judge_device(device, step.host, || settings(index)));
        }
        self.judge_multipath_heads(step, &mut assessments);
        let loads = self.loads_of_disks(step);
        self.judge_beside_peers(step, &loads, &mut assessments);
        self.judge_shared_limits(step, &loads, &mut assessments);
        self.judge_layers(step, &mut assessments);
        self.judge_holding_devices(step, &mut assessments);
        self.add_health(step, &mut assessments);
        assessments
    }

    /// Before Linux 6.2, only the paths of an NVMe multipath disk count requests: the disk is not idle while they work.
    fn judge_multipath_heads(&self, step: &Step<'_>, assessments: &mut [Option<Assessment>]) {
        for (device, assessment) in step.devices.iter().zip(assessments) {
            let below = step.topology.backing_devices(device.name);
            if let Some(assessment) = assessment
                && assessment.verdict == Some(Verdict::Idle)
                && below.iter().any(|name| self.is_busy_path(name, step))
            {
                *assessment = Assessment::without_evidence(Verdict::AccountingOff);
            }
        }
    }

    /// Returns whether a device is a path of an NVMe multipath disk that completed requests.
    fn is_busy_path(&self, name: &str, step: &Step<'_>) -> bool {
        let (Some(node), Some(index)) = (step.topology.node(name), self.index_of.get(name)) else {
            return false;
        };
        let interval = step
            .devices
            .get(*index)
            .and_then(|path| path.interval.as_ref());
        node.kind == Kind::NvmePath && interval.is_some_and(|path| path.completed() > 0.0)
    }

    fn judge_device(
        &mut self,
        device: &DeviceStep<'_>,
        host: &HostStats,
        settings: impl FnOnce() -> Settings,
    ) -> Option<Assessment> {
        let Some(interval) = &device.interval else {
            self.note_reset(device.name);
            return None;
        };
        if device.is_accounting_off && interval.completed() == 0.0 {
            return Some(Assessment::without_evidence(Verdict::AccountingOff));
        }
        if !self.devices.contains_key(device.name) {
            self.devices
                .insert(device.name.to_owned(), Followed::default());
        }
        let followed = self.devices.get_mut(device.name)?;
        if interval.completed() > 0.0 {
            followed.idle_s = Some(0.0);
        } else if let Some(idle_s) = &mut followed.idle_s {
            *idle_s += interval.seconds();
        }
        if followed.judge.is_none() {
            if interval.is_idle() {
                return Some(Assessment::of(Verdict::Idle, Evidence::Idle));
            }
            self.start_judge(device, settings);
        }
        let judge = self.devices.get_mut(device.name)?.judge.as_mut()?;
        Some(judge.judge(interval, host))
    }

    /// Starts the judge of a device that becomes active, with what is known of it.
    fn start_judge(&mut self, device: &DeviceStep<'_>, settings: impl FnOnce() -> Settings) {
        let Some(followed) = self.devices.get_mut(device.name) else {
            return;
        };
        let known = if let Some(identity) = &followed.identity {
            followed.key.clone_from(identity);
            self.known.0.get(identity).cloned()
        } else {
            let generation = self.generations.get(device.name).unwrap_or(&0);
            followed.key = format!("{}#{generation}", device.name);
            // No other device has this key.
            self.known.0.remove(&followed.key)
        };
        let knowledge =
            known.unwrap_or_else(|| Box::new(DeviceKnowledge::new(&settings(), device.before)));
        let is_frozen = matches!(self.mode, Mode::SecondRun);
        followed.judge = Some(Box::new(DeviceJudge::new(knowledge, is_frozen)));
    }

    /// Notes that the counters of a device were reset: it is another device, unless its identity says that it is the same.
    fn note_reset(&mut self, name: &str) {
        let Some(device) = self.devices.get_mut(name) else {
            return;
        };
        if device.identity.is_none() {
            self.forget(name);
            return;
        }
        device.interrupt();
    }

    /// The loads of whole disks, which are compared with each other; `None` for other devices, and without data.
    fn loads_of_disks(&self, step: &Step<'_>) -> Vec<Option<Load>> {
        let mut loads = Vec::with_capacity(step.devices.len());
        for (device, is_disk) in step.devices.iter().zip(&self.is_disk) {
            loads.push(match &device.interval {
                Some(interval) if *is_disk => Some(Load::of(interval)),
                _ => None,
            });
        }
        loads
    }

    fn judge_beside_peers(
        &mut self,
        step: &Step<'_>,
        loads: &[Option<Load>],
        assessments: &mut [Option<Assessment>],
    ) {
        for group in &self.peer_groups {
            let mut shown = Vec::with_capacity(group.len());
            for index in group {
                shown.push(loads[*index].as_ref().map(PeerLoad::of));
            }
            for (at, index) in group.iter().enumerate() {
                let Some(followed) = self.devices.get_mut(step.devices[*index].name) else {
                    continue;
                };
                let slow = followed.peers.compare(at, &shown);
                let (Some(slow), Some(assessment)) = (slow, &mut assessments[*index]) else {
                    continue;
                };
                let evidence = Evidence::SlowBesidePeers(slow);
                if assessment.is_trouble() {
                    assessment.evidence.push(evidence);
                } else {
                    assessment.baseline_source = Some(BaselineSource::Peers);
                    assessment.conclude(Verdict::Slow, evidence);
                }
            }
        }
    }

    fn judge_shared_limits(
        &mut self,
        step: &Step<'_>,
        loads: &[Option<Load>],
        assessments: &mut [Option<Assessment>],
    ) {
        let Some(found) = self.shared_limits.observe(loads) else {
            return;
        };
        for index in &found.members {
            let Some(assessment) = &mut assessments[*index] else {
                continue;
            };
            if assessment.verdict >= Some(Verdict::Capped) {
                continue;
            }
            let mut limit = found.limit.clone();
            for other in &found.members {
                if other != index {
                    limit.others.push(step.devices[*other].name.to_owned());
                }
            }
            assessment.conclude(Verdict::Capped, Evidence::SharedLimit(Box::new(limit)));
        }
    }

    /// Finds the devices whose requests wait between them and those below, which therefore are not at a limit.
    fn judge_layers(&self, step: &Step<'_>, assessments: &mut [Option<Assessment>]) {
        for node in step.topology.nodes().iter().filter(|node| is_stacked(node)) {
            let Some(above) = self.index_of.get(&node.name).copied() else {
                continue;
            };
            let Some(upper) = &step.devices[above].interval else {
                continue;
            };
            if upper.completed() == 0.0 {
                continue;
            }
            let Some(below) = self.intervals_below(node, step) else {
                continue;
            };
            let Some(held) = held_between(upper, &below) else {
                continue;
            };
            let mut names = Vec::new();
            for name in &node.backing_devices {
                names.push(name.as_str());
                names.extend(step.topology.disk_of(name));
            }
            for name in names {
                if let Some(index) = self.index_of.get(name)
                    && let Some(lower) = &step.devices[*index].interval
                    && let Some(assessment) = &mut assessments[*index]
                    && is_idle_below(upper, lower)
                {
                    clear_below(assessment, &node.name);
                }
            }
            let evidence = Evidence::HeldBetween {
                in_flight: upper.in_flight,
                below: node.backing_devices.clone(),
                latencies: held,
            };
            if let Some(assessment) = &mut assessments[above] {
                if assessment.verdict <= Some(Verdict::Queueing) && held.shows_saturation() {
                    assessment.conclude(Verdict::Saturated, evidence);
                } else {
                    assessment.evidence.push(evidence);
                }
            }
        }
    }

    /// The intervals of the devices directly below one; `None` if that of one of them is not known.
    fn intervals_below<'a>(&self, node: &Node, step: &'a Step<'_>) -> Option<Vec<&'a Interval>> {
        let mut intervals = Vec::new();
        for name in &node.backing_devices {
            let index = self.index_of.get(name)?;
            intervals.push(step.devices[*index].interval.as_ref()?);
        }
        Some(intervals)
    }

    /// Finds the devices that hold requests back which something waits for: they are stalled although their counters show
    /// nothing.
    fn judge_holding_devices(&self, step: &Step<'_>, assessments: &mut [Option<Assessment>]) {
        for (device, assessment) in step.devices.iter().zip(assessments) {
            let (Some(interval), Some(assessment)) = (&device.interval, assessment) else {
                continue;
            };
            if interval.completed() > 0.0 {
                continue;
            }
            let Some(holding) = self.health.holding_device(device.name, step) else {
                continue;
            };
            let idle_s = self.idle_s(device.name);
            let was_active = idle_s.is_some_and(|idle_s| idle_s - holding.for_s <= MAX_UNSEEN_S);
            if was_active || holding.is_waited_for {
                assessment.verdict = Some(Verdict::Stalled);
                assessment
                    .evidence
                    .retain(|evidence| *evidence != Evidence::Idle);
            }
        }
    }

    /// Adds what the kernel says of the health of devices.
    fn add_health(&mut self, step: &Step<'_>, assessments: &mut [Option<Assessment>]) {
        for (device, assessment) in step.devices.iter().zip(assessments) {
            let (Some(interval), Some(assessment)) = (&device.interval, assessment) else {
                continue;
            };
            let idle_s = self.idle_s(device.name);
            self.health
                .note(device.name, assessment, interval, idle_s, step.topology);
        }
    }

    /// Returns whether a device was in trouble in the latest step, or tasks waited for I/O that no device shows.
    pub fn has_trouble(&self) -> bool {
        self.health.has_trouble
    }

    /// The NFS mounts that tasks may have waited for in the latest step in which they waited for I/O that no device shows.
    pub fn nfs_waits(&self) -> &[NfsWait] {
        &self.health.nfs_waits
    }

    /// The latency of reads and of writes of a device as multiples of the median of its peers; `None` if it was not compared.
    pub fn beside_peers(&self, name: &str) -> [Option<f64>; 2] {
        self.devices
            .get(name)
            .map_or([None; 2], |device| device.peers.ratios())
    }

    /// The seconds since a request of a device completed; `None` if none has since the beginning or a break.
    fn idle_s(&self, name: &str) -> Option<f64> {
        self.devices.get(name)?.idle_s
    }

    /// The lowest latencies of a device that are worth saving; `None` if it was never active.
    pub fn saved_baseline(&self, name: &str) -> Option<DeviceBaseline> {
        Some(self.judge_of(name)?.knowledge.saved())
    }

    /// The unloaded latency in milliseconds of reads or writes of this size, at most; `None` if it is not known.
    pub fn unloaded_ms(&self, name: &str, direction: IoDirection, kib: f64) -> Option<f64> {
        self.judge_of(name)?.knowledge.unloaded_ms(direction, kib)
    }

    fn judge_of(&self, name: &str) -> Option<&DeviceJudge> {
        self.devices.get(name)?.judge.as_deref()
    }
}

/// Makes a device below one that holds requests `ok`, unless requests do not complete there, or it is slow beside its peers. What
/// the device above lets through looks like its own limit.
fn clear_below(assessment: &mut Assessment, above: &str) {
    let may_be_its_own = assessment.verdict < Some(Verdict::Ok)
        || assessment.verdict == Some(Verdict::AccountingOff)
        || assessment.verdict >= Some(Verdict::Throttled)
        || assessment.slow_beside_peers().is_some();
    if may_be_its_own {
        return;
    }
    assessment
        .evidence
        .retain(|one| matches!(one, Evidence::Latency(_) | Evidence::Health(_)));
    for evidence in &mut assessment.evidence {
        if let Evidence::Latency(latency) = evidence {
            latency.verdict = Verdict::Ok;
            latency.doubt = None;
        }
    }
    let above = above.to_owned();
    assessment.conclude(Verdict::Ok, Evidence::WaitingAbove { above });
}

fn is_stacked(node: &Node) -> bool {
    node.kind != Kind::Partition && !node.backing_devices.is_empty()
}

/// Returns whether a device is a whole disk rather than a partition, a stacked device or a path.
fn is_whole_disk(node: &Node, topology: &Topology) -> bool {
    node.kind == Kind::Disk && node.backing_devices.is_empty() && !topology.is_path(&node.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{Counters, Sample};
    use crate::metrics::Completed;

    #[test]
    fn devices_that_come_and_go_leave_nothing_behind() {
        let mut judge = HostJudge::default();
        let topology = Topology::default();
        let mut judge_one = |name: &str, identity: Option<&str>| {
            judge.learn_devices([(name, identity)].into_iter(), &topology);
            let device = DeviceStep {
                name,
                interval: Some(Interval {
                    reads: Completed::example(1.0, 100, 1.0),
                    ..Interval::unknown(1.0)
                }),
                before: &Counters::ZERO,
                is_accounting_off: false,
            };
            let step = Step {
                devices: &[device],
                sample: &Sample::default(),
                seconds: 1.0,
                host: &HostStats::default(),
                topology: &topology,
                tasks: &[],
            };
            judge.judge(&step, |_| Settings::default());
        };
        for number in 0..3000 {
            judge_one(&format!("loop{number}"), None);
            judge_one(&format!("sd{number}"), Some(&format!("wwid:{number}")));
        }
        assert_eq!((judge.devices.len(), judge.generations.len()), (1, 0));
        assert_eq!(judge.known.0.len(), MAX_REMEMBERED);
    }
}
