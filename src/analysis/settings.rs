//! User settings of the analysis.

use super::saved_baselines::DeviceBaseline;
use super::thresholds::DEFAULT_SATURATION_THRESHOLD;

/// A cap that the user states.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatedCap {
    /// Requests per second, reads and writes together.
    pub iops: Option<f64>,
    /// MiB per second, reads and writes together.
    pub mib_per_s: Option<f64>,
}

/// The settings of the analysis of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Multiple of unloaded latency at which the device counts as saturated.
    pub saturation_threshold: f64,
    /// A cap that the user states.
    pub cap: Option<StatedCap>,
    /// Given baselines, which win over learned ones.
    pub baseline: Option<DeviceBaseline>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { saturation_threshold: DEFAULT_SATURATION_THRESHOLD, cap: None, baseline: None }
    }
}
