//! Reads small files, such as those of /proc and /sys, as a whole and in bounded memory. A file that cannot be read, or
//! is too large, is `None`: what it would say is then not known.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;

/// Larger than any file of the kernel that is read; the longest list mounts, devices or time zone rules.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads the bytes of a file.
pub(super) fn read_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = OpenOptions::new().read(true).open(path).ok()?;
    let read = file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    (read < MAX_BYTES as usize).then_some(bytes)
}

/// Reads a file as text; `None` also if it is not UTF-8.
pub(super) fn read_text(path: &Path) -> Option<String> {
    String::from_utf8(read_bytes(path)?).ok()
}

/// Reads the first line of a file without surrounding blanks; `None` also if that is empty.
pub(super) fn read_line(path: &Path) -> Option<String> {
    let text = read_text(path)?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
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
