//! Baselines as the recorder saves them for its host.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::DeviceBaseline;

/// The baselines of a host: the content of the file that `record --learn-baseline` keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedBaselines {
    /// By identity, or by the kernel's name for a disk that has none. No name looks like an identity.
    devices: BTreeMap<String, DeviceBaseline>,
}

impl SavedBaselines {
    /// Reads the content of a file, without values that no device can have.
    ///
    /// # Errors
    /// If it is anything else, such as a file of 0.1.0, which knew no identities.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        let mut saved: Self = serde_json::from_str(text)?;
        for baseline in saved.devices.values_mut() {
            baseline.retain_possible();
        }
        Ok(saved)
    }

    /// Adds the baseline of a device.
    pub fn insert(&mut self, name: &str, identity: Option<&str>, baseline: DeviceBaseline) {
        let key = identity.unwrap_or(name).to_owned();
        self.devices.insert(key, baseline);
    }

    /// Takes the values of `newer`. Values that it lacks stay.
    pub fn update(&mut self, newer: &Self) {
        for (key, baseline) in &newer.devices {
            self.devices
                .entry(key.clone())
                .or_default()
                .update(baseline);
        }
    }

    /// The baseline of a device. A device with an identity is never found by its name, which another one may have had.
    pub fn find(&self, name: &str, identity: Option<&str>) -> Option<&DeviceBaseline> {
        self.devices.get(identity.unwrap_or(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_0_1_0_is_refused() {
        let text = include_str!("../../fixtures/recordings-0.1.0/baseline.json");
        assert!(text.contains("\"concurrency\""), "the file is of 0.1.0");
        assert!(SavedBaselines::parse(text).is_err());
    }

    #[test]
    fn a_device_is_found_by_its_identity_under_any_name_and_by_its_name_without_one() {
        let mut saved = SavedBaselines::default();
        let baseline = |ms| DeviceBaseline::stated(Some(ms), None);
        saved.insert("sda", Some("wwid:1"), baseline(1.0));
        saved.insert("vda", None, baseline(2.0));
        let text = serde_json::to_string(&saved).unwrap();
        let saved = SavedBaselines::parse(&text).unwrap();
        for (name, identity, expected) in [
            ("sdz", Some("wwid:1"), Some(1.0)),
            ("sda", Some("wwid:2"), None),
            ("sda", None, None),
            ("vda", None, Some(2.0)),
            ("vda", Some("wwid:3"), None),
        ] {
            let found = saved.find(name, identity).map(|one| one.read[0].await_ms);
            assert_eq!(found, expected, "{name} {identity:?}");
        }
    }
}
