//! The report of a device, as plain data. `None` means not known.

use serde::Serialize;

use super::blocks::Block;
use super::capacity::{CapacityByDirection, CapacityReport};
use super::caps::Plateau;
use super::load::ConcurrencyLevel;
use super::saved_baselines::DeviceBaseline;
use super::stats::{DirectionReport, Distribution};
use super::verdict::{Explanation, OtherCause, TroubleSpan, Verdict};

/// The number of intervals that are not in the report, or not in all of it, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Excluded {
    /// The counters were reset, as by a replug.
    pub resets: u64,
    /// Breaks in time, which no interval spans.
    pub gaps: u64,
    /// The device was absent.
    pub absent: u64,
    /// Requests were completed, but the kernel gives no times for them.
    pub untimed: u64,
    /// The load changed: these intervals are in the statistics, but not in the capacity.
    pub transitions: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceReport {
    /// The kernel's name of the device.
    pub device: String,
    /// The verdict; `None` if the intervals do not show one.
    pub verdict: Option<Verdict>,
    /// The reason for the verdict, or for its absence.
    pub explanation: Explanation,
    /// The explanation of `ok` that would apply to a device that has no verdict only because it may be at a limit.
    pub ok_below_limit: Option<Box<Explanation>>,
    /// Hints at other causes than this device.
    pub other_causes: Vec<OtherCause>,
    pub intervals: u64,
    pub seconds: f64,
    /// Intervals in which reads or writes were completed.
    pub busy_intervals: u64,
    pub excluded: Excluded,
    /// The longest stall in seconds; zero without one.
    pub longest_stall_s: f64,
    /// Percentage of the time with at least one request in flight as the kernel counts it, without the intervals in
    /// which that count cannot be right or that are too short for it.
    pub util_pct: Distribution,
    pub read: DirectionReport,
    pub write: DirectionReport,
    /// Reads and writes together, without a baseline of their own.
    pub all: DirectionReport,
    pub levels: Vec<ConcurrencyLevel>,
    /// The capacity of reads and writes together.
    pub capacity: CapacityReport,
    pub capacity_by_direction: CapacityByDirection,
    /// Rates that stayed constant at a cap; several if the cap changed meanwhile.
    pub plateaus: Vec<Plateau>,
    /// The baselines learned or given, by size, as they can be saved.
    pub baseline: DeviceBaseline,
    /// The load in blocks of time, to compare captures; empty unless it was requested.
    pub blocks: Vec<Block>,
    /// The times of trouble according to the verdict on all intervals together, except stalls and limits of cgroups.
    pub trouble: Vec<TroubleSpan>,
}
