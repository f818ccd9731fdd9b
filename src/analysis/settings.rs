//! What a user can state or change about the judgement.

use super::baseline::DeviceBaseline;

/// A cap that the user knows of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatedCap {
    /// Requests a second, reads and writes together.
    pub iops: Option<f64>,
    /// MiB a second, reads and writes together.
    pub mib_per_s: Option<f64>,
}

/// The settings of an analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The multiple of the unloaded response time from which a device is saturated; 3 by default (formulas,
    /// "Is the disk the problem?").
    pub saturated_at: f64,
    /// A cap that the user states.
    pub cap: Option<StatedCap>,
    /// Baselines that were given rather than learnt; they win over those learnt.
    pub baseline: Option<DeviceBaseline>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { saturated_at: 3.0, cap: None, baseline: None }
    }
}
