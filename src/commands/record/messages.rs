//! What a recording says: its status and its events meanwhile, and at its end what was saved and what was not.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use jiff::tz::TimeZone;

use super::super::progress::Progress;
use super::super::recorder::Recorder;
use super::learner::Learner;
use crate::console::RunContext;
use crate::report::layout::number_format::bytes;
use crate::signals::end_process;
use crate::sink::{WriteProgress, WriteQueue, rotated_name};

/// The time between checks for a signal.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The number of checks after which a message shows what the program is waiting for.
const CHECKS_BEFORE_MESSAGE: u32 = 10;

/// Waits until all samples are written. After a while, a message shows that it is waiting; a signal then ends the
/// program at once.
///
/// # Errors
/// If a sample cannot be written.
pub(super) fn end_recording(
    queue: &WriteQueue,
    name: &str,
    learner: Option<&Learner>,
    progress: &mut Progress,
    context: &mut RunContext<'_>,
) -> Result<()> {
    queue.end();
    context.clock.clear_signal();
    let mut checks = 0;
    let is_done = || {
        let is_learned = || learner.is_none_or(|learner| learner.wait_until_done(CHECK_INTERVAL));
        queue.wait_until_done(CHECK_INTERVAL) && is_learned()
    };
    while !is_done() {
        let waiting = queue.progress().waiting;
        if let Some(signal) = context.clock.signal() {
            progress.clear(context);
            context.print_error(format_args!("{} not written to {name}", samples(waiting)));
            end_process(signal);
        }
        checks += 1;
        if checks == CHECKS_BEFORE_MESSAGE {
            progress.clear(context);
            if queue.is_done() {
                context.print_error("waiting for baselines to be saved; press Ctrl-C again to give up");
            } else {
                context.print_error(format_args!(
                    "waiting for {name}: {} not on disk yet; press Ctrl-C again to give up",
                    samples(waiting)
                ));
            }
        }
    }
    let dropped = queue.progress().dropped;
    if dropped.count > 0 {
        progress.clear(context);
        context.print_error(format_args!(
            "{name}: {} dropped, because they could not be written for so long that memory was full",
            samples(dropped.count)
        ));
    }
    queue.take_error().map_or(Ok(()), Err)
}

/// Describes the samples that were saved and those that were not, for an error message.
pub(super) fn saved(state: &WriteProgress, zone: &TimeZone) -> String {
    let lost = match state.waiting {
        0 => String::new(),
        waiting => format!("{} lost; ", samples(waiting)),
    };
    let Some(last) = state.last_at else { return format!("{lost}no samples saved") };
    let time = last.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string();
    match state.samples {
        1 => format!("{lost}1 complete sample saved, taken at {time}"),
        n => format!("{lost}{n} complete samples saved, up to {time}"),
    }
}

fn samples(count: impl TryInto<u64>) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{count} sample{}", if count == 1 { "" } else { "s" })
}

/// Returns the status of a recording after this number of samples, such as
/// `120 samples, 1.2 MB, 0 dropped, slowest write 4.2 ms`.
pub(super) fn status(samples: u64, state: &WriteProgress) -> String {
    let waiting = match state.waiting {
        // One sample is usually just being written.
        0 | 1 => String::new(),
        waiting => format!(", {waiting} waiting"),
    };
    format!("{samples} samples, {}{waiting}", written(state))
}

/// Prints the summary of a recording.
pub(super) fn print_summary(
    name: &str,
    recorder: &Recorder<'_>,
    state: &WriteProgress,
    context: &mut RunContext<'_>,
) {
    let plural = |n: u64| if n == 1 { "" } else { "s" };
    let (samples, devices) = (state.samples, recorder.devices.len());
    let _ = writeln!(
        context.err,
        "recorded {samples} sample{} of {devices} device{} in {name}, {}",
        plural(samples),
        plural(devices as u64),
        written(state)
    );
}

fn written(state: &WriteProgress) -> String {
    let slowest = state.slowest;
    let slowest = if slowest < Duration::from_secs(1) {
        format!("{:.1} ms", slowest.as_secs_f64() * 1000.0)
    } else {
        format!("{:.1} s", slowest.as_secs_f64())
    };
    format!("{}, {} dropped, slowest write {slowest}", bytes(state.bytes), state.dropped.count)
}

/// The events of the file that were already reported.
#[derive(Default)]
pub(super) struct FileEvents {
    obstacle: Option<String>,
    deletions: u64,
    damage: Option<String>,
}

impl FileEvents {
    /// Returns a message about what has happened since the last call; `None` if nothing has. Only the first of several
    /// events is reported; the next call reports the next one.
    pub(super) fn next_message(&mut self, state: &WriteProgress, name: &str) -> Option<String> {
        if self.deletions != state.deletions {
            self.deletions = state.deletions;
            return Some(format!(
                "{name} was deleted, with the samples before; the recording goes on in a new file"
            ));
        }
        if self.damage != state.damage {
            self.damage.clone_from(&state.damage);
            let kept = rotated_name(Path::new(name), 1);
            let reason = state.damage.as_deref().unwrap_or_default();
            return Some(format!(
                "cannot append to {name}: {reason}; it is kept as {}, and a new file begins",
                kept.display()
            ));
        }
        if self.obstacle == state.obstacle {
            return None;
        }
        self.obstacle.clone_from(&state.obstacle);
        Some(match &state.obstacle {
            Some(reason) => format!("{reason}; samples are kept in memory until they can be written"),
            None => format!("{name}: samples are written again"),
        })
    }
}
