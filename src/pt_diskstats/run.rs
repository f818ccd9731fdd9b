//! `blkstat pt-diskstats`: shows a capture or the live system, and acts on keys if there is a terminal.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use regex_lite::Regex;

use super::engine::PtEngine;
use super::options::{GroupBy, Options, parse_pattern};
use crate::capture::{CaptureWarning, WarningClass};
use crate::clock::WaitOutcome;
use crate::console::{RunContext, Warnings, cause_text, require_counters};
use crate::counters::Sample;
use crate::exit::Exit;
use crate::sink::{IfExists, RecordingFile};
use crate::source::{Input, Live, Next, Replay, StepSource, local_time_zone};
use crate::terminal::{Keyboard, screen_rows};
use crate::units::epoch_text;

/// The size in bytes at which the lines of a file are written.
const WRITE_THRESHOLD_BYTES: usize = 64 * 1024;

pub fn run(options: &Options, context: &mut RunContext<'_>) -> Result<Exit> {
    let time_zone = local_time_zone((context.environment)("TZ").as_deref());
    let lines = (context.environment)("LINES").map(|lines| lines.to_string_lossy().into_owned());
    let screen_rows = screen_rows(lines.as_deref());
    let engine = PtEngine::new(options, screen_rows, time_zone.clone());
    // A file is read without keys unless its lines can be shown again.
    let reads_input = options
        .file
        .as_ref()
        .is_some_and(|file| file.as_os_str() == "-");
    let has_keys = options.file.is_none() || context.is_terminal && !reads_input;
    let keyboard = if has_keys { Keyboard::open() } else { None };
    let mut session = Session {
        options,
        engine,
        keyboard,
        time_zone,
        text: Vec::new(),
    };
    let ended = match &options.file {
        Some(path) => session.run_file(path, context),
        None => session.run_live(context),
    };
    // Use the message and the exit code of pt-diskstats.
    context.handle_stdout_error(ended, "Unable to flush stdout", Exit::PtUsage)
}

struct Session<'a> {
    options: &'a Options,
    engine: PtEngine,
    keyboard: Option<Keyboard>,
    time_zone: TimeZone,
    /// Lines not yet written.
    text: Vec<u8>,
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
            context.print_error(format_args!(
                "{} is a directory, not a capture",
                path.display()
            ));
            return Ok(Exit::Success);
        }
        let mut warnings = Warnings::about(&path.display().to_string());
        loop {
            let source =
                match Replay::open_with_truncated_sample(path, self.options.every, context.clock) {
                    Ok(source) => source,
                    Err(error) => {
                        if let Some(signal) = context.clock.signal() {
                            return Ok(Exit::Signal(signal));
                        }
                        let _ = writeln!(
                            context.err,
                            "Cannot open {}: {}",
                            path.display(),
                            cause_text(&error)
                        );
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
        let input = Input {
            interval: options.resample,
            range: options.range.clone(),
            ..Input::default()
        };
        let mut steps = StepSource::of_capture(&input, source, context.clock)?;
        let mut next =
            match steps.start(&mut |warning| warn_of_clock(warning, warnings, context.err))? {
                true => Next::Break,
                false => Next::End,
            };
        let mut shown = 0;
        loop {
            require_counters(steps.samples.replay())?;
            match next {
                Next::End => break,
                Next::Signal(signal) => bail!("interrupted by signal {signal}"),
                Next::Step { .. } | Next::Break if steps.samples.is_preceding() => {}
                Next::Rest => self.push(&steps.newest, warnings, context),
                Next::Step { .. } | Next::Break => {
                    if shown == 0 && next != Next::Break {
                        // The first interval begins with the last sample before the range.
                        self.push(steps.first(), warnings, context);
                        shown = 1;
                    }
                    if next
                        != (Next::Step {
                            ends: false,
                            is_preceding: false,
                        })
                    {
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
        let open = |path: &Path| {
            RecordingFile::open(path, &path.display().to_string(), IfExists::Replace, None)
        };
        // Opening a FIFO waits for its reader, and nothing looks for signals meanwhile.
        context.clock.end_at_next_signal();
        let mut saved = self.options.save_samples.as_deref().map(open).transpose()?;
        context.clock.clear_signal();
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
            sample.at.wall = sample
                .at
                .wall
                .map(|at| Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at));
            if let (Some(saved), Some(at)) = (&mut saved, sample.at.wall) {
                saved.write(&format_saved_sample(at, &self.time_zone, &source.text))?;
            }
            self.push(&sample, &mut warnings, context);
            context.emit(&mut self.text)?;
            if self
                .options
                .iterations
                .is_some_and(|iterations| shown >= iterations)
            {
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
        for notice in std::mem::take(&mut self.engine.notices) {
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

/// Returns the time until the wall clock reaches the next multiple of the interval, which is in seconds.
fn time_to_next_multiple(now: Timestamp, interval_s: u64) -> Duration {
    let interval = Duration::from_secs(interval_s);
    let elapsed = now
        .as_nanosecond()
        .rem_euclid(interval.as_nanos().cast_signed());
    interval - Duration::from_nanos(u64::try_from(elapsed).unwrap_or_default())
}

/// Returns a sample in the format that pt-diskstats reads: a `TS` line with the time, then the text of
/// /proc/diskstats.
fn format_saved_sample(at: Timestamp, zone: &TimeZone, diskstats: &[u8]) -> Vec<u8> {
    let date = at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S");
    let line = format!("TS {} {date}\n", epoch_text(at));
    [line.as_bytes(), diskstats].concat()
}

/// The effect of a key on the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyOutcome {
    Continue,
    /// A file is shown again from its start.
    Redraw,
    Exit(Exit),
}

/// Applies a line of text, which may be empty, or returns the message with which pt-diskstats exits.
type Answer = fn(&mut PtEngine, &str) -> Result<(), String>;

impl Session<'_> {
    /// Acts on keys until the deadline. Without a deadline, acts on keys until one redraws the file or ends the run;
    /// without a deadline and a keyboard, returns at once.
    fn handle_keys(
        &mut self,
        deadline: Option<Duration>,
        context: &mut RunContext<'_>,
    ) -> Result<KeyOutcome> {
        loop {
            let outcome = match (&self.keyboard, deadline) {
                (Some(_), deadline) => context.clock.wait(deadline, Some(io::stdin().as_fd())),
                (None, Some(deadline)) => context.clock.wait_until(deadline),
                (None, None) => return Ok(KeyOutcome::Continue),
            };
            match outcome {
                WaitOutcome::Due => return Ok(KeyOutcome::Continue),
                WaitOutcome::Signal(number) => return Ok(KeyOutcome::Exit(Exit::Signal(number))),
                WaitOutcome::Input => match self.handle_key(context)? {
                    KeyOutcome::Continue => {}
                    KeyOutcome::Redraw if deadline.is_some() => {}
                    outcome => return Ok(outcome),
                },
            }
        }
    }

    /// Reads a key that was pressed, and acts on it.
    fn handle_key(&mut self, context: &mut RunContext<'_>) -> Result<KeyOutcome> {
        let Some(key) = self.read_key() else {
            return Ok(KeyOutcome::Exit(Exit::Success));
        };
        match key {
            b'A' => return self.group_by(GroupBy::All, context),
            b'D' => return self.group_by(GroupBy::Disk, context),
            b'S' => return self.group_by(GroupBy::Sample, context),
            b'c' => return self.ask("Enter a column pattern: ", PtEngine::set_columns, context),
            b'/' => {
                return self.ask(
                    "Enter a disk/device pattern: ",
                    PtEngine::set_devices,
                    context,
                );
            }
            b'z' => {
                let prompt = "Enter a new interval between samples in seconds: ";
                return self.ask(prompt, PtEngine::set_sample_time, context);
            }
            b'i' => self.engine.settings.show_inactive = !self.engine.settings.show_inactive,
            b'p' | b'?' => {
                let text = match key {
                    b'p' => "Paused - press any key to continue\n".to_owned(),
                    _ => self.engine.help(),
                };
                self.print(&text, context)?;
                if let WaitOutcome::Signal(number) =
                    context.clock.wait(None, Some(io::stdin().as_fd()))
                {
                    return Ok(KeyOutcome::Exit(Exit::Signal(number)));
                }
                if self.read_key().is_none() {
                    return Ok(KeyOutcome::Exit(Exit::Success));
                }
            }
            b' ' | b'\r' | b'\n' => {
                let engine = &mut self.engine;
                engine
                    .pager
                    .push_header(&engine.table, engine.settings.group_by, &mut self.text);
                context.emit(&mut self.text)?;
                return Ok(KeyOutcome::Continue);
            }
            b'q' => return Ok(KeyOutcome::Exit(Exit::Success)),
            _ => return Ok(KeyOutcome::Continue),
        }
        self.engine.force_header_on_redraw();
        Ok(KeyOutcome::Redraw)
    }

    fn group_by(&mut self, group_by: GroupBy, context: &mut RunContext<'_>) -> Result<KeyOutcome> {
        if self.engine.is_live {
            self.engine.switch_group_by_live(group_by, &mut self.text);
            context.emit(&mut self.text)?;
            return Ok(KeyOutcome::Continue);
        }
        let is_shown_again = self.engine.switch_group_by(group_by);
        Ok(if is_shown_again {
            KeyOutcome::Redraw
        } else {
            KeyOutcome::Continue
        })
    }

    /// Asks for a line of text and applies it.
    fn ask(
        &mut self,
        prompt: &str,
        answer: Answer,
        context: &mut RunContext<'_>,
    ) -> Result<KeyOutcome> {
        self.print(prompt, context)?;
        let Some(keyboard) = &self.keyboard else {
            return Ok(KeyOutcome::Continue);
        };
        let wait = || match context.clock.wait(None, Some(io::stdin().as_fd())) {
            WaitOutcome::Signal(number) => Err(number),
            WaitOutcome::Due | WaitOutcome::Input => Ok(()),
        };
        let line = match keyboard.read_line(wait)? {
            Ok(line) => line,
            Err(number) => return Ok(KeyOutcome::Exit(Exit::Signal(number))),
        };
        if let Err(message) = answer(&mut self.engine, &line) {
            let _ = writeln!(context.err, "{message}");
            return Ok(KeyOutcome::Exit(Exit::PtDiedAtPrompt));
        }
        self.engine.force_header_on_redraw();
        Ok(KeyOutcome::Redraw)
    }

    /// Reads the next key; `None` once the terminal is closed.
    fn read_key(&self) -> Option<u8> {
        self.keyboard
            .as_ref()
            .and_then(|keyboard| keyboard.read_key().unwrap_or(None))
    }

    fn print(&mut self, text: &str, context: &mut RunContext<'_>) -> Result<()> {
        self.text.extend_from_slice(text.as_bytes());
        context.emit(&mut self.text)
    }
}

impl PtEngine {
    fn set_columns(&mut self, line: &str) -> Result<(), String> {
        self.settings.columns = parse_pattern(if line.is_empty() { "." } else { line })?;
        self.apply_columns();
        Ok(())
    }

    fn set_devices(&mut self, line: &str) -> Result<(), String> {
        let pattern = Some(line).filter(|line| !line.is_empty());
        self.settings.devices = pattern.map(parse_pattern).transpose()?;
        Ok(())
    }

    fn set_sample_time(&mut self, line: &str) -> Result<(), String> {
        self.settings.sample_time = parse_sample_time(line)?;
        Ok(())
    }

    /// Starts a file that is shown again with a header, and prints no other headers unless they are due. A live run
    /// gets no header for a changed setting.
    fn force_header_on_redraw(&mut self) {
        if !self.is_live {
            self.header_always = false;
            self.pager.is_header_forced = true;
        }
    }

    /// Returns the text of the help screen.
    fn help(&self) -> String {
        let settings = &self.settings;
        let devices = settings.devices.as_ref().map_or("(none)", Regex::as_str);
        let hides_inactive = if settings.show_inactive { "no" } else { "yes" };
        format!(
            "   You can control this program by key presses:
   ------------------- Key ------------------- ---- Current Setting ----
   A, D, S) Set the group-by mode              {}
   c) Enter a Perl regex to match column names {}
   /) Enter a Perl regex to match disk names   {devices}
   z) Set the sample size in seconds           {}
   i) Hide inactive disks                      {hides_inactive}
   p) Pause the program
   q) Quit the program
   space) Print headers
   ------------------- Press any key to continue -----------------------
",
            settings.group_by as u8 as char,
            settings.columns.as_str(),
            settings.sample_time,
        )
    }
}

/// Returns a number of seconds, rounded toward zero to a whole number. No text counts as 0, and 0 is invalid.
fn parse_sample_time(line: &str) -> Result<f64, String> {
    let invalid = |what: &str| format!("Invalid timeout: {what}");
    let text = line.trim();
    let seconds = if text.is_empty() {
        0.0
    } else {
        text.parse::<f64>().map_err(|_| invalid(line))?
    };
    if !seconds.is_finite() {
        return Err(invalid(line));
    }
    if seconds.trunc() == 0.0 {
        Err(invalid("0"))
    } else {
        Ok(seconds.trunc())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_time_is_a_whole_number_other_than_zero() {
        assert_eq!(parse_sample_time("2.9 "), Ok(2.0));
        for (line, what) in [("", "0"), ("0.5", "0"), ("x", "x"), ("inf", "inf")] {
            assert_eq!(
                parse_sample_time(line),
                Err(format!("Invalid timeout: {what}"))
            );
        }
    }
}
