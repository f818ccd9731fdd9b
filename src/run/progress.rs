//! Shows the progress of a long run, on one line of the terminal that receives errors.

use std::time::Duration;

use super::RunContext;

/// The shortest time between updates.
const MIN_UPDATE_INTERVAL: Duration = Duration::from_secs(1);

/// A line that is overwritten.
pub(super) struct Progress {
    is_enabled: bool,
    start: Duration,
    last_update: Duration,
    /// Characters on the line.
    width: usize,
}

impl Progress {
    /// Creates an empty line. It stays empty unless `is_enabled`: errors go to a terminal, and the run is long.
    pub(super) fn new(is_enabled: bool, start: Duration) -> Self {
        Self { is_enabled, start, last_update: start, width: 0 }
    }

    /// Updates the line with a status and the time since the start, unless the last update was just before.
    pub(super) fn show(&mut self, status: impl FnOnce() -> String, context: &mut RunContext<'_>) {
        if !self.is_enabled {
            return;
        }
        let now = context.clock.monotonic();
        if now.saturating_sub(self.last_update) < MIN_UPDATE_INTERVAL {
            return;
        }
        self.last_update = now;
        let seconds = now.saturating_sub(self.start).as_secs();
        let elapsed = format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        let line = format!("{}, {elapsed}", status());
        // Blanks overwrite the rest of a longer line. A failure to write loses nothing.
        let _ = write!(context.err, "\r{line:<width$}", width = self.width);
        self.width = line.len();
    }

    /// Erases the line.
    pub(super) fn clear(&mut self, context: &mut RunContext<'_>) {
        if self.width > 0 {
            let _ = write!(context.err, "\r{:width$}\r", "", width = self.width);
            self.width = 0;
        }
    }
}
