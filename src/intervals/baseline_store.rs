//! The settings of the verdict on each device, with the unloaded latency that is known of it beforehand: that which the user
//! states, that which is saved for this host, or that which a recording holds.

use crate::baselines::{DeviceBaseline, RecordedBaseline, RecordedBaselines, SavedBaselines};
use crate::counters::Device;
use crate::judge::{BaselineSource, Settings};
use crate::topology::Topology;

/// The settings of the verdict on each device.
#[derive(Clone, Debug, Default)]
pub struct BaselineStore {
    /// What holds for all devices.
    pub common: Settings,
    /// The baselines that are saved for this host, which take precedence.
    pub saved: SavedBaselines,
    /// True to use the baselines that a recording holds, for devices without any other.
    pub uses_recorded: bool,
}

impl BaselineStore {
    /// Returns the settings for a device by its kernel name and identity, if any. `recorded` are the baselines of the
    /// recording that is replayed.
    pub(super) fn settings(
        &self,
        device: &str,
        identity: Option<&str>,
        recorded: &RecordedBaselines,
    ) -> Settings {
        let common = self.common.clone();
        if let Some(saved) = self.saved.find(device, identity) {
            return Settings {
                baseline: Some(saved.clone()),
                baseline_source: BaselineSource::Saved,
                ..common
            };
        }
        let Some(recorded) = recorded.get(device).filter(|_| self.uses_recorded) else {
            return common;
        };
        let is_saved = recorded.source == BaselineSource::Saved.name();
        Settings {
            baseline: Some(recorded.baseline.clone()),
            baseline_source: if is_saved {
                BaselineSource::Saved
            } else {
                BaselineSource::Given
            },
            ..common
        }
    }

    /// Returns the baselines to store in a recording of these devices.
    pub fn to_record(&self, devices: &[Device], topology: &Topology) -> RecordedBaselines {
        let mut recorded = RecordedBaselines::default();
        let mut insert = |device, source: BaselineSource, baseline: &DeviceBaseline| {
            if !baseline.is_empty() {
                recorded.insert(RecordedBaseline {
                    device,
                    source: source.name().to_owned(),
                    baseline: baseline.clone(),
                });
            }
        };
        if let Some(stated) = &self.common.baseline {
            insert(None, BaselineSource::Given, stated);
        }
        for Device { name, .. } in devices {
            if let Some(saved) = self.saved.find(name, topology.identity(name)) {
                insert(Some(name.clone()), BaselineSource::Saved, saved);
            }
        }
        recorded
    }
}
