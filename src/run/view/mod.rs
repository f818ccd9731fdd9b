//! The incident view: the devices of each interval as a table, JSON or CSV.

mod output;

use anyhow::Result;
use jiff::tz::TimeZone;

use self::output::Output;
use super::warnings::Warnings;
use super::{RunContext, end_without_data, lock_memory, missing_data};
use crate::exit::Exit;
use crate::intervals::{Detail, Intervals, NextInterval, NotFound};
use crate::plan::{SummaryMode, View};
use crate::report::Format;
use crate::sanitize::sanitize;

pub(super) fn run(plan: &View, context: &mut RunContext<'_>) -> Result<Exit> {
    let clock = context.clock;
    let baselines = super::load_baselines(&plan.verdicts, context)?;
    let mut intervals = Intervals::open(&plan.input, &plan.selection, Detail::Report, &baselines, clock)?;
    let mut warnings = Warnings::about(&intervals.source_name());
    let time_zone = match plan.format {
        Format::Table(_) => context.time_zone(plan.time_zone.as_deref()),
        Format::Json | Format::Csv => TimeZone::UTC,
    };
    let mut output = Output::new(plan, context.is_terminal, time_zone);
    let mut end = Exit::Success;
    if intervals.start(&mut |warning| warnings.warn_capture(warning, context.err))? {
        if let Some(not_found) = intervals.not_found().filter(|_| intervals.is_live()) {
            context.print_error(not_found_message(&not_found, plan));
            return Ok(Exit::NoData);
        }
        if let Some(message) = intervals.mismatched_baselines() {
            context.print_error(message);
        }
        if plan.since_boot && !intervals.since_boot(&mut |rows| output.push_since_boot(rows)) {
            let name = intervals.source_name();
            context.print_error(format_args!("{}: uptime unknown; no averages since boot", sanitize(&name)));
        }
        output.flush(context)?;
        if intervals.is_live() && plan.input.count.is_none() {
            lock_memory(context);
        }
        end = match show(&mut intervals, &mut output, &mut warnings, context) {
            Ok(end) => end,
            Err(error) => {
                // The summary covers the intervals before the error.
                summarize(plan, &intervals, false, &mut output, context)?;
                return Err(error);
            }
        };
    }
    warnings.finish(context.err);
    summarize(plan, &intervals, end == Exit::Signal(2), &mut output, context)?;
    if end != Exit::Success {
        return Ok(end);
    }
    let reason = missing_data(&intervals)?;
    Ok(reason.map_or(Exit::Success, |reason| end_without_data(&reason, &intervals, context)))
}

/// Returns the message about devices that were not found, the first of which may be a typo of a command.
fn not_found_message(not_found: &NotFound, plan: &View) -> String {
    let first = plan.selection.devices.first();
    let is_first_missing = match not_found {
        NotFound::Name { name, similar: None, .. } => Some(name) == first,
        NotFound::Names { names, .. } => names.first() == first,
        _ => false,
    };
    match (plan.similar_command, first) {
        (Some(command), Some(word)) if is_first_missing => {
            format!("no such device '{}'; did you mean 'blkstat {command}'?", sanitize(word))
        }
        _ => not_found.to_string(),
    }
}

/// Shows intervals until the input, the requested number of them, or a signal ends the run.
fn show(
    intervals: &mut Intervals<'_>,
    output: &mut Output<'_>,
    warnings: &mut Warnings,
    context: &mut RunContext<'_>,
) -> Result<Exit> {
    loop {
        match intervals.next(&mut |warning| warnings.warn_capture(warning, context.err))? {
            NextInterval::Rows(mut rows) => {
                if rows.has_found_any {
                    output.push(&mut rows);
                }
            }
            NextInterval::Break => {}
            NextInterval::End => return Ok(Exit::Success),
            NextInterval::Signal(signal) => return Ok(Exit::Signal(signal)),
        }
        output.flush(context)?;
    }
}

fn summarize(
    plan: &View,
    intervals: &Intervals<'_>,
    is_interrupted: bool,
    output: &mut Output<'_>,
    context: &mut RunContext<'_>,
) -> Result<()> {
    let is_wanted = match plan.summary {
        SummaryMode::Never => false,
        SummaryMode::OnInterrupt => is_interrupted && context.is_terminal,
        SummaryMode::Always => true,
    };
    if is_wanted {
        output.push_summary(intervals);
    }
    output.flush(context)
}
