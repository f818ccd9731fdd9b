//! The loop over intervals that feeds the views, and the progress of a long run on one line of the terminal that receives
//! errors.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::Result;

use crate::console::{RunContext, Warnings};
use crate::exit::{Exit, NoData};
use crate::intervals::{IntervalRows, Intervals, NextInterval};
use crate::sanitize::sanitize;

/// Messages about missing data. Each is printed once, even if its numbers change.
#[derive(Default)]
pub(super) struct Said(HashSet<String>);

impl Said {
    pub(super) fn say<T: ToString>(
        &mut self,
        messages: impl IntoIterator<Item = T>,
        context: &mut RunContext<'_>,
    ) {
        for message in messages {
            let message = message.to_string();
            let without_numbers = message.replace(|c: char| c.is_ascii_digit(), "");
            if self.0.insert(without_numbers) {
                context.print_error(message);
            }
        }
    }
}

/// A source of intervals, and what a run may use.
pub(super) struct Run<'r, 'i, 'c> {
    pub(super) intervals: Intervals<'i>,
    pub(super) context: &'r mut RunContext<'c>,
}

/// A view that is fed the intervals of a source.
pub(super) trait Observer {
    /// Called after the first sample.
    fn begin(&mut self, _run: &mut Run<'_, '_, '_>) -> Result<()> {
        Ok(())
    }

    /// Takes an interval and shows it; `None` is a break between intervals.
    fn observe(&mut self, rows: Option<IntervalRows>, run: &mut Run<'_, '_, '_>) -> Result<()>;

    /// Shows what comes after the last interval. An error of the source is reported afterwards.
    fn end(&mut self, _outcome: &Result<Exit>, _run: &mut Run<'_, '_, '_>) -> Result<()> {
        Ok(())
    }

    /// Returns the reason why a run shows less than was requested although there were intervals.
    fn missing(&self, _intervals: &Intervals<'_>) -> Option<String> {
        None
    }
}

/// Passes all intervals to an observer, until the input, the requested number of them, or a signal ends the run.
///
/// # Errors
/// If the source cannot be read or standard output cannot be written.
pub(super) fn follow(
    intervals: Intervals<'_>,
    observer: &mut dyn Observer,
    context: &mut RunContext<'_>,
) -> Result<Exit> {
    let mut warnings = Warnings::about(&intervals.source_name());
    let run = &mut Run { intervals, context };
    let mut outcome = Ok(Exit::Success);
    if run
        .intervals
        .start(&mut |warning| warnings.warn_capture(warning, run.context.err))?
    {
        let is_live = run.intervals.is_live();
        if is_live && let Some(not_found) = run.intervals.not_found() {
            return Err(NoData(not_found.to_string()).into());
        }
        observer.begin(run)?;
        if is_live && !run.intervals.has_count() {
            run.context.lock_memory();
        }
        outcome = loop {
            let next = run
                .intervals
                .next(&mut |warning| warnings.warn_capture(warning, run.context.err));
            let rows = match next {
                Ok(NextInterval::Rows(rows)) => Some(rows),
                Ok(NextInterval::Break) => None,
                Ok(NextInterval::End) => break Ok(Exit::Success),
                Ok(NextInterval::Signal(signal)) => break Ok(Exit::Signal(signal)),
                Err(error) => break Err(error),
            };
            if let Err(error) = observer.observe(rows, run) {
                break Err(error);
            }
        };
    }
    if outcome.is_ok() {
        warnings.finish(run.context.err);
    }
    observer.end(&outcome, run)?;
    let exit = outcome?;
    if exit != Exit::Success {
        return Ok(exit);
    }
    let missing = match run.intervals.span.intervals {
        0 => Some(run.intervals.no_data_reason()?),
        _ => run
            .intervals
            .not_found()
            .map(|not_found| not_found.to_string()),
    };
    let Some(reason) = missing.or_else(|| observer.missing(&run.intervals)) else {
        return Ok(exit);
    };
    let name = run.intervals.source_name();
    Err(NoData(format!("{}: {reason}", sanitize(&name))).into())
}

const MIN_UPDATE_INTERVAL: Duration = Duration::from_secs(1);

/// The characters that a terminal echoes for Ctrl-C: `^C`.
const ECHO_WIDTH: usize = 2;

/// A status line that is overwritten by each update.
pub(super) struct Progress {
    pub(super) is_enabled: bool,
    start: Duration,
    last_update: Duration,
    /// The number of characters on the line.
    width: usize,
}

impl Progress {
    /// Creates an empty line for a run that began at `start`, a monotonic time. It stays empty unless `is_enabled`.
    pub(super) fn new(is_enabled: bool, start: Duration) -> Self {
        Self {
            is_enabled,
            start,
            last_update: start,
            width: 0,
        }
    }

    /// Updates the line with a status and the time since the start, at most once per [`MIN_UPDATE_INTERVAL`].
    pub(super) fn show(&mut self, status: impl FnOnce() -> String, context: &mut RunContext<'_>) {
        if !self.is_enabled {
            return;
        }
        let now = context.clock.monotonic();
        if now.saturating_sub(self.last_update) < MIN_UPDATE_INTERVAL {
            return;
        }
        self.last_update = now;
        let seconds = now.saturating_sub(self.start).as_secs();
        let elapsed = format!(
            "{}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        );
        let line = format!("{}, {elapsed}", status());
        // Blanks overwrite the rest of a longer line. An error is ignored: nothing is lost.
        let _ = write!(context.err, "\r{line:<width$}", width = self.width);
        self.width = line.len();
    }

    /// Erases the line, and the echo of the Ctrl-C that may have ended the run.
    pub(super) fn clear(&mut self, context: &mut RunContext<'_>) {
        if self.width > 0 {
            let _ = write!(
                context.err,
                "\r{:width$}\r",
                "",
                width = self.width + ECHO_WIDTH
            );
            self.width = 0;
        }
    }
}
