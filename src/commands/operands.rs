//! Operands that several commands share: a file, devices, an interval, a count.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::schedule::Schedule;

const MIN_INTERVAL: Duration = Duration::from_millis(10);
/// The longest interval in seconds: 366 days.
const MAX_INTERVAL_S: f64 = 366.0 * 86_400.0;

/// Splits `[DEVICE]... [INTERVAL [COUNT]]`. The first word that starts like a number is the interval.
///
/// # Errors
/// A message about an invalid interval or count, or a word after them.
pub(super) fn devices_and_schedule(words: &[String]) -> Result<(Vec<String>, Schedule), String> {
    let is_number =
        |word: &String| word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    let devices = words.iter().position(is_number).unwrap_or(words.len());
    if let Some(word) = words.get(devices + 1).filter(|word| !is_number(word)) {
        return Err(format!("unexpected '{word}' after INTERVAL; name devices first"));
    }
    let schedule = parse_schedule(words.get(devices), words.get(devices + 1))?;
    match words.get(devices + 2) {
        Some(word) => Err(format!("unexpected '{word}' after INTERVAL and COUNT; name devices first")),
        None => Ok((words[..devices].to_vec(), schedule)),
    }
}

/// Parses an interval and a count; `None` if they are not given.
///
/// # Errors
/// A message about the one that is invalid.
pub(super) fn parse_schedule(interval: Option<&String>, count: Option<&String>) -> Result<Schedule, String> {
    let interval = interval.map(|word| parse_interval(word)).transpose()?;
    let whole = |word: &String| match word.parse() {
        Ok(count @ 1..) => Ok(count),
        _ => Err(format!("invalid COUNT '{word}'; expected a whole number, 1 or more")),
    };
    Ok(Schedule { interval, count: count.map(whole).transpose()? })
}

/// Splits `[FILE] [DEVICE]... [INTERVAL [COUNT]]` into the capture, which may be given as `from`, and the other operands.
pub(super) fn file_and_operands(from: Option<PathBuf>, operands: &[String]) -> (Option<PathBuf>, &[String]) {
    match (from, operands) {
        (None, [word, rest @ ..]) if is_file(word) => (Some(PathBuf::from(word)), rest),
        (from, operands) => (from, operands),
    }
}

/// Returns whether a word names a capture rather than a device: `-`, a path outside /dev, or a regular file in the
/// current directory.
pub(super) fn is_file(word: &str) -> bool {
    word == "-"
        || (word.contains('/') && !word.starts_with("/dev/") && !word.starts_with("mapper/"))
        || Path::new(word).is_file()
}

/// Returns whether a word is a number or an interval, such as `1`, `0.5` or `100ms`, and so hardly a file name.
pub(super) fn is_number_or_interval(word: &str) -> bool {
    let is_number = word.parse::<f64>().is_ok() && word.contains(|c: char| c.is_ascii_digit());
    is_number || parse_interval(word).is_ok()
}

/// Parses a duration: a number of seconds, or a number followed by `us`, `ms`, `s`, `m` or `h`.
pub(super) fn parse_interval(word: &str) -> Result<Duration, String> {
    const EXPECTED: &str = "expected 10ms or more, such as 1, 0.5, 100ms, 2s or 1m";
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    // A slip of the hand must not mean 1,000 s.
    if digits.contains(['e', 'E']) {
        return Err(format!("invalid INTERVAL '{word}'; write it without an exponent, such as 1000 or 0.5"));
    }
    let seconds_in_unit = match &word[digits.len()..] {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("invalid INTERVAL '{word}'; {EXPECTED}")),
    };
    let seconds = digits.parse::<f64>().ok().map(|amount| amount * seconds_in_unit);
    if seconds.is_some_and(|seconds| seconds > MAX_INTERVAL_S) {
        return Err(format!("invalid INTERVAL '{word}'; expected 366 days (8784h) or less"));
    }
    let fits = |seconds: &f64| (0.0..=MAX_INTERVAL_S).contains(seconds);
    let interval = seconds.filter(fits).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    interval
        .filter(|length| *length >= MIN_INTERVAL)
        .ok_or_else(|| format!("invalid INTERVAL '{word}'; {EXPECTED}"))
}

/// Parses `A`, `A,B` or `,B`, where both are numbers above zero; `None` for any other text.
pub(super) fn two_numbers(word: &str) -> Option<(Option<f64>, Option<f64>)> {
    let number = |word: &str| match word {
        "" => Some(None),
        _ => word.parse().ok().filter(|n: &f64| *n > 0.0 && n.is_finite()).map(Some),
    };
    let (first, second) = word.split_once(',').unwrap_or((word, ""));
    let both = (number(first)?, number(second)?);
    (both != (None, None)).then_some(both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[allow(clippy::type_complexity)]
    fn parts(words: &str) -> Result<(Vec<String>, Option<u128>, Option<u64>), String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let (devices, schedule) = devices_and_schedule(&words)?;
        Ok((devices, schedule.interval.map(|interval| interval.as_micros()), schedule.count))
    }

    #[test]
    fn devices_then_an_interval_then_a_count() {
        assert_eq!(parts(""), Ok((vec![], None, None)));
        assert_eq!(parts("vda dm-0 0.5 3"), Ok((vec!["vda".into(), "dm-0".into()], Some(500_000), Some(3))));
        for (word, us) in [
            ("0.1", 100_000),
            ("100ms", 100_000),
            ("2s", 2_000_000),
            ("1m", 60_000_000),
            (".25", 250_000),
            ("10ms", 10_000),
        ] {
            assert_eq!(parts(word), Ok((vec![], Some(us), None)), "{word}");
        }
    }

    #[test]
    fn numbers_and_intervals_are_distinguished_from_file_names() {
        for word in ["1", "0.5", "100ms", "2s", "0", "99999999999"] {
            assert!(is_number_or_interval(word), "{word}");
        }
        for word in ["./1", "1.txt", "2026-11-20", "inf", "nan", "-", "a", "1x", "s", ""] {
            assert!(!is_number_or_interval(word), "{word}");
        }
    }

    #[test]
    fn invalid_intervals_are_refused() {
        for word in ["0", "-1", "9ms", "1x", "1e400", "-", "1.2.3", "0.001", "99999h", "nan1"] {
            let refused = parts(&format!("1 {word}"));
            assert!(refused.is_err(), "as a count: {word}");
        }
        for word in ["0", "-1", "9ms", "1x", "1.2.3", "0.001", "+inf"] {
            assert!(parts(word).unwrap_err().contains("expected 10ms or more"), "{word}");
        }
        for word in ["1e3", "2E1s", "1e400"] {
            assert!(parts(word).unwrap_err().contains("without an exponent"), "{word}");
        }
        for word in ["99999h", "99999999999", "8785h"] {
            let message = format!("invalid INTERVAL '{word}'; expected 366 days (8784h) or less");
            assert_eq!(parts(word), Err(message));
        }
        assert!(parts("8784h").is_ok());
        assert!(parts("1 2 vda").unwrap_err().contains("unexpected 'vda' after INTERVAL and COUNT"));
        assert!(
            parts("1 vda 2").unwrap_err().contains("unexpected 'vda' after INTERVAL; name devices first")
        );
        assert!(parts("1 0").unwrap_err().contains("invalid COUNT '0'"));
    }

    #[test]
    fn captures_and_devices_are_distinguished() {
        for word in ["-", "a/b", "./x", "/tmp/x", "Cargo.toml"] {
            assert!(is_file(word), "{word}");
        }
        for word in ["vda", "/dev/vda", "/dev/mapper/vg0-root", "mapper/vg0-root", "src"] {
            assert!(!is_file(word), "{word}");
        }
    }
}
