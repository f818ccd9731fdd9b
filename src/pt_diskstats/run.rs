//! `blkstat pt-diskstats`: shows a capture or the live system, and acts on keys if there is a terminal.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::engine::PtEngine;
use super::keys::KeyOutcome;
use super::options::Options;
use crate::capture::WarningClass;
use crate::console::{RunContext, Warnings, cause_text, require_values};
use crate::counters::{Missing, Sample};
use crate::exit::Exit;
use crate::sanitize::sanitize;
use crate::schedule::Resampling;
use crate::sink::SampleFile;
use crate::source::{Live, Replay, local_time_zone, open_range};
use crate::terminal::{Keyboard, screen_rows};
use crate::time_range::Place;

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
            let mut source = match Replay::open_with_truncated_sample(path, self.options.every, context.clock)
            {
                Ok(source) => source,
                Err(error) => {
                    if let Some(signal) = context.clock.signal() {
                        return Ok(Exit::Signal(signal));
                    }
                    let _ = writeln!(context.err, "Cannot open {}: {}", path.display(), cause_text(&error));
                    return Ok(Exit::Error);
                }
            };
            let ended = self.show_file(&mut source, &mut warnings, context);
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
        source: &mut Replay<'_>,
        warnings: &mut Warnings,
        context: &mut RunContext<'_>,
    ) -> Result<()> {
        let (mut previous, mut sample) = (Sample::default(), Sample::default());
        let mut range = match self.options.range.is_everything() {
            true => None,
            false => Some(open_range(&self.options.range, source)?),
        };
        let name = sanitize(source.name()).into_owned();
        let in_file = |message: String| anyhow!("{name}: {message}");
        let mut is_preceding = false;
        let length = self.options.resample;
        let resampling_from = |first: &Sample| Resampling::new(length, first.at);
        let mut resampling = resampling_from(&sample);
        // The samples shown, and whether another one came after the last of them.
        let (mut shown, mut has_rest) = (0, false);
        loop {
            let has_sample = source.next(&previous, &mut sample);
            for warning in source.take_warnings() {
                // pt-diskstats silently skips lines that it cannot parse.
                if warning.class == WarningClass::Clock {
                    warnings.warn_capture(&warning, context.err);
                }
            }
            if !has_sample? {
                range.map_or(Ok(()), |range| range.finish()).map_err(in_file)?;
                break;
            }
            require_values(source, Missing::EVERYTHING)?;
            let place = match (&mut range, sample.at.wall) {
                (Some(range), Some(at)) => range.place(at).map_err(in_file)?,
                _ => Place::Within,
            };
            if place == Place::Following {
                break;
            }
            if place == Place::Within {
                if std::mem::take(&mut is_preceding) {
                    // The first interval begins with the last sample before the range.
                    self.push(&previous, warnings, context);
                    (resampling, shown) = (resampling_from(&previous), 1);
                }
                let begins = shown == 0 || sample.segment != previous.segment;
                if begins {
                    if std::mem::take(&mut has_rest) {
                        self.push(&previous, warnings, context);
                    }
                    resampling = resampling_from(&sample);
                }
                has_rest = !begins && !resampling.is_due(&previous.at, &sample.at);
                if !has_rest {
                    self.push(&sample, warnings, context);
                    shown += 1;
                }
                if self.options.count.is_some_and(|count| shown > count) {
                    break;
                }
            }
            is_preceding |= place == Place::Preceding;
            if self.text.len() > WRITE_THRESHOLD_BYTES {
                context.emit(&mut self.text)?;
            }
            std::mem::swap(&mut previous, &mut sample);
        }
        if has_rest {
            self.push(&previous, warnings, context);
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
