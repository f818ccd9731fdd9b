//! A limit: on whom it is, on which device, and what it permits.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::counters::CgroupHierarchy;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IoDirection {
    Reads,
    Writes,
    /// Reads and writes together, as cloud limits count them.
    Both,
    /// Flushes of the device's write cache. They have no size and no cap.
    Flushes,
}

impl IoDirection {
    /// Its name in JSON: `read`, `write`, `all`, `flush`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reads => "read",
            Self::Writes => "write",
            Self::Both => "all",
            Self::Flushes => "flush",
        }
    }

    /// The plural noun for such requests: `reads`, `writes`, `requests`, `flushes`.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Both => "requests",
            Self::Flushes => "flushes",
        }
    }
}

impl Serialize for IoDirection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The unit that a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum RateUnit {
    #[serde(rename = "requests")]
    Requests,
    #[serde(rename = "bytes")]
    Kib,
}

impl RateUnit {
    /// The requests or bytes that one of it is.
    pub fn size(self) -> f64 {
        match self {
            Self::Requests => 1.0,
            Self::Kib => 1024.0,
        }
    }
}

/// The rate that a limit applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LimitedRate {
    pub direction: IoDirection,
    pub unit: RateUnit,
}

impl LimitedRate {
    pub const fn of(direction: IoDirection, unit: RateUnit) -> Self {
        Self { direction, unit }
    }
}

/// How a limit is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSource {
    /// The user states it.
    Given,
    /// It is set for a cgroup.
    Cgroup(CgroupHierarchy),
    /// The rate stayed constant, as if a limit held it.
    Inferred,
}

impl LimitSource {
    /// Its name in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Cgroup(_) => "cgroup",
            Self::Inferred => "inferred",
        }
    }
}

/// A limit of requests or bytes per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The path of the cgroup that it holds back; `None` if it holds all requests of the device.
    pub owner: Option<Arc<str>>,
    /// The kernel's name of the device that it is on.
    pub device: Arc<str>,
    pub direction: IoDirection,
    pub unit: RateUnit,
    /// Requests or KiB per second.
    pub value: f64,
    pub source: LimitSource,
}

impl Limit {
    /// The name of the rate that it limits, as in fields of machine formats.
    pub fn rate_name(&self) -> &'static str {
        match (self.unit, self.direction) {
            (RateUnit::Requests, IoDirection::Reads) => "read_iops",
            (RateUnit::Requests, IoDirection::Writes) => "write_iops",
            (RateUnit::Requests, _) => "iops",
            (RateUnit::Kib, IoDirection::Reads) => "read_kib_per_s",
            (RateUnit::Kib, IoDirection::Writes) => "write_kib_per_s",
            (RateUnit::Kib, _) => "kib_per_s",
        }
    }
}
