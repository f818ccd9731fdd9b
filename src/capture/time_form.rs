//! The forms in which captures from elsewhere tell their times.
//!
//! A time is found by its content, wherever it is in a line: there is no option that names its form.

use std::fmt::{self, Display};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};

/// The form of a time. All times of a capture have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeForm {
    /// Seconds, milliseconds, microseconds or nanoseconds since 1970.
    Epoch,
    /// A date of three numbers, year first: `2017-08-06T06:13:20Z`, `2017/08/06 06:13:20`.
    NumericDate,
    /// A date with the name of a month and a year, as `date` prints it in many languages.
    NamedDate,
    /// The name of a month and a day, without a year, as system logs have it.
    DayOfYear,
    /// A time of day without a date.
    TimeOfDay,
    /// The two numbers of /proc/uptime.
    Uptime,
}

impl Display for TimeForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Epoch => "seconds since 1970",
            Self::NumericDate | Self::NamedDate => "dates",
            Self::DayOfYear => "dates without a year",
            Self::TimeOfDay => "times of day without a date",
            Self::Uptime => "the uptime",
        })
    }
}

/// A time that stands in a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FoundTime {
    pub(super) form: TimeForm,
    /// Without a year it is in 1972, without a date on the first day of 1970. An uptime is the time since 1970.
    pub(super) time: Timestamp,
}

/// Returns the first time in a line; dates without a time zone are in `zone`.
pub(super) fn find_time(line: &str, zone: &TimeZone) -> Option<FoundTime> {
    if let Some(time) = uptime(line) {
        return Some(FoundTime { form: TimeForm::Uptime, time });
    }
    let tokens = tokens(line);
    (0..tokens.len()).find_map(|at| {
        let rest = &tokens[at..];
        epoch(rest[0]).or_else(|| numeric_date(rest, zone)).or_else(|| named_date(rest, zone)).or_else(|| {
            let (time, _) = time_of_day(rest)?;
            let time =
                Offset::UTC.to_timestamp(DateTime::from_parts(Date::constant(1970, 1, 1), time)).ok()?;
            Some(FoundTime { form: TimeForm::TimeOfDay, time })
        })
    })
}

/// The words and numbers of a line: digits with the points and colons between them, letters, or a sign with digits.
fn tokens(line: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        '0'..='9' | ':' | '.' | ',' => 1,
        _ if c.is_alphabetic() => 2,
        _ => 0,
    };
    let mut tokens = Vec::new();
    let mut start = 0;
    for (at, c) in line.char_indices() {
        let next = line[at..].chars().nth(1);
        if next.is_none_or(|next| kind(next) != kind(c)) {
            let end = at + c.len_utf8();
            let token = line[start..end].trim_matches(|c: char| ".:,".contains(c));
            if kind(c) > 0 && !token.is_empty() {
                let before = line[..start].chars().next_back().filter(|sign| "+-".contains(*sign));
                let is_signed = before.is_some() && kind(c) == 1;
                tokens.push(if is_signed { &line[start - 1..start + token.len()] } else { token });
            }
            start = end;
        }
    }
    tokens
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

fn uptime(line: &str) -> Option<Timestamp> {
    let mut words = line.split_ascii_whitespace();
    let (up, idle) = (words.next()?, words.next()?);
    let has_hundredths = |word: &str| word.rsplit_once('.').is_some_and(|(_, fraction)| fraction.len() == 2);
    let (seconds, nanos) = decimal(up).filter(|_| has_hundredths(up) && has_hundredths(idle))?;
    decimal(idle).filter(|_| words.next().is_none())?;
    Timestamp::new(i64::try_from(seconds).ok()?, i32::try_from(nanos).ok()?).ok()
}

fn epoch(token: &str) -> Option<FoundTime> {
    let (number, nanos) = decimal(token)?;
    let unit = match token.find(['.', ',']).unwrap_or(token.len()) {
        9 | 10 => 1_000_000_000,
        13 => 1_000_000,
        16 => 1000,
        19 => 1,
        _ => return None,
    };
    let nanos = i128::from(number) * unit + i128::from(nanos);
    Some(FoundTime { form: TimeForm::Epoch, time: Timestamp::from_nanosecond(nanos).ok()? })
}

/// A time of day, and what follows its tokens: `06:13`, `06:13:20.25`, `6:13:20 PM`.
fn time_of_day<'a, 'b>(tokens: &'b [&'a str]) -> Option<(Time, &'b [&'a str])> {
    let (first, rest) = tokens.split_first()?;
    let mut parts = first.splitn(3, ':');
    let (hour, minute) = (parts.next()?, parts.next()?);
    let (second, nanos) = parts.next().map_or(Some((0, 0)), decimal)?;
    let number = |text: &str| i8::try_from(digits(text).filter(|_| text.len() <= 2)?).ok();
    let mut hour = number(hour)?;
    let half = rest.first().map(|word| word.to_lowercase());
    let (is_am, is_pm) = match half.as_deref() {
        Some("am" | "a" | "오전" | "上午" | "午前") => (true, false),
        Some("pm" | "p" | "오후" | "下午" | "午後") => (false, true),
        _ => (false, false),
    };
    if is_pm && hour < 12 {
        hour += 12;
    } else if is_am && hour == 12 {
        hour = 0;
    }
    // A leap second is the last second of its minute here.
    let second = i8::try_from(second.min(59)).ok()?;
    let time = Time::new(hour, number(minute)?, second, i32::try_from(nanos).ok()?).ok()?;
    Some((time, if is_am || is_pm { &rest[1..] } else { rest }))
}

/// A date of three numbers, then a time of day after up to two other words.
fn numeric_date(tokens: &[&str], zone: &TimeZone) -> Option<FoundTime> {
    let sign = |token: &&str| token.trim_start_matches('-').to_owned();
    let words: Vec<String> = tokens.iter().take(8).map(sign).collect();
    let first = words.first()?;
    let dotted: Vec<&str> = first.split('.').collect();
    let (numbers, used): (Vec<&str>, usize) = match dotted.len() {
        3 => (dotted, 1),
        _ if first.len() == 8 => (vec![first.get(..4)?, first.get(4..6)?, first.get(6..)?], 1),
        // Letters between the numbers, as in Chinese and Japanese, are words of their own.
        _ => {
            let numbers: Vec<&str> = words
                .iter()
                .take(5)
                .map(String::as_str)
                .filter(|word| digits(word).is_some())
                .take(3)
                .collect();
            let last = *numbers.get(2)?;
            (numbers, words.iter().position(|word| std::ptr::eq(word.as_str(), last))? + 1)
        }
    };
    let [year, month, day] = numbers[..] else { return None };
    if year.len() != 4 || month.len() > 2 || day.len() > 2 {
        return None;
    }
    let date = date(digits(year)?, digits(month)?, digits(day)?)?;
    let after = &tokens[used..];
    let (time, rest) = (0..after.len().min(4)).find_map(|skip| time_of_day(&after[skip..]))?;
    let half_before = after.first().is_some_and(|word| ["오후", "下午", "午後"].contains(word));
    let time =
        if half_before && time.hour() < 12 { time.with().hour(time.hour() + 12).build().ok()? } else { time };
    Some(FoundTime {
        form: TimeForm::NumericDate,
        time: in_zone(DateTime::from_parts(date, time), rest, zone)?,
    })
}

/// A month, a day, and maybe a year, before or after a time of day: `Sun Aug  6 06:13:20 UTC 2017`, `So 6. Aug 2017,
/// 06:13:20`.
fn named_date(tokens: &[&str], zone: &TimeZone) -> Option<FoundTime> {
    // The date begins with a word, or with the day.
    if month_number(tokens[0]).is_none() && digits(tokens[0]).is_none_or(|day| day > 31) {
        return None;
    }
    let at = (1..tokens.len().min(7)).find(|at| time_of_day(&tokens[*at..]).is_some())?;
    let (time, rest) = time_of_day(&tokens[at..])?;
    // The name of a day may look like that of a month, which follows it: `mar. 8 août` is a Tuesday.
    let month = tokens[..at].iter().rev().find_map(|word| month_number(word))?;
    let day = tokens[..at].iter().find_map(|word| digits(word).filter(|_| word.len() <= 2))?;
    let is_year = |word: &&&str| word.len() == 4 && digits(word).is_some();
    let year = tokens[..at].iter().chain(rest.iter().take(3)).find(is_year).and_then(|word| digits(word));
    let form = if year.is_some() { TimeForm::NamedDate } else { TimeForm::DayOfYear };
    // A leap year has all days.
    let date = date(year.unwrap_or(1972), month, day)?;
    Some(FoundTime { form, time: in_zone(DateTime::from_parts(date, time), rest, zone)? })
}

fn date(year: u64, month: u64, day: u64) -> Option<Date> {
    Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()
}

/// The beginnings of the names of months, in lower case, in the languages of many systems.
const MONTHS: [&str; 12] = [
    "jan ene gen янв січ sty led oca tam ιαν",
    "feb fév fev фев лют lut úno şub hel φεβ",
    "mar mär mrz mrt maa мар бер bře már μαρ μάρ",
    "apr avr abr апр кві kwi dub nis huh ápr απρ",
    "may mai mag maj mei май мая тра kvě máj tou μαΐ maí",
    "jun juin giu июн чер cze čen červn haz kes jún ιουν",
    "jul juil lug июл лип lip čec červenc tem hei júl ιουλ",
    "aug aoû aou ago авг сер sie srp ağu elo αυγ",
    "sep set сен вер wrz zář eyl syy sze σεπ",
    "oct okt ott out окт жов paź říj eki lok οκτ",
    "nov ноя лис lis kas marras νοε",
    "dec dez déc dic дек гру gru pro ara jou des δεκ",
];

/// The number of a month by its name: the longest beginning decides.
fn month_number(word: &str) -> Option<u64> {
    let word = word.to_lowercase();
    let months = (1..).zip(MONTHS);
    let names =
        months.flat_map(|(number, names)| names.split(' ').map(move |name| (name.len(), number, name)));
    let found = names.filter(|(_, _, name)| word.starts_with(name)).max();
    found.map(|(_, number, _)| number)
}

/// The hours from UTC of time zones that `date` names by letters. Others are read as the local one.
const ZONES: &str = "UTC 0 GMT 0 Z 0 WET 0 WEST 1 BST 1 CET 1 CEST 2 EET 2 EEST 3 MSK 3 JST 9 KST 9 AEST 10 EST -5 EDT -4 \
                     CST -6 CDT -5 MST -7 MDT -6 PST -8 PDT -7";

/// The time in the zone that the words after it name, or else in `zone`.
fn in_zone(time: DateTime, after: &[&str], zone: &TimeZone) -> Option<Timestamp> {
    let mut zones = ZONES.split(' ');
    let named = after.first().and_then(|word| zones.find(|zone| zone == word));
    let hours = named.and_then(|_| zones.next()?.parse().ok());
    let signed = after.iter().take(2).find_map(|word| {
        let is_west = word.starts_with('-');
        let number = word.strip_prefix(['+', '-'])?.replace(':', "");
        let number = digits(&number).map(|value| if number.len() <= 2 { value * 100 } else { value })?;
        let seconds = i32::try_from(number / 100 * 3600 + number % 100 * 60).ok()?;
        Offset::from_seconds(if is_west { -seconds } else { seconds }).ok()
    });
    match signed.or(hours.and_then(|hours| Offset::from_hours(hours).ok())) {
        Some(offset) => offset.to_timestamp(time).ok(),
        None => zone.to_timestamp(time).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<(TimeForm, String)> {
        find_time(line, &TimeZone::UTC).map(|found| (found.form, found.time.to_string()))
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
                NumericDate,
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
                ],
            ),
        ] {
            for line in lines {
                assert_eq!(found(line), Some((form, time.to_owned())), "{line}");
            }
        }
        assert_eq!(found("--- 06:13:20"), Some((TimeOfDay, "1970-01-01T06:13:20Z".to_owned())));
        assert_eq!(found("--- 6:13:20.5 PM"), Some((TimeOfDay, "1970-01-01T18:13:20.5Z".to_owned())));
        assert_eq!(
            found("Aug 06 06:13:20 db1 disks[77]:"),
            Some((DayOfYear, "1972-08-06T06:13:20Z".to_owned()))
        );
        assert_eq!(found("351735.27 1234567.00"), Some((Uptime, "1970-01-05T01:42:15.27Z".to_owned())));
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
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
