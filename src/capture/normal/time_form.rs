//! The forms in which captures from elsewhere tell their times.
//!
//! A time is found by its content, wherever it is in a line: there is no option that names its form.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};

use super::first_lines::number;
use super::names::{Half, half_of_day, month_number, named_offset};

/// The form of a time. All times of a capture have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeForm {
    /// Seconds, milliseconds, microseconds or nanoseconds since 1970.
    Epoch,
    /// A date of three numbers: `2017-08-06T06:13:20Z`, `20170806 06:13:20`.
    YearFirst,
    /// `06.08.2017 06:13:20`
    DayFirst,
    /// `08/06/2017 06:13:20`
    MonthFirst,
    /// A date with the name of a month and a year, as `date` prints it in many languages.
    NamedDate,
    /// The name of a month and a day, without a year, as system logs have it.
    DayOfYear,
    /// A time of day without a date.
    TimeOfDay,
    /// The numbers of /proc/uptime, or seconds since boot with microseconds.
    Uptime,
}

impl TimeForm {
    /// Returns the form in which the same numbers may be read.
    pub(crate) fn other_order(self) -> Option<Self> {
        match self {
            Self::DayFirst => Some(Self::MonthFirst),
            Self::MonthFirst => Some(Self::DayFirst),
            _ => None,
        }
    }
}

impl Display for TimeForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Epoch => "seconds since 1970",
            Self::YearFirst | Self::NamedDate => "dates",
            Self::DayFirst => "dates, the day before the month",
            Self::MonthFirst => "dates, the month before the day",
            Self::DayOfYear => "dates without a year, taken to be in the latest year possible",
            Self::TimeOfDay => "times of day without a date",
            Self::Uptime => "the uptime",
        })
    }
}

/// A time that stands in a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FoundTime {
    pub(crate) form: TimeForm,
    /// Without a year it is in 1972, without a date on the first day of 1970. An uptime is the time since 1970.
    pub(crate) time: Timestamp,
    /// It names no time zone: `time` is as if it were UTC.
    pub(crate) is_local: bool,
    /// The number of words and numbers before it.
    pub(crate) words_before: usize,
    /// The digits of seconds, milliseconds and so on since 1970; 0 for other forms.
    pub(crate) digits: usize,
}

/// The zone and the latest date of a capture, for times that name no zone or no year.
#[derive(Clone, Debug)]
pub struct LocalTimes {
    pub zone: TimeZone,
    /// Nothing was written later.
    pub latest: Timestamp,
}

impl Default for LocalTimes {
    fn default() -> Self {
        Self {
            zone: TimeZone::UTC,
            latest: Timestamp::UNIX_EPOCH,
        }
    }
}

impl LocalTimes {
    /// Returns the date and time as they are written. Without a year it is in the latest one possible.
    pub(crate) fn civil(&self, found: &FoundTime) -> DateTime {
        let written = Offset::UTC.to_datetime(found.time);
        if found.form != TimeForm::DayOfYear {
            return written;
        }
        let latest = self.zone.to_datetime(self.latest);
        // There may be seven years between two leap years.
        for back in 0..=8 {
            if let Ok(time) = written.with().year(latest.year() - back).build()
                && time <= latest
            {
                return time;
            }
        }
        written
    }
}

/// Returns the first time in a line of a log, which has no uptime.
pub(crate) fn find_time(line: &str) -> Option<FoundTime> {
    find_times(line)
        .into_iter()
        .find(|found| found.form != TimeForm::Uptime)
}

/// Returns whether nothing but a time is in a line; a row of a table has numbers with fractions.
pub(super) fn is_time_alone(line: &str) -> bool {
    let is_rate = |word| number(word).is_some_and(|number| number.digits > 0 && number.value < 1e9);
    find_time(line).is_some() && !line.split_whitespace().any(is_rate)
}

/// The words of a line that are looked at; lines of /proc/stat have thousands.
const MAX_WORDS: usize = 64;

/// Returns everything in a line that reads as a time.
pub(crate) fn find_times(line: &str) -> Vec<FoundTime> {
    let mut times = Vec::new();
    if !line.bytes().any(|byte| byte.is_ascii_digit()) {
        return times;
    }
    if let Some(time) = uptime(line) {
        times.push(FoundTime {
            form: TimeForm::Uptime,
            time,
            is_local: false,
            words_before: 0,
            digits: 0,
        });
    }
    let line = in_ascii(line);
    let tokens = tokens(&line);
    for at in 0..tokens.len().min(MAX_WORDS) {
        let mut found = Vec::new();
        if let Some(time) = epoch(tokens[at]) {
            found.push((TimeForm::Epoch, (time, false)));
        }
        found.extend(numeric_dates(&tokens[at..]));
        found.extend(named_date(&tokens[at..]));
        if let Some((time_of_day, _)) = time_of_day(&tokens, at)
            && let Ok(time) =
                Offset::UTC.to_timestamp(Date::constant(1970, 1, 1).to_datetime(time_of_day))
        {
            found.push((TimeForm::TimeOfDay, (time, true)));
        }
        if let Some(time) = monotonic(tokens[at]) {
            found.push((TimeForm::Uptime, (time, false)));
        }
        for (form, (time, is_local)) in found {
            let digits = match form {
                TimeForm::Epoch => whole_digits(tokens[at]),
                _ => 0,
            };
            times.push(FoundTime {
                form,
                time,
                is_local,
                words_before: at,
                digits,
            });
        }
    }
    times
}

/// Replaces what Chinese, Japanese and Korean have instead of colons.
fn in_ascii(line: &str) -> Cow<'_, str> {
    if line.is_ascii() {
        return Cow::Borrowed(line);
    }
    let mut ascii = String::new();
    for c in line.replace("시 ", ":").replace("분 ", ":").chars() {
        ascii.push(match c {
            '時' | '时' | '點' | '点' | '시' | '分' | '분' => ':',
            '秒' | '초' => ' ',
            c => c,
        });
    }
    Cow::Owned(ascii)
}

/// What a character can be a part of.
#[derive(Clone, Copy, PartialEq)]
enum TokenKind {
    Number,
    Word,
    Neither,
}

impl TokenKind {
    fn of(c: char) -> Self {
        match c {
            '0'..='9' | ':' | '.' | ',' => Self::Number,
            _ if c.is_alphabetic() => Self::Word,
            _ => Self::Neither,
        }
    }
}

/// The words and numbers of a line: digits with the points and colons between them, letters, or a sign with digits.
fn tokens(line: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = 0;
    for (at, c) in line.char_indices() {
        let kind = TokenKind::of(c);
        let end = at + c.len_utf8();
        if let Some(next) = line[end..].chars().next()
            && TokenKind::of(next) == kind
        {
            continue;
        }
        let whole = line[start..end].trim_matches(['.', ':', ',']);
        if kind != TokenKind::Neither && !whole.is_empty() {
            let before = &line[..start];
            let is_signed = kind == TokenKind::Number && before.ends_with(['+', '-']);
            let length = length_of_date(whole, is_signed).unwrap_or(whole.len());
            let (token, rest) = whole.split_at(length);
            tokens.push(if is_signed || is_number_of_name(before, token) {
                &line[start - 1..start + token.len()]
            } else {
                token
            });
            let after = rest.trim_start_matches([':', '.']);
            if !after.is_empty() {
                tokens.push(after);
            }
        }
        start = end;
    }
    tokens
}

/// Returns whether a short number belongs to the word before it, as in `db1`. A `T` may stand before a time of day.
fn is_number_of_name(before: &str, token: &str) -> bool {
    let is_short = token.starts_with(|c: char| c.is_ascii_digit())
        && token
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(token.len())
            <= 3;
    is_short && before.ends_with(|c: char| c.is_ascii_alphabetic() && c != 'T')
}

/// Returns the length of a date, year or day that has a time of day right behind it: `20170806061320`, `2017:06:13:20`, and
/// `2017-08-06.06.13.20`.
fn length_of_date(token: &str, is_signed: bool) -> Option<usize> {
    let length = token.find(['.', ',']).unwrap_or(token.len());
    let is_packed = length == 14 && digits(&token[..14]).is_some();
    let is_year = token.find(':') == Some(4) && token.matches(':').count() == 3;
    let is_day = is_signed && length == 2 && token.matches('.').count() == 3;
    if is_packed {
        Some(8)
    } else if is_year {
        Some(4)
    } else if is_day {
        Some(2)
    } else {
        None
    }
}

fn digits(token: &str) -> Option<u64> {
    let is_number = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { token.parse().ok() } else { None }
}

/// Seconds and nanoseconds of a decimal number with a point or a comma.
fn decimal(token: &str) -> Option<(u64, u32)> {
    let (seconds, fraction) = token.split_once(['.', ',']).unwrap_or((token, "0"));
    digits(fraction)?;
    let nanos = format!("{fraction:0<9}")[..9].parse().ok()?;
    Some((digits(seconds)?, nanos))
}

/// Seconds since boot with this many digits of a fraction.
fn since_boot(token: &str, digits: usize) -> Option<Timestamp> {
    let (whole, fraction) = token.split_once('.')?;
    if whole.len() >= 18 || fraction.len() != digits {
        return None;
    }
    let (seconds, nanos) = decimal(token)?;
    Timestamp::new(seconds.try_into().ok()?, nanos.try_into().ok()?).ok()
}

/// One or two numbers with hundredths that are the whole line.
fn uptime(line: &str) -> Option<Timestamp> {
    let mut words = line.split_ascii_whitespace();
    let time = since_boot(words.next()?, 2)?;
    if let Some(idle) = words.next() {
        since_boot(idle, 2)?;
    }
    match words.next() {
        Some(_) => None,
        None => Some(time),
    }
}

/// Seconds since boot as the kernel's log has them: `[12345.678901]`.
fn monotonic(token: &str) -> Option<Timestamp> {
    since_boot(token, 6).filter(|time| time.as_second() < 100_000_000)
}

/// No copy of /proc/diskstats is older than 2001.
const EPOCH_SECONDS: std::ops::Range<i64> = 1_000_000_000..5_000_000_000;

fn whole_digits(token: &str) -> usize {
    token.find(['.', ',']).unwrap_or(token.len())
}

fn epoch(token: &str) -> Option<Timestamp> {
    let (number, nanos) = decimal(token)?;
    let unit = match whole_digits(token) {
        10 => 1_000_000_000,
        13 => 1_000_000,
        16 => 1000,
        19 => 1,
        _ => return None,
    };
    let time = Timestamp::from_nanosecond(i128::from(number) * unit + i128::from(nanos)).ok()?;
    if !EPOCH_SECONDS.contains(&time.as_second()) {
        return None;
    }
    Some(time)
}

/// A time of day in a list of words, and the index of the word after it.
type DayTime = (Time, usize);

/// Returns the time of day at a word: `06:13`, `06:13:20.25`, `6:13:20 PM`, `下午 6:13:20`.
fn time_of_day(tokens: &[&str], at: usize) -> Option<DayTime> {
    let token = tokens.get(at)?;
    let mut parts = token.splitn(3, ':');
    let (hour, minute) = (parts.next()?, parts.next()?);
    time_of_parts(tokens, at, [hour, minute, parts.next().unwrap_or("0")])
}

/// Returns the time of day at a word behind a date, in which other signs stand for colons: `06.13.20`, `06-13-20`, `061320`.
fn time_after_date(tokens: &[&str], at: usize) -> Option<DayTime> {
    if let Some(found) = time_of_day(tokens, at) {
        return Some(found);
    }
    let token = tokens.get(at)?.trim_start_matches('-');
    if let Some([minute, second]) = tokens.get(at + 1..at + 3)
        && let (Some(minute), Some(second)) = (minute.strip_prefix('-'), second.strip_prefix('-'))
    {
        let (time, _) = time_of_parts(tokens, at, [token, minute, second])?;
        return Some((time, at + 3));
    }
    let parts: Vec<&str> = token.split(['.', ',', ':']).collect();
    match parts[..] {
        [hour, minute, second] if second.len() == 2 => {
            time_of_parts(tokens, at, [hour, minute, second])
        }
        [number] | [number, _] if number.len() == 6 && number.is_ascii() => {
            time_of_parts(tokens, at, [&token[..2], &token[2..4], &token[4..]])
        }
        _ => None,
    }
}

fn time_of_parts(tokens: &[&str], at: usize, [hour, minute, second]: [&str; 3]) -> Option<DayTime> {
    let mut hour = two_digits(hour)?;
    let minute = two_digits(minute)?;
    let (seconds, nanos) = decimal(second)?;
    let before = match at {
        0 => None,
        _ => half_of_day(tokens.get(at - 1)),
    };
    let after = half_of_day(tokens.get(at + 1));
    let halves = [before, after];
    if halves.contains(&Some(Half::Second)) && hour < 12 {
        hour += 12;
    } else if halves.contains(&Some(Half::First)) && hour == 12 {
        hour = 0;
    }
    // A leap second is the last second of its minute here.
    let second = i8::try_from(if seconds == 60 { 59 } else { seconds }).ok()?;
    let time = Time::new(hour, minute, second, i32::try_from(nanos).ok()?).ok()?;
    Some((time, at + 1 + usize::from(after.is_some())))
}

fn two_digits(text: &str) -> Option<i8> {
    if text.len() > 2 {
        return None;
    }
    i8::try_from(digits(text)?).ok()
}

/// Returns the dates that three numbers and a time of day behind them, after up to three other words, can be.
fn numeric_dates(tokens: &[&str]) -> Vec<(TimeForm, (Timestamp, bool))> {
    let Some((numbers, used, is_month_likely)) = three_numbers(tokens) else {
        return Vec::new();
    };
    let lengths = numbers.each_ref().map(|number| number.len());
    let full = |year: &str| match digits(year)? {
        year if year >= 100 => Some(year),
        year => Some(if year < 70 { 2000 + year } else { 1900 + year }),
    };
    let [first, second, third] = &numbers;
    let mut orders = match lengths {
        [4, 1..=2, 1..=2] => vec![(TimeForm::YearFirst, [first, second, third])],
        [1..=2, 1..=2, 4 | 2] => {
            vec![
                (TimeForm::DayFirst, [third, second, first]),
                (TimeForm::MonthFirst, [third, first, second]),
            ]
        }
        _ => return Vec::new(),
    };
    if is_month_likely {
        orders.reverse();
    }
    // The third number may be the year of a date of its own: `<14>1 2017-08-06T06:13:20Z`.
    let is_year_first = |([year, month, day], ..): ([String; 3], usize, bool)| {
        let date = || date(digits(&year)?, digits(&month)?, digits(&day)?);
        year.len() == 4 && date().is_some()
    };
    let is_in_other = used > 1 && three_numbers(&tokens[used - 1..]).is_some_and(is_year_first);
    let day_time = (used..tokens.len().min(used + 4)).find_map(|at| time_after_date(tokens, at));
    let Some((time, end)) = day_time.filter(|_| !is_in_other) else {
        return Vec::new();
    };
    let read = |(form, [year, month, day]): &(TimeForm, [&String; 3])| {
        let date = date(full(year)?, digits(month)?, digits(day)?)?;
        Some((*form, with_offset(date.to_datetime(time), &tokens[end..])?))
    };
    orders.iter().filter_map(read).collect()
}

/// Returns the first three numbers, how many words they take, and whether a month is more likely first if no year is.
fn three_numbers(tokens: &[&str]) -> Option<([String; 3], usize, bool)> {
    let first = tokens.first()?.trim_start_matches(['-', '+']);
    let dotted: Vec<&str> = first.split('.').collect();
    if let [one, two, three] = dotted[..] {
        return Some(([one, two, three].map(str::to_owned), 1, false));
    }
    digits(first)?;
    match first.len() {
        8 => {
            return Some((
                [&first[..4], &first[4..6], &first[6..]].map(str::to_owned),
                1,
                false,
            ));
        }
        6 => {
            let [year, month, day] = [&first[..2], &first[2..4], &first[4..]];
            return Some((
                [format!("20{year}"), month.to_owned(), day.to_owned()],
                1,
                false,
            ));
        }
        1..=4 => {}
        _ => return None,
    }
    // Letters between the numbers, as in Chinese and Japanese, are words of their own.
    let numbers = tokens.iter().enumerate().take(5).filter_map(|(at, word)| {
        let number = word.trim_start_matches('-');
        digits(number).map(|_| (at, number.to_owned()))
    });
    let [one, two, three]: [(usize, String); 3] =
        numbers.take(3).collect::<Vec<_>>().try_into().ok()?;
    let has_sign = tokens.get(1)?.starts_with('-');
    Some(([one.1, two.1, three.1], three.0 + 1, !has_sign))
}

/// The years that a date may have. Another number behind a time without a year is that of a process: `db1 monitor[4711]:`.
const YEARS: Range<u64> = 1970..2100;
/// The numbers that are taken for a day; no date has a day 0.
const DAYS: Range<u64> = 0..32;

/// Returns a date of a month, a day, and maybe a year, before or after a time of day: `Sun Aug  6 06:13:20 UTC 2017`, `So 6.
/// Aug 2017, 06:13:20`.
fn named_date(tokens: &[&str]) -> Option<(TimeForm, (Timestamp, bool))> {
    first_number(&tokens[..tokens.len().min(6)], DAYS)?;
    // The date begins with a word, or with the day.
    if month_number(tokens[0]).is_none() && !DAYS.contains(&digits(tokens[0])?) {
        return None;
    }
    let (at, (time, end)) =
        (1..tokens.len().min(7)).find_map(|at| Some((at, time_after_date(tokens, at)?)))?;
    // The name of a day may look like that of a month, which follows it: `mar. 8 août` is a Tuesday.
    let month = tokens[..at]
        .iter()
        .rev()
        .find_map(|word| month_number(word))?;
    let day = first_number(&tokens[..at], DAYS)?;
    let rest = &tokens[end..];
    let year =
        first_number(&tokens[..at], YEARS).or(first_number(&rest[..rest.len().min(3)], YEARS));
    let form = if year.is_some() {
        TimeForm::NamedDate
    } else {
        TimeForm::DayOfYear
    };
    // A leap year has all days.
    let date = date(year.unwrap_or(1972), month, day)?;
    Some((form, with_offset(date.to_datetime(time), rest)?))
}

/// Returns the first number of a range among words.
fn first_number(words: &[&str], range: Range<u64>) -> Option<u64> {
    for word in words {
        if let Some(number) = digits(word.trim_start_matches('-'))
            && range.contains(&number)
        {
            return Some(number);
        }
    }
    None
}

fn date(year: u64, month: u64, day: u64) -> Option<Date> {
    Date::new(
        year.try_into().ok()?,
        month.try_into().ok()?,
        day.try_into().ok()?,
    )
    .ok()
}

/// Returns the time in the zone that the words after it name, or else as if in UTC, and true.
fn with_offset(time: DateTime, after: &[&str]) -> Option<(Timestamp, bool)> {
    let signed = after.iter().take(2).find_map(|word| signed_offset(word));
    let offset = match after.first() {
        Some(word) if signed.is_none() => named_offset(word),
        _ => signed,
    };
    Some((
        offset.unwrap_or(Offset::UTC).to_timestamp(time).ok()?,
        offset.is_none(),
    ))
}

/// Parses an offset from UTC: `+02:00`, `-0330`, `+02`.
fn signed_offset(word: &str) -> Option<Offset> {
    let text = word.strip_prefix(['+', '-'])?.replace(':', "");
    let mut number = i32::try_from(digits(&text)?).ok()?;
    if text.len() <= 2 {
        number *= 100;
    }
    if number >= 10_000 {
        return None;
    }
    let seconds = number / 100 * 3600 + number % 100 * 60;
    Offset::from_seconds(if word.starts_with('-') {
        -seconds
    } else {
        seconds
    })
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<(TimeForm, String)> {
        find_time(line).map(|found| (found.form, found.time.to_string()))
    }

    #[test]
    fn times_are_found_in_any_form() {
        use TimeForm::*;
        let time = "2017-08-06T06:13:20Z";
        for (form, lines) in [
            (
                Epoch,
                vec![
                    "1502000000",
                    "1502000000.000",
                    "1502000000000",
                    "t=1502000000,0",
                    "[1502000000000000000]",
                ],
            ),
            (
                YearFirst,
                vec![
                    "2017-08-06T06:13:20Z",
                    "2017-08-06T08:13:20+02:00",
                    "2017-08-06T02:13:20-0400",
                    "2017-08-06 06:13:20",
                    "### 2017-08-06 06:13:20 ###",
                    "2017/08/06 06:13:20",
                    "20170806 06:13:20",
                    "20170806T061320Z 06:13:20",
                    "2017年 08月 06日 星期日 06:13:20 UTC",
                    "2017年  8月  6日 日曜日 06:13:20 UTC",
                    "2017. 08. 06. (일) 06:13:20 UTC",
                    "2017.08.06 06:13:20",
                    "TS 2017-08-06T06:13:20+00:00",
                    "20170806061320",
                    "20170806-061320",
                    "170806  6:13:20",
                    "2017年08月06日 (週日) 06時13分20秒 UTC",
                    "2017년 08월 06일 일요일 오전 06시 13분 20초",
                    "2017-08-06-06:13:20",
                    "2017-08-06_06-13-20",
                    "2017-08-06.06.13.20",
                    "<14>1 2017-08-06T06:13:20Z db1 disks 77 - -",
                    "[pod/disks-x2l4/disks] 2017-08-06T06:13:20Z",
                ],
            ),
            (
                NamedDate,
                vec![
                    "Sun Aug  6 06:13:20 UTC 2017",
                    "Sun 06 Aug 2017 06:13:20 AM UTC",
                    "zzz ***Sun Aug 6 06:13:20 UTC 2017",
                    "So 6. Aug 06:13:20 UTC 2017",
                    "So 6. Aug 08:13:20 CEST 2017",
                    "dimanche 6 août 2017, 06:13:20 (UTC+0000)",
                    "Вс 06 авг 2017 06:13:20 UTC",
                    "dom ago  6 06:13:20 UTC 2017",
                    "Sonntag, 6. August 2017, 06:13:20 UTC",
                    "mar. 06 août 2017 06:13:20 UTC",
                    "Sun Aug  6 06:13:20 +0000 2017",
                    "6 Aug 2017 06:13:20",
                    "[06/Aug/2017:06:13:20 +0000]",
                    "db17 [06/Aug/2017:06:13:20 +0000]",
                    "Every 1.0s: cat /proc/diskstats      db1: Sun Aug  6 06:13:20 2017",
                    "su 6. elokuuta 2017 06.13.20 +0000",
                ],
            ),
        ] {
            for line in lines {
                assert_eq!(found(line), Some((form, time.to_owned())), "{line}");
            }
        }
        assert!(
            find_time("2026-11-24 10:30:00 -4444444444444444444").is_some(),
            "no zone"
        );
        for (line, form) in [
            ("08/06/2017 06:13:20", MonthFirst),
            ("08/06/17 6:13:20 AM", MonthFirst),
            ("13/06/2017 06:13:20", DayFirst),
            ("06.08.2017 06:13:20", DayFirst),
            ("06-08-2017 06:13:20", DayFirst),
        ] {
            assert_eq!(found(line).map(|(form, _)| form), Some(form), "{line}");
        }
        assert_eq!(
            found("--- 06:13:20"),
            Some((TimeOfDay, "1970-01-01T06:13:20Z".to_owned()))
        );
        assert_eq!(
            found("--- 6:13:20.5 PM"),
            Some((TimeOfDay, "1970-01-01T18:13:20.5Z".to_owned()))
        );
        for process in [77, 1234, 31_234] {
            assert_eq!(
                found(&format!("Aug 06 06:13:20 db1 disks[{process}]:")),
                Some((DayOfYear, "1972-08-06T06:13:20Z".to_owned()))
            );
        }
        for (line, time) in [
            ("351735.27 1234567.00", "1970-01-05T01:42:15.27Z"),
            ("[12345.678901]", "1970-01-01T03:25:45.678901Z"),
        ] {
            let found = find_times(line)[0];
            assert_eq!(
                (found.form, found.time.to_string().as_str()),
                (Uptime, time)
            );
        }
    }

    #[test]
    fn other_numbers_are_no_times() {
        for line in [
            "",
            "cpu  1 2 3",
            "8 0 sda 1 2 3",
            "---",
            "intr 123456",
            "v1.2.3",
            "25:61:99",
            "::1",
            "host 10.0.0.1",
            "1.5 2.5 3.5",
            "ctxt 902000000",
            "[44444444444-444444444444444444444444]",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
        // A year may be part of two dates, and of many.
        assert_eq!(
            found("2017.08.2017 06:13:20").map(|(form, _)| form),
            Some(TimeForm::TimeOfDay)
        );
        assert_eq!(found(&"1 2017 ".repeat(9000)), None);
    }
}
