//! The time that cgroups have been at their limits.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

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
}

/// The seconds that cgroups with limits have been at one of them, by device and cgroup; `None` for the sum of cgroups
/// without a value of their own.
#[derive(Debug, Default)]
pub(super) struct CgroupTotals(BTreeMap<(Arc<str>, Option<Arc<str>>), f64>);

impl CgroupTotals {
    /// Adds an interval. Every cgroup with a limit gets a value, so that the value grows from zero once the cgroup
    /// reaches its limit. The value is removed if the cgroup is gone or no longer has a limit.
    pub(super) fn observe(&mut self, attribution: &Attribution) {
        let mut present = HashSet::new();
        for device in &attribution.devices {
            for cgroup in &device.cgroups {
                if cgroup.limits.is_empty() {
                    continue;
                }
                let mut key = (Arc::clone(&device.name), Some(Arc::clone(&cgroup.path)));
                if !self.0.contains_key(&key) && self.0.len() >= MAX_CGROUPS {
                    key.1 = None;
                }
                let at_limit_s = self.0.entry(key.clone()).or_default();
                if cgroup.limits.iter().any(|limit| limit.is_reached) {
                    *at_limit_s += attribution.elapsed_s;
                }
                present.insert(key);
            }
        }
        // A scan that found no cgroups because of an error does not show that they are gone.
        if attribution.problem.is_none() {
            self.0.retain(|key, _| present.contains(key));
        }
    }

    /// Returns them sorted by device and path.
    pub(super) fn cgroups(&self) -> Vec<LimitedCgroup> {
        let mut cgroups = Vec::new();
        for ((device, cgroup), at_limit_s) in &self.0 {
            cgroups.push(LimitedCgroup {
                device: Arc::clone(device),
                cgroup: cgroup.clone(),
                at_limit_s: *at_limit_s,
            });
        }
        cgroups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{
        CgroupUse, DeviceUse, IoDirection, IoRates, Limit, LimitSource, LimitUse, RateUnit,
    };
    use crate::counters::CgroupHierarchy;

    fn cgroup(path: String, is_reached: bool) -> CgroupUse {
        let limit = LimitUse {
            limit: Limit {
                owner: Some(path.as_str().into()),
                device: "sda".into(),
                direction: IoDirection::Reads,
                unit: RateUnit::Requests,
                value: 50.0,
                source: LimitSource::Cgroup(CgroupHierarchy::V2),
            },
            rate: 50.0,
            is_reached,
            reached_s: 0.0,
            is_near: is_reached,
            is_waited_for: false,
        };
        CgroupUse {
            path: path.into(),
            rates: IoRates::default(),
            share_pct: None,
            limits: vec![limit],
        }
    }

    fn attribution(cgroups: Vec<CgroupUse>) -> Attribution {
        let device = DeviceUse {
            name: "sda".into(),
            cgroups,
            ..DeviceUse::default()
        };
        Attribution {
            elapsed_s: 2.0,
            devices: vec![device],
            ..Attribution::default()
        }
    }

    #[test]
    fn time_at_a_limit_adds_up_and_ends_with_the_cgroup() {
        let mut totals = CgroupTotals::default();
        totals.observe(&attribution(vec![
            cgroup("/a".into(), false),
            cgroup("/b".into(), true),
        ]));
        totals.observe(&attribution(vec![
            cgroup("/a".into(), true),
            cgroup("/b".into(), true),
        ]));
        let seconds: Vec<f64> = totals
            .cgroups()
            .iter()
            .map(|cgroup| cgroup.at_limit_s)
            .collect();
        assert_eq!(seconds, [2.0, 4.0]);
        let unlimited = CgroupUse {
            limits: Vec::new(),
            ..cgroup("/a".into(), true)
        };
        totals.observe(&attribution(vec![unlimited]));
        assert!(totals.cgroups().is_empty());
    }

    #[test]
    fn the_number_of_cgroups_is_bounded() {
        let mut totals = CgroupTotals::default();
        let all = || {
            (0..250)
                .map(|at| cgroup(format!("/{at:03}"), true))
                .collect()
        };
        totals.observe(&attribution(all()));
        totals.observe(&attribution(all()));
        let limited = totals.cgroups();
        assert_eq!(limited.len(), MAX_CGROUPS + 1);
        let others: Vec<_> = limited.iter().filter(|one| one.cgroup.is_none()).collect();
        assert_eq!((others.len(), others[0].at_limit_s), (1, 150.0 * 4.0));
        assert_eq!(
            limited.iter().map(|cgroup| cgroup.at_limit_s).sum::<f64>(),
            250.0 * 4.0
        );
    }
}
