//! Reads or learns the unloaded latencies that the user named.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::baseline_store::BaselineStore;
use super::collect::collect;
use super::options::{BaselineOption, Detail, DeviceSelection, Input, VerdictOptions};
use super::sample_source::OnWarning;
use super::stream::Intervals;
use crate::analysis::{SavedBaselines, Settings};
use crate::clock::Clock;
use crate::sanitize::sanitize;
use crate::source::read_json_object;

/// Reads the baseline that the options name, if they do: a saved one, or a capture from which it is learned.
///
/// # Errors
/// When the file cannot be read, or is neither a saved baseline nor a capture.
pub fn load_baselines(
    options: &VerdictOptions,
    clock: &dyn Clock,
    on_warning: OnWarning<'_>,
) -> Result<BaselineStore> {
    let VerdictOptions { saturation_threshold, cap, .. } = *options;
    let mut common = Settings { saturation_threshold, cap, ..Settings::default() };
    let mut saved = SavedBaselines::default();
    match &options.baseline {
        BaselineOption::Learned => {}
        BaselineOption::Stated(baseline) => common.baseline = Some(baseline.clone()),
        BaselineOption::File(path) => {
            saved = match read_json_object(path)? {
                Some(text) => serde_json::from_str(&text).with_context(|| {
                    format!("{} is not a saved baseline", sanitize(&path.display().to_string()))
                })?,
                None => learn(path, clock, on_warning)?,
            };
        }
    }
    Ok(BaselineStore::new(common, saved))
}

/// Learns the baselines of a capture.
fn learn(path: &Path, clock: &dyn Clock, on_warning: OnWarning<'_>) -> Result<SavedBaselines> {
    let input = Input { from: Some(path.to_owned()), ..Input::default() };
    let selection = DeviceSelection::default();
    let no_baselines = BaselineStore::default();
    let mut intervals = Intervals::open(&input, &selection, Detail::Analysis, &no_baselines, clock)?;
    let collected = collect(&mut intervals, on_warning, &mut || {}, &mut |_| {})?;
    if intervals.span().intervals == 0 {
        bail!(
            "{}: {}; a baseline is a capture, or a file that analyze --save-baseline wrote",
            sanitize(&intervals.source_name()),
            intervals.no_data_reason()?
        );
    }
    let settings = Settings::default();
    let reports = collected.devices.into_iter().map(|device| device.finish(&settings, &collected.host));
    let devices = reports.map(|report| (report.device, report.baseline));
    Ok(SavedBaselines { devices: devices.collect() })
}
