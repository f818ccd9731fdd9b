//! Times of day in the text of an analysis.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::intervals::{Moment, RunClock};
use crate::report::layout::sentence_numbers::number;

/// Formats the moments of a run: as times of day, or as seconds from the start if there is no wall clock. Times have
/// their date unless the run has only one, and their offset from UTC if that changes during the run.
pub(super) struct Times<'a> {
    clock: &'a RunClock,
    zone: &'a TimeZone,
    /// The only date of the run; `None` if it spans several.
    only_date: Option<Date>,
    has_offsets: bool,
}

impl<'a> Times<'a> {
    pub(super) fn new(clock: &'a RunClock, zone: &'a TimeZone) -> Self {
        let both = clock.range().map(|(first, last)| [first, last].map(|at| at.to_zoned(zone.clone())));
        let only_date = both.as_ref().map(|[first, last]| (first.date(), last.date()));
        Self {
            clock,
            zone,
            only_date: only_date.filter(|(first, last)| first == last).map(|(date, _)| date),
            has_offsets: both.is_some_and(|[first, last]| first.offset() != last.offset()),
        }
    }

    /// A moment: `16:04:47`, `2026-11-20 16:04:47` or `12.5 s`.
    pub(super) fn moment(&self, moment: Moment) -> String {
        match moment.at {
            Some(at) if self.only_date == Some(date(at, self.zone)) => self.time_of_day(at),
            Some(at) => self.with_date(at),
            None => format!("{} s", number(moment.run_s)),
        }
    }

    /// The moment after some seconds of intervals.
    pub(super) fn after(&self, run_s: f64) -> String {
        self.moment(self.clock.moment(run_s))
    }

    /// Two moments. The date is repeated only if it differs.
    pub(super) fn both(&self, begin: Moment, end: Moment) -> [String; 2] {
        let end = match begin.at.zip(end.at) {
            Some((begin, end)) if date(begin, self.zone) == date(end, self.zone) => self.time_of_day(end),
            Some((_, end)) => self.with_date(end),
            None => self.moment(end),
        };
        [self.moment(begin), end]
    }

    /// The time of the whole run with its date and zone: `2026-11-20 16:04:14-16:06:00 UTC`; the unit without a clock.
    pub(super) fn run(&self) -> String {
        let Some((first, last)) = self.clock.range() else {
            return "no timestamps: times are seconds from the start".to_owned();
        };
        let with_date = Self { only_date: None, ..*self };
        let moment = |at| Moment { at: Some(at), run_s: 0.0 };
        let range = with_date.both(moment(first), moment(last)).join("-");
        if self.has_offsets {
            return range;
        }
        format!("{range} {}", last.to_zoned(self.zone.clone()).strftime("%Z"))
    }

    fn with_date(&self, at: Timestamp) -> String {
        format!("{} {}", date(at, self.zone), self.time_of_day(at))
    }

    fn time_of_day(&self, at: Timestamp) -> String {
        let format = if self.has_offsets { "%H:%M:%S%:z" } else { "%H:%M:%S" };
        at.to_zoned(self.zone.clone()).strftime(format).to_string()
    }
}

fn date(at: Timestamp, zone: &TimeZone) -> Date {
    at.to_zoned(zone.clone()).date()
}
