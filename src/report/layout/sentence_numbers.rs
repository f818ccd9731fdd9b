//! Numbers within sentences: they have the digits and units of table cells, so that a number can be found in a table.
//! Units other than `%` and `x` follow a blank, and thousands are separated by commas.

use super::number_format::{self, time_figure};

pub(crate) use super::number_format::{duration, multiple, percent, queue};

/// A number: `3.07`, `3,072`, `152k`.
pub(crate) fn number(value: f64) -> String {
    let mut text = number_format::number(value);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let mut at = digits;
    while at > 3 {
        at -= 3;
        text.insert(at, ',');
    }
    text
}

/// A rate with the noun that it counts: `3,000 reads/s`.
pub(crate) fn per_second(rate: f64, plural: &str) -> String {
    format!("{} {plural}/s", number(rate))
}

/// A count and its noun: `1 interval`, `2 intervals`, `3 flushes`, `4 processes`.
pub(crate) fn counted(count: u64, singular: &str) -> String {
    let ending = match singular.ends_with("sh") || singular.ends_with('s') {
        _ if count == 1 => "",
        true => "es",
        false => "s",
    };
    format!("{count} {singular}{ending}")
}

/// The first of some names, and how many more there are: `sda, sdb +3`.
pub(crate) fn named(names: &[String], max: usize, separator: &str) -> String {
    let text = names[..names.len().min(max)].join(separator);
    match names.len().saturating_sub(max) {
        0 => text,
        more => format!("{text} +{more}"),
    }
}

/// A fraction as a percentage: `46%`.
pub(crate) fn percent_of(fraction: f64) -> String {
    percent(fraction * 100.0)
}

/// KiB in MiB: `12.0 MiB`.
pub(crate) fn mib(kib: f64) -> String {
    format!("{} MiB", number(kib / 1024.0))
}

/// Milliseconds with their unit: `197 µs`, `1.51 ms`, `2.50 s`.
pub(crate) fn time(ms: f64) -> String {
    time_figure(ms).with_unit_apart("ms").text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_digits_and_units_of_cells() {
        let times = [0.0, 0.0001, 0.197, 0.9996, 1.512, 21.04, 217.0, 2500.0].map(time);
        assert_eq!(
            times,
            [
                "0 ms", "<1 µs", "197 µs", "1.00 ms", "1.51 ms", "21.0 ms", "217 ms", "2.50 s"
            ]
        );
        for ms in [0.0001, 0.197, 0.9996, 1.512, 21.04, 217.0, 2500.0] {
            assert_eq!(time(ms).replace(' ', ""), number_format::time(ms));
        }
    }

    #[test]
    fn units_follow_their_numbers() {
        assert_eq!(
            [per_second(3000.4, "reads"), per_second(1.0, "writes")],
            ["3,000 reads/s", "1.00 writes/s"]
        );
        assert_eq!([counted(1, "gap"), counted(2, "gap")], ["1 gap", "2 gaps"]);
        assert_eq!(
            [counted(1, "flush"), counted(0, "flush")],
            ["1 flush", "0 flushes"]
        );
        assert_eq!(
            [percent_of(0.456), percent_of(0.04), mib(12_288.0)],
            ["46%", "4.0%", "12.0 MiB"]
        );
    }
}
