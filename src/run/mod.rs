//! Carries a [`Plan`] out: takes samples, has them turned into reports, and writes these.

mod analyze;
mod devices;
mod iostat;
mod progress;
mod pt_diskstats;
mod record;
mod view;
mod warnings;

use std::io::{self, Write};

use anyhow::{Context, Result, bail};

use self::warnings::Warnings;
use crate::clock::Clock;
use crate::exit::Exit;
use crate::intervals::{BaselineOption, BaselineStore, VerdictOptions};
use crate::os_error::os_error_text;
use crate::plan::Plan;
use crate::sanitize::sanitize;
use crate::source::Replay;

/// The columns of a line where there is no terminal.
const DEFAULT_WIDTH: usize = 100;

/// What a run has of the context outside.
pub struct RunContext<'a> {
    /// The time.
    pub clock: &'a dyn Clock,
    /// Where reports go. A report is one write.
    pub out: &'a mut dyn Write,
    /// Where warnings go.
    pub err: &'a mut dyn Write,
    /// Reports go to a terminal.
    pub is_terminal: bool,
}

/// Fails if a capture without samples is not a text file.
fn refuse_other_than_text(replay: &Replay<'_>) -> Result<()> {
    if replay.is_not_text() {
        bail!("{} is not a text file; expected a diskstats capture", sanitize(replay.name()));
    }
    Ok(())
}

/// Marks an error of standard output.
#[derive(Debug)]
struct StdoutError;

impl std::fmt::Display for StdoutError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write to standard output")
    }
}

/// Carries the plan out, and says on the error stream what went wrong, if anything did.
pub fn run(plan: &Plan, context: &mut RunContext<'_>) -> Exit {
    let ended = match plan {
        Plan::Analyze(plan) => analyze::run(plan, context),
        Plan::View(plan) => view::run(plan, context),
        Plan::Print(text) => emit(context.out, &mut text.clone()).map(|()| Exit::Success),
        Plan::Iostat(plan) => iostat::run(plan, context),
        Plan::PtDiskstats(plan) => pt_diskstats::run(plan, context),
        Plan::Devices(plan) => devices::run(plan, context),
        Plan::Record(plan) => record::run(plan, context),
    };
    ended.unwrap_or_else(|error| {
        if is_closed_pipe(&error) {
            return Exit::Success;
        }
        // A signal keeps a capture from being read any further.
        if let Some(signal) = context.clock.signal().filter(|_| !error.is::<StdoutError>()) {
            return Exit::Signal(signal);
        }
        // If that cannot be said either, the exit code still tells.
        let _ = writeln!(context.err, "blkstat: {error:#}");
        Exit::Error
    })
}

/// Whether whoever read the output went away, which is a normal end.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    kinds.into_iter().any(|kind| kind == io::ErrorKind::BrokenPipe)
}

/// The end of an old tool's run; where standard output took no more, in that tool's words and with its exit code.
fn unless_output_lost(
    ended: Result<Exit>,
    words: &str,
    exit: Exit,
    context: &mut RunContext<'_>,
) -> Result<Exit> {
    match ended {
        Err(error) if error.is::<StdoutError>() && !is_closed_pipe(&error) => {
            let cause = error.downcast_ref::<io::Error>().map_or_else(|| error.to_string(), os_error_text);
            let _ = writeln!(context.err, "{words}: {cause}");
            Ok(exit)
        }
        ended => ended,
    }
}

/// Reads the baseline that the options name.
fn load_baselines(options: &VerdictOptions, context: &mut RunContext<'_>) -> Result<BaselineStore> {
    let name = match &options.baseline {
        BaselineOption::File(path) => path.display().to_string(),
        BaselineOption::Learned | BaselineOption::Stated(_) => String::new(),
    };
    let mut warnings = Warnings::about(&name);
    let baselines = BaselineStore::load(options, context.clock, &mut |warning| {
        warnings.warn_capture(warning, context.err);
    });
    warnings.finish(context.err);
    baselines
}

/// Writes a report in one piece and empties the buffer.
fn emit(out: &mut dyn Write, text: &mut Vec<u8>) -> Result<()> {
    out.write_all(text).and_then(|()| out.flush()).context(StdoutError)?;
    text.clear();
    Ok(())
}
