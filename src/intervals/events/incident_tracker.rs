//! Finds incidents while they last.

use std::cmp::Ordering;
use std::sync::Arc;

use super::event::{Event, Figures, TOLERANCE_S};
use super::history::DeviceHistory;
use crate::analysis::{Histogram, IoDirection, Verdict};
use crate::attribution::{Attribution, ReachedLimit, is_in_cgroup};
use crate::intervals::known_limit::limited_requests;
use crate::intervals::{Cause, DeviceActivity, DeviceNames, Incident, Moment, WaitingTask};
use crate::topology::Topology;

/// The time in seconds, and the number of intervals if they are longer, after which trouble that comes back is another
/// incident.
const MAX_GAP_S: f64 = 10.0;
const MAX_GAP_INTERVALS: f64 = 3.0;
/// The most incidents that are kept after their end. The first of them are dropped.
const MAX_FINISHED: usize = 10_000;
/// The fraction of a device's bytes in percent from which a cgroup owns its load.
const MIN_OWNER_PCT: f64 = 50.0;
/// The most waiting tasks that are kept.
const MAX_WAITING: usize = 8;

/// An incident with the devices that it has reached.
#[derive(Clone, Debug)]
struct Tracked {
    incident: Arc<Incident>,
    devices: Vec<Arc<DeviceNames>>,
    /// The end of the last interval in which one of them was in trouble.
    end: Moment,
    /// Latency, rate and queue of the victim in its intervals in trouble, while it may go on.
    intervals: Option<Box<[Histogram; 3]>>,
    /// The harm in these intervals, once they are over.
    harm: Harm,
}

/// An incident with all that is known of it at the end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct IncidentSummary {
    pub incident: Arc<Incident>,
    /// The verdict on the victim that weighs most, and the seconds for which the victim had it.
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
    /// The verdict on it that weighs most, and the seconds with that; `None` if it is not shown by itself.
    pub verdict: Option<(Verdict, f64)>,
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

/// The latency, rate and queue of a device in trouble: those of an interval, or the medians of all.
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
    fn of(figures: &Figures, requests: Option<IoDirection>) -> Self {
        Self {
            await_ms: requests.and_then(|requests| figures.await_ms(requests)),
            per_s: requests.and_then(|requests| figures.per_s(requests)),
            queue: figures.queue(),
        }
    }
}

/// The device in trouble whose incident is looked for.
pub(super) struct Trouble<'a> {
    pub(super) device: &'a DeviceHistory,
    pub(super) phase: &'a Event,
    pub(super) activity: &'a DeviceActivity,
    /// The onset of its trouble, and whether it was observed.
    pub(super) begin: Moment,
    pub(super) begin_is_known: bool,
    /// The end of the interval.
    pub(super) end: Moment,
    pub(super) attribution: Option<&'a Attribution>,
}

#[derive(Clone, Debug, Default)]
pub(in crate::intervals) struct IncidentTracker {
    /// Those that may go on, by their numbers.
    open: Vec<Tracked>,
    finished: Vec<Tracked>,
    count: u64,
}

impl IncidentTracker {
    /// Ends the incidents in which no device has been in trouble for a while, before an interval of this length that
    /// begins at `now_s`.
    pub(super) fn close(&mut self, now_s: f64, interval_s: f64) {
        let max_gap_s = MAX_GAP_S.max(MAX_GAP_INTERVALS * interval_s);
        let ended = self
            .open
            .extract_if(.., |one| now_s - one.end.run_s > max_gap_s);
        self.finished.extend(ended.map(Tracked::finished));
        if self.finished.len() >= 2 * MAX_FINISHED {
            self.finished.drain(..MAX_FINISHED);
        }
    }

    /// Ends all incidents, at a break in time.
    pub(super) fn close_all(&mut self) {
        self.finished
            .extend(self.open.drain(..).map(Tracked::finished));
    }

    /// Adds an interval of a device in trouble. Returns its incident; `None` if its requests only wait for each other a little, which is no
    /// incident by itself.
    pub(super) fn observe(
        &mut self,
        trouble: &Trouble<'_>,
        topology: &Topology,
    ) -> Option<Arc<Incident>> {
        let at = self
            .open
            .binary_search_by_key(&trouble.device.incident, |one| one.incident.id)
            .ok();
        let at = at
            .filter(|_| trouble.device.is_in_trouble())
            .or_else(|| self.join(trouble, topology))?;
        let tracked = &mut self.open[at];
        if trouble.phase.verdict != Verdict::Queueing {
            tracked.end = trouble.end;
        }
        tracked.note_interval(trouble);
        tracked.note_cause(trouble, topology);
        tracked.note_usage(trouble);
        Some(Arc::clone(&tracked.incident))
    }

    /// Returns the incidents that a limit of a cgroup causes, with devices in trouble in the interval that ends `now`.
    pub(super) fn limited(
        &self,
        now: Moment,
    ) -> impl Iterator<Item = (&Arc<Incident>, &ReachedLimit)> {
        let present = self.open.iter().filter(move |one| one.end == now);
        present.filter_map(|one| Some((&one.incident, one.incident.cgroup_limit()?)))
    }

    /// Returns the limit that causes the incident of a device, or that is on it, if the incident may go on.
    pub(in crate::intervals) fn limit_of(&self, device: &str) -> Option<&ReachedLimit> {
        self.open.iter().find_map(|one| {
            let limit = one.incident.cgroup_limit()?;
            let is_own = limit.limited_device == device
                || one.devices.iter().any(|own| own.device == device);
            is_own.then_some(limit)
        })
    }

    /// Returns the index of the open incident of a device that was not in trouble before: the one of a device that it is
    /// stacked with, or a new one. Incidents that it links become the earliest of them.
    fn join(&mut self, trouble: &Trouble<'_>, topology: &Topology) -> Option<usize> {
        let names = &trouble.device.names;
        let below = all_below(&names.device, topology);
        let is_in_trouble = trouble.device.is_in_trouble();
        let begin_s = trouble.end.run_s - trouble.activity.stats.seconds() - TOLERANCE_S;
        let mut linked = (0..self.open.len()).filter(|at| {
            let one = &self.open[*at];
            (is_in_trouble || one.end.run_s >= begin_s) && one.is_linked(names, &below, topology)
        });
        let Some(first) = linked.next() else {
            if !is_in_trouble {
                return None;
            }
            self.count += 1;
            self.open.push(Tracked::new(self.count, trouble));
            return Some(self.open.len() - 1);
        };
        for at in linked.collect::<Vec<_>>().into_iter().rev() {
            let other = self.open.remove(at);
            self.open[first].devices.extend(other.devices);
        }
        let tracked = &mut self.open[first];
        if !tracked.has(names) {
            tracked.devices.push(Arc::clone(names));
        }
        if is_above(
            &names.device,
            &below,
            &tracked.incident.victim.device,
            topology,
        ) {
            tracked.set_victim(trouble);
        }
        Some(first)
    }

    /// Returns the incidents, and for each phase which of them it belongs to. The phases must be in the order of time; both
    /// count seconds from `range_begin_s` on. Phases that only hindsight shows become incidents of their own;
    /// `is_begin_known` says whether the onset of one after these seconds was observed. Trouble of a victim begins with its
    /// incident, not before.
    pub(super) fn summaries(
        &self,
        phases: &mut [Event],
        range_begin_s: f64,
        is_begin_known: impl Fn(f64) -> bool,
        topology: &Topology,
    ) -> (Vec<IncidentSummary>, Vec<Option<usize>>) {
        let known = self.finished.iter().chain(&self.open);
        let mut all: Vec<(Tracked, Vec<usize>)> = known
            .map(|one| (one.shifted(-range_begin_s), Vec::new()))
            .collect();
        all.sort_by(|a, b| a.0.begin_s().total_cmp(&b.0.begin_s()));
        let (known_count, mut next, mut count) = (all.len(), 0, self.count);
        // The incidents that may overlap the phase.
        let mut near: Vec<usize> = Vec::new();
        for (at, phase) in phases.iter().enumerate() {
            near.retain(|one| all[*one].0.end.run_s > phase.begin.run_s);
            while next < known_count && all[next].0.begin_s() < phase.end.run_s {
                near.push(next);
                next += 1;
            }
            let names = &phase.names;
            let below = all_below(&names.device, topology);
            let own = near.iter().copied().filter(|one| all[*one].0.has(names));
            let overlap_s = |one: &usize| all[*one].0.overlap_s(phase);
            let own = own.filter(|one| overlap_s(one) > 0.0);
            let own = own.max_by(|a, b| overlap_s(a).total_cmp(&overlap_s(b)));
            let is_linked = |one: &&usize| {
                let tracked = &all[**one].0;
                let shorter_s = phase
                    .duration_s()
                    .min(tracked.end.run_s - tracked.begin_s());
                2.0 * overlap_s(one) >= shorter_s && tracked.is_linked(names, &below, topology)
            };
            let Some(found) = own.or_else(|| near.iter().find(is_linked).copied()) else {
                if phase.verdict == Verdict::Queueing {
                    continue;
                }
                count += 1;
                near.push(all.len());
                let tracked = Tracked::of_phase(count, phase, is_begin_known(phase.begin.run_s));
                all.push((tracked, vec![at]));
                continue;
            };
            let (tracked, members) = &mut all[found];
            members.push(at);
            if found >= known_count {
                tracked.add_phase(phase, &below, is_begin_known(phase.begin.run_s), topology);
            }
        }
        all.sort_by(|a, b| a.0.begin_s().total_cmp(&b.0.begin_s()));
        let mut incident_of = vec![None; phases.len()];
        let mut found = Vec::new();
        for (one, members) in all {
            members
                .iter()
                .for_each(|at| one.limit_begin(&mut phases[*at]));
            let Some(summary) = one.summary(&members, phases) else {
                continue;
            };
            members
                .iter()
                .for_each(|at| incident_of[*at] = Some(found.len()));
            found.push(summary);
        }
        (found, incident_of)
    }
}

impl Tracked {
    fn new(id: u64, trouble: &Trouble<'_>) -> Self {
        let (requests, before_ms) = requests_and_latency(trouble);
        let rise = trouble.device.rise(trouble.begin, requests, before_ms);
        let (victim, begin) = (
            Arc::clone(&trouble.device.names),
            rise.unwrap_or(trouble.begin),
        );
        let incident = Incident::new(id, victim, begin, trouble.begin_is_known);
        Self::of_incident(
            Incident {
                requests,
                before_ms,
                ..incident
            },
            trouble.begin,
        )
    }

    /// The incident of a phase that only hindsight shows.
    fn of_phase(id: u64, phase: &Event, begin_is_known: bool) -> Self {
        let incident = Incident {
            requests: phase.figures.slowest(|_| None),
            cause: phase.cause_of_incident(true),
            owner: phase.figures.top_cgroup().map(|top| top.path),
            ..Incident::new(id, Arc::clone(&phase.names), phase.begin, begin_is_known)
        };
        let harm = Harm::of(&phase.figures, incident.requests);
        Self {
            harm,
            ..Self::of_incident(incident, phase.end)
        }
    }

    fn of_incident(incident: Incident, end: Moment) -> Self {
        let devices = vec![Arc::clone(&incident.victim)];
        Self {
            incident: Arc::new(incident),
            devices,
            end,
            intervals: None,
            harm: Harm::default(),
        }
    }

    /// Returns whether a device, with these devices below it, belongs to the incident or is stacked with one that does.
    fn is_linked(&self, names: &DeviceNames, below: &[String], topology: &Topology) -> bool {
        self.devices.iter().any(|one| {
            one.device == names.device
                || below.contains(&one.device)
                || !topology.backing_devices(&one.device).is_empty()
                    && all_below(&one.device, topology).contains(&names.device)
        })
    }

    fn set_victim(&mut self, trouble: &Trouble<'_>) {
        let (requests, before_ms) = requests_and_latency(trouble);
        let incident = Arc::make_mut(&mut self.incident);
        let below = std::mem::replace(&mut incident.victim, Arc::clone(&trouble.device.names));
        (incident.requests, incident.before_ms) = (requests, before_ms);
        self.intervals = None;
        if incident
            .cause
            .as_ref()
            .is_none_or(|cause| cause.rank() < Cause::DeviceBelow(below.clone()).rank())
        {
            incident.cause = Some(Cause::DeviceBelow(below));
        }
    }

    /// Adds an interval of the victim.
    fn note_interval(&mut self, trouble: &Trouble<'_>) {
        let is_victim = trouble.device.names.device == self.incident.victim.device;
        if is_victim && trouble.phase.verdict != Verdict::Queueing {
            let figures = Figures::of(trouble.activity);
            let Harm {
                await_ms,
                per_s,
                queue,
            } = Harm::of(&figures, self.incident.requests);
            let histograms = self.intervals.get_or_insert_default().iter_mut();
            for (histogram, value) in histograms.zip([await_ms, Some(per_s.unwrap_or(0.0)), queue])
            {
                value
                    .into_iter()
                    .for_each(|value| histogram.add(value, figures.seconds));
            }
        }
    }

    /// Keeps only what is told of an incident that has ended: the medians, because a mean would be that of the few intervals
    /// in which the load begins or ends.
    fn finished(mut self) -> Self {
        if let Some(mut intervals) = self.intervals.take() {
            let [await_ms, per_s, queue] = intervals
                .each_mut()
                .map(|histogram| histogram.quantile(0.5));
            let per_s = per_s.filter(|per_s| *per_s > 0.0);
            let await_ms = await_ms.filter(|_| per_s.is_some());
            self.harm = Harm {
                await_ms,
                per_s: self.incident.requests.and(per_s),
                queue,
            };
        }
        self
    }

    /// Keeps the most certain cause.
    fn note_cause(&mut self, trouble: &Trouble<'_>, topology: &Topology) {
        let names = &trouble.device.names;
        let is_victim = names.device == self.incident.victim.device;
        let Some(cause) = trouble.phase.cause_of_incident(is_victim) else {
            return;
        };
        // What the kernel says changes: errors are counted, a rebuild goes on.
        let is_news = matches!((&self.incident.cause, &cause), (Some(Cause::Health(known)), Cause::Health(new)) if known != new);
        if !is_news
            && self
                .incident
                .cause
                .as_ref()
                .is_some_and(|known| known.rank() >= cause.rank())
        {
            return;
        }
        if !is_victim && !all_below(&self.incident.victim.device, topology).contains(&names.device)
        {
            return;
        }
        let incident = Arc::make_mut(&mut self.incident);
        if let Cause::CgroupLimit(limit) = &cause {
            incident.owner = Some(Arc::clone(&limit.cgroup));
            let requests = limited_requests(limit.kind);
            if is_victim && incident.requests != Some(requests) {
                self.intervals = None;
                incident.requests = Some(requests);
                incident.before_ms = trouble.device.latency_before_ms(requests);
            }
        }
        incident.cause = Some(cause);
    }

    /// Notes the cgroup with most of the victim's bytes, and the tasks that wait in the cgroup with the limit.
    fn note_usage(&mut self, trouble: &Trouble<'_>) {
        if self.incident.owner.is_none()
            && let Some(top) = trouble
                .activity
                .top_cgroup
                .as_ref()
                .filter(|top| top.share_pct >= MIN_OWNER_PCT)
        {
            Arc::make_mut(&mut self.incident).owner = Some(Arc::clone(&top.path));
        }
        let (Some(attribution), Some(limit)) = (trouble.attribution, self.incident.cgroup_limit())
        else {
            return;
        };
        let is_inside = |path: &Option<Arc<str>>| {
            path.as_deref()
                .is_some_and(|path| is_in_cgroup(&limit.cgroup, path))
        };
        let inside = attribution
            .blocked
            .iter()
            .filter(|task| is_inside(&task.cgroup));
        let waiting: Vec<WaitingTask> = inside
            .take(MAX_WAITING)
            .map(|task| WaitingTask {
                tid: task.tid,
                comm: task.comm.clone(),
            })
            .collect();
        if !waiting.is_empty() && waiting != self.incident.waiting {
            Arc::make_mut(&mut self.incident).waiting = waiting;
        }
    }

    fn begin_s(&self) -> f64 {
        self.incident.begin.run_s
    }

    fn has(&self, names: &DeviceNames) -> bool {
        self.devices.iter().any(|one| one.device == names.device)
    }

    fn overlap_s(&self, phase: &Event) -> f64 {
        self.end.run_s.min(phase.end.run_s) - self.begin_s().max(phase.begin.run_s)
    }

    /// Adds a phase that only hindsight shows.
    fn add_phase(
        &mut self,
        phase: &Event,
        below: &[String],
        begin_is_known: bool,
        topology: &Topology,
    ) {
        if is_above(
            &phase.names.device,
            below,
            &self.incident.victim.device,
            topology,
        ) {
            let Self { incident, harm, .. } =
                Self::of_phase(self.incident.id, phase, begin_is_known);
            (self.incident, self.harm) = (incident, harm);
        }
        if phase.end.run_s > self.end.run_s {
            self.end = phase.end;
        }
        if !self.has(&phase.names) {
            self.devices.push(Arc::clone(&phase.names));
        }
    }

    fn shifted(&self, seconds: f64) -> Self {
        let mut shifted = self.clone();
        if seconds != 0.0 {
            Arc::make_mut(&mut shifted.incident).begin.run_s += seconds;
            shifted.end.run_s += seconds;
        }
        shifted
    }

    /// Returns the incident with these of the phases; `None` without any.
    fn summary(self, members: &[usize], phases: &[Event]) -> Option<IncidentSummary> {
        let Self {
            incident,
            mut devices,
            end,
            harm,
            ..
        } = self.finished();
        devices.sort_by_key(|one| one.device != incident.victim.device);
        let of_device = |names: &DeviceNames| {
            let phases = members.iter().map(|at| &phases[*at]);
            let own: Vec<&Event> = phases
                .filter(|phase| phase.names.device == names.device)
                .collect();
            own
        };
        let worst = |own: &[&Event]| {
            let worst = own
                .iter()
                .max_by(|a, b| a.trouble_s().total_cmp(&b.trouble_s()))?
                .verdict;
            let same = own.iter().filter(|phase| phase.verdict == worst);
            Some((worst, same.map(|phase| phase.verdict_s).sum()))
        };
        let to_device = |names: Arc<DeviceNames>| DeviceInTrouble {
            verdict: worst(&of_device(&names)),
            names,
        };
        let devices: Vec<DeviceInTrouble> = devices.into_iter().map(to_device).collect();
        // Where the victim is not shown, the worst device below it is.
        let (verdict, verdict_s) = devices.iter().find_map(|one| one.verdict)?;
        let in_trouble = members
            .iter()
            .map(|at| &phases[*at])
            .filter(|one| one.verdict != Verdict::Queueing);
        let latest = in_trouble.max_by(|a, b| a.end.run_s.total_cmp(&b.end.run_s))?;
        Some(IncidentSummary {
            verdict,
            verdict_s,
            end: if latest.end.run_s > end.run_s {
                latest.end
            } else {
                end
            },
            is_ongoing: members.iter().any(|at| phases[*at].is_ongoing),
            harm,
            devices,
            trouble_s: of_device(&incident.victim)
                .into_iter()
                .map(Event::trouble_s)
                .sum(),
            incident,
        })
    }

    /// Cuts what precedes the incident from a phase of the victim.
    fn limit_begin(&self, phase: &mut Event) {
        let begin = self.incident.begin;
        let is_victim = phase.names.device == self.incident.victim.device;
        if is_victim && phase.begin.run_s < begin.run_s && begin.run_s < phase.end.run_s {
            phase.begin = begin;
        }
    }
}

/// Returns the kind of requests that wait most beyond what they took before, and their latency before the trouble.
fn requests_and_latency(trouble: &Trouble<'_>) -> (Option<IoDirection>, Option<f64>) {
    let before_ms = |requests| trouble.device.latency_before_ms(requests);
    let requests = Figures::of(trouble.activity).slowest(before_ms);
    let before_ms = requests.and_then(before_ms);
    (requests, before_ms)
}

/// Returns whether a device, with these devices `below` it, is the victim rather than `other`: it is stacked on it. A disk
/// is the victim rather than its partitions.
fn is_above(name: &str, below: &[String], other: &str, topology: &Topology) -> bool {
    let is_disk_of = |disk: &str, partition: &str| topology.disk_of(partition) == Some(disk);
    is_disk_of(name, other) || below.iter().any(|one| one == other) && !is_disk_of(other, name)
}

/// The devices below a device, including the disk of a partition.
fn all_below(name: &str, topology: &Topology) -> Vec<String> {
    let mut found = topology.devices_below(name);
    let disks: Vec<String> = [name]
        .into_iter()
        .chain(found.iter().map(String::as_str))
        .filter_map(|name| topology.disk_of(name))
        .filter(|disk| !disk.is_empty())
        .map(str::to_owned)
        .collect();
    found.extend(disks);
    found
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
