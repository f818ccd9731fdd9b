//! The metrics of a recording, as points with their times, for `promtool tsdb create-blocks-from openmetrics`.

use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;

use crate::commands::follow::{Observer, Run};
use crate::console::require_counters;
use crate::exit::Exit;
use crate::intervals::IntervalRows;
use crate::report::prometheus::{END, common_labels, push_metadata, push_metrics};
use crate::totals::RunningTotals;

/// Prints a point for the first sample, for the first in every multiple of a time, and for the last one.
pub(super) struct Backfill {
    /// Those of every metric.
    labels: String,
    text: Vec<u8>,
    totals: RunningTotals,
    points: Points,
    /// True if only a range of time of the recording is exported.
    is_cut: bool,
    /// The time of the last sample within the range: later ones do not count.
    last: Option<Timestamp>,
}

impl Backfill {
    /// Creates an observer that prints points this far apart, with these labels.
    pub(super) fn new(
        totals: RunningTotals,
        labels: &[(String, String)],
        every: Duration,
        is_cut: bool,
    ) -> Self {
        let mut text = Vec::new();
        push_metadata(&mut text);
        Self {
            labels: common_labels(labels),
            text,
            totals,
            points: Points { every, last: None },
            is_cut,
            last: None,
        }
    }

    fn push_point(&mut self, run: &Run<'_, '_, '_>) {
        let snapshot = self.totals.snapshot(&run.intervals);
        push_metrics(&snapshot, &self.labels, &mut self.text);
    }
}

impl Observer for Backfill {
    fn begin(&mut self, run: &mut Run<'_, '_, '_>) -> Result<()> {
        require_counters(run.intervals.replay())?;
        if !self.is_cut {
            self.last = run.intervals.newest().at.wall;
        }
        self.observe(None, run)
    }

    fn observe(&mut self, rows: Option<IntervalRows>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        if let Some(rows) = rows {
            self.totals.observe(&rows);
            self.last = rows.header.end;
        }
        if self.points.is_due(self.last) {
            self.push_point(run);
            run.context.emit(&mut self.text)?;
        }
        Ok(())
    }

    fn end(&mut self, outcome: &Result<Exit>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        if outcome.is_err() {
            return Ok(());
        }
        if self.points.is_later(self.last) && run.intervals.newest().at.wall == self.last {
            self.push_point(run);
        }
        self.text.extend_from_slice(END);
        run.context.emit(&mut self.text)
    }
}

/// Decides which samples become points.
struct Points {
    every: Duration,
    /// The time of the last point.
    last: Option<Timestamp>,
}

impl Points {
    /// Returns whether a sample is the first in its multiple of the time between points, and remembers that multiple.
    fn is_due(&mut self, at: Option<Timestamp>) -> bool {
        let is_due = self.is_later(at) && self.multiple(at) != self.multiple(self.last);
        if is_due {
            self.last = at;
        }
        is_due
    }

    /// Returns the number of the multiple that contains a time.
    fn multiple(&self, at: Option<Timestamp>) -> Option<i128> {
        let every = self.every.as_nanos().max(1).cast_signed();
        Some(at?.as_nanosecond().div_euclid(every))
    }

    /// Returns whether a sample is later than the last point: Prometheus refuses points that go back in time, as after
    /// a clock was set.
    fn is_later(&self, at: Option<Timestamp>) -> bool {
        match (at, self.last) {
            // Timestamps have milliseconds.
            (Some(at), Some(last)) => at.as_millisecond() > last.as_millisecond(),
            (at, None) => at.is_some(),
            (None, Some(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_the_first_sample_of_its_multiple() {
        let mut points = Points {
            every: Duration::from_secs(15),
            last: None,
        };
        let seconds = [7, 8, 14, 15, 16, 29, 31, 100, 90, 99, 101, 105, 105];
        let due: Vec<i64> = seconds
            .into_iter()
            .filter(|second| points.is_due(Timestamp::from_second(*second).ok()))
            .collect();
        assert_eq!(due, [7, 15, 31, 100, 105]);
        assert!(!points.is_due(None) && !points.is_later(Timestamp::from_second(105).ok()));
    }
}
