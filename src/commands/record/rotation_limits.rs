//! The values of `--rotate` and `--keep`: when a recording begins a new file, and how many older ones are kept.

use std::time::Duration;

use crate::sink::Rotation;

/// Combines the values of `--rotate` and `--keep`.
///
/// # Errors
/// A message if not even one file could be kept.
pub(super) fn rotation(limits: Rotation, kept: Option<Rotation>) -> Result<Rotation, String> {
    let Some(Rotation {
        keep, keep_bytes, ..
    }) = kept
    else {
        return Ok(limits);
    };
    if let (Some(size), Some(bytes)) = (limits.size, keep_bytes)
        && bytes < size
    {
        return Err("--keep is smaller than --rotate: no older file could be kept".to_owned());
    }
    Ok(Rotation {
        keep,
        keep_bytes,
        ..limits
    })
}

/// Parses the limits of a file: a size, a time, or both, separated by a comma.
pub(super) fn rotation_limits(word: &str) -> Result<Rotation, String> {
    const EXPECTED: &str =
        "expected a size of 64k or more, such as 10M or 1G, or a time, such as 30min, 1h or 1d";
    let mut limits = Rotation::default();
    for part in word.split(',') {
        let is_new = if let Some(every) = time(part) {
            limits.every.replace(every).is_none()
        } else if part.ends_with('m') {
            return Err(format!(
                "'{part}' is ambiguous: {}M is a size, {0}min a time",
                part.trim_end_matches('m')
            ));
        } else {
            const MIN_BYTES: u64 = 64 * 1024;
            let size = parse_bytes(part).unwrap_or(0);
            if size < MIN_BYTES {
                return Err(EXPECTED.to_owned());
            }
            limits.size.replace(size).is_none()
        };
        if !is_new {
            return Err(EXPECTED.to_owned());
        }
    }
    Ok(limits)
}

/// Parses the limits of older files: a number of files, a size with its unit, or both, separated by a comma.
pub(super) fn kept_files(word: &str) -> Result<Rotation, String> {
    const EXPECTED: &str =
        "expected a number of files, a size such as 500M or 2G, or both, such as 30,2G";
    let mut kept = Rotation::default();
    for part in word.split(',') {
        let is_new = match part.parse() {
            Ok(0) => return Err(EXPECTED.to_owned()),
            Ok(count) => kept.keep.replace(count).is_none(),
            Err(_) => {
                let size = parse_bytes(part).ok_or(EXPECTED)?;
                kept.keep_bytes.replace(size).is_none()
            }
        };
        if !is_new {
            return Err(EXPECTED.to_owned());
        }
    }
    Ok(kept)
}

/// Parses a number of bytes; the suffixes `k`, `M` and `G` are powers of 1024.
fn parse_bytes(word: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(word)?;
    let unit: u64 = match unit {
        "" => 1,
        "k" | "K" => 1 << 10,
        "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// Parses a time with its unit; `None` for zero.
fn time(word: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(word)?;
    let seconds: u64 = match unit {
        "s" => 1,
        "min" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };
    match number.checked_mul(seconds)? {
        0 => None,
        seconds => Some(Duration::from_secs(seconds)),
    }
}

fn number_and_unit(word: &str) -> Option<(u64, &str)> {
    let digits = word.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = word.split_at(digits.unwrap_or(word.len()));
    Some((number.parse().ok()?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_limited_by_size_or_time_or_both() {
        let limits = |size, hours| Rotation {
            size,
            every: Option::map(hours, |hours: u64| Duration::from_secs(3600 * hours)),
            ..Rotation::default()
        };
        for (word, expected) in [
            ("10M", limits(Some(10 << 20), None)),
            ("65536", limits(Some(65536), None)),
            ("1G", limits(Some(1 << 30), None)),
            ("1d", limits(None, Some(24))),
            ("120min", limits(None, Some(2))),
            ("1G,1h", limits(Some(1 << 30), Some(1))),
            ("3600s,64k", limits(Some(65536), Some(1))),
        ] {
            assert_eq!(rotation_limits(word), Ok(expected), "{word}");
        }
        for word in [
            "",
            "M",
            "1k",
            "10x",
            "-5M",
            "99999999999G",
            "0d",
            "1d,2d",
            "1M,2M",
            "1M,",
            "1.5h",
        ] {
            assert!(rotation_limits(word).is_err(), "{word}");
        }
        assert!(
            rotation_limits("10m")
                .is_err_and(|message| message.contains("10M is a size, 10min a time"))
        );
    }

    #[test]
    fn older_files_are_limited_by_number_or_size_or_both() {
        let kept = |keep, keep_bytes| Rotation {
            keep,
            keep_bytes,
            ..Rotation::default()
        };
        for (word, expected) in [
            ("7", kept(Some(7), None)),
            ("500M", kept(None, Some(500 << 20))),
            ("30,2G", kept(Some(30), Some(2 << 30))),
            ("2G,30", kept(Some(30), Some(2 << 30))),
        ] {
            assert_eq!(kept_files(word), Ok(expected), "{word}");
        }
        for word in ["", "0", "x", "1,2", "1M,2M", "-1"] {
            assert!(kept_files(word).is_err(), "{word}");
        }
        let limits = rotation_limits("10M").unwrap();
        assert!(rotation(limits, kept_files("9M").ok()).is_err());
        assert!(
            rotation(limits, kept_files("10M").ok())
                .is_ok_and(|rotation| rotation.keep_bytes == Some(10 << 20))
        );
    }
}
