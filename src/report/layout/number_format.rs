//! Numbers for people: three significant digits and a unit, with marks before and after them.

use crate::fixed_decimal::{ShortText, fixed, scaled};

/// The unit of a number that is written as a multiple of a power of ten.
const POWER_OF_TEN: &str = "e";

/// A format of numbers.
pub(crate) type NumberFormat = fn(f64) -> Figure;

/// Numbers in at most five characters: `0`, `0.14`, `12.3`, `21130`, `144k`, `1.23M`.
pub(crate) fn number_figure(value: f64) -> Figure {
    match value {
        0.0 => Figure::new(0.0, 0, ""),
        // Less than can be shown is still not nothing.
        ..0.005 => Figure::new(0.0, 2, ""),
        ..9.995 => Figure::new(value, 2, ""),
        ..99.95 => Figure::new(value, 1, ""),
        ..99_999.5 => Figure::new(value, 0, ""),
        ..999_500.0 => Figure::new(value / 1e3, 0, "k"),
        ..9_995_000.0 => Figure::new(value / 1e6, 2, "M"),
        ..99_950_000.0 => Figure::new(value / 1e6, 1, "M"),
        ..999_500_000.0 => Figure::new(value / 1e6, 0, "M"),
        _ => Figure::new(value, 0, POWER_OF_TEN),
    }
}

/// Queues in at most four characters: `0.14`, `12.3`, `217`, `12k`.
pub(crate) fn queue_figure(value: f64) -> Figure {
    match value {
        ..9_999.5 => number_figure(value),
        ..999_500.0 => Figure::new(value / 1e3, 0, "k"),
        _ => Figure::new(value / 1e6, 0, "M"),
    }
}

/// KiB as MiB, in the same format.
pub(crate) fn mib_figure(kib: f64) -> Figure {
    number_figure(kib / 1024.0)
}

/// Multiples in at most five characters up to 9999: `1.0x`, `13.9x`, `217x`.
pub(crate) fn multiple_figure(value: f64) -> Figure {
    Figure::new(value, if value < 99.95 { 1 } else { 0 }, "x")
}

/// Whole numbers in at most four characters.
pub(crate) fn count_figure(value: f64) -> Figure {
    whole_figure(value as u64)
}

fn whole_figure(value: u64) -> Figure {
    let (value, unit) = match value {
        0..10_000 => (value, ""),
        10_000..1_000_000 => (value / 1_000, "k"),
        _ => (value / 1_000_000, "M"),
    };
    Figure::new(value as f64, 0, unit)
}

/// Milliseconds in at most six characters, with their unit: `36µs`, `1.51ms`, `217ms`, `2.50s`.
pub(crate) fn time_figure(ms: f64) -> Figure {
    match ms {
        0.0 => Figure::new(0.0, 0, ""),
        ..0.000_5 => Figure::bound(b'<', 1.0, "µs"),
        ..0.999_5 => Figure::new((ms * 1e3).max(1.0), 0, "µs"),
        ..9.995 => Figure::new(ms, 2, "ms"),
        ..99.95 => Figure::new(ms, 1, "ms"),
        ..999.5 => Figure::new(ms, 0, "ms"),
        ..9_995.0 => Figure::new(ms / 1e3, 2, "s"),
        ..99_950.0 => Figure::new(ms / 1e3, 1, "s"),
        _ => Figure::new(ms / 1e3, 0, "s"),
    }
}

/// KiB in at most four characters up to 999 GiB, with their unit: `512`, `4.0k`, `128k`, `1.0M`.
pub(crate) fn size_figure(kib: f64) -> Figure {
    match kib {
        0.0 => Figure::new(0.0, 0, ""),
        ..0.999_5 => Figure::new(kib * 1024.0, 0, ""),
        ..9.95 => Figure::new(kib, 1, "k"),
        ..999.5 => Figure::new(kib, 0, "k"),
        ..10_188.8 => Figure::new(kib / 1024.0, 1, "M"),
        ..1_023_488.0 => Figure::new(kib / 1024.0, 0, "M"),
        _ => Figure::new(kib / 1024.0 / 1024.0, 0, "G"),
    }
}

/// Shares in percent in at most four characters: `0%`, `0.4%`, `96%`.
pub(crate) fn percent_figure(share: f64) -> Figure {
    match share {
        0.0 => Figure::new(0.0, 0, "%"),
        ..9.95 => Figure::new(share, 1, "%"),
        ..9_999.5 => Figure::new(share, 0, "%"),
        _ => Figure::bound(b'>', 10.0, "k").with_suffix(Some(b'%')),
    }
}

/// Returns a number as [`number_figure`].
pub(crate) fn number(value: f64) -> String {
    number_figure(value).text()
}

/// Returns a queue as [`queue_figure`].
pub(crate) fn queue(value: f64) -> String {
    queue_figure(value).text()
}

/// Returns a count as [`count_figure`].
pub(crate) fn count(value: u64) -> String {
    whole_figure(value).text()
}

/// Returns a time as [`time_figure`].
pub(crate) fn time(ms: f64) -> String {
    time_figure(ms).text()
}

/// Returns a size as [`size_figure`].
pub(crate) fn size(kib: f64) -> String {
    size_figure(kib).text()
}

/// Returns a share as [`percent_figure`].
pub(crate) fn percent(share: f64) -> String {
    percent_figure(share).text()
}

/// Returns a multiple as [`multiple_figure`].
pub(crate) fn multiple(value: f64) -> String {
    multiple_figure(value).text()
}

/// Formats bytes as lsblk does: `953.9G`, in powers of 1024, with one decimal unless it is 0.
pub(crate) fn lsblk_size(bytes: u64) -> String {
    let mut unit: u128 = 1;
    let mut tenths = u128::from(bytes) * 10;
    let mut letter = 'B';
    for larger in "KMGTPE".chars() {
        if tenths < 10_240 {
            break;
        }
        unit *= 1024;
        tenths = (u128::from(bytes) * 10 + unit / 2) / unit;
        letter = larger;
    }
    let (whole, decimal) = (tenths / 10, tenths % 10);
    if decimal == 0 {
        format!("{whole}{letter}")
    } else {
        format!("{whole}.{decimal}{letter}")
    }
}

/// Bytes with a decimal unit: `512 B`, `1.5 kB`, `12.0 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    let amount = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => fixed(amount / 1e3, 1, " kB"),
        1_000_000..1_000_000_000 => fixed(amount / 1e6, 1, " MB"),
        _ => fixed(amount / 1e9, 1, " GB"),
    }
}

/// Seconds in words: `10 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_owned(),
        // Less than can be shown is still not nothing.
        ..0.001 => "<1 ms".to_owned(),
        ..0.9995 => fixed(seconds * 1e3, 0, " ms"),
        ..9.95 => fixed(seconds, 1, " s"),
        ..120.0 => fixed(seconds, 0, " s"),
        ..7200.0 => format!(
            "{:.0} min {:.0} s",
            (seconds / 60.0).floor(),
            (seconds % 60.0).floor()
        ),
        _ => format!(
            "{:.0} h {:.0} min",
            (seconds / 3600.0).floor(),
            (seconds % 3600.0 / 60.0).floor()
        ),
    }
}

/// A number with its unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    value: f64,
    decimals: usize,
    unit: &'static str,
    /// `<` or `>` before a bound.
    sign: Option<u8>,
    /// A mark before the sign.
    prefix: Option<u8>,
    suffix: Option<u8>,
    /// True with a blank before the unit.
    is_unit_apart: bool,
}

impl Figure {
    pub(crate) fn new(value: f64, decimals: usize, unit: &'static str) -> Self {
        Self {
            value,
            decimals,
            unit,
            sign: None,
            prefix: None,
            suffix: None,
            is_unit_apart: false,
        }
    }

    /// A bound: `<1µs`, `>10k`.
    pub(crate) fn bound(sign: u8, value: f64, unit: &'static str) -> Self {
        Self {
            sign: Some(sign),
            ..Self::new(value, 0, unit)
        }
    }

    pub(crate) fn with_prefix(self, prefix: Option<u8>) -> Self {
        Self { prefix, ..self }
    }

    pub(crate) fn with_suffix(self, suffix: Option<u8>) -> Self {
        Self { suffix, ..self }
    }

    /// Puts a blank before the unit; a number without one has the default unit.
    pub(crate) fn with_unit_apart(self, default_unit: &'static str) -> Self {
        Self {
            unit: if self.unit.is_empty() {
                default_unit
            } else {
                self.unit
            },
            is_unit_apart: true,
            ..self
        }
    }

    /// Appends the figure, right-aligned in `width` columns.
    pub(crate) fn push(&self, out: &mut Vec<u8>, width: usize) {
        match scaled(self.value, self.decimals) {
            Some(number) if self.unit != POWER_OF_TEN => {
                let mut text = ShortText::new();
                text.push_mark(self.suffix);
                self.unit.bytes().rev().for_each(|byte| text.push(byte));
                if self.is_unit_apart {
                    text.push(b' ');
                }
                text.push_decimal(number, self.decimals);
                text.push_mark(self.sign);
                text.push_mark(self.prefix);
                // The letter µ has two bytes.
                text.append_to(out, width + usize::from(self.unit == "µs"));
            }
            _ => out.extend_from_slice(format!("{:>width$}", self.long_text()).as_bytes()),
        }
    }

    /// The text of a figure with a large number, or one below zero.
    fn long_text(&self) -> String {
        let Self {
            value,
            decimals,
            unit,
            ..
        } = *self;
        let mut text = String::from_iter(self.prefix.into_iter().chain(self.sign).map(char::from));
        text += &match (unit, self.is_unit_apart) {
            (POWER_OF_TEN, _) => format!("{value:.1e}"),
            (unit, true) => format!("{value:.decimals$} {unit}"),
            (unit, false) => format!("{value:.decimals$}{unit}"),
        };
        text.extend(self.suffix.map(char::from));
        text
    }

    pub(crate) fn text(&self) -> String {
        let mut text = Vec::with_capacity(32);
        self.push(&mut text, 0);
        // Digits and units are always valid UTF-8.
        String::from_utf8(text).unwrap_or_default()
    }
}

#[cfg(test)]
mod number_format_tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_in_five_characters() {
        let texts = [
            0.0,
            0.001,
            0.142,
            9.994,
            12.34,
            999.6,
            21130.4,
            144_246.0,
            1_234_567.0,
            45e6,
        ]
        .map(number);
        assert_eq!(
            texts,
            [
                "0", "0.00", "0.14", "9.99", "12.3", "1000", "21130", "144k", "1.23M", "45.0M"
            ]
        );
        let mut value = 0.001;
        while value < 9e8 {
            assert!(number(value).len() <= 5, "{value}: {}", number(value));
            assert!(
                queue(value).len() <= 5 && percent(value).len() <= 5,
                "{value}"
            );
            assert!(
                time(value / 1e4).chars().count() <= 6,
                "{value}: {}",
                time(value / 1e4)
            );
            assert!(
                size(value / 1e2).len() <= 5,
                "{value}: {}",
                size(value / 1e2)
            );
            value *= 1.003;
        }
    }

    #[test]
    fn times_and_sizes_have_their_units() {
        let times = [0.0, 0.0363, 0.9996, 1.512, 21.04, 999.4, 2500.0].map(time);
        assert_eq!(
            times,
            ["0", "36µs", "1.00ms", "1.51ms", "21.0ms", "999ms", "2.50s"]
        );
        let sizes = [0.5, 4.0, 16.0, 127.6, 999.4, 1024.0, 20_480.0].map(size);
        assert_eq!(sizes, ["512", "4.0k", "16k", "128k", "999k", "1.0M", "20M"]);
    }

    #[test]
    fn sizes_of_devices_are_those_of_lsblk() {
        let sizes = [
            0,
            512,
            1023,
            1024,
            1536,
            274_877_906_944,
            1_024_209_543_168,
            2_000_398_934_016,
            u64::MAX,
        ];
        let expected = [
            "0B", "512B", "1023B", "1K", "1.5K", "256G", "953.9G", "1.8T", "16E",
        ];
        assert_eq!(sizes.map(lsblk_size), expected);
        assert_eq!(lsblk_size(1_048_575), "1M");
    }

    #[test]
    fn file_sizes_have_decimal_units() {
        let texts = [0, 999, 1_500, 12_000_000, 3_210_000_000].map(bytes);
        assert_eq!(texts, ["0 B", "999 B", "1.5 kB", "12.0 MB", "3.2 GB"]);
    }

    #[test]
    fn durations_are_words() {
        let texts = [0.0, 0.0004, 0.01, 0.75, 0.9997, 12.0, 200.0, 7500.0].map(duration);
        let expected = [
            "0 s",
            "<1 ms",
            "10 ms",
            "750 ms",
            "1.0 s",
            "12 s",
            "3 min 20 s",
            "2 h 5 min",
        ];
        assert_eq!(texts, expected);
    }
}

#[cfg(test)]
mod figure_tests {
    use proptest::prelude::*;

    use super::*;

    const FORMATS: [NumberFormat; 8] = [
        number_figure,
        mib_figure,
        queue_figure,
        count_figure,
        time_figure,
        size_figure,
        percent_figure,
        multiple_figure,
    ];

    /// Returns the text of a figure as the standard library formats it.
    fn expected(figure: &Figure) -> String {
        let Figure {
            value,
            decimals,
            unit,
            sign,
            prefix,
            suffix,
            ..
        } = *figure;
        let prefix: String = prefix.into_iter().chain(sign).map(char::from).collect();
        let suffix = suffix.map(char::from).map(String::from).unwrap_or_default();
        match unit {
            "e" => format!("{prefix}{value:.1e}{suffix}"),
            unit => format!("{prefix}{value:.decimals$}{unit}{suffix}"),
        }
    }

    #[test]
    fn marks_surround_the_number_and_its_unit() {
        let texts = [
            (number_figure(99_999.4), "99999"),
            (number_figure(9.99e6), "9.99M"),
            (number_figure(1e12), "1.0e12"),
            (time_figure(99.94).with_prefix(Some(b'~')), "~99.9ms"),
            (time_figure(0.0001).with_prefix(Some(b'<')), "<<1µs"),
            (percent_figure(9_999.4).with_suffix(Some(b'?')), "9999%?"),
            (percent_figure(1e9), ">10k%"),
            (size_figure(9.94), "9.9k"),
        ];
        texts
            .iter()
            .for_each(|(figure, text)| assert_eq!(figure.text(), *text));
        assert_eq!(time_figure(0.5).with_unit_apart("ms").text(), "500 µs");
        assert_eq!(time_figure(0.0).with_unit_apart("ms").text(), "0 ms");
    }

    proptest! {
        #[test]
        fn every_figure_is_written_as_the_standard_library_writes_it(bits: u64, format in 0..FORMATS.len(), width in 0..20usize) {
            let figure = FORMATS[format](f64::from_bits(bits));
            let mut out = Vec::new();
            figure.push(&mut out, width);
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("{:>width$}", expected(&figure)));
        }
    }
}
