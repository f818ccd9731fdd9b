//! A number for people: its digits, its unit, and marks before and after it.

use super::fixed_decimal::push_fixed;

/// A number with its unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    value: f64,
    decimals: usize,
    unit: Unit,
    /// `<` or `>` before a bound.
    sign: Option<u8>,
    /// A mark before the sign.
    prefix: Option<u8>,
    suffix: Option<u8>,
}

/// What follows the digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit(&'static str);

impl Unit {
    pub(crate) const NONE: Self = Self("");
    pub(crate) const THOUSAND: Self = Self("k");
    pub(crate) const MILLION: Self = Self("M");
    pub(crate) const BILLION: Self = Self("G");
    pub(crate) const MICROSECONDS: Self = Self("µs");
    pub(crate) const MILLISECONDS: Self = Self("ms");
    pub(crate) const SECONDS: Self = Self("s");
    pub(crate) const PERCENT: Self = Self("%");
    pub(crate) const TIMES: Self = Self("x");
    /// Not a unit: the number is written with a power of ten.
    pub(crate) const POWER_OF_TEN: Self = Self("e");
}

impl Figure {
    pub(crate) fn new(value: f64, decimals: usize, unit: Unit) -> Self {
        Self { value, decimals, unit, sign: None, prefix: None, suffix: None }
    }

    /// A bound: `<1µs`, `>10k`.
    pub(crate) fn bound(sign: u8, value: f64, unit: Unit) -> Self {
        Self { sign: Some(sign), ..Self::new(value, 0, unit) }
    }

    pub(crate) fn with_prefix(self, prefix: Option<u8>) -> Self {
        Self { prefix, ..self }
    }

    pub(crate) fn with_suffix(self, suffix: Option<u8>) -> Self {
        Self { suffix, ..self }
    }

    pub(crate) fn push(&self, out: &mut Vec<u8>) {
        self.push_number(out);
        if self.unit != Unit::POWER_OF_TEN {
            out.extend_from_slice(self.unit.0.as_bytes());
        }
        out.extend(self.suffix);
    }

    pub(crate) fn push_str(&self, text: &mut String) {
        append(text, |out| self.push(out));
    }

    /// Appends the number with a blank before its unit; a number without one has the default unit.
    pub(crate) fn push_str_apart(&self, default_unit: Unit, text: &mut String) {
        append(text, |out| self.push_number(out));
        text.push(' ');
        *text += if self.unit == Unit::NONE { default_unit.0 } else { self.unit.0 };
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(16);
        self.push_str(&mut text);
        text
    }

    pub(crate) fn text_apart(&self, default_unit: Unit) -> String {
        let mut text = String::with_capacity(16);
        self.push_str_apart(default_unit, &mut text);
        text
    }

    fn push_number(&self, out: &mut Vec<u8>) {
        out.extend(self.prefix.into_iter().chain(self.sign));
        if self.unit == Unit::POWER_OF_TEN {
            out.extend_from_slice(format!("{:.1e}", self.value).as_bytes());
        } else {
            push_fixed(out, self.value, 0, self.decimals);
        }
    }
}

/// Appends what `push` appends: digits and units, which are always valid UTF-8.
fn append(text: &mut String, push: impl FnOnce(&mut Vec<u8>)) {
    let mut out = std::mem::take(text).into_bytes();
    push(&mut out);
    *text = String::from_utf8(out).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::layout::number_format::{
        COUNT, MIB, MULTIPLE, NUMBER, NumberFormat, PERCENT, QUEUE, SIZE, TIME,
    };

    const FORMATS: [NumberFormat; 8] = [NUMBER, MIB, QUEUE, COUNT, TIME, SIZE, PERCENT, MULTIPLE];

    /// Returns the text of a figure as the standard library formats it.
    fn expected(figure: &Figure) -> String {
        let Figure { value, decimals, unit, sign, prefix, suffix } = *figure;
        let prefix: String = prefix.into_iter().chain(sign).map(char::from).collect();
        let suffix = suffix.map(char::from).map(String::from).unwrap_or_default();
        match unit {
            Unit::POWER_OF_TEN => format!("{prefix}{value:.1e}{suffix}"),
            Unit(unit) => format!("{prefix}{value:.decimals$}{unit}{suffix}"),
        }
    }

    #[test]
    fn marks_surround_the_number_and_its_unit() {
        let texts = [
            (NUMBER.figure(99_999.4), "99999"),
            (NUMBER.figure(9.99e6), "9.99M"),
            (NUMBER.figure(1e12), "1.0e12"),
            (TIME.figure(99.94).with_prefix(Some(b'~')), "~99.9ms"),
            (TIME.figure(0.0001).with_prefix(Some(b'<')), "<<1µs"),
            (PERCENT.figure(9_999.4).with_suffix(Some(b'?')), "9999%?"),
            (PERCENT.figure(1e9), ">10k%"),
            (SIZE.figure(9.94), "9.9k"),
        ];
        texts.iter().for_each(|(figure, text)| assert_eq!(figure.text(), *text));
        assert_eq!(TIME.figure(0.5).text_apart(Unit::MILLISECONDS), "500 µs");
        assert_eq!(TIME.figure(0.0).text_apart(Unit::MILLISECONDS), "0 ms");
    }

    proptest! {
        #[test]
        fn every_figure_is_written_as_the_standard_library_writes_it(bits: u64, format in 0..FORMATS.len()) {
            let figure = FORMATS[format].figure(f64::from_bits(bits));
            prop_assert_eq!(figure.text(), expected(&figure));
        }
    }
}
