//! The screen of a run: it shows intervals and takes keys.

use std::io::Read;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::Top;
use super::sampler::{Sampler, Started, Update};
use crate::clock::poll_inputs;
use crate::commands::options::Host;
use crate::console::RunContext;
use crate::exit::Exit;
use crate::intervals::{DeviceSelection, IntervalRows};
use crate::screen::{
    Action, App, AppOptions, BY_VERDICT, Event, InputParser, LIVE_HISTORY_S, Screen, Source, Theme,
    live_history_bytes,
};
use crate::signals::{ScreenSignals, suspend_process};
use crate::source::{Input, SharedInterval, read_hostname};
use crate::terminal::{Keyboard, screen_size};
use crate::topology::Topology;

/// The limits for exact intervals of a capture: memory in bytes and time in seconds.
const CAPTURE_HISTORY: (usize, f64) = (256 << 20, f64::INFINITY);
/// The time between checks of the clock.
const TICK: Duration = Duration::from_millis(500);
/// The time between checks for a signal before the screen is shown.
const START_TICK: Duration = Duration::from_millis(50);
/// The time after which an escape character is the Esc key, not the beginning of a sequence.
const ESCAPE_PATIENCE: Duration = Duration::from_millis(40);
/// The shortest time between two frames while a capture is read.
const MIN_READING_TICK: Duration = Duration::from_millis(100);
/// SIGHUP, for the exit code.
const SIGHUP: u8 = 1;
/// SIGINT, for the exit code.
const SIGINT: u8 = 2;

/// Shows the screen until the user quits.
///
/// # Errors
/// If there is no terminal, or the source cannot be read.
pub(super) fn run(
    top: &Top,
    (input, selection): (Input, DeviceSelection),
    host: &Host,
    context: &mut RunContext<'_>,
) -> Result<Exit> {
    let variable = context.environment;
    let term = variable("TERM").unwrap_or_default();
    let reason = match term.to_str() {
        _ if !context.is_terminal => Some("standard output is not a terminal"),
        Some("") => Some("TERM is not set"),
        Some("dumb") => Some("TERM is 'dumb'"),
        _ => None,
    };
    if let Some(reason) = reason {
        bail!("cannot show the full screen: {reason}; 'blkstat' prints the same as lines");
    }
    let baselines = top
        .verdicts
        .load_baselines(host.baselines_for(&input), context);
    let time_zone = context.time_zone();
    let is_live = input.from.is_none();
    let sampler = Sampler::start(input.clone(), selection.clone(), baselines)?;
    let (started, first) = match wait_for_start(&sampler, is_live, context)? {
        Ok(started) => started,
        Err(exit) => return Ok(exit),
    };
    let options = AppOptions {
        source: input.from.as_ref().map_or(Source::Live, |path| {
            Source::Capture(path.display().to_string())
        }),
        host: started
            .host
            .or_else(|| read_hostname(&host.root).filter(|_| is_live))
            .unwrap_or_default(),
        interval_s: started
            .interval
            .or(input.interval)
            .map(|interval| interval.as_secs_f64()),
        time_zone,
        theme: Theme::from_environment(&variable),
        sort: top.sort.unwrap_or(BY_VERDICT),
        folds: !selection.all,
        history: if is_live {
            (live_history_bytes(0, 0), LIVE_HISTORY_S)
        } else {
            CAPTURE_HISTORY
        },
    };
    let signals = ScreenSignals::catch().context("cannot catch signals")?;
    let Some(screen) = Screen::open().context("cannot write to the terminal")? else {
        bail!(
            "standard input is not a terminal, so no keys can be read; 'blkstat' prints the same as lines"
        );
    };
    let mut session = Session {
        app: App::new(options),
        screen,
        sampler,
        shared_interval: started.shared_interval,
        signals,
        parser: InputParser::default(),
        is_memory_locked: false,
        has_sampling_ended: false,
        error: None,
    };
    first
        .into_iter()
        .for_each(|(rows, topology)| session.app.push(*rows, topology));
    let exit = session.run(context);
    session.screen.leave();
    let Session { sampler, error, .. } = session;
    let messages = sampler.messages.take();
    // The screen is closed: now print the messages that it could not show.
    let _ = context.err.write_all(&messages);
    match error {
        Some(error) => Err(error),
        None => exit,
    }
}

/// The start of the sampling, and the first interval of a capture.
type Beginning = (Started, Option<(Box<IntervalRows>, Arc<Topology>)>);

/// Waits for the first sample, or for the first interval of a capture. Returns the exit code of a run that ends before
/// it.
fn wait_for_start(
    sampler: &Sampler,
    is_live: bool,
    context: &mut RunContext<'_>,
) -> Result<Result<Beginning, Exit>> {
    let mut known = None;
    let mut print_messages = || drop(context.err.write_all(&sampler.messages.take()));
    loop {
        match sampler.updates.recv_timeout(START_TICK) {
            Ok(Update::Started(started)) if is_live => {
                print_messages();
                return Ok(Ok((started, None)));
            }
            Ok(Update::Started(started)) => known = Some(started),
            Ok(Update::Interval(rows, topology)) => {
                return Ok(Ok((known.unwrap_or_default(), Some((rows, topology)))));
            }
            Ok(Update::Ended(error)) => {
                print_messages();
                return Err(error.unwrap_or_else(|| anyhow!("no samples")));
            }
            Ok(Update::Incidents(_) | Update::Progress(_)) => {}
            Err(RecvTimeoutError::Timeout) => {
                if let Some(signal) = context.clock.signal() {
                    return Ok(Err(Exit::Signal(signal)));
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                print_messages();
                return Err(failed_thread());
            }
        }
    }
}

/// The error of a sampling thread that ended without saying why: it panicked.
fn failed_thread() -> anyhow::Error {
    anyhow!("the thread that takes the samples failed")
}

/// Panics on Ctrl-X, so that tests can check the state of the terminal afterwards.
#[cfg(debug_assertions)]
#[expect(clippy::panic, reason = "it is what this is for")]
fn panic_on_key(event: &Event) {
    if *event == Event::Key(crate::screen::Key::Ctrl('x')) {
        panic!("Ctrl-X in a debug build");
    }
}

struct Session {
    app: App,
    screen: Screen,
    sampler: Sampler,
    /// `None` for a capture.
    shared_interval: Option<SharedInterval>,
    signals: ScreenSignals,
    parser: InputParser,
    is_memory_locked: bool,
    /// True if the sampling thread has ended, as at the end of a capture.
    has_sampling_ended: bool,
    /// The error that ended the sampling.
    error: Option<anyhow::Error>,
}

impl Session {
    /// Shows intervals and takes keys until the user quits or a signal comes.
    fn run(&mut self, context: &mut RunContext<'_>) -> Result<Exit> {
        loop {
            self.draw(context)?;
            if let Some(exit) = self.wait(context)? {
                return Ok(exit);
            }
            self.take_updates(context)?;
            if self.signals.take_stop() {
                self.suspend()?;
            }
        }
    }

    fn draw(&mut self, context: &RunContext<'_>) -> Result<()> {
        let (columns, rows) = screen_size().unwrap_or((80, 24));
        let limit = |length: usize| u16::try_from(length).unwrap_or(u16::MAX).min(1000);
        let area = Rect {
            x: 0,
            y: 0,
            width: limit(columns),
            height: limit(rows),
        };
        self.app.tick(context.clock.monotonic().as_secs_f64());
        let mut buffer = Buffer::empty(area);
        self.app.draw(&mut buffer);
        self.screen
            .show(&buffer)
            .context("cannot write to the terminal")
    }

    /// Waits for something to do. Returns the exit code if the program must end.
    fn wait(&mut self, context: &RunContext<'_>) -> Result<Option<Exit>> {
        let limit = if self.parser.is_waiting() {
            ESCAPE_PATIENCE
        } else {
            TICK
        };
        let input = std::io::stdin();
        let wake = (!self.has_sampling_ended).then(|| self.sampler.wake.as_fd());
        let inputs = [Some(input.as_fd()), wake, Some(self.signals.as_fd())];
        let [has_keys, has_updates, has_signals] = poll_inputs(Some(limit), &inputs);
        if let Some(signal) = context.clock.signal() {
            return Ok(Some(Exit::Signal(signal)));
        }
        if self.signals.has_hung_up() {
            return Ok(Some(Exit::Signal(SIGHUP)));
        }
        if has_signals {
            self.signals.clear();
        }
        if has_updates {
            while (&self.sampler.wake)
                .read(&mut [0; 256])
                .is_ok_and(|length| length > 0)
            {}
        }
        let mut events = Vec::new();
        if has_keys {
            let mut bytes = [0; 1024];
            match Keyboard::read_bytes(&mut bytes) {
                // The end of the input means that the terminal was closed.
                Ok(0) | Err(_) => return Ok(Some(Exit::Signal(SIGHUP))),
                Ok(length) => self
                    .parser
                    .push(&bytes[..length], |event| events.push(event)),
            }
        } else {
            self.parser.flush(|event| events.push(event));
        }
        self.handle(events)
    }

    fn handle(&mut self, events: Vec<Event>) -> Result<Option<Exit>> {
        for event in events {
            #[cfg(debug_assertions)]
            panic_on_key(&event);
            match self.app.handle(event) {
                Some(Action::Quit) => return Ok(Some(Exit::Success)),
                Some(Action::Interrupt) => return Ok(Some(Exit::Signal(SIGINT))),
                Some(Action::Suspend) => self.suspend()?,
                Some(Action::Redraw) => self.screen.forget(),
                Some(Action::ChangeInterval(interval)) => {
                    if let Some(shared) = &self.shared_interval {
                        shared.set(interval);
                    }
                }
                None => {}
            }
        }
        Ok(None)
    }

    /// Returns the terminal to the shell until the shell continues the program.
    fn suspend(&mut self) -> Result<()> {
        self.screen.leave();
        suspend_process();
        self.signals.clear();
        let _ = self.signals.take_stop();
        self.screen.resume().context("cannot write to the terminal")
    }

    /// Takes the updates of the sampling thread.
    ///
    /// # Errors
    /// If the thread panicked.
    fn take_updates(&mut self, context: &RunContext<'_>) -> Result<()> {
        let began = context.clock.monotonic();
        while !self.has_sampling_ended {
            let update = match self.sampler.updates.try_recv() {
                Ok(update) => update,
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Err(failed_thread()),
            };
            // Its pipe would from now on always be readable, so it is no longer waited for.
            self.has_sampling_ended = matches!(update, Update::Ended(_));
            match update {
                Update::Interval(rows, topology) => {
                    if self.app.options.source == Source::Live {
                        self.app.history.max_bytes =
                            live_history_bytes(rows.devices.len(), self.app.incidents.len());
                    }
                    self.app.push(*rows, topology);
                    if !std::mem::replace(&mut self.is_memory_locked, true)
                        && self.app.options.source == Source::Live
                    {
                        context.lock_memory();
                    }
                }
                Update::Incidents(incidents) => {
                    self.app.dropped_incidents = incidents.dropped;
                    self.app.incidents = incidents.list;
                }
                Update::Progress(progress) => self.app.progress = Some(progress),
                Update::Ended(None) => self.app.finish_loading(),
                Update::Ended(Some(error)) => {
                    self.app.finish_loading();
                    let text = format!("{error:#}");
                    self.app.say(text.clone());
                    self.app.ended = Some(text);
                    self.error = Some(error);
                }
                Update::Started(_) => {}
            }
            // A long capture is shown while it is read.
            if context.clock.monotonic().saturating_sub(began) > MIN_READING_TICK {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::RealClock;

    #[test]
    fn a_panic_of_the_sampling_thread_ends_the_program() {
        let clock = RealClock::new(None);
        let mut err = Vec::new();
        let mut context = RunContext {
            clock: &clock,
            environment: &|_| None,
            out: &mut std::io::sink(),
            err: &mut err,
            is_terminal: false,
            err_is_terminal: false,
            may_lock_memory: false,
        };
        let started = wait_for_start(&Sampler::that_panicked(), false, &mut context);
        let error = started.map(drop).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the thread that takes the samples failed"
        );
    }
}
