//! What the kernel says of the health of devices, as evidence: a suspended device is stalled although its counters show
//! nothing, and a device in trouble has errors, a rebuild or a path without connection as a cause.

use std::collections::HashMap;
use std::sync::Arc;

use super::step_source::Step;
use crate::analysis::{Assessment, Evidence, HealthEvidence, Verdict};
use crate::counters::{HealthFacts, SYNC_ACTION, Sample};
use crate::metrics::{HostStats, Interval, in_flight};
use crate::topology::Topology;

/// The seconds without trouble after which another time of trouble begins, whose errors are counted from zero.
const MAX_PAUSE_S: f64 = 30.0;

/// The least share of the time in which some task waits for I/O where one waits all the time: pressure is measured at
/// other times than the samples are taken.
const MOST_OF_THE_TIME_PCT: f64 = 50.0;

/// Follows the facts about the health of devices from step to step.
#[derive(Debug, Default)]
pub(super) struct HealthWatch {
    facts: Option<Arc<HealthFacts>>,
    /// The facts of the step before.
    previous: Option<Arc<HealthFacts>>,
    has_suspended: bool,
    /// Seconds since the start, without breaks.
    run_s: f64,
    troubles: HashMap<String, Trouble>,
    /// True if a device is in trouble in this step.
    pub(super) has_trouble: bool,
}

/// A time of trouble of a device.
#[derive(Debug)]
struct Trouble {
    /// The facts before it.
    before: Arc<HealthFacts>,
    begin_s: f64,
    end_s: f64,
}

impl HealthWatch {
    /// Begins a step.
    pub(super) fn begin(&mut self, step: &Step<'_>) {
        self.run_s += step.span.seconds();
        self.has_trouble = false;
        self.previous = self.facts.take();
        self.facts.clone_from(&step.newer.health);
        let is_same = match (&self.previous, &self.facts) {
            (Some(previous), Some(facts)) => Arc::ptr_eq(previous, facts),
            (previous, facts) => previous.is_none() && facts.is_none(),
        };
        if !is_same {
            let suspended = |facts: &Arc<HealthFacts>| facts.values().any(|health| health.is_suspended());
            self.has_suspended = self.facts.as_ref().is_some_and(suspended);
        }
    }

    /// Adds what the kernel says to the assessment of a device in a step.
    pub(super) fn note(
        &mut self,
        device: &str,
        assessment: &mut Assessment,
        stats: &Interval,
        sample: &Sample,
        host: &HostStats,
        topology: &Topology,
    ) {
        let Some(facts) = self.facts.clone() else { return };
        if self.has_suspended
            && stats.completed() == 0
            && facts.get(device).is_some_and(|health| health.is_suspended())
            && is_waited_for(device, sample, host, topology)
        {
            assessment.verdict = Some(Verdict::Stalled);
            assessment.evidence.retain(|evidence| *evidence != Evidence::Idle);
        }
        if !assessment.verdict.is_some_and(Verdict::is_trouble) {
            return;
        }
        self.has_trouble = true;
        let (begin_s, end_s) = (self.run_s - stats.seconds(), self.run_s);
        let trouble = self.troubles.get_mut(device).filter(|trouble| begin_s - trouble.end_s <= MAX_PAUSE_S);
        let (before, counted_s) = match trouble {
            Some(trouble) => {
                trouble.end_s = end_s;
                (Arc::clone(&trouble.before), end_s - trouble.begin_s)
            }
            None => {
                let before = Arc::clone(self.previous.as_ref().unwrap_or(&facts));
                let trouble = Trouble { before: Arc::clone(&before), begin_s, end_s };
                self.troubles.insert(device.to_owned(), trouble);
                (before, end_s - begin_s)
            }
        };
        let evidence = |name: &str, only_sync: bool| {
            let troubles = facts.get(name)?.troubles(before.get(name).map(|before| &**before));
            let is_wanted =
                if only_sync { troubles.value(SYNC_ACTION).is_some() } else { !troubles.is_empty() };
            let device = name.to_owned();
            is_wanted.then_some(Evidence::Health(HealthEvidence { device, troubles, counted_s }))
        };
        let below = topology.devices_below(device);
        let own = [device].into_iter().chain(below.iter().map(String::as_str));
        // An array that rebuilds loads its members.
        let above = topology.holders(device).filter_map(|node| evidence(&node.name, true));
        let found: Vec<Evidence> = own.filter_map(|name| evidence(name, false)).chain(above).collect();
        // The cause comes first.
        assessment.evidence.splice(0..0, found);
    }

    /// Notes a break in time.
    pub(super) fn interrupt(&mut self) {
        *self = Self { run_s: self.run_s, ..Self::default() };
    }
}

/// Returns whether requests wait for a device that is suspended: its own, those of a device above it, or those of
/// tasks that wait for I/O although fewer requests are in flight than tasks wait. The kernel does not count the requests
/// that a suspended device holds back. Its count of blocked tasks may be too low, too, but then pressure shows a task that
/// waits while nothing is in flight.
fn is_waited_for(device: &str, sample: &Sample, host: &HostStats, topology: &Topology) -> bool {
    let has_requests = |name: &str| {
        sample.device(name).and_then(|device| in_flight(&device.counters)).is_some_and(|count| count > 0)
    };
    let in_flight: u64 = sample.devices.iter().filter_map(|device| in_flight(&device.counters)).sum();
    has_requests(device)
        || topology.holders(device).any(|holder| has_requests(&holder.name))
        || sample.host.blocked.is_some_and(|blocked| blocked > in_flight)
        || in_flight == 0 && host.pressure_some_pct.is_some_and(|percent| percent >= MOST_OF_THE_TIME_PCT)
}
