//! Writes a small file as a whole.

use std::fs::{OpenOptions, rename};
use std::io::{self, Write};
use std::path::Path;

/// Replaces the contents of a file atomically: at every moment the file is either the old or the new one.
///
/// # Errors
/// The system's; the old file then still exists.
pub fn write_atomically(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&temporary)?;
    file.write_all(text)?;
    file.sync_all()?;
    rename(&temporary, path)
}
