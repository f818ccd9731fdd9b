//! Makes times of what is written. Dates and times without a zone, without a date, or with the day and the month in an order that
//! nothing tells, become those that go on from the time before.

use std::fmt;

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset};
use jiff::{SignedDuration, Timestamp};

use super::time_form::{FoundTime, LocalTimes, TimeForm, find_times};

const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// Makes a time of each sample or report out of what is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    local: LocalTimes,
    latest: Option<Timestamp>,
    /// The time between the latest two.
    usual: Option<SignedDuration>,
    /// The time that is added to times without a date after midnight, and to all after the clocks were changed.
    carried: SignedDuration,
    /// The text with the date on which times without a date begin, until that is needed, and the date.
    head: Option<String>,
    date: Option<Date>,
    order: DateOrder,
}

impl Clock {
    pub(crate) fn new(local: LocalTimes) -> Self {
        Self {
            local,
            ..Self::default()
        }
    }

    /// Returns a clock at its beginning, for the same zone.
    pub(crate) fn again(&self) -> Self {
        Self::new(self.local.clone())
    }

    pub(super) fn latest(&self) -> Option<Timestamp> {
        self.latest
    }

    /// Begins a log, whose first line has this text with a date.
    pub(crate) fn begin(&mut self, head: &str) {
        *self = Self {
            head: Some(head.to_owned()),
            order: std::mem::take(&mut self.order),
            ..self.again()
        };
    }

    /// Reads the date with which a log began. What was read before may show the order of its numbers.
    fn read_date(&mut self) {
        let Some(head) = self.head.take() else {
            return;
        };
        // The machine and its CPUs follow the date.
        let date = head.split(['_', '(']).next().unwrap_or_default();
        let times = find_times(&format!("{} 0:00", date.trim().trim_end_matches('.')));
        let found = self.order.choose(&times, &self.local);
        self.date = found.map(|found| self.local.civil(found).date());
    }

    /// Returns the midnight of the date with which a log began.
    pub(crate) fn midnight(&mut self) -> Option<Timestamp> {
        self.read_date();
        self.local.zone.to_timestamp(self.date?.into()).ok()
    }

    /// Takes a number as it is printed: languages with a decimal comma have the day first.
    pub(crate) fn observe_number(&mut self, word: &str) {
        if word.contains(',') {
            self.order.day_first.get_or_insert(true);
        }
    }

    /// Returns the time in a text; `None` if it has none.
    pub(crate) fn read(&mut self, text: &str) -> Option<Timestamp> {
        let mut words = text.split_whitespace();
        if words.any(|word| matches!(word, "AM" | "PM")) {
            self.order.day_first.get_or_insert(false);
        }
        let times = find_times(text);
        let found = *self.order.choose(&times, &self.local)?;
        if found.form == TimeForm::TimeOfDay {
            self.read_date();
        }
        Some(self.advance(&found))
    }

    /// Returns the next time, which is one that was found.
    pub(super) fn advance(&mut self, found: &FoundTime) -> Timestamp {
        let written = self.in_zone(found);
        let time = add(written, self.carried);
        let Some(latest) = self.latest.replace(time) else {
            return time;
        };
        let by = self.change(found, time, latest);
        self.carried += by;
        let carried = add(time, by);
        if carried > latest {
            self.usual = Some(carried.duration_since(latest));
        }
        self.latest = Some(carried);
        carried
    }

    /// Returns what a time lacks if midnight has passed, or the clocks were changed.
    fn change(&self, found: &FoundTime, time: Timestamp, latest: Timestamp) -> SignedDuration {
        let usual = self
            .usual
            .unwrap_or(SignedDuration::from_secs(60))
            .max(SignedDuration::from_secs(1));
        let follows = |by: SignedDuration| {
            let step = add(time, by).duration_since(latest);
            step > SignedDuration::ZERO && step <= usual * 2
        };
        let step = time.duration_since(latest);
        if step >= SignedDuration::ZERO {
            let is_forward = found.is_local
                && usual * 6 < HOUR
                && follows(-HOUR)
                && time.as_second().rem_euclid(3600) <= usual.as_secs();
            return if is_forward {
                -HOUR
            } else {
                SignedDuration::ZERO
            };
        }
        if found.form != TimeForm::TimeOfDay {
            // The clocks of the host were put back.
            return if found.is_local && follows(HOUR) {
                HOUR
            } else {
                SignedDuration::ZERO
            };
        }
        for by in [HOUR, HOUR * 12, HOUR * 24] {
            if follows(by) {
                return by;
            }
        }
        if -step > HOUR * 12 {
            HOUR * 24
        } else {
            SignedDuration::ZERO
        }
    }

    /// Returns the time in its zone. One of an hour that occurs twice is taken so that it follows the time before.
    pub(super) fn in_zone(&self, found: &FoundTime) -> Timestamp {
        if !found.is_local {
            return found.time;
        }
        let ambiguous = self.local.zone.to_ambiguous_timestamp(self.civil(found));
        let is_twice = matches!(ambiguous.offset(), AmbiguousOffset::Fold { .. });
        let Ok(earlier) = ambiguous.compatible() else {
            return found.time;
        };
        match self.latest {
            Some(latest) if is_twice && add(earlier, self.carried) <= latest => {
                ambiguous.later().unwrap_or(earlier)
            }
            _ => earlier,
        }
    }

    /// Returns the date and time as they are written.
    fn civil(&self, found: &FoundTime) -> DateTime {
        let written = self.local.civil(found);
        match self.date {
            Some(date) if found.form == TimeForm::TimeOfDay => date.to_datetime(written.time()),
            _ => written,
        }
    }

    /// Lets this time go on where the `latest` one was, though it is read in another way from now on.
    pub(super) fn go_on(&mut self, found: &FoundTime, latest: Timestamp) {
        self.carried = latest.duration_since(self.in_zone(found));
    }

    /// Returns how much later one time is than another, apart from the times before.
    pub(super) fn step(&self, from: &FoundTime, to: &FoundTime) -> SignedDuration {
        let mut clock = Self {
            latest: None,
            carried: SignedDuration::ZERO,
            ..self.clone()
        };
        let from = clock.advance(from);
        clock.advance(to).duration_since(from)
    }
}

impl fmt::Display for Clock {
    /// Says what was assumed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.order.is_ambiguous {
            f.write_str(", dates taken for month/day")?;
        }
        Ok(())
    }
}

pub(super) fn add(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(time)
}

/// The order of the numbers in the dates of a log.
#[derive(Clone, Debug, Default)]
struct DateOrder {
    /// Day before month, as something showed; `None` while nothing did.
    day_first: Option<bool>,
    /// The order of a date was a guess, and it would also be valid in the other.
    is_ambiguous: bool,
    /// The last such date, with the day first and with the month first.
    last: Option<[Date; 2]>,
}

impl DateOrder {
    /// Returns the first of the times found in a text, and of the dates that the same numbers may be, the right one. A log has no
    /// uptime.
    fn choose<'a>(&mut self, times: &'a [FoundTime], local: &LocalTimes) -> Option<&'a FoundTime> {
        let first = times.iter().find(|time| time.form != TimeForm::Uptime)?;
        let other_form = match first.form {
            TimeForm::DayFirst => TimeForm::MonthFirst,
            TimeForm::MonthFirst => TimeForm::DayFirst,
            _ => return Some(first),
        };
        let other = times
            .iter()
            .find(|time| time.form == other_form && time.words_before == first.words_before);
        let Some(other) = other else {
            self.day_first = Some(first.form == TimeForm::DayFirst);
            return Some(first);
        };
        let (by_day, by_month) = if first.form == TimeForm::DayFirst {
            (first, other)
        } else {
            (other, first)
        };
        let dates = [by_day, by_month].map(|time| Offset::UTC.to_datetime(time.time).date());
        self.day_first = self.day_first.or_else(|| self.order_of(dates, local));
        // Dates with points have the day first, and those with slashes in most languages the month.
        self.is_ambiguous =
            self.day_first.is_none() && first.form == TimeForm::MonthFirst && dates[0] != dates[1];
        self.last = Some(dates);
        Some(match self.day_first {
            Some(true) => by_day,
            Some(false) => by_month,
            None => first,
        })
    }

    /// Returns whether the day is first, if a date in both orders shows it: only one is not in the future, or is the next day.
    fn order_of(&self, [day, month]: [Date; 2], local: &LocalTimes) -> Option<bool> {
        let latest = local.zone.to_datetime(local.latest).date();
        if (day <= latest) != (month <= latest) {
            return Some(day <= latest);
        }
        let [last_day, last_month] = self.last?;
        let is_next_day = last_day.tomorrow().is_ok_and(|next| next == day);
        let is_next_month = last_month.tomorrow().is_ok_and(|next| next == month);
        (is_next_day != is_next_month).then_some(is_next_day)
    }
}
