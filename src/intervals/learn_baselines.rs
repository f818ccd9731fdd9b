//! Learns unloaded latencies continuously while samples come in.

use anyhow::Result;

use super::stream::{Intervals, NextInterval};
use crate::judge::SavedBaselines;

const UPDATE_INTERVAL_S: f64 = 600.0;
/// Seconds after which everything is learned again: a device may become slower or faster over time.
const FORGET_AFTER_S: f64 = 24.0 * 3600.0;

/// Learns the baselines of devices from their quiet intervals. `on_learned` is called every ten minutes, and at the end.
///
/// # Errors
/// When the source cannot be read.
pub fn learn_baselines(
    intervals: &mut Intervals<'_>,
    on_learned: &mut dyn FnMut(&SavedBaselines),
) -> Result<()> {
    if !intervals.start(&mut |_| {})? {
        return Ok(());
    }
    let (mut since_update_s, mut since_start_s) = (0.0, 0.0);
    loop {
        match intervals.next(&mut |_| {})? {
            NextInterval::Rows(rows) => {
                since_update_s += rows.header.elapsed_s;
                since_start_s += rows.header.elapsed_s;
            }
            NextInterval::Break => {}
            NextInterval::End | NextInterval::Signal(_) => break,
        }
        if since_update_s >= UPDATE_INTERVAL_S {
            since_update_s = 0.0;
            on_learned(&learned(intervals));
            if since_start_s >= FORGET_AFTER_S {
                since_start_s = 0.0;
                intervals.forget_devices();
            }
        }
    }
    on_learned(&learned(intervals));
    Ok(())
}

/// Returns the baselines learned for each device.
fn learned(intervals: &Intervals<'_>) -> SavedBaselines {
    let mut baselines = SavedBaselines::default();
    for (name, _) in intervals.selected_devices() {
        let baseline = intervals.tracker.judge.saved_baseline(name);
        if let Some(baseline) = baseline.filter(|baseline| !baseline.is_empty()) {
            baselines.insert(name, intervals.topology().identity(name), baseline);
        }
    }
    baselines
}
