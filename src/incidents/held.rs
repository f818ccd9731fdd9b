//! Devices that limits of cgroups hold back, as the rates of the cgroups show. A limit that held one goes on to do so while the
//! cgroup stays near it, and does so again at once if it comes near while the device is still in trouble.

use std::collections::HashMap;

use crate::attribution::{Attribution, Limit, ReachedLimit, Waits};
use crate::judge::{Assessment, DeviceStep, Evidence, hidden_io_wait_pct};
use crate::metrics::{HostStats, Interval};
use crate::topology::Topology;

/// What is remembered of a device.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// The limit that held it back since its trouble began.
    limit: Option<Limit>,
    /// A limit was reached in the latest step, whether it held the device back or not.
    was_reached: bool,
}

#[derive(Clone, Debug, Default)]
pub struct HeldDevices(HashMap<String, Memory>);

/// What the devices of a step are judged from.
pub struct LimitStep<'a> {
    pub devices: &'a [DeviceStep<'a>],
    /// The judge's, one for each device.
    pub assessments: &'a [Option<Assessment>],
    pub attribution: Option<&'a Attribution>,
    pub host: &'a HostStats,
    pub topology: &'a Topology,
}

impl HeldDevices {
    /// Takes a step. Returns the limits that were reached, by device, whether they hold it back or not.
    pub fn observe(&mut self, step: &LimitStep<'_>) -> HashMap<String, ReachedLimit> {
        let mut found = HashMap::new();
        let in_force: Vec<Limit> = self
            .0
            .values()
            .filter_map(|one| one.limit.clone())
            .collect();
        if step.attribution.is_none() && in_force.is_empty() {
            return found;
        }
        let mut next = HashMap::new();
        for (device, assessment) in step.devices.iter().zip(step.assessments) {
            let (Some(interval), Some(assessment)) = (&device.interval, assessment) else {
                continue;
            };
            if !step.topology.is_whole(device.name) {
                continue;
            }
            let known = self.0.remove(device.name).unwrap_or_default();
            // One that held back a device above holds this one, too.
            let limit = known.limit.or_else(|| {
                let mut limits = in_force.iter();
                limits.find(|limit| *limit.device == *device.name).cloned()
            });
            let is_trouble = assessment.is_trouble();
            let still_holds = match (&limit, step.attribution) {
                (None, _) => false,
                (Some(limit), Some(attribution)) => attribution.still_holds(limit, is_trouble),
                // A scan may come late.
                (Some(_), None) => known.was_reached,
            };
            let reached = step.reached(
                device.name,
                interval,
                assessment,
                limit.as_ref().filter(|_| still_holds),
            );
            let mut memory = Memory {
                limit: None,
                was_reached: reached.is_some(),
            };
            match &reached {
                Some(reached) if reached.holds_device => memory.limit = Some(reached.limit.clone()),
                Some(_) => {}
                None => memory.limit = limit.filter(|_| is_trouble),
            }
            if memory.was_reached || memory.limit.is_some() {
                next.insert(device.name.to_owned(), memory);
            }
            if let Some(reached) = reached {
                found.insert(device.name.to_owned(), reached);
            }
        }
        self.0 = next;
        found
    }

    /// Notes a break in time.
    pub fn interrupt(&mut self) {
        self.0.clear();
    }
}

impl LimitStep<'_> {
    /// Returns the limit that a device has reached; `holding` is one that still holds it back, as far as its own rate shows.
    fn reached(
        &self,
        device: &str,
        interval: &Interval,
        assessment: &Assessment,
        holding: Option<&Limit>,
    ) -> Option<ReachedLimit> {
        let mut evidence = assessment.evidence.iter();
        let waits = Waits {
            is_idle: interval.is_idle(),
            is_held: evidence.any(|one| matches!(one, Evidence::HeldBetween { .. })),
            are_hidden: hidden_io_wait_pct(self.host) > Some(0.0),
        };
        let below = self.topology.devices_below(device);
        let seen = self
            .attribution
            .and_then(|attribution| attribution.reached_limit(device, &below, waits));
        // If others use the device and do not wait, the limit no longer holds it back.
        let is_refuted = seen.as_ref().is_some_and(|seen| !seen.holds_device);
        if let Some(limit) = holding
            && !is_refuted
        {
            return Some(ReachedLimit::in_force(limit.clone()));
        }
        if seen.is_none() && interval.is_stalled() {
            return self.blocking_limit(&below);
        }
        seen
    }

    /// Returns the limit on the devices `below` a stalled one that lets none of its requests through. Those with requests in
    /// flight have none.
    fn blocking_limit(&self, below: &[String]) -> Option<ReachedLimit> {
        let mut idle = Vec::new();
        for name in below {
            let lower = self.devices.iter().find(|one| one.name == name);
            let in_flight =
                lower.map(|one| one.interval.as_ref().and_then(|lower| lower.in_flight));
            if in_flight.is_none_or(|in_flight| in_flight == Some(0)) {
                idle.push(name);
            }
        }
        let limit = self.attribution?.blocking_limit(idle)?;
        Some(ReachedLimit::in_force(limit.clone()))
    }
}
