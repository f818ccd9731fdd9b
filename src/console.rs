//! The outside of a run: its clock, its environment, and the streams to which reports and messages go.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write;
use std::{fmt, io};

use anyhow::{Context, Result, bail};
use jiff::tz::TimeZone;

use crate::capture::{CaptureWarning, WarningClass};
use crate::clock::Clock;
use crate::counters::Sample;
use crate::exit::Exit;
use crate::memory_lock;
use crate::os_error::{os_error_text, without_error_numbers};
use crate::report::layout::{DEFAULT_WIDTH, UNLIMITED_WIDTH};
use crate::sanitize::sanitize;
use crate::sink::{OutputError, Unread};
use crate::source::{Live, Replay, find_time_zone};
use crate::terminal::{screen_size, shows_utf8, to_ascii};

/// The text and the exit code that replace a run: a usage error, or help that was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgError {
    pub message: String,
    /// The exit code; [`Exit::Success`] for requested text, which belongs on standard output.
    pub exit: Exit,
}

impl Display for ArgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ArgError {}

/// Returns the value of an environment variable.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The clock, the environment and the output streams of a run.
pub struct RunContext<'a> {
    /// The clock, which also reports signals.
    pub clock: &'a dyn Clock,
    pub environment: Environment<'a>,
    /// The stream for reports. Each report is a single write.
    pub out: &'a mut (dyn Write + Send),
    /// The stream for warnings and errors.
    pub err: &'a mut dyn Write,
    /// `out` is a terminal.
    pub is_terminal: bool,
    /// `err` is a terminal, which then also shows progress.
    pub err_is_terminal: bool,
    /// True if memory may be locked in long runs, because the process runs nothing else.
    pub may_lock_memory: bool,
}

impl RunContext<'_> {
    /// Prints a message of blkstat to the error stream. If that fails, the exit code still indicates the error.
    pub fn print_error(&mut self, message: impl Display) {
        let message = without_error_numbers(&message.to_string());
        let _ = writeln!(self.err, "blkstat: {message}");
    }

    /// Returns the time zone of printed times, which is that of the variable TZ: UTC, with a warning, if it names no
    /// time zone.
    pub fn time_zone(&mut self) -> TimeZone {
        let tz = (self.environment)("TZ");
        find_time_zone(tz.as_deref()).unwrap_or_else(|| {
            let name = tz.unwrap_or_default().to_string_lossy().into_owned();
            self.print_error(format_args!(
                "unknown time zone '{}' in TZ; times are in UTC",
                sanitize(&name)
            ));
            TimeZone::UTC
        })
    }

    /// Returns the columns and rows of the terminal; `None` if reports do not go to one.
    pub fn screen_size(&self) -> Option<(usize, usize)> {
        self.is_terminal.then(screen_size).flatten()
    }

    /// Returns the output width in columns: that of the terminal; no limit without one.
    pub fn width(&self) -> usize {
        let default = if self.is_terminal {
            DEFAULT_WIDTH
        } else {
            UNLIMITED_WIDTH
        };
        self.screen_size().map_or(default, |(columns, _)| columns)
    }

    /// Writes a report with a single write and empties the buffer.
    ///
    /// # Errors
    /// If standard output cannot be written; marked with [`OutputError`].
    pub fn emit(&mut self, text: &mut Vec<u8>) -> Result<()> {
        if !text.is_empty() {
            self.out
                .write_all(text)
                .and_then(|()| self.out.flush())
                .context(OutputError)?;
            text.clear();
        }
        Ok(())
    }

    /// Writes a report of blkstat itself, in characters that the terminal shows. The replicas print the bytes of their
    /// originals with [`Self::emit`].
    ///
    /// # Errors
    /// If standard output cannot be written; marked with [`OutputError`].
    pub fn show(&mut self, text: &mut Vec<u8>) -> Result<()> {
        self.make_displayable(text);
        self.emit(text)
    }

    /// Replaces what is not ASCII if the output is a terminal that shows nothing else.
    pub fn make_displayable(&self, text: &mut Vec<u8>) {
        if self.is_terminal && !text.is_ascii() && !shows_utf8(self.environment) {
            *text = to_ascii(&String::from_utf8_lossy(text)).into_bytes();
        }
    }

    /// Reads a live sample into `sample`. Invalid lines are skipped with a warning.
    ///
    /// # Errors
    /// If /proc/diskstats cannot be read.
    pub fn read_live(
        &mut self,
        source: &mut Live<'_>,
        sample: &mut Sample,
        warnings: &mut Warnings,
    ) -> Result<()> {
        source.read(sample, |line, error| {
            warnings.warn_line(line as u64, &error, self.err)
        })
    }

    /// Locks the memory of a program that runs until it is interrupted. Must be called after all files have been read.
    pub fn lock_memory(&self) {
        if self.may_lock_memory {
            memory_lock::lock_memory();
        }
    }

    /// Reports a failure to write to standard output as iostat or pt-diskstats does: with its `message` and its `exit`
    /// code. Returns any other outcome unchanged.
    pub fn handle_stdout_error(
        &mut self,
        outcome: Result<Exit>,
        message: &str,
        exit: Exit,
    ) -> Result<Exit> {
        match outcome {
            Err(error)
                if error.is::<OutputError>() && !is_closed_pipe(&error) && !is_unread(&error) =>
            {
                let _ = writeln!(self.err, "{message}: {}", cause_text(&error));
                Ok(exit)
            }
            outcome => outcome,
        }
    }
}

/// Checks that a capture without samples is at least a text file.
///
/// # Errors
/// If it is not.
pub fn require_text(replay: &Replay<'_>) -> Result<()> {
    if replay.state().is_not_text {
        bail!(
            "{} is not a text file; expected a diskstats capture",
            sanitize(replay.name())
        );
    }
    Ok(())
}

/// Checks that the samples of a capture are counters.
///
/// # Errors
/// If they are rebuilt from a log of another tool, which holds rates.
pub fn require_counters(replay: Option<&Replay<'_>>) -> Result<()> {
    let Some(log) = replay.filter(|replay| replay.state().is_log) else {
        return Ok(());
    };
    bail!(
        "{} is a log of another tool, which has rates, not counters; read the log itself, or see it with \
         'blkstat --from LOG' or 'blkstat analyze LOG'",
        sanitize(log.name())
    );
}

/// Returns whether the reader of the output closed the pipe, which is a normal end.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    io_causes(error).any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// Returns whether a signal ended the wait for a reader of the output.
pub fn is_unread(error: &anyhow::Error) -> bool {
    io_causes(error).any(|cause| cause.get_ref().is_some_and(|inner| inner.is::<Unread>()))
}

fn io_causes(error: &anyhow::Error) -> impl Iterator<Item = &io::Error> {
    error.chain().filter_map(|cause| cause.downcast_ref())
}

/// Returns the operating system's text of the error that caused this one; the error's own text if there is none.
pub fn cause_text(error: &anyhow::Error) -> String {
    error
        .downcast_ref::<io::Error>()
        .map_or_else(|| error.to_string(), os_error_text)
}

/// The most warnings of a class that are printed in full.
const MAX_PRINTED: u64 = 10;

/// Prints and counts the warnings about one input.
pub struct Warnings {
    input: String,
    /// The numbers of printed warnings about skipped lines, after many of which a break in time or a truncated file is
    /// reported all the same, and of the others.
    printed: [u64; 2],
    omitted: u64,
    is_silent: bool,
}

impl Warnings {
    /// Creates a printer for warnings about the input of this name.
    pub fn about(input: &str) -> Self {
        Self {
            input: sanitize(input).into_owned(),
            printed: [0; 2],
            omitted: 0,
            is_silent: false,
        }
    }

    /// Creates a printer that prints nothing, for an input that is read again.
    pub fn silent() -> Self {
        Self {
            input: String::new(),
            printed: [0; 2],
            omitted: 0,
            is_silent: true,
        }
    }

    /// Warns about a line that is skipped.
    pub fn warn_line(&mut self, line: u64, message: &dyn Display, err: &mut dyn Write) {
        self.print(true, &format!("{}:{line}: {message}", self.input), err);
    }

    /// Warns about a capture, and counts the warnings that the reader omitted.
    pub fn warn_capture(&mut self, warning: &CaptureWarning, err: &mut dyn Write) {
        let is_line = match warning.class {
            WarningClass::NextFile => return self.input = sanitize(&warning.text).into_owned(),
            WarningClass::Capture => return self.warn_input(&warning.text, err),
            WarningClass::Lines => true,
            WarningClass::Clock | WarningClass::Note | WarningClass::Other => false,
        };
        self.print(
            is_line,
            &format!("{}:{}: {}", self.input, warning.line, warning.text),
            err,
        );
        self.omitted += warning.omitted;
    }

    pub fn warn_all(&mut self, warnings: &[CaptureWarning], err: &mut dyn Write) {
        warnings
            .iter()
            .for_each(|warning| self.warn_capture(warning, err));
    }

    /// Warns about the input as a whole.
    pub fn warn_input(&mut self, message: &str, err: &mut dyn Write) {
        self.print(
            false,
            &format!("{}: {}", self.input, sanitize(message)),
            err,
        );
    }

    fn print(&mut self, is_line: bool, text: &str, err: &mut dyn Write) {
        let printed = &mut self.printed[usize::from(is_line)];
        if *printed == MAX_PRINTED {
            self.omitted += 1;
            return;
        }
        *printed += 1;
        if !self.is_silent {
            // A warning that cannot be printed does not end the run.
            let _ = writeln!(err, "blkstat: {text}");
        }
    }

    /// Prints the number of warnings that were not printed, if there are any.
    pub fn finish(&self, err: &mut dyn Write) {
        let more = self.omitted;
        if more > 0 && !self.is_silent {
            let s = if more == 1 { "" } else { "s" };
            let _ = writeln!(
                err,
                "blkstat: {}: {more} more warning{s} like these",
                self.input
            );
        }
    }
}
