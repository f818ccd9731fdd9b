//! The captures, as they are and widened.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::fixtures;

/// Columns of a line about a device, by the age of the kernel.
pub(crate) const COLUMNS: [usize; 3] = [14, 18, 20];

/// What the columns after the fourteenth hold.
const NEWER: [&str; 6] = ["3", "1", "24", "2", "7", "9"];

/// The names of all captures, in order.
pub(crate) fn names() -> Vec<String> {
    let entries = fs::read_dir(fixtures().join("captures/pt")).unwrap();
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".txt")?.to_owned()))
        .collect();
    names.sort_unstable();
    names
}

/// The captures at every width, in a folder of their own.
pub(crate) struct Captures {
    folder: TempDir,
}

impl Captures {
    /// Lays them out.
    pub(crate) fn lay() -> Self {
        let folder = TempDir::new().unwrap();
        for name in names() {
            let bytes = fs::read(fixtures().join(format!("captures/pt/{name}.txt"))).unwrap();
            for columns in COLUMNS {
                fs::write(path(folder.path(), &name, columns), widened(&bytes, columns)).unwrap();
            }
        }
        Self { folder }
    }

    /// Where a capture lies.
    pub(crate) fn path(&self, name: &str, columns: usize) -> PathBuf {
        path(self.folder.path(), name, columns)
    }
}

fn path(folder: &Path, name: &str, columns: usize) -> PathBuf {
    folder.join(format!("{name}.{columns}.txt"))
}

/// The capture with lines of 14 columns widened to so many.
fn widened(bytes: &[u8], columns: usize) -> Vec<u8> {
    let mut wide = Vec::with_capacity(bytes.len() * 2);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii_end();
        wide.extend_from_slice(text);
        if text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count() == COLUMNS[0] {
            for number in &NEWER[..columns - COLUMNS[0]] {
                wide.push(b' ');
                wide.extend_from_slice(number.as_bytes());
            }
        }
        wide.extend_from_slice(&line[text.len()..]);
    }
    wide
}
