//! `blkstat analyze`: analyzes a capture, or the running system for a time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::progress::Progress;
use super::warnings::Warnings;
use super::{RunContext, emit, load_baselines};
use crate::analysis::{DeviceReport, SavedBaselines, clear_lower_layers, queue_by_layer};
use crate::exit::Exit;
use crate::intervals::{Detail, Intervals, NotFound, collect};
use crate::plan::{Analyze, AnalyzeFormat};
use crate::report::analysis::{AnalysisReport, fio_job, json, text};
use crate::sanitize::sanitize;
use crate::sink::write_atomically;
use crate::source::read_json_object;
use crate::topology::Topology;

pub(super) fn run(plan: &Analyze, context: &mut RunContext<'_>) -> Result<Exit> {
    if let Some(path) = &plan.save_baseline {
        // Checked before the analysis, which may take long.
        refuse_to_overwrite(path)?;
    }
    let baselines = load_baselines(&plan.verdicts, context)?;
    let clock = context.clock;
    let mut intervals = Intervals::open(&plan.input, &plan.selection, Detail::Analysis, &baselines, clock)?;
    let mut warnings = Warnings::about(&intervals.source_name());
    let mut progress = Progress::new(plan.stderr_is_tty, clock.monotonic());
    let mut count = 0u64;
    let is_unlimited = intervals.is_live() && plan.input.count.is_none();
    let shared = RefCell::new(&mut *context);
    let collected = collect(
        &mut intervals,
        &mut |warning| warnings.warn_capture(warning, shared.borrow_mut().err),
        &mut || {
            if is_unlimited {
                shared.borrow_mut().print_error("analyzing until Ctrl-C (no COUNT given)");
            }
        },
        &mut |_| {
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
    if let Some(reason) = incomplete_reason(&intervals, has_data)? {
        context.print_error(reason);
        exit = if exit == Exit::Success { Exit::NoData } else { exit };
    }
    if !has_data {
        return Ok(exit);
    }
    let finished = collected.devices.into_iter().map(|device| {
        let identity = collected.identities.get(device.name()).map(String::as_str);
        let settings = intervals.settings(device.name(), identity);
        device.finish(&settings, &collected.host)
    });
    let mut reports: Vec<DeviceReport> = finished.collect();
    let unknown = Topology::default();
    let topology = intervals.known_topology().unwrap_or(&unknown);
    let layers = queue_by_layer(topology, &reports);
    layers.iter().for_each(|queues| clear_lower_layers(&mut reports, queues));
    let (queue_by_layer, host) = (layers.as_ref(), &collected.host);
    let is_selection = plan.selection.names_devices();
    let report = AnalysisReport { devices: &reports, queue_by_layer, topology, is_selection, host };
    let mut out = Vec::new();
    match plan.format {
        AnalyzeFormat::Fio => write_fio_job(&reports, &mut out)?,
        AnalyzeFormat::Json => json(&report, &mut out),
        AnalyzeFormat::Text => text(&report, context.width(), &mut out),
    }
    if let Some(path) = &plan.save_baseline {
        save_baseline(path, &reports, &collected.identities)?;
    }
    emit(context.out, &mut out)?;
    Ok(exit)
}

/// Returns why the analysis lacks a requested device or any data; `None` if it is complete.
fn incomplete_reason(intervals: &Intervals<'_>, has_data: bool) -> Result<Option<String>> {
    let has_intervals = intervals.span().intervals > 0;
    let source = || sanitize(&intervals.source_name()).into_owned();
    Ok(match intervals.not_found() {
        // The user may have meant a capture.
        Some(NotFound::Name { name, similar: None, list_command }) if intervals.is_live() => {
            Some(format!("no such device or file '{}'; run '{list_command}' for a list", sanitize(&name)))
        }
        Some(not_found) if intervals.is_live() => Some(not_found.to_string()),
        Some(not_found) if has_intervals => Some(format!("{}: {not_found}", source())),
        _ if has_data => None,
        _ => Some(format!("{}: {}", source(), intervals.no_data_reason()?)),
    })
}

/// Writes the fio job of the only active device.
///
/// # Errors
/// If no device or more than one was active.
fn write_fio_job(reports: &[DeviceReport], out: &mut Vec<u8>) -> Result<()> {
    let active: Vec<&DeviceReport> = reports.iter().filter(|report| report.busy_intervals > 0).collect();
    match active.as_slice() {
        [report] => fio_job(report, out),
        [] => bail!("no device was active: there is no load to repeat"),
        several => {
            let names: Vec<&str> = several.iter().map(|report| report.device.as_str()).collect();
            bail!("several devices were active; name one of: {}", sanitize(&names.join(", ")));
        }
    }
    Ok(())
}

/// Fails if the file exists and is not a saved baseline: it may be a recording.
fn refuse_to_overwrite(path: &Path) -> Result<()> {
    if path.exists() && read_json_object(path)?.is_none() {
        bail!("{} exists and is not a saved baseline", sanitize(&path.display().to_string()));
    }
    Ok(())
}

fn save_baseline(path: &Path, reports: &[DeviceReport], identities: &HashMap<String, String>) -> Result<()> {
    let mut baselines = SavedBaselines::default();
    for report in reports.iter().filter(|report| !report.baseline.is_empty()) {
        let identity = identities.get(&report.device).map(String::as_str);
        baselines.insert(&report.device, identity, report.baseline.clone());
    }
    let mut text = serde_json::to_vec_pretty(&baselines)?;
    text.push(b'\n');
    write_atomically(path, &text)
        .with_context(|| format!("cannot write {}", sanitize(&path.display().to_string())))
}
