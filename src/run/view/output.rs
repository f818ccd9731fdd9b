//! Writes intervals in the requested format.

use anyhow::Result;
use jiff::tz::TimeZone;

use crate::intervals::{DeviceInterval, IntervalRows, Intervals};
use crate::plan::View;
use crate::report::IntervalWriter;
use crate::report::native::SortKey;
use crate::run::{RunContext, emit};
use crate::terminal::screen_size;

/// Writes the intervals of a run.
pub(super) struct Output<'a> {
    plan: &'a View,
    writer: Box<dyn IntervalWriter>,
    is_terminal: bool,
    /// Text that has not been written yet.
    text: Vec<u8>,
}

impl<'a> Output<'a> {
    pub(super) fn new(plan: &'a View, is_terminal: bool, time_zone: TimeZone) -> Self {
        let mut writer = plan.format.writer(is_terminal, time_zone);
        let mut text = Vec::new();
        writer.begin(&mut text);
        Self { plan, writer, is_terminal, text }
    }

    pub(super) fn push(&mut self, rows: &mut IntervalRows) {
        self.arrange(&mut rows.devices);
        self.adapt_to_terminal();
        self.writer.push_interval(rows, &mut self.text);
    }

    pub(super) fn push_since_boot(&mut self, rows: &IntervalRows) {
        self.writer.push_note("since boot:", &mut self.text);
        self.push(&mut rows.clone());
    }

    /// Sorts the devices and keeps only the first ones, as the plan requests.
    fn arrange(&self, devices: &mut Vec<DeviceInterval>) {
        let key = self.plan.sort.or_else(|| self.plan.top.map(|_| SortKey::QUEUE));
        if let Some(key) = key {
            // A stalled device may have no value to sort by, but matters most.
            let value = |device: &DeviceInterval| match device.activity() {
                Some(activity) if activity.stalled_s > 0.0 => f64::INFINITY,
                _ => key.value(device).unwrap_or(-1.0),
            };
            devices.sort_by(|a, b| value(b).total_cmp(&value(a)));
        }
        devices.truncate(self.plan.top.unwrap_or(usize::MAX));
    }

    /// Adapts the writer to the size of the terminal, which may have changed.
    fn adapt_to_terminal(&mut self) {
        if let Some((columns, rows)) = self.is_terminal.then(screen_size).flatten() {
            self.writer.resize(columns, rows);
        }
    }

    /// Adds the summary of the run, if the format has one.
    pub(super) fn push_summary(&mut self, intervals: &Intervals<'_>) {
        self.adapt_to_terminal();
        self.writer.push_summary(&intervals.summaries(), intervals.span(), &mut self.text);
    }

    /// Writes the text added since the last call, with a single write.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub(super) fn flush(&mut self, context: &mut RunContext<'_>) -> Result<()> {
        if self.text.is_empty() { Ok(()) } else { emit(context.out, &mut self.text) }
    }
}
