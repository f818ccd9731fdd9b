//! Numbers for people: three significant digits and a unit.

use super::figure::{Figure, Unit};
use super::fixed_decimal::fixed;

/// A format of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberFormat(fn(f64) -> Figure);

/// Numbers in at most five characters: `0`, `0.14`, `12.3`, `21130`, `144k`, `1.23M`.
pub(crate) const NUMBER: NumberFormat = NumberFormat(number_figure);
/// KiB as MiB, in the same format.
pub(crate) const MIB: NumberFormat = NumberFormat(mib_figure);
/// Queues in at most four characters: `0.14`, `12.3`, `217`, `12k`.
pub(crate) const QUEUE: NumberFormat = NumberFormat(queue_figure);
/// Whole numbers in at most four characters.
pub(crate) const COUNT: NumberFormat = NumberFormat(count_figure);
/// Milliseconds in at most six characters, with their unit: `36µs`, `1.51ms`, `217ms`, `2.50s`.
pub(crate) const TIME: NumberFormat = NumberFormat(time_figure);
/// KiB in at most four characters up to 999 GiB, with their unit: `512`, `4.0k`, `128k`, `1.0M`.
pub(crate) const SIZE: NumberFormat = NumberFormat(size_figure);
/// Shares in percent in at most four characters: `0%`, `0.4%`, `96%`.
pub(crate) const PERCENT: NumberFormat = NumberFormat(percent_figure);
/// Multiples in at most five characters up to 9999: `1.0x`, `13.9x`, `217x`.
pub(crate) const MULTIPLE: NumberFormat = NumberFormat(multiple_figure);

impl NumberFormat {
    /// Returns a number in this format.
    pub(crate) fn figure(&self, value: f64) -> Figure {
        (self.0)(value)
    }
}

fn number_figure(value: f64) -> Figure {
    match value {
        0.0 => Figure::new(0.0, 0, Unit::NONE),
        // Less than can be shown is still not nothing.
        ..0.005 => Figure::new(0.0, 2, Unit::NONE),
        ..9.995 => Figure::new(value, 2, Unit::NONE),
        ..99.95 => Figure::new(value, 1, Unit::NONE),
        ..99_999.5 => Figure::new(value, 0, Unit::NONE),
        ..999_500.0 => Figure::new(value / 1e3, 0, Unit::THOUSAND),
        ..9_995_000.0 => Figure::new(value / 1e6, 2, Unit::MILLION),
        ..99_950_000.0 => Figure::new(value / 1e6, 1, Unit::MILLION),
        ..999_500_000.0 => Figure::new(value / 1e6, 0, Unit::MILLION),
        _ => Figure::new(value, 0, Unit::POWER_OF_TEN),
    }
}

fn queue_figure(value: f64) -> Figure {
    match value {
        ..9_999.5 => number_figure(value),
        ..999_500.0 => Figure::new(value / 1e3, 0, Unit::THOUSAND),
        _ => Figure::new(value / 1e6, 0, Unit::MILLION),
    }
}

fn mib_figure(kib: f64) -> Figure {
    number_figure(kib / 1024.0)
}

fn multiple_figure(value: f64) -> Figure {
    Figure::new(value, if value < 99.95 { 1 } else { 0 }, Unit::TIMES)
}

fn count_figure(value: f64) -> Figure {
    whole_figure(value as u64)
}

fn whole_figure(value: u64) -> Figure {
    let (value, unit) = match value {
        0..10_000 => (value, Unit::NONE),
        10_000..1_000_000 => (value / 1_000, Unit::THOUSAND),
        _ => (value / 1_000_000, Unit::MILLION),
    };
    Figure::new(value as f64, 0, unit)
}

fn time_figure(ms: f64) -> Figure {
    match ms {
        0.0 => Figure::new(0.0, 0, Unit::NONE),
        ..0.000_5 => Figure::bound(b'<', 1.0, Unit::MICROSECONDS),
        ..0.999_5 => Figure::new((ms * 1e3).max(1.0), 0, Unit::MICROSECONDS),
        ..9.995 => Figure::new(ms, 2, Unit::MILLISECONDS),
        ..99.95 => Figure::new(ms, 1, Unit::MILLISECONDS),
        ..999.5 => Figure::new(ms, 0, Unit::MILLISECONDS),
        ..9_995.0 => Figure::new(ms / 1e3, 2, Unit::SECONDS),
        ..99_950.0 => Figure::new(ms / 1e3, 1, Unit::SECONDS),
        _ => Figure::new(ms / 1e3, 0, Unit::SECONDS),
    }
}

fn size_figure(kib: f64) -> Figure {
    match kib {
        0.0 => Figure::new(0.0, 0, Unit::NONE),
        ..0.999_5 => Figure::new(kib * 1024.0, 0, Unit::NONE),
        ..9.95 => Figure::new(kib, 1, Unit::THOUSAND),
        ..999.5 => Figure::new(kib, 0, Unit::THOUSAND),
        ..10_188.8 => Figure::new(kib / 1024.0, 1, Unit::MILLION),
        ..1_023_488.0 => Figure::new(kib / 1024.0, 0, Unit::MILLION),
        _ => Figure::new(kib / 1024.0 / 1024.0, 0, Unit::BILLION),
    }
}

fn percent_figure(share: f64) -> Figure {
    match share {
        0.0 => Figure::new(0.0, 0, Unit::PERCENT),
        ..9.95 => Figure::new(share, 1, Unit::PERCENT),
        ..9_999.5 => Figure::new(share, 0, Unit::PERCENT),
        _ => Figure::bound(b'>', 10.0, Unit::THOUSAND).with_suffix(Some(b'%')),
    }
}

/// Returns a number as [`NUMBER`].
pub(crate) fn number(value: f64) -> String {
    NUMBER.figure(value).text()
}

/// Returns a queue as [`QUEUE`].
pub(crate) fn queue(value: f64) -> String {
    QUEUE.figure(value).text()
}

/// Returns a count as [`COUNT`].
pub(crate) fn count(value: u64) -> String {
    whole_figure(value).text()
}

/// Returns a time as [`TIME`].
pub(crate) fn time(ms: f64) -> String {
    TIME.figure(ms).text()
}

/// Returns a size as [`SIZE`].
pub(crate) fn size(kib: f64) -> String {
    SIZE.figure(kib).text()
}

/// Returns a share as [`PERCENT`].
pub(crate) fn percent(share: f64) -> String {
    PERCENT.figure(share).text()
}

/// Returns a multiple as [`MULTIPLE`].
pub(crate) fn multiple(value: f64) -> String {
    MULTIPLE.figure(value).text()
}

/// Formats bytes as lsblk does: `953.9G`, in powers of 1024, with one decimal unless it is 0.
pub(crate) fn lsblk_size(bytes: u64) -> String {
    let mut unit: u128 = 1;
    let mut letters = "BKMGTPE".chars();
    let mut letter = letters.next();
    let tenths = |unit: u128| (u128::from(bytes) * 10 + unit / 2) / unit;
    while tenths(unit) >= 10_240 {
        unit *= 1024;
        letter = letters.next();
    }
    let (whole, decimal) = (tenths(unit) / 10, tenths(unit) % 10);
    let letter = letter.unwrap_or('B');
    if decimal == 0 { format!("{whole}{letter}") } else { format!("{whole}.{decimal}{letter}") }
}

/// Bytes with a decimal unit: `512 B`, `1.5 kB`, `12.0 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    let scaled = |unit: f64| bytes as f64 / unit;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => fixed(scaled(1e3), 1, " kB"),
        1_000_000..1_000_000_000 => fixed(scaled(1e6), 1, " MB"),
        _ => fixed(scaled(1e9), 1, " GB"),
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
        ..7200.0 => format!("{:.0} min {:.0} s", (seconds / 60.0).floor(), (seconds % 60.0).floor()),
        _ => format!("{:.0} h {:.0} min", (seconds / 3600.0).floor(), (seconds % 3600.0 / 60.0).floor()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_in_five_characters() {
        let texts =
            [0.0, 0.001, 0.142, 9.994, 12.34, 999.6, 21130.4, 144_246.0, 1_234_567.0, 45e6].map(number);
        assert_eq!(texts, ["0", "0.00", "0.14", "9.99", "12.3", "1000", "21130", "144k", "1.23M", "45.0M"]);
        let mut value = 0.001;
        while value < 9e8 {
            assert!(number(value).len() <= 5, "{value}: {}", number(value));
            assert!(queue(value).len() <= 5 && percent(value).len() <= 5, "{value}");
            assert!(time(value / 1e4).chars().count() <= 6, "{value}: {}", time(value / 1e4));
            assert!(size(value / 1e2).len() <= 5, "{value}: {}", size(value / 1e2));
            value *= 1.003;
        }
    }

    #[test]
    fn times_and_sizes_have_their_units() {
        let times = [0.0, 0.0363, 0.9996, 1.512, 21.04, 999.4, 2500.0].map(time);
        assert_eq!(times, ["0", "36µs", "1.00ms", "1.51ms", "21.0ms", "999ms", "2.50s"]);
        let sizes = [0.5, 4.0, 16.0, 127.6, 999.4, 1024.0, 20_480.0].map(size);
        assert_eq!(sizes, ["512", "4.0k", "16k", "128k", "999k", "1.0M", "20M"]);
    }

    #[test]
    fn sizes_of_devices_are_those_of_lsblk() {
        let sizes =
            [0, 512, 1023, 1024, 1536, 274_877_906_944, 1_024_209_543_168, 2_000_398_934_016, u64::MAX];
        let expected = ["0B", "512B", "1023B", "1K", "1.5K", "256G", "953.9G", "1.8T", "16E"];
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
        let expected = ["0 s", "<1 ms", "10 ms", "750 ms", "1.0 s", "12 s", "3 min 20 s", "2 h 5 min"];
        assert_eq!(texts, expected);
    }
}
