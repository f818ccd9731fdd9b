//! `blkstat analyze --compare`: shows what changed between two captures, or two ranges of time.

use anyhow::Result;

use super::analysis::{Analysis, analyze_intervals};
use super::progress::Progress;
use super::{RunContext, emit, load_baselines};
use crate::exit::Exit;
use crate::intervals::{Detail, Input, Intervals};
use crate::plan::{Analyze, AnalyzeFormat};
use crate::report::analysis::{ComparedCapture, compare_json, compare_text};

pub(super) fn run(plan: &Analyze, after: &Input, context: &mut RunContext<'_>) -> Result<Exit> {
    let mut exit = Exit::Success;
    let mut analyzed = [None, None];
    for (slot, input) in analyzed.iter_mut().zip([&plan.input, after]) {
        let (exit_of_one, name, analysis) = analyze(plan, input, context)?;
        let Some(analysis) = analysis.filter(|_| !matches!(exit_of_one, Exit::Signal(_))) else {
            return Ok(exit_of_one);
        };
        exit = if exit == Exit::Success { exit_of_one } else { exit };
        *slot = Some((name, analysis));
    }
    let [Some(before), Some(after)] = analyzed else { return Ok(exit) };
    let captures = [before, after];
    let time_zone = context.time_zone(plan.time_zone.as_deref());
    let [before, after] = captures.each_ref().map(|(name, analysis)| ComparedCapture {
        name,
        devices: &analysis.reports,
        clock: &analysis.clock,
        time_zone: &time_zone,
    });
    let mut out = Vec::new();
    match plan.format {
        AnalyzeFormat::Json => compare_json(&before, &after, &mut out),
        AnalyzeFormat::Text | AnalyzeFormat::Fio => {
            compare_text(&before, &after, context.width(), &mut out);
        }
    }
    emit(context.out, &mut out)?;
    Ok(exit)
}

/// Analyzes a capture. Returns its name and the analysis; no analysis if there is no data.
fn analyze(
    plan: &Analyze,
    input: &Input,
    context: &mut RunContext<'_>,
) -> Result<(Exit, String, Option<Analysis>)> {
    let baselines = load_baselines(&plan.verdicts, context)?;
    let clock = context.clock;
    let mut intervals = Intervals::open(input, &plan.selection, Detail::Comparison, &baselines, clock)?;
    let progress = Progress::new(plan.stderr_is_tty, clock.monotonic());
    let (exit, analysis) = analyze_intervals(&mut intervals, "comparing", progress, &mut |_| {}, context)?;
    Ok((exit, intervals.source_name(), analysis))
}
