//! One line of /proc/diskstats, as any kernel prints it.

use super::fields::{Fields, Number};
use super::line_layout::{COUNTERS, IN_FLIGHT, LineLayout};
use crate::counters::{Columns, Counters, Device, Requests};
use crate::sanitize::sanitize;

/// The reason why a line is not a diskstats line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineError {
    /// A field is not a number, or too large a number.
    InvalidNumber {
        /// The name of the field.
        field: &'static str,
        /// The text found in it, shortened.
        found: String,
    },
    /// The line begins with a number but has a column count that no kernel prints.
    ColumnCount(usize),
    /// The line is of another format; holds its start.
    NotDiskstats(String),
}

impl std::fmt::Display for LineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LineError::InvalidNumber { field, found } => {
                write!(f, "invalid number '{found}' in '{field}'; line skipped")
            }
            LineError::ColumnCount(n) => {
                let s = if *n == 1 { "" } else { "s" };
                write!(f, "{n} column{s}, expected 7, 14, 18 or 20; line skipped")
            }
            LineError::NotDiskstats(found) => write!(f, "not a diskstats line: '{found}'; skipped"),
        }
    }
}

/// The columns after the name, as the kernel's iostats.rst names them.
const FIELDS: [&str; COUNTERS] = [
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
const LEADING_COLUMNS: usize = 3;

/// Columns of a partition's line up to 2.6.24.
const PARTITION_COLUMNS: usize = LEADING_COLUMNS + PARTITION_FIELDS.len();

/// The shape of the line that was parsed last: the next line of the same device nearly always has the same one.
#[derive(Clone, Default)]
pub(super) struct LineShape {
    /// The line up to and including the blank after the name; empty if the shape is not known.
    start: Vec<u8>,
    major: u32,
    minor: u32,
    name: String,
    /// The digit count of each number; 0 for a missing one.
    digits: [u8; COUNTERS],
    /// The layout of the last two successive lines that had the same one; `None` if there are none.
    layout: Option<Box<LineLayout>>,
}

impl LineShape {
    /// Parses the line that `text` begins with if it has the layout of lines before it. Returns its length with the
    /// newline.
    #[inline]
    pub(super) fn parse_again(&self, text: &[u8], device: &mut Device) -> Option<usize> {
        let layout = self.layout.as_ref()?;
        let (values, length) = layout.read(text)?;
        device.counters = counters_from(&values, layout.count())?;
        self.set_names(device);
        Some(length)
    }

    #[inline]
    fn set_names(&self, device: &mut Device) {
        (device.major, device.minor) = (self.major, self.minor);
        if device.name != self.name {
            device.name.clone_from(&self.name);
        }
    }

    /// Keeps the layout for the lines to come if it is that of two lines one after the other.
    fn keep_layout(&mut self, read: &CountersRead) {
        let is_known = |layout: &LineLayout| layout.is_for(&self.digits, read.count);
        if read.is_repeated && !self.layout.as_deref().is_some_and(is_known) {
            self.layout = LineLayout::new(&self.start, &self.digits, read.count).map(Box::new);
        }
    }
}

/// The counters that were read of a line.
struct CountersRead {
    count: usize,
    /// True if they have as many digits as those of the line before, except for the requests in flight, and nothing
    /// follows.
    is_repeated: bool,
}

/// Parses one line into `device`, reusing its memory.
///
/// Accepts 7 columns, or 14 or more. Columns after the twentieth, which future kernels may add, are ignored.
///
/// # Errors
/// The reason why it is not a diskstats line; the contents of `device` are then unspecified.
pub fn parse_line(line: &[u8], device: &mut Device) -> Result<(), LineError> {
    let mut fields = Fields::new(line);
    (device.major, device.minor) = parse_start(line, &mut fields, &mut device.name)?;
    parse_counters(line, &mut fields, &mut [0; COUNTERS], &mut device.counters).map(|_| ())
}

/// Parses a line as [`parse_line`] does, faster if it has the given shape, which is then set to that of this line. The
/// layout is not kept for a device that was idle since `previous`, its counters in the sample before, because an
/// unchanged line is recognized as a whole.
///
/// # Errors
/// Those of [`parse_line`].
pub(super) fn parse_line_of(
    shape: &mut LineShape,
    line: &[u8],
    device: &mut Device,
    previous: Option<&Counters>,
) -> Result<(), LineError> {
    let mut fields = match shape.start.split_last() {
        Some((_, start)) if line.starts_with(&shape.start) => Fields::after(line, start.len()),
        _ => {
            shape.start.clear();
            shape.layout = None;
            let mut fields = Fields::new(line);
            (shape.major, shape.minor) = parse_start(line, &mut fields, &mut shape.name)?;
            shape.start.extend(line.get(..=fields.end()).unwrap_or_default());
            fields
        }
    };
    shape.set_names(device);
    let read = parse_counters(line, &mut fields, &mut shape.digits, &mut device.counters)?;
    if previous != Some(&device.counters) {
        shape.keep_layout(&read);
    }
    Ok(())
}

/// Parses the columns before the counters: the device numbers, which are returned, and the name.
fn parse_start(line: &[u8], fields: &mut Fields<'_>, name: &mut String) -> Result<(u32, u32), LineError> {
    let (Some(major), Some(minor), Some(found)) = (fields.next(), fields.next(), fields.next()) else {
        return Err(column_count_error(line));
    };
    let major = parse_device_number(major, "major", line)?;
    let minor = parse_device_number(minor, "minor", line)?;
    // Nearly always the same device as in the previous sample.
    if name.as_bytes() != found {
        name.clear();
        match std::str::from_utf8(found) {
            Ok(found) => name.push_str(found),
            Err(_) => name.push_str(&String::from_utf8_lossy(found)),
        }
    }
    Ok((major, minor))
}

/// Parses the counters. `digits` are their probable digit counts, and are set to the actual ones.
fn parse_counters(
    line: &[u8],
    fields: &mut Fields<'_>,
    digits: &mut [u8; COUNTERS],
    counters: &mut Counters,
) -> Result<CountersRead, LineError> {
    let mut is_repeated = true;
    let mut values = [0u64; COUNTERS];
    let mut count = COUNTERS;
    for (index, (value, digits)) in values.iter_mut().zip(digits).enumerate() {
        if let Some(number) = fields.next_number_of(*digits) {
            *value = number;
            continue;
        }
        let start = fields.end() + 1;
        match fields.next_number() {
            Number::Value(number) => *value = number,
            Number::End => {
                count = index;
                break;
            }
            Number::Invalid(found) => match negative_in_flight(index, found) {
                Some(number) => *value = number,
                None => return Err(invalid_number(index, found, line)),
            },
        }
        let found = u8::try_from(fields.end().saturating_sub(start)).unwrap_or_default();
        is_repeated &= std::mem::replace(digits, found) == found || index == IN_FLIGHT;
    }
    *counters = counters_from(&values, count).ok_or_else(|| column_count_error(line))?;
    Ok(CountersRead { count, is_repeated: is_repeated && fields.rest().is_empty() })
}

/// Parses a negative in-flight count as the 32-bit number it is: some kernels print the count as a signed number, and a
/// miscount appears as -1. `None` for any other column or text.
fn negative_in_flight(field: usize, found: &[u8]) -> Option<u64> {
    let signed: i32 = std::str::from_utf8(found).ok()?.parse().ok()?;
    (FIELDS[field] == "in flight" && signed < 0).then_some(u64::from(signed as u32))
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

fn parse_device_number(word: &[u8], field: &'static str, line: &[u8]) -> Result<u32, LineError> {
    // Nine digits always fit.
    if word.len() <= 9 && word.iter().all(u8::is_ascii_digit) {
        return Ok(word.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0')));
    }
    let number = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
    number.ok_or_else(|| {
        // A line of prose has no columns that a message could name.
        if column_count(line) < PARTITION_COLUMNS || !word.iter().any(u8::is_ascii_digit) {
            LineError::NotDiskstats(excerpt(line))
        } else {
            LineError::InvalidNumber { field, found: excerpt(word) }
        }
    })
}

/// Returns whether a line without a newline has lost its last columns: it has more than an old kernel prints, and fewer
/// than a newer one.
pub(super) fn has_lost_columns(line: &[u8]) -> bool {
    matches!(column_count(line), 15..=17 | 19)
}

fn column_count(line: &[u8]) -> usize {
    Fields::new(line).count()
}

fn invalid_number(field: usize, found: &[u8], line: &[u8]) -> LineError {
    let is_partition = column_count(line) == PARTITION_COLUMNS;
    let field = if is_partition { PARTITION_FIELDS[field] } else { FIELDS[field] };
    LineError::InvalidNumber { field, found: excerpt(found) }
}

fn column_count_error(line: &[u8]) -> LineError {
    let first = Fields::new(line).next().unwrap_or_default();
    if first.iter().all(u8::is_ascii_digit) {
        LineError::ColumnCount(column_count(line))
    } else {
        LineError::NotDiskstats(excerpt(line))
    }
}

/// Returns the start of a text, escaped for use in a message.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    const MAX_CHARS: usize = 40;
    const MAX_UTF8_BYTES: usize = 4;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_UTF8_BYTES * MAX_CHARS)]);
    let start: String = text.chars().take(MAX_CHARS).collect();
    let ellipsis = if start.len() < text.len() || text.len() < bytes.len() { "…" } else { "" };
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
    fn columns_that_future_kernels_may_add_are_ignored() {
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
    fn an_error_names_the_field_and_its_text() {
        let error = parsed("8 0 sda 1 2 12x 4 5 6 7 8 9 10 11").unwrap_err();
        assert_eq!(error, LineError::InvalidNumber { field: "sectors read", found: "12x".into() });
        assert_eq!(
            parsed("8 1 sda1 1 2 3 y").unwrap_err(),
            LineError::InvalidNumber { field: "sectors written", found: "y".into() }
        );
        assert_eq!(
            parsed("8 0x sda 1 2 3 4 5 6 7 8 9 10 11").unwrap_err(),
            LineError::InvalidNumber { field: "minor", found: "0x".into() }
        );
    }

    #[test]
    fn other_column_counts_are_rejected() {
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
        assert_eq!(line("18446744073709551615").unwrap().counters.reads.ios, u64::MAX);
        assert!(matches!(
            line("18446744073709551616"),
            Err(LineError::InvalidNumber { field: "reads completed", .. })
        ));
        assert_eq!(line("00000000000000000000000007").unwrap().counters.reads.ios, 7);
    }

    #[test]
    fn a_negative_in_flight_count_is_the_kernels_32_bit_miscount() {
        assert_eq!(
            parsed("8 0 sda 1 2 3 4 5 6 7 8 -1 10 11").unwrap().counters.in_flight,
            u64::from(u32::MAX)
        );
        assert!(parsed("8 0 sda -1 2 3 4 5 6 7 8 9 10 11").is_err());
    }

    #[test]
    fn names_may_contain_slashes_exclamation_marks_and_any_script() {
        for name in ["cciss/c0d0", "cciss!c0d0p1", "dm-10", "диск", "a\u{1b}[31m"] {
            assert_eq!(parsed(&format!("104 0 {name} 1 2 3 4 5 6 7 8 9 10 11")).unwrap().name, name);
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

    /// A line: a device, words, the blanks between them, and the end.
    fn line() -> impl Strategy<Value = String> {
        let start =
            prop::sample::select(vec!["8 0 sda", "   8       0 sda", "8 0 sda1", "8 1 sda", "x 0 sda", "8"]);
        let blank = prop::sample::select(vec![" ", " ", " ", " ", "  ", "\t"]);
        let end = prop::sample::select(vec!["", "", " ", "\r", " \t"]);
        let words = prop::collection::vec((blank, word()), 0..20);
        (start, words, end).prop_map(|(start, words, end)| {
            let words: String = words.iter().map(|(blank, word)| format!("{blank}{word}")).collect();
            format!("{start}{words}{end}")
        })
    }

    proptest! {
        #[test]
        fn a_line_is_read_alike_whatever_the_shape_of_the_one_before(lines in prop::collection::vec(line(), 2..5)) {
            let mut shape = LineShape::default();
            for line in &lines {
                // The second time, the line is parsed with its own shape.
                for _ in 0..2 {
                    let mut device = Device::default();
                    let read = parse_line_of(&mut shape, line.as_bytes(), &mut device, None).map(|()| device);
                    prop_assert_eq!(read, parsed(line));
                }
            }
        }
    }

    #[test]
    fn a_message_never_contains_a_control_character() {
        let error = parsed("8 0 sda 1 2 \u{1b}[31mred 4 5 6 7 8 9 10 11").unwrap_err().to_string();
        assert!(!error.contains('\u{1b}'), "{error:?}");
    }
}
