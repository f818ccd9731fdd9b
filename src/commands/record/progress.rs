//! The progress and the summary of a recording, on the terminal that receives errors.

use std::path::Path;
use std::time::Duration;

use super::super::recorder::Recorder;
use crate::console::RunContext;
use crate::report::layout::number_format::bytes;
use crate::sink::{WriteProgress, rotated_name};

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
    let (samples, devices) = (state.samples, recorder.device_count());
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
