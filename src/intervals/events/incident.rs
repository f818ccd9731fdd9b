//! Incidents: simultaneous events of devices that are stacked on each other.

use std::collections::{HashMap, HashSet};

use super::event::Event;
use crate::topology::Topology;

/// The fraction of the shorter of two events that the longer one must cover.
const MIN_OVERLAP_FRACTION: f64 = 0.5;

/// The factor by which the trouble of an event must be greater for it to lead its incident instead of the event chosen
/// by verdict and place in the device tree.
const MIN_LEAD_RATIO: f64 = 1.25;

/// Events with one cause, as far as the device tree shows: for example of a partition, its disk and a volume on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// The index of the event that leads it: the one with the greatest trouble; among several with about the same, the
    /// one with the worst verdict; among those, the one at the device where requests wait.
    pub lead: usize,
    /// The indices of the others, in the order of time.
    pub others: Vec<usize>,
}

/// Groups events, which must be in the order of time, into incidents, in the order in which the incidents begin. Each
/// event belongs to one incident. Two events belong together if one device is below the other, on any layer, and they
/// overlap in time.
pub fn group_incidents(events: &[Event], topology: &Topology) -> Vec<Incident> {
    let names: HashSet<&str> = events.iter().map(|event| event.device.as_str()).collect();
    let below: HashMap<&str, HashSet<String>> =
        names.iter().map(|name| (*name, all_below(name, topology).into_iter().collect())).collect();
    // Most devices have none below them, which can be seen without comparing names.
    let below: Vec<Option<&HashSet<String>>> = (events.iter())
        .map(|event| below.get(event.device.as_str()).filter(|below| !below.is_empty()))
        .collect();
    let is_below =
        |lower: usize, upper: usize| below[upper].is_some_and(|below| below.contains(&events[lower].device));
    // The incident of each event, as the index of its first event.
    let mut groups: Vec<usize> = (0..events.len()).collect();
    let mut open: Vec<usize> = Vec::new();
    for (index, event) in events.iter().enumerate() {
        open.retain(|other| events[*other].end.run_s > event.begin.run_s);
        for other in &open {
            let is_stacked = || is_below(*other, index) || is_below(index, *other);
            if overlaps(&events[*other], event) && is_stacked() {
                join(&mut groups, *other, index);
            }
        }
        open.push(index);
    }
    let mut incidents: Vec<Vec<usize>> = vec![Vec::new(); events.len()];
    (0..events.len()).for_each(|index| incidents[root(&groups, index)].push(index));
    let lead_of = |members: Vec<usize>| {
        let rank = |index: &usize| {
            let event = &events[*index];
            let others = members.iter().filter(|other| *other != index);
            let layers_above = others.filter(|other| is_below(*index, **other)).count();
            (event.verdict.severity(), !event.queued_above.is_empty(), layers_above)
        };
        // Among equals, the first one.
        let ranked = members.iter().rev().copied().max_by_key(rank)?;
        let trouble_s = |index: &usize| events[*index].trouble_s();
        let min_s = MIN_LEAD_RATIO * trouble_s(&ranked);
        let greater = members.iter().rev().copied().filter(|index| trouble_s(index) > min_s);
        let lead = greater.max_by(|a, b| trouble_s(a).total_cmp(&trouble_s(b))).unwrap_or(ranked);
        Some(Incident { lead, others: members.iter().copied().filter(|index| *index != lead).collect() })
    };
    incidents.into_iter().filter_map(lead_of).collect()
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

fn overlaps(a: &Event, b: &Event) -> bool {
    let common_s = a.end.run_s.min(b.end.run_s) - a.begin.run_s.max(b.begin.run_s);
    common_s > 0.0 && common_s >= MIN_OVERLAP_FRACTION * a.duration_s.min(b.duration_s)
}

fn root(groups: &[usize], mut index: usize) -> usize {
    while groups[index] != index {
        index = groups[index];
    }
    index
}

fn join(groups: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(groups, a), root(groups, b));
    groups[a.max(b)] = a.min(b);
}
