//! Baselines as they are saved: for devices of a host, by their identities.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::baselines::DeviceBaseline;

/// The baselines of a host: the content of a `--save-baseline` file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedBaselines {
    /// By identity, or by the kernel's name for a device that has none. 0.1.0 saved names only.
    devices: BTreeMap<String, SavedBaseline>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct SavedBaseline {
    /// The kernel's name of a device that is saved by its identity; `None` if the key is the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(flatten)]
    baseline: DeviceBaseline,
}

/// The devices that a saved baseline is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceMatching {
    /// Only devices of the same identity.
    #[default]
    Identity,
    /// Devices of the same identity, or of the same name if the saved baseline or the device has no identity.
    IdentityOrName,
}

impl SavedBaselines {
    /// Adds the baseline of a device.
    pub fn insert(&mut self, name: &str, identity: Option<&str>, baseline: DeviceBaseline) {
        let saved = SavedBaseline {
            name: identity.map(|_| name.to_owned()),
            baseline,
        };
        self.devices
            .insert(identity.unwrap_or(name).to_owned(), saved);
    }

    /// Takes the values of `newer`. Values that it lacks stay.
    pub fn update(&mut self, newer: &Self) {
        for (key, saved) in &newer.devices {
            let own = self.devices.entry(key.clone()).or_default();
            own.name.clone_from(&saved.name);
            own.baseline.update(&saved.baseline);
        }
    }

    /// Returns the baseline of a device; `None` if there is none for it.
    pub fn find(
        &self,
        name: &str,
        identity: Option<&str>,
        matching: DeviceMatching,
    ) -> Option<&DeviceBaseline> {
        let by_identity = || {
            self.devices
                .get(identity?)
                .filter(|saved| saved.name.is_some())
        };
        let by_name = || self.devices.get(name).filter(|saved| saved.name.is_none());
        let without_identity = || match identity {
            None => self.named(name).map(|(_, saved)| saved),
            Some(_) => None,
        };
        let found = match matching {
            DeviceMatching::Identity => by_identity(),
            DeviceMatching::IdentityOrName => {
                by_identity().or_else(by_name).or_else(without_identity)
            }
        };
        found.map(|saved| &saved.baseline)
    }

    /// Returns the identity of another device that was saved under the name of this one; `None` if there is none, or if
    /// there is a baseline for this one.
    pub fn mismatch(&self, name: &str, identity: Option<&str>) -> Option<&str> {
        let is_found = self
            .find(name, identity, DeviceMatching::IdentityOrName)
            .is_some();
        self.named(name)
            .map(|(identity, _)| identity)
            .filter(|_| !is_found)
    }

    /// Returns the only baseline that was saved by identity for a device of this name, with the identity.
    fn named(&self, name: &str) -> Option<(&str, &SavedBaseline)> {
        let mut named = self
            .devices
            .iter()
            .filter(|(_, saved)| saved.name.as_deref() == Some(name));
        let (identity, saved) = named.next().filter(|_| named.next().is_none())?;
        Some((identity, saved))
    }

    /// Removes values that no device can have.
    pub fn retain_possible(&mut self) {
        self.devices
            .values_mut()
            .for_each(|saved| saved.baseline.retain_possible());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DeviceMatching::{Identity, IdentityOrName};

    #[test]
    fn a_baseline_saved_by_0_1_0_loads() {
        let text = include_str!("../../fixtures/recordings-0.1.0/baseline.json");
        let old_names = ["\"concurrency\"", "\"is_upper_bound\""];
        assert!(
            old_names.iter().all(|name| text.contains(name)),
            "the file is of 0.1.0"
        );
        let saved: SavedBaselines = serde_json::from_str(text).unwrap();
        let baseline = saved.find("vda", Some("serial:1"), IdentityOrName).unwrap();
        let read = baseline
            .read
            .iter()
            .find(|one| one.size_kib == Some(4.0))
            .unwrap();
        assert!(
            (read.await_ms - 0.034).abs() < 0.001 && !read.is_upper_bound,
            "{read:?}"
        );
        assert!(
            read.queue.is_some_and(|queue| (queue - 0.77).abs() < 0.01),
            "{read:?}"
        );
        assert_eq!(saved.find("vda", Some("serial:1"), Identity), None);
        // When it is saved again, it has the present field names.
        let again = serde_json::to_string(&saved).unwrap();
        assert!(
            again.contains("\"queue\"") && again.contains("\"upper_bound\""),
            "{again}"
        );
        assert!(
            !old_names.iter().any(|name| again.contains(name)),
            "{again}"
        );
        assert_eq!(
            serde_json::from_str::<SavedBaselines>(&again).unwrap(),
            saved
        );
    }

    #[test]
    fn a_device_is_found_by_its_identity_under_any_name() {
        let mut saved = SavedBaselines::default();
        let baseline = |ms| DeviceBaseline::stated(Some(ms), None);
        saved.insert("sda", Some("wwid:1"), baseline(1.0));
        saved.insert("sdb", None, baseline(2.0));
        let text = serde_json::to_string(&saved).unwrap();
        assert!(
            text.contains(r#""wwid:1":{"name":"sda","read":[{"#),
            "{text}"
        );
        let saved: SavedBaselines = serde_json::from_str(&text).unwrap();
        let ms = |name, identity, matching| {
            saved
                .find(name, identity, matching)
                .map(|found| found.read[0].await_ms)
        };
        for (name, identity, by_identity, by_name) in [
            ("sdz", Some("wwid:1"), Some(1.0), Some(1.0)),
            ("sda", Some("wwid:2"), None, None),
            ("sda", None, None, Some(1.0)),
            ("sdb", Some("wwid:3"), None, Some(2.0)),
            ("sdb", None, None, Some(2.0)),
            ("wwid:1", None, None, None),
            ("x", Some("sdb"), None, None),
        ] {
            assert_eq!(
                ms(name, identity, Identity),
                by_identity,
                "{name} {identity:?}"
            );
            assert_eq!(
                ms(name, identity, IdentityOrName),
                by_name,
                "{name} {identity:?}"
            );
        }
        assert_eq!(saved.mismatch("sda", Some("wwid:2")), Some("wwid:1"));
        assert_eq!(
            saved
                .mismatch("sda", None)
                .or(saved.mismatch("sdb", Some("wwid:2"))),
            None
        );
        assert_eq!(saved.mismatch("sdz", Some("wwid:1")), None);
    }
}
