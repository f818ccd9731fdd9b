//! The captures, unchanged and with more columns.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::fixtures;

/// Columns of a device line, from old to new kernels.
pub(crate) const COLUMNS: [usize; 3] = [14, 18, 20];

/// The content of the columns after the fourteenth.
const NEWER_COLUMNS: [&str; 6] = ["3", "1", "24", "2", "7", "9"];

/// Returns the names of all captures, sorted.
pub(crate) fn names() -> Vec<String> {
    let entries = fs::read_dir(fixtures().join("captures/pt")).unwrap();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            Some(
                entry
                    .unwrap()
                    .file_name()
                    .to_str()?
                    .strip_suffix(".txt")?
                    .to_owned(),
            )
        })
        .collect();
    names.sort_unstable();
    names
}

/// The captures with every number of columns, in a temporary directory.
pub(crate) struct Captures {
    dir: TempDir,
}

impl Captures {
    /// Writes the captures.
    pub(crate) fn write() -> Self {
        let dir = TempDir::new().unwrap();
        for name in names() {
            let bytes = fs::read(fixtures().join(format!("captures/pt/{name}.txt"))).unwrap();
            for columns in COLUMNS {
                fs::write(
                    path(dir.path(), &name, columns),
                    extend_lines(&bytes, columns),
                )
                .unwrap();
            }
        }
        Self { dir }
    }

    /// Returns the path of a capture.
    pub(crate) fn path(&self, name: &str, columns: usize) -> PathBuf {
        path(self.dir.path(), name, columns)
    }
}

fn path(dir: &Path, name: &str, columns: usize) -> PathBuf {
    dir.join(format!("{name}.{columns}.txt"))
}

/// Extends the lines of 14 columns to this many columns.
fn extend_lines(bytes: &[u8], columns: usize) -> Vec<u8> {
    let mut wide = Vec::with_capacity(bytes.len() * 2);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii_end();
        wide.extend_from_slice(text);
        if text
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .count()
            == COLUMNS[0]
        {
            for number in &NEWER_COLUMNS[..columns - COLUMNS[0]] {
                wide.push(b' ');
                wide.extend_from_slice(number.as_bytes());
            }
        }
        wide.extend_from_slice(&line[text.len()..]);
    }
    wide
}
