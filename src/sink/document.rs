//! A small file that is written as a whole.

use std::fs::{OpenOptions, rename};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file anew. It is the old one or the new one at every moment.
///
/// # Errors
/// What the system says; the old file is there then.
pub fn write_document(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&beside)?;
    file.write_all(text)?;
    file.sync_all()?;
    rename(&beside, path)
}
