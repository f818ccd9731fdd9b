//! The fields of a diskstats line: words and decimal numbers separated by blanks.
//!
//! Numbers take most of the time of a replay, so they are read eight digits at a time.

/// The outcome of reading a number.
pub(super) enum Number<'a> {
    /// A number that fits into 64 bits.
    Value(u64),
    /// The line has no more fields.
    End,
    /// A field that is not a number, or too large a one.
    Invalid(&'a [u8]),
}

/// Iterates over the fields of a line. Spaces, tabs and carriage returns are blanks.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

/// Powers of ten by exponent: the factor by which a number grows when that many digits are appended.
const POWERS_OF_TEN: [u64; 9] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Every number of this many digits fits into 64 bits.
const MAX_SAFE_DIGITS: usize = 19;

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

impl<'a> Fields<'a> {
    /// Iterates over the fields of `line`, which must not contain a newline.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    /// Returns the rest of the line, after the field read last.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Reads the next field as an unsigned decimal number.
    pub(super) fn next_number(&mut self) -> Number<'a> {
        // The kernel separates numbers by one space.
        if let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.skip_blanks();
        let (mut value, mut digits, mut rest) = (0u64, 0, self.rest);
        // Sixteen digits always fit.
        for _ in 0..2 {
            let Some((chunk, after)) = rest.split_first_chunk::<8>() else { break };
            let (number, count) = leading_digits(u64::from_le_bytes(*chunk));
            value = value * POWERS_OF_TEN[count] + number;
            digits += count;
            if let Some(after) = rest.get(count..).filter(|_| count < 8) {
                return self.finish_number(value, digits, after);
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
        self.finish_number(value, digits, rest)
    }

    /// Accepts a number of `digits` digits if it certainly fits and a blank or the end of the line follows.
    fn finish_number(&mut self, value: u64, digits: usize, rest: &'a [u8]) -> Number<'a> {
        if digits == 0 || digits > MAX_SAFE_DIGITS || !rest.first().is_none_or(|byte| is_blank(*byte)) {
            return self.unusual_number();
        }
        self.rest = rest;
        Number::Value(value)
    }

    /// Reads a longer number, a word that is not a number, or the end of the line.
    #[cold]
    fn unusual_number(&mut self) -> Number<'a> {
        let Some(word) = self.next() else { return Number::End };
        let is_number = word.iter().all(u8::is_ascii_digit);
        match std::str::from_utf8(word).ok().filter(|_| is_number).and_then(|word| word.parse().ok()) {
            Some(value) => Number::Value(value),
            None => Number::Invalid(word),
        }
    }

    fn skip_blanks(&mut self) {
        while let [first, rest @ ..] = self.rest
            && is_blank(*first)
        {
            self.rest = rest;
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let end = self.rest.iter().position(|byte| is_blank(*byte)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

/// Returns the number that eight characters begin with, and its digit count. The first character is in the lowest
/// byte.
///
/// All eight are processed at once, as the bytes of one word: flipping the bits of `0` turns digits into 0 to 9, and
/// adding 0x76 to any larger byte sets its highest bit.
fn leading_digits(characters: u64) -> (u64, usize) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let values = characters ^ (ONES * 0x30);
    let non_digits = (values.wrapping_add(ONES * 0x76) | values) & (ONES * 0x80);
    let count = non_digits.trailing_zeros() / 8;
    if count == 0 {
        return (0, 0);
    }
    // Shifts the digits to the high end, which pads the number with leading zeros.
    let digits = values << (64 - 8 * count);
    // Combines pairs of digits, then pairs of pairs, then both halves: the higher byte is the lower digit.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    let eight = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff;
    (eight, count as usize)
}
