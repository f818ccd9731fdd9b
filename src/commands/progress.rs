//! Shows the progress of a long run on one line of the terminal that receives errors.

use std::time::Duration;

use crate::console::RunContext;

const MIN_UPDATE_INTERVAL: Duration = Duration::from_secs(1);

/// The characters that a terminal echoes for Ctrl-C: `^C`.
const ECHO_WIDTH: usize = 2;

/// A status line that is overwritten by each update.
pub(super) struct Progress {
    is_enabled: bool,
    start: Duration,
    last_update: Duration,
    /// The number of characters on the line.
    width: usize,
}

impl Progress {
    /// Creates an empty line for a run that began at `start`, a monotonic time. It stays empty unless `is_enabled`.
    pub(super) fn new(is_enabled: bool, start: Duration) -> Self {
        Self { is_enabled, start, last_update: start, width: 0 }
    }

    /// Updates the line with a status and the time since the start, at most once per [`MIN_UPDATE_INTERVAL`].
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
        // Blanks overwrite the rest of a longer line. An error is ignored: nothing is lost.
        let _ = write!(context.err, "\r{line:<width$}", width = self.width);
        self.width = line.len();
    }

    /// Erases the line, and the echo of the Ctrl-C that may have ended the run.
    pub(super) fn clear(&mut self, context: &mut RunContext<'_>) {
        if self.width > 0 {
            let _ = write!(context.err, "\r{:width$}\r", "", width = self.width + ECHO_WIDTH);
            self.width = 0;
        }
    }
}
