//! Writes a small file in full.

use std::fs::{OpenOptions, rename};
use std::io::{self, Write};
use std::path::Path;

/// Replaces a file atomically: at any time its contents are either the old or the new ones.
///
/// # Errors
/// If the file cannot be written; the old one then remains.
pub fn write_atomically(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&temporary)?;
    file.write_all(text)?;
    file.sync_all()?;
    rename(&temporary, path)
}
