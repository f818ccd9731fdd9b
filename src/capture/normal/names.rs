//! The names in times: of months, of time zones, and of the halves of a day.

use jiff::tz::Offset;

/// The beginnings of the names of months, in lower case, in the languages of many systems.
const MONTHS: [&str; 12] = [
    "jan jän ene gen янв січ sty led oca tam ιαν",
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
pub(super) fn month_number(word: &str) -> Option<u64> {
    if !word.starts_with(char::is_alphabetic) {
        return None;
    }
    let word = word.to_lowercase();
    let mut found = None;
    let mut longest = 0;
    for (number, names) in (1..).zip(MONTHS) {
        for name in names.split(' ') {
            if name.len() >= longest && word.starts_with(name) {
                longest = name.len();
                found = Some(number);
            }
        }
    }
    found
}

/// The hours from UTC of time zones that `date` names by letters. Others are taken for the local one.
const ZONES: &str = "UTC 0 GMT 0 Z 0 WET 0 WEST 1 BST 1 CET 1 CEST 2 EET 2 EEST 3 MSK 3 JST 9 KST 9 AEST 10 AEDT 11 NZST 12 NZDT 13 SAST 2 EST -5 EDT -4 \
                     CST -6 CDT -5 MST -7 MDT -6 PST -8 PDT -7 AKST -9 AKDT -8 HST -10";

pub(super) fn named_offset(word: &str) -> Option<Offset> {
    let mut zones = ZONES.split(' ');
    zones.find(|zone| *zone == word)?;
    Offset::from_hours(zones.next()?.parse().ok()?).ok()
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Half {
    First,
    Second,
}

pub(super) fn half_of_day(word: Option<&&str>) -> Option<Half> {
    match word?.to_lowercase().as_str() {
        "am" | "a" | "오전" | "上午" | "午前" => Some(Half::First),
        "pm" | "p" | "오후" | "下午" | "午後" => Some(Half::Second),
        _ => None,
    }
}
