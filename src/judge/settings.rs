//! What is known of a device before it is judged: its class, baselines, and what the user states.

use super::thresholds::{GIVEN, TIMES_SINCE_BOOT};
use crate::attribution::{IoDirection, Limit, LimitSource, RateUnit};
use crate::baselines::DeviceBaseline;
use crate::topology::DeviceClass;

/// A cap that the user states: limits of every device, one in each unit at most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatedCap {
    /// Requests per second, reads and writes together.
    pub iops: Option<f64>,
    /// MiB per second, reads and writes together.
    pub mib_per_s: Option<f64>,
}

impl StatedCap {
    /// Its value in a unit per second; `None` if it has none.
    pub(super) fn value(self, unit: RateUnit) -> Option<f64> {
        match unit {
            RateUnit::Requests => self.iops,
            RateUnit::Kib => self.mib_per_s.map(|mib| mib * 1024.0),
        }
    }

    /// Its limits, as those of a device.
    pub fn limits(self, device: &str) -> impl Iterator<Item = Limit> {
        [RateUnit::Requests, RateUnit::Kib]
            .into_iter()
            .filter_map(move |unit| {
                Some(Limit {
                    owner: None,
                    device: device.into(),
                    direction: IoDirection::Both,
                    unit,
                    value: self.value(unit)?,
                    source: LimitSource::Given,
                })
            })
    }
}

/// Where an unloaded latency is known from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaselineSource {
    /// Given by the user.
    #[default]
    Given,
    /// Read from a saved baseline that belongs to the host.
    Saved,
    /// The lowest latency seen, which is proven to be about the unloaded one.
    Learned,
    /// The lowest latency seen.
    Lowest,
    /// What unloaded devices of this class need at most, or of any class if it is not known.
    Class(Option<DeviceClass>),
    /// The mean since the host booted.
    SinceBoot,
    /// The latency of devices of its kind at the same time.
    Peers,
}

impl BaselineSource {
    /// How many times the latency that it names the highest unloaded latency is.
    pub fn scale(self) -> f64 {
        match self {
            Self::Given | Self::Saved => GIVEN[1],
            Self::SinceBoot => TIMES_SINCE_BOOT,
            Self::Learned | Self::Lowest | Self::Class(_) | Self::Peers => 1.0,
        }
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

/// The settings of the verdict on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// A cap that the user states.
    pub cap: Option<StatedCap>,
    /// What the device is made of; `None` if that is not known.
    pub class: Option<DeviceClass>,
    /// Given or saved baselines.
    pub baseline: Option<DeviceBaseline>,
    /// The origin of `baseline`: given or saved.
    pub baseline_source: BaselineSource,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cap: None,
            class: None,
            baseline: None,
            baseline_source: BaselineSource::Given,
        }
    }
}
