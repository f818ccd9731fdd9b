//! Numbers within sentences, in one style: `95%` without a blank, `12 ms` and other units with one.

use libm::log10;

/// A number with two or three significant digits, or with grouped thousands: `0.32`, `21.2`, `3,000`.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1000.0 {
        return group_thousands(value.round());
    }
    let decimals = match size {
        _ if size == 0.0 || size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ => ((1.0 - log10(size).floor()) as usize).min(6),
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn group_thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 && text != "-" {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number without decimals from about one up: `64`, `1`, `0.3`.
pub(crate) fn whole(value: f64) -> String {
    if value >= 0.95 { number(value.round()) } else { number(value) }
}

/// A rate and what it counts: `3,000 reads/s`, `1 read/s`.
pub(crate) fn per_second(rate: f64, plural: &str) -> String {
    let rate = number(rate);
    let noun = if rate == "1" { plural.trim_end_matches('s') } else { plural };
    format!("{rate} {noun}/s")
}

/// A count and its noun: `1 interval`, `2 intervals`.
pub(crate) fn counted(count: u64, singular: &str) -> String {
    format!("{count} {singular}{}", if count == 1 { "" } else { "s" })
}

/// A multiple: `3.6x`.
pub(crate) fn ratio(value: f64) -> String {
    format!("{value:.1}x")
}

/// A percentage, with a decimal below ten: `0.3%`, `80%`.
pub(crate) fn percent(value: f64) -> String {
    format!("{}%", number(if value >= 10.0 { value.round() } else { (value * 10.0).round() / 10.0 }))
}

/// A fraction as a whole percentage: `46%`.
pub(crate) fn percent_of(fraction: f64) -> String {
    format!("{:.0}%", fraction * 100.0)
}

/// KiB in MiB: `12 MiB`.
pub(crate) fn mib(kib: f64) -> String {
    format!("{} MiB", number(kib / 1024.0))
}

/// Milliseconds: `0.32 ms`.
pub(crate) fn ms(value: f64) -> String {
    format!("{} ms", number(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_digits() {
        let numbers = [3000.2, 151_234.0, 21.19, 0.3157, 0.0351, 1.0, 0.0, 640.4, 1_234_567.0, 0.5];
        let expected = ["3,000", "151,234", "21.2", "0.32", "0.035", "1", "0", "640", "1,234,567", "0.5"];
        assert_eq!(numbers.map(number), expected);
        assert_eq!([63.57, 0.95, 0.3].map(whole), ["64", "1", "0.3"]);
    }

    #[test]
    fn units_follow_their_numbers() {
        assert_eq!([per_second(1.0, "reads"), per_second(1.2, "reads")], ["1 read/s", "1.2 reads/s"]);
        assert_eq!([counted(1, "gap"), counted(2, "gap")], ["1 gap", "2 gaps"]);
        assert_eq!(
            [ratio(3.57), percent_of(0.456), mib(2048.0), ms(0.3157)],
            ["3.6x", "46%", "2 MiB", "0.32 ms"]
        );
        assert_eq!([0.31, 4.0, 79.6].map(percent), ["0.3%", "4%", "80%"]);
    }
}
