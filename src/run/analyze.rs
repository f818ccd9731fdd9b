//! `blkstat analyze`: analyzes a capture, or the running system for a time.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use jiff::tz::TimeZone;

use super::analysis::{Presentation, analyze_intervals};
use super::progress::Progress;
use super::{RunContext, emit, load_baselines};
use crate::analysis::{DeviceReport, SavedBaselines};
use crate::exit::Exit;
use crate::intervals::{Detail, Intervals};
use crate::plan::{Analyze, AnalyzeFormat};
use crate::report::analysis::{fio_job, json, text};
use crate::sanitize::sanitize;
use crate::sink::write_atomically;
use crate::source::read_json_object;

pub(super) fn run(plan: &Analyze, context: &mut RunContext<'_>) -> Result<Exit> {
    if let Some(after) = &plan.compare_with {
        return super::compare::run(plan, after, context);
    }
    if let Some(path) = &plan.save_baseline {
        // Check this before the analysis, which may take long.
        refuse_to_overwrite(path)?;
    }
    let baselines = load_baselines(&plan.verdicts, context)?;
    let clock = context.clock;
    let mut intervals = Intervals::open(&plan.input, &plan.selection, Detail::Analysis, &baselines, clock)?;
    // Read the time zone only now: an error about a time of the range also names an unknown time zone.
    let time_zone = match plan.format {
        AnalyzeFormat::Text => context.time_zone(plan.time_zone.as_deref()),
        AnalyzeFormat::Json | AnalyzeFormat::Fio => TimeZone::UTC,
    };
    let progress = Progress::new(plan.stderr_is_tty, clock.monotonic());
    let (exit, analysis) = analyze_intervals(&mut intervals, "analyzing", progress, &mut |_| {}, context)?;
    let Some(analysis) = analysis else { return Ok(exit) };
    let presentation = Presentation {
        time_zone: &time_zone,
        is_selection: plan.selection.names_devices(),
        has_details: plan.has_details,
        is_unicode: plan.is_unicode && context.is_terminal,
    };
    let mut out = Vec::new();
    match plan.format {
        AnalyzeFormat::Fio => write_fio_job(&analysis.reports, &mut out)?,
        AnalyzeFormat::Json => analysis.report(&intervals, &presentation, |report| json(&report, &mut out)),
        AnalyzeFormat::Text => {
            let width = context.width();
            analysis.report(&intervals, &presentation, |report| text(&report, width, &mut out));
        }
    }
    if let Some(path) = &plan.save_baseline {
        save_baseline(path, &analysis.reports, &analysis.identities)?;
    }
    emit(context.out, &mut out)?;
    Ok(exit)
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
