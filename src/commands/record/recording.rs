//! The run of a recording: it takes samples on time, and reports what becomes of them.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};
use jiff::tz::TimeZone;

use super::learner::Learner;
use super::samples::Recorder;
use crate::clock::WaitOutcome;
use crate::commands::follow::Progress;
use crate::console::{RunContext, Warnings, is_closed_pipe};
use crate::counters::Sample;
use crate::exit::Exit;
use crate::report::layout::number_format::bytes;
use crate::report::layout::sentence_numbers::counted;
use crate::report::layout::time_of_day;
use crate::report::who::skipped_scans_text;
use crate::schedule::Deadlines;
use crate::signals::end_process;
use crate::sink::{WriteProgress, WriteQueue, rotated_name};
use crate::source::{HostReader, ReadFailure};

/// The time between checks for a signal.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The number of checks after which a message shows what the program is waiting for.
const CHECKS_BEFORE_MESSAGE: u32 = 10;

/// The run of a recording.
pub(super) struct Recording<'a> {
    pub(super) learner: Option<Learner>,
    /// The last problem of the learner that has not been reported yet.
    pub(super) problem: &'a Mutex<Option<String>>,
    /// The number of intervals; `None` for no limit.
    pub(super) count: Option<u64>,
    /// The name of the recording in messages, without control characters.
    pub(super) name: &'a str,
    pub(super) interval: Duration,
    pub(super) recorder: Recorder<'a>,
    pub(super) source: HostReader<'a>,
    pub(super) warnings: Warnings,
    pub(super) events: FileEvents,
    pub(super) queue: &'a WriteQueue,
    pub(super) progress: Progress,
}

impl Recording<'_> {
    /// Records until the end, and waits until all samples are written. `sample` is the first one.
    pub(super) fn run(mut self, sample: &mut Sample, context: &mut RunContext<'_>) -> Result<Exit> {
        let ended = self.take_samples(sample, context);
        if let Some(learner) = &mut self.learner {
            learner.samples = None;
        }
        let write_result = self.wait_until_written(context);
        self.report_events(context);
        self.progress.clear(context);
        let name = self.name;
        if let Some(text) = skipped_scans_text(self.recorder.skipped_scans) {
            context.print_error(format_args!("{name}: {text}"));
        }
        self.warnings.finish(context.err);
        let state = self.queue.progress();
        let outcome = match (ended, write_result) {
            (Ok(exit), Ok(())) => Ok(exit),
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        if let Err(error) = &outcome
            && !is_closed_pipe(error)
        {
            bail!("{error:#}; {}", saved_text(&state, &self.recorder.zone));
        }
        if self.progress.is_enabled {
            let recorded = counted(state.samples, "sample");
            let devices = counted(self.recorder.devices.len() as u64, "device");
            let _ = writeln!(
                context.err,
                "recorded {recorded} of {devices} in {name}, {}",
                written_text(&state)
            );
        }
        outcome
    }

    /// Takes samples until COUNT is reached, a signal comes, or an error occurs.
    fn take_samples(&mut self, sample: &mut Sample, context: &mut RunContext<'_>) -> Result<Exit> {
        let start = sample.at.monotonic.unwrap_or_default();
        let mut deadlines = Deadlines::new(start, self.interval);
        loop {
            if let Some(scan) = &sample.io_scan
                && scan.has_long_wait()
            {
                self.source.health.request();
            }
            let live = &self.source.live;
            let block = self.recorder.block(sample, live);
            self.queue.push(block);
            if let Some(learner) = &self.learner {
                learner.push(sample);
            }
            if self.recorder.samples == 1 {
                context.lock_memory();
            }
            if let Some(count) = self.count
                && self.recorder.samples > count
            {
                return Ok(Exit::Success);
            }
            self.report_events(context);
            self.progress.show(
                || status_text(self.recorder.samples, &self.queue.progress()),
                context,
            );
            if let Some(exit) = self.read_next(sample, &mut deadlines, context) {
                return Ok(exit);
            }
        }
    }

    /// Reads the next sample when it is due. One that cannot be read is missed. Returns the exit code if the recording ends
    /// first.
    fn read_next(
        &mut self,
        sample: &mut Sample,
        deadlines: &mut Deadlines,
        context: &mut RunContext<'_>,
    ) -> Option<Exit> {
        let mut failure = ReadFailure::default();
        let mut all_missed = 0;
        loop {
            let (deadline, missed) = deadlines.next(context.clock.monotonic());
            self.source.request(deadline);
            let failed = Some(self.queue.failure());
            match context.clock.wait(Some(deadline), failed) {
                WaitOutcome::Signal(signal) => return Some(Exit::Signal(signal)),
                WaitOutcome::Due if !self.queue.is_done() => {}
                // The writer failed, before the deadline or at it; the end of the recording reports why.
                WaitOutcome::Input | WaitOutcome::Due => return Some(Exit::Error),
            }
            all_missed += missed + deadlines.skip_passed(context.clock.monotonic());
            let read = self.source.read(sample, |line, error| {
                self.warnings.warn_line(line as u64, &error, context.err)
            });
            if let Some(text) = failure.observe(read.as_ref().err()) {
                self.warnings.warn_input(&text, context.err);
            }
            if read.is_ok() {
                sample.missed_samples = all_missed;
                return None;
            }
            all_missed += 1;
        }
    }

    /// Waits until all samples are written. After a while, a message shows that it is waiting; a signal then ends the
    /// program at once.
    ///
    /// # Errors
    /// If a sample cannot be written.
    fn wait_until_written(&mut self, context: &mut RunContext<'_>) -> Result<()> {
        let queue = self.queue;
        let name = self.name;
        queue.end();
        context.clock.clear_signal();
        let mut checks = 0;
        while !self.wait_until_done() {
            let waiting = queue.progress().waiting as u64;
            if let Some(signal) = context.clock.signal() {
                self.progress.clear(context);
                context.print_error(format_args!(
                    "{} not written to {name}",
                    counted(waiting, "sample")
                ));
                end_process(signal);
            }
            checks += 1;
            if checks == CHECKS_BEFORE_MESSAGE {
                self.progress.clear(context);
                if queue.is_done() {
                    context.print_error(
                        "waiting for baselines to be saved; press Ctrl-C again to give up",
                    );
                } else {
                    context.print_error(format_args!(
                        "waiting for {name}: {} not on disk yet; press Ctrl-C again to give up",
                        counted(waiting, "sample")
                    ));
                }
            }
        }
        let dropped = queue.progress().dropped;
        if dropped.count > 0 {
            self.progress.clear(context);
            context.print_error(format_args!(
                "{name}: {} dropped, because they could not be written for so long that memory was full",
                counted(dropped.count, "sample")
            ));
        }
        queue.take_error().map_or(Ok(()), Err)
    }

    /// Waits for a while until the samples are written and the baselines saved. Returns whether they are.
    fn wait_until_done(&self) -> bool {
        let is_written = self.queue.wait_until_done(CHECK_INTERVAL);
        match &self.learner {
            Some(learner) if is_written => learner.wait_until_done(CHECK_INTERVAL),
            _ => is_written,
        }
    }

    /// Reports events of the file, and why baselines could not be saved. The next attempt to save them follows after a
    /// while.
    fn report_events(&mut self, context: &mut RunContext<'_>) {
        for message in self.events.messages(&self.queue.progress(), self.name) {
            self.progress.clear(context);
            context.print_error(message);
        }
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(problem) = problem.take() {
            self.progress.clear(context);
            context.print_error(problem);
        }
    }
}

/// Describes the samples that were saved and those that were not, for an error message.
fn saved_text(state: &WriteProgress, zone: &TimeZone) -> String {
    let lost = match state.waiting {
        0 => String::new(),
        waiting => format!("{} lost; ", counted(waiting as u64, "sample")),
    };
    let Some(last) = state.last_at else {
        return format!("{lost}no samples saved");
    };
    let time = time_of_day(last, zone);
    match state.samples {
        1 => format!("{lost}1 complete sample saved, taken at {time}"),
        n => format!("{lost}{n} complete samples saved, up to {time}"),
    }
}

/// Returns the status of a recording after this number of samples, such as
/// `120 samples, 1.2 MB, 0 dropped, slowest write 4.2 ms`.
fn status_text(samples: u64, state: &WriteProgress) -> String {
    let waiting = match state.waiting {
        // One sample is usually just being written.
        0 | 1 => String::new(),
        waiting => format!(", {waiting} waiting"),
    };
    format!("{samples} samples, {}{waiting}", written_text(state))
}

fn written_text(state: &WriteProgress) -> String {
    let slowest_s = state.slowest.as_secs_f64();
    let slowest = if slowest_s < 1.0 {
        format!("{:.1} ms", slowest_s * 1000.0)
    } else {
        format!("{slowest_s:.1} s")
    };
    format!(
        "{}, {} dropped, slowest write {slowest}",
        bytes(state.bytes),
        state.dropped.count
    )
}

/// The events of the file that were already reported.
#[derive(Default)]
pub(super) struct FileEvents(WriteProgress);

impl FileEvents {
    /// Returns messages about what has happened since the last call.
    fn messages(&mut self, state: &WriteProgress, name: &str) -> Vec<String> {
        let old = std::mem::replace(&mut self.0, state.clone());
        let mut messages = Vec::new();
        if old.losses != state.losses {
            messages.push(state.loss.clone());
        }
        if old.damage != state.damage {
            let reason = state.damage.as_deref().unwrap_or_default();
            let kept = rotated_name(Path::new(name), 1);
            messages.push(format!(
                "cannot append to {name}: {reason}; it is kept as {}, and a new file begins",
                kept.display()
            ));
        }
        if old.obstacle != state.obstacle {
            messages.push(match &state.obstacle {
                Some(reason) => {
                    format!("{reason}; samples are kept in memory until they can be written")
                }
                None => format!("{name}: samples are written again"),
            });
        }
        messages
    }
}
