//! The fields of a diskstats line: words and decimal numbers separated by blanks.
//!
//! Numbers take most of the time of a replay, so they are read eight digits at a time, and without searching for the
//! end if the number of digits is known from the sample before.

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
    line: &'a [u8],
    /// The end of the field read last.
    at: usize,
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
        Self { line, at: 0 }
    }

    /// Iterates over the fields of `line` after its first `at` bytes, which end with a field.
    pub(super) fn after(line: &'a [u8], at: usize) -> Self {
        Self { line, at }
    }

    /// Returns the rest of the line, after the field read last.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.line.get(self.at..).unwrap_or_default()
    }

    /// Returns the position in the line at which the field read last ends.
    pub(super) fn end(&self) -> usize {
        self.at
    }

    /// Reads the next field if it is a number of this many digits, at most 16, after one space; `None` if it is not, or
    /// if it ends within the first eight characters of the line.
    #[inline]
    pub(super) fn next_number_of(&mut self, digits: u8) -> Option<u64> {
        let start = self.at + 1;
        let end = start + usize::from(digits);
        if self.line.get(end).is_some_and(|byte| *byte != b' ') {
            return None;
        }
        let until = self.line.get(..end)?;
        let (before, last) = until.split_last_chunk::<8>()?;
        let value = match digits {
            1..=8 => last_digits(*last, digits)?,
            9..=16 => {
                let upper = last_digits(*before.last_chunk::<8>()?, digits - 8)?;
                upper * POWERS_OF_TEN[8] + last_digits(*last, 8)?
            }
            _ => return None,
        };
        self.at = end;
        Some(value)
    }

    /// Reads the next field as an unsigned decimal number.
    pub(super) fn next_number(&mut self) -> Number<'a> {
        self.skip_blanks();
        let (mut value, mut digits, mut rest) = (0u64, 0, self.rest());
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
        // The last digits of a long number or of the line.
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
        self.at += digits;
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
        self.at += self.rest().iter().take_while(|byte| is_blank(**byte)).count();
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let rest = self.rest();
        let end = rest.iter().position(|byte| is_blank(*byte)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).filter(|word| !word.is_empty())
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;

/// Returns the number that eight characters begin with, and its digit count. The first character is in the lowest
/// byte.
pub(super) fn leading_digits(characters: u64) -> (u64, usize) {
    let values = digit_values(characters);
    let count = non_digits(values).trailing_zeros() / 8;
    if count == 0 {
        return (0, 0);
    }
    // Shifts the digits to the high end, which pads the number with leading zeros.
    (combine(values << (64 - 8 * count)), count as usize)
}

/// Returns the number that the last `digits` (1 to 8) of eight characters are; `None` if one of them is not a digit.
#[inline]
fn last_digits(characters: [u8; 8], digits: u8) -> Option<u64> {
    let unused = 64 - 8 * u32::from(digits);
    let values = digit_values(u64::from_le_bytes(characters)) >> unused << unused;
    (non_digits(values) == 0).then(|| combine(values))
}

/// Returns a mask of eight characters: the bits that hold the values of the last `digits` (1 to 8) of them.
pub(super) fn last_digit_values(digits: usize) -> u64 {
    (ONES * 0x0f) << (64 - 8 * digits)
}

/// Turns digits into 0 to 9, in eight characters at once, as the bytes of one word.
fn digit_values(characters: u64) -> u64 {
    characters ^ (ONES * 0x30)
}

/// Returns a word whose highest bit is set in each byte that is larger than 9, up to and including the first of them:
/// adding 0x76 to such a byte sets its highest bit.
fn non_digits(values: u64) -> u64 {
    (values.wrapping_add(ONES * 0x76) | values) & (ONES * 0x80)
}

/// Returns the number of eight digits, given the value of each. Combines pairs of digits, then pairs of pairs, then
/// both halves; the higher byte is the less significant digit.
fn combine(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

/// Returns the numbers of several words of eight digits, as [`combine`] does. Each step is a loop over all parts of
/// the words, which compilers turn into instructions that work on several parts at a time.
#[inline]
pub(super) fn combine_all<const WORDS: usize>(digits: &mut [[u8; 8]; WORDS]) -> [u64; WORDS] {
    for pair in digits.as_flattened_mut().as_chunks_mut::<2>().0 {
        // Ten times the lower byte and the higher one, in the higher byte.
        let tens = u16::from_le_bytes(*pair).wrapping_mul(10 * 256 + 1);
        *pair = (tens >> 8).to_le_bytes();
    }
    for four in digits.as_flattened_mut().as_chunks_mut::<4>().0 {
        let pairs = u32::from_le_bytes(*four);
        *four = ((pairs & 0xff) * 100 + (pairs >> 16)).to_le_bytes();
    }
    digits.map(|fours| {
        let fours = u64::from_le_bytes(fours);
        (fours & 0xffff_ffff) * 10_000 + (fours >> 32)
    })
}
