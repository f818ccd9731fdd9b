//! `blkstat analyze --compare`: what changed between two captures.

use std::path::Path;

use anyhow::{Result, bail};

use super::warnings::Warnings;
use super::{RunContext, emit, load_baselines};
use crate::analysis::DeviceReport;
use crate::exit::Exit;
use crate::intervals::{Detail, Input, Intervals, collect};
use crate::plan::{Analyze, AnalyzeFormat};
use crate::report::analysis::{ComparedCapture, compare_json, compare_text};
use crate::sanitize::sanitize;

/// A capture after its analysis.
struct Analyzed {
    name: String,
    devices: Vec<DeviceReport>,
    seconds: f64,
}

impl Analyzed {
    fn as_compared(&self) -> ComparedCapture<'_> {
        ComparedCapture { name: &self.name, devices: &self.devices, seconds: self.seconds }
    }
}

pub(super) fn run(plan: &Analyze, compare_with: &Path, context: &mut RunContext<'_>) -> Result<Exit> {
    let before = analyze(plan, &plan.input, context)?;
    let later = Input { from: Some(compare_with.to_owned()), ..plan.input.clone() };
    let after = analyze(plan, &later, context)?;
    for analyzed in [&before, &after] {
        if analyzed.seconds == 0.0 || analyzed.devices.is_empty() {
            context.print_error(format_args!("{}: nothing to compare", sanitize(&analyzed.name)));
            return Ok(Exit::NoData);
        }
    }
    let (before, after) = (before.as_compared(), after.as_compared());
    let mut out = Vec::new();
    match plan.format {
        AnalyzeFormat::Json => compare_json(&before, &after, &mut out),
        AnalyzeFormat::Text | AnalyzeFormat::Fio => {
            compare_text(&before, &after, context.width(), &mut out);
        }
    }
    emit(context.out, &mut out)?;
    Ok(Exit::Success)
}

/// Analyzes a capture.
///
/// # Errors
/// If it cannot be read, or a signal came.
fn analyze(plan: &Analyze, input: &Input, context: &mut RunContext<'_>) -> Result<Analyzed> {
    let baselines = load_baselines(&plan.verdicts, context)?;
    let mut intervals = Intervals::open(input, &plan.selection, Detail::Analysis, &baselines, context.clock)?;
    let mut warnings = Warnings::about(&intervals.source_name());
    let collected = collect(
        &mut intervals,
        &mut |warning| warnings.warn_capture(warning, context.err),
        &mut || {},
        &mut |_| {},
    );
    warnings.finish(context.err);
    let collected = collected?;
    if let Some(signal) = collected.signal {
        bail!("interrupted by signal {signal}");
    }
    let name = intervals.source_name();
    if intervals.span().intervals == 0 {
        context.print_error(format_args!("{}: {}", sanitize(&name), intervals.no_data_reason()?));
    } else if let Some(not_found) = intervals.not_found() {
        context.print_error(format_args!("{}: {not_found}", sanitize(&name)));
    }
    let finished = collected.devices.into_iter().map(|device| {
        let identity = collected.identities.get(device.name()).map(String::as_str);
        let settings = intervals.settings(device.name(), identity);
        device.finish(&settings, &collected.host)
    });
    Ok(Analyzed { name, devices: finished.collect(), seconds: intervals.span().seconds })
}
