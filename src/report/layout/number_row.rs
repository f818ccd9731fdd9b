//! Rows of numbers in columns of fixed widths, all numbers of a row at once.
//!
//! A replay prints millions of rows. If every number of a row fits into its column, the position of each is known in
//! advance, and all of them take the same steps: each step is a loop over the row without branches, which compilers
//! turn into instructions that work on several numbers at a time.

use super::fixed_decimal::{BLANKS, ColumnFormat, ZEROS};

/// The most columns of a row.
pub(crate) const MAX_COLUMNS: usize = 24;

/// The numbers of a row by column; those after the last column are zero.
pub(crate) type RowValues = [f64; MAX_COLUMNS];

/// The number of numbers that the steps work on at a time.
const STEP: usize = 4;

/// The number of bytes written for a cell, up to its end. They overwrite the end of the cell before it, which is
/// written later.
const CELL_BYTES: usize = 16;

const MAX_ROW_BYTES: usize = u8::MAX as usize;

/// A number from which floats are whole numbers, so that adding it rounds. The lowest bits of the sum are those of the
/// rounded number.
const WHOLE: f64 = 6_755_399_441_055_744.0;

/// A value for each column, aligned for the instructions that work on several at a time.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Lanes<T>([T; MAX_COLUMNS]);

/// A word for each column.
type Words = Lanes<[u8; 8]>;

pub(crate) struct RowFormat {
    columns: Vec<ColumnFormat>,
    /// The end of each column in the row.
    ends: [u8; MAX_COLUMNS],
    /// The ends of columns of percentages.
    percent_signs: Vec<u8>,
    /// The bytes of a row; `None` if there are too many columns or bytes for the fast path.
    bytes: Option<usize>,
    factors: Lanes<f64>,
    limits: Lanes<f64>,
    units: Lanes<u64>,
    whole: Lanes<u64>,
    fractions: Lanes<u64>,
    points: Lanes<u64>,
    /// The bits of the first digit, which the point moves to the word before.
    moved: Lanes<u64>,
    /// The blanks of the word before.
    blanks: Lanes<u64>,
}

impl RowFormat {
    /// Returns the format of rows with these columns; those after [`MAX_COLUMNS`] have no numbers.
    pub(crate) fn new(columns: Vec<ColumnFormat>) -> Self {
        let mut format = Self {
            ends: [0; MAX_COLUMNS],
            percent_signs: Vec::new(),
            bytes: None,
            factors: Lanes([0.0; MAX_COLUMNS]),
            // The zeros after the last column are below this limit.
            limits: Lanes([1.0; MAX_COLUMNS]),
            units: Lanes([0; MAX_COLUMNS]),
            whole: Lanes([0; MAX_COLUMNS]),
            fractions: Lanes([0; MAX_COLUMNS]),
            points: Lanes([0; MAX_COLUMNS]),
            moved: Lanes([0; MAX_COLUMNS]),
            blanks: Lanes([0; MAX_COLUMNS]),
            columns,
        };
        let mut end = 0;
        for (at, column) in format.columns.iter().enumerate().take(MAX_COLUMNS) {
            end += 1 + column.width;
            format.ends[at] = u8::try_from(end).unwrap_or(u8::MAX);
            if column.is_percentage {
                format.percent_signs.push(format.ends[at]);
                end += 1;
            }
            (format.factors.0[at], format.limits.0[at]) = (column.factor, column.limit);
            (format.units.0[at], format.whole.0[at]) = (column.units, column.whole);
            (format.fractions.0[at], format.points.0[at]) = (column.fraction, column.point);
            (format.moved.0[at], format.blanks.0[at]) =
                if column.decimals == 0 { (0, BLANKS) } else { (0xff << 56, BLANKS >> 8) };
        }
        let is_short = format.columns.len() <= MAX_COLUMNS && end <= MAX_ROW_BYTES;
        format.bytes = is_short.then_some(end);
        format
    }

    /// Appends the cells of a row, each with a blank before it. `push_other` appends a single cell, by its index, if it
    /// is too long for the fast path or its rounding is not certain.
    #[inline]
    pub(crate) fn push(
        &self,
        values: &RowValues,
        out: &mut Vec<u8>,
        push_other: impl Fn(usize, &mut Vec<u8>),
    ) {
        let start = out.len();
        let Some(is_sure) = self.push_short(values, out) else {
            return (0..self.columns.len()).for_each(|index| push_other(index, out));
        };
        if !is_sure && !self.replace_unsure(values, start, out, &push_other) {
            out.truncate(start);
            (0..self.columns.len()).for_each(|index| push_other(index, out));
        }
    }

    /// Appends a row as if all cells were short. Returns whether all of them are certainly right; `None` if it appends
    /// nothing.
    fn push_short(&self, values: &RowValues, out: &mut Vec<u8>) -> Option<bool> {
        let start = out.len();
        let (bytes, before) = (self.bytes?, *out.last_chunk::<CELL_BYTES>()?);
        let mut numbers = Lanes([[0; 8]; MAX_COLUMNS]);
        let is_sure = self.round(values, &mut numbers);
        split_digits(self.lanes(), &mut numbers);
        let (mut first, mut last) = (Lanes([0; MAX_COLUMNS]), Lanes([0; MAX_COLUMNS]));
        self.place_points(&numbers, &mut first, &mut last);

        out.resize(start + MAX_ROW_BYTES, b' ');
        let row: &mut [u8; CELL_BYTES + MAX_ROW_BYTES] =
            out.get_mut(start - CELL_BYTES..)?.first_chunk_mut()?;
        let cells = self.ends.iter().zip(&first.0).zip(&last.0).take(self.columns.len());
        for ((end, first), last) in cells.rev() {
            let cell = &mut row[usize::from(*end)..][..CELL_BYTES];
            cell[..8].copy_from_slice(&first.to_le_bytes());
            cell[8..].copy_from_slice(&last.to_le_bytes());
        }
        for at in &self.percent_signs {
            row[CELL_BYTES + usize::from(*at)] = b'%';
        }
        row[..CELL_BYTES].copy_from_slice(&before);
        out.truncate(start + bytes);
        Some(is_sure)
    }

    /// Replaces the uncertain cells of the row that begins at `start`. Returns whether the new cells fit their columns.
    #[cold]
    fn replace_unsure(
        &self,
        values: &RowValues,
        start: usize,
        out: &mut Vec<u8>,
        push_other: impl Fn(usize, &mut Vec<u8>),
    ) -> bool {
        let row_end = out.len();
        for (index, column) in self.columns.iter().enumerate() {
            if self.round_one(index, values[index]).1 {
                continue;
            }
            push_other(index, out);
            let cell_start = start + usize::from(self.ends[index]) - (1 + column.width);
            if out.len() - row_end != 1 + column.width + usize::from(column.is_percentage) {
                return false;
            }
            out.copy_within(row_end.., cell_start);
            out.truncate(row_end);
        }
        true
    }

    /// Returns the number of columns to work on, rounded up so that no loop has a remainder.
    fn lanes(&self) -> usize {
        self.columns.len().next_multiple_of(STEP).min(MAX_COLUMNS)
    }

    /// Rounds numbers as [`Self::round_one`] does. Returns whether the rounding of all of them is certain.
    #[expect(clippy::needless_range_loop, reason = "compilers see the bounds of a loop over indices")]
    fn round(&self, values: &RowValues, numbers: &mut Words) -> bool {
        let mut are_sure = true;
        for at in 0..self.lanes() {
            let (number, is_sure) = self.round_one(at, values[at]);
            numbers.0[at] = number.to_le_bytes();
            are_sure &= is_sure;
        }
        are_sure
    }

    /// Rounds the number of a column to its decimals and splits its digits, at most eight, into two halves: the first
    /// and the third 16 bits of a word. Also returns whether the number fits into the column and is not near a tie.
    #[inline(always)]
    fn round_one(&self, at: usize, value: f64) -> (u64, bool) {
        /// The error of the product for a short number is less than 10^-7, so its rounding is right up to this
        /// distance.
        const MAX_DISTANCE: f64 = 0.499_999_9;
        let product = value * self.factors.0[at];
        let number = (product + WHOLE) - WHOLE;
        let is_near = (product < self.limits.0[at]) & ((product - number).abs() < MAX_DISTANCE);
        // Rounds down: the fourth decimal is the last one.
        let upper = number * 1e-4 - 0.499_95 + WHOLE;
        let lower = number - (upper - WHOLE) * 1e4 + WHOLE;
        let halves = (upper.to_bits() & 0xffff) | (lower.to_bits() << 32);
        (halves, is_near & value.is_sign_positive())
    }

    /// Turns digits into the text of cells: blanks in place of leading zeros, and points. `last` holds the last eight
    /// bytes of each cell, `first` those before.
    fn place_points(&self, digits: &Words, first: &mut Lanes<u64>, last: &mut Lanes<u64>) {
        for at in 0..self.lanes() {
            let digits = u64::from_le_bytes(digits.0[at]);
            // The digit before the point is printed even if it is zero. All bits before the first one that is printed:
            let printed = digits | self.units.0[at];
            let leading = printed.wrapping_sub(1) & !printed;
            let text = (digits | ZEROS) ^ (leading & (ZEROS ^ BLANKS));
            first.0[at] = ((text << 56) & self.moved.0[at]) | self.blanks.0[at];
            last.0[at] = ((text >> 8) & self.whole.0[at]) | (text & self.fractions.0[at]) | self.points.0[at];
        }
    }
}

/// Splits the halves of numbers from [`RowFormat::round`] into digits, one in each byte.
fn split_digits(lanes: usize, numbers: &mut Words) {
    let mut hundreds = Lanes([[0; 8]; MAX_COLUMNS]);
    // The quotients are exact for numbers of their size.
    let parts = shorts(lanes, &mut hundreds).iter_mut().zip(shorts(lanes, numbers));
    for (hundred, rest) in parts {
        let four = u16::from_le_bytes(*rest);
        let quotient = ((u32::from(four) * 5243) >> 16) as u16 >> 3;
        *hundred = quotient.to_le_bytes();
        *rest = four.wrapping_sub(quotient.wrapping_mul(100)).to_le_bytes();
    }
    for (hundred, rest) in hundreds.0.iter().zip(&mut numbers.0).take(lanes) {
        *rest = (u64::from_le_bytes(*hundred) | u64::from_le_bytes(*rest) << 16).to_le_bytes();
    }
    for pair in shorts(lanes, numbers) {
        let number = u16::from_le_bytes(*pair);
        let tens = number.wrapping_mul(103) >> 10;
        *pair = (number << 8).wrapping_sub(tens.wrapping_mul(10 * 256 - 1)).to_le_bytes();
    }
}

/// Returns the first words in parts of 16 bits.
fn shorts(lanes: usize, words: &mut Words) -> &mut [[u8; 2]] {
    words.0[..lanes].as_flattened_mut().as_chunks_mut().0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the row of values, each in its own column, and the same row formatted by the standard library.
    fn rows(values: &[f64], columns: &[(usize, usize, bool)]) -> (String, String) {
        let formats = columns.iter().map(|(width, decimals, is_percentage)| {
            let format = ColumnFormat::new(*width, *decimals);
            if *is_percentage { format.with_percent_sign() } else { format }
        });
        let format = RowFormat::new(formats.collect());
        let mut row_values = [0.0; MAX_COLUMNS];
        values.iter().zip(&mut row_values).for_each(|(value, to)| *to = *value);
        let before = "the text before it";
        let mut out = before.as_bytes().to_vec();
        format.push(&row_values, &mut out, |at, out| format.columns[at].push(values[at], out));
        let expected = values.iter().zip(columns).map(|(value, (width, decimals, is_percentage))| {
            format!(" {value:>width$.decimals$}{}", if *is_percentage { "%" } else { "" })
        });
        (String::from_utf8(out).unwrap(), format!("{before}{}", expected.collect::<String>()))
    }

    #[test]
    fn numbers_at_every_border_are_written_as_printf_writes_them() {
        for (width, decimals) in (0..20).flat_map(|width| (0..3).map(move |decimals| (width, decimals))) {
            let powers = (0..18).map(|power| 10f64.powi(power));
            let near = powers.flat_map(|power| {
                [0.0, 0.001, 0.004, 0.005, 0.006, 0.05, 0.06, 0.5, 0.6].map(|less| power - less)
            });
            for value in near.chain([0.0, -0.0, -0.001, f64::NAN, f64::INFINITY, -7.0, 0.125, 0.25, 0.5]) {
                let (row, expected) =
                    rows(&[1.0, value, 2.0], &[(5, 2, false), (width, decimals, true), (3, 1, false)]);
                assert_eq!(row, expected, "{width} {decimals}");
            }
        }
    }

    #[test]
    fn all_digits_of_a_number_are_written() {
        for number in (0..100_000_000u32).step_by(9973).chain(0..20_000) {
            let value = f64::from(number);
            let (row, expected) =
                rows(&[value, value / 10.0, value / 100.0], &[(9, 0, false), (10, 1, false), (9, 2, true)]);
            assert_eq!(row, expected);
        }
    }

    #[test]
    fn a_row_without_text_before_it_is_written_too() {
        let format = RowFormat::new(vec![ColumnFormat::new(4, 1)]);
        let (mut values, mut out) = ([0.0; MAX_COLUMNS], Vec::new());
        values[0] = 2.5;
        format.push(&values, &mut out, |at, out| format.columns[at].push(values[at], out));
        assert_eq!(out, b"  2.5");
    }

    proptest! {
        #[test]
        fn rows_are_written_as_the_standard_library_writes_them(
            cells in prop::collection::vec(
                ((any::<u32>(), 0u32..32, 1u32..5000), (0usize..18, 0usize..3, any::<bool>())), 0..=MAX_COLUMNS
            ),
        ) {
            let amount = |(n, shift, divisor): (u32, u32, u32)| f64::from(n >> shift) / f64::from(divisor);
            let values: Vec<f64> = cells.iter().map(|(cell, _)| amount(*cell)).collect();
            let columns: Vec<_> = cells.iter().map(|(_, column)| *column).collect();
            let (row, expected) = rows(&values, &columns);
            prop_assert_eq!(row, expected);
        }

        #[test]
        fn rows_of_short_numbers_are_too(
            cells in prop::collection::vec(((any::<u32>(), 0u32..32, 1u32..5000), 0usize..3), 0..=MAX_COLUMNS),
        ) {
            let amount = |(n, shift, divisor): (u32, u32, u32)| f64::from((n >> shift) % 1000) / f64::from(divisor);
            let values: Vec<f64> = cells.iter().map(|(cell, _)| amount(*cell)).collect();
            let columns: Vec<_> = cells.iter().map(|(_, decimals)| (7, *decimals, false)).collect();
            let (row, expected) = rows(&values, &columns);
            prop_assert_eq!(row, expected);
        }
    }
}
