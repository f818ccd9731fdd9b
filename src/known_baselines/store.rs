//! The settings of each device's verdict, with the unloaded latencies that were given, saved or recorded for it.

use super::saved::{DeviceMatching, SavedBaselines};
use crate::baselines::{RecordedBaseline, RecordedBaselines};
use crate::counters::Device;
use crate::judge::{BaselineSource, Settings};
use crate::sanitize::sanitize;
use crate::topology::Topology;

/// The most characters of a file's text that are quoted in a message.
const MAX_EXCERPT_CHARS: usize = 120;

/// The settings of the verdict on each device.
#[derive(Clone, Debug, Default)]
pub struct BaselineStore {
    /// What holds for all devices.
    pub common: Settings,
    /// The baselines of a file, which take precedence.
    pub(super) file: SavedFile,
    /// True to use the baselines that a recording holds, for devices without any other.
    pub(super) uses_recorded: bool,
    /// The reason why a saved baseline of the host is ignored; `None` if none is.
    pub problem: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SavedFile {
    /// Its name in messages; empty without a file.
    pub(super) name: String,
    pub(super) baselines: SavedBaselines,
    /// The devices to which they apply.
    pub(super) matching: DeviceMatching,
    /// Their origin.
    pub(super) source: BaselineSource,
}

impl BaselineStore {
    /// Returns the settings for a device by its kernel name and identity, if any. `recorded` are the baselines of the
    /// recording that is replayed.
    pub fn settings(
        &self,
        device: &str,
        identity: Option<&str>,
        recorded: &RecordedBaselines,
    ) -> Settings {
        let common = self.common.clone();
        if let Some(saved) = self
            .file
            .baselines
            .find(device, identity, self.file.matching)
        {
            return Settings {
                baseline: Some(saved.clone()),
                baseline_source: self.file.source,
                ..common
            };
        }
        match recorded.get(device).filter(|_| self.uses_recorded) {
            Some(recorded) => {
                let is_saved = recorded.source == BaselineSource::Saved.name();
                let source = if is_saved {
                    BaselineSource::Saved
                } else {
                    BaselineSource::Given
                };
                Settings {
                    baseline: Some(recorded.baseline.clone()),
                    baseline_source: source,
                    ..common
                }
            }
            None => common,
        }
    }

    /// Returns the baselines to store in a recording of these devices.
    pub fn to_record(&self, devices: &[Device], topology: &Topology) -> RecordedBaselines {
        let mut recorded = RecordedBaselines::default();
        let common = self
            .common
            .baseline
            .clone()
            .map(|baseline| (None, BaselineSource::Given, baseline));
        let saved = devices.iter().filter_map(|device| {
            let file = &self.file;
            let saved = file.baselines.find(
                &device.name,
                topology.identity(&device.name),
                file.matching,
            )?;
            Some((Some(device.name.clone()), file.source, saved.clone()))
        });
        for (device, source, baseline) in common.into_iter().chain(saved) {
            if !baseline.is_empty() {
                recorded.insert(RecordedBaseline {
                    device,
                    source: source.name().to_owned(),
                    baseline,
                });
            }
        }
        recorded
    }

    /// Returns a message about the devices whose name belongs to another device in the given file; `None` if there are
    /// none.
    pub fn mismatches<'a>(
        &self,
        devices: impl Iterator<Item = &'a str>,
        topology: &Topology,
    ) -> Option<String> {
        if self.file.matching == DeviceMatching::Identity {
            return None;
        }
        let mismatch = |name: &'a str| {
            let identity = topology.identity(name)?;
            Some((
                name,
                self.file.baselines.mismatch(name, Some(identity))?,
                identity,
            ))
        };
        let mut found = devices.filter_map(mismatch);
        let (name, saved, identity) = found.next()?;
        let more = match found.count() {
            0 => String::new(),
            n => format!(", and so do those of {n} more"),
        };
        let [name, saved, identity] = [name, saved, identity].map(excerpt);
        let file = sanitize(&self.file.name);
        Some(format!(
            "{file}: the baseline of {name} belongs to another device ({saved}; this one is {identity}){more}; ignored"
        ))
    }
}

/// Returns the beginning of a text from a file, for a message.
pub(super) fn excerpt(text: &str) -> String {
    let end = text
        .char_indices()
        .nth(MAX_EXCERPT_CHARS)
        .map(|(end, _)| end);
    match end {
        Some(end) => format!("{}...", sanitize(&text[..end])),
        None => sanitize(text).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_and_safe() {
        assert_eq!(excerpt("wwid:\u{1b}1"), "wwid:\\u{1b}1");
        assert_eq!(
            excerpt(&"ä".repeat(MAX_EXCERPT_CHARS)).chars().count(),
            MAX_EXCERPT_CHARS
        );
        assert_eq!(
            excerpt(&"ä".repeat(10_000)).chars().count(),
            MAX_EXCERPT_CHARS + 3
        );
    }
}
