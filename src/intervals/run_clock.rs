//! The wall clock over a run, in bounded memory.

use jiff::{SignedDuration, Timestamp};

use super::device_interval::IntervalHeader;
use super::events::Moment;

/// The breaks in time that are kept, each with the time before and after it.
const MAX_ANCHORS: usize = 1000;
/// The difference in seconds between the wall clock and the sum of the intervals from which the clock was set, or time broke.
const MAX_DRIFT_S: f64 = 0.5;

/// Relates the seconds of all intervals to the wall clock, which goes on while time is broken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunClock {
    /// Seconds of the run with the time then, where an interval begins that does not follow the one before.
    anchors: Vec<(f64, Timestamp)>,
    end: Moment,
}

impl RunClock {
    /// Takes the next interval.
    pub fn observe(&mut self, header: &IntervalHeader) {
        if let Some(start) = header.start {
            let expected = self.time_at(self.end.run_s);
            let is_near =
                |expected: Timestamp| start.duration_since(expected).as_secs_f64().abs() <= MAX_DRIFT_S;
            if !expected.is_some_and(is_near) && self.anchors.len() < MAX_ANCHORS {
                self.anchors.push((self.end.run_s, start));
            }
        }
        self.end = Moment { at: header.end, run_s: self.end.run_s + header.elapsed_s };
    }

    /// Returns the moment after some seconds of intervals.
    pub fn moment(&self, run_s: f64) -> Moment {
        Moment { at: self.time_at(run_s), run_s }
    }

    /// The end of the latest interval.
    pub fn end(&self) -> Moment {
        self.end
    }

    /// The first and the last time of day; `None` without a wall clock.
    pub fn range(&self) -> Option<(Timestamp, Timestamp)> {
        Some((self.anchors.first()?.1, self.end.at?))
    }

    /// Returns the seconds since the first sample after some seconds of intervals: breaks in time count, as far as the wall
    /// clock went forward meanwhile.
    pub fn elapsed_s(&self, run_s: f64) -> f64 {
        let mut elapsed_s = run_s;
        for pair in self.anchors.windows(2).take_while(|pair| pair[1].0 <= run_s) {
            let between = pair[1].1.duration_since(pair[0].1).as_secs_f64();
            elapsed_s += (between - (pair[1].0 - pair[0].0)).max(0.0);
        }
        elapsed_s
    }

    /// Returns the breaks in time as ranges of [`Self::elapsed_s`].
    pub fn gaps(&self) -> Vec<(f64, f64)> {
        let breaks = self.anchors.iter().skip(1).map(|(run_s, _)| {
            let after = self.elapsed_s(*run_s);
            (self.elapsed_s(*run_s - 1e-6), after)
        });
        breaks.filter(|(begin, end)| end - begin > MAX_DRIFT_S).collect()
    }

    fn time_at(&self, run_s: f64) -> Option<Timestamp> {
        let anchor = self.anchors.iter().rev().find(|(anchor_s, _)| *anchor_s <= run_s);
        let (anchor_s, at) = anchor.or_else(|| self.anchors.first())?;
        at.checked_add(SignedDuration::try_from_secs_f64(run_s - anchor_s).ok()?).ok()
    }
}
