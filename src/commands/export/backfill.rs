//! The metrics of a recording, with timestamps.

use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;

use crate::console::RunContext;
use crate::exit::Exit;
use crate::intervals::{IntervalRows, Intervals, RunningTotals};
use crate::report::prometheus::BackfillWriter;

use super::Observer;

/// Prints a point for the first sample, for the first in every multiple of a time, and for the last one.
pub(super) struct Backfill {
    writer: BackfillWriter,
    text: Vec<u8>,
    totals: RunningTotals,
    points: Points,
    /// True if only a range of time of the recording is exported.
    is_cut: bool,
    /// The time of the last sample within the range: later ones do not count.
    last: Option<Timestamp>,
}

impl Backfill {
    /// Returns an export with a point in every multiple of `every`, and with these labels of every metric, by name and
    /// value.
    pub(super) fn new(
        every: Duration,
        labels: &[(String, String)],
        is_cut: bool,
        totals: RunningTotals,
    ) -> Self {
        let writer = BackfillWriter::new(labels);
        let mut text = Vec::new();
        writer.begin(&mut text);
        Self { writer, text, totals, points: Points { every, last: None }, is_cut, last: None }
    }
}

impl Observer for Backfill {
    fn begin(&mut self, intervals: &mut Intervals<'_>, context: &mut RunContext<'_>) -> Result<()> {
        self.last = intervals.newest().at.wall.filter(|_| !self.is_cut);
        self.observe(None, intervals, context)
    }

    fn observe(
        &mut self,
        rows: Option<IntervalRows>,
        intervals: &Intervals<'_>,
        context: &mut RunContext<'_>,
    ) -> Result<()> {
        if let Some(rows) = rows {
            self.totals.observe(&rows);
            self.last = rows.header.end;
        }
        if self.points.is_due(self.last) {
            self.writer.push(&self.totals.snapshot(intervals), &mut self.text);
            context.emit(&mut self.text)?;
        }
        Ok(())
    }

    fn end(
        &mut self,
        outcome: &Result<Exit>,
        intervals: &Intervals<'_>,
        context: &mut RunContext<'_>,
    ) -> Result<()> {
        if outcome.is_err() {
            return Ok(());
        }
        if self.points.is_later(self.last) && intervals.newest().at.wall == self.last {
            self.writer.push(&self.totals.snapshot(intervals), &mut self.text);
        }
        self.writer.end(&mut self.text);
        context.emit(&mut self.text)
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
        let multiple =
            |at: Timestamp| at.as_nanosecond().div_euclid(self.every.as_nanos().max(1).cast_signed());
        let is_due =
            self.is_later(at) && at.zip(self.last).is_none_or(|(at, last)| multiple(at) != multiple(last));
        if is_due {
            self.last = at;
        }
        is_due
    }

    /// Returns whether a sample is later than the last point: Prometheus refuses points that go back in time, as after
    /// a clock was set.
    fn is_later(&self, at: Option<Timestamp>) -> bool {
        // Timestamps have milliseconds.
        at.is_some_and(|at| self.last.is_none_or(|last| at.as_millisecond() > last.as_millisecond()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_the_first_sample_of_its_multiple() {
        let mut points = Points { every: Duration::from_secs(15), last: None };
        let seconds = [7, 8, 14, 15, 16, 29, 31, 100, 90, 99, 101, 105, 105];
        let due: Vec<i64> = seconds
            .into_iter()
            .filter(|second| points.is_due(Timestamp::from_second(*second).ok()))
            .collect();
        assert_eq!(due, [7, 15, 31, 100, 105]);
        assert!(!points.is_due(None) && !points.is_later(Timestamp::from_second(105).ok()));
    }
}
