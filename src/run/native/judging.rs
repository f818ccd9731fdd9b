//! By what devices are judged: the plan's settings, with the baselines that it names.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::feed::Feed;
use super::gather::gather;
use crate::analysis::{HostReport, SavedBaselines, Settings};
use crate::plan::{Baseline, DeviceSelection, Input, VerdictOptions};
use crate::run::RunContext;
use crate::sanitize::sanitize;
use crate::source::read_object;

/// Settings for each device.
pub(in crate::run) struct Settler {
    common: Settings,
    saved: SavedBaselines,
}

impl Settler {
    /// Reads the baselines that the plan names.
    ///
    /// # Errors
    /// When their file cannot be read, or is neither a saved baseline nor a capture.
    pub(in crate::run) fn new(plan: &VerdictOptions, world: &mut RunContext<'_>) -> Result<Self> {
        let mut common = Settings { saturation_threshold: plan.saturated_at, cap: plan.cap, baseline: None };
        let saved = match &plan.baseline {
            Baseline::Learnt => SavedBaselines::default(),
            Baseline::Stated(baseline) => {
                common.baseline = Some(baseline.clone());
                SavedBaselines::default()
            }
            Baseline::File(path) => match read_object(path)? {
                Some(text) => serde_json::from_str(&text).with_context(|| {
                    format!("{} is no baseline that was saved", sanitize(&path.display().to_string()))
                })?,
                None => learn(path, world)?,
            },
        };
        Ok(Self { common, saved })
    }

    /// The settings for the device that the kernel calls so.
    pub(in crate::run) fn settings(&self, device: &str) -> Settings {
        let saved = self.saved.devices.get(device).cloned();
        Settings { baseline: saved.or_else(|| self.common.baseline.clone()), ..self.common.clone() }
    }
}

/// The baselines that a capture shows.
fn learn(path: &Path, world: &mut RunContext<'_>) -> Result<SavedBaselines> {
    let input = Input { from: Some(path.to_owned()), ..Input::default() };
    let choice = DeviceSelection::default();
    let mut feed = Feed::open(&input, world.clock)?;
    let gathered = gather(&mut feed, &choice, None, world, &mut |_, _, _, _| {})?;
    if gathered.intervals == 0 {
        bail!(
            "{}: {}; a baseline is a capture, or what analyze --save-baseline saved",
            sanitize(&feed.name()),
            feed.nothing()?
        );
    }
    let settings = Settings::default();
    let reports = gathered.devices.into_iter().map(|device| device.finish(&settings, &HostReport::default()));
    let devices = reports.map(|report| (report.device, report.baseline));
    Ok(SavedBaselines { devices: devices.collect() })
}
