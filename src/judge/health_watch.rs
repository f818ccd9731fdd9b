//! What the kernel says of the health of devices, as evidence: a suspended device is stalled although its counters show
//! nothing, and a device in trouble has errors, a rebuild or a path without connection as a cause.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::host_report::{NfsWait, hidden_io_wait_pct};
use super::step::Step;
use super::verdict::{Assessment, Evidence, HealthEvidence};
use crate::counters::{Health, HealthFacts, NFS_UNANSWERED, SYNC_ACTION, Sample};
use crate::metrics::{HostStats, Interval, in_flight};
use crate::topology::Topology;

/// The seconds without trouble after which another time of trouble begins, whose errors are counted from zero. Also the
/// seconds after which an NFS request that no task waits for counts as given up: the kernel goes on to count it.
const MAX_PAUSE_S: f64 = 30.0;

/// The least seconds for which NFS requests have no answer: facts are read every 2 s while tasks wait, so that the same
/// requests were seen at least twice.
const MIN_UNANSWERED_S: f64 = 3.0;

/// The least share of the time in which some task waits for I/O where one waits all the time: pressure is measured at
/// other times than the samples are taken.
const MOST_OF_THE_TIME_PCT: f64 = 50.0;

/// A device that holds requests back: a suspended volume, a frozen one, a controller that is reset.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoldingDevice {
    /// Seconds since this was seen.
    pub(super) for_s: f64,
    /// Something is known to wait for it.
    pub(super) is_waited_for: bool,
}

/// Follows the facts about the health of devices from step to step.
#[derive(Debug, Default)]
pub(super) struct HealthWatch {
    facts: Option<Arc<HealthFacts>>,
    /// The facts of the step before.
    previous: Option<Arc<HealthFacts>>,
    /// The devices that hold requests, with the second of the run in which that was seen.
    holding: HashMap<String, f64>,
    /// Seconds since the start, without breaks.
    run_s: f64,
    troubles: HashMap<String, Trouble>,
    /// True if a device is in trouble in this step, or tasks wait for I/O that no device shows.
    pub(super) has_trouble: bool,
    /// The requests of NFS mounts that have no answer.
    unanswered: BTreeMap<String, Unanswered>,
    /// The second of the run since which tasks wait for I/O that no device shows; `None` while none does.
    hidden_wait_since_s: Option<f64>,
    /// The NFS mounts with requests without an answer at the end of the last step in which tasks so waited.
    pub(super) nfs_waits: Vec<NfsWait>,
}

/// The number of requests without an answer, and the second of the run since which it is the same.
#[derive(Debug)]
struct Unanswered {
    count: u64,
    since_s: f64,
}

/// A time of trouble of a device.
#[derive(Debug)]
struct Trouble {
    /// The facts before it.
    before: Arc<HealthFacts>,
    begin_s: f64,
    end_s: f64,
}

impl Trouble {
    /// What the kernel says now of a device, compared with what it said before.
    fn evidence(&self, device: String, health: &Health) -> HealthEvidence {
        let before = self.before.get(&device).map(|before| &**before);
        HealthEvidence {
            troubles: health.troubles(before),
            device,
            counted_s: self.end_s - self.begin_s,
        }
    }
}

impl HealthWatch {
    /// Begins a step of the judge of this length, which ends with a sample.
    pub(super) fn begin(&mut self, sample: &Sample, seconds: f64) {
        // Also those of devices that are gone.
        self.troubles
            .retain(|_, trouble| self.run_s - trouble.end_s <= MAX_PAUSE_S);
        self.run_s += seconds;
        self.has_trouble = false;
        self.previous = self.facts.take();
        self.facts.clone_from(&sample.health);
        let is_same = match (&self.previous, &self.facts) {
            (Some(previous), Some(facts)) => Arc::ptr_eq(previous, facts),
            (previous, facts) => previous.is_none() && facts.is_none(),
        };
        if !is_same {
            let before = std::mem::take(&mut self.holding);
            for (name, health) in self.facts.iter().flat_map(|facts| facts.iter()) {
                if health.holds_requests() {
                    let since_s = before.get(name).copied().unwrap_or(self.run_s);
                    self.holding.insert(name.clone(), since_s);
                }
            }
        }
    }

    /// Looks for NFS mounts that tasks may wait for in a step.
    pub(super) fn note_nfs(&mut self, host: &HostStats) {
        let (Some(facts), Some(hidden_pct)) = (&self.facts, hidden_io_wait_pct(host)) else {
            return;
        };
        let mut mounts = BTreeMap::new();
        for (mount, health) in facts.iter() {
            let Some(count) = health.number(NFS_UNANSWERED) else {
                continue;
            };
            let since_s = match self.unanswered.get(mount) {
                Some(before) if before.count == count => before.since_s,
                _ => self.run_s,
            };
            mounts.insert(mount.clone(), Unanswered { count, since_s });
        }
        self.unanswered = mounts;
        if hidden_pct == 0.0 {
            self.hidden_wait_since_s = None;
            return;
        }
        self.has_trouble = true;
        let waiting_since_s = *self.hidden_wait_since_s.get_or_insert(self.run_s);
        self.nfs_waits.clear();
        for (mount, Unanswered { count, since_s }) in &self.unanswered {
            let was_given_up = waiting_since_s - since_s > MAX_PAUSE_S;
            let unanswered_s = self.run_s - since_s.max(waiting_since_s);
            if *count > 0 && !was_given_up && unanswered_s >= MIN_UNANSWERED_S {
                self.nfs_waits.push(NfsWait {
                    mount: mount.clone(),
                    unanswered_s,
                });
            }
        }
    }

    /// Returns since when the kernel says that a device holds requests back, and whether something waits for it; `None` if it
    /// holds none back.
    pub(super) fn holding_device(&self, device: &str, step: &Step<'_>) -> Option<HoldingDevice> {
        let since_s = self.holding.get(device)?;
        Some(HoldingDevice {
            for_s: self.run_s - since_s,
            is_waited_for: is_waited_for(device, step),
        })
    }

    /// Adds what the kernel says to the judgement on a device, for `idle_s` seconds of which no request has completed.
    pub(super) fn note(
        &mut self,
        device: &str,
        assessment: &mut Assessment,
        stats: &Interval,
        idle_s: Option<f64>,
        topology: &Topology,
    ) {
        let Some(facts) = self.facts.clone() else {
            return;
        };
        // A busy device that suddenly does nothing may be suspended: then it counts none of its requests.
        let has_stopped = stats.is_idle() && idle_s.is_some_and(|idle_s| idle_s <= stats.seconds());
        if let Some(health) = facts.get(device) {
            self.has_trouble |= has_stopped && health.can_be_suspended();
        }
        if !assessment.is_trouble() {
            return;
        }
        self.has_trouble = true;
        let trouble = self.troubles.entry(device.to_owned());
        let trouble = trouble.or_insert_with(|| Trouble {
            before: Arc::clone(self.previous.as_ref().unwrap_or(&facts)),
            begin_s: self.run_s - stats.seconds(),
            end_s: self.run_s,
        });
        trouble.end_s = self.run_s;

        let mut names = topology.devices_below(device);
        names.insert(0, device.to_owned());
        let mut found = Vec::new();
        for name in names {
            let Some(health) = facts.get(&name) else {
                continue;
            };
            // A volume that completes requests is suspended for moments only.
            let is_past = stats.completed() > 0.0 && health.is_suspended();
            let evidence = trouble.evidence(name, health);
            if !is_past && !evidence.troubles.is_empty() {
                found.push(Evidence::Health(evidence));
            }
        }
        // An array that rebuilds loads its members.
        for array in topology.holders(device) {
            let Some(health) = facts.get(&array.name) else {
                continue;
            };
            let evidence = trouble.evidence(array.name.clone(), health);
            if evidence.troubles.value(SYNC_ACTION).is_some() {
                found.push(Evidence::Health(evidence));
            }
        }
        // The cause comes first.
        assessment.evidence.splice(0..0, found);
    }

    /// Notes a break in time.
    pub(super) fn interrupt(&mut self) {
        *self = Self {
            run_s: self.run_s,
            ..Self::default()
        };
    }
}

/// Returns whether something waits for a device that holds requests back: its own requests, those of a device above it, a
/// task in a long wait for it or for an unknown device, or tasks that wait for I/O although fewer requests are in flight
/// than tasks wait. The kernel does not count the requests that a suspended device holds back. Its count of blocked tasks
/// may also be too low, but then pressure shows a task that waits while nothing is in flight.
fn is_waited_for(device: &str, step: &Step<'_>) -> bool {
    let sample = step.sample;
    let mut all_in_flight = 0;
    for other in &sample.devices {
        let count = in_flight(&other.counters).unwrap_or(0);
        let mut holders = step.topology.holders(device);
        if count > 0 && (other.name == device || holders.any(|holder| holder.name == other.name)) {
            return true;
        }
        all_in_flight += count;
    }
    if sample.host.blocked > Some(all_in_flight) {
        return true;
    }
    if all_in_flight == 0 && step.host.pressure_some_pct >= Some(MOST_OF_THE_TIME_PCT) {
        return true;
    }
    has_waiting_task(device, step)
}

/// Returns whether a task is in a long wait for a device, or for one that is not known.
fn has_waiting_task(device: &str, step: &Step<'_>) -> bool {
    step.tasks.iter().any(|task| {
        let disk = task.device.as_deref();
        task.goes_on_waiting() && disk.is_none_or(|disk| disk == device)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Verdict;

    #[test]
    fn trouble_of_devices_that_are_gone_is_forgotten() {
        let mut watch = HealthWatch::default();
        let sample = Sample {
            health: Some(Arc::default()),
            ..Sample::default()
        };
        for number in 0..1000 {
            watch.begin(&sample, 1.0);
            let mut assessment = Assessment {
                verdict: Some(Verdict::Saturated),
                ..Assessment::default()
            };
            let interval = Interval::unknown(1.0);
            let name = format!("loop{number}");
            watch.note(
                &name,
                &mut assessment,
                &interval,
                None,
                &Topology::default(),
            );
        }
        assert!(watch.troubles.len() as f64 <= MAX_PAUSE_S + 2.0);
    }
}
