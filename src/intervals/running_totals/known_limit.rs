//! The limit that a device has reached.

use crate::analysis::{Evidence, IoDirection, LimitMatch, Plateau, RateUnit};
use crate::attribution::{LimitKind, ReachedLimit};
use crate::intervals::DeviceInterval;

/// Bytes of a KiB, and KiB of a MiB.
const KIB: f64 = 1024.0;

/// The origin of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSource {
    /// A cgroup has it.
    Cgroup,
    /// The user stated it.
    Given,
    /// The rate stayed constant at it.
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

/// A limit that a device has reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownLimit {
    /// The requests that it is about.
    pub direction: IoDirection,
    /// The unit of its value: requests or KiB.
    pub unit: RateUnit,
    /// Its value per second.
    pub per_second: f64,
    /// Its origin.
    pub source: LimitSource,
}

impl KnownLimit {
    /// Returns the limit of a device in an interval: that of a cgroup if one has reached it, or else a cap; `None` if it shows
    /// neither.
    pub fn of(device: &DeviceInterval<'_>) -> Option<Self> {
        let activity = device.activity()?;
        let cap = || {
            activity.assessment.evidence.iter().find_map(|evidence| match evidence {
                Evidence::ConstantRate(plateau) => Self::of_plateau(plateau),
                _ => None,
            })
        };
        activity.limit.as_ref().map(Self::of_cgroup).or_else(cap)
    }

    fn of_cgroup(limit: &ReachedLimit) -> Self {
        let (direction, unit) = match limit.kind {
            LimitKind::ReadIops => (IoDirection::Reads, RateUnit::Requests),
            LimitKind::WriteIops => (IoDirection::Writes, RateUnit::Requests),
            LimitKind::ReadBytes => (IoDirection::Reads, RateUnit::Kib),
            LimitKind::WriteBytes => (IoDirection::Writes, RateUnit::Kib),
        };
        let scale = if unit == RateUnit::Kib { KIB } else { 1.0 };
        Self { direction, unit, per_second: limit.value as f64 / scale, source: LimitSource::Cgroup }
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
