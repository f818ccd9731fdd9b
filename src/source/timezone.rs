//! The time zone of printed times.

use std::ffi::OsStr;
use std::path::Path;

use jiff::tz::TimeZone;

use super::small_file::read_bytes;

/// Returns the local time zone as [`find_time_zone`] does; UTC if the variable TZ names none.
pub fn local_time_zone(tz: Option<&OsStr>) -> TimeZone {
    find_time_zone(tz).unwrap_or(TimeZone::UTC)
}

/// Reads the local time zone: from the variable TZ (tzset(3)), else from /etc/localtime, else UTC. `None` if TZ names
/// no time zone.
///
/// This reads one file. jiff would list every zone of the system first, which takes longer than a report.
pub fn find_time_zone(tz: Option<&OsStr>) -> Option<TimeZone> {
    let Some(tz) = tz.map(OsStr::to_string_lossy) else {
        return Some(read_zone(Path::new("/etc/localtime")).unwrap_or(TimeZone::UTC));
    };
    let name = tz.strip_prefix(':').unwrap_or(&tz);
    if name.is_empty() {
        return Some(TimeZone::UTC);
    }
    let path = Path::new("/usr/share/zoneinfo").join(name);
    // UTC needs no file: a small container has none.
    let utc = || matches!(name, "UTC" | "Etc/UTC" | "GMT").then_some(TimeZone::UTC);
    read_zone(&path).or_else(|| TimeZone::posix(name).ok()).or_else(utc)
}

fn read_zone(path: &Path) -> Option<TimeZone> {
    TimeZone::tzif(&path.to_string_lossy(), &read_bytes(path)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn at_epoch(tz: &str) -> String {
        Timestamp::UNIX_EPOCH
            .to_zoned(local_time_zone(Some(OsStr::new(tz))))
            .strftime("%Y-%m-%dT%H:%M:%S%z")
            .to_string()
    }

    #[test]
    fn a_posix_rule_needs_no_file() {
        assert_eq!(at_epoch("IST-5:30"), "1970-01-01T05:30:00+0530");
        assert_eq!(at_epoch(":EST5EDT,M3.2.0,M11.1.0"), "1969-12-31T19:00:00-0500");
    }

    #[test]
    fn an_empty_or_unknown_zone_is_utc() {
        assert!(find_time_zone(Some(OsStr::new("No/Such_Zone"))).is_none());
        assert!(find_time_zone(Some(OsStr::new("UTC"))).is_some());
        assert_eq!(at_epoch(""), "1970-01-01T00:00:00+0000");
        assert_eq!(at_epoch("No/Such_Zone"), "1970-01-01T00:00:00+0000");
    }
}
