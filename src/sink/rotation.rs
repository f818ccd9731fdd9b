//! Rotates files: FILE becomes FILE.1, FILE.1 becomes FILE.2 and so on; a higher number is older.

use std::fs::{remove_file, rename};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The highest number of a rotated file.
const MAX_NUMBER: u64 = u32::MAX as u64;

/// The conditions for rotating a file, and for keeping rotated files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// The maximum size of a file in bytes; it is exceeded only by a single sample that is larger. `None` for no limit.
    pub size: Option<u64>,
    /// The period of time that a file covers, such as a day from midnight to midnight; `None` for no limit.
    pub every: Option<Duration>,
    /// The number of rotated files to keep, at least 1; `None` keeps all.
    pub keep: Option<u32>,
    /// The most bytes that rotated files may have together; `None` for no limit.
    pub keep_bytes: Option<u64>,
}

/// Returns the number of the period of length `every` that contains a time. The first began at midnight, local time;
/// local clocks are `utc_offset_s` ahead of UTC.
pub(super) fn period(epoch_s: i64, utc_offset_s: i64, every: Duration) -> i64 {
    let every = i64::try_from(every.as_secs()).unwrap_or(i64::MAX).max(1);
    (epoch_s + utc_offset_s).div_euclid(every)
}

/// Returns the name of a rotated file: `host.txt.1` for `host.txt`, and `host.1.gz` for `host.gz`, so that zcat and
/// similar programs still recognize it.
pub fn rotated_name(path: &Path, number: u64) -> PathBuf {
    let name = path.as_os_str().to_string_lossy();
    if let (Some(stem), true) = (name.strip_suffix(".gz"), path.to_str().is_some()) {
        return PathBuf::from(format!("{stem}.{number}.gz"));
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

/// Returns the numbers of the rotated files of `path`, in ascending order.
///
/// # Errors
/// If the directory cannot be read.
pub(super) fn rotated_numbers(path: &Path) -> io::Result<Vec<u64>> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut found = Vec::new();
    for entry in parent.read_dir()? {
        let name = entry?.file_name();
        let digits = name.as_encoded_bytes().split(|byte| *byte == b'.').rev().take(2);
        let numbers = digits.filter_map(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok());
        let is_rotated = |number: &u64| {
            (1..=MAX_NUMBER).contains(number) && rotated_name(path, *number).file_name() == Some(&name)
        };
        found.extend(numbers.filter(is_rotated));
    }
    found.sort_unstable();
    Ok(found)
}

/// Deletes the oldest rotated files until the rest are as few and as small as the rotation allows.
///
/// # Errors
/// If the directory cannot be read or a file cannot be deleted.
pub(super) fn delete_excess(path: &Path, rotation: Rotation) -> io::Result<()> {
    if (rotation.keep, rotation.keep_bytes) == (None, None) {
        return Ok(());
    }
    let max_bytes = rotation.keep_bytes.unwrap_or(u64::MAX);
    let mut bytes: u64 = 0;
    for (older, number) in (1..).zip(rotated_numbers(path)?) {
        let file = rotated_name(path, number);
        bytes = bytes.saturating_add(file.symlink_metadata()?.len());
        if bytes > max_bytes || older > max_files(rotation.keep) {
            remove_file(file)?;
        }
    }
    Ok(())
}

/// Returns the maximum number of rotated files.
fn max_files(keep: Option<u32>) -> u64 {
    keep.map_or(MAX_NUMBER, |keep| u64::from(keep.max(1)))
}

/// Renames FILE to FILE.1 after renaming the rotated files up to the first gap to the next number. Only the file with
/// the highest number is lost, and only if there is no gap.
///
/// The oldest is renamed first: if the program is killed meanwhile, a gap remains but nothing is lost, and the next
/// rotation fills the gap.
///
/// # Errors
/// If a file cannot be renamed.
pub(super) fn shift_files(path: &Path, keep: Option<u32>) -> io::Result<()> {
    let last = max_files(keep);
    let exists = |number: &u64| rotated_name(path, *number).symlink_metadata().is_ok();
    let free = (1..last).find(|number| !exists(number)).unwrap_or(last);
    for number in (1..free).rev() {
        rename(rotated_name(path, number), rotated_name(path, number + 1))?;
    }
    match rename(path, rotated_name(path, 1)) {
        // The file was moved elsewhere, where it is complete.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use std::fs::{read_to_string, write};

    #[test]
    fn the_number_precedes_the_extension_of_gzip() {
        assert_eq!(rotated_name(Path::new("a/host.txt"), 1), Path::new("a/host.txt.1"));
        assert_eq!(rotated_name(Path::new("a/host.txt.gz"), 12), Path::new("a/host.txt.12.gz"));
    }

    #[test]
    fn files_shift_up_and_a_gap_is_filled_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let text = |n: u64| read_to_string(rotated_name(&path, n)).unwrap_or_default();
        for round in 0..6 {
            write(&path, round.to_string()).unwrap();
            shift_files(&path, Some(3)).unwrap();
        }
        assert_eq!([1, 2, 3, 4].map(text), ["5", "4", "3", ""]);
        std::fs::remove_file(rotated_name(&path, 2)).unwrap();
        write(&path, "6").unwrap();
        shift_files(&path, Some(3)).unwrap();
        assert_eq!([1, 2, 3, 4].map(text), ["6", "5", "3", ""]);
        write(&path, "7").unwrap();
        shift_files(&path, None).unwrap();
        assert_eq!([1, 2, 3, 4].map(text), ["7", "6", "5", "3"]);
    }

    #[test]
    fn only_rotated_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.txt");
        for other in ["f.txt", "f.txt.01", "f.txt.1.gz", "f.txt.0", "f.txt.old", "f.1.txt", "g.txt.1"] {
            write(folder.path().join(other), "").unwrap();
        }
        assert!(rotated_numbers(&path).unwrap().is_empty());
        write(folder.path().join("f.txt.7"), "").unwrap();
        write(folder.path().join("f.txt.3"), "").unwrap();
        assert_eq!(rotated_numbers(&path).unwrap(), [3, 7]);
        write(folder.path().join("f.2.gz"), "").unwrap();
        assert_eq!(rotated_numbers(&folder.path().join("f.gz")).unwrap(), [2]);
    }

    #[test]
    fn the_oldest_files_are_deleted_beyond_a_number_or_a_total_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.gz");
        for number in 1..=12 {
            write(rotated_name(&path, number), [0; 100]).unwrap();
        }
        let left = |keep, keep_bytes| {
            delete_excess(&path, Rotation { keep, keep_bytes, ..Rotation::default() }).unwrap();
            rotated_numbers(&path).unwrap()
        };
        assert_eq!(left(None, None).len(), 12);
        assert_eq!(left(None, Some(1000)), (1..=10).collect::<Vec<_>>());
        std::fs::remove_file(rotated_name(&path, 2)).unwrap();
        assert_eq!(left(Some(5), Some(1000)), [1, 3, 4, 5, 6]);
        assert_eq!(left(Some(5), Some(399)), [1, 3, 4]);
        assert!(left(None, Some(0)).is_empty());
    }

    #[test]
    fn periods_begin_at_midnight_of_the_local_time() {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        // 2026-11-20 23:59:59 one hour ahead of UTC.
        let before_midnight = 1_795_215_599;
        let days = [-80_000, 0, 1].map(|seconds| period(before_midnight + seconds, 3600, DAY));
        assert!(days[0] == days[1] && days[2] == days[1] + 1, "{days:?}");
    }
}
