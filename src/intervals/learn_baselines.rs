//! Learns unloaded latencies continuously while samples come in.

use anyhow::Result;

use super::collect::Collector;
use super::stream::{Intervals, NextInterval};
use crate::analysis::{DeviceBaseline, HostReport, SavedBaselines, Settings, UnloadedLatency};

const UPDATE_INTERVAL_S: f64 = 600.0;
/// Seconds after which everything is learned again: a device may become slower or faster over time.
const FORGET_AFTER_S: f64 = 24.0 * 3600.0;
/// The fewest intervals with I/O from which a device is learned.
const MIN_BUSY_INTERVALS: u64 = 60;

/// Learns the baselines of devices from the intervals in which they are idle, ok or without a verdict. A device at its
/// limit or throttled is not unloaded. `on_learned` is called every ten minutes, and at the end.
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
    let mut collector = Collector::of_unloaded();
    collector.add_devices(intervals);
    let (mut since_update_s, mut since_start_s) = (0.0, 0.0);
    loop {
        collector.identify_devices(intervals);
        collector.take_histories(intervals);
        match intervals.next(&mut |_| {})? {
            NextInterval::Rows(rows) => {
                since_update_s += rows.header.elapsed_s;
                since_start_s += rows.header.elapsed_s;
                collector.observe(rows);
            }
            NextInterval::Break => {
                collector.note_gap();
                collector.add_devices(intervals);
            }
            NextInterval::End | NextInterval::Signal(_) => break,
        }
        if since_update_s >= UPDATE_INTERVAL_S {
            since_update_s = 0.0;
            on_learned(&learned(&mut collector));
            if since_start_s >= FORGET_AFTER_S {
                since_start_s = 0.0;
                collector = Collector::of_unloaded();
                collector.add_devices(intervals);
            }
        }
    }
    on_learned(&learned(&mut collector));
    Ok(())
}

/// Returns the baselines learned for each device, without upper bounds, which are latencies of a loaded device.
fn learned(collector: &mut Collector) -> SavedBaselines {
    let mut baselines = SavedBaselines::default();
    for (analysis, identity) in collector.devices() {
        let report = analysis
            .clone()
            .finish(&Settings::default(), &HostReport::default());
        if report.busy_intervals < MIN_BUSY_INTERVALS {
            continue;
        }
        let unloaded = |values: Vec<UnloadedLatency>| {
            values
                .into_iter()
                .filter(|one| !one.is_upper_bound)
                .collect()
        };
        let DeviceBaseline { read, write, flush } = report.baseline;
        let baseline = DeviceBaseline {
            read: unloaded(read),
            write: unloaded(write),
            flush: unloaded(flush),
        };
        if !baseline.is_empty() {
            baselines.insert(&report.device, identity, baseline);
        }
    }
    baselines
}
