//! A limit of a device that is known.

use crate::attribution::LimitKind;
use crate::judge::{IoDirection, LimitMatch, Plateau, RateUnit, StatedCap};

/// The origin of a limit that the user states.
pub(super) const GIVEN: &str = "given";

/// Bytes of a KiB, and KiB of a MiB.
const KIB: f64 = 1024.0;

/// A limit of a device that is known: one that the user states, or one that it has reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownLimit {
    /// The requests that it is about.
    pub direction: IoDirection,
    /// The unit of its value: requests or KiB.
    pub unit: RateUnit,
    /// Its value per second.
    pub per_second: f64,
    /// Its origin in machine formats: `given` by the user, `cgroup`, or `inferred` from a rate that stayed constant.
    pub source: &'static str,
}

impl KnownLimit {
    /// Returns the limits that a user states.
    pub(super) fn stated(cap: StatedCap) -> impl Iterator<Item = Self> {
        let limit = |(unit, per_second): (RateUnit, Option<f64>)| {
            Some(Self {
                direction: IoDirection::Both,
                unit,
                per_second: per_second?,
                source: GIVEN,
            })
        };
        let kib = cap.mib_per_s.map(|mib| mib * KIB);
        [(RateUnit::Requests, cap.iops), (RateUnit::Kib, kib)]
            .into_iter()
            .filter_map(limit)
    }

    /// Returns the limit of a cgroup, given its value per second.
    pub fn of_cgroup(kind: LimitKind, value: u64) -> Self {
        let (unit, scale) = if kind.is_bytes() {
            (RateUnit::Kib, KIB)
        } else {
            (RateUnit::Requests, 1.0)
        };
        Self {
            direction: limited_requests(kind),
            unit,
            per_second: value as f64 / scale,
            source: "cgroup",
        }
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

    pub(super) fn of_plateau(plateau: &Plateau) -> Option<Self> {
        let per_second = match plateau.unit {
            RateUnit::Requests => plateau.iops,
            RateUnit::Kib => plateau.mib_per_s * KIB,
        };
        let is_given = matches!(plateau.matches_limit, Some(LimitMatch::Stated));
        let source = if is_given { GIVEN } else { "inferred" };
        let limit = Self {
            direction: plateau.direction,
            unit: plateau.unit,
            per_second,
            source,
        };
        (plateau.direction != IoDirection::Flushes).then_some(limit)
    }
}

/// The requests that a limit of a cgroup is about.
pub(super) fn limited_requests(kind: LimitKind) -> IoDirection {
    match kind {
        LimitKind::ReadIops | LimitKind::ReadBytes => IoDirection::Reads,
        LimitKind::WriteIops | LimitKind::WriteBytes => IoDirection::Writes,
    }
}
