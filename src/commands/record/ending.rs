//! The end of a recording: writes the samples that are still waiting.

use std::time::Duration;

use anyhow::Result;
use jiff::tz::TimeZone;

use super::super::progress::Progress;
use super::learner::EndingLearner;
use crate::console::RunContext;
use crate::signals::end_process;
use crate::sink::{WriteProgress, WriteQueue};

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
    learner: Option<&EndingLearner>,
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
