//! Reads the counters of a line that has the layout of an earlier one: the same device, and as many digits in each
//! number.
//!
//! Nearly all lines of a capture do. One pass compares the whole line with the layout, using vector instructions if the
//! processor has them. After that, the position of each number is known, and that it contains only digits.
//!
//! The requests in flight are read separately: they may have one digit in one sample and three in the next.

use super::fields::{combine_all, last_digit_values, leading_digits};

/// The number of counters of a line.
pub(super) const COUNTERS: usize = 17;

/// The index of the requests in flight among the counters.
pub(super) const IN_FLIGHT: usize = 8;

/// The number of counters before the requests in flight, and the most after them.
const RUN: usize = 8;

/// The number of characters available when a part of a line is read: enough for a word at any position, which is stored
/// in a byte.
const WINDOW_BYTES: usize = u8::MAX as usize + WORD_BYTES + 1;

const WORD_BYTES: usize = 8;
const CHUNK_BYTES: usize = 16;

/// The layout of a line.
#[derive(Clone)]
pub(super) struct LineLayout {
    /// The number of counters.
    count: usize,
    /// The digit count of each counter. That of the requests in flight does not matter.
    digits: [u8; COUNTERS],
    /// The part with the columns before the counters and the counters before the requests in flight, with the blank
    /// after them.
    head: NumberRun,
    /// The part with the other counters and the newline. It begins a word before the end of the requests in flight.
    tail: NumberRun,
}

/// The layout of a part of a line.
#[derive(Clone, Default)]
struct NumberRun {
    /// The characters of the part: for each position, the lowest allowed character, and how much higher it may be.
    characters: Vec<([u8; CHUNK_BYTES], [u8; CHUNK_BYTES])>,
    /// The length in bytes. If it is not a multiple of [`CHUNK_BYTES`], the last characters may be anything.
    length: usize,
    /// The words that end with a number.
    words: [Word; RUN],
    /// The words before these for numbers of more than eight digits, with the index of the number.
    upper_words: Vec<(usize, Word)>,
}

/// A word with the digits of a number.
#[derive(Clone, Copy, Default)]
struct Word {
    at: u8,
    /// The bits that hold the values of its digits; zero if there is no number.
    mask: u64,
}

impl LineLayout {
    /// Returns the layout of the lines that begin with `start`, up to the blank after the name, and have `count`
    /// counters with these digit counts; `None` if such lines cannot be read with a layout.
    pub(super) fn new(start: &[u8], digits: &[u8; COUNTERS], count: usize) -> Option<Self> {
        let name_end = start.strip_suffix(b" ")?;
        let mut head = NumberRun::default();
        let mut characters: Vec<(u8, u8)> = name_end.iter().map(|byte| (*byte, 0)).collect();
        head.add_numbers(&mut characters, &digits[..IN_FLIGHT])?;
        head.finish(characters, b' ')?;
        let mut tail = NumberRun::default();
        let mut characters = vec![(0, u8::MAX); WORD_BYTES];
        tail.add_numbers(&mut characters, digits.get(IN_FLIGHT + 1..count)?)?;
        tail.finish(characters, b'\n')?;
        Some(Self { count, digits: *digits, head, tail })
    }

    /// Returns the number of counters of a line.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns whether this is the layout of lines with these digit counts.
    pub(super) fn is_for(&self, digits: &[u8; COUNTERS], count: usize) -> bool {
        let is_same = |(index, digits): (usize, &u8)| index == IN_FLIGHT || *digits == self.digits[index];
        self.count == count && digits[..count].iter().enumerate().all(is_same)
    }

    /// Reads the counters of the line that `text` begins with. Returns them, with zero for missing ones, and the length
    /// of the line with its newline; `None` if the line has another layout or too little text follows.
    #[inline]
    pub(super) fn read(&self, text: &[u8]) -> Option<([u64; COUNTERS], usize)> {
        let head = text.first_chunk::<WINDOW_BYTES>()?;
        let in_flight = text.get(self.head.length..)?.first_chunk::<WORD_BYTES>()?;
        let (in_flight, digits) = leading_digits(u64::from_le_bytes(*in_flight));
        let tail_start = self.head.length + digits - WORD_BYTES;
        let tail = text.get(tail_start..)?.first_chunk::<WINDOW_BYTES>()?;
        if digits == 0 || digits == WORD_BYTES || !self.head.is_at(head) || !self.tail.is_at(tail) {
            return None;
        }
        let mut words = [[0; WORD_BYTES]; 2 * RUN];
        self.head.gather(head, words.first_chunk_mut()?);
        self.tail.gather(tail, words.last_chunk_mut()?);
        let numbers = combine_all(&mut words);
        let mut counters = [0; COUNTERS];
        counters[..IN_FLIGHT].copy_from_slice(&numbers[..RUN]);
        counters[IN_FLIGHT] = in_flight;
        counters[IN_FLIGHT + 1..].copy_from_slice(&numbers[RUN..]);
        self.head.add_upper(head, counters.first_chunk_mut()?);
        self.tail.add_upper(tail, counters.last_chunk_mut()?);
        Some((counters, tail_start + self.tail.length))
    }
}

impl NumberRun {
    /// Adds numbers to the characters of the part, each after a blank.
    fn add_numbers(&mut self, characters: &mut Vec<(u8, u8)>, digits: &[u8]) -> Option<()> {
        for (index, digits) in digits.iter().map(|digits| usize::from(*digits)).enumerate() {
            characters.push((b' ', 0));
            characters.extend(std::iter::repeat_n((b'0', 9), digits));
            let end = characters.len();
            self.words[index] = Word::ending_at(end, digits.min(WORD_BYTES))?;
            if digits > WORD_BYTES {
                let upper = Word::ending_at(end - WORD_BYTES, digits - WORD_BYTES)?;
                self.upper_words.push((index, upper));
            }
        }
        Some(())
    }

    /// Takes the characters of the part, adding `end` to them.
    fn finish(&mut self, mut characters: Vec<(u8, u8)>, end: u8) -> Option<()> {
        characters.push((end, 0));
        self.length = characters.len();
        characters.resize(self.length.next_multiple_of(CHUNK_BYTES), (0, u8::MAX));
        let chunk = |chunk: &[(u8, u8); CHUNK_BYTES]| {
            (chunk.map(|(lowest, _)| lowest), chunk.map(|(_, above)| above))
        };
        self.characters = characters.as_chunks().0.iter().map(chunk).collect();
        (characters.len() < WINDOW_BYTES).then_some(())
    }

    /// Returns whether a text has this layout.
    #[inline]
    fn is_at(&self, text: &[u8; WINDOW_BYTES]) -> bool {
        let mut excess = [0u8; CHUNK_BYTES];
        for (chunk, (lowest, above)) in text.as_chunks::<CHUNK_BYTES>().0.iter().zip(&self.characters) {
            for index in 0..CHUNK_BYTES {
                excess[index] |= chunk[index].wrapping_sub(lowest[index]).saturating_sub(above[index]);
            }
        }
        // Unlike a comparison with zeros, this is a single vector instruction.
        excess.iter().fold(0, |all, byte| all | byte) == 0
    }

    /// Collects the digits of the numbers, the last eight of each, of a text that has this layout.
    #[inline]
    fn gather(&self, text: &[u8; WINDOW_BYTES], digits: &mut [[u8; WORD_BYTES]; RUN]) {
        for (digits, word) in digits.iter_mut().zip(&self.words) {
            *digits = word.digits(text).to_le_bytes();
        }
    }

    /// Adds the digits before the last eight to the numbers.
    #[inline]
    fn add_upper(&self, text: &[u8; WINDOW_BYTES], numbers: &mut [u64; RUN]) {
        for (index, word) in &self.upper_words {
            let [upper] = combine_all(&mut [word.digits(text).to_le_bytes()]);
            numbers[*index] += upper * 100_000_000;
        }
    }
}

impl Word {
    /// Returns the word with the last `digits` digits of a number that ends before `end`; `None` if they do not fit
    /// into a word, if there are none, or if the word would begin before the text.
    fn ending_at(end: usize, digits: usize) -> Option<Self> {
        let at = u8::try_from(end.checked_sub(WORD_BYTES)?).ok()?;
        (1..=WORD_BYTES).contains(&digits).then(|| Self { at, mask: last_digit_values(digits) })
    }

    /// Returns the values of its digits, in the order of the text, with zeros before them.
    #[inline]
    fn digits(self, text: &[u8; WINDOW_BYTES]) -> u64 {
        let at = usize::from(self.at);
        let mut word = [0; WORD_BYTES];
        word.copy_from_slice(&text[at..at + WORD_BYTES]);
        u64::from_le_bytes(word) & self.mask
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::capture::diskstats_line::{LineShape, parse_line, parse_line_of};
    use crate::counters::Device;

    /// The digits of a number, from one to more than a layout can have. Most are like those of a kernel.
    fn number() -> impl Strategy<Value = String> {
        prop_oneof![4 => "[0-9]{1,3}", 8 => "[0-9]{4,12}", 1 => "[0-9]{13,18}"]
    }

    fn line(start: &str, numbers: &[String]) -> Vec<u8> {
        format!("{start} {}", numbers.join(" ")).into_bytes()
    }

    /// Parses a line with a shape; `None` if the shape has no layout for it.
    fn parse_again(shape: &LineShape, line: &[u8]) -> Option<Device> {
        let mut device = Device::default();
        let text = [line, b"\n", &[b'9'; 2 * WINDOW_BYTES]].concat();
        let length = shape.parse_again(&text, &mut device)?;
        assert_eq!(length, line.len() + 1);
        Some(device)
    }

    fn parsed(line: &[u8]) -> Option<Device> {
        let mut device = Device::default();
        parse_line(line, &mut device).ok().map(|()| device)
    }

    /// Replaces each digit by another.
    fn turn_digits(line: &mut [u8], by: &[u8]) {
        for (byte, by) in line.iter_mut().zip(by.iter().cycle()).filter(|(byte, _)| byte.is_ascii_digit()) {
            *byte = b'0' + (*byte - b'0' + by) % 10;
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn a_line_is_read_alike_with_a_layout_and_without(
            start in prop::sample::select(
                vec!["8 0 sda", "   8       0 sda", " 254       3 vda1", " 9 1 \u{434}\u{1}", "+8 0 s"]
            ),
            numbers in prop::sample::select(vec![11, 15, 17, 17, 17, 18])
                .prop_flat_map(|count| prop::collection::vec(number(), count)),
            (by, in_flight) in (prop::collection::vec(0u8..10, 1..40), "[0-9]{1,9}"),
            (at, changed, is_added) in (any::<prop::sample::Index>(), any::<u8>(), any::<bool>()),
        ) {
            let mut shape = LineShape::default();
            let first = line(start, &numbers);
            for _ in 0..2 {
                parse_line_of(&mut shape, &first, &mut Device::default(), None).unwrap();
            }
            let mut other = line("", &numbers);
            turn_digits(&mut other, &by);
            let other = String::from_utf8(other).unwrap();
            let mut other: Vec<String> = other.split_whitespace().map(str::to_owned).collect();
            other[IN_FLIGHT] = in_flight;
            let mut other = line(start, &other);
            // A line with these digit counts has the layout, unless numbers are too long or there are too many
            // counters.
            let lengths: Vec<usize> = numbers.iter().map(String::len).collect();
            let has_layout = lengths.iter().enumerate().all(|(index, length)| index == IN_FLIGHT || *length <= 16)
                && lengths.len() <= COUNTERS;
            let read = parse_again(&shape, &other);
            prop_assert_eq!(read.is_some(), has_layout && in_flight_is_short(&other));
            prop_assert!(read.is_none() || read == parsed(&other));
            // One more character, or a changed one.
            let at = at.index(other.len());
            if changed != b'\n' {
                other.splice(at..at + usize::from(!is_added), [changed]);
            }
            let read = parse_again(&shape, &other);
            prop_assert!(read.is_none() || read == parsed(&other), "{:?}", String::from_utf8_lossy(&other));
        }
    }

    fn in_flight_is_short(line: &[u8]) -> bool {
        line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).nth(3 + IN_FLIGHT).unwrap().len()
            < WORD_BYTES
    }
}
