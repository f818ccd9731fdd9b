//! The metrics of a recording, with timestamps.

use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;

use super::{RunContext, Warnings, end_without_data, missing_data};
use crate::exit::Exit;
use crate::intervals::{Intervals, NextInterval, RunningTotals};
use crate::report::prometheus::BackfillWriter;
use crate::run::emit;

/// Prints a point for the first sample, for the first in every multiple of `every`, and for the last one. If the
/// capture `is_cut`, the first point is the end of the first interval in the range.
pub(super) fn run(
    intervals: &mut Intervals<'_>,
    mut totals: RunningTotals,
    plan: &Backfill<'_>,
    context: &mut RunContext<'_>,
) -> Result<Exit> {
    let writer = BackfillWriter::new(plan.labels);
    let mut warnings = Warnings::about(&intervals.source_name());
    let mut points = Points { every: plan.every, last: None };
    let mut text = Vec::new();
    writer.begin(&mut text);
    let mut exit = Exit::Success;
    if intervals.start(&mut |warning| warnings.warn_capture(warning, context.err))? {
        // The time of the last sample within the range: later ones do not count.
        let mut last = intervals.newest().at.wall.filter(|_| !plan.is_cut);
        loop {
            if points.is_due(last) {
                writer.push(&totals.snapshot(intervals), &mut text);
                emit(context.out, &mut text)?;
            }
            match intervals.next(&mut |warning| warnings.warn_capture(warning, context.err))? {
                NextInterval::Rows(rows) => {
                    totals.observe(&rows);
                    last = rows.header.end;
                }
                NextInterval::Break => {}
                NextInterval::End => break,
                NextInterval::Signal(signal) => {
                    exit = Exit::Signal(signal);
                    break;
                }
            }
        }
        if points.is_later(last) && intervals.newest().at.wall == last {
            writer.push(&totals.snapshot(intervals), &mut text);
        }
    }
    writer.end(&mut text);
    emit(context.out, &mut text)?;
    warnings.finish(context.err);
    if exit != Exit::Success {
        return Ok(exit);
    }
    let reason = missing_data(intervals)?;
    Ok(reason.map_or(Exit::Success, |reason| end_without_data(&reason, intervals, context)))
}

/// The options of an export of a recording.
pub(super) struct Backfill<'a> {
    pub(super) every: Duration,
    /// Labels of every metric, by name and value.
    pub(super) labels: &'a [(String, String)],
    /// True if only a range of time of the recording is exported.
    pub(super) is_cut: bool,
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
