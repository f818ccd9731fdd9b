//! Times of day in the text of an analysis.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::intervals::{Moment, RunClock};
use crate::report::layout::sentence_numbers::number;

/// Formats the moments of a run: as times of day, with the date where the run spans several days, or as seconds from the
/// start where there is no wall clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times<'a> {
    clock: &'a RunClock,
    zone: &'a TimeZone,
    has_dates: bool,
}

impl<'a> Times<'a> {
    pub(super) fn new(clock: &'a RunClock, zone: &'a TimeZone) -> Self {
        let has_dates = clock.range().is_some_and(|(first, last)| date(first, zone) != date(last, zone));
        Self { clock, zone, has_dates }
    }

    /// A moment: `16:04:47`, `2026-11-20 16:04:47` or `12.5 s`.
    pub(super) fn moment(&self, moment: Moment) -> String {
        match moment.at {
            Some(at) if self.has_dates => format!("{} {}", date(at, self.zone), self.time_of_day(at)),
            Some(at) => self.time_of_day(at),
            None => format!("{} s", number(moment.run_s)),
        }
    }

    /// The moment after some seconds of intervals.
    pub(super) fn after(&self, run_s: f64) -> String {
        self.moment(self.clock.moment(run_s))
    }

    /// From one moment to another: `16:04:47-16:05:12`.
    pub(super) fn range(&self, begin: Moment, end: Moment) -> String {
        self.both(begin, end).join("-")
    }

    /// Two moments. The date is given again only where it differs.
    pub(super) fn both(&self, begin: Moment, end: Moment) -> [String; 2] {
        let same_day = begin.at.zip(end.at).filter(|(a, b)| date(*a, self.zone) == date(*b, self.zone));
        let end = match same_day {
            Some((_, end)) => self.time_of_day(end),
            None => self.moment(end),
        };
        [self.moment(begin), end]
    }

    /// The time of the whole run with its date and zone: `2026-11-20 16:04:14-16:06:00 UTC`; the unit without a clock.
    pub(super) fn run(&self) -> String {
        let Some((first, last)) = self.clock.range() else {
            return "no timestamps: times are seconds from the start".to_owned();
        };
        let zone = last.to_zoned(self.zone.clone()).strftime("%Z").to_string();
        let with_date = Self { has_dates: true, ..*self };
        let moment = |at| Moment { at: Some(at), run_s: 0.0 };
        format!("{} {zone}", with_date.range(moment(first), moment(last)))
    }

    fn time_of_day(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone()).strftime("%H:%M:%S").to_string()
    }
}

fn date(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d").to_string()
}
