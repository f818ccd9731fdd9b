//! One line of /proc/diskstats, as any kernel prints it.

use super::{MAX_DEVICES_PER_CAPTURE, MAX_DEVICES_PER_SAMPLE, MAX_SAMPLE_BYTES};
use crate::counters::{Columns, Counters, Device, Requests};
use crate::sanitize::sanitize;

/// The reason why a line is not a diskstats line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError {
    pub(super) reason: String,
    /// The word before `skipped` in the message: `line ` for a wrong line of diskstats, empty for a line of another format.
    pub(super) skipped: &'static str,
}

impl LineError {
    /// The error of a sample with more devices than any host has.
    pub(super) fn too_many_devices() -> Self {
        let mib = MAX_SAMPLE_BYTES / (1024 * 1024);
        let reason = format!("sample exceeds {MAX_DEVICES_PER_SAMPLE} devices or {mib} MiB");
        Self {
            reason,
            skipped: "remaining devices ",
        }
    }

    /// The error of a capture in which more devices come and go than on any host.
    pub(super) fn too_many_names() -> Self {
        Self {
            reason: format!("capture exceeds {MAX_DEVICES_PER_CAPTURE} devices"),
            skipped: "further devices ",
        }
    }

    /// The error of a device that its sample has already.
    pub(super) fn listed_again(name: &str) -> Self {
        Self {
            reason: format!("'{}' is listed twice in a sample", excerpt(name.as_bytes())),
            skipped: "second line ",
        }
    }

    fn not_diskstats(line: &[u8]) -> Self {
        Self {
            reason: format!("not a diskstats line: '{}'", excerpt(line)),
            skipped: "",
        }
    }

    fn invalid_number(field: &str, found: &[u8]) -> Self {
        Self {
            reason: format!("invalid number '{}' in '{field}'", excerpt(found)),
            skipped: "line ",
        }
    }
}

impl std::fmt::Display for LineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}skipped", self.reason, self.skipped)
    }
}

/// The columns after the name, as the kernel's iostats.rst names them.
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
const PARTITION_FIELDS: [&str; 4] = [
    "reads issued",
    "sectors read",
    "writes issued",
    "sectors written",
];

/// The number of columns after the name that are read.
const COUNTERS: usize = FIELDS.len();

/// The index among them of the requests in flight.
const IN_FLIGHT: usize = 8;

/// Columns of a partition's line up to 2.6.24, with major number, minor number and name.
const PARTITION_COLUMNS: usize = 3 + PARTITION_FIELDS.len();

/// Every number of this many digits fits into 64 bits.
const MAX_SAFE_DIGITS: usize = 19;

/// The words of a line. Spaces, tabs and carriage returns separate them.
pub(super) struct Words<'a> {
    /// The part of the line after the word read last.
    rest: &'a [u8],
}

/// Where the line of a device begins, in a line that may have other words before it.
pub(super) struct DeviceLineStart<'a> {
    pub(super) at: usize,
    pub(super) name: &'a str,
    pub(super) words_before: usize,
}

/// Finds the line of a device behind any number of words; `likely` is the number of words to try first. `None` if there is
/// none.
pub(super) fn device_line_start(line: &str, likely: usize) -> Option<DeviceLineStart<'_>> {
    let starts: Vec<usize> = line
        .split_ascii_whitespace()
        .map(|word| word.as_ptr().addr() - line.as_ptr().addr())
        .collect();
    // Seven words are the shortest line.
    let last = starts.len().checked_sub(PARTITION_COLUMNS)?;
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let is_device = |words_before: &usize| {
        let mut words = line[starts[*words_before]..].split_ascii_whitespace();
        let [Some(major), Some(minor), Some(name), Some(reads)] = [(); 4].map(|()| words.next())
        else {
            return false;
        };
        let is_name = name.starts_with(char::is_alphabetic);
        // Lists of processes have letters between numbers, too.
        is_name && [major, minor, reads].into_iter().all(is_number)
    };
    let found = std::iter::once(likely.min(last))
        .chain(0..=last)
        .find(is_device)?;
    let name = line[starts[found + 2]..].split_ascii_whitespace().next()?;
    Some(DeviceLineStart {
        at: starts[found],
        name,
        words_before: found,
    })
}

/// Returns whether a line is one of /proc/partitions of Linux 2.4, which has other columns.
pub(super) fn is_of_linux_2_4(line: &[u8]) -> bool {
    let words: Vec<&[u8]> = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .collect();
    let is_number = |word: &&[u8]| word.iter().all(u8::is_ascii_digit);
    words.len() == 15
        && words[..3].iter().all(is_number)
        // Device numbers had one byte; a longer number is a time.
        && words[..2].iter().all(|word| word.len() <= 3)
        && words[3][0].is_ascii_alphabetic()
        && words[4..].iter().all(is_number)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    fn skip_blanks(&mut self) {
        while let [byte, rest @ ..] = self.rest
            && is_blank(*byte)
        {
            self.rest = rest;
        }
    }

    /// Reads the next word if it is a number that certainly fits.
    #[inline]
    fn next_number(&mut self) -> Option<u64> {
        self.skip_blanks();
        let (mut value, mut digits, mut rest) = (0u64, 0, self.rest);
        while let [byte, after @ ..] = rest
            && byte.is_ascii_digit()
        {
            value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            (digits, rest) = (digits + 1, after);
        }
        let is_word = rest.first().is_none_or(|byte| is_blank(*byte));
        if !is_word || digits == 0 || digits > MAX_SAFE_DIGITS {
            return None;
        }
        self.rest = rest;
        Some(value)
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let end = self
            .rest
            .iter()
            .position(|byte| is_blank(*byte))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

/// Parses one line into `device`, reusing its memory.
///
/// Accepts 7 columns, or 14 or more. Columns after the twentieth, which future kernels may add, are ignored.
///
/// # Errors
/// The reason why it is not a diskstats line; the contents of `device` are then unspecified.
pub fn parse_line(line: &[u8], device: &mut Device) -> Result<(), LineError> {
    let mut words = Words::new(line);
    let (Some(major), Some(minor), Some(name)) = (words.next(), words.next(), words.next()) else {
        return Err(column_count_error(line));
    };
    device.major = parse_device_number(major, "major", line)?;
    device.minor = parse_device_number(minor, "minor", line)?;
    // Nearly always the same device as in the previous sample.
    if device.name.as_bytes() != name {
        device.name.clear();
        device.name.push_str(&String::from_utf8_lossy(name));
    }
    let mut values = [0; COUNTERS];
    let mut count = COUNTERS;
    for (index, value) in values.iter_mut().enumerate() {
        if let Some(number) = words.next_number() {
            *value = number;
        } else if let Some(word) = words.next() {
            *value =
                unusual_number(index, word).ok_or_else(|| invalid_number(index, word, line))?;
        } else {
            count = index;
            break;
        }
    }
    device.counters = counters_from(&values, count).ok_or_else(|| column_count_error(line))?;
    device.logged = None;
    Ok(())
}

/// Parses a number of more digits than usual, or a negative in-flight count as the 32-bit number it is: some kernels
/// print the count as a signed number, and a miscount appears as -1. `None` if the word is neither.
#[cold]
fn unusual_number(field: usize, word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok()?;
    if word.iter().all(u8::is_ascii_digit) {
        return text.parse().ok();
    }
    let signed: i32 = text.parse().ok()?;
    (field == IN_FLIGHT && signed < 0).then_some(u64::from(signed as u32))
}

/// Assigns the first `count` values to counters; `None` for a count that no kernel prints.
fn counters_from(values: &[u64; COUNTERS], count: usize) -> Option<Counters> {
    let requests = |at: usize| Requests {
        ios: values[at],
        merges: values[at + 1],
        sectors: values[at + 2],
        ms: values[at + 3],
    };
    let columns = match count {
        4 => {
            let issued = |ios, sectors| Requests {
                ios,
                sectors,
                ..Requests::default()
            };
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
    let discards = if columns >= Columns::Discards {
        requests(11)
    } else {
        Requests::default()
    };
    let (flushes, flush_ms) = if columns >= Columns::Flushes {
        (values[15], values[16])
    } else {
        (0, 0)
    };
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

/// Appends the line of a device, as the kernel prints it.
pub fn write_line(device: &Device, out: &mut Vec<u8>) {
    let Device {
        major,
        minor,
        name,
        counters,
        ..
    } = device;
    let Counters {
        reads,
        writes,
        discards,
        ..
    } = counters;
    let of = |requests: &Requests| [requests.ios, requests.merges, requests.sectors, requests.ms];
    let state = [counters.in_flight, counters.busy_ms, counters.weighted_ms];
    let values = match counters.columns {
        Columns::Partition => vec![reads.ios, reads.sectors, writes.ios, writes.sectors],
        columns => {
            let mut values = [&of(reads)[..], &of(writes), &state].concat();
            if columns >= Columns::Discards {
                values.extend(of(discards));
            }
            if columns >= Columns::Flushes {
                values.extend([counters.flushes, counters.flush_ms]);
            }
            values
        }
    };
    let values: String = values.iter().map(|value| format!(" {value}")).collect();
    out.extend_from_slice(format!("{major:4} {minor:7} {name}{values}\n").as_bytes());
}

fn parse_device_number(word: &[u8], field: &'static str, line: &[u8]) -> Result<u32, LineError> {
    // Nine digits always fit.
    if word.len() <= 9 && word.iter().all(u8::is_ascii_digit) {
        return Ok(word
            .iter()
            .fold(0, |value, digit| value * 10 + u32::from(digit - b'0')));
    }
    let number = std::str::from_utf8(word)
        .ok()
        .and_then(|word| word.parse().ok());
    number.ok_or_else(|| {
        // A line of prose has no columns that a message could name.
        if column_count(line) < PARTITION_COLUMNS || !word.iter().any(u8::is_ascii_digit) {
            LineError::not_diskstats(line)
        } else {
            LineError::invalid_number(field, word)
        }
    })
}

/// Returns whether a line without a newline has lost its last columns: it has more than an old kernel prints, and fewer
/// than a newer one.
pub(super) fn has_lost_columns(line: &[u8]) -> bool {
    matches!(column_count(line), 15..=17 | 19)
}

fn column_count(line: &[u8]) -> usize {
    Words::new(line).count()
}

fn invalid_number(field: usize, found: &[u8], line: &[u8]) -> LineError {
    let is_partition = column_count(line) == PARTITION_COLUMNS;
    let field = if is_partition {
        PARTITION_FIELDS[field]
    } else {
        FIELDS[field]
    };
    LineError::invalid_number(field, found)
}

fn column_count_error(line: &[u8]) -> LineError {
    let first = Words::new(line).next().unwrap_or_default();
    if first.iter().all(u8::is_ascii_digit) {
        let (count, s) = (
            column_count(line),
            if column_count(line) == 1 { "" } else { "s" },
        );
        let reason = format!("{count} column{s}, expected 7, 14, 18 or 20");
        LineError {
            reason,
            skipped: "line ",
        }
    } else {
        LineError::not_diskstats(line)
    }
}

/// Returns the start of a text, escaped for use in a message.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    const MAX_CHARS: usize = 40;
    const MAX_UTF8_BYTES: usize = 4;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_UTF8_BYTES * MAX_CHARS)]);
    let start: String = text.chars().take(MAX_CHARS).collect();
    let ellipsis = if start.len() < text.len() || text.len() < bytes.len() {
        "…"
    } else {
        ""
    };
    format!("{}{ellipsis}", sanitize(&start))
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
    fn twenty_columns_fill_every_counter() {
        let device = parsed(" 254       0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17").unwrap();
        let requests = |ios, merges, sectors, ms| Requests {
            ios,
            merges,
            sectors,
            ms,
        };
        assert_eq!(
            (device.major, device.minor, device.name.as_str()),
            (254, 0, "vda")
        );
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
        let discards = parsed("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15")
            .unwrap()
            .counters;
        assert_eq!(
            (discards.columns, discards.discards.ms, discards.flushes),
            (Columns::Discards, 15, 0)
        );
    }

    #[test]
    fn columns_that_future_kernels_may_add_are_ignored() {
        let device =
            parsed("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 nineteen").unwrap();
        assert_eq!(device.counters.flush_ms, 17);
    }

    #[test]
    fn seven_columns_are_a_partition_of_an_old_kernel() {
        let counters = parsed("   8    1 sda1 35486 38030 38030 38031")
            .unwrap()
            .counters;
        assert_eq!(counters.columns, Columns::Partition);
        assert_eq!((counters.reads.ios, counters.reads.sectors), (35486, 38030));
        assert_eq!(
            (counters.writes.ios, counters.writes.sectors),
            (38030, 38031)
        );
    }

    #[test]
    fn an_error_names_the_field_and_its_text() {
        let error = parsed("8 0 sda 1 2 12x 4 5 6 7 8 9 10 11").unwrap_err();
        assert_eq!(error, LineError::invalid_number("sectors read", b"12x"));
        assert_eq!(
            parsed("8 1 sda1 1 2 3 y").unwrap_err(),
            LineError::invalid_number("sectors written", b"y")
        );
        assert_eq!(
            parsed("8 0x sda 1 2 3 4 5 6 7 8 9 10 11").unwrap_err(),
            LineError::invalid_number("minor", b"0x")
        );
    }

    #[test]
    fn other_column_counts_are_rejected() {
        assert_eq!(
            parsed("8 0 sda 1 2 3 4 5 6 7 8 9 10").unwrap_err().reason,
            "13 columns, expected 7, 14, 18 or 20"
        );
        assert_eq!(
            parsed("8 0 sda").unwrap_err().reason,
            "3 columns, expected 7, 14, 18 or 20"
        );
        assert_eq!(
            parsed("8").unwrap_err().reason,
            "1 column, expected 7, 14, 18 or 20"
        );
        assert_eq!(
            parsed("hello there my world").unwrap_err(),
            LineError::not_diskstats(b"hello there my world")
        );
    }

    proptest! {
        #[test]
        fn numbers_of_every_length_are_read_at_every_position(
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
    fn a_number_that_exceeds_64_bits_is_rejected() {
        let line = |n: &str| parsed(&format!("8 0 sda {n} 0 0 0 0 0 0 0 0 0 0"));
        assert_eq!(
            line("18446744073709551615").unwrap().counters.reads.ios,
            u64::MAX
        );
        assert!(
            line("18446744073709551616")
                .unwrap_err()
                .reason
                .ends_with("in 'reads completed'")
        );
        assert_eq!(
            line("00000000000000000000000007")
                .unwrap()
                .counters
                .reads
                .ios,
            7
        );
    }

    #[test]
    fn a_negative_in_flight_count_is_the_kernels_32_bit_miscount() {
        assert_eq!(
            parsed("8 0 sda 1 2 3 4 5 6 7 8 -1 10 11")
                .unwrap()
                .counters
                .in_flight,
            u64::from(u32::MAX)
        );
        assert!(parsed("8 0 sda -1 2 3 4 5 6 7 8 9 10 11").is_err());
    }

    #[test]
    fn names_may_contain_slashes_exclamation_marks_and_any_script() {
        for name in ["cciss/c0d0", "cciss!c0d0p1", "dm-10", "диск", "a\u{1b}[31m"] {
            assert_eq!(
                parsed(&format!("104 0 {name} 1 2 3 4 5 6 7 8 9 10 11"))
                    .unwrap()
                    .name,
                name
            );
        }
    }

    /// A word of a line, as written by any program.
    fn word() -> impl Strategy<Value = String> {
        prop_oneof![
            8 => (0u32..64, any::<u64>()).prop_map(|(shift, number)| (number >> shift).to_string()),
            1 => "[0-9]{1,21}",
            1 => "[-x:/]?[0-9]{0,9}[-x:/]?",
        ]
    }

    proptest! {
        #[test]
        fn a_line_is_read_alike_whatever_separates_its_words(
            words in prop::collection::vec(word().prop_filter("a word", |word| !word.is_empty()), 0..20),
            blanks in prop::collection::vec(prop::sample::select(vec![" ", " ", "  ", "\t", "\r"]), 20),
            end in prop::sample::select(vec!["", " ", "\r", " \t"]),
        ) {
            let start = "8 0 sda";
            let spaced: String = words.iter().zip(&blanks).flat_map(|(word, blank)| [*blank, word]).collect();
            let read = parsed(&format!("{start}{spaced}{end}"));
            let plain = std::iter::once(start).chain(words.iter().map(String::as_str));
            prop_assert_eq!(read.is_ok(), parsed(&plain.collect::<Vec<_>>().join(" ")).is_ok());
            // A number is one for the standard library, too.
            let is_number = |(index, word): (usize, &String)| {
                word.bytes().all(|byte| byte.is_ascii_digit()) && word.parse::<u64>().is_ok()
                    || index == IN_FLIGHT && word.parse::<i32>().is_ok_and(|number| number < 0)
            };
            let are_numbers = words.iter().take(COUNTERS).enumerate().all(is_number);
            prop_assert_eq!(read.is_ok(), are_numbers && (words.len() == 4 || words.len() >= 11));
        }
    }

    #[test]
    fn a_message_never_contains_a_control_character() {
        let error = parsed("8 0 sda 1 2 \u{1b}[31mred 4 5 6 7 8 9 10 11")
            .unwrap_err()
            .to_string();
        assert!(!error.contains('\u{1b}'), "{error:?}");
    }
}
