//! Numbers with a fixed count of decimals, rounded as printf rounds: to the nearest, exact ties to even.
//!
//! A replay prints millions of them, and the standard library's formatting took nine tenths of its time.

/// The buffer for a number: 20 digits and a point fit, and the widest column.
const MAX_WIDTH: usize = 32;

/// Appends `value` with `decimals` (at most 2) decimals, right-aligned in `width`; a longer number is not cut.
pub(crate) fn push_fixed(out: &mut Vec<u8>, value: f64, width: usize, decimals: usize) {
    let Some(mut rest) = scaled(value, decimals).filter(|_| width <= MAX_WIDTH) else {
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
    let mut text = [b' '; MAX_WIDTH];
    let at = push_digits(&mut text, MAX_WIDTH, value);
    out.extend_from_slice(&text[at.min(MAX_WIDTH.saturating_sub(width))..]);
}

/// Appends a number of millionths as a decimal number, without trailing zeros except the first.
pub(crate) fn push_millionths(out: &mut Vec<u8>, millionths: u64) {
    let (whole, mut fraction) = (millionths / 1_000_000, millionths % 1_000_000);
    let mut text = [b'0'; MAX_WIDTH];
    let mut at = MAX_WIDTH;
    while fraction > 0 {
        at = push_pair(&mut text, at, (fraction % 100) as usize);
        fraction /= 100;
    }
    let point = MAX_WIDTH - 7;
    text[point] = b'.';
    let zeros = text[point + 2..].iter().rev().take_while(|digit| **digit == b'0').count();
    let at = push_digits(&mut text, point, whole);
    out.extend_from_slice(&text[at..MAX_WIDTH - zeros]);
}

/// Writes the digits of `value` so that they end before `at`, and returns where they begin.
fn push_digits(text: &mut [u8; MAX_WIDTH], mut at: usize, mut value: u64) -> usize {
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
fn push_pair(text: &mut [u8; MAX_WIDTH], at: usize, pair: usize) -> usize {
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

/// `value` times 10^decimals as a whole number, correctly rounded; `None` where 64 bits do not hold it or it is
/// below zero.
fn scaled(value: f64, decimals: usize) -> Option<u64> {
    const MANTISSA_BITS: u64 = 52;
    let bits = value.to_bits();
    if bits == 0 {
        return Some(0);
    }
    // The value is mantissa / 2^shift; a sign would make the exponent huge.
    let exponent = bits >> MANTISSA_BITS;
    let mantissa = (bits & ((1 << MANTISSA_BITS) - 1)) | (1 << MANTISSA_BITS);
    let shift = 1075u64.checked_sub(exponent).filter(|_| exponent > 0)?;
    let factor = [1, 10, 100].get(decimals)?;
    // 53 bits times 100 are less than 2^60.
    let product = mantissa * factor;
    match shift {
        0 => Some(product),
        1..=62 => {
            let (whole, rest, half) = (product >> shift, product & ((1 << shift) - 1), 1u64 << (shift - 1));
            let up = rest > half || (rest == half && whole % 2 == 1);
            Some(whole + u64::from(up))
        }
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
