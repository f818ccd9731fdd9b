//! The dates and times in the logs of sysstat, which are written in the order of a locale.

use std::fmt;

use jiff::civil::{Date, DateTime};
use jiff::{SignedDuration, Timestamp};

use crate::capture::time_form::{LocalTimes, TimeForm, find_time};

/// The dates and times that sysstat prints. A date of three numbers is read in the order of the locale.
#[derive(Clone, Debug, Default)]
pub(super) struct SysstatTimes {
    pub(super) local: LocalTimes,
    /// Day before month, as something showed; `None` while nothing did.
    day_first: Option<bool>,
    /// The order of a date was a guess, and it would also be valid in the other.
    is_ambiguous: bool,
    /// The numbers of the last such date.
    last_date: Option<[i16; 3]>,
    /// The text with the date in the head line, which times of day follow.
    head: String,
    /// The last time of day, and the date on which it was.
    last: Option<DateTime>,
}

impl SysstatTimes {
    pub(super) fn new(local: LocalTimes) -> Self {
        Self { local, ..Self::default() }
    }

    /// Takes the text of a head line.
    pub(super) fn begin(&mut self, head: &str) {
        head.clone_into(&mut self.head);
        self.last = None;
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
        if line.split_whitespace().any(|word| matches!(word, "AM" | "PM")) {
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
            (None, None) => self.head_date().unwrap_or(Date::constant(1970, 1, 1)).to_datetime(of_day),
            (None, Some(last)) => {
                // Midnight has passed if it went back by more than half a day.
                let same_day = last.date().to_datetime(of_day);
                let is_next = last.duration_since(same_day) > SignedDuration::from_hours(12);
                if is_next { same_day.tomorrow().ok()? } else { same_day }
            }
        };
        if date.is_none() {
            self.last = Some(time);
        }
        self.local.zone.to_timestamp(time).ok()
    }

    /// `06/13/2018`, `13.06.2018`, `06/13/18`, `2018-06-13`.
    fn date(&mut self, word: &str) -> Option<Date> {
        let separator = word.chars().find(|c| "/.-".contains(*c))?;
        let parts: Vec<&str> = word.trim_end_matches('.').split(separator).collect();
        let [first, second, third] = parts[..] else { return None };
        if parts.iter().any(|part| part.len() > 4 || part.bytes().any(|byte| !byte.is_ascii_digit())) {
            return None;
        }
        let number = |text: &str| text.parse::<i16>().ok();
        let (first, second, third, is_year_first) =
            (number(first)?, number(second)?, number(third)?, first.len() == 4);
        let full = |year: i16| match year {
            0..69 => 2000 + year,
            69..100 => 1900 + year,
            _ => year,
        };
        let small = |value: i16| i8::try_from(value).ok();
        if is_year_first {
            return Date::new(first, small(second)?, small(third)?).ok();
        }
        let in_order = |[first, second, third]: [i16; 3], day_first: bool| {
            let (day, month) = if day_first { (first, second) } else { (second, first) };
            Date::new(full(third), small(month)?, small(day)?).ok()
        };
        let numbers = [first, second, third];
        let (by_day, by_month) = (in_order(numbers, true), in_order(numbers, false));
        let order = match (by_day, by_month) {
            (Some(_), None) => Some(true),
            (None, Some(_)) => Some(false),
            (Some(day), Some(month)) => self.day_first.or_else(|| self.order_of(day, month, in_order)),
            (None, None) => return None,
        };
        self.day_first = order;
        self.is_ambiguous = order.is_none() && separator != '.' && by_day != by_month;
        self.last_date = Some(numbers);
        if order.unwrap_or(separator != '/') { by_day } else { by_month }
    }

    /// Returns whether the day is first, if a date in both orders shows it: only one is not in the future, or is the next day.
    fn order_of(
        &self,
        day: Date,
        month: Date,
        in_order: impl Fn([i16; 3], bool) -> Option<Date>,
    ) -> Option<bool> {
        let latest = self.local.zone.to_datetime(self.local.latest).date();
        if (day <= latest) != (month <= latest) {
            return Some(day <= latest);
        }
        let is_next = |date: Date, day_first| {
            self.last_date.and_then(|last| in_order(last, day_first)?.tomorrow().ok()) == Some(date)
        };
        let (day, month) = (is_next(day, true), is_next(month, false));
        (day != month).then_some(day)
    }
}

impl fmt::Display for SysstatTimes {
    /// Says what was assumed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_ambiguous { write!(f, ", dates taken for month/day") } else { Ok(()) }
    }
}
