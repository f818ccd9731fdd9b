//! Numbers with a fixed count of decimals, rounded as printf rounds: to the nearest, exact ties to even.

use std::io::Write;

/// Appends `value` with `decimals` (at most 2) decimals, right-aligned in `width`; a longer number is not cut.
pub(crate) fn push_fixed(out: &mut Vec<u8>, value: f64, width: usize, decimals: usize) {
    match scaled(value, decimals) {
        Some(number) => push_scaled(out, number, width, decimals),
        None => {
            // Writing to a Vec cannot fail.
            let _ = write!(out, "{value:>width$.decimals$}");
        }
    }
}

/// Appends a whole number, right-aligned in `width`.
pub(crate) fn push_whole(out: &mut Vec<u8>, value: u64, width: usize) {
    push_scaled(out, value, width, 0);
}

/// Appends millionths as a decimal number: `12.5`, `3.0`.
pub(crate) fn push_millionths(out: &mut Vec<u8>, millionths: u64) {
    if millionths == 0 {
        return out.extend_from_slice(b"0.0");
    }
    push_scaled(out, millionths, 0, 6);
    let zeros = out.iter().rev().take(5).take_while(|digit| **digit == b'0').count();
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

/// Appends `number` / 10^`decimals`, right-aligned in `width`.
fn push_scaled(out: &mut Vec<u8>, number: u64, width: usize, decimals: usize) {
    // The longest number has twenty digits and a point.
    let mut text = [b' '; 24];
    let (mut begin, mut rest, mut digits) = (text.len(), number, 0);
    while rest > 0 || digits <= decimals {
        if digits == decimals && decimals > 0 {
            begin -= 1;
            text[begin] = b'.';
        }
        begin -= 1;
        text[begin] = b'0' + (rest % 10) as u8;
        rest /= 10;
        digits += 1;
    }
    out.extend(std::iter::repeat_n(b' ', width.saturating_sub(text.len())));
    out.extend_from_slice(&text[begin.min(text.len().saturating_sub(width))..]);
}

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
