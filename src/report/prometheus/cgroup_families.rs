//! The metrics of cgroups that have limits.

use super::family::Family;
use super::text::{TextWriter, Value};
use crate::analysis::RateUnit;
use crate::intervals::LimitedCgroup;

/// A family with one or more metrics for each cgroup.
pub(super) struct CgroupFamily {
    pub(super) family: Family,
    value: CgroupValue,
}

/// The values of a cgroup in a family.
enum CgroupValue {
    /// The time at its limits.
    AtLimit,
    Limits(RateUnit),
}

pub(super) const CGROUP_FAMILIES: &[CgroupFamily] = &[
    CgroupFamily {
        family: Family::counter(
            "blkstat_cgroup_at_limit_seconds_total",
            "Seconds in which the cgroup was at one of its own limits on the device, such as io.max; 'other' is the sum over cgroups \
             beyond the first hundred.",
        ),
        value: CgroupValue::AtLimit,
    },
    CgroupFamily {
        family: Family::gauge(
            "blkstat_cgroup_limit_iops",
            "Limit of the cgroup on the device in requests per second, reached or not.",
        ),
        value: CgroupValue::Limits(RateUnit::Requests),
    },
    CgroupFamily {
        family: Family::gauge(
            "blkstat_cgroup_limit_bytes_per_second",
            "Limit of the cgroup on the device in bytes per second, reached or not.",
        ),
        value: CgroupValue::Limits(RateUnit::Kib),
    },
];

impl CgroupFamily {
    /// Writes the metrics of a cgroup.
    pub(super) fn write(&self, cgroup: &LimitedCgroup, text: &mut TextWriter<'_>) {
        let labels = [("device", &*cgroup.device), ("cgroup", cgroup.cgroup.as_deref().unwrap_or("other"))];
        match self.value {
            CgroupValue::AtLimit => text.metric(&self.family, &labels, Value::Real(cgroup.at_limit_s)),
            CgroupValue::Limits(unit) => {
                for limit in cgroup.limits.iter().filter(|limit| limit.unit == unit) {
                    let [device, path] = labels;
                    let labels = [device, path, ("direction", limit.direction.name())];
                    text.metric(&self.family, &labels, Value::Real(limit.value()));
                }
            }
        }
    }
}
