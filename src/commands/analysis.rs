//! The analysis of all intervals, which `analyze` and `report` show.

use std::cell::RefCell;
use std::path::Path;

use anyhow::Result;
use jiff::tz::TimeZone;

use super::progress::Progress;
use crate::analysis::{DeviceAnalysis, DeviceReport, Settings, queue_by_layer};
use crate::console::{RunContext, Warnings};
use crate::exit::Exit;
use crate::intervals::{IntervalRows, Intervals, NotFound, collect};
use crate::report::analysis::AnalysisReport;
use crate::sanitize::sanitize;
use crate::two_threads::in_two_threads;

/// Analyzes all intervals and passes each to `on_interval`. Shows progress and reports missing data; `doing` is the
/// text for what the program does until Ctrl-C without a COUNT. Returns the exit code, and the analysis, of all devices
/// and with times in UTC, unless there was nothing to analyze.
///
/// # Errors
/// When the source cannot be read.
pub(super) fn analyze_intervals(
    intervals: &mut Intervals<'_>,
    doing: &str,
    on_interval: &mut dyn FnMut(&IntervalRows),
    context: &mut RunContext<'_>,
) -> Result<(Exit, Option<AnalysisReport>)> {
    let mut progress = Progress::new(context.err_is_terminal, context.clock.monotonic());
    let mut warnings = Warnings::about(&intervals.source_name());
    let mut count = 0u64;
    let is_unlimited = intervals.is_live() && !intervals.has_count();
    let shared = RefCell::new(&mut *context);
    let collected = collect(
        intervals,
        &mut |warning| warnings.warn_capture(warning, shared.borrow_mut().err),
        &mut || {
            if is_unlimited {
                shared.borrow_mut().print_error(format_args!("{doing} until Ctrl-C (no COUNT given)"));
            }
        },
        &mut |rows| {
            on_interval(rows);
            count += 1;
            progress.show(|| format!("{count} intervals"), &mut shared.borrow_mut());
        },
    );
    progress.clear(context);
    warnings.finish(context.err);
    let collected = collected?;
    if let Some(message) = intervals.mismatched_baselines() {
        context.print_error(message);
    }
    let mut exit = collected.signal.map_or(Exit::Success, Exit::Signal);
    let has_data = intervals.span().intervals > 0 && !collected.devices.is_empty();
    if let Some(reason) = incomplete_reason(intervals, has_data)? {
        context.print_error(reason);
        exit = if exit == Exit::Success { Exit::NoData } else { exit };
    }
    if !has_data {
        return Ok((exit, None));
    }
    let with_settings = |device: DeviceAnalysis| {
        let identity = collected.identities.get(device.name()).map(String::as_str);
        (intervals.settings(device.name(), identity), device)
    };
    let devices = collected.devices.into_iter().map(with_settings).collect();
    let finish = |(settings, device): (Settings, DeviceAnalysis)| device.finish(&settings, &collected.host);
    let reports: Vec<DeviceReport> = in_two_threads(devices, finish);
    let topology = intervals.known_topology().cloned().unwrap_or_default();
    let queues = queue_by_layer(&topology, &reports);
    // Names show which partitions are on which disk.
    let events = collected.events.events_with(&reports, &collected.clock, intervals.topology());
    let report = AnalysisReport {
        devices: reports,
        queue_by_layer: queues,
        topology,
        is_selection: false,
        host: collected.host,
        events,
        latencies: collected.latencies,
        clock: collected.clock,
        identities: collected.identities,
        time_zone: TimeZone::UTC,
        has_details: true,
        is_unicode: true,
    };
    Ok((exit, Some(report)))
}

/// Returns why the analysis lacks a requested device or any data; `None` if it is complete.
fn incomplete_reason(intervals: &Intervals<'_>, has_data: bool) -> Result<Option<String>> {
    let has_intervals = intervals.span().intervals > 0;
    let source = || sanitize(&intervals.source_name()).into_owned();
    Ok(match intervals.not_found() {
        // The user may have meant a capture.
        Some(NotFound { names, has_similar, message }) if intervals.is_live() => Some(match &names[..] {
            [name] if Path::new(name).is_dir() => {
                format!("{} is a directory, not a device or a capture", sanitize(name))
            }
            [name] if !has_similar => {
                format!("no such device or file '{}'; run 'blkstat devices' for a list", sanitize(name))
            }
            _ => message,
        }),
        Some(not_found) if has_intervals => Some(format!("{}: {not_found}", source())),
        _ if has_data => None,
        _ => Some(format!("{}: {}", source(), intervals.no_data_reason()?)),
    })
}
