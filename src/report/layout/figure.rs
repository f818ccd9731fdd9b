//! Numbers as text for people: rounded and followed by a unit.
//!
//! Nearly all of them have at most eight bytes. These are computed as one word, and a row of a table is written a word
//! at a time.

use super::fixed_decimal::{BLANKS, ONES, push_fixed, scaled, short_digits};

/// The bits that are set in the bytes of a character outside of ASCII.
const NOT_ASCII: u64 = ONES * 0x80;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    value: f64,
    /// The number of decimals, at most 2.
    decimals: usize,
    unit: &'static Unit,
    /// The sign that marks the number as a bound, and a mark before that sign.
    prefixes: [Option<u8>; 2],
    suffix: Option<u8>,
}

impl Figure {
    /// Creates a number with `decimals` (at most 2) decimals.
    #[inline]
    pub(crate) fn new(value: f64, decimals: usize, unit: &'static Unit) -> Self {
        Self { value, decimals, unit, prefixes: [None; 2], suffix: None }
    }

    /// Creates a bound: a number preceded by `sign`.
    #[inline]
    pub(crate) fn bound(sign: u8, value: f64, unit: &'static Unit) -> Self {
        Self { prefixes: [Some(sign), None], ..Self::new(value, 0, unit) }
    }

    /// Puts an ASCII character before all others, or none.
    #[inline]
    pub(crate) fn with_prefix(self, prefix: Option<u8>) -> Self {
        Self { prefixes: [self.prefixes[0], prefix], ..self }
    }

    /// Puts an ASCII character behind the unit, or none.
    #[inline]
    pub(crate) fn with_suffix(self, suffix: Option<u8>) -> Self {
        Self { suffix, ..self }
    }

    /// Returns the text; `None` if it may have more than eight bytes.
    #[inline(always)]
    pub(crate) fn short_text(&self) -> Option<ShortText> {
        let number = scaled(self.value, self.decimals).filter(|number| *number < self.unit.limit)?;
        let mut text = ShortText(short_digits(number, self.decimals)).with_end(self.unit);
        for prefix in self.prefixes.into_iter().flatten() {
            text = text.with_prefix(prefix)?;
        }
        match self.suffix {
            Some(suffix) => text.with_suffix(suffix),
            None => Some(text),
        }
    }

    pub(crate) fn push(&self, out: &mut Vec<u8>) {
        match self.short_text() {
            Some(text) => text.push(out),
            None => self.push_long(out),
        }
    }

    /// Appends a text of any length.
    #[cold]
    fn push_long(&self, out: &mut Vec<u8>) {
        self.push_number(out);
        out.extend_from_slice(self.unit.text.as_bytes());
        out.extend(self.suffix);
    }

    /// Appends the number with a blank before its unit, and with `default_unit` if it has none.
    pub(crate) fn push_apart(&self, default_unit: &'static Unit, out: &mut Vec<u8>) {
        let unit = if self.unit.text.is_empty() { default_unit } else { self.unit };
        match (Self { unit: unit.apart.unwrap_or(unit), ..*self }).short_text() {
            Some(text) if unit.apart.is_some() => text.push(out),
            _ => {
                self.push_number(out);
                out.push(b' ');
                out.extend_from_slice(unit.text.as_bytes());
            }
        }
    }

    fn push_number(&self, out: &mut Vec<u8>) {
        let [sign, mark] = self.prefixes;
        out.extend(mark.into_iter().chain(sign));
        if self.unit.is_power_of_ten() {
            out.extend_from_slice(format!("{:.1e}", self.value).as_bytes());
        } else {
            push_fixed(out, self.value, 0, self.decimals);
        }
    }
}

/// A text of at most eight bytes, padded with blanks on the left: its last byte is the highest of the word. At most one
/// character is outside ASCII; it has two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortText(u64);

impl ShortText {
    /// The cell for a missing value.
    pub(crate) const DASH: Self = Self::new("-");

    /// Returns a text of at most seven bytes.
    const fn new(text: &'static str) -> Self {
        Self(BLANKS).with_end(&Unit::new(text))
    }

    /// Appends a unit; the text must have enough blanks for it.
    const fn with_end(self, unit: &Unit) -> Self {
        Self((self.0 >> unit.bits) | unit.word)
    }

    /// Puts an ASCII character before the text; `None` if the result is too long.
    #[inline]
    pub(crate) fn with_prefix(self, prefix: u8) -> Option<Self> {
        let place = self.blanks().checked_sub(1)?;
        Some(Self(self.0 ^ (u64::from(prefix ^ b' ') << (8 * place))))
    }

    /// Puts an ASCII character behind the text; `None` if the result is too long.
    #[inline]
    pub(crate) fn with_suffix(self, suffix: u8) -> Option<Self> {
        (self.blanks() > 0).then_some(Self((self.0 >> 8) | (u64::from(suffix) << 56)))
    }

    /// The number of blanks before the text.
    #[inline]
    fn blanks(self) -> usize {
        (self.0 ^ BLANKS).trailing_zeros() as usize / 8
    }

    /// Appends the text without the blanks.
    pub(crate) fn push(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes()[self.blanks()..]);
    }
}

/// A row to which cells are appended.
pub(crate) struct Row<const SIZE: usize> {
    text: [u8; SIZE],
    end: usize,
}

impl<const SIZE: usize> Row<SIZE> {
    pub(crate) fn new() -> Self {
        Self { text: [b' '; SIZE], end: 0 }
    }

    /// Appends a text, right-aligned in `width` columns; a longer one is not cut. The row must be large enough for all
    /// its cells; otherwise it is cut.
    #[inline]
    pub(crate) fn push(&mut self, text: ShortText, width: usize) {
        // Most cells fit into their column, which fits into a word.
        let outside = (1 << (64 - 8 * width.min(8))) - 1;
        if width <= 8
            && (text.0 ^ BLANKS) & outside | text.0 & NOT_ASCII == 0
            && let Some(place) = self.text.get_mut(self.end..self.end + 8)
        {
            // The next cell overwrites the bytes behind the text of a narrow one.
            place.copy_from_slice(&(text.0 >> (64 - 8 * width)).to_le_bytes());
            self.end += width;
            return;
        }
        self.push_wide(text, width);
    }

    /// Appends a text that may be longer than `width` columns, without cutting it.
    #[inline(never)]
    fn push_wide(&mut self, text: ShortText, width: usize) {
        let extra = usize::from(text.0 & NOT_ASCII != 0);
        let columns = 8 - text.blanks() - extra;
        let size = width.max(columns) + extra;
        let blanks = size.saturating_sub(8);
        let word = text.0 >> (8 * (8 - (size - blanks)));
        if blanks > 0
            && let Some(place) = self.text.get_mut(self.end..self.end + blanks)
        {
            place.fill(b' ');
        }
        let start = self.end + blanks;
        if let Some(place) = self.text.get_mut(start..start + 8) {
            place.copy_from_slice(&word.to_le_bytes());
            self.end += size;
        }
    }

    /// Moves the cells to the end of `out`.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text[..self.end]);
        self.end = 0;
    }
}

/// A unit, as the end of a [`ShortText`].
#[derive(Debug)]
pub(crate) struct Unit {
    text: &'static str,
    word: u64,
    bits: u32,
    /// The number below which there is space for its digits and a point before the unit.
    limit: u64,
    /// The same unit after a blank.
    apart: Option<&'static Unit>,
}

impl Unit {
    const fn new(text: &'static str) -> Self {
        let bytes = text.as_bytes();
        let mut word = 0;
        let mut at = 0;
        while at < bytes.len() {
            word |= (bytes[at] as u64) << (8 * (8 - bytes.len() + at));
            at += 1;
        }
        let digits = 7usize.saturating_sub(bytes.len());
        Self { text, word, bits: 8 * bytes.len() as u32, limit: 10u64.pow(digits as u32), apart: None }
    }

    const fn with_apart(self, apart: &'static Self) -> Self {
        Self { apart: Some(apart), ..self }
    }

    /// Returns whether the unit is a power of ten.
    fn is_power_of_ten(&self) -> bool {
        self.limit == 0
    }
}

pub(crate) mod units {
    use super::Unit;

    pub(crate) const NONE: &Unit = &Unit::new("");
    pub(crate) const THOUSAND: &Unit = &Unit::new("k");
    pub(crate) const MILLION: &Unit = &Unit::new("M");
    pub(crate) const BILLION: &Unit = &Unit::new("G");
    pub(crate) const MICROSECONDS: &Unit = &Unit::new("µs").with_apart(&Unit::new(" µs"));
    pub(crate) const MILLISECONDS: &Unit = &Unit::new("ms").with_apart(&Unit::new(" ms"));
    pub(crate) const SECONDS: &Unit = &Unit::new("s").with_apart(&Unit::new(" s"));
    pub(crate) const PERCENT: &Unit = &Unit::new("%");
    pub(crate) const TIMES: &Unit = &Unit::new("x");
    /// The number is written with one decimal and a power of ten.
    pub(crate) const POWER_OF_TEN: &Unit = &Unit { limit: 0, ..Unit::new("") };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::layout::number_format::{
        COUNT, MIB, MULTIPLE, NUMBER, NumberFormat, PERCENT, QUEUE, SIZE, TIME,
    };
    use proptest::prelude::*;

    const FORMATS: [NumberFormat; 8] = [NUMBER, MIB, QUEUE, COUNT, TIME, SIZE, PERCENT, MULTIPLE];

    /// The text of a figure, with the number formatted by the standard library.
    fn expected(figure: &Figure) -> String {
        let Figure { value, decimals, unit, prefixes: [sign, mark], suffix } = *figure;
        let prefix: String = mark.into_iter().chain(sign).map(char::from).collect();
        let number = if unit.limit == 0 { format!("{value:.1e}") } else { format!("{value:.decimals$}") };
        let suffix = suffix.map(char::from).map(String::from).unwrap_or_default();
        format!("{prefix}{number}{}{suffix}", unit.text)
    }

    fn pushed(figure: &Figure) -> String {
        let mut out = Vec::new();
        figure.push(&mut out);
        String::from_utf8(out).unwrap()
    }

    /// Returns the cells that fit into a word, as a row and as aligned by the standard library.
    fn row(figures: &[(Figure, usize)]) -> (String, String) {
        let (mut row, mut out) = (Row::<1024>::new(), Vec::new());
        let mut aligned = String::new();
        for (figure, width) in figures {
            if let Some(text) = figure.short_text() {
                row.push(text, *width);
                aligned += &format!("{:>width$}", expected(figure));
            }
        }
        row.flush(&mut out);
        (String::from_utf8(out).unwrap(), aligned)
    }

    #[test]
    fn figures_at_every_border_are_written_as_the_standard_library_writes_them() {
        let powers = (-9..22).map(|power| 10f64.powi(power));
        let near = powers
            .flat_map(|power| [0.0, 1e-9, 0.001, 0.0005, 0.005, 0.05, 0.5].map(|less| power - power * less));
        let others = [
            0.0,
            -0.0,
            -0.3,
            -1e9,
            0.125,
            0.375,
            12.5,
            1023.96,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
        ];
        for value in near.chain(others) {
            for format in FORMATS {
                assert_eq!(format.short_text(value), format.figure(value).short_text());
                for (mark, suffix) in
                    [(None, None), (Some(b'~'), None), (Some(b'<'), None), (None, Some(b'?'))]
                {
                    let figure = format.figure(value).with_prefix(mark);
                    let figure = if suffix.is_some() { figure.with_suffix(suffix) } else { figure };
                    assert_eq!(pushed(&figure), expected(&figure), "{format:?} {value}");
                    for width in 1..12 {
                        let (written, aligned) = row(&[(figure, width), (figure, width)]);
                        assert_eq!(written, aligned, "{format:?} {value} {width}");
                    }
                }
            }
        }
    }

    #[test]
    fn texts_of_usual_size_fit_into_a_word() {
        let texts = [
            (NUMBER.figure(99_999.4), "99999"),
            (NUMBER.figure(9.99e6), "9.99M"),
            (TIME.figure(99.94).with_prefix(Some(b'~')), "~99.9ms"),
            (TIME.figure(0.9994).with_prefix(Some(b'<')), "<999µs"),
            (TIME.figure(0.0001).with_prefix(Some(b'<')), "<<1µs"),
            (PERCENT.figure(9_999.4).with_suffix(Some(b'?')), "9999%?"),
            (PERCENT.figure(1e9), ">10k%"),
            (MULTIPLE.figure(9_999.0), "9999x"),
            (SIZE.figure(9.94), "9.9k"),
        ];
        for (figure, text) in texts {
            let mut out = Vec::new();
            figure.short_text().unwrap().push(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
        assert_eq!(NUMBER.figure(1e12).short_text(), None);
        assert_eq!(pushed(&NUMBER.figure(1e12)), "1.0e12");
    }

    proptest! {
        #[test]
        fn every_figure_is_written_as_the_standard_library_writes_it(bits: u64, format in 0..FORMATS.len()) {
            let figure = FORMATS[format].figure(f64::from_bits(bits));
            prop_assert_eq!(pushed(&figure), expected(&figure));
            prop_assert_eq!(FORMATS[format].short_text(f64::from_bits(bits)), figure.short_text());
        }

        #[test]
        fn cells_of_usual_size_are_aligned_as_the_standard_library_aligns_them(
            cells in prop::collection::vec((any::<u32>(), 0u32..32, 1u32..5000, 0..FORMATS.len(), 1usize..12, any::<bool>()), 0..30)
        ) {
            let figure = |(amount, shift, divisor, format, width, is_marked): &(u32, u32, u32, usize, usize, bool)| {
                let value = f64::from(amount >> shift) / f64::from(*divisor);
                (FORMATS[*format].figure(value).with_prefix(is_marked.then_some(b'~')), *width)
            };
            let figures: Vec<(Figure, usize)> = cells.iter().map(figure).collect();
            figures.iter().try_for_each(|(figure, _)| {
                prop_assert_eq!(pushed(figure), expected(figure));
                Ok(())
            })?;
            let (written, aligned) = row(&figures);
            prop_assert_eq!(written, aligned);
        }
    }
}
