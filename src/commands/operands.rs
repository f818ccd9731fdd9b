//! Operands that several commands share: a file, devices, an interval, a count.

use std::path::{Path, PathBuf};

use crate::schedule::{Schedule, parse_interval};
use crate::source::{is_device_name, is_recording};

/// The operands of a view: recordings, devices, an interval and a count, in any order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Operands {
    /// The files of one capture; empty for the running system.
    pub(super) files: Vec<PathBuf>,
    pub(super) devices: Vec<String>,
    pub(super) schedule: Schedule,
}

/// The first operand where it may also be a file whose name is that of a device or a number, or one that does not exist.
pub(super) const FILE_FIRST: bool = true;
/// The first operand where it is like all others.
pub(super) const ANY_FIRST: bool = false;

impl Operands {
    /// Splits operands. The first word that starts like a number is the interval, the second one the count. A file is a
    /// recording unless a device has its name; with `from`, only a path is. `is_file_first` is [`FILE_FIRST`] or
    /// [`ANY_FIRST`].
    ///
    /// # Errors
    /// A message about an invalid interval or count, or a number after them.
    pub(super) fn split(
        words: &[String],
        is_file_first: bool,
        from: Option<&PathBuf>,
        root: &Path,
    ) -> Result<Self, String> {
        // A relative directory is hardly meant as a path on a device.
        let is_device =
            |word: &str| Path::new(word).is_dir() && word.starts_with('/') || is_device_name(word, root);
        let is_number = |word: &str| {
            let begins_one = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.');
            word.starts_with(begins_one) && !word.contains('/')
        };
        let mut operands = Self { files: from.cloned().into_iter().collect(), ..Self::default() };
        let mut numbers = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let is_first = is_file_first && at == 0 && from.is_none();
            let is_named = from.is_some() && !word.contains(['/', '.']);
            if is_first && is_file(word) && !is_device(word)
                || !is_named && !is_number_or_interval(word) && is_recording(word, root)
            {
                operands.files.push(PathBuf::from(word));
            } else if is_number(word) && !Path::new(word).is_dir() {
                numbers.push(word);
            } else {
                operands.devices.push(word.clone());
            }
        }
        operands.schedule = parse_schedule(numbers.first().copied(), numbers.get(1).copied())?;
        if let Some(word) = numbers.get(2) {
            return Err(format!("unexpected '{word}' after INTERVAL and COUNT"));
        }
        if operands.files.len() > 1 && operands.files.iter().any(|file| file.as_os_str() == "-") {
            return Err("standard input cannot be one of several files".to_owned());
        }
        Ok(operands)
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
        let Operands { devices, schedule, .. } = Operands::split(&words, ANY_FIRST, None, Path::new("/"))?;
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
    fn operands_may_stand_in_any_order() {
        for words in ["vda 1 2", "1 vda 2", "1 2 vda"] {
            assert_eq!(parts(words), Ok((vec!["vda".into()], Some(1_000_000), Some(2))), "{words}");
        }
    }

    #[test]
    fn an_existing_file_is_a_recording_unless_a_device_has_its_name() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("sys/class/block/Cargo.toml")).unwrap();
        let split = |words: &str, from: Option<&str>, root: &Path| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            let operands =
                Operands::split(&words, ANY_FIRST, from.map(PathBuf::from).as_ref(), root).unwrap();
            (operands.files, operands.devices)
        };
        let (file, none) = (|name: &str| vec![PathBuf::from(name)], Vec::<String>::new());
        assert_eq!(split("Cargo.toml", None, Path::new("/")), (file("Cargo.toml"), none.clone()));
        assert_eq!(split("./Cargo.toml", None, root.path()), (file("./Cargo.toml"), none.clone()));
        assert_eq!(split("1 -", None, Path::new("/")), (file("-"), none));
        let device = |name: &str| vec![name.to_owned()];
        assert_eq!(split("Cargo.toml", None, root.path()), (vec![], device("Cargo.toml")));
        // With --from, a name without a dot is a device of the recording.
        assert_eq!(split("LICENSE", Some("x"), Path::new("/")), (file("x"), device("LICENSE")));
        assert_eq!(split("src /var", None, Path::new("/")), (vec![], vec!["src".into(), "/var".into()]));
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
        for word in ["0", "-1", "9ms", "1x", "1e400", "1.2.3", "0.001", "99999h"] {
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
        assert!(parts("1 2 vda 3").unwrap_err().contains("unexpected '3' after INTERVAL and COUNT"));
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
