//! How far a recording is, in one line on the terminal that errors go to.

use std::time::Duration;

use super::recorder::Recorder;
use crate::plan::Record;
use crate::run::World;

/// Shorter recordings need no progress.
const SHORT: Duration = Duration::from_secs(5);
/// The line is not written more often than this.
const AT_MOST: Duration = Duration::from_secs(1);

/// A line that is written over.
pub(super) struct Progress {
    /// Errors go to a terminal, and nothing else writes there.
    has_terminal: bool,
    is_long: bool,
    start: Duration,
    shown: Option<Duration>,
    /// Characters that stand on the line.
    width: usize,
}

impl Progress {
    /// Nothing is shown yet.
    pub(super) fn new(plan: &Record, every: Duration, start: Duration) -> Self {
        let count = plan.pace.count.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let is_long = count.is_none_or(|count| every.saturating_mul(count) > SHORT);
        Self { has_terminal: plan.is_error_terminal, is_long, start, shown: None, width: 0 }
    }

    /// Shows how far it is, if that was not shown just now.
    pub(super) fn show(&mut self, recorder: &Recorder<'_>, world: &mut World<'_>) {
        let now = world.clock.monotonic();
        let is_due = self.shown.is_none_or(|shown| now.saturating_sub(shown) >= AT_MOST);
        if !(self.has_terminal && self.is_long && is_due) || recorder.is_shown_on_terminal(world) {
            return;
        }
        self.shown = Some(now);
        let seconds = now.saturating_sub(self.start).as_secs();
        let passed = format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        let line = format!("{} samples, {}, {passed}", recorder.samples, size(recorder.bytes));
        // Blanks wipe what a longer line left.
        let _ = write!(world.err, "\r{line:<width$}", width = self.width);
        self.width = line.len();
    }

    /// Wipes the line.
    pub(super) fn clear(&mut self, world: &mut World<'_>) {
        if self.width > 0 {
            let _ = write!(world.err, "\r{:width$}\r", "", width = self.width);
            self.width = 0;
        }
    }

    /// Says what was recorded.
    pub(super) fn finish(&self, recorder: &Recorder<'_>, world: &mut World<'_>) {
        if !self.has_terminal || recorder.is_shown_on_terminal(world) {
            return;
        }
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        let (samples, devices) = (recorder.samples, recorder.devices());
        let _ = writeln!(
            world.err,
            "recorded {samples} sample{} of {devices} device{} in {}, {}",
            plural(samples),
            plural(devices as u64),
            recorder.name,
            size(recorder.bytes)
        );
    }
}

/// Bytes as people read them.
fn size(bytes: u64) -> String {
    let scaled = |unit: f64| bytes as f64 / unit;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", scaled(1e3)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", scaled(1e6)),
        _ => format!("{:.1} GB", scaled(1e9)),
    }
}
