//! A small file that is read as a whole.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// More than any document of ours is long.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The text of a file if it is a JSON object, told by its first character; `None` when it is something else.
///
/// # Errors
/// When it cannot be opened or read, is a directory, or is longer than a document is.
pub fn read_object(path: &Path) -> Result<Option<String>> {
    let name = path.display();
    let mut file = OpenOptions::new().read(true).open(path).with_context(|| format!("cannot open {name}"))?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        bail!("{name} is a directory");
    }
    let mut start = [0; 64];
    let count = file.read(&mut start).with_context(|| format!("cannot read {name}"))?;
    let start = &start[..count];
    if !start.trim_ascii_start().starts_with(b"{") {
        return Ok(None);
    }
    let mut bytes = start.to_vec();
    let read = file.take(LONGEST).read_to_end(&mut bytes).with_context(|| format!("cannot read {name}"))?;
    if read as u64 == LONGEST {
        bail!("{name} is longer than {LONGEST} bytes");
    }
    Ok(Some(String::from_utf8(bytes).with_context(|| format!("{name} is not text"))?))
}
