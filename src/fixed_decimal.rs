//! Numbers with a fixed count of decimals, rounded as printf rounds: to the nearest, exact ties to even.

use std::io::Write;

/// Appends `value` with `decimals` (at most 2) decimals, right-aligned in `width`; a longer number is not cut.
pub(crate) fn push_fixed(out: &mut Vec<u8>, value: f64, width: usize, decimals: usize) {
    match scaled(value, decimals) {
        Some(number) => ShortText::decimal(number, decimals).append_to(out, width),
        None => {
            // Writing to a Vec cannot fail.
            let _ = write!(out, "{value:>width$.decimals$}");
        }
    }
}

/// Appends a whole number, right-aligned in `width`.
pub(crate) fn push_whole(out: &mut Vec<u8>, value: u64, width: usize) {
    ShortText::decimal(value, 0).append_to(out, width);
}

/// Appends millionths as a decimal number: `12.5`, `3.0`.
pub(crate) fn push_millionths(out: &mut Vec<u8>, millionths: u64) {
    if millionths == 0 {
        return out.extend_from_slice(b"0.0");
    }
    ShortText::decimal(millionths, 6).append_to(out, 0);
    let zeros = out
        .iter()
        .rev()
        .take(5)
        .take_while(|digit| **digit == b'0')
        .count();
    out.truncate(out.len() - zeros);
}

/// Formats `value` with `decimals` (at most 2) decimals, followed by its unit.
pub(crate) fn fixed(value: f64, decimals: usize, unit: &str) -> String {
    let mut text = Vec::new();
    push_fixed(&mut text, value, 0, decimals);
    text.extend_from_slice(unit.as_bytes());
    // Digits and a unit are always UTF-8.
    String::from_utf8(text).unwrap_or_default()
}

/// The longest short text: twenty digits and a point, with marks and a unit. Widths are not larger.
const MAX_LENGTH: usize = 32;

/// The two digits of each number below 100.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
};

/// A number with its marks and its unit. It is written from right to left, as its digits are found.
pub(crate) struct ShortText {
    /// The text ends in the middle, so that the longest one can be copied from wherever this one begins: copies of a
    /// constant length are fast.
    bytes: [u8; 2 * MAX_LENGTH],
    begin: usize,
}

impl ShortText {
    pub(crate) fn new() -> Self {
        Self {
            bytes: [b' '; 2 * MAX_LENGTH],
            begin: MAX_LENGTH,
        }
    }

    /// The text of `number` / 10^`decimals`.
    #[inline(always)]
    fn decimal(number: u64, decimals: usize) -> Self {
        let mut text = Self::new();
        text.push_decimal(number, decimals);
        text
    }

    pub(crate) fn push(&mut self, byte: u8) {
        self.begin -= 1;
        self.bytes[self.begin] = byte;
    }

    pub(crate) fn push_mark(&mut self, mark: Option<u8>) {
        if let Some(mark) = mark {
            self.push(mark);
        }
    }

    /// Puts `number` / 10^`decimals` before the text.
    #[inline(always)]
    pub(crate) fn push_decimal(&mut self, mut number: u64, decimals: usize) {
        for _ in 0..decimals / 2 {
            self.push_pair(number % 100);
            number /= 100;
        }
        if decimals % 2 == 1 {
            self.push_digit(number % 10);
            number /= 10;
        }
        if decimals > 0 {
            self.push(b'.');
        }
        while number >= 100 {
            self.push_pair(number % 100);
            number /= 100;
        }
        if number >= 10 {
            self.push_pair(number)
        } else {
            self.push_digit(number)
        }
    }

    fn push_digit(&mut self, digit: u64) {
        self.push(b'0' + digit as u8);
    }

    fn push_pair(&mut self, number: u64) {
        self.begin -= 2;
        self.bytes[self.begin..self.begin + 2].copy_from_slice(&PAIRS[number as usize]);
    }

    /// Appends the text, right-aligned in `width` bytes.
    pub(crate) fn append_to(&self, out: &mut Vec<u8>, width: usize) {
        let begin = self.begin.min(MAX_LENGTH - width);
        let end = out.len() + MAX_LENGTH - begin;
        out.extend_from_slice(&self.bytes[begin..begin + MAX_LENGTH]);
        out.truncate(end);
    }
}

/// `value` times 10^decimals as a whole number, correctly rounded; `None` if it is large or below zero.
#[inline]
pub(crate) fn scaled(value: f64, decimals: usize) -> Option<u64> {
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
    fn numbers_out_of_range_are_still_right() {
        for value in [
            1e300,
            1.8e19,
            -1.5,
            f64::MIN_POSITIVE / 4.0,
            9_007_199_254_740_993.0,
            4503599627370497.5,
        ] {
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
