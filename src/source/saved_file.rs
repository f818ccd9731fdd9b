//! Reads a small file that may be missing or on a disk that hangs.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::timed_read::read_within;

/// The longest file that is read, in bytes: baselines of thousands of devices.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// The outcome of reading the first of several files.
#[derive(Debug)]
pub enum FirstFile {
    /// None of them exists and is readable for this user.
    Missing,
    /// The text of this file, or the error of reading it.
    Found(PathBuf, io::Result<String>),
    /// The files could not be read in time.
    TimedOut,
}

/// Reads the first of `paths` that exists and that this user may read, in a thread that is abandoned after `limit`.
pub fn read_first_file(paths: &[PathBuf], limit: Duration) -> FirstFile {
    if paths.is_empty() {
        return FirstFile::Missing;
    }
    let paths = paths.to_vec();
    let read = move || {
        let files = paths.into_iter().map(|path| (read_text(&path), path));
        let mut found = files.filter(|(text, _)| !text.as_ref().is_err_and(is_unavailable));
        found.next().map_or(FirstFile::Missing, |(text, path)| FirstFile::Found(path, text))
    };
    read_within(limit, read).unwrap_or(FirstFile::TimedOut)
}

/// Returns whether the error says that there is no such file for this user.
fn is_unavailable(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = OpenOptions::new().read(true).open(path)?;
    if file.take(MAX_BYTES + 1).read_to_string(&mut text)? as u64 > MAX_BYTES {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("longer than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn the_first_file_that_exists_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("b"), "text").unwrap();
        std::fs::write(path("c"), "other").unwrap();
        let read =
            |names: &[&str]| read_first_file(&names.iter().map(|n| path(n)).collect::<Vec<_>>(), LIMIT);
        assert!(
            matches!(read(&["a", "b/x", "b", "c"]), FirstFile::Found(p, Ok(text)) if p == path("b") && text == "text")
        );
        assert!(matches!(read(&["a", "b/x"]), FirstFile::Missing) && matches!(read(&[]), FirstFile::Missing));
    }

    #[test]
    fn a_directory_binary_data_and_an_endless_file_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let binary = dir.path().join("binary");
        std::fs::write(&binary, b"\xff").unwrap();
        for path in [dir.path().to_owned(), binary, PathBuf::from("/dev/zero")] {
            let found = read_first_file(&[path.clone(), "/".into()], LIMIT);
            assert!(matches!(&found, FirstFile::Found(p, Err(_)) if *p == path), "{found:?}");
        }
    }
}
