//! The settings of each device's verdict, with the unloaded latencies that the user gave.

use crate::analysis::{SavedBaselines, Settings};

/// The settings of the verdict on each device.
#[derive(Clone, Debug, Default)]
pub struct BaselineStore {
    common: Settings,
    saved: SavedBaselines,
}

impl BaselineStore {
    /// Settings for all devices, and baselines of single ones, which take precedence.
    pub(super) fn new(common: Settings, saved: SavedBaselines) -> Self {
        Self { common, saved }
    }

    /// Returns the settings for the device of this kernel name.
    pub fn settings(&self, device: &str) -> Settings {
        let saved = self.saved.devices.get(device).cloned();
        Settings { baseline: saved.or_else(|| self.common.baseline.clone()), ..self.common.clone() }
    }
}
