//! How far something is that takes long, in one line on the terminal that errors go to.

use std::time::Duration;

use super::RunContext;

/// The line is not written more often than this.
const AT_MOST: Duration = Duration::from_secs(1);

/// A line that is written over.
pub(super) struct Progress {
    is_wanted: bool,
    start: Duration,
    shown: Duration,
    /// Characters that stand on the line.
    width: usize,
}

impl Progress {
    /// Nothing is shown yet, and nothing will be unless `is_wanted`: errors go to a terminal, and it takes long.
    pub(super) fn new(is_wanted: bool, start: Duration) -> Self {
        Self { is_wanted, start, shown: start, width: 0 }
    }

    /// Shows how far it is and since when, if nothing was shown just now.
    pub(super) fn show(&mut self, how_far: impl FnOnce() -> String, world: &mut RunContext<'_>) {
        if !self.is_wanted {
            return;
        }
        let now = world.clock.monotonic();
        if now.saturating_sub(self.shown) < AT_MOST {
            return;
        }
        self.shown = now;
        let seconds = now.saturating_sub(self.start).as_secs();
        let passed = format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        let line = format!("{}, {passed}", how_far());
        // Blanks wipe what a longer line left. Nothing is lost where it cannot be written.
        let _ = write!(world.err, "\r{line:<width$}", width = self.width);
        self.width = line.len();
    }

    /// Wipes the line.
    pub(super) fn clear(&mut self, world: &mut RunContext<'_>) {
        if self.width > 0 {
            let _ = write!(world.err, "\r{:width$}\r", "", width = self.width);
            self.width = 0;
        }
    }
}
