//! The limit of a device in fields.

use crate::analysis::{Evidence, IoDirection, LimitMatch, Plateau, RateUnit};
use crate::attribution::{LimitKind, ReachedLimit};
use crate::intervals::DeviceInterval;

const KIB: f64 = 1024.0;
const MIB_KIB: f64 = 1024.0;

/// A limit that a device has reached.
pub(in crate::report) struct DeviceLimit<'a> {
    /// The rate that is limited: `read_iops`, `write_iops`, `iops`, `read_kib_per_s`, `write_kib_per_s` or `kib_per_s`.
    pub(in crate::report) kind: &'static str,
    /// Requests or KiB per second.
    pub(in crate::report) value: f64,
    /// The origin: `cgroup`, `given` or `inferred`.
    pub(in crate::report) source: &'static str,
    /// The path of the cgroup.
    pub(in crate::report) cgroup: Option<&'a str>,
}

impl<'a> DeviceLimit<'a> {
    /// Returns the limit of a device: that of a cgroup if one is at its limit, otherwise a cap; `None` without either.
    pub(super) fn of(device: &'a DeviceInterval) -> Option<Self> {
        let activity = device.activity()?;
        let cap = || {
            activity.assessment.evidence.iter().find_map(|evidence| match evidence {
                Evidence::ConstantRate(plateau) => Self::of_plateau(plateau),
                _ => None,
            })
        };
        activity.limit.as_ref().map(Self::of_cgroup).or_else(cap)
    }

    pub(in crate::report) fn of_cgroup(limit: &'a ReachedLimit) -> Self {
        let is_bytes = matches!(limit.kind, LimitKind::ReadBytes | LimitKind::WriteBytes);
        Self {
            kind: cgroup_limit_name(limit.kind),
            value: limit.value as f64 / if is_bytes { KIB } else { 1.0 },
            source: "cgroup",
            cgroup: Some(&limit.cgroup),
        }
    }

    /// A constant rate.
    pub(in crate::report) fn of_plateau(plateau: &Plateau) -> Option<Self> {
        let kind = rate_name(plateau.direction, plateau.unit)?;
        let value = match plateau.unit {
            RateUnit::Requests => plateau.iops,
            RateUnit::Kib => plateau.mib_per_s * MIB_KIB,
        };
        let is_given = matches!(plateau.matches_limit, Some(LimitMatch::Stated));
        Some(Self { kind, value, source: if is_given { "given" } else { "inferred" }, cgroup: None })
    }
}

/// Returns the name of a rate in fields; `None` for flushes, which have no limit.
pub(in crate::report) fn rate_name(direction: IoDirection, unit: RateUnit) -> Option<&'static str> {
    Some(match (unit, direction) {
        (RateUnit::Requests, IoDirection::Reads) => "read_iops",
        (RateUnit::Requests, IoDirection::Writes) => "write_iops",
        (RateUnit::Requests, IoDirection::Both) => "iops",
        (RateUnit::Kib, IoDirection::Reads) => "read_kib_per_s",
        (RateUnit::Kib, IoDirection::Writes) => "write_kib_per_s",
        (RateUnit::Kib, IoDirection::Both) => "kib_per_s",
        (_, IoDirection::Flushes) => return None,
    })
}

/// Returns the name of a kind of limit in fields.
pub(in crate::report) fn cgroup_limit_name(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::ReadIops => "read_iops",
        LimitKind::WriteIops => "write_iops",
        LimitKind::ReadBytes => "read_kib_per_s",
        LimitKind::WriteBytes => "write_kib_per_s",
    }
}
