//! Executes a [`Plan`]: takes samples, lets other modules turn them into reports, and writes the reports.

mod analysis;
mod analyze;
mod compare;
mod devices;
mod export;
mod iostat;
mod latency;
mod progress;
mod pt_diskstats;
mod record;
mod recorder;
mod report;
#[cfg(feature = "top")]
mod top;
mod tracing;
mod version;
mod view;
mod warnings;
mod who;

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use jiff::tz::TimeZone;

use self::warnings::Warnings;
use crate::clock::Clock;
use crate::counters::Sample;
use crate::exit::Exit;
use crate::intervals::{self, BaselineOption, BaselineStore, Intervals, VerdictOptions};
use crate::memory_lock;
use crate::os_error::os_error_text;
use crate::plan::Plan;
use crate::report::layout::DEFAULT_WIDTH;
use crate::sanitize::sanitize;
use crate::sink::OutputError;
use crate::source::{Live, NoBlockDevices, Replay, find_time_zone, ignores_hangup};
use crate::terminal::screen_size;

/// The clock and the output streams of a run.
pub struct RunContext<'a> {
    /// The clock, which also reports signals.
    pub clock: &'a dyn Clock,
    /// The stream for reports. Each report is a single write.
    pub out: &'a mut (dyn Write + Send),
    /// The stream for warnings and errors.
    pub err: &'a mut dyn Write,
    /// `out` is a terminal.
    pub is_terminal: bool,
    /// True if memory may be locked in long runs, because the process runs nothing else.
    pub may_lock_memory: bool,
}

impl RunContext<'_> {
    /// Prints a message of blkstat to the error stream. If that fails, the exit code still indicates the error.
    fn print_error(&mut self, message: impl Display) {
        let _ = writeln!(self.err, "blkstat: {message}");
    }

    /// Returns the time zone of printed times, given the variable TZ: UTC, with a warning, if it names no time zone.
    fn time_zone(&mut self, tz: Option<&OsStr>) -> TimeZone {
        find_time_zone(tz).unwrap_or_else(|| {
            let name = tz.unwrap_or_default().to_string_lossy();
            self.print_error(format_args!("unknown time zone '{}' in TZ; times are in UTC", sanitize(&name)));
            TimeZone::UTC
        })
    }

    /// Returns the output width in columns: that of the terminal, or [`DEFAULT_WIDTH`] without one.
    fn width(&self) -> usize {
        self.is_terminal.then(screen_size).flatten().map_or(DEFAULT_WIDTH, |(columns, _)| columns)
    }
}

/// Returns the reason why a run that has ended shows less than was requested; `None` if it shows everything.
///
/// # Errors
/// If a capture without samples is not even a text file.
fn missing_data(intervals: &Intervals<'_>) -> Result<Option<String>> {
    if intervals.span().intervals == 0 {
        return Ok(Some(intervals.no_data_reason()?.to_owned()));
    }
    Ok(intervals.not_found().map(|not_found| not_found.to_string()))
}

/// Ends a run with the reason why it shows less than was requested.
fn end_without_data(reason: &str, intervals: &Intervals<'_>, context: &mut RunContext<'_>) -> Exit {
    context.print_error(end_reason(reason, intervals));
    Exit::NoData
}

/// Returns the reason why a run shows less than was requested, with its source.
fn end_reason(reason: &str, intervals: &Intervals<'_>) -> String {
    format!("{}: {reason}", sanitize(&intervals.source_name()))
}

/// Checks that a capture without samples is at least a text file.
///
/// # Errors
/// If it is not.
fn require_text(replay: &Replay<'_>) -> Result<()> {
    if replay.state().is_not_text {
        bail!("{} is not a text file; expected a diskstats capture", sanitize(replay.name()));
    }
    Ok(())
}

/// Returns whether the run must end by itself when its terminal is closed, so that no trace remains in the kernel. It
/// goes on if it was started by `nohup` or the like.
pub fn catches_hangup(plan: &Plan) -> bool {
    plan.traces_requests() && !ignores_hangup()
}

/// Executes the plan and returns the exit code. Errors are printed to the error stream.
pub fn run(plan: &Plan, context: &mut RunContext<'_>) -> Exit {
    let outcome = match plan {
        Plan::Iostat(plan) => iostat::run(plan, context),
        Plan::PtDiskstats(plan) => pt_diskstats::run(plan, context),
        plan => run_native(plan, context),
    };
    outcome.unwrap_or_else(|error| {
        if is_closed_pipe(&error) {
            return Exit::Success;
        }
        // A signal makes reading a capture fail.
        if let Some(signal) = context.clock.signal().filter(|_| !error.is::<OutputError>()) {
            return Exit::Signal(signal);
        }
        context.print_error(format_args!("{error:#}"));
        if error.is::<NoBlockDevices>() { Exit::NoData } else { Exit::Error }
    })
}

/// Executes the plan of any command except the replicas. It is a separate function so that the start of a replica does
/// not touch the stack memory that the largest of the other commands needs.
#[inline(never)]
fn run_native(plan: &Plan, context: &mut RunContext<'_>) -> Result<Exit> {
    match plan {
        Plan::Analyze(plan) => analyze::run(plan, context),
        Plan::View(plan) => view::run(plan, context),
        Plan::Print(text) => emit(context.out, &mut text.clone()).map(|()| Exit::Success),
        Plan::Devices(plan) => devices::run(plan, context),
        Plan::Record(plan) => record::run(plan, context),
        Plan::Report(plan) => report::run(plan, context),
        Plan::Who(plan) => who::run(plan, context),
        Plan::Export(plan) => export::run(plan, context),
        Plan::Version { root } => version::run(root, context),
        Plan::Latency(plan) => latency::run(plan, context),
        #[cfg(feature = "top")]
        Plan::Top(plan) => top::run(plan, context),
        #[cfg(not(feature = "top"))]
        Plan::Top(_) => Err(anyhow::anyhow!("this build leaves out 'blkstat top' (cargo feature 'top')")),
        Plan::Iostat(plan) => iostat::run(plan, context),
        Plan::PtDiskstats(plan) => pt_diskstats::run(plan, context),
    }
}

/// Returns whether the reader of the output closed the pipe, which is a normal end.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    kinds.into_iter().any(|kind| kind == io::ErrorKind::BrokenPipe)
}

/// Reports a failure to write to standard output as iostat or pt-diskstats does: with its `message` and its `exit`
/// code. Returns any other outcome unchanged.
fn handle_stdout_error(
    outcome: Result<Exit>,
    message: &str,
    exit: Exit,
    context: &mut RunContext<'_>,
) -> Result<Exit> {
    match outcome {
        Err(error) if error.is::<OutputError>() && !is_closed_pipe(&error) => {
            let _ = writeln!(context.err, "{message}: {}", cause_text(&error));
            Ok(exit)
        }
        outcome => outcome,
    }
}

/// Returns the operating system's text of the error that caused this one; the error's own text if there is none.
fn cause_text(error: &anyhow::Error) -> String {
    error.downcast_ref::<io::Error>().map_or_else(|| error.to_string(), os_error_text)
}

/// Reads a live sample into `sample`. Invalid lines are skipped with a warning.
///
/// # Errors
/// If /proc/diskstats cannot be read.
fn read_live(
    source: &mut Live<'_>,
    sample: &mut Sample,
    warnings: &mut Warnings,
    context: &mut RunContext<'_>,
) -> Result<()> {
    source.read(sample, |line, error| warnings.warn_line(line as u64, &error, context.err))
}

/// Loads the baselines that the options specify, with a warning about those of the host if they cannot be used.
///
/// # Errors
/// If their file cannot be read or contains no baselines.
fn load_baselines(options: &VerdictOptions, context: &mut RunContext<'_>) -> Result<BaselineStore> {
    let name = match &options.baseline {
        BaselineOption::File(path) => path.display().to_string(),
        BaselineOption::Saved(_) | BaselineOption::Learned | BaselineOption::Stated(_) => String::new(),
    };
    let mut warnings = Warnings::about(&name);
    let baselines = intervals::load_baselines(options, context.clock, &mut |warning| {
        warnings.warn_capture(warning, context.err);
    });
    warnings.finish(context.err);
    let baselines = baselines?;
    if let Some(problem) = &baselines.problem {
        context.print_error(problem);
    }
    Ok(baselines)
}

/// Locks the memory of a program that runs until it is interrupted. Must be called after all files have been read.
fn lock_memory(context: &RunContext<'_>) {
    if context.may_lock_memory {
        memory_lock::lock_memory();
    }
}

/// Writes a report with a single write and empties the buffer.
///
/// # Errors
/// If standard output cannot be written; marked with [`OutputError`].
fn emit(out: &mut dyn Write, text: &mut Vec<u8>) -> Result<()> {
    out.write_all(text).and_then(|()| out.flush()).context(OutputError)?;
    text.clear();
    Ok(())
}
