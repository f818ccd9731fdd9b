//! Reads a JSON file in full.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// The longest file that is read: far longer than any that blkstat saves.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Returns the text of a file that holds a JSON object, recognized by its first character; `None` for any other file.
///
/// # Errors
/// If it cannot be opened or read, is a directory, or is too large.
pub fn read_json_object(path: &Path) -> Result<Option<String>> {
    let name = path.display();
    let mut file = OpenOptions::new().read(true).open(path).with_context(|| format!("cannot open {name}"))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        bail!("{name} is a directory");
    }
    let mut start = [0; 64];
    let count = file.read(&mut start).with_context(|| format!("cannot read {name}"))?;
    let start = &start[..count];
    if !start.trim_ascii_start().starts_with(b"{") {
        return Ok(None);
    }
    let mut bytes = start.to_vec();
    let read = file.take(MAX_BYTES).read_to_end(&mut bytes).with_context(|| format!("cannot read {name}"))?;
    if read as u64 == MAX_BYTES {
        bail!("{name} is longer than {MAX_BYTES} bytes");
    }
    Ok(Some(String::from_utf8(bytes).with_context(|| format!("{name} is not a text file"))?))
}
