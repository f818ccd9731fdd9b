//! Waits for keys and acts on them.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::Result;
use regex_lite::Regex;

use super::engine::PtEngine;
use super::options::GroupBy;
use super::options::parse_pattern;
use super::run::Session;
use crate::clock::WaitOutcome;
use crate::console::RunContext;
use crate::exit::Exit;

/// The effect of a key on the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyOutcome {
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
    pub(super) fn handle_keys(
        &mut self,
        deadline: Option<Duration>,
        context: &mut RunContext<'_>,
    ) -> Result<KeyOutcome> {
        loop {
            let outcome = match (&self.keyboard, deadline) {
                (Some(_), deadline) => context.clock.wait_for_input(deadline, io::stdin().as_fd()),
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
        let Some(key) = self.read_key() else { return Ok(KeyOutcome::Exit(Exit::Success)) };
        match key {
            b'A' => return self.group_by(GroupBy::All, context),
            b'D' => return self.group_by(GroupBy::Disk, context),
            b'S' => return self.group_by(GroupBy::Sample, context),
            b'c' => return self.ask("Enter a column pattern: ", PtEngine::set_columns, context),
            b'/' => return self.ask("Enter a disk/device pattern: ", PtEngine::set_devices, context),
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
                if let WaitOutcome::Signal(number) = context.clock.wait_for_input(None, io::stdin().as_fd()) {
                    return Ok(KeyOutcome::Exit(Exit::Signal(number)));
                }
                if self.read_key().is_none() {
                    return Ok(KeyOutcome::Exit(Exit::Success));
                }
            }
            b' ' | b'\r' | b'\n' => {
                let engine = &mut self.engine;
                engine.pager.push_header(&engine.table, engine.settings.group_by, &mut self.text);
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
        Ok(if is_shown_again { KeyOutcome::Redraw } else { KeyOutcome::Continue })
    }

    /// Asks for a line of text and applies it.
    fn ask(&mut self, prompt: &str, answer: Answer, context: &mut RunContext<'_>) -> Result<KeyOutcome> {
        self.print(prompt, context)?;
        let Some(keyboard) = &self.keyboard else { return Ok(KeyOutcome::Continue) };
        let wait = || match context.clock.wait_for_input(None, io::stdin().as_fd()) {
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
        self.keyboard.as_ref().and_then(|keyboard| keyboard.read_key().unwrap_or(None))
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
            self.pager.force_header();
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
            settings.group_by.key(),
            settings.columns.as_str(),
            settings.sample_time,
        )
    }
}

/// Returns a number of seconds, rounded toward zero to a whole number. No text counts as 0, and 0 is invalid.
fn parse_sample_time(line: &str) -> Result<f64, String> {
    let invalid = |what: &str| format!("Invalid timeout: {what}");
    let text = line.trim();
    let seconds = if text.is_empty() { 0.0 } else { text.parse::<f64>().map_err(|_| invalid(line))? };
    if !seconds.is_finite() {
        return Err(invalid(line));
    }
    if seconds.trunc() == 0.0 { Err(invalid("0")) } else { Ok(seconds.trunc()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_time_is_a_whole_number_other_than_zero() {
        assert_eq!(parse_sample_time("2.9 "), Ok(2.0));
        for (line, what) in [("", "0"), ("0.5", "0"), ("x", "x"), ("inf", "inf")] {
            assert_eq!(parse_sample_time(line), Err(format!("Invalid timeout: {what}")));
        }
    }
}
