//! Rotates files: FILE becomes FILE.1, FILE.1 becomes FILE.2 and so on; a higher number is older.

use std::fs::rename;
use std::io;
use std::path::{Path, PathBuf};

/// The size at which a file is rotated, and the number of rotated files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The maximum size of a file in bytes; it is exceeded only by a single sample that is larger.
    pub size: u64,
    /// The number of rotated files to keep, at least 1; `None` keeps all.
    pub keep: Option<u32>,
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

/// Returns the lowest number of an existing file that rotating `path` would rename or delete; `None` if there is none.
///
/// # Errors
/// If the directory cannot be read.
pub(super) fn existing_rotated(path: &Path, keep: Option<u32>) -> io::Result<Option<u64>> {
    let last = max_number(keep);
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut lowest = None;
    for entry in parent.read_dir()? {
        let name = entry?.file_name();
        let digits = name.as_encoded_bytes().split(|byte| *byte == b'.').rev().take(2);
        let numbers = digits.filter_map(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok());
        let is_rotated = |number: &u64| {
            (1..=last).contains(number) && rotated_name(path, *number).file_name() == Some(&name)
        };
        lowest = numbers.filter(is_rotated).chain(lowest).min();
    }
    Ok(lowest)
}

/// Returns the highest number of a rotated file.
fn max_number(keep: Option<u32>) -> u64 {
    u64::from(keep.unwrap_or(u32::MAX).max(1))
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
    let last = max_number(keep);
    let exists = |number: &u64| rotated_name(path, *number).symlink_metadata().is_ok();
    let free = (1..last).find(|number| !exists(number)).unwrap_or(last);
    for number in (1..free).rev() {
        rename(rotated_name(path, number), rotated_name(path, number + 1))?;
    }
    rename(path, rotated_name(path, 1))
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
    fn only_files_that_a_rotation_would_touch_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.txt");
        for other in ["f.txt", "f.txt.01", "f.txt.1.gz", "f.txt.0", "f.txt.old", "f.1.txt", "g.txt.1"] {
            write(folder.path().join(other), "").unwrap();
        }
        assert_eq!(existing_rotated(&path, None).unwrap(), None);
        write(folder.path().join("f.txt.7"), "").unwrap();
        write(folder.path().join("f.txt.3"), "").unwrap();
        let found = [None, Some(3), Some(2), Some(0)].map(|keep| existing_rotated(&path, keep).unwrap());
        assert_eq!(found, [Some(3), Some(3), None, None]);
        write(folder.path().join("f.2.gz"), "").unwrap();
        assert_eq!(existing_rotated(&folder.path().join("f.gz"), None).unwrap(), Some(2));
    }
}
