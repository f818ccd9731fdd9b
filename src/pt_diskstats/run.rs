//! `blkstat pt-diskstats`: shows a capture or the live system, and acts on keys if there is a terminal.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::engine::PtEngine;
use super::keys::KeyOutcome;
use super::options::Options;
use crate::capture::{CaptureWarning, WarningClass};
use crate::console::{RunContext, Warnings, cause_text, require_values};
use crate::counters::{Missing, Sample};
use crate::exit::Exit;
use crate::intervals::{Input, Next, StepSource};
use crate::sink::SampleFile;
use crate::source::{Live, Replay, local_time_zone};
use crate::terminal::{Keyboard, screen_rows};

/// The size in bytes at which the lines of a file are written.
const WRITE_THRESHOLD_BYTES: usize = 64 * 1024;

pub fn run(options: &Options, context: &mut RunContext<'_>) -> Result<Exit> {
    let time_zone = local_time_zone((context.environment)("TZ").as_deref());
    let lines = (context.environment)("LINES").map(|lines| lines.to_string_lossy().into_owned());
    let screen_rows = screen_rows(lines.as_deref());
    let engine = match PtEngine::new(options, screen_rows, time_zone.clone()) {
        Ok(engine) => engine,
        Err(message) => {
            let _ = writeln!(context.err, "{message}");
            return Ok(Exit::PtDied);
        }
    };
    // A file is read without keys unless its lines can be shown again.
    let reads_input = options.file.as_ref().is_some_and(|file| file.as_os_str() == "-");
    let has_keys = options.file.is_none() || context.is_terminal && !reads_input;
    let keyboard = if has_keys { Keyboard::open() } else { None };
    let mut session = Session { options, engine, keyboard, time_zone, text: Vec::new() };
    let ended = match &options.file {
        Some(path) => session.run_file(path, context),
        None => session.run_live(context),
    };
    // Use the message and the exit code of pt-diskstats.
    context.handle_stdout_error(ended, "Unable to flush stdout", Exit::PtUsage)
}

pub(super) struct Session<'a> {
    options: &'a Options,
    pub(super) engine: PtEngine,
    pub(super) keyboard: Option<Keyboard>,
    time_zone: TimeZone,
    /// Lines not yet written.
    pub(super) text: Vec<u8>,
}

impl Session<'_> {
    /// Shows a file, and shows it again each time a key redraws it.
    fn run_file(&mut self, path: &Path, context: &mut RunContext<'_>) -> Result<Exit> {
        if path.as_os_str() == "-" && !self.options.is_from {
            // pt-diskstats takes `-` for the name of a file.
            let _ = writeln!(context.err, "Cannot open -: No such file or directory");
            return Ok(Exit::Error);
        }
        if path.is_dir() {
            context.print_error(format_args!("{} is a directory, not a capture", path.display()));
            return Ok(Exit::Success);
        }
        let mut warnings = Warnings::about(&path.display().to_string());
        loop {
            let source = match Replay::open_with_truncated_sample(path, self.options.every, context.clock) {
                Ok(source) => source,
                Err(error) => {
                    if let Some(signal) = context.clock.signal() {
                        return Ok(Exit::Signal(signal));
                    }
                    let _ = writeln!(context.err, "Cannot open {}: {}", path.display(), cause_text(&error));
                    return Ok(Exit::Error);
                }
            };
            let ended = self.show_file(source, &mut warnings, context);
            context.emit(&mut self.text)?;
            if let (Err(_), Some(signal)) = (&ended, context.clock.signal()) {
                return Ok(Exit::Signal(signal));
            }
            ended?;
            warnings.finish(context.err);
            // The same warnings are not repeated when the file is shown again.
            warnings = Warnings::silent();
            match self.handle_keys(None, context)? {
                KeyOutcome::Redraw => self.engine.rewind(),
                KeyOutcome::Exit(exit) => return Ok(exit),
                KeyOutcome::Continue => return Ok(Exit::Success),
            }
        }
    }

    /// Shows a file once, from its start to its end.
    fn show_file(
        &mut self,
        source: Replay<'_>,
        warnings: &mut Warnings,
        context: &mut RunContext<'_>,
    ) -> Result<()> {
        let options = self.options;
        let input = Input { interval: options.resample, range: options.range.clone(), ..Input::default() };
        let mut steps = StepSource::of_capture(&input, source, context.clock)?;
        let check = |steps: &StepSource<'_>| {
            steps.replay().map_or(Ok(()), |replay| require_values(replay, Missing::EVERYTHING))
        };
        let mut next = match steps.start(&mut |warning| warn_of_clock(warning, warnings, context.err))? {
            true => Next::Break,
            false => Next::End,
        };
        let mut shown = 0;
        loop {
            check(&steps)?;
            match next {
                Next::End => break,
                Next::Signal(signal) => bail!("interrupted by signal {signal}"),
                Next::Step { .. } | Next::Break if steps.is_preceding() => {}
                Next::Rest => self.push(&steps.newest, warnings, context),
                Next::Step { .. } | Next::Break => {
                    if shown == 0 && next != Next::Break {
                        // The first interval begins with the last sample before the range.
                        self.push(steps.first(), warnings, context);
                        shown = 1;
                    }
                    if next != (Next::Step { ends: false, is_preceding: false }) {
                        self.push(&steps.newest, warnings, context);
                        shown += 1;
                    }
                }
            }
            if self.options.count.is_some_and(|count| shown > count) {
                break;
            }
            if self.text.len() > WRITE_THRESHOLD_BYTES {
                context.emit(&mut self.text)?;
            }
            next = steps.next(&mut |warning| warn_of_clock(warning, warnings, context.err))?;
        }
        self.engine.finish(&mut self.text);
        Ok(())
    }

    /// Shows the live system until a key, a signal or the number of iterations ends the run.
    fn run_live(&mut self, context: &mut RunContext<'_>) -> Result<Exit> {
        let mut saved = self.options.save_samples.as_deref().map(SampleFile::create).transpose()?;
        let mut source = Live::new(&self.options.root, context.clock);
        let mut warnings = Warnings::about(&source.name());
        let mut sample = Sample::default();
        let mut shown = 0;
        // The rates of a very short first interval would be meaningless.
        let delay = time_to_next_multiple(context.clock.wall(), self.options.interval);
        if delay < Duration::from_secs(self.options.interval) / 5
            && let KeyOutcome::Exit(exit) =
                self.handle_keys(Some(context.clock.monotonic() + delay), context)?
        {
            return Ok(exit);
        }
        loop {
            context.read_live(&mut source, &mut sample, &mut warnings)?;
            // The clock of pt-diskstats has a resolution of microseconds.
            sample.at.wall = sample.at.wall.map(truncate_to_micros);
            if let (Some(saved), Some(at)) = (&mut saved, sample.at.wall) {
                saved.append(&format_saved_sample(at, &self.time_zone, source.text()))?;
            }
            self.push(&sample, &mut warnings, context);
            context.emit(&mut self.text)?;
            if self.options.iterations.is_some_and(|iterations| shown >= iterations) {
                return Ok(Exit::Success);
            }
            let delay = time_to_next_multiple(context.clock.wall(), self.options.interval);
            let deadline = context.clock.monotonic() + delay;
            shown += 1;
            if let KeyOutcome::Exit(exit) = self.handle_keys(Some(deadline), context)? {
                return Ok(exit);
            }
        }
    }

    fn push(&mut self, sample: &Sample, warnings: &mut Warnings, context: &mut RunContext<'_>) {
        self.engine.push(sample, &mut self.text);
        for notice in self.engine.take_notices() {
            warnings.warn_input(&notice, context.err);
        }
    }
}

/// Warns about the clock of a capture. pt-diskstats silently skips lines that it cannot parse.
fn warn_of_clock(warning: &CaptureWarning, warnings: &mut Warnings, err: &mut dyn Write) {
    if warning.class == WarningClass::Clock {
        warnings.warn_capture(warning, err);
    }
}

/// Drops the digits after the microseconds.
fn truncate_to_micros(at: Timestamp) -> Timestamp {
    Timestamp::new(at.as_second(), at.subsec_nanosecond() / 1000 * 1000).unwrap_or(at)
}

/// Returns the time until the wall clock reaches the next multiple of the interval, which is in seconds.
fn time_to_next_multiple(now: Timestamp, interval_s: u64) -> Duration {
    let interval = Duration::from_secs(interval_s);
    let elapsed = now.as_nanosecond().unsigned_abs() % interval.as_nanos();
    interval - Duration::from_nanos(u64::try_from(elapsed).unwrap_or_default())
}

/// Returns a sample in the format that pt-diskstats reads: a `TS` line with the time, then the text of
/// /proc/diskstats.
fn format_saved_sample(at: Timestamp, zone: &TimeZone, diskstats: &[u8]) -> Vec<u8> {
    let date = at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let mut text = format!("TS {}.{:09} {date}\n", at.as_second(), at.subsec_nanosecond()).into_bytes();
    text.extend_from_slice(diskstats);
    text
}
