//! Whose load rose, and who waits.
//!
//! Of an incident that was there when the first second was seen it is not known what was before: then shares are taken instead of rises.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::cause::{are_stacked, is_above, median};
use super::device::{CALM_S, Device};
use super::programs::is_shell;
use super::second::{Process, Scan, Task};
use super::told::{Because, Owner};
use crate::judge::PATIENCE_S;
use crate::topology::Topology;

/// A load that is part of a trouble has risen by this factor, and an owner has half of the rise.
const MORE: f64 = 1.5;
const HALF: f64 = 0.5;
const QUARTER: f64 = 0.25;
/// The least rise of the bytes of a cgroup and of a device that says something, and the least rate that is a use before, in
/// KiB per second.
const MIN_CGROUP_KIB: f64 = 32.0;
const MIN_DEVICE_KIB: f64 = 64.0;
const MIN_USE_KIB: f64 = 16.0;
/// The part of the rises of a program from which one of its cgroups is named.
const MIN_PART: f64 = 1.0 / 8.0;
/// A scan in which a task waits may have begun so long before the incident.
const LATE_S: f64 = 1.5;
/// The shortest time over which a load is taken, in seconds: processes are read every 5 s.
const MIN_LOAD_S: f64 = 4.0;

/// A program in a cgroup.
pub(super) type Actor = (Arc<str>, Arc<str>);

/// What an owner is found from.
pub(super) struct Search<'a> {
    pub(super) begin_s: f64,
    pub(super) end_s: f64,
    /// The first second that was seen.
    pub(super) first_s: f64,
    pub(super) bottleneck: &'a Device,
    pub(super) members: &'a [&'a Device],
    pub(super) devices: &'a HashMap<Arc<str>, Device>,
    pub(super) scans: &'a [(f64, Scan)],
    pub(super) topology: &'a Topology,
    pub(super) is_swap: bool,
    /// The bottleneck is in use all the time: who came says more than whose bytes rose.
    pub(super) is_used: bool,
}

/// The bytes of somebody: the ends of scans, the seconds before them that they cover, and KiB per second.
type Load = Vec<(f64, f64, f64)>;

impl Search<'_> {
    /// What was before is not known.
    fn is_begun_in_the_middle(&self) -> bool {
        self.begin_s - self.first_s <= PATIENCE_S
    }

    fn calm_from_s(&self) -> f64 {
        (self.first_s - 1.0).max(self.begin_s - CALM_S)
    }

    fn load_from_s(&self) -> f64 {
        self.begin_s - 1.0
    }

    fn load_until_s(&self) -> f64 {
        self.end_s.max(self.begin_s + MIN_LOAD_S)
    }

    /// Returns whether a device of the incident is bad in a second.
    fn is_bad_at(&self, second_s: f64) -> bool {
        let mut members = self.members.iter();
        members.any(|one| one.row(second_s).is_some_and(|row| row.is_bad()))
    }

    fn is_calm_scan(&self, at_s: f64) -> bool {
        at_s >= self.calm_from_s() && at_s < self.begin_s - 1.0 && !self.is_bad_at(at_s)
    }

    /// Finds the owner: the first that applies.
    pub(super) fn owner(&self) -> Option<Owner> {
        let (rise, calm) = self.rise_of_device();
        let does_more = rise > QUARTER * calm;
        let rises_of_programs = self.rises_of_programs();
        let by_bytes = self.cgroup_that_rose(rise, does_more, &rises_of_programs);
        if by_bytes.is_some() {
            return by_bytes;
        }
        let newcomer = self.newcomer();
        if self.is_used && newcomer.is_some() {
            return newcomer;
        }
        let program = (does_more && rise > MIN_DEVICE_KIB)
            .then(|| self.program_that_rose(rise, &rises_of_programs));
        program.flatten().or(newcomer)
    }

    /// By how much the bytes of the device rose, and what they were before, in KiB per second.
    fn rise_of_device(&self) -> (f64, f64) {
        let (from_s, until_s) = (self.load_from_s(), self.load_until_s());
        let mut sum = 0.0;
        let mut calm = Vec::new();
        for row in &self.bottleneck.rows {
            if row.end_s > from_s && row.end_s <= until_s {
                sum += row.kib_per_s() * row.seconds;
            }
            if row.end_s >= self.calm_from_s() && row.end_s < self.begin_s - 1.0 {
                calm.push(row.kib_per_s());
            }
        }
        let calm = median(&mut calm).unwrap_or(0.0);
        (sum / (until_s - from_s) - calm, calm)
    }

    /// By how much the load of each rose: the mean within the incident less the median of the scans before.
    fn rises<K: std::hash::Hash + Eq + Ord>(
        &self,
        loads: HashMap<K, Load>,
        scans_s: &[f64],
    ) -> Vec<(K, f64)> {
        let (from_s, until_s) = (self.load_from_s(), self.load_until_s());
        let mut calm_scans = scans_s.to_vec();
        calm_scans.retain(|at_s| self.is_calm_scan(*at_s));
        let mut rises = Vec::new();
        for (key, load) in loads {
            let mut now = 0.0;
            let mut before = vec![0.0; calm_scans.len()];
            for (at_s, seconds, kib_per_s) in load {
                let common_s = until_s.min(at_s) - from_s.max(at_s - seconds);
                now += kib_per_s * common_s.max(0.0) / (until_s - from_s);
                if let Some(at) = calm_scans.iter().position(|calm_s| *calm_s == at_s) {
                    before[at] += kib_per_s;
                }
            }
            let before = median(&mut before).unwrap_or(0.0);
            let is_known = calm_scans.len() >= 2 || self.is_begun_in_the_middle();
            if now >= MORE * before && now > before && is_known {
                rises.push((key, now - before));
            }
        }
        rises.sort_by(|(a, of_a), (b, of_b)| of_b.total_cmp(of_a).then_with(|| a.cmp(b)));
        rises
    }

    /// The rises of the cgroups on the bottleneck, the largest first; without a path, that of what belongs to none.
    fn rises_of_cgroups(&self) -> Vec<(Option<Arc<str>>, f64)> {
        let mut loads: HashMap<Option<Arc<str>>, Load> = HashMap::new();
        let mut scans_s = Vec::new();
        for (at_s, scan) in self.scans {
            let mut is_scanned = false;
            for one in &scan.uses {
                if *one.device != *self.bottleneck.names.device {
                    continue;
                }
                is_scanned = true;
                if one.cgroup.as_deref() != Some("/") {
                    let load = loads.entry(one.cgroup.clone()).or_default();
                    load.push((*at_s, one.seconds, one.kib_per_s.iter().sum()));
                }
            }
            if is_scanned {
                scans_s.push(*at_s);
            }
        }
        self.rises(loads, &scans_s)
    }

    /// The rises of the programs that may use the bottleneck, the largest first.
    fn rises_of_programs(&self) -> Vec<(Actor, f64)> {
        let loads = self.loads_of_programs(|process| process.kib_per_s);
        let with_processes = self
            .scans
            .iter()
            .filter(|(_, scan)| !scan.processes.is_empty());
        let scans_s: Vec<f64> = with_processes.map(|(at_s, _)| *at_s).collect();
        self.rises(loads, &scans_s)
    }

    fn loads_of_programs(&self, value: impl Fn(&Process) -> f64) -> HashMap<Actor, Load> {
        let bottleneck = &*self.bottleneck.names.device;
        let is_stacked = !self.topology.backing_devices(bottleneck).is_empty();
        // Those that are only seen to use other devices are left out.
        let (mut elsewhere, mut here) = (BTreeSet::new(), BTreeSet::new());
        for one in self.scans.iter().flat_map(|(_, scan)| &scan.uses) {
            let Some(cgroup) = &one.cgroup else {
                continue;
            };
            let is_here = are_stacked(&one.device, bottleneck, self.topology)
                && (*one.device == *bottleneck
                    || !is_stacked
                    || !self.topology.backing_devices(&one.device).is_empty());
            let seen = if is_here { &mut here } else { &mut elsewhere };
            seen.insert(cgroup);
        }
        let mut loads: HashMap<Actor, Load> = HashMap::new();
        for (at_s, scan) in self.scans {
            for process in &scan.processes {
                let is_of_others =
                    process.is_server || process.is_of_ended_children && &*process.cgroup == "/";
                let is_elsewhere =
                    elsewhere.contains(&process.cgroup) && !here.contains(&process.cgroup);
                if !is_of_others && !is_elsewhere {
                    let actor = (Arc::clone(&process.cgroup), Arc::clone(&process.program));
                    let load = loads.entry(actor).or_default();
                    load.push((*at_s, process.seconds, value(process)));
                }
            }
        }
        loads
    }

    /// The cgroup with at least half of the rise of the bytes of the device and of all rises; on swap, the one with the largest.
    fn cgroup_that_rose(
        &self,
        rise: f64,
        does_more: bool,
        of_programs: &[(Actor, f64)],
    ) -> Option<Owner> {
        let rises = self.rises_of_cgroups();
        let (cgroup, most) = rises.first()?;
        let cgroup = cgroup.clone()?;
        let all: f64 = rises.iter().map(|(_, rise)| rise).sum();
        let has_half = *most >= HALF * rise.max(all) && *most > MIN_CGROUP_KIB;
        if !(self.is_swap || does_more && has_half) {
            return None;
        }
        let program = self.program_of(&cgroup, of_programs);
        Some(Owner {
            cgroups: vec![cgroup],
            program,
            rise_kib_per_s: *most,
            because: Because::DeviceBytes,
            is_by_share: self.is_begun_in_the_middle(),
        })
    }

    /// The program of a cgroup whose bytes rose most. A shell, and the children of others that ended, are worse names.
    fn program_of(&self, cgroup: &str, rises: &[(Actor, f64)]) -> Option<Arc<str>> {
        let mut own: Vec<&(Actor, f64)> = rises
            .iter()
            .filter(|((of, _), _)| **of == *cgroup)
            .collect();
        own.sort_by_key(|((_, program), _)| {
            let processes = self.scans.iter().flat_map(|(_, scan)| &scan.processes);
            let mut processes =
                processes.filter(|one| *one.cgroup == *cgroup && one.program == *program);
            is_shell(program) || processes.all(|one| one.is_of_ended_children)
        });
        own.first().map(|((_, program), _)| Arc::clone(program))
    }

    /// The program, in whatever cgroups, with at least half of the rises of all programs and a quarter of that of the device.
    fn program_that_rose(&self, rise: f64, rises: &[(Actor, f64)]) -> Option<Owner> {
        let mut rises = rises.to_vec();
        if rises.iter().any(|((cgroup, _), _)| &**cgroup != "/") {
            rises.retain(|((cgroup, _), _)| &**cgroup != "/");
        }
        let mut by_program: Vec<(Arc<str>, f64)> = Vec::new();
        for ((_, program), own) in &rises {
            match by_program.iter_mut().find(|(known, _)| known == program) {
                Some((_, sum)) => *sum += own,
                None => by_program.push((Arc::clone(program), *own)),
            }
        }
        let most = by_program.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let (program, own) = most?;
        let all: f64 = rises.iter().map(|(_, rise)| rise).sum();
        if *own < HALF * all || *own < QUARTER * rise {
            return None;
        }
        let mut cgroups = BTreeSet::new();
        for ((cgroup, of), rise) in &rises {
            if of == program && *rise >= MIN_PART * own {
                cgroups.insert(Arc::clone(cgroup));
            }
        }
        Some(Owner {
            cgroups: cgroups.into_iter().collect(),
            program: Some(Arc::clone(program)),
            rise_kib_per_s: *own,
            because: Because::ProcessBytes,
            is_by_share: self.is_begun_in_the_middle(),
        })
    }

    /// The devices of the incident, and all that lie on them.
    pub(super) fn reached(&self) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        for device in self.devices.values() {
            let name = &*device.names.device;
            let mut members = self.members.iter();
            if members.any(|one| {
                one.names.device == name || is_above(name, &one.names.device, self.topology)
            }) {
                reached.insert(name);
            }
        }
        reached
    }

    /// Those who wait for the device in two scans, and neither waited for it nor did I/O in the minute before.
    fn newcomer(&self) -> Option<Owner> {
        if self.is_begun_in_the_middle() {
            return None;
        }
        let reached = self.reached();
        let waits_here = |task: &Task| match &task.device {
            Some(device) => reached.contains(&**device),
            None => self.is_used && task.cgroup.as_deref() != Some("/"),
        };
        let (mut now, mut before): (HashMap<Actor, usize>, BTreeSet<Actor>) = Default::default();
        for (at_s, scan) in self.scans {
            for task in scan
                .tasks
                .iter()
                .filter(|task| !task.is_server && waits_here(task))
            {
                let Some(cgroup) = &task.cgroup else {
                    continue;
                };
                let actor = (Arc::clone(cgroup), Arc::clone(&task.program));
                let first_s = self.begin_s - LATE_S;
                if *at_s >= first_s && *at_s <= self.end_s + 1.0 {
                    *now.entry(actor).or_default() += 1;
                } else if *at_s >= self.calm_from_s() && *at_s < first_s && !self.is_bad_at(*at_s) {
                    before.insert(actor);
                }
            }
        }
        for (actor, load) in self.loads_of_programs(|process| process.kib_per_s) {
            let is_use = |(at_s, _, kib_per_s): &(f64, f64, f64)| {
                let is_before = *at_s >= self.calm_from_s() && *at_s < self.begin_s - LATE_S;
                is_before && *kib_per_s > MIN_USE_KIB && !self.is_bad_at(*at_s)
            };
            if load.iter().any(is_use) {
                before.insert(actor);
            }
        }
        now.retain(|actor, count| *count >= 2 && !before.contains(actor));
        let most = now
            .iter()
            .max_by(|(a, of_a), (b, of_b)| of_a.cmp(of_b).then_with(|| a.cmp(b)));
        let ((_, program), _) = most?;
        let program = Arc::clone(program);
        let mut cgroups: Vec<Arc<str>> = Vec::new();
        for (cgroup, _) in now.keys().filter(|(_, of)| *of == program) {
            cgroups.push(Arc::clone(cgroup));
        }
        cgroups.sort();
        Some(Owner {
            cgroups,
            program: Some(program),
            rise_kib_per_s: 0.0,
            because: Because::Newcomer,
            is_by_share: false,
        })
    }
}
