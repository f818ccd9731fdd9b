//! User settings of the analysis.

use super::saved_baselines::DeviceBaseline;
use super::thresholds::DEFAULT_SATURATION_THRESHOLD;
use crate::topology::{DeviceClass, Provider};

/// A cap that the user states.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatedCap {
    /// Requests per second, reads and writes together.
    pub iops: Option<f64>,
    /// MiB per second, reads and writes together.
    pub mib_per_s: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaselineSource {
    /// Given by the user.
    #[default]
    Given,
    /// Read from a saved baseline that belongs to the host.
    Saved,
    /// Learned from requests that hardly waited for each other.
    Learned,
    /// The lowest latency seen, although others waited, too.
    Lowest,
    /// What unloaded devices of this class need at most, or of any class if it is not known.
    Class(Option<DeviceClass>),
    /// The mean since the host booted.
    SinceBoot,
    /// The latency of devices of its kind at the same time.
    Peers,
}

impl BaselineSource {
    /// Returns whether the latency was neither given nor seen by itself.
    pub fn is_assumed(self) -> bool {
        matches!(self, Self::Class(_) | Self::SinceBoot | Self::Peers)
    }

    /// Its name in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Saved => "saved",
            Self::Learned => "learned",
            Self::Lowest => "lowest",
            Self::Class(_) => "class",
            Self::SinceBoot => "since_boot",
            Self::Peers => "peers",
        }
    }
}

/// The facts about a device that decide which known limits may be its own, and how many requests it serves at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownDevice {
    /// The size of its volume in bytes; `None` if it is not known.
    pub size_bytes: Option<u64>,
    /// The provider of its volume; `None` if it is not known.
    pub provider: Option<Provider>,
    /// What it is made of; `None` if that is not known.
    pub class: Option<DeviceClass>,
}

/// The settings of the analysis of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Multiple of unloaded latency at which the device counts as saturated.
    pub saturation_threshold: f64,
    /// A cap that the user states.
    pub cap: Option<StatedCap>,
    /// The facts about the device.
    pub device: KnownDevice,
    /// Given or saved baselines, which win over learned ones.
    pub baseline: Option<DeviceBaseline>,
    /// The origin of `baseline`: given or saved.
    pub baseline_source: BaselineSource,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            saturation_threshold: DEFAULT_SATURATION_THRESHOLD,
            cap: None,
            device: KnownDevice::default(),
            baseline: None,
            baseline_source: BaselineSource::Given,
        }
    }
}
