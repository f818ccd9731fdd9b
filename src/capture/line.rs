//! One line of /proc/diskstats, of any kernel.

use crate::counters::{Columns, Counters, Device, Requests};
use crate::sanitize::sanitize;

/// What is wrong with a line: the field, and what was found there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineError {
    /// A column does not hold a number that fits.
    NotANumber {
        /// The column's name.
        field: &'static str,
        /// What stands there.
        found: String,
    },
    /// The number of columns is none that a kernel prints.
    ColumnCount(usize),
    /// It is no line of diskstats at all.
    NotDiskstats(String),
}

impl std::fmt::Display for LineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LineError::NotANumber { field, found } => {
                write!(f, "'{field}' is '{found}', not a number; the line is left out")
            }
            LineError::ColumnCount(n) => {
                let s = if *n == 1 { "" } else { "s" };
                write!(f, "{n} column{s} where diskstats has 7, 14, 18 or 20; the line is left out")
            }
            LineError::NotDiskstats(found) => write!(f, "'{found}' is no line of diskstats; it is left out"),
        }
    }
}

/// The columns after the name, as iostats.rst names them.
const FIELDS: [&str; 17] = [
    "reads completed",
    "reads merged",
    "sectors read",
    "ms reading",
    "writes completed",
    "writes merged",
    "sectors written",
    "ms writing",
    "in flight",
    "ms doing I/O",
    "weighted ms",
    "discards completed",
    "discards merged",
    "sectors discarded",
    "ms discarding",
    "flushes completed",
    "ms flushing",
];

/// The four columns of a partition up to 2.6.24.
const PARTITION_FIELDS: [&str; 4] = ["reads issued", "sectors read", "writes issued", "sectors written"];

/// Columns before the counters: major, minor and name.
const LEADING: usize = 3;

/// Reads one line into `device`, reusing its memory. On an error `device` holds nothing of use.
///
/// Takes 7, 14, 18, 20 and more columns; what follows the twentieth is left to kernels to come.
pub fn parse_line(line: &[u8], device: &mut Device) -> Result<(), LineError> {
    let mut words = Words { rest: line };
    let (Some(major), Some(minor), Some(name)) = (words.next(), words.next(), words.next()) else {
        return Err(count_fault(line));
    };
    device.major = device_number(major, "major", line)?;
    device.minor = device_number(minor, "minor", line)?;
    // Nearly always the device of the reading before stands here.
    if device.name.as_bytes() != name {
        device.name.clear();
        match std::str::from_utf8(name) {
            Ok(name) => device.name.push_str(name),
            Err(_) => device.name.push_str(&String::from_utf8_lossy(name)),
        }
    }

    let mut values = [0u64; FIELDS.len()];
    let mut count = 0;
    while count < FIELDS.len() {
        match words.number() {
            Number::Value(value) => values[count] = value,
            Number::End => break,
            Number::Bad(found) => match below_zero(count, found) {
                Some(value) => values[count] = value,
                None => return Err(bad_number(count, found, line)),
            },
        }
        count += 1;
    }
    device.counters = counters(&values, count).ok_or_else(|| count_fault(line))?;
    Ok(())
}

/// How many columns a line has.
fn column_count(line: &[u8]) -> usize {
    Words { rest: line }.count()
}

/// The kernel's in-flight count is 32 bits and was printed with a sign; a miscount shows as -1.
fn below_zero(count: usize, found: &[u8]) -> Option<u64> {
    let signed: i32 = std::str::from_utf8(found).ok()?.parse().ok()?;
    (FIELDS[count] == "in flight" && signed < 0).then_some(u64::from(signed as u32))
}

fn counters(values: &[u64; FIELDS.len()], count: usize) -> Option<Counters> {
    let requests = |at: usize| Requests {
        ios: values[at],
        merges: values[at + 1],
        sectors: values[at + 2],
        ms: values[at + 3],
    };
    let columns = match count {
        4 => {
            let issued = |ios, sectors| Requests { ios, sectors, ..Requests::default() };
            return Some(Counters {
                columns: Columns::Partition,
                reads: issued(values[0], values[1]),
                writes: issued(values[2], values[3]),
                ..Counters::default()
            });
        }
        11..=14 => Columns::Basic,
        15..=16 => Columns::Discards,
        17.. => Columns::Flushes,
        _ => return None,
    };
    let discards = if columns >= Columns::Discards { requests(11) } else { Requests::default() };
    let (flushes, flush_ms) = if columns >= Columns::Flushes { (values[15], values[16]) } else { (0, 0) };
    Some(Counters {
        columns,
        reads: requests(0),
        writes: requests(4),
        in_flight: values[8],
        busy_ms: values[9],
        weighted_ms: values[10],
        discards,
        flushes,
        flush_ms,
    })
}

fn device_number(word: &[u8], field: &'static str, line: &[u8]) -> Result<u32, LineError> {
    // Nine digits fit whatever they are.
    if word.len() <= 9 && word.iter().all(u8::is_ascii_digit) {
        return Ok(word.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0')));
    }
    let number = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
    number.ok_or_else(|| {
        let columns = column_count(line);
        // A line of prose is not worth the name of a column.
        if columns < LEADING + PARTITION_FIELDS.len() || !word.iter().any(u8::is_ascii_digit) {
            LineError::NotDiskstats(excerpt(line))
        } else {
            LineError::NotANumber { field, found: excerpt(word) }
        }
    })
}

fn bad_number(count: usize, found: &[u8], line: &[u8]) -> LineError {
    let partition = column_count(line) == LEADING + PARTITION_FIELDS.len();
    let field = if partition { PARTITION_FIELDS[count] } else { FIELDS[count] };
    LineError::NotANumber { field, found: excerpt(found) }
}

fn count_fault(line: &[u8]) -> LineError {
    let first = Words { rest: line }.next().unwrap_or_default();
    if first.iter().all(u8::is_ascii_digit) {
        LineError::ColumnCount(column_count(line))
    } else {
        LineError::NotDiskstats(excerpt(line))
    }
}

/// The start of some text, safe to show in a message.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]);
    let start: String = text.chars().take(SHOWN).collect();
    let more = if start.len() < text.len() || text.len() < bytes.len() { "…" } else { "" };
    format!("{}{more}", sanitize(&start))
}

/// What stands at the next place where a number is due.
enum Number<'a> {
    Value(u64),
    End,
    Bad(&'a [u8]),
}

/// The words of a line. Spaces and tabs part them; a carriage return counts as one.
struct Words<'a> {
    rest: &'a [u8],
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

impl<'a> Words<'a> {
    fn skip_blanks(&mut self) {
        while let [first, rest @ ..] = self.rest
            && is_blank(*first)
        {
            self.rest = rest;
        }
    }

    fn number(&mut self) -> Number<'a> {
        // The kernel parts numbers by one space.
        if let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.skip_blanks();
        let (mut value, mut digits, mut rest) = (0u64, 0, self.rest);
        // Eight digits and eight more are as many as fit beyond doubt.
        for _ in 0..2 {
            let Some((eight, after)) = rest.split_first_chunk::<8>() else { break };
            let (number, count) = leading_number(u64::from_le_bytes(*eight));
            value = value * POWERS_OF_TEN[count] + number;
            digits += count;
            if let Some(after) = rest.get(count..).filter(|_| count < 8) {
                return self.ended(value, digits, after);
            }
            rest = after;
        }
        // The last digits of a long number, or of the line.
        while let [byte, after @ ..] = rest {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            digits += 1;
            rest = after;
        }
        self.ended(value, digits, rest)
    }

    /// A number of so many digits, if a blank or nothing follows it.
    fn ended(&mut self, value: u64, digits: usize, rest: &'a [u8]) -> Number<'a> {
        if digits == 0 || digits > SURE_TO_FIT || !rest.first().is_none_or(|byte| is_blank(*byte)) {
            return self.unusual_number();
        }
        self.rest = rest;
        Number::Value(value)
    }

    /// A number of many digits, a word that is none, or the end of the line.
    #[cold]
    fn unusual_number(&mut self) -> Number<'a> {
        let Some(word) = self.next() else { return Number::End };
        let is_number = word.iter().all(u8::is_ascii_digit);
        match std::str::from_utf8(word).ok().filter(|_| is_number).and_then(|word| word.parse().ok()) {
            Some(value) => Number::Value(value),
            None => Number::Bad(word),
        }
    }
}

/// The number that eight characters begin with, the first in the lowest byte, and how many digits it has.
///
/// All eight are looked at together, as bytes of one word: a digit is 0 to 9 once the bits of `0` are taken away,
/// and adding 0x76 to anything more sets the highest bit of its byte.
fn leading_number(characters: u64) -> (u64, usize) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let values = characters ^ (ONES * 0x30);
    let others = (values.wrapping_add(ONES * 0x76) | values) & (ONES * 0x80);
    let count = others.trailing_zeros() / 8;
    if count == 0 {
        return (0, 0);
    }
    // The digits move to the high end, so that zeros lead.
    let digits = values << (64 - 8 * count);
    // DeviceMatch of digits, then of pairs, then of fours: the higher byte is the lower digit.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    let eight = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff;
    (eight, count as usize)
}

/// What a number grows by when so many digits follow it.
const POWERS_OF_TEN: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// So many digits fit into 64 bits whatever they are.
const SURE_TO_FIT: usize = 19;

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let end = self.rest.iter().position(|byte| is_blank(*byte)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(line: &str) -> Result<Device, LineError> {
        let mut device = Device::default();
        parse_line(line.as_bytes(), &mut device).map(|()| device)
    }

    #[test]
    fn twenty_columns_fill_every_field() {
        let device = parsed(" 254       0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17").unwrap();
        let requests = |ios, merges, sectors, ms| Requests { ios, merges, sectors, ms };
        assert_eq!((device.major, device.minor, device.name.as_str()), (254, 0, "vda"));
        assert_eq!(
            device.counters,
            Counters {
                columns: Columns::Flushes,
                reads: requests(1, 2, 3, 4),
                writes: requests(5, 6, 7, 8),
                in_flight: 9,
                busy_ms: 10,
                weighted_ms: 11,
                discards: requests(12, 13, 14, 15),
                flushes: 16,
                flush_ms: 17,
            }
        );
    }

    #[test]
    fn fourteen_and_eighteen_columns_leave_the_rest_at_zero() {
        let basic = parsed("8 0 sda 1 2 3 4 5 6 7 8 9 10 11").unwrap().counters;
        assert_eq!(
            (basic.columns, basic.weighted_ms, basic.discards),
            (Columns::Basic, 11, Requests::default())
        );
        let discards = parsed("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15").unwrap().counters;
        assert_eq!((discards.columns, discards.discards.ms, discards.flushes), (Columns::Discards, 15, 0));
    }

    #[test]
    fn columns_of_kernels_to_come_are_passed_over() {
        let device = parsed("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 nineteen").unwrap();
        assert_eq!(device.counters.flush_ms, 17);
    }

    #[test]
    fn seven_columns_are_a_partition_of_an_old_kernel() {
        let counters = parsed("   8    1 sda1 35486 38030 38030 38031").unwrap().counters;
        assert_eq!(counters.columns, Columns::Partition);
        assert_eq!((counters.reads.ios, counters.reads.sectors), (35486, 38030));
        assert_eq!((counters.writes.ios, counters.writes.sectors), (38030, 38031));
    }

    #[test]
    fn a_bad_field_is_named_with_what_was_found() {
        let fault = parsed("8 0 sda 1 2 12x 4 5 6 7 8 9 10 11").unwrap_err();
        assert_eq!(fault, LineError::NotANumber { field: "sectors read", found: "12x".into() });
        assert_eq!(
            parsed("8 1 sda1 1 2 3 y").unwrap_err(),
            LineError::NotANumber { field: "sectors written", found: "y".into() }
        );
        assert_eq!(
            parsed("8 0x sda 1 2 3 4 5 6 7 8 9 10 11").unwrap_err(),
            LineError::NotANumber { field: "minor", found: "0x".into() }
        );
    }

    #[test]
    fn other_numbers_of_columns_are_no_diskstats() {
        assert_eq!(parsed("8 0 sda 1 2 3 4 5 6 7 8 9 10").unwrap_err(), LineError::ColumnCount(13));
        assert_eq!(parsed("8 0 sda").unwrap_err(), LineError::ColumnCount(3));
        assert_eq!(parsed("8").unwrap_err(), LineError::ColumnCount(1));
        assert_eq!(
            parsed("hello there my world").unwrap_err(),
            LineError::NotDiskstats("hello there my world".into())
        );
    }

    proptest! {
        #[test]
        fn numbers_of_every_length_are_read_wherever_they_stand(
            numbers in prop::collection::vec(prop::num::u64::ANY.prop_flat_map(|n| (Just(n), 0u32..64)), 11..18),
            zeros in 0usize..4,
        ) {
            let numbers: Vec<u64> = numbers.iter().map(|(number, shift)| number >> shift).collect();
            let text: Vec<String> = numbers.iter().map(|n| format!("{}{n}", "0".repeat(zeros))).collect();
            let counters = parsed(&format!("8 0 sda {}", text.join(" "))).unwrap().counters;
            let reads = Requests { ios: numbers[0], merges: numbers[1], sectors: numbers[2], ms: numbers[3] };
            prop_assert_eq!(counters.reads, reads);
            prop_assert_eq!((counters.in_flight, counters.weighted_ms), (numbers[8], numbers[10]));
        }
    }

    #[test]
    fn a_number_past_64_bits_is_no_number() {
        let line = |n: &str| parsed(&format!("8 0 sda {n} 0 0 0 0 0 0 0 0 0 0"));
        assert_eq!(line("18446744073709551615").unwrap().counters.reads.ios, u64::MAX);
        assert!(matches!(
            line("18446744073709551616"),
            Err(LineError::NotANumber { field: "reads completed", .. })
        ));
        assert_eq!(line("00000000000000000000000007").unwrap().counters.reads.ios, 7);
    }

    #[test]
    fn an_in_flight_below_zero_is_the_kernels_32_bit_miscount() {
        assert_eq!(
            parsed("8 0 sda 1 2 3 4 5 6 7 8 -1 10 11").unwrap().counters.in_flight,
            u64::from(u32::MAX)
        );
        assert!(parsed("8 0 sda -1 2 3 4 5 6 7 8 9 10 11").is_err());
    }

    #[test]
    fn names_may_hold_slashes_bangs_and_letters_of_any_script() {
        for name in ["cciss/c0d0", "cciss!c0d0p1", "dm-10", "диск", "a\u{1b}[31m"] {
            assert_eq!(parsed(&format!("104 0 {name} 1 2 3 4 5 6 7 8 9 10 11")).unwrap().name, name);
        }
    }

    #[test]
    fn a_message_never_holds_a_control_code() {
        let fault = parsed("8 0 sda 1 2 \u{1b}[31mred 4 5 6 7 8 9 10 11").unwrap_err().to_string();
        assert!(!fault.contains('\u{1b}'), "{fault:?}");
    }
}
