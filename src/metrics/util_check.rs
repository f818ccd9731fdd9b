//! What only several intervals of a device tell: how long it has stalled, and whether its util can be true.

use super::IntervalStats;

/// A warning about a number of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFlag {
    /// The kernel's util is less than the requests that were there need.
    UtilTooLow,
    /// The kernel's util is more than the requests that were there can have needed, or than all of the time.
    UtilTooHigh,
    /// It is a total, and the kernel does not count what one of its devices does.
    AccountingOff,
}

impl DataFlag {
    /// Its name in the machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::UtilTooLow => "util_too_low",
            Self::UtilTooHigh => "util_too_high",
            Self::AccountingOff => "accounting_off",
        }
    }
}

/// What was seen of one device so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UtilCheck {
    most_in_flight: u64,
    stalled_s: f64,
    /// The sum of util over the samples: how often requests in flight were to be seen if it is right.
    due_sightings: f64,
}

/// Queue and busy time are sums of whole milliseconds.
const ROUNDING_PCT_SECONDS: f64 = 0.5;

impl UtilCheck {
    /// Takes note of an interval.
    pub fn see(&mut self, figures: &IntervalStats) {
        self.see_in_flight(figures.in_flight.max(figures.in_flight_before).unwrap_or(0));
        self.stalled_s = if figures.is_stalled() { self.stalled_s + figures.seconds } else { 0.0 };
        self.due_sightings += figures.util_pct.unwrap_or(0.0).min(100.0) / 100.0;
    }

    /// Takes note of a sample within the next interval.
    pub fn see_in_flight(&mut self, in_flight: u64) {
        self.most_in_flight = self.most_in_flight.max(in_flight);
    }

    /// For how long requests have been in flight without one being completed, in seconds, up to the end of the
    /// last interval; it is at least that. Zero when there is no stall.
    pub fn stalled_s(&self) -> f64 {
        // Ten tenths of a second are one.
        (self.stalled_s * 1e9).round() / 1e9
    }

    /// What is wrong with the util of the interval that was seen last.
    ///
    /// Too high (formulas): more than 100, or more than the times of its requests allow. Too low: it implies many
    /// more requests in flight whenever there was one than were ever seen in flight. A device that works in
    /// short bursts is hard to catch at it, so that takes a util near zero, or a longer look.
    pub fn mark(&self, figures: &IntervalStats) -> Option<DataFlag> {
        const FAR_ABOVE: f64 = 8.0;
        const LEAST_QUEUE: f64 = 0.1;
        const NEAR_ZERO_PCT: f64 = 2.0;
        const LONG_LOOK: f64 = 3.0;
        let (util, bound) = (figures.util_pct?, figures.util_bound_pct?);
        if util > bound + 1.0 + ROUNDING_PCT_SECONDS / figures.seconds {
            return Some(DataFlag::UtilTooHigh);
        }
        let queue = figures.queue?;
        let while_busy = queue / (util / 100.0);
        let is_far_above = while_busy > FAR_ABOVE * self.most_in_flight.max(1) as f64;
        let is_sure = util < NEAR_ZERO_PCT || self.due_sightings >= LONG_LOOK;
        (queue >= LEAST_QUEUE && is_far_above && is_sure).then_some(DataFlag::UtilTooLow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(util_pct: f64, queue: f64, in_flight: u64) -> IntervalStats {
        let util_bound_pct = Some(util_pct.min(100.0).min((queue + in_flight as f64) * 100.0));
        IntervalStats {
            seconds: 1.0,
            util_pct: Some(util_pct),
            util_bound_pct,
            queue: Some(queue),
            in_flight: Some(in_flight),
            in_flight_before: Some(in_flight),
            completed: 100,
            ..IntervalStats::default()
        }
    }

    fn marked(all: &[IntervalStats]) -> Option<DataFlag> {
        let mut history = UtilCheck::default();
        all.iter().for_each(|figures| history.see(figures));
        history.mark(all.last().unwrap())
    }

    #[test]
    fn more_than_the_time_of_the_requests_is_too_high() {
        assert_eq!(marked(&[figures(90.0, 0.02, 0)]), Some(DataFlag::UtilTooHigh));
        assert_eq!(marked(&[figures(130.0, 7.0, 9)]), Some(DataFlag::UtilTooHigh));
        assert_eq!(marked(&[figures(90.0, 0.895, 0)]), None);
        assert_eq!(marked(&[figures(100.3, 7.0, 9)]), None);
    }

    #[test]
    fn many_more_in_flight_than_were_ever_seen_is_too_low() {
        assert_eq!(marked(&[figures(0.4, 1.14, 2)]), Some(DataFlag::UtilTooLow));
        assert_eq!(marked(&[figures(0.0, 0.6, 0)]), Some(DataFlag::UtilTooLow));
        // 64 were seen in flight before.
        assert_eq!(marked(&[figures(100.0, 60.0, 64), figures(0.4, 1.14, 2)]), None);
        assert_eq!(marked(&[figures(8.4, 0.114, 0)]), None);
    }

    #[test]
    fn a_burst_is_not_expected_to_be_seen_at_once() {
        let burst = figures(30.0, 15.0, 0);
        assert_eq!(marked(&[burst]), None);
        assert_eq!(marked(&[burst; 11]), Some(DataFlag::UtilTooLow));
    }

    #[test]
    fn a_stall_lasts_until_something_is_completed() {
        let stalled = IntervalStats { completed: 0, ..figures(0.0, 0.0, 3) };
        let mut history = UtilCheck::default();
        history.see(&stalled);
        history.see(&IntervalStats { seconds: 2.5, ..stalled });
        assert_eq!(history.stalled_s(), 3.5);
        history.see(&figures(1.0, 1.0, 3));
        assert_eq!(history.stalled_s(), 0.0);
    }
}
