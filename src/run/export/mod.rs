//! `blkstat export`: metrics for Prometheus.
//!
//! The main thread samples and publishes a snapshot after each interval. A second thread serves the latest one over
//! HTTP, a third one writes it to a file. Neither can delay sampling: they only take published snapshots.

mod backfill;
mod http;
mod published;
mod textfile;

use std::io;
use std::sync::Arc;

use anyhow::{Context, Result};

use self::backfill::Backfill;
use self::http::HttpServer;
use self::published::Published;
use self::textfile::TextfileWriter;
use super::warnings::Warnings;
use super::{RunContext, end_without_data, load_baselines, lock_memory, missing_data};
use crate::exit::Exit;
use crate::intervals::{Detail, Intervals, NextInterval, RunningTotals};
use crate::plan::{Export, ExportTarget};
use crate::sanitize::sanitize;
use crate::schedule::DEFAULT_INTERVAL;

/// The size of the stack of each further thread, all of which is locked in memory.
const STACK_BYTES: usize = 256 * 1024;

/// Exports metrics until a signal comes, or those of a recording to its end.
///
/// # Errors
/// If a sample cannot be read, the address cannot be used, or the file cannot be written at the start.
pub(super) fn run(plan: &Export, context: &mut RunContext<'_>) -> Result<Exit> {
    let baselines = load_baselines(&plan.verdicts, context)?;
    let (input, selection) = (&plan.input, &plan.selection);
    let mut intervals = Intervals::open(input, selection, Detail::Report, &baselines, context.clock)?;
    match &plan.target {
        ExportTarget::Backfill { every, labels } => {
            let is_cut = input.range.begin.is_some();
            let options = Backfill { every: *every, labels, is_cut };
            backfill::run(
                &mut intervals,
                RunningTotals::new(plan.scope, plan.verdicts.cap),
                &options,
                context,
            )
        }
        ExportTarget::Live { .. } => run_live(plan, &mut intervals, context),
    }
}

fn run_live(plan: &Export, intervals: &mut Intervals<'_>, context: &mut RunContext<'_>) -> Result<Exit> {
    let ExportTarget::Live { listen, textfile } = &plan.target else { return Ok(Exit::Error) };
    // Bind before the first sample: another program may have the address.
    let server = listen.map(HttpServer::bind).transpose()?;
    let mut warnings = Warnings::about(&intervals.source_name());
    intervals.start(&mut |warning| warnings.warn_capture(warning, context.err))?;
    if let Some(not_found) = intervals.not_found() {
        context.print_error(not_found);
        return Ok(Exit::NoData);
    }
    if let Some(message) = intervals.mismatched_baselines() {
        context.print_error(message);
    }
    let mut totals = RunningTotals::new(plan.scope, plan.verdicts.cap);
    let interval = plan.input.interval.unwrap_or(DEFAULT_INTERVAL);
    let published = Arc::new(Published::new(interval));
    published.publish(totals.snapshot(intervals), context.clock.monotonic());
    let file = textfile.as_ref().map(|textfile| TextfileWriter::start(textfile, &published)).transpose()?;
    let server = server.map(|server| server.start(&published)).transpose()?;
    if let Some(server) = &server {
        context.print_error(format_args!("serving metrics at http://{}/metrics", server.address()));
    }
    if let Some(textfile) = textfile {
        let name = textfile.path.display().to_string();
        context.print_error(format_args!("writing metrics to {}", sanitize(&name)));
    }
    lock_memory(context);
    let end = publish_intervals(intervals, &mut totals, &published, file.as_ref(), &mut warnings, context);
    warnings.finish(context.err);
    end
}

/// Publishes the metrics after every interval, until a signal comes.
fn publish_intervals(
    intervals: &mut Intervals<'_>,
    totals: &mut RunningTotals,
    published: &Published,
    file: Option<&TextfileWriter>,
    warnings: &mut Warnings,
    context: &mut RunContext<'_>,
) -> Result<Exit> {
    loop {
        match intervals.next(&mut |warning| warnings.warn_capture(warning, context.err))? {
            NextInterval::Rows(rows) => totals.observe(&rows),
            NextInterval::Break => {}
            NextInterval::End => return Ok(Exit::Success),
            NextInterval::Signal(signal) => return Ok(Exit::Signal(signal)),
        }
        published.publish(totals.snapshot(intervals), context.clock.monotonic());
        if let Some(message) = file.and_then(TextfileWriter::take_message) {
            context.print_error(message);
        }
    }
}

/// Starts a thread with a small stack.
///
/// # Errors
/// If the system has no more threads.
fn start_thread(name: &str, run: impl FnOnce() + Send + 'static) -> Result<std::thread::JoinHandle<()>> {
    let builder = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
    let started: io::Result<_> = builder.spawn(run);
    started.with_context(|| format!("cannot start the thread {name}"))
}
