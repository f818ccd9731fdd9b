//! Baselines that a recording holds, so that it is judged as it was live.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::DeviceBaseline;

/// A baseline that was used when a recording was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedBaseline {
    /// The kernel's name of the device; `None` for a baseline that applies to every other device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its origin: `given` or `saved`.
    #[serde(default)]
    pub source: String,
    #[serde(flatten)]
    pub baseline: DeviceBaseline,
}

/// The baselines that were used when a recording was made, by device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedBaselines(BTreeMap<Option<String>, RecordedBaseline>);

impl RecordedBaselines {
    pub const NONE: Self = Self(BTreeMap::new());

    /// Adds a baseline; it replaces one for the same device.
    pub fn insert(&mut self, mut recorded: RecordedBaseline) {
        recorded.baseline.retain_possible();
        self.0.insert(recorded.device.clone(), recorded);
    }

    /// Returns the baseline of the device of this kernel name; `None` if none was used.
    pub fn get(&self, device: &str) -> Option<&RecordedBaseline> {
        self.0
            .get(&Some(device.to_owned()))
            .or_else(|| self.0.get(&None))
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &RecordedBaseline> {
        self.0.values()
    }

    /// Returns whether no baseline was used.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_baseline_of_a_device_precedes_that_of_all() {
        let recorded = |device: Option<&str>, ms| RecordedBaseline {
            device: device.map(str::to_owned),
            source: "given".into(),
            baseline: DeviceBaseline::stated(Some(ms), None),
        };
        let mut all = RecordedBaselines::default();
        all.insert(recorded(Some("sda"), 1.0));
        assert_eq!((all.get("sdb"), all.iter().len()), (None, 1));
        all.insert(recorded(None, 2.0));
        let ms = |device| all.get(device).map(|found| found.baseline.read[0].await_ms);
        assert_eq!(
            (ms("sda"), ms("sdb"), all.iter().len()),
            (Some(1.0), Some(2.0), 2)
        );
    }
}
