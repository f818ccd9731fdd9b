//! The limits of a device that are known: those that the user states, and the one that it has reached.

use crate::analysis::{Evidence, IoDirection, LimitMatch, Plateau, RateUnit, StatedCap};
use crate::attribution::LimitKind;
use crate::intervals::{DeviceInterval, EventLimit};

/// Bytes of a KiB, and KiB of a MiB.
const KIB: f64 = 1024.0;

/// The origin of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSource {
    Cgroup,
    /// The user stated it.
    Given,
    /// The rate stayed constant at the limit.
    Inferred,
}

impl LimitSource {
    /// Its name in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cgroup => "cgroup",
            Self::Given => "given",
            Self::Inferred => "inferred",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownLimit {
    /// The requests that it is about.
    pub direction: IoDirection,
    /// The unit of its value: requests or KiB.
    pub unit: RateUnit,
    /// Its value per second.
    pub per_second: f64,
    pub source: LimitSource,
}

impl KnownLimit {
    /// Returns the limits that a user states.
    pub fn stated(cap: StatedCap) -> impl Iterator<Item = Self> {
        let limit = |unit, per_second: Option<f64>| {
            let (direction, source) = (IoDirection::Both, LimitSource::Given);
            per_second.map(|per_second| Self { direction, unit, per_second, source })
        };
        let kib = cap.mib_per_s.map(|mib| mib * KIB);
        [limit(RateUnit::Requests, cap.iops), limit(RateUnit::Kib, kib)].into_iter().flatten()
    }

    /// Returns the limits that a device has reached in an interval, that of a cgroup first.
    pub fn reached(device: &DeviceInterval) -> impl Iterator<Item = Self> {
        let activity = device.activity();
        let of_cgroup = activity.and_then(|activity| activity.limit.as_ref());
        let evidence = activity.into_iter().flat_map(|activity| &activity.assessment.evidence);
        let caps = evidence.filter_map(|evidence| match evidence {
            Evidence::ConstantRate(plateau) => Self::of_plateau(plateau),
            _ => None,
        });
        of_cgroup.map(|limit| Self::of_cgroup(limit.kind, limit.value)).into_iter().chain(caps)
    }

    /// Returns the limit that an event or incident was at; `None` for one of flushes.
    pub fn of_event(limit: &EventLimit) -> Option<Self> {
        match limit {
            EventLimit::Cap(plateau) => Self::of_plateau(plateau),
            EventLimit::Cgroup(limit) => Some(Self::of_cgroup(limit.kind, limit.value)),
        }
    }

    /// Returns the limit of a cgroup, given its value per second.
    pub fn of_cgroup(kind: LimitKind, value: u64) -> Self {
        let (direction, unit) = limited_requests(kind);
        let scale = if unit == RateUnit::Kib { KIB } else { 1.0 };
        Self { direction, unit, per_second: value as f64 / scale, source: LimitSource::Cgroup }
    }

    /// Returns the name of the rate that it limits, as in fields of machine formats.
    pub fn rate(&self) -> &'static str {
        match (self.unit, self.direction) {
            (RateUnit::Requests, IoDirection::Reads) => "read_iops",
            (RateUnit::Requests, IoDirection::Writes) => "write_iops",
            (RateUnit::Requests, _) => "iops",
            (RateUnit::Kib, IoDirection::Reads) => "read_kib_per_s",
            (RateUnit::Kib, IoDirection::Writes) => "write_kib_per_s",
            (RateUnit::Kib, _) => "kib_per_s",
        }
    }

    /// Returns its value in requests or bytes per second.
    pub fn value(&self) -> f64 {
        self.per_second * if self.unit == RateUnit::Kib { KIB } else { 1.0 }
    }

    fn of_plateau(plateau: &Plateau) -> Option<Self> {
        let per_second = match plateau.unit {
            RateUnit::Requests => plateau.iops,
            RateUnit::Kib => plateau.mib_per_s * KIB,
        };
        let is_given = matches!(plateau.matches_limit, Some(LimitMatch::Stated));
        let source = if is_given { LimitSource::Given } else { LimitSource::Inferred };
        let limit = Self { direction: plateau.direction, unit: plateau.unit, per_second, source };
        (plateau.direction != IoDirection::Flushes).then_some(limit)
    }
}

/// The requests that a limit of a cgroup is about, and its unit.
pub(in crate::intervals) fn limited_requests(kind: LimitKind) -> (IoDirection, RateUnit) {
    match kind {
        LimitKind::ReadIops => (IoDirection::Reads, RateUnit::Requests),
        LimitKind::WriteIops => (IoDirection::Writes, RateUnit::Requests),
        LimitKind::ReadBytes => (IoDirection::Reads, RateUnit::Kib),
        LimitKind::WriteBytes => (IoDirection::Writes, RateUnit::Kib),
    }
}
