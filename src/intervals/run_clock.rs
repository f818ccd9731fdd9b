//! The wall clock over a run, in bounded memory.

use jiff::{SignedDuration, Timestamp};

use super::device_interval::IntervalHeader;
use super::series::TimeSpan;
use crate::incidents::Moment;

/// The breaks in time that are kept, each with the time before and after it.
const MAX_ANCHORS: usize = 1000;
/// The difference in seconds between the wall clock and the sum of the intervals above which the clock was set or time
/// broke.
const MAX_DRIFT_S: f64 = 0.5;
/// Less than any interval: a moment this much earlier is before the break in time that follows it.
const BREAK_TOLERANCE_S: f64 = 1e-6;

/// Relates the seconds of all intervals to the wall clock, which continues during breaks in time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunClock {
    /// The second of the run and the wall-clock time at the beginning of each interval that does not follow the one
    /// before.
    anchors: Vec<(f64, Timestamp)>,
    /// The end of the latest interval.
    pub end: Moment,
}

impl RunClock {
    pub fn observe(&mut self, header: &IntervalHeader) {
        if let Some(start) = header.start {
            let is_near = match self.time_at(self.end.run_s) {
                Some(expected) => start.duration_since(expected).as_secs_f64().abs() <= MAX_DRIFT_S,
                None => false,
            };
            if !is_near && self.anchors.len() < MAX_ANCHORS {
                self.anchors.push((self.end.run_s, start));
            }
        }
        self.end = Moment {
            at: header.end,
            run_s: self.end.run_s + header.elapsed_s,
        };
    }

    /// Takes the next interval and returns its place on an axis on which time never goes back: seconds since 1970, or
    /// since the first sample without a wall clock. If the clock went back, all later times are too late.
    pub fn place(&mut self, header: &IntervalHeader) -> TimeSpan {
        let start_run_s = self.end.run_s;
        self.observe(header);
        TimeSpan {
            start_s: self.axis_s(start_run_s),
            end_s: self.axis_s(self.end.run_s),
        }
    }

    /// Returns the place of a moment on the axis of [`Self::place`]. At a break in time, it is the beginning of the
    /// time after the break. Seconds before the first sample are negative.
    pub fn axis_s(&self, run_s: f64) -> f64 {
        let begin_s = match self.anchors.first() {
            Some((_, at)) => wall_s(*at),
            None => 0.0,
        };
        begin_s + self.elapsed_s(run_s)
    }

    /// Returns the place of a moment on that axis. At a break in time, it is the end of the time before the break.
    pub fn axis_end_s(&self, run_s: f64) -> f64 {
        self.axis_s(run_s - BREAK_TOLERANCE_S) + BREAK_TOLERANCE_S
    }

    /// The seconds by which the latest interval is placed too late on that axis, because the clock went back; 0 if it
    /// did not.
    pub fn setback_s(&self) -> f64 {
        let Some(at) = self.end.at else {
            return 0.0;
        };
        let shift_s = self.axis_s(self.end.run_s) - wall_s(at);
        if self.has_wall_clock() && shift_s > MAX_DRIFT_S {
            shift_s
        } else {
            0.0
        }
    }

    /// Returns whether the samples have a wall clock.
    pub fn has_wall_clock(&self) -> bool {
        !self.anchors.is_empty()
    }

    /// Returns the moment after some seconds of intervals.
    pub fn moment(&self, run_s: f64) -> Moment {
        Moment {
            at: self.time_at(run_s),
            run_s,
        }
    }

    /// The first and the last time of day; `None` without a wall clock.
    pub fn range(&self) -> Option<(Timestamp, Timestamp)> {
        Some((self.anchors.first()?.1, self.end.at?))
    }

    /// Returns the seconds since the first sample after some seconds of intervals: breaks in time count, as far as the
    /// wall clock went forward meanwhile.
    pub fn elapsed_s(&self, run_s: f64) -> f64 {
        let mut elapsed_s = run_s;
        for pair in self.anchors.windows(2) {
            let [(before_s, before), (after_s, after)] = [pair[0], pair[1]];
            if after_s > run_s {
                break;
            }
            let between = after.duration_since(before).as_secs_f64();
            elapsed_s += (between - (after_s - before_s)).max(0.0);
        }
        elapsed_s
    }

    /// Returns the breaks in time as ranges of [`Self::elapsed_s`].
    pub fn gaps(&self) -> Vec<(f64, f64)> {
        let mut gaps = Vec::new();
        for (run_s, _) in self.anchors.iter().skip(1) {
            let begin = self.elapsed_s(*run_s - BREAK_TOLERANCE_S);
            let end = self.elapsed_s(*run_s);
            if end - begin > MAX_DRIFT_S {
                gaps.push((begin, end));
            }
        }
        gaps
    }

    fn time_at(&self, run_s: f64) -> Option<Timestamp> {
        let mut anchors = self.anchors.iter().rev();
        let latest = anchors.find(|(anchor_s, _)| *anchor_s <= run_s);
        let (anchor_s, at) = latest.or(self.anchors.first())?;
        at.checked_add(SignedDuration::try_from_secs_f64(run_s - anchor_s).ok()?)
            .ok()
    }
}

fn wall_s(at: Timestamp) -> f64 {
    at.as_nanosecond() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(start: Option<i64>, end: Option<i64>) -> IntervalHeader {
        let at =
            |second: Option<i64>| second.and_then(|second| Timestamp::from_second(second).ok());
        IntervalHeader {
            start: at(start),
            end: at(end),
            elapsed_s: 2.0,
            ..IntervalHeader::default()
        }
    }

    /// Returns the places of intervals, and the clock after them.
    fn placed(headers: &[(i64, i64)]) -> (Vec<(f64, f64)>, RunClock) {
        let mut clock = RunClock::default();
        let spans = headers.iter().map(|(start, end)| {
            let span = clock.place(&header(Some(*start), Some(*end)));
            (span.start_s, span.end_s)
        });
        (spans.collect(), clock)
    }

    #[test]
    fn a_break_in_time_is_a_gap_on_the_axis() {
        let (spans, clock) = placed(&[(10, 12), (12, 14), (20, 22)]);
        assert_eq!(spans, [(10.0, 12.0), (12.0, 14.0), (20.0, 22.0)]);
        assert_eq!((clock.axis_s(4.0), clock.setback_s()), (20.0, 0.0));
        assert!(
            (clock.axis_end_s(4.0) - 14.0).abs() < 1e-3,
            "the end of what was before the break"
        );
        assert_eq!(clock.axis_s(-3.0), 7.0, "before the first sample");
    }

    #[test]
    fn the_axis_goes_on_where_the_clock_goes_back() {
        let (spans, clock) = placed(&[(100, 102), (50, 52), (52, 54), (60, 62)]);
        assert_eq!(
            spans,
            [
                (100.0, 102.0),
                (102.0, 104.0),
                (104.0, 106.0),
                (112.0, 114.0)
            ]
        );
        assert_eq!((clock.axis_s(3.0), clock.setback_s()), (103.0, 52.0));
    }

    #[test]
    fn an_interval_in_which_the_clock_was_set_back_has_its_length() {
        assert_eq!(
            placed(&[(100, 90), (90, 92)]).0,
            [(100.0, 102.0), (102.0, 104.0)]
        );
    }

    #[test]
    fn without_a_wall_clock_the_axis_begins_at_zero() {
        let mut clock = RunClock::default();
        let spans = [
            clock.place(&header(None, None)),
            clock.place(&header(None, None)),
        ];
        assert_eq!(
            spans.map(|span| (span.start_s, span.end_s)),
            [(0.0, 2.0), (2.0, 4.0)]
        );
        assert_eq!((clock.setback_s(), clock.has_wall_clock()), (0.0, false));
    }
}
