//! Waits for keys and acts on them.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::Result;

use super::keys::{Key, KeyOutcome};
use super::prompts::{InvalidAnswer, PAUSED, Prompt};
use super::run::Session;
use crate::clock::WaitOutcome;
use crate::console::RunContext;
use crate::exit::Exit;

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
        let Some(byte) = self.read_key() else { return Ok(KeyOutcome::Exit(Exit::Success)) };
        let Some(key) = Key::from_byte(byte) else { return Ok(KeyOutcome::Continue) };
        match key {
            Key::Ask(prompt) => return self.ask(prompt, context),
            Key::Pause | Key::Help => {
                let text = if key == Key::Pause { PAUSED.to_owned() } else { self.engine.help() };
                self.print(&text, context)?;
                if let WaitOutcome::Signal(number) = context.clock.wait_for_input(None, io::stdin().as_fd()) {
                    return Ok(KeyOutcome::Exit(Exit::Signal(number)));
                }
                if self.read_key().is_none() {
                    return Ok(KeyOutcome::Exit(Exit::Success));
                }
            }
            Key::GroupBy(_) | Key::Inactive | Key::Header | Key::Quit => {}
        }
        let outcome = key.apply(&mut self.engine, &mut self.text);
        context.emit(&mut self.text)?;
        Ok(outcome)
    }

    /// Asks for a line of text and applies it.
    fn ask(&mut self, prompt: Prompt, context: &mut RunContext<'_>) -> Result<KeyOutcome> {
        self.print(prompt.text(), context)?;
        let Some(keyboard) = &self.keyboard else { return Ok(KeyOutcome::Continue) };
        let wait = || match context.clock.wait_for_input(None, io::stdin().as_fd()) {
            WaitOutcome::Signal(number) => Err(number),
            WaitOutcome::Due | WaitOutcome::Input => Ok(()),
        };
        let line = match keyboard.read_line(wait)? {
            Ok(line) => line,
            Err(number) => return Ok(KeyOutcome::Exit(Exit::Signal(number))),
        };
        if let Err(InvalidAnswer(message)) = prompt.answer(&line, &mut self.engine) {
            let _ = writeln!(context.err, "{message}");
            return Ok(KeyOutcome::Exit(Exit::PtDiedAtPrompt));
        }
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
