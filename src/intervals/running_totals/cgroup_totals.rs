//! The time for which cgroups have been at their limits.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::attribution::Attribution;

/// The number of pairs of a device and a cgroup that have a value of their own; the others of a device are one.
const MAX_CGROUPS: usize = 100;

/// The time for which a cgroup has been at a limit on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct CgroupLimitTime {
    /// The kernel's name of the device.
    pub device: Arc<str>,
    /// The path of the cgroup; `None` for the sum over all beyond the first hundred.
    pub cgroup: Option<Arc<str>>,
    /// Seconds since the start.
    pub at_limit_s: f64,
}

/// A device and a cgroup; `None` for those without a value of their own.
type Key = (Arc<str>, Option<Arc<str>>);

/// Adds up the time for which cgroups have been at their limits.
#[derive(Debug, Default)]
pub(super) struct CgroupTotals {
    seconds: BTreeMap<Key, f64>,
}

impl CgroupTotals {
    /// Adds an interval. Every cgroup with a limit gets a value, so that it has grown from zero when it is at its limit. A cgroup
    /// that is gone, or has no limit any more, loses it.
    pub(super) fn observe(&mut self, attribution: &Attribution) {
        let mut present: HashSet<Key> = HashSet::new();
        for device in &attribution.devices {
            let name: Arc<str> = Arc::from(device.name.as_str());
            for cgroup in device.cgroups.iter().filter(|cgroup| !cgroup.limits.is_empty()) {
                let own = (Arc::clone(&name), Some(Arc::clone(&cgroup.path)));
                let has_own = self.seconds.contains_key(&own) || self.seconds.len() < MAX_CGROUPS;
                let key = if has_own { own } else { (Arc::clone(&name), None) };
                let is_at_limit = cgroup.limits.iter().any(|limit| limit.is_reached);
                let added_s = if is_at_limit { attribution.elapsed_s } else { 0.0 };
                *self.seconds.entry(key.clone()).or_insert(0.0) += added_s;
                present.insert(key);
            }
        }
        // A scan that found no cgroups, because of an error, does not say that they are gone.
        if attribution.problem.is_none() {
            self.seconds.retain(|key, _| present.contains(key));
        }
    }

    /// Returns the times, sorted by device and path.
    pub(super) fn times(&self) -> Vec<CgroupLimitTime> {
        let time = |((device, cgroup), seconds): (&Key, &f64)| CgroupLimitTime {
            device: Arc::clone(device),
            cgroup: cgroup.clone(),
            at_limit_s: *seconds,
        };
        self.seconds.iter().map(time).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{CgroupUse, DeviceUse, IoRates, LimitKind, LimitUse};

    fn cgroup(path: String, is_reached: bool) -> CgroupUse {
        let limit = LimitUse { kind: LimitKind::ReadIops, value: 50, rate: 50.0, is_reached };
        CgroupUse { path: path.into(), rates: IoRates::default(), share_pct: None, limits: vec![limit] }
    }

    fn attribution(cgroups: Vec<CgroupUse>) -> Attribution {
        let device = DeviceUse { name: "sda".into(), cgroups, ..DeviceUse::default() };
        Attribution { elapsed_s: 2.0, devices: vec![device], ..Attribution::default() }
    }

    #[test]
    fn time_at_a_limit_adds_up_and_ends_with_the_cgroup() {
        let mut totals = CgroupTotals::default();
        totals.observe(&attribution(vec![cgroup("/a".into(), false), cgroup("/b".into(), true)]));
        totals.observe(&attribution(vec![cgroup("/a".into(), true), cgroup("/b".into(), true)]));
        let seconds: Vec<f64> = totals.times().iter().map(|time| time.at_limit_s).collect();
        assert_eq!(seconds, [2.0, 4.0]);
        let unlimited = CgroupUse { limits: Vec::new(), ..cgroup("/a".into(), true) };
        totals.observe(&attribution(vec![unlimited]));
        assert_eq!(totals.times(), []);
    }

    #[test]
    fn the_number_of_cgroups_is_bounded() {
        let mut totals = CgroupTotals::default();
        let all = || (0..250).map(|at| cgroup(format!("/{at:03}"), true)).collect();
        totals.observe(&attribution(all()));
        totals.observe(&attribution(all()));
        let times = totals.times();
        assert_eq!(times.len(), MAX_CGROUPS + 1);
        let others: Vec<_> = times.iter().filter(|time| time.cgroup.is_none()).collect();
        assert_eq!((others.len(), others[0].at_limit_s), (1, 150.0 * 4.0));
        assert_eq!(times.iter().map(|time| time.at_limit_s).sum::<f64>(), 250.0 * 4.0);
    }
}
