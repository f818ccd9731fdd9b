//! Limits of cgroups that hold a device back.
//!
//! A limit that appears while its cgroup does more than it permits, and that the cgroup has kept to since then, is the cause of every
//! second since then. One that was there from the start is known by the rate that stays at it: then the bad seconds just before
//! are its, too.

use std::sync::Arc;

use super::cause::{is_above, median};
use super::device::Device;
use super::second::Scan;
use super::second_cause::SecondCause;
use crate::attribution::{IoDirection, Limit, RateUnit};
use crate::judge::Verdict;
use crate::topology::Topology;

/// Seconds before a limit appeared over which the rate is taken.
const RATE_BEFORE_S: f64 = 30.0;
/// Seconds by which it may have been there before it was read.
const LATE_S: f64 = 15.0;
/// The multiple of a limit that a rate in force may have: bursts of its bucket, and bios that were merged.
const IN_FORCE: f64 = 1.1;
const BURST: f64 = 1.25;
/// The fraction of the rate before that is less than usual.
const LESS: f64 = 0.6;
/// A limit above is none.
const NO_LIMIT: f64 = 1e8;
/// The most rates that are kept of a limit: it is known long before.
const MAX_RATES: usize = 120;

/// A limit that is set.
#[derive(Clone, Debug)]
struct Watched {
    limit: Arc<Limit>,
    /// The device that the cgroup uses, on the one that is limited.
    top: Arc<str>,
    /// When it was first read, in seconds of the run.
    since_s: f64,
    latest_s: f64,
    /// The rates before it appeared, in the seconds in which they were read.
    before: Vec<f64>,
    rates: Vec<f64>,
    /// Since when it has been in force.
    in_force_since_s: Option<f64>,
}

/// Seconds of a device that a limit holds back.
pub(super) struct HeldBack {
    pub(super) device: Arc<str>,
    pub(super) cause: SecondCause,
    pub(super) from_s: f64,
    pub(super) until_s: f64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Limits {
    watched: Vec<Watched>,
}

/// What limits are told from.
pub(super) struct Evidence<'a> {
    pub(super) now_s: f64,
    /// The scans of the last minutes with their times, the latest last.
    pub(super) scans: &'a [(f64, Scan)],
    pub(super) devices: &'a [&'a Device],
    pub(super) topology: &'a Topology,
}

impl Limits {
    /// Takes a second. Returns what limits that appeared hold back, as far as it is known since this second.
    pub(super) fn observe(&mut self, found: &Evidence<'_>) -> Vec<HeldBack> {
        if let Some((at_s, scan)) = found.scans.last()
            && *at_s == found.now_s
        {
            self.read(scan, found);
        }
        self.watched
            .retain(|one| found.now_s - one.latest_s <= LATE_S);
        let mut held = Vec::new();
        for one in &self.watched {
            if let Some(from_s) = one.in_force_since_s {
                held.push(HeldBack {
                    device: Arc::clone(&one.top),
                    cause: SecondCause::Limit(Arc::clone(&one.limit)),
                    from_s,
                    until_s: found.now_s,
                });
            }
        }
        held
    }

    fn read(&mut self, scan: &Scan, found: &Evidence<'_>) {
        for used in &scan.uses {
            for limit in &used.limits {
                if limit.value <= 0.0 || limit.value >= NO_LIMIT {
                    continue;
                }
                let rate = rate_of(limit, used.ios_per_s, used.kib_per_s);
                let known = self.watched.iter().position(|one| *one.limit == *limit);
                let at = known.unwrap_or_else(|| {
                    self.watched.push(Watched::new(limit, found));
                    self.watched.len() - 1
                });
                let one = &mut self.watched[at];
                one.latest_s = found.now_s;
                if one.rates.len() < MAX_RATES {
                    one.rates.push(rate);
                }
                let was_in_force = one.in_force_since_s;
                let is_in_force = one.is_in_force();
                one.in_force_since_s = match (is_in_force, was_in_force) {
                    (true, None) => Some(one.in_force_since(found)),
                    (true, since) => since,
                    (false, _) => None,
                };
            }
        }
        // A limit that is gone, or changed, holds nothing back.
        self.watched.retain(|one| {
            let of_cgroup = scan
                .uses
                .iter()
                .filter(|used| used.cgroup == one.limit.owner);
            let mut here = of_cgroup
                .filter(|used| used.device == one.limit.device)
                .peekable();
            here.peek().is_none() || here.any(|used| used.limits.contains(&one.limit))
        });
    }
}

impl Watched {
    fn new(limit: &Limit, found: &Evidence<'_>) -> Self {
        let mut before = Vec::new();
        for (at_s, scan) in found.scans {
            if *at_s >= found.now_s - RATE_BEFORE_S && *at_s < found.now_s {
                let used = scan.uses.iter();
                let used =
                    used.filter(|one| one.device == limit.device && one.cgroup == limit.owner);
                before.extend(used.map(|one| rate_of(limit, one.ios_per_s, one.kib_per_s)));
            }
        }
        Self {
            limit: Arc::new(limit.clone()),
            top: top_of(limit, found),
            since_s: found.now_s,
            latest_s: found.now_s,
            before,
            rates: Vec::new(),
            in_force_since_s: None,
        }
    }

    /// Returns whether the cgroup did more than it permits before it appeared, and has kept to it since then.
    fn is_in_force(&self) -> bool {
        let limit = self.limit.value;
        let before: f64 = self.before.iter().sum();
        let highest = self.rates.iter().copied().fold(0.0, f64::max);
        // The first rate is partly from before.
        let held = median(&mut self.rates[1..].to_vec());
        self.before.len() >= 2
            && before / self.before.len() as f64 > limit
            && held.is_some_and(|held| held <= IN_FORCE * limit)
            && highest >= limit / 2.0
    }

    /// Returns since when it has been in force: it was set before it was read.
    fn in_force_since(&self, found: &Evidence<'_>) -> f64 {
        let device = found
            .devices
            .iter()
            .find(|one| *one.names.device == *self.top);
        let Some(device) = device else {
            return self.since_s;
        };
        let rate = |device: &Device, at: usize| rate_of_row(&self.limit, device, at);
        let mut calm = Vec::new();
        let from = device.index_from(self.since_s - 60.0);
        for at in from..device.index_from(self.since_s - LATE_S) {
            calm.push(rate(device, at));
        }
        let mut first = device.index_from(self.since_s);
        if first >= device.rows.len() {
            return self.since_s;
        }
        let limit = self.limit.value;
        let most = if device.rows[first].end_s == self.since_s
            && rate(device, first) <= IN_FORCE * limit
        {
            BURST * limit
        } else {
            (IN_FORCE * limit).max(LESS * median(&mut calm).unwrap_or(0.0))
        };
        while first > 0 {
            let before = rate(device, first - 1);
            if before <= 0.0
                || before > most
                || self.since_s - device.rows[first - 1].end_s > LATE_S
            {
                break;
            }
            first -= 1;
        }
        device.rows[first].end_s
    }
}

/// Returns the device on which the cgroup of a limit is seen to use the limited one: the topmost on it, or that itself.
fn top_of(limit: &Limit, found: &Evidence<'_>) -> Arc<str> {
    for device in found.devices {
        let name = &*device.names.device;
        let is_topmost = is_above(name, &limit.device, found.topology)
            && found.topology.devices_above(name).is_empty();
        let is_used = found.scans.iter().any(|(_, scan)| {
            let mut uses = scan.uses.iter();
            uses.any(|one| {
                *one.device == *name
                    && one.cgroup == limit.owner
                    && one.kib_per_s.iter().sum::<f64>() > 0.0
            })
        });
        if is_topmost && is_used {
            return Arc::from(name);
        }
    }
    Arc::clone(&limit.device)
}

/// Returns since when a limit has held a device back that is first seen to do so in its latest second: the bad seconds just before,
/// in which it did no more than that.
pub(super) fn held_since_s(device: &Device, limit: &Limit) -> f64 {
    let latest = device.rows.len() - 1;
    let mut first = latest;
    while first > 0 {
        let before = &device.rows[first - 1];
        let rate = rate_of_row(limit, device, first - 1);
        if !before.second.verdict.is_trouble()
            || before.second.verdict == Verdict::Stalled
            || rate > BURST * limit.value
        {
            break;
        }
        first -= 1;
    }
    device.rows[first].end_s
}

/// The rate of a device that a limit is on, in a row.
fn rate_of_row(limit: &Limit, device: &Device, at: usize) -> f64 {
    let second = &device.rows[at].second;
    let ios_per_s = [second.requests[0].per_s, second.requests[1].per_s];
    rate_of(limit, ios_per_s, second.kib_per_s)
}

/// The part of these rates that a limit is on.
fn rate_of(limit: &Limit, ios_per_s: [f64; 2], kib_per_s: [f64; 2]) -> f64 {
    let rates = match limit.unit {
        RateUnit::Requests => ios_per_s,
        RateUnit::Kib => kib_per_s,
    };
    match limit.direction {
        IoDirection::Reads => rates[0],
        IoDirection::Writes | IoDirection::Flushes => rates[1],
        IoDirection::Both => rates[0] + rates[1],
    }
}
