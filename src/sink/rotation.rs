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

/// Moves FILE to FILE.1 and what stands in the way up by one. Only the one that has the last place is lost.
///
/// The oldest goes first, so that a kill at any moment leaves a gap and takes nothing away; the next time the gap
/// is filled.
pub(super) fn make_way(path: &Path, keep: Option<u32>) -> io::Result<()> {
    let last = u64::from(keep.unwrap_or(u32::MAX).max(1));
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
}
