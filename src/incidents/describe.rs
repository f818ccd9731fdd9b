//! What is told of an incident: computed from its seconds and those before, whenever it is asked for.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use super::cause::{FEW_REQUESTS, NO_CPU_PCT, USED_PRESSURE_PCT, are_stacked, median};
use super::device::{Device, Row};
use super::episodes::Episode;
use super::join::Joined;
use super::owner::Search;
use super::second::{HostSecond, Moment, RequestKind, Scan, Task};
use super::second_cause::SecondCause;
use super::told::{Advice, Because, Cause, DeviceTimes, Owner, Told, Unknown, Waiter};
use crate::attribution::Limit;
use crate::judge::{QUARTER, Verdict, VerdictTimes};
use crate::topology::Topology;

/// The words of incidents, the most severe first: the first with this part of the seconds is that of the incident.
const WORDS: [Verdict; 6] = [
    Verdict::Stalled,
    Verdict::Throttled,
    Verdict::Capped,
    Verdict::Saturated,
    Verdict::Slow,
    Verdict::Busy,
];
const HALF: f64 = 0.5;
/// A device does less than before, if it does no more than this part of it.
const LESS: f64 = 0.8;
/// With so few requests at a time, the lack of CPU comes before the device, and with so little of the time.
const FREE_UTIL_PCT: f64 = 70.0;
const MOST_SECONDS: f64 = 0.8;
/// Bad seconds from which the lack of CPU is told, and what has neither an owner nor a victim.
const MIN_CPU_S: f64 = 8.0;
const MIN_S: f64 = 5.0;
/// A beginning this shortly after the first second was not seen.
const FIRST_S: f64 = 1.5;
/// The most programs that are told to wait, and the most tasks that count.
const MAX_WAITERS: usize = 3;
const MAX_TASKS: f64 = 8.0;

/// A second of the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostRow {
    pub(super) end: Moment,
    pub(super) seconds: f64,
    pub(super) host: HostSecond,
}

/// What the last minutes have shown.
pub(super) struct Past<'a> {
    pub(super) devices: &'a HashMap<Arc<str>, Device>,
    pub(super) hosts: &'a VecDeque<HostRow>,
    pub(super) scans: &'a [(f64, Scan)],
    pub(super) topology: &'a Topology,
    /// The first second that was seen, without a break.
    pub(super) first_s: f64,
    /// True once a scan was seen.
    pub(super) has_scans: bool,
}

/// A device of an incident with its bad seconds.
struct Member<'a> {
    device: &'a Device,
    bad: Vec<(f64, Verdict)>,
    earlier: VerdictTimes,
    count: usize,
}

impl<'a> Member<'a> {
    /// Its number of seconds with each word.
    fn words(&self) -> VerdictTimes {
        let mut words = self.earlier;
        for (_, word) in &self.bad {
            words.add(Some(*word), 1.0);
        }
        words
    }

    fn rows(&self) -> Vec<&'a Row> {
        let rows = self.bad.iter();
        rows.filter_map(|(end_s, _)| self.device.row(*end_s))
            .collect()
    }

    fn depth(&self, topology: &Topology) -> usize {
        topology.devices_below(&self.device.names.device).len()
    }
}

/// The most severe word with a quarter of these seconds.
fn word_of(times: &VerdictTimes) -> Verdict {
    let all: f64 = WORDS.iter().map(|word| times.of(*word)).sum();
    let mut words = WORDS.into_iter();
    words
        .find(|word| times.of(*word) > 0.0 && times.of(*word) >= QUARTER * all)
        .unwrap_or(Verdict::Slow)
}

impl Past<'_> {
    fn host(&self, end_s: f64) -> Option<&HostRow> {
        let at = self.hosts.partition_point(|row| row.end.run_s < end_s);
        self.hosts.get(at).filter(|row| row.end.run_s == end_s)
    }

    /// Tells an incident; `None` if it is too short to be told.
    pub(super) fn tell(&self, joined: &Joined, episodes: &[Episode], now_s: f64) -> Option<Told> {
        let members = self.members(joined, episodes);
        let longest = members.iter().map(|one| one.count).max()? as f64;
        let bottleneck = self.bottleneck(&members, longest)?;
        let victim = self.victim(&members, longest, bottleneck)?;
        let mut words = bottleneck.words();
        if victim.device.names != bottleneck.device.names {
            words.add_all(&victim.words());
        }
        let begin = self.host(joined.begin_s).copied();
        let begin = begin.map_or(Moment::default(), |row| row.end.minus(row.seconds));
        let step_s = victim.device.step_s();
        let mut told = Told {
            id: 0,
            victim: Arc::clone(&victim.device.names),
            bottleneck: Arc::clone(&bottleneck.device.names),
            devices: devices_of(&members, victim, longest, begin),
            begin,
            begin_is_known: joined.begin_s - self.first_s > FIRST_S.max(1.5 * step_s),
            end: begin.at_run_s(joined.end_s),
            is_ongoing: joined.goes_on(now_s, step_s),
            word: word_of(&words),
            bad_s: victim.rows().iter().map(|row| row.seconds).sum::<f64>()
                + victim.earlier.work_s() * step_s,
            cause: Cause::Unknown(Unknown::NoRise),
            requests: None,
            await_ms: None,
            await_before_ms: None,
            per_s: 0.0,
            queue: mean(victim.rows().iter().map(|row| row.second.queue)),
            iops: 0.0,
            iops_before: None,
            owner: None,
            waits: Vec::new(),
            others_wait: false,
            advice: None,
            harm: 0.0,
        };
        self.tell_latency(&mut told, victim, joined);
        let reached: Vec<&Device> = members.iter().map(|one| one.device).collect();
        let search = self.search(joined, bottleneck.device, &reached);
        if matches!(
            joined.cause,
            SecondCause::Queue | SecondCause::Used | SecondCause::Capped
        ) {
            told.owner = search.owner();
        }
        let tasks = self.tell_waits(&mut told, &members, victim, joined, &search);
        self.tell_cause(&mut told, joined, victim, bottleneck);
        told.advice = advice(&told);
        told.harm = harm(&told, tasks);
        self.is_worth_telling(&told, victim).then_some(told)
    }

    /// The devices of an incident with their seconds in it.
    fn members(&self, joined: &Joined, episodes: &[Episode]) -> Vec<Member<'_>> {
        let mut members: Vec<Member<'_>> = Vec::new();
        for at in &joined.episodes {
            let episode = &episodes[*at];
            let Some(device) = self.devices.get(&episode.device) else {
                continue;
            };
            let known = members
                .iter()
                .position(|one| one.device.names == device.names);
            let at = known.unwrap_or_else(|| {
                members.push(Member {
                    device,
                    bad: Vec::new(),
                    earlier: VerdictTimes::default(),
                    count: 0,
                });
                members.len() - 1
            });
            let member = &mut members[at];
            member.earlier.add_all(&episode.earlier);
            member.count += episode.earlier_count;
            for (end_s, word) in &episode.bad {
                if !member.bad.iter().any(|(known_s, _)| known_s == end_s) {
                    member.bad.push((*end_s, *word));
                }
            }
        }
        for member in &mut members {
            member.bad.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            let within = member
                .bad
                .partition_point(|(end_s, _)| *end_s < joined.begin_s);
            if within < member.bad.len() {
                member.bad.drain(..within);
            }
            member.count += member.bad.len();
        }
        members
    }

    /// The lowest device that is bad for half of the time of the worst.
    fn bottleneck<'a, 'b>(
        &self,
        members: &'b [Member<'a>],
        longest: f64,
    ) -> Option<&'b Member<'a>> {
        let bad = members
            .iter()
            .filter(|one| one.count as f64 >= HALF * longest);
        bad.min_by(|a, b| {
            let depths = a.depth(self.topology).cmp(&b.depth(self.topology));
            depths.then(b.count.cmp(&a.count))
        })
    }

    /// The topmost device on it, or itself.
    fn victim<'a, 'b>(
        &self,
        members: &'b [Member<'a>],
        longest: f64,
        bottleneck: &Member<'_>,
    ) -> Option<&'b Member<'a>> {
        let lower = &bottleneck.device.names.device;
        let mut victim: Option<&Member<'_>> = None;
        for one in members {
            let rank = |one: &Member<'_>| (one.depth(self.topology), one.count);
            if one.count as f64 >= QUARTER * longest
                && are_stacked(&one.device.names.device, lower, self.topology)
                && victim.is_none_or(|known| rank(one) > rank(known))
            {
                victim = Some(one);
            }
        }
        victim
    }

    /// Tells the kind of requests of the victim whose latency costs most beyond what it was before.
    fn tell_latency(&self, told: &mut Told, victim: &Member<'_>, joined: &Joined) {
        let rows = victim.rows();
        let mut most = None;
        for kind in RequestKind::ALL {
            let requests = rows.iter().map(|row| row.second.requests[kind as usize]);
            let (mut count, mut sum_ms) = (0.0, 0.0);
            for one in requests {
                count += one.per_s;
                sum_ms += one.per_s * one.await_ms.unwrap_or(0.0);
            }
            if count <= 0.0 {
                continue;
            }
            let now_ms = sum_ms / count;
            let mut before = Vec::new();
            for row in self.active_before(victim.device, joined.begin_s) {
                before.extend(row.second.requests[kind as usize].await_ms);
            }
            let before_ms = median(&mut before);
            let excess = count * (now_ms - before_ms.unwrap_or(now_ms / 2.0)).max(0.0);
            if most.is_none_or(|most| excess > most) {
                most = Some(excess);
                told.requests = Some(kind);
                told.await_ms = Some(now_ms);
                told.await_before_ms = before_ms;
                told.per_s = count / rows.len() as f64;
            }
        }
    }

    /// The seconds with requests of the calm before.
    fn active_before<'a>(&self, device: &'a Device, begin_s: f64) -> impl Iterator<Item = &'a Row> {
        device.before(begin_s).filter(|row| row.second.iops >= 1.0)
    }

    fn search<'a>(
        &'a self,
        joined: &Joined,
        bottleneck: &'a Device,
        members: &'a [&'a Device],
    ) -> Search<'a> {
        Search {
            begin_s: joined.begin_s,
            end_s: joined.end_s,
            first_s: self.first_s,
            bottleneck,
            members,
            devices: self.devices,
            scans: self.scans,
            topology: self.topology,
            is_swap: self.is_swap(&bottleneck.names.device),
            is_used: joined.cause == SecondCause::Used,
        }
    }

    fn is_swap(&self, device: &str) -> bool {
        self.topology
            .node(device)
            .is_some_and(|node| node.is_swap())
    }

    /// Tells who waits, and returns how many tasks do on average. An owner of whom it is not known what was before may be the victim
    /// if nobody waits.
    fn tell_waits(
        &self,
        told: &mut Told,
        members: &[Member<'_>],
        victim: &Member<'_>,
        joined: &Joined,
        search: &Search<'_>,
    ) -> f64 {
        let reached = search.reached();
        let mut seconds_s = BTreeSet::new();
        for (end_s, _) in members.iter().flat_map(|one| &one.bad) {
            seconds_s.insert(end_s.to_bits());
        }
        let users = self.users(&reached, victim);
        let waits_here = |task: &Task| match &task.device {
            Some(device) => reached.contains(&**device),
            None => task
                .cgroup
                .as_ref()
                .is_some_and(|path| users.contains(path)),
        };
        let mut waits: Vec<(Waiter, usize)> = Vec::new();
        let (mut count, mut scans) = (0.0, 0.0_f64);
        for (at_s, scan) in self.scans {
            if !seconds_s.contains(&at_s.to_bits()) {
                continue;
            }
            scans += 1.0;
            for task in &scan.tasks {
                let is_of_limit = match &joined.cause {
                    SecondCause::Limit(limit) => task.cgroup == limit.owner,
                    _ => true,
                };
                let owner = told.owner.as_ref();
                let is_owner = owner.is_some_and(|owner| is_owner(owner, task));
                if task.is_server || is_owner || !waits_here(task) {
                    continue;
                }
                if !is_of_limit {
                    told.others_wait = true;
                    continue;
                }
                count += 1.0;
                let waiter = Waiter {
                    program: Arc::clone(&task.program),
                    cgroup: task.cgroup.clone(),
                };
                match waits.iter_mut().find(|(known, _)| *known == waiter) {
                    Some((_, times)) => *times += 1,
                    None => waits.push((waiter, 1)),
                }
            }
        }
        if waits.is_empty() && told.owner.as_ref().is_some_and(|owner| owner.is_by_share) {
            told.owner = None;
        }
        waits.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        let most = waits.first().map_or(0, |(_, times)| *times) as f64;
        waits.truncate(MAX_WAITERS);
        waits.retain(|(_, times)| *times as f64 >= (QUARTER / 2.0 * most).max(1.0));
        told.waits = waits.into_iter().map(|(waiter, _)| waiter).collect();
        (count / scans.max(1.0)).round().max(1.0)
    }

    /// The cgroups, but the root, that are seen to use the devices of an incident, or those below the victim.
    fn users(&self, reached: &BTreeSet<&str>, victim: &Member<'_>) -> BTreeSet<Arc<str>> {
        let below = self.topology.devices_below(&victim.device.names.device);
        let mut users = BTreeSet::new();
        for one in self.scans.iter().flat_map(|(_, scan)| &scan.uses) {
            let is_here =
                reached.contains(&*one.device) || below.iter().any(|of| **of == *one.device);
            if let Some(cgroup) = &one.cgroup
                && is_here
                && &**cgroup != "/"
            {
                users.insert(Arc::clone(cgroup));
            }
        }
        users
    }

    /// Tells the cause, which is decided once of those that are a queue of whom-ever.
    fn tell_cause(
        &self,
        told: &mut Told,
        joined: &Joined,
        victim: &Member<'_>,
        bottleneck: &Member<'_>,
    ) {
        let rows = bottleneck.rows();
        let mut utils: Vec<f64> = rows
            .iter()
            .map(|row| row.second.util_pct.unwrap_or(0.0))
            .collect();
        let is_free = median(&mut utils).unwrap_or(100.0) < FREE_UTIL_PCT;
        let does_less = self.does_less(told, joined, bottleneck);
        let is_swap = self.is_swap(&victim.device.names.device);
        let is_of_cpu = told.owner.is_none() && self.has_no_cpu(victim);
        told.cause = match &joined.cause {
            SecondCause::Suspended(device) => Cause::Suspended(Arc::clone(device)),
            SecondCause::Stall => Cause::Stall,
            SecondCause::Frozen => Cause::Frozen,
            SecondCause::Limit(limit) => Cause::Limit((**limit).clone()),
            SecondCause::Sync(array) => Cause::Sync(Arc::clone(array)),
            SecondCause::Capped => Cause::Capped(capped_at(&rows)),
            SecondCause::Used if is_swap => Cause::Swap,
            SecondCause::Used => Cause::Used,
            SecondCause::Cpu if is_of_cpu => Cause::Cpu,
            SecondCause::Queue if is_of_cpu && (told.queue < FEW_REQUESTS || is_free) => Cause::Cpu,
            SecondCause::Queue | SecondCause::Cpu if is_swap => Cause::Swap,
            SecondCause::Queue if told.word == Verdict::Capped => Cause::Capped(capped_at(&rows)),
            SecondCause::Queue | SecondCause::Cpu if told.owner.is_some() => Cause::Load,
            SecondCause::Queue | SecondCause::Cpu if does_less => Cause::Less,
            SecondCause::Cpu => Cause::Cpu,
            SecondCause::Queue => Cause::Unknown(self.why_unknown(joined)),
        };
        if told.cause == Cause::Less {
            told.word = Verdict::Slow;
        }
    }

    /// Tells what the bottleneck does and did before. Returns whether it does less.
    fn does_less(&self, told: &mut Told, joined: &Joined, bottleneck: &Member<'_>) -> bool {
        let rows = bottleneck.rows();
        let before: Vec<&Row> = self
            .active_before(bottleneck.device, joined.begin_s)
            .collect();
        let of = |rows: &[&Row], value: fn(&Row) -> f64| {
            let mut values: Vec<f64> = rows.iter().map(|row| value(row)).collect();
            median(&mut values)
        };
        told.iops = of(&rows, |row| row.second.iops).unwrap_or(0.0);
        told.iops_before = of(&before, |row| row.second.iops);
        let kib = of(&rows, Row::kib_per_s).unwrap_or(0.0);
        let kib_before = of(&before, Row::kib_per_s).unwrap_or(0.0);
        told.iops_before
            .is_some_and(|iops| told.iops <= LESS * iops)
            && kib <= LESS * kib_before.max(1.0)
    }

    /// Returns whether no CPU was available in most bad seconds of a device.
    fn has_no_cpu(&self, victim: &Member<'_>) -> bool {
        let (mut known, mut without) = (0.0, 0.0);
        for (end_s, _) in &victim.bad {
            if let Some(pct) = self.host(*end_s).and_then(|row| row.host.cpu_available_pct) {
                known += 1.0;
                without += f64::from(u8::from(pct < NO_CPU_PCT));
            }
        }
        known > 0.0 && without >= MOST_SECONDS * known
    }

    fn why_unknown(&self, joined: &Joined) -> Unknown {
        if !self.has_scans {
            return Unknown::NotRecorded;
        }
        let read = self
            .scans
            .iter()
            .filter(|(at_s, _)| *at_s >= joined.begin_s - 1.0 && *at_s <= joined.end_s + 1.0);
        if (read.count() as f64) < HALF * (joined.end_s - joined.begin_s) {
            Unknown::NotRead
        } else {
            Unknown::NoRise
        }
    }

    /// Returns whether it lasted so long, or goes on, that it is worth telling.
    fn is_worth_telling(&self, told: &Told, victim: &Member<'_>) -> bool {
        let mut pressures = Vec::new();
        for (end_s, _) in &victim.bad {
            let host = self.host(*end_s);
            pressures.push(host.and_then(|row| row.host.io_pressure_pct).unwrap_or(0.0));
        }
        let others_wait =
            !told.waits.is_empty() || median(&mut pressures) >= Some(USED_PRESSURE_PCT);
        let is_of_nobody =
            matches!(told.cause, Cause::Less | Cause::Unknown(_)) && told.owner.is_none();
        let least_s = match told.cause {
            Cause::Cpu => MIN_CPU_S,
            _ if told.word == Verdict::Busy || is_of_nobody => MIN_S,
            Cause::Load if !others_wait => MIN_S,
            _ => 1.0,
        };
        let goes_on = told.is_ongoing && told.cause != Cause::Cpu && told.word != Verdict::Busy;
        told.bad_s.round() >= least_s || goes_on
    }
}

/// The devices with a quarter of the seconds of the worst, the victim first.
fn devices_of(
    members: &[Member<'_>],
    victim: &Member<'_>,
    longest: f64,
    begin: Moment,
) -> Vec<DeviceTimes> {
    let mut devices = Vec::new();
    for one in members {
        if one.count as f64 >= QUARTER * longest {
            let times = one.words();
            let first_s = one.bad.first().map_or(begin.run_s, |(end_s, _)| {
                end_s - one.device.row(*end_s).map_or(0.0, |row| row.seconds)
            });
            let last_s = one.bad.last().map_or(begin.run_s, |(end_s, _)| *end_s);
            devices.push(DeviceTimes {
                names: Arc::clone(&one.device.names),
                begin: begin.at_run_s(first_s),
                end: begin.at_run_s(last_s),
                times,
                word: word_of(&times),
            });
        }
    }
    devices.sort_by_key(|one| one.names != victim.device.names);
    devices
}

/// The latest constant rate in these seconds.
fn capped_at(rows: &[&Row]) -> Option<Limit> {
    let mut rows = rows.iter().rev();
    rows.find_map(|row| row.second.capped_at.clone())
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1);
    values.sum::<f64>() / count as f64
}

fn is_owner(owner: &Owner, task: &Task) -> bool {
    let is_of_program = owner.program.as_ref() == Some(&task.program);
    is_of_program
        && task
            .cgroup
            .as_ref()
            .is_some_and(|path| owner.cgroups.contains(path))
}

/// What to do: only what helps, and harms nobody.
fn advice(told: &Told) -> Option<Advice> {
    match &told.cause {
        Cause::Limit(_) => {
            let is_felt = !told.waits.is_empty() || told.queue >= FEW_REQUESTS;
            is_felt.then_some(Advice::RaiseLimit)
        }
        Cause::Suspended(_) => Some(Advice::Resume),
        Cause::Frozen => Some(Advice::Unfreeze),
        Cause::Stall => Some(Advice::LookAtPath),
        Cause::Sync(_) => Some(Advice::SlowSync),
        Cause::Swap => Some(Advice::Memory),
        Cause::Cpu => Some(Advice::CpuFirst),
        Cause::Less => Some(Advice::LookAtDevice),
        Cause::Load => {
            let owner = told.owner.as_ref()?;
            let cgroup = owner.cgroups.first()?;
            let others = told.waits.iter();
            let mut others = others.filter(|one| one.cgroup.as_ref() != Some(cgroup));
            let may_be_limited = owner.cgroups.len() == 1
                && is_unit(cgroup)
                && owner.because != Because::Newcomer
                && !owner.is_by_share
                && others.next().is_some();
            may_be_limited.then_some(Advice::LimitOwner)
        }
        Cause::Unknown(_) | Cause::Capped(_) | Cause::Used => None,
    }
}

/// Returns whether a cgroup is a unit of systemd, which can be limited.
fn is_unit(path: &str) -> bool {
    let kind = path.rsplit('.').next();
    matches!(kind, Some("service" | "slice" | "scope"))
}

fn harm(told: &Told, tasks: f64) -> f64 {
    let multiple = match (told.await_ms, told.await_before_ms) {
        (Some(now), Some(before)) if now > 0.0 && before > 0.0 => now / before,
        _ => 2.0,
    };
    let new = match told.word {
        Verdict::Stalled | Verdict::Throttled => 1.0,
        _ => (1.0 - 1.0 / multiple.max(1.01)).max(0.1),
    };
    let seconds = match told.word {
        Verdict::Stalled => told.duration_s(),
        _ => told.bad_s,
    };
    seconds * new * tasks.min(MAX_TASKS)
}
