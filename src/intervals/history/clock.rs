//! The axis of time.

use jiff::Timestamp;

use crate::intervals::device_interval::IntervalHeader;
use crate::intervals::series::TimeSpan;

/// Puts intervals on one axis on which time never goes back.
#[derive(Clone, Debug, Default)]
pub(super) struct HistoryClock {
    /// The end of the latest interval.
    end_s: Option<f64>,
    /// Seconds of all intervals so far.
    run_s: f64,
    /// What is added to the times of the samples, each from a second of all intervals on: their clock went back there.
    shifts: Vec<(f64, f64)>,
    has_wall_clock: bool,
}

/// The most shifts that are remembered; the clock of a host rarely goes back once.
const MAX_SHIFTS: usize = 1000;

impl HistoryClock {
    /// Returns the time of an interval on the axis.
    pub(super) fn place(&mut self, header: &IntervalHeader) -> TimeSpan {
        let seconds = |time: Option<Timestamp>| time.map(wall_s);
        let wall_end_s = seconds(header.end);
        self.has_wall_clock |= wall_end_s.is_some();
        let end_s = wall_end_s.unwrap_or(self.run_s + header.elapsed_s);
        let start_s = seconds(header.start).unwrap_or(end_s - header.elapsed_s);
        let shift_s = self.shift_s();
        let mut span = TimeSpan { start_s: start_s + shift_s, end_s: end_s + shift_s };
        if let Some(latest_s) = self.end_s.filter(|latest_s| span.start_s < *latest_s) {
            let shift_s = latest_s - span.start_s;
            self.shift_by(shift_s);
            span = TimeSpan { start_s: latest_s, end_s: span.end_s + shift_s };
        }
        // A clock that was set meanwhile does not change how long the interval was.
        if span.end_s <= span.start_s {
            self.shift_by(span.start_s + header.elapsed_s - span.end_s);
            span.end_s = span.start_s + header.elapsed_s;
        }
        self.end_s = Some(span.end_s);
        self.run_s += header.elapsed_s;
        span
    }

    fn shift_by(&mut self, seconds: f64) {
        let shift_s = self.shift_s() + seconds;
        let is_full = self.shifts.len() >= MAX_SHIFTS;
        if is_full || self.shifts.last().is_some_and(|(from_s, _)| *from_s == self.run_s) {
            self.shifts.pop();
        }
        self.shifts.push((self.run_s, shift_s));
    }

    /// Returns the place of a moment on the axis, given the wall clock, if any, and the seconds of all intervals before it.
    pub(super) fn axis_s(&self, at: Option<Timestamp>, run_s: f64) -> f64 {
        /// A moment at the end of an interval is not after the shift that follows.
        const TOLERANCE_S: f64 = 1e-6;
        let shift = self.shifts.iter().rev().find(|(from_s, _)| *from_s < run_s - TOLERANCE_S);
        at.map_or(run_s, |at| wall_s(at) + shift.map_or(0.0, |(_, shift_s)| *shift_s))
    }

    /// Returns whether the samples have a wall clock.
    pub(super) fn is_wall_clock(&self) -> bool {
        self.has_wall_clock
    }

    /// Seconds by which the latest interval is shown too late.
    pub(super) fn shift_s(&self) -> f64 {
        self.shifts.last().map_or(0.0, |(_, shift_s)| *shift_s)
    }
}

fn wall_s(at: Timestamp) -> f64 {
    at.as_nanosecond() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::HostStats;

    fn header(start: Option<i64>, end: Option<i64>) -> IntervalHeader {
        let at = |second: Option<i64>| second.and_then(|second| jiff::Timestamp::from_second(second).ok());
        IntervalHeader {
            start: at(start),
            end: at(end),
            clock_s: None,
            elapsed_s: 2.0,
            is_since_boot: false,
            is_preceding: false,
            missed_samples: 0,
            host: HostStats::default(),
        }
    }

    fn placed(headers: &[(Option<i64>, Option<i64>)]) -> (Vec<(f64, f64)>, f64) {
        let mut clock = HistoryClock::default();
        let spans = headers.iter().map(|(start, end)| {
            let span = clock.place(&header(*start, *end));
            (span.start_s, span.end_s)
        });
        (spans.collect(), clock.shift_s())
    }

    #[test]
    fn intervals_follow_each_other_even_where_the_clock_goes_back() {
        let at = |start, end| (Some(start), Some(end));
        assert_eq!(
            placed(&[at(10, 12), at(12, 14), at(20, 22)]).0,
            [(10.0, 12.0), (12.0, 14.0), (20.0, 22.0)]
        );
        let (spans, shift_s) = placed(&[at(100, 102), at(50, 52), at(52, 54)]);
        assert_eq!((spans, shift_s), (vec![(100.0, 102.0), (102.0, 104.0), (104.0, 106.0)], 52.0));
        let mut clock = HistoryClock::default();
        for (start, end) in [(100, 102), (50, 52)] {
            clock.place(&header(Some(start), Some(end)));
        }
        let axis_s = |second, run_s| clock.axis_s(jiff::Timestamp::from_second(second).ok(), run_s);
        assert_eq!((axis_s(102, 2.0), axis_s(51, 3.0), clock.axis_s(None, 3.0)), (102.0, 103.0, 3.0));
    }

    #[test]
    fn without_a_wall_clock_the_first_interval_begins_at_zero() {
        let (spans, shift_s) = placed(&[(None, None), (None, None)]);
        assert_eq!((spans, shift_s), (vec![(0.0, 2.0), (2.0, 4.0)], 0.0));
    }

    #[test]
    fn an_interval_in_which_the_clock_was_set_back_has_its_length() {
        let (spans, _) = placed(&[(Some(100), Some(90)), (Some(90), Some(92))]);
        assert_eq!(spans, [(100.0, 102.0), (102.0, 104.0)]);
    }
}
