//! The `TS` line that begins a sample: `TS <seconds>[.<fraction>] ...`, as pt-diskstats' captures have it.

use jiff::Timestamp;

/// Whether a line begins a sample, or was meant to.
pub(super) fn is_stamp(line: &[u8]) -> bool {
    matches!(line, [b'T', b'S', b' ' | b'\t', ..] | [b'T', b'S'])
}

/// The word after `TS`.
pub(super) fn stamp_word(line: &[u8]) -> &[u8] {
    line[2..].split(|b| b.is_ascii_whitespace()).find(|word| !word.is_empty()).unwrap_or_default()
}

/// The time of a `TS` line; `None` if it is no number of seconds, or one that no calendar has.
///
/// Digits beyond nanoseconds are cut off.
pub(super) fn parse_stamp(line: &[u8]) -> Option<Timestamp> {
    let word = std::str::from_utf8(stamp_word(line)).ok()?;
    let (seconds, fraction) = word.split_once('.').unwrap_or((word, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if seconds.is_empty() || !digits(seconds) || !digits(fraction) {
        return None;
    }
    let nanos = format!("{:0<9}", &fraction[..fraction.len().min(9)]);
    Timestamp::new(seconds.parse().ok()?, nanos.parse().ok()?).ok()
}

/// The time of day as a `TS` line writes it, `HH:MM:SS`.
pub(super) fn written_time(line: &[u8]) -> Option<String> {
    let is_time = |text: &&[u8]| {
        text.iter()
            .enumerate()
            .all(|(at, byte)| if at % 3 == 2 { *byte == b':' } else { byte.is_ascii_digit() })
    };
    line.windows(8).find(is_time).map(|time| String::from_utf8_lossy(time).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_with_and_without_a_fraction() {
        let at = |line: &str| parse_stamp(line.as_bytes()).map(|t| t.as_nanosecond());
        assert_eq!(at("TS 1795198931.000256512 2026-11-20 18:22:11"), Some(1_795_198_931_000_256_512));
        assert_eq!(at("TS 1795198931.5"), Some(1_795_198_931_500_000_000));
        assert_eq!(at("TS 1795198931"), Some(1_795_198_931_000_000_000));
        assert_eq!(at("TS\t7.0000000019 x\r"), Some(7_000_000_001));
        assert_eq!(at("TS 1795198931. x"), Some(1_795_198_931_000_000_000));
    }

    #[test]
    fn the_time_of_day_is_found_wherever_it_stands() {
        assert_eq!(written_time(b"TS 1 2026-11-20 18:22:11").as_deref(), Some("18:22:11"));
        assert_eq!(written_time(b"TS 1.5 2011-02-08T14:58:07\r").as_deref(), Some("14:58:07"));
        assert_eq!(written_time(b"TS 1795198931.5"), None);
    }

    #[test]
    fn what_is_no_time_is_none() {
        for line in ["TS", "TS ", "TS abc", "TS -5", "TS 1.2.3", "TS 99999999999999", "TS 12x", "TS .5"] {
            assert_eq!(parse_stamp(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn only_a_word_of_its_own_is_a_stamp() {
        assert!(is_stamp(b"TS 1") && is_stamp(b"TS") && is_stamp(b"TS\t1"));
        assert!(!is_stamp(b"TSX 1") && !is_stamp(b" TS 1") && !is_stamp(b""));
    }
}
