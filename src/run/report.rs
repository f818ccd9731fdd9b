//! `blkstat report`: writes a page about a capture, or about the running system for a time.

use anyhow::{Context, Result};
use jiff::tz::TimeZone;

use super::analysis::{Analysis, Presentation, analyze_intervals};
use super::progress::Progress;
use super::{RunContext, emit, load_baselines};
use crate::exit::Exit;
use crate::intervals::{Detail, History, Intervals};
use crate::plan::Report;
use crate::report::html::{Page, PageSource};
use crate::sanitize::sanitize;
use crate::sink::{check_new_file, write_atomically};

pub(super) fn run(plan: &Report, context: &mut RunContext<'_>) -> Result<Exit> {
    let name = sanitize(&plan.output.display().to_string()).into_owned();
    let writes_to_output = plan.output.as_os_str() == "-";
    if !writes_to_output {
        // Check this before the analysis, which may take long.
        check_new_file(&plan.output, &name, plan.force)?;
    }
    let time_zone = context.time_zone(plan.time_zone.as_deref());
    let baselines = load_baselines(&plan.verdicts, context)?;
    let clock = context.clock;
    let mut intervals = Intervals::open(&plan.input, &plan.selection, Detail::Analysis, &baselines, clock)?;
    let progress = Progress::new(plan.stderr_is_tty, clock.monotonic());
    let mut history = History::default();
    let observe = &mut |rows: &crate::intervals::IntervalRows| history.observe(rows);
    let (exit, analysis) = analyze_intervals(&mut intervals, "reporting", progress, observe, context)?;
    let Some(analysis) = analysis else { return Ok(exit) };
    let html = page(plan, &analysis, history, &intervals, &time_zone);
    if writes_to_output {
        emit(context.out, &mut html.into_bytes())?;
        return Ok(exit);
    }
    // Check again: another program may have written the file meanwhile.
    check_new_file(&plan.output, &name, plan.force)?;
    write_atomically(&plan.output, html.as_bytes()).with_context(|| format!("cannot write {name}"))?;
    Ok(exit)
}

fn page(
    plan: &Report,
    analysis: &Analysis,
    history: History,
    intervals: &Intervals<'_>,
    time_zone: &TimeZone,
) -> String {
    let host = intervals.host();
    let source = PageSource {
        host: host.name,
        kernel: host.kernel,
        cpus: host.cpus,
        capture: plan.input.from.as_ref().map(|path| path.display().to_string()),
    };
    let presentation = Presentation {
        time_zone,
        is_selection: plan.selection.names_devices(),
        has_details: true,
        is_unicode: true,
    };
    let saturation_threshold = plan.verdicts.saturation_threshold;
    analysis.report(intervals, &presentation, |analysis| {
        Page { analysis, history, source: &source, saturation_threshold, has_who: plan.has_who }.html()
    })
}
