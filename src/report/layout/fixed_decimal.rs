//! Numbers with a fixed count of decimals, rounded as printf rounds: to the nearest, exact ties to even.
//!
//! A replay prints millions of them, and formatting by the standard library took nine tenths of its time. Nearly all
//! fit into their column and have at most eight digits: these are computed at once, as the bytes of one word.

/// The buffer for a number: 20 digits and a point fit, and the widest column.
const MAX_WIDTH: usize = 32;

/// The format of a column of numbers. The text of a short number has at most nine characters; the masks and words have
/// one byte for each, the first in the lowest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnFormat {
    /// The width, without the blank before the column.
    pub(super) width: usize,
    /// The decimals, at most 2.
    pub(super) decimals: usize,
    /// True if a percent sign follows the number.
    pub(super) is_percentage: bool,
    /// 10^decimals.
    pub(super) factor: f64,
    /// The bound below which the product of a number and the factor has at most eight digits and fits into the width.
    pub(super) limit: f64,
    /// A one in the byte of the digit before the point.
    pub(super) units: u64,
    /// The digits before the point, one byte further left because of the point; none without decimals.
    pub(super) whole: u64,
    /// The digits after the point; all without decimals.
    pub(super) fraction: u64,
    pub(super) point: u64,
}

impl ColumnFormat {
    /// Returns the format of numbers with `decimals` (at most 2) decimals, right-aligned in `width`.
    pub(crate) const fn new(width: usize, decimals: usize) -> Self {
        let (factor, whole, point) = match decimals {
            0 => (1.0, 0, 0),
            1 => (10.0, 0x0000_ffff_ffff_ffff, (b'.' as u64) << 48),
            _ => (100.0, 0x0000_00ff_ffff_ffff, (b'.' as u64) << 40),
        };
        Self {
            width,
            decimals,
            is_percentage: false,
            factor,
            // Even the largest number must stay below the limit when it is rounded.
            limit: short_limit(width, decimals) as f64 - 0.5,
            units: 1 << (56 - 8 * decimals),
            whole,
            fraction: if decimals == 0 { u64::MAX } else { !(u64::MAX >> (8 * decimals)) },
            point,
        }
    }

    /// Adds a percent sign after the numbers.
    pub(crate) const fn with_percent_sign(self) -> Self {
        Self { is_percentage: true, ..self }
    }

    /// Returns the digits of a short number without the point, with blanks in place of leading zeros.
    #[inline]
    fn digits(&self, number: u64) -> u64 {
        let digits = eight_digits(number);
        // The digit before the point is printed even if it is zero. The following are all bits before the first printed
        // digit:
        let printed = digits | self.units;
        let leading = (printed - 1) & !printed;
        (digits | ZEROS) ^ (leading & (ZEROS ^ BLANKS))
    }

    /// Moves the digits before the point by one byte; the first of them is lost.
    #[inline]
    fn with_point(&self, digits: u64) -> u64 {
        ((digits >> 8) & self.whole) | (digits & self.fraction) | self.point
    }

    /// Writes a short number, right-aligned in `width`, to the start of `out`. It may overwrite up to eight bytes after
    /// the number, because a fixed number of bytes is copied faster.
    #[inline]
    fn write_short(&self, number: u64, width: usize, out: &mut [u8]) {
        let text = self.digits(number);
        let last = self.with_point(text);
        if width <= 8 {
            out[..8].copy_from_slice(&(last >> (64 - 8 * width)).to_le_bytes());
        } else {
            // The point moves the first digit.
            let first = if self.decimals == 0 { BLANKS } else { (text << 56) | (BLANKS >> 8) };
            out[..8].copy_from_slice(&(first >> (128 - 8 * width)).to_le_bytes());
            out[width - 8..width].copy_from_slice(&last.to_le_bytes());
        }
    }

    /// Appends a blank, and `value` in the format of this column; a longer number is not cut.
    pub(crate) fn push(&self, value: f64, out: &mut Vec<u8>) {
        out.push(b' ');
        push_fixed(out, value, self.width, self.decimals);
        if self.is_percentage {
            out.push(b'%');
        }
    }
}

/// Appends `value` with `decimals` (at most 2) decimals, right-aligned in `width`; a longer number is not cut.
#[inline(never)]
pub(crate) fn push_fixed(out: &mut Vec<u8>, value: f64, width: usize, decimals: usize) {
    match scaled(value, decimals) {
        Some(number) if number < short_limit(width, decimals) => push_short(out, number, width, decimals),
        number => push_long(out, value, number, width, decimals),
    }
}

/// Appends a number of any size; `number` is that of [`scaled`].
fn push_long(out: &mut Vec<u8>, value: f64, number: Option<u64>, width: usize, decimals: usize) {
    let Some(mut rest) = number.filter(|_| width <= MAX_WIDTH) else {
        out.extend_from_slice(format!("{value:>width$.decimals$}").as_bytes());
        return;
    };
    let mut text = [b' '; MAX_WIDTH];
    let mut at = MAX_WIDTH;
    if decimals == 2 {
        at = push_pair(&mut text, at, (rest % 100) as usize);
        rest /= 100;
    } else if decimals == 1 {
        at -= 1;
        text[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if decimals > 0 {
        at -= 1;
        text[at] = b'.';
    }
    at = push_digits(&mut text, at, rest);
    out.extend_from_slice(&text[at.min(MAX_WIDTH - width)..]);
}

/// The widest column of short numbers, with the blank before it.
const MAX_SHORT_WIDTH: usize = 16;

/// Returns the bound below which numbers have at most eight digits that fit into `width`; 0 if no number does.
const fn short_limit(width: usize, decimals: usize) -> u64 {
    let point = if decimals > 0 { 1 } else { 0 };
    // There is at least one digit before the point.
    if width < decimals + point + 1 || width >= MAX_SHORT_WIDTH {
        0
    } else if width - point < 8 {
        10u64.pow((width - point) as u32)
    } else {
        100_000_000
    }
}

/// A word with 1 in each byte; multiplied by a byte, it has that byte everywhere.
const ONES: u64 = 0x0101_0101_0101_0101;
pub(super) const ZEROS: u64 = ONES * b'0' as u64;
pub(super) const BLANKS: u64 = ONES * b' ' as u64;

/// Appends a number below [`short_limit`], right-aligned in `width`; its last `decimals` digits follow the point.
fn push_short(out: &mut Vec<u8>, number: u64, width: usize, decimals: usize) {
    let mut text = [0; MAX_SHORT_WIDTH];
    ColumnFormat::new(width, decimals).write_short(number, width, &mut text);
    push_prefix(out, &text, width);
}

/// Appends the first bytes of a text. Copying all of a fixed length and cutting takes less time than a copy of any
/// length.
fn push_prefix<const N: usize>(out: &mut Vec<u8>, text: &[u8; N], length: usize) {
    let end = out.len() + length;
    out.extend_from_slice(text);
    out.truncate(end);
}

/// Returns the digits of a number below 10^8, one in each byte, the first in the lowest. The number is divided into
/// halves, then both halves at once are divided further, by multiplication with a reciprocal that is exact for numbers
/// of their size.
#[inline]
fn eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = hundreds | (fours - hundreds * 100) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (pairs - tens * 10) << 8
}

/// Formats `value` with `decimals` (at most 2) decimals, followed by its unit.
pub(crate) fn fixed(value: f64, decimals: usize, unit: &str) -> String {
    let mut text = Vec::with_capacity(MAX_WIDTH);
    push_fixed(&mut text, value, 0, decimals);
    text.extend_from_slice(unit.as_bytes());
    // Digits and a unit are always UTF-8.
    String::from_utf8(text).unwrap_or_default()
}

/// Appends a whole number, right-aligned in `width`, which is at most 32.
pub(crate) fn push_whole(out: &mut Vec<u8>, value: u64, width: usize) {
    if value < short_limit(width, 0) {
        return push_short(out, value, width, 0);
    }
    let mut text = [b' '; MAX_WIDTH];
    let at = push_digits(&mut text, MAX_WIDTH, value);
    out.extend_from_slice(&text[at.min(MAX_WIDTH.saturating_sub(width))..]);
}

/// Appends millionths as a decimal number: `12.5`, `3.0`.
pub(crate) fn push_millionths(out: &mut Vec<u8>, millionths: u64) {
    if millionths == 0 {
        return out.extend_from_slice(b"0.0");
    }
    let (whole, fraction) = (millionths / 1_000_000, millionths % 1_000_000);
    // The six digits of the fraction follow two zeros.
    let digits = eight_digits(fraction) >> 16;
    let count = 8 - (digits | 1).leading_zeros() as usize / 8;
    let mut text = [b' '; 2 * MAX_WIDTH];
    let at = push_digits(&mut text, MAX_WIDTH - 1, whole);
    text[MAX_WIDTH - 1] = b'.';
    text[MAX_WIDTH..MAX_WIDTH + 8].copy_from_slice(&(digits | ZEROS).to_le_bytes());
    if let Some(number) = text[at..].first_chunk::<MAX_WIDTH>() {
        push_prefix(out, number, MAX_WIDTH + count - at);
    }
}

/// Writes the digits of `value` so that they end before `at`, and returns where they begin.
fn push_digits(text: &mut [u8], mut at: usize, mut value: u64) -> usize {
    while value >= 100 {
        at = push_pair(text, at, (value % 100) as usize);
        value /= 100;
    }
    if value >= 10 {
        return push_pair(text, at, value as usize);
    }
    text[at - 1] = b'0' + value as u8;
    at - 1
}

/// Writes two digits that end before `at`, and returns where they begin.
fn push_pair(text: &mut [u8], at: usize, pair: usize) -> usize {
    text[at - 2..at].copy_from_slice(&DIGIT_PAIRS[pair % 100]);
    at - 2
}

/// The digits of the numbers from 0 to 99.
const DIGIT_PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut pair = 0;
    while pair < 100 {
        pairs[pair] = [b'0' + (pair / 10) as u8, b'0' + (pair % 10) as u8];
        pair += 1;
    }
    pairs
};

/// `value` times 10^decimals as a whole number, correctly rounded; `None` if it is large or below zero.
#[inline]
fn scaled(value: f64, decimals: usize) -> Option<u64> {
    const MANTISSA_BITS: u64 = 52;
    let bits = value.to_bits();
    // The value is mantissa / 2^shift; a sign bit would make the exponent huge.
    let exponent = bits >> MANTISSA_BITS;
    let mantissa = (bits & ((1 << MANTISSA_BITS) - 1)) | (1 << MANTISSA_BITS);
    let factor = [1, 10, 100].get(decimals)?;
    // 53 bits times 100 are less than 2^60.
    let product = mantissa * factor;
    match 1075u64.checked_sub(exponent)? {
        0 => None,
        shift @ 1..=62 => {
            // An odd number is rounded up at exactly one half, an even one only above it.
            let odd = (product >> shift) & 1;
            Some((product + (1 << (shift - 1)) - 1 + odd) >> shift)
        }
        // Also for zero.
        _ => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fixed(value: f64, width: usize, decimals: usize) -> String {
        let mut out = Vec::new();
        push_fixed(&mut out, value, width, decimals);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn ties_go_to_even_as_in_printf() {
        assert_eq!(fixed(0.125, 0, 2), "0.12");
        assert_eq!(fixed(0.375, 0, 2), "0.38");
        assert_eq!(
            (fixed(0.5, 0, 0), fixed(1.5, 0, 0), fixed(2.5, 0, 0)),
            ("0".into(), "2".into(), "2".into())
        );
        assert_eq!(fixed(0.25, 0, 1), "0.2");
    }

    #[test]
    fn numbers_are_right_aligned_and_a_longer_one_is_not_cut() {
        assert_eq!(fixed(1.0, 7, 2), "   1.00");
        assert_eq!(fixed(0.0, 6, 2), "  0.00");
        assert_eq!(fixed(123_456.789, 7, 2), "123456.79");
        assert_eq!(fixed(9.0, 3, 0), "  9");
    }

    #[test]
    fn a_cell_is_a_blank_a_number_and_maybe_a_percent_sign() {
        let format = ColumnFormat::new(3, 0).with_percent_sign();
        let mut out = Vec::new();
        [7.4, 1234.0].iter().for_each(|value| format.push(*value, &mut out));
        assert_eq!(out, b"   7% 1234%");
    }

    #[test]
    fn numbers_out_of_range_are_still_right() {
        for value in
            [1e300, 1.8e19, -1.5, f64::MIN_POSITIVE / 4.0, 9_007_199_254_740_993.0, 4503599627370497.5]
        {
            assert_eq!(fixed(value, 8, 2), format!("{value:>8.2}"), "{value}");
        }
    }

    proptest! {
        #[test]
        fn every_number_is_written_as_the_standard_library_writes_it(bits: u64, decimals in 0usize..3, width in 0usize..30) {
            let value = f64::from_bits(bits);
            prop_assert_eq!(fixed(value, width, decimals), format!("{value:>width$.decimals$}"));
        }

        #[test]
        fn rates_of_every_size_are_written_as_the_standard_library_writes_them(amount: u32, hundredths in 1u32..10_000, decimals in 0usize..3) {
            let value = f64::from(amount) / f64::from(hundredths) * 100.0;
            prop_assert_eq!(fixed(value, 9, decimals), format!("{value:>9.decimals$}"));
        }

        #[test]
        fn whole_numbers_too(value: u64, width in 0usize..30) {
            let mut out = Vec::new();
            push_whole(&mut out, value, width);
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("{value:>width$}"));
        }
    }
}
