//! What devices did together.

use crate::metrics::{CounterDelta, DataFlag, IntervalStats};
use crate::report::native::{Judged, State};
use crate::units::Interval;

/// A sum over devices. It is one of differences: counters that are added up before wrap and start anew elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Total {
    advance: Option<CounterDelta>,
    in_flight_before: Option<u64>,
    in_flight: Option<u64>,
    had_reset: bool,
    leaves_out: bool,
}

impl Total {
    /// Of no device.
    pub(super) const NONE: Self = Self {
        advance: None,
        in_flight_before: Some(0),
        in_flight: Some(0),
        had_reset: false,
        leaves_out: false,
    };

    /// Adds a device whose counters went so far, with its requests in flight before and after.
    pub(super) fn add(&mut self, advance: &CounterDelta, in_flight: (Option<u64>, Option<u64>)) {
        let plus = |sum: Option<u64>, of: Option<u64>| sum.zip(of).map(|(sum, of)| sum.saturating_add(of));
        self.advance = Some(self.advance.map_or(*advance, |sum| sum.beside(advance)));
        self.in_flight_before = plus(self.in_flight_before, in_flight.0);
        self.in_flight = plus(self.in_flight, in_flight.1);
    }

    /// Adds a device of which nothing can be said, or that is not counted.
    pub(super) fn add_unknown(&mut self, state: &State) {
        match state {
            State::AccountingOff => self.leaves_out = true,
            _ => self.had_reset = true,
        }
    }

    /// The sum; `None` over no device.
    pub(super) fn state(&self, interval: Interval) -> Option<State> {
        if self.had_reset {
            return Some(State::PartReset);
        }
        let figures = IntervalStats::of(&self.advance?, self.in_flight_before, self.in_flight, interval);
        // Many devices are busy together longer than the clock runs.
        let figures = IntervalStats { util_pct: None, util_bound_pct: None, ..figures };
        let mark = self.leaves_out.then_some(DataFlag::AccountingOff);
        Some(State::Worked(Box::new(Judged { figures, mark, ..Judged::default() })))
    }
}
