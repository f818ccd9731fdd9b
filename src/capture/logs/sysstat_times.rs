//! The dates and times in the logs of sysstat, which are written in the order of a locale.

use std::fmt;

use jiff::civil::{Date, DateTime};
use jiff::tz::AmbiguousOffset;
use jiff::{SignedDuration, Timestamp};

use crate::capture::normal::time_form::{LocalTimes, TimeForm, find_time, find_times};

/// The dates and times that sysstat prints. A date of three numbers is read in the order of the locale.
#[derive(Clone, Debug, Default)]
pub(super) struct SysstatTimes {
    pub(super) local: LocalTimes,
    /// Day before month, as something showed; `None` while nothing did.
    day_first: Option<bool>,
    /// The order of a date was a guess, and it would also be valid in the other.
    is_ambiguous: bool,
    /// The last such date, with the day first and with the month first.
    last_date: Option<(Option<Date>, Option<Date>)>,
    /// The text with the date in the head line, which times of day follow.
    head: String,
    /// The last time of day, and the date on which it was.
    last: Option<DateTime>,
    /// The last time.
    latest: Option<Timestamp>,
}

impl SysstatTimes {
    pub(super) fn new(local: LocalTimes) -> Self {
        Self {
            local,
            ..Self::default()
        }
    }

    /// Takes the text of a head line.
    pub(super) fn begin(&mut self, head: &str) {
        // Korean dates have blanks.
        self.head = head.replace("년 ", "년").replace("월 ", "월");
        (self.last, self.latest) = (None, None);
    }

    /// Takes the text of a number: languages with a decimal comma have the day first.
    pub(super) fn observe_number(&mut self, word: &str) {
        if word.contains(',') {
            self.day_first.get_or_insert(true);
        }
    }

    /// Returns the date in the head line.
    fn head_date(&mut self) -> Option<Date> {
        let head = std::mem::take(&mut self.head);
        let date = head.split_whitespace().find_map(|word| self.date(word));
        self.head = head;
        date
    }

    /// Returns the midnight of the date in the head line.
    pub(super) fn midnight(&mut self) -> Option<Timestamp> {
        let date = self.head_date()?;
        self.local.zone.to_timestamp(date.into()).ok()
    }

    /// Returns the time in a line.
    pub(super) fn find(&mut self, line: &str) -> Option<Timestamp> {
        if line
            .split_whitespace()
            .any(|word| matches!(word, "AM" | "PM"))
        {
            self.day_first.get_or_insert(false);
        }
        let (mut date, mut other_words) = (None, Vec::new());
        for word in line.split_whitespace() {
            match self.date(word) {
                Some(found) => date = date.or(Some(found)),
                None => other_words.push(word),
            }
        }
        let found = find_time(&other_words.join(" "))?;
        if found.form != TimeForm::TimeOfDay {
            return date.is_none().then(|| self.local.timestamp(&found));
        }
        let of_day = self.local.civil(&found).time();
        let time = match (date, self.last) {
            (Some(date), _) => date.to_datetime(of_day),
            (None, None) => self
                .head_date()
                .unwrap_or(Date::constant(1970, 1, 1))
                .to_datetime(of_day),
            (None, Some(last)) => {
                // Midnight has passed if it went back by more than half a day.
                let same_day = last.date().to_datetime(of_day);
                let is_next = last.duration_since(same_day) > SignedDuration::from_hours(12);
                if is_next {
                    same_day.tomorrow().ok()?
                } else {
                    same_day
                }
            }
        };
        if date.is_none() {
            self.last = Some(time);
        }
        self.in_zone(time)
    }

    /// Returns the instant of a time in the zone of the log. One of an hour that occurs twice, when the clocks are put back, goes
    /// on from the time before.
    fn in_zone(&mut self, time: DateTime) -> Option<Timestamp> {
        let ambiguous = self.local.zone.to_ambiguous_timestamp(time);
        let is_twice = matches!(ambiguous.offset(), AmbiguousOffset::Fold { .. });
        let earlier = ambiguous.compatible().ok()?;
        let is_over = self.latest.is_some_and(|latest| earlier < latest);
        let found = if is_twice && is_over {
            ambiguous.later().ok()?
        } else {
            earlier
        };
        self.latest = Some(found);
        Some(found)
    }

    /// `06/13/2018`, `13.06.2018`, `06/13/18`, `2018-06-13`, `2018年06月13日`.
    fn date(&mut self, word: &str) -> Option<Date> {
        let numbers;
        let word = if word.contains(['年', '년']) {
            let is_end = |c| matches!(c, '日' | '일');
            numbers = word
                .trim_end_matches(is_end)
                .replace(['年', '년', '月', '월'], "-");
            &numbers
        } else {
            word
        };
        let separator = word.chars().find(|c| "/.-".contains(*c))?;
        if word
            .bytes()
            .any(|byte| !byte.is_ascii_digit() && !b"/.-".contains(&byte))
        {
            return None;
        }
        let found = find_times(&format!("{} 0:00", word.trim_end_matches('.')));
        let date_of = |form| {
            found
                .iter()
                .find(|found| found.form == form)
                .map(|date| self.local.civil(date).date())
        };
        if let Some(date) = date_of(TimeForm::YearFirst) {
            return Some(date);
        }
        let (by_day, by_month) = (date_of(TimeForm::DayFirst), date_of(TimeForm::MonthFirst));
        let order = match (by_day, by_month) {
            (Some(_), None) => Some(true),
            (None, Some(_)) => Some(false),
            (Some(day), Some(month)) => self.day_first.or_else(|| self.order_of(day, month)),
            (None, None) => return None,
        };
        self.day_first = order;
        self.is_ambiguous = order.is_none() && separator != '.' && by_day != by_month;
        self.last_date = Some((by_day, by_month));
        if order.unwrap_or(separator != '/') {
            by_day
        } else {
            by_month
        }
    }

    /// Returns whether the day is first, if a date in both orders shows it: only one is not in the future, or is the next day.
    fn order_of(&self, day: Date, month: Date) -> Option<bool> {
        let latest = self.local.zone.to_datetime(self.local.latest).date();
        if (day <= latest) != (month <= latest) {
            return Some(day <= latest);
        }
        let (last_day, last_month) = self.last_date?;
        let is_next = |date: Date, last: Option<Date>| {
            last.and_then(|last| last.tomorrow().ok()) == Some(date)
        };
        let (day, month) = (is_next(day, last_day), is_next(month, last_month));
        (day != month).then_some(day)
    }
}

impl fmt::Display for SysstatTimes {
    /// Says what was assumed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_ambiguous {
            write!(f, ", dates taken for month/day")
        } else {
            Ok(())
        }
    }
}
