//! The limits of cgroups, and the time that cgroups have spent at them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::known_limit::KnownLimit;
use crate::attribution::Attribution;

/// The most pairs of a device and a cgroup with a value of their own; the others of each device are combined into one.
const MAX_CGROUPS: usize = 100;

/// A cgroup with limits on a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LimitedCgroup {
    /// The kernel's name of the device.
    pub device: Arc<str>,
    /// The path of the cgroup; `None` for the sum over all those beyond the first hundred.
    pub cgroup: Option<Arc<str>>,
    /// Seconds at one of its limits since the start.
    pub at_limit_s: f64,
    /// Its limits, reached or not. The sum over cgroups has none.
    pub limits: Vec<KnownLimit>,
}

/// A device and a cgroup; `None` for the sum of cgroups without a value of their own.
type Key = (Arc<str>, Option<Arc<str>>);

/// Adds up the time for which cgroups have been at their limits.
#[derive(Debug, Default)]
pub(super) struct CgroupTotals {
    limited: BTreeMap<Key, LimitedCgroup>,
}

impl CgroupTotals {
    /// Adds an interval. Every cgroup with a limit gets a value, so that the value grows from zero once the cgroup
    /// reaches its limit. The value is removed if the cgroup is gone or no longer has a limit.
    pub(super) fn observe(&mut self, attribution: &Attribution) {
        let mut present: HashSet<Key> = HashSet::new();
        for device in &attribution.devices {
            let name: Arc<str> = Arc::from(device.name.as_str());
            for cgroup in device.cgroups.iter().filter(|cgroup| !cgroup.limits.is_empty()) {
                let own = (Arc::clone(&name), Some(Arc::clone(&cgroup.path)));
                let has_own = self.limited.contains_key(&own) || self.limited.len() < MAX_CGROUPS;
                let key = if has_own { own } else { (Arc::clone(&name), None) };
                let is_at_limit = cgroup.limits.iter().any(|limit| limit.is_reached);
                let total = self.limited.entry(key.clone()).or_insert_with(|| LimitedCgroup {
                    device: Arc::clone(&key.0),
                    cgroup: key.1.clone(),
                    ..LimitedCgroup::default()
                });
                total.at_limit_s += if is_at_limit { attribution.elapsed_s } else { 0.0 };
                if has_own {
                    total.limits.clear();
                    let limits = cgroup.limits.iter();
                    total.limits.extend(limits.map(|limit| KnownLimit::of_cgroup(limit.kind, limit.value)));
                }
                present.insert(key);
            }
        }
        // A scan that found no cgroups because of an error does not show that they are gone.
        if attribution.problem.is_none() {
            self.limited.retain(|key, _| present.contains(key));
        }
    }

    /// Returns the cgroups with limits, sorted by device and path.
    pub(super) fn limited(&self) -> Vec<LimitedCgroup> {
        self.limited.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{CgroupUse, DeviceUse, IoRates, LimitKind, LimitUse};

    fn cgroup(path: String, is_reached: bool) -> CgroupUse {
        let limit =
            LimitUse { kind: LimitKind::ReadIops, value: 50, rate: 50.0, is_reached, is_near: is_reached };
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
        let seconds: Vec<f64> = totals.limited().iter().map(|cgroup| cgroup.at_limit_s).collect();
        assert_eq!(seconds, [2.0, 4.0]);
        assert_eq!(totals.limited()[0].limits, [KnownLimit::of_cgroup(LimitKind::ReadIops, 50)]);
        let unlimited = CgroupUse { limits: Vec::new(), ..cgroup("/a".into(), true) };
        totals.observe(&attribution(vec![unlimited]));
        assert_eq!(totals.limited(), []);
    }

    #[test]
    fn the_number_of_cgroups_is_bounded() {
        let mut totals = CgroupTotals::default();
        let all = || (0..250).map(|at| cgroup(format!("/{at:03}"), true)).collect();
        totals.observe(&attribution(all()));
        totals.observe(&attribution(all()));
        let limited = totals.limited();
        assert_eq!(limited.len(), MAX_CGROUPS + 1);
        let others: Vec<_> = limited.iter().filter(|one| one.cgroup.is_none()).collect();
        assert_eq!((others.len(), others[0].at_limit_s), (1, 150.0 * 4.0));
        assert!(others[0].limits.is_empty());
        assert_eq!(limited.iter().map(|cgroup| cgroup.at_limit_s).sum::<f64>(), 250.0 * 4.0);
    }
}
