//! Incidents: the trouble that devices stacked on each other share.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::event::Event;
use super::history::{DeviceEvents, JudgedDevice, KINDS};
use crate::attribution::{Attribution, ByProgram, DeviceUse, Program, is_in_cgroup};
use crate::intervals::DeviceNames;
use crate::intervals::incident::{Cause, Incident, Moment, WaitingTask};
use crate::judge::{IoDirection, Judged, Verdict};
use crate::metrics::Interval;
use crate::topology::Topology;

/// The most waiting tasks that are kept.
const MAX_WAITING: usize = 8;

/// An incident with the devices that it has reached.
#[derive(Clone, Debug)]
struct Tracked {
    incident: Arc<Incident>,
    devices: Vec<Arc<DeviceNames>>,
    /// True for a stall, which is an incident of its own.
    is_stall: bool,
    program_votes: ProgramVotes,
    /// The sum of the victim's steps in trouble, while it goes on.
    sum: Option<Box<Judged>>,
    /// The harm in these steps, once they are over.
    harm: Harm,
}

/// An incident with all that is known of it at the end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct IncidentSummary {
    pub incident: Arc<Incident>,
    /// The most severe verdict on the victim, and the seconds for which the victim had it.
    pub verdict: Verdict,
    pub verdict_s: f64,
    /// The end of the last interval in trouble so far.
    pub end: Moment,
    /// True if it still lasts, or lasted when the run ended.
    pub is_ongoing: bool,
    pub harm: Harm,
    /// The devices in trouble, the victim first.
    pub devices: Vec<DeviceInTrouble>,
    /// How bad it was: the seconds in trouble of the victim, each weighted by its verdict.
    pub trouble_s: f64,
}

/// A device of an incident.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInTrouble {
    pub names: Arc<DeviceNames>,
    /// The most severe verdict on it; `None` if it is not shown by itself.
    pub verdict: Option<Verdict>,
}

impl IncidentSummary {
    pub fn duration_s(&self) -> f64 {
        self.end.run_s - self.incident.begin.run_s
    }

    /// Returns whether a device is part of it.
    pub fn has(&self, device: &str) -> bool {
        self.devices.iter().any(|one| one.names.device == device)
    }

    /// Compares two incidents for a list with the worst first.
    pub fn worst_first(&self, other: &Self) -> Ordering {
        other.trouble_s.total_cmp(&self.trouble_s)
    }
}

/// The latency, rate and queue of a device in trouble: those of a step, or the medians of all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Harm {
    /// The latency in milliseconds of the kind of requests that waited most; `None` if none completed.
    pub await_ms: Option<f64>,
    /// The rate of these requests; `None` if none completed.
    pub per_s: Option<f64>,
    /// The queue or, where nothing completed, the requests in flight.
    pub queue: Option<f64>,
}

impl Harm {
    /// The means over a time, for the kind of requests that waits most.
    fn of(judged: &Judged, requests: Option<IoDirection>) -> Self {
        let interval = &judged.interval;
        let mut harm = Self {
            queue: queue_of(interval),
            ..Self::default()
        };
        if let Some(kind) = requests {
            let waiting = judged.requests(kind);
            harm.await_ms = waiting.await_ms();
            harm.per_s = waiting.per_s().filter(|per_s| *per_s > 0.0);
        }
        harm
    }
}

/// The queue of a device or, while nothing completes, its requests in flight.
fn queue_of(interval: &Interval) -> Option<f64> {
    if let Some(in_flight) = interval.in_flight
        && interval.completed() == 0.0
    {
        return Some(in_flight as f64);
    }
    match interval.queue() {
        Some(queue) => Some(queue),
        None => Some(interval.reads.queue()? + interval.writes.queue()?),
    }
}

/// A device in trouble, whose incident is looked for.
pub(super) struct Trouble<'a> {
    pub(super) events: &'a DeviceEvents,
    pub(super) event: &'a Event,
    pub(super) device: &'a JudgedDevice<'a>,
    pub(super) begin_is_known: bool,
    pub(super) attribution: Option<&'a Attribution>,
    pub(super) topology: &'a Topology,
}

#[derive(Clone, Debug, Default)]
pub(in crate::intervals) struct IncidentTracker {
    /// Those that go on, by their numbers.
    open: BTreeMap<u64, Tracked>,
    /// The numbers of those that go on, by the devices that they have reached.
    open_on: HashMap<String, BTreeSet<u64>>,
    /// The latest of those with a limit of a cgroup as their cause, by its device.
    limited: HashMap<String, u64>,
    finished: Vec<Tracked>,
    count: u64,
}

impl IncidentTracker {
    /// Ends the incidents that `goes_on` returns false for: no device is in an event of theirs any more.
    pub(super) fn close(&mut self, goes_on: impl Fn(u64) -> bool) {
        for (id, tracked) in std::mem::take(&mut self.open) {
            if goes_on(id) {
                self.open.insert(id, tracked);
                continue;
            }
            for names in &tracked.devices {
                if let Some(ids) = self.open_on.get_mut(&names.device) {
                    ids.remove(&id);
                }
            }
            self.finished.push(tracked.finished());
        }
        self.open_on.retain(|_, ids| !ids.is_empty());
        self.limited.retain(|_, id| self.open.contains_key(id));
    }

    /// Forgets incidents without events.
    pub(super) fn forget(&mut self, gone: &HashSet<u64>) {
        self.finished.retain(|one| !gone.contains(&one.incident.id));
    }

    /// Adds a step of a device in trouble. Returns the number of its incident.
    pub(super) fn observe(&mut self, trouble: &Trouble<'_>) -> u64 {
        let id = match trouble.event.incident {
            Some(id) if self.open.contains_key(&id) => id,
            _ => self.join(trouble),
        };
        let Some(tracked) = self.open.get_mut(&id) else {
            return id;
        };
        tracked.note_step(trouble);
        tracked.note_cause(trouble);
        tracked.note_usage(trouble, &self.open_on);
        if let Some(limit) = tracked.incident.cgroup_limit() {
            self.limited.insert(limit.device.to_string(), id);
        }
        id
    }

    /// Returns an open incident.
    pub(super) fn open(&self, id: u64) -> Option<&Arc<Incident>> {
        self.open.get(&id).map(|one| &one.incident)
    }

    /// Returns the incident whose cause is a limit of a cgroup on a device.
    pub(super) fn limited(&self, device: &str) -> Option<&Arc<Incident>> {
        let incident = self.open(*self.limited.get(device)?)?;
        let limit = incident.cgroup_limit()?;
        (*limit.device == *device).then_some(incident)
    }

    /// Returns the latest open incident that has reached a device.
    pub(super) fn with(&self, names: &DeviceNames) -> Option<&Arc<Incident>> {
        self.open(*self.open_on.get(&names.device)?.last()?)
    }

    /// Returns the number of the open incident of a device whose event has just begun: the one of a device that it is stacked
    /// with, unless the kernel states another cause, or a new one.
    fn join(&mut self, trouble: &Trouble<'_>) -> u64 {
        let (names, topology) = (&trouble.events.names, trouble.topology);
        let below = topology.devices_below(&names.device);
        let mut linked = BTreeSet::new();
        let above = topology.devices_above(&names.device);
        for device in below.iter().chain(&above).chain([&names.device]) {
            linked.extend(self.open_on.get(device).into_iter().flatten());
        }
        let joined = linked.into_iter().find(|id| match self.open.get(id) {
            Some(one) => {
                one.is_stall == trouble.event.is_stall() && !one.has_other_fact(trouble.event)
            }
            None => false,
        });
        let id = joined.unwrap_or(self.count + 1);
        let open_on_device = self.open_on.entry(names.device.clone()).or_default();
        let is_new_device = open_on_device.insert(id);
        let Some(tracked) = self.open.get_mut(&id) else {
            self.count += 1;
            self.open.insert(id, Tracked::new(id, trouble));
            return id;
        };
        if is_new_device {
            tracked.devices.push(Arc::clone(names));
        }
        let begin = trouble.event.rise;
        if begin.run_s < tracked.incident.begin.run_s {
            let incident = Arc::make_mut(&mut tracked.incident);
            incident.begin = begin;
            incident.begin_is_known = trouble.begin_is_known;
        }
        let victim = &tracked.incident.victim.device;
        if is_above(&names.device, &below, victim, topology) {
            tracked.set_victim(trouble);
        }
        id
    }

    /// Returns the incidents with their events, in the order in which they began. Seconds count from `range_begin_s` on.
    pub(super) fn summaries(&self, events: &[Event], range_begin_s: f64) -> Vec<IncidentSummary> {
        let mut events_of: HashMap<u64, Vec<&Event>> = HashMap::new();
        for event in events {
            if let Some(id) = event.incident {
                events_of.entry(id).or_default().push(event);
            }
        }
        let mut summaries = Vec::new();
        for one in self.finished.iter().chain(self.open.values()) {
            // One before the range that is shown has none.
            if let Some(own) = events_of.get(&one.incident.id) {
                summaries.extend(one.summary(own, range_begin_s));
            }
        }
        summaries.sort_by(|a, b| {
            let (a, b) = (&a.incident, &b.incident);
            a.begin
                .run_s
                .total_cmp(&b.begin.run_s)
                .then(a.id.cmp(&b.id))
        });
        summaries
    }
}

impl Tracked {
    fn new(id: u64, trouble: &Trouble<'_>) -> Self {
        let (requests, before_ms) = requests_and_latency(trouble);
        let victim = Arc::clone(&trouble.events.names);
        let devices = vec![Arc::clone(&victim)];
        let incident = Incident::new(id, victim, trouble.event.rise, trouble.begin_is_known);
        Self {
            incident: Arc::new(Incident {
                requests,
                before_ms,
                ..incident
            }),
            devices,
            is_stall: trouble.event.is_stall(),
            program_votes: ProgramVotes::default(),
            sum: None,
            harm: Harm::default(),
        }
    }

    /// Returns whether the kernel states a cause of the event which is not that of the incident.
    fn has_other_fact(&self, event: &Event) -> bool {
        match (&self.incident.cause, &event.cause) {
            (Some(known), Some(new)) => {
                known.is_fact() && new.is_fact() && !known.is_same_fact(new)
            }
            _ => false,
        }
    }

    fn set_victim(&mut self, trouble: &Trouble<'_>) {
        let (requests, before_ms) = requests_and_latency(trouble);
        let incident = Arc::make_mut(&mut self.incident);
        let below = std::mem::replace(&mut incident.victim, Arc::clone(&trouble.events.names));
        (incident.requests, incident.before_ms) = (requests, before_ms);
        self.sum = None;
        let cause = Cause::DeviceBelow(below);
        let known_rank = incident.cause.as_ref().map(Cause::rank);
        if known_rank < Some(cause.rank()) {
            incident.cause = Some(cause);
        }
    }

    /// Adds a step of the victim.
    fn note_step(&mut self, trouble: &Trouble<'_>) {
        if trouble.events.names.device != self.incident.victim.device {
            return;
        }
        *self.sum.get_or_insert_default().as_mut() += &trouble.device.judged;
    }

    /// Keeps only what is told of an incident that has ended.
    fn finished(mut self) -> Self {
        self.program_votes = ProgramVotes::default();
        if let Some(sum) = self.sum.take() {
            self.harm = Harm::of(&sum, self.incident.requests);
        }
        self
    }

    /// Keeps the most certain cause.
    fn note_cause(&mut self, trouble: &Trouble<'_>) {
        let names = &trouble.events.names;
        let victim = &self.incident.victim.device;
        let is_victim = names.device == *victim;
        let Some(cause) = trouble.event.cause_of_incident(is_victim) else {
            return;
        };
        let mut earlier_per_s = None;
        let is_news = match (&self.incident.cause, &cause) {
            // What the kernel says changes: errors are counted, a rebuild goes on.
            (Some(Cause::Health(known)), Cause::Health(new)) => known != new,
            // The limit that holds now has taken the place of another one.
            (
                Some(Cause::Cap { plateau, device }),
                Cause::Cap {
                    plateau: new,
                    device: of_new,
                },
            ) if device.device == of_new.device && plateau.direction == new.direction => {
                earlier_per_s = Some(plateau.iops);
                plateau.unit == new.unit && !plateau.is_same(new)
            }
            _ => false,
        };
        let known_rank = self.incident.cause.as_ref().map(Cause::rank);
        if !is_news && known_rank >= Some(cause.rank()) {
            return;
        }
        if !is_victim
            && !trouble
                .topology
                .devices_below(victim)
                .contains(&names.device)
        {
            return;
        }
        let incident = Arc::make_mut(&mut self.incident);
        if let Cause::CgroupLimit(limit) = &cause {
            incident.owner.clone_from(&limit.owner);
            if is_victim && incident.requests != Some(limit.direction) {
                incident.requests = Some(limit.direction);
                incident.before_ms = trouble.events.latency_before_ms(limit.direction);
            }
        }
        if let Cause::Cap { plateau, .. } = &cause {
            incident.before_per_s =
                earlier_per_s.or_else(|| trouble.events.rate_before_per_s(plateau.direction));
        }
        incident.cause = Some(cause);
    }

    /// Notes the cgroup with most of the victim's bytes, and the tasks that wait in the cgroup with the limit or on the devices,
    /// which `open_on` has.
    fn note_usage(&mut self, trouble: &Trouble<'_>, open_on: &HashMap<String, BTreeSet<u64>>) {
        let Some(attribution) = trouble.attribution else {
            return;
        };
        let usage = attribution.device(&trouble.events.names.device);
        if self.incident.owner.is_none()
            && let Some(cgroup) = usage.and_then(DeviceUse::loading_cgroup)
        {
            Arc::make_mut(&mut self.incident).owner = Some(Arc::clone(&cgroup.path));
        }
        self.note_program(trouble, attribution, usage);
        let limit = self.incident.cgroup_limit();
        let limited = limit.and_then(|limit| limit.owner.as_deref());
        let program = self.incident.program.as_ref();
        let mut waiting = Vec::new();
        for task in &attribution.blocked {
            let is_limited = match (limited, &task.cgroup) {
                (Some(owner), Some(path)) => is_in_cgroup(owner, path),
                _ => false,
            };
            let ids = task.device.as_ref().and_then(|device| open_on.get(device));
            let is_on_devices = ids.is_some_and(|ids| ids.contains(&self.incident.id));
            // The program that makes the load waits for itself, and threads of the kernel wait for others.
            let is_of_load = program.is_some_and(|program| program.has(&task.comm, &task.cgroup));
            let is_victim = is_limited || !is_of_load && !task.is_kernel;
            if (is_limited || is_on_devices) && is_victim && waiting.len() < MAX_WAITING {
                waiting.push(WaitingTask {
                    tid: task.tid,
                    comm: task.comm.clone(),
                    command: task.command.clone(),
                    waited_ms: task.waited_ms,
                });
            }
        }
        if !waiting.is_empty() && waiting != self.incident.waiting {
            Arc::make_mut(&mut self.incident).waiting = waiting;
        }
    }

    /// Counts the readings of processes in which a program had most of a device's bytes, and names the program that had
    /// them in most readings.
    fn note_program(
        &mut self,
        trouble: &Trouble<'_>,
        attribution: &Attribution,
        usage: Option<&DeviceUse>,
    ) {
        let Some(reading) = &attribution.reading else {
            return;
        };
        let length_s = reading.processes.elapsed.as_secs_f64();
        let middle_s = trouble.event.end.run_s - attribution.reading_age_s - length_s / 2.0;
        let votes = &mut self.program_votes;
        if middle_s < self.incident.begin.run_s || votes.latest == Some(reading.at) {
            return;
        }
        votes.latest = Some(reading.at);
        votes.readings += 1;
        let owner = self.incident.owner.as_deref();
        if let Some(usage) = usage
            && let Some(program) = usage.loading_program(owner)
        {
            *votes.programs.value(program) += 1;
        }
        let named = votes.winner();
        if named != self.incident.program.as_ref() {
            Arc::make_mut(&mut self.incident).program = named.cloned();
        }
    }

    /// Returns the incident with its own events; `None` without any.
    fn summary(&self, own: &[&Event], range_begin_s: f64) -> Option<IncidentSummary> {
        let Self {
            mut incident,
            mut devices,
            harm,
            ..
        } = self.clone().finished();
        let victim = incident.victim.device.clone();
        if range_begin_s != 0.0 {
            Arc::make_mut(&mut incident).begin.run_s -= range_begin_s;
        }

        let mut worst: HashMap<&str, Verdict> = HashMap::new();
        for event in own {
            let worst = worst.entry(&event.names.device).or_insert(event.verdict);
            *worst = event.verdict.max(*worst);
        }
        devices.sort_by_key(|one| one.device != victim);
        let mut in_trouble = Vec::with_capacity(devices.len());
        for names in devices {
            let verdict = worst.get(names.device.as_str()).copied();
            in_trouble.push(DeviceInTrouble { names, verdict });
        }
        // Where the victim is not shown, the first device below it is.
        let shown = in_trouble.iter().find(|one| one.verdict.is_some())?;
        let verdict = shown.verdict?;

        let mut end = own.first()?.end;
        let (mut verdict_s, mut trouble_s, mut is_ongoing) = (0.0, 0.0, false);
        for event in own {
            if event.end.run_s >= end.run_s {
                end = event.end;
            }
            if event.names.device == shown.names.device && event.verdict == verdict {
                verdict_s += event.verdict_s;
            }
            if event.names.device == victim {
                trouble_s += event.trouble_s();
            }
            is_ongoing |= event.is_ongoing;
        }
        Some(IncidentSummary {
            verdict,
            verdict_s,
            end,
            is_ongoing,
            harm,
            devices: in_trouble,
            trouble_s,
            incident,
        })
    }
}

/// The number of readings of processes in which each program made most of the load.
#[derive(Clone, Debug, Default)]
struct ProgramVotes {
    /// The time of the latest reading.
    latest: Option<Duration>,
    readings: u32,
    programs: ByProgram<u32>,
}

impl ProgramVotes {
    /// The program of at least half of the readings; `None` if there is none.
    fn winner(&self) -> Option<&Program> {
        let most = self.programs.0.iter().max_by_key(|(_, votes)| *votes);
        let (program, votes) = most?;
        (2 * votes >= self.readings).then_some(program)
    }
}

/// The mean number of requests at a time from which a kind of requests may be what somebody waits for.
const MIN_WAITING_QUEUE: f64 = 0.1;

/// How much a kind of requests suffers.
struct Suffering {
    kind: IoDirection,
    before_ms: Option<f64>,
    /// The multiple of the latency before; 1 if that is not known.
    multiple: f64,
    queue: f64,
}

impl Suffering {
    /// Two multiples are much the same below this quotient.
    const MUCH_THE_SAME: f64 = 1.5;

    /// `None` if none completed in a time that the kernel counts.
    fn of(kind: IoDirection, trouble: &Trouble<'_>) -> Option<Self> {
        let requests = trouble.device.judged.requests(kind);
        let await_ms = requests.await_ms().filter(|ms| *ms > 0.0)?;
        let before_ms = trouble.events.latency_before_ms(kind);
        Some(Self {
            kind,
            before_ms,
            multiple: await_ms / before_ms.unwrap_or(await_ms),
            queue: requests.queue().unwrap_or(0.0),
        })
    }

    fn is_worse_than(&self, other: &Self) -> bool {
        let [waits, other_waits] = [self, other].map(|one| one.queue >= MIN_WAITING_QUEUE);
        if waits != other_waits {
            return waits;
        }
        let quotient = self.multiple / other.multiple;
        if quotient.max(1.0 / quotient) < Self::MUCH_THE_SAME {
            return self.queue > other.queue;
        }
        quotient > 1.0
    }
}

/// Returns the kind of requests that suffers most and its latency before the trouble: those that take the largest multiple of
/// what they took before or, where that is much the same or not known, most of the time. A kind that hardly anyone waits for
/// comes last. `None` if none completed in a time that the kernel counts.
fn requests_and_latency(trouble: &Trouble<'_>) -> (Option<IoDirection>, Option<f64>) {
    let mut worst: Option<Suffering> = None;
    for kind in KINDS {
        if let Some(suffering) = Suffering::of(kind, trouble)
            && worst
                .as_ref()
                .is_none_or(|worst| suffering.is_worse_than(worst))
        {
            worst = Some(suffering);
        }
    }
    let Some(worst) = worst else {
        return (None, None);
    };
    (Some(worst.kind), worst.before_ms)
}

/// Returns whether a device, with these devices `below` it, is the victim rather than `other`: it is stacked on it. A disk
/// is the victim rather than its partitions.
fn is_above(name: &str, below: &[String], other: &str, topology: &Topology) -> bool {
    let is_below = below.iter().any(|one| one == other);
    topology.disk_of(other) == Some(name) || is_below && topology.disk_of(name) != Some(other)
}

#[cfg(test)]
mod examples {
    use super::*;

    impl Incident {
        pub(crate) fn example() -> Self {
            Self::new(
                1,
                DeviceNames::without_alias("sda"),
                Moment::default(),
                true,
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_that_suffer_most_have_the_largest_multiple_or_queue() {
        let suffering = |multiple, queue| Suffering {
            kind: IoDirection::Reads,
            before_ms: None,
            multiple,
            queue,
        };
        for (worse, other) in [
            ((22.4, 7.5), (23.3, 1.2)),
            ((10.0, 0.5), (2.0, 5.0)),
            // Hardly anyone waits for the other.
            ((1.0, 0.2), (50.0, 0.01)),
        ] {
            let [worse, other] = [worse, other].map(|(multiple, queue)| suffering(multiple, queue));
            assert!(worse.is_worse_than(&other) && !other.is_worse_than(&worse));
        }
    }
}
