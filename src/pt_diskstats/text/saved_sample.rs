//! The samples of `--save-samples`.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Returns a sample in the format that pt-diskstats reads: a `TS` line with the time, then the text of
/// /proc/diskstats.
pub(crate) fn format_saved_sample(at: Timestamp, zone: &TimeZone, diskstats: &[u8]) -> Vec<u8> {
    let date = at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S").to_string();
    let mut text = format!("TS {}.{:09} {date}\n", at.as_second(), at.subsec_nanosecond()).into_bytes();
    text.extend_from_slice(diskstats);
    text
}
