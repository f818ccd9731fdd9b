//! Being pt-diskstats: on a capture or live, with keys where there is a terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use regex_lite::Regex;

use super::warnings::Warnings;
use super::{RunContext, put, reason, unless_output_lost};
use crate::capture::CaptureWarningKind;
use crate::clock::WaitOutcome;
use crate::counters::Sample;
use crate::exit::Exit;
use crate::plan::PtDiskstats;
use crate::report::pt_diskstats::Pages;
use crate::source::{Live, Replay, local_time_zone};
use crate::view::pt_diskstats::{Answer, Effect, Key, PAUSED, PtEngine, Settings, help, invalid_pattern};
use crate::view::terminal::{Keyboard, screen_rows};

pub(super) fn run(plan: &PtDiskstats, world: &mut RunContext<'_>) -> Result<Exit> {
    let pattern = |text: &str| Regex::new(text).map_err(|error| invalid_pattern(text, &error));
    let patterns =
        pattern(&plan.columns).and_then(|c| Ok((c, plan.devices.as_deref().map(pattern).transpose()?)));
    let (columns, devices) = match patterns {
        Ok(patterns) => patterns,
        Err(why) => {
            let _ = writeln!(world.err, "{why}");
            return Ok(Exit::PtDied);
        }
    };
    let settings = Settings {
        group_by: plan.group_by,
        columns,
        devices,
        show_inactive: plan.show_inactive,
        sample_time: plan.sample_time as f64,
    };
    let rows = screen_rows(plan.screen_lines.as_deref());
    let pages = Pages::new(plan.group_headers, plan.scroll_headers, rows);
    let mut session = Session {
        plan,
        player: PtEngine::new(settings, plan.show_timestamps, plan.file.is_none(), pages),
        // On a file keys are of use only where it can be shown again.
        keyboard: if plan.file.is_none() || world.is_terminal { Keyboard::open() } else { None },
        time_zone: local_time_zone(plan.time_zone.as_deref()),
        pending_time: None,
        text: Vec::new(),
    };
    let ended = match &plan.file {
        Some(path) => session.file(path, world),
        None => session.live(world),
    };
    // As pt-diskstats says it, and with its exit code.
    unless_output_lost(ended, "Unable to flush stdout", Exit::PtUsage, world)
}

/// How a key press ends.
enum After {
    GoOn,
    Redraw,
    End(Exit),
}

struct Session<'a> {
    plan: &'a PtDiskstats,
    player: PtEngine,
    keyboard: Option<Keyboard>,
    time_zone: TimeZone,
    /// The time of day of the first sample since the last that had devices.
    pending_time: Option<Option<String>>,
    /// What is not written yet.
    text: Vec<u8>,
}

impl Session<'_> {
    fn file(&mut self, path: &Path, world: &mut RunContext<'_>) -> Result<Exit> {
        if path.as_os_str() == "-" {
            // To pt-diskstats that is a file of this name.
            let _ = writeln!(world.err, "Cannot open -: No such file or directory");
            return Ok(Exit::Error);
        }
        if path.is_dir() {
            let _ = writeln!(world.err, "blkstat: {} is a directory, not a capture", path.display());
            return Ok(Exit::Success);
        }
        let mut warnings = Warnings::about(&path.display().to_string());
        loop {
            let mut source = match Replay::open(path, world.clock) {
                Ok(source) => source.with_truncated_sample(),
                Err(error) => {
                    if let Some(signal) = world.clock.signal() {
                        return Ok(Exit::Signal(signal));
                    }
                    let why = error.downcast_ref::<io::Error>().map_or_else(|| error.to_string(), reason);
                    let _ = writeln!(world.err, "Cannot open {}: {why}", path.display());
                    return Ok(Exit::Error);
                }
            };
            let ended = self.play(&mut source, &mut warnings, world);
            put(world.out, &mut self.text)?;
            if let (Err(_), Some(signal)) = (&ended, world.clock.signal()) {
                return Ok(Exit::Signal(signal));
            }
            ended?;
            warnings.finish(world.err);
            // A second time, everything has been said.
            warnings = Warnings::silent();
            match self.keys_until(None, world)? {
                After::Redraw => self.player.rewind(),
                After::End(exit) => return Ok(exit),
                After::GoOn => return Ok(Exit::Success),
            }
        }
    }

    /// Plays a whole capture.
    fn play(
        &mut self,
        source: &mut Replay<'_>,
        warnings: &mut Warnings,
        world: &mut RunContext<'_>,
    ) -> Result<()> {
        const WRITTEN_AT_ONCE: usize = 64 * 1024;
        let (mut before, mut sample) = (Sample::default(), Sample::default());
        loop {
            let more = source.next(&before, &mut sample);
            for fault in source.take_warnings() {
                // pt-diskstats passes over what is no line of diskstats.
                if let CaptureWarningKind::ClockNotAdvanced { .. } = fault.kind {
                    warnings.warn_capture(&fault, world.err);
                }
            }
            if !more? {
                break;
            }
            self.show(&sample);
            for notice in self.player.take_notices() {
                warnings.warn_input(&notice, world.err);
            }
            if self.text.len() > WRITTEN_AT_ONCE {
                put(world.out, &mut self.text)?;
            }
            std::mem::swap(&mut before, &mut sample);
        }
        self.player.finish(&mut self.text);
        self.pending_time = None;
        Ok(())
    }

    fn show(&mut self, sample: &Sample) {
        let Some(wall) = sample.at.wall else { return };
        let written = self.pending_time.get_or_insert_with(|| sample.written_time.clone()).clone();
        let time_of_day = match written {
            _ if !self.plan.show_timestamps => String::new(),
            Some(time) => time,
            None => wall.to_zoned(self.time_zone.clone()).strftime("%H:%M:%S").to_string(),
        };
        if let Some(reading) = self.player.reading(sample, seconds(wall), time_of_day) {
            self.pending_time = None;
            self.player.play(reading, &mut self.text);
        }
    }

    fn live(&mut self, world: &mut RunContext<'_>) -> Result<Exit> {
        let mut saved = self.plan.save_samples.as_deref().map(Saved::create).transpose()?;
        let mut source = Live::new(&self.plan.root, world.clock);
        let mut warnings = Warnings::about(&source.name());
        let mut sample = Sample::default();
        let mut shown = 0;
        // Too short a first interval would make rates of nothing.
        let left = until_even_multiple(world.clock.wall(), self.plan.interval);
        if left < Duration::from_secs(self.plan.interval) / 5
            && let After::End(exit) = self.keys_until(Some(world.clock.monotonic() + left), world)?
        {
            return Ok(exit);
        }
        loop {
            source.read(&mut sample, |line, fault| warnings.warn_line(line as u64, &fault, world.err))?;
            // pt-diskstats' clock has microseconds.
            sample.at.wall = sample.at.wall.map(cut_to_microseconds);
            if let (Some(saved), Some(at)) = (&mut saved, sample.at.wall) {
                saved.add(at, source.text(), &self.time_zone)?;
            }
            self.show(&sample);
            for notice in self.player.take_notices() {
                warnings.warn_input(&notice, world.err);
            }
            put(world.out, &mut self.text)?;
            if self.plan.iterations.is_some_and(|iterations| shown >= iterations) {
                return Ok(Exit::Success);
            }
            let delay = until_even_multiple(world.clock.wall(), self.plan.interval);
            let deadline = world.clock.monotonic() + delay;
            shown += 1;
            if let After::End(exit) = self.keys_until(Some(deadline), world)? {
                return Ok(exit);
            }
        }
    }

    /// Acts on keys until the deadline, or, without one, until a key asks for more than a line.
    fn keys_until(&mut self, deadline: Option<Duration>, world: &mut RunContext<'_>) -> Result<After> {
        loop {
            let woken = match (&self.keyboard, deadline) {
                (Some(_), deadline) => world.clock.wait_for_input(deadline, io::stdin().as_fd()),
                (None, Some(deadline)) => world.clock.wait_until(deadline),
                (None, None) => return Ok(After::GoOn),
            };
            match woken {
                WaitOutcome::Due => return Ok(After::GoOn),
                WaitOutcome::Signal(number) => return Ok(After::End(Exit::Signal(number))),
                WaitOutcome::Input => match self.key(world)? {
                    After::GoOn => {}
                    After::Redraw if deadline.is_some() => {}
                    after => return Ok(after),
                },
            }
        }
    }

    fn key(&mut self, world: &mut RunContext<'_>) -> Result<After> {
        let Some(byte) = self.pressed()? else { return Ok(After::End(Exit::Success)) };
        let Some(key) = Key::pressed(byte) else { return Ok(After::GoOn) };
        match key {
            Key::Quit => return Ok(After::End(Exit::Success)),
            Key::Ask(prompt) => {
                self.say(prompt.text(), world)?;
                let line = match &self.keyboard {
                    Some(keyboard) => keyboard.line(|| {
                        let woken = world.clock.wait_for_input(None, io::stdin().as_fd());
                        if let WaitOutcome::Signal(number) = woken { Err(number) } else { Ok(()) }
                    })?,
                    None => return Ok(After::GoOn),
                };
                let line = match line {
                    Ok(line) => line,
                    Err(number) => return Ok(After::End(Exit::Signal(number))),
                };
                if let Err(Answer(why)) = prompt.answer(&line, &mut self.player) {
                    let _ = writeln!(world.err, "{why}");
                    return Ok(After::End(Exit::PtDiedAtPrompt));
                }
                return Ok(After::Redraw);
            }
            Key::Pause => self.say(PAUSED, world)?,
            Key::Help => {
                let text = help(&self.player);
                self.say(&text, world)?;
            }
            Key::GroupBy(_) | Key::Inactive | Key::Header => {}
        }
        if matches!(key, Key::Pause | Key::Help) {
            if let WaitOutcome::Signal(number) = world.clock.wait_for_input(None, io::stdin().as_fd()) {
                return Ok(After::End(Exit::Signal(number)));
            }
            if self.pressed()?.is_none() {
                return Ok(After::End(Exit::Success));
            }
        }
        let effect = key.act(&mut self.player, &mut self.text);
        put(world.out, &mut self.text)?;
        Ok(if effect == Effect::Redraw { After::Redraw } else { After::GoOn })
    }

    /// The key that was pressed; `None` when the terminal is gone.
    fn pressed(&self) -> Result<Option<u8>> {
        self.keyboard.as_ref().map_or(Ok(None), |keyboard| Ok(keyboard.key().unwrap_or(None)))
    }

    fn say(&mut self, text: &str, world: &mut RunContext<'_>) -> Result<()> {
        self.text.extend_from_slice(text.as_bytes());
        put(world.out, &mut self.text)
    }
}

/// Seconds since the epoch as pt-diskstats reads them: the nearest number of 53 bits.
#[allow(clippy::cast_precision_loss)]
fn seconds(at: Timestamp) -> f64 {
    let text = format!("{}.{:09}", at.as_second(), at.subsec_nanosecond());
    text.parse().unwrap_or(at.as_second() as f64)
}

fn cut_to_microseconds(at: Timestamp) -> Timestamp {
    Timestamp::new(at.as_second(), at.subsec_nanosecond() / 1000 * 1000).unwrap_or(at)
}

/// How long it is until an even multiple of the interval.
fn until_even_multiple(now: Timestamp, interval: u64) -> Duration {
    let interval = Duration::from_secs(interval);
    let passed = now.as_nanosecond().unsigned_abs() % interval.as_nanos();
    interval - Duration::from_nanos(u64::try_from(passed).unwrap_or_default())
}

/// The file that samples are saved in.
struct Saved {
    name: String,
    file: File,
}

impl Saved {
    #[allow(clippy::disallowed_methods)] // It is written, and made before the work begins.
    fn create(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path);
        Ok(Self { file: file.with_context(|| format!("cannot write {name}"))?, name })
    }

    /// Adds a sample, whole or not at all: what was saved before stays as it is.
    fn add(&mut self, at: Timestamp, diskstats: &[u8], zone: &TimeZone) -> Result<()> {
        let date = at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S").to_string();
        let mut text = format!("TS {}.{:09} {date}\n", at.as_second(), at.subsec_nanosecond()).into_bytes();
        text.extend_from_slice(diskstats);
        let whole = self.file.metadata().map(|about| about.len());
        if let Err(error) = self.file.write_all(&text) {
            let saved = whole.and_then(|length| self.file.set_len(length));
            let safe = if saved.is_ok() { "; what was saved before is whole" } else { "" };
            bail!("cannot write {}: {}{safe}", self.name, reason(&error));
        }
        Ok(())
    }
}
