//! The messages of a recording: its status, its events, and at its end the samples that were saved and those that were not.

use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;

use crate::report::layout::number_format::bytes;
use crate::report::layout::sentence_numbers::counted;
use crate::sink::{WriteProgress, rotated_name};

/// Describes the samples that were saved and those that were not, for an error message.
pub(super) fn saved(state: &WriteProgress, zone: &TimeZone) -> String {
    let lost = match state.waiting {
        0 => String::new(),
        waiting => format!("{} lost; ", counted(waiting as u64, "sample")),
    };
    let Some(last) = state.last_at else { return format!("{lost}no samples saved") };
    let time = last.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string();
    match state.samples {
        1 => format!("{lost}1 complete sample saved, taken at {time}"),
        n => format!("{lost}{n} complete samples saved, up to {time}"),
    }
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

pub(super) fn written(state: &WriteProgress) -> String {
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
pub(super) struct FileEvents(WriteProgress);

impl FileEvents {
    /// Returns a message about what has happened since the last call; `None` if nothing has. Only the first of several
    /// events is reported; the next call reports the next one.
    pub(super) fn next_message(&mut self, state: &WriteProgress, name: &str) -> Option<String> {
        if self.0.deletions != state.deletions {
            self.0.deletions = state.deletions;
            return Some(format!(
                "{name} was deleted, with the samples before; the recording goes on in a new file"
            ));
        }
        if self.0.damage != state.damage {
            self.0.damage.clone_from(&state.damage);
            let kept = rotated_name(Path::new(name), 1);
            let reason = state.damage.as_deref().unwrap_or_default();
            return Some(format!(
                "cannot append to {name}: {reason}; it is kept as {}, and a new file begins",
                kept.display()
            ));
        }
        if self.0.obstacle == state.obstacle {
            return None;
        }
        self.0.obstacle.clone_from(&state.obstacle);
        Some(match &state.obstacle {
            Some(reason) => format!("{reason}; samples are kept in memory until they can be written"),
            None => format!("{name}: samples are written again"),
        })
    }
}
