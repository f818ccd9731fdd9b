//! Reads small files, such as those of /proc and /sys, as a whole and in bounded memory. The result is `None` if the
//! file cannot be read or is too large: its values are then unknown.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::Path;

/// The longest file that is read, in bytes: longer than any of these files. The longest ones list mounts, devices or
/// time zone rules.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads the bytes of a file.
pub(super) fn read_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    read_bytes_into(path, &mut bytes).ok()?;
    Some(bytes)
}

/// Reads the bytes of a file into a buffer, replacing its contents: for files that are read again and again.
///
/// # Errors
/// If the file cannot be read or is too large.
pub(super) fn read_bytes_into(path: &Path, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.clear();
    let read = OpenOptions::new().read(true).open(path)?.take(MAX_BYTES).read_to_end(bytes)?;
    if read < MAX_BYTES as usize { Ok(()) } else { Err(io::ErrorKind::FileTooLarge.into()) }
}

/// Reads a file as text; `None` also if it is not UTF-8.
pub(super) fn read_text(path: &Path) -> Option<String> {
    String::from_utf8(read_bytes(path)?).ok()
}

/// Reads a file that contains file names, which may have any bytes: those that are not UTF-8 are replaced.
pub(super) fn read_lossy(path: &Path) -> Option<String> {
    Some(String::from_utf8_lossy(&read_bytes(path)?).into_owned())
}

/// Reads the first line of a file without surrounding blanks; `None` also if the line is empty or the file is not
/// UTF-8.
pub(super) fn read_line(path: &Path) -> Option<String> {
    first_line(&read_text(path)?)
}

/// Like [`read_line`], for a file that contains file names.
pub(super) fn read_line_lossy(path: &Path) -> Option<String> {
    first_line(&read_lossy(path)?)
}

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Reads a text file that a user wrote, such as a configuration file.
///
/// # Errors
/// If the file cannot be read or is not UTF-8.
pub fn read_text_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    OpenOptions::new().read(true).open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_trimmed_and_never_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        for (text, line) in [(" a b \nc\n", Some("a b")), ("x", Some("x")), ("\nx", None), ("", None)] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read_line(&path).as_deref(), line, "{text:?}");
        }
        assert_eq!(read_line(&folder.path().join("none")), None);
        assert_eq!(read_line(folder.path()), None);
    }

    #[test]
    fn text_that_is_not_utf_8_and_files_that_are_too_large_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!((read_text(&path), read_bytes(&path)), (None, Some(vec![0xff])));
        assert_eq!(read_bytes(Path::new("/dev/zero")), None);
    }
}
