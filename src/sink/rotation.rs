//! Files that give way to the next: FILE, FILE.1, FILE.2 and so on, the newest first.

use std::fs::rename;
use std::io;
use std::path::{Path, PathBuf};

/// When a file gives way, and how many stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The bytes that no file should pass; one sample is written even so.
    pub size: u64,
    /// How many files stay beside the one that is written, at least 1; `None` keeps all.
    pub keep: Option<u32>,
}

/// What a file is called after so many have followed it: `host.txt.1` of `host.txt`, and `host.txt.1.gz` of
/// `host.txt.gz`, so that zcat and the like still know it.
pub fn rotated_name(path: &Path, number: u64) -> PathBuf {
    let name = path.as_os_str().to_string_lossy();
    if let (Some(stem), true) = (name.strip_suffix(".gz"), path.to_str().is_some()) {
        return PathBuf::from(format!("{stem}.{number}.gz"));
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

/// The lowest number of a file that is there and that rotating `path` would move or delete, if there is any.
///
/// # Errors
/// When the folder cannot be read.
pub(super) fn in_the_way(path: &Path, keep: Option<u32>) -> io::Result<Option<u64>> {
    let last = most(keep);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut lowest = None;
    for entry in folder.read_dir()? {
        let name = entry?.file_name();
        let digits = name.as_encoded_bytes().split(|byte| *byte == b'.').rev().take(2);
        let numbers = digits.filter_map(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok());
        let is_ours = |number: &u64| {
            (1..=last).contains(number) && rotated_name(path, *number).file_name() == Some(&name)
        };
        lowest = numbers.filter(is_ours).chain(lowest).min();
    }
    Ok(lowest)
}

/// The last place that a file that gave way can have.
fn most(keep: Option<u32>) -> u64 {
    u64::from(keep.unwrap_or(u32::MAX).max(1))
}

/// Moves FILE to FILE.1 and what stands in the way up by one. Only the one that has the last place is lost.
///
/// The oldest goes first, so that a kill at any moment leaves a gap and takes nothing away; the next time the gap
/// is filled.
pub(super) fn make_way(path: &Path, keep: Option<u32>) -> io::Result<()> {
    let last = most(keep);
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
    fn a_number_goes_before_the_end_that_tells_of_gzip() {
        assert_eq!(rotated_name(Path::new("a/host.txt"), 1), Path::new("a/host.txt.1"));
        assert_eq!(rotated_name(Path::new("a/host.txt.gz"), 12), Path::new("a/host.txt.12.gz"));
    }

    #[test]
    fn the_oldest_makes_way_and_a_gap_is_filled_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let stand = |n: u64| read_to_string(rotated_name(&path, n)).unwrap_or_default();
        for round in 0..6 {
            write(&path, round.to_string()).unwrap();
            make_way(&path, Some(3)).unwrap();
        }
        assert_eq!([1, 2, 3, 4].map(stand), ["5", "4", "3", ""]);
        std::fs::remove_file(rotated_name(&path, 2)).unwrap();
        write(&path, "6").unwrap();
        make_way(&path, Some(3)).unwrap();
        assert_eq!([1, 2, 3, 4].map(stand), ["6", "5", "3", ""]);
        write(&path, "7").unwrap();
        make_way(&path, None).unwrap();
        assert_eq!([1, 2, 3, 4].map(stand), ["7", "6", "5", "3"]);
    }

    #[test]
    fn only_files_that_a_rotation_touches_are_in_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.txt");
        for other in ["f.txt", "f.txt.01", "f.txt.1.gz", "f.txt.0", "f.txt.old", "f.1.txt", "g.txt.1"] {
            write(folder.path().join(other), "").unwrap();
        }
        assert_eq!(in_the_way(&path, None).unwrap(), None);
        write(folder.path().join("f.txt.7"), "").unwrap();
        write(folder.path().join("f.txt.3"), "").unwrap();
        let found = [None, Some(3), Some(2), Some(0)].map(|keep| in_the_way(&path, keep).unwrap());
        assert_eq!(found, [Some(3), Some(3), None, None]);
        write(folder.path().join("f.2.gz"), "").unwrap();
        assert_eq!(in_the_way(&folder.path().join("f.gz"), None).unwrap(), Some(2));
    }
}
