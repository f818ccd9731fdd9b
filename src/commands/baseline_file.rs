//! Files with baselines, which `record` and `analyze` write.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::clock::RealClock;
use crate::known_baselines::SavedBaselines;
use crate::sanitize::path_text;
use crate::sink::write_atomically;
use crate::source::read_json_object;

/// Reads the text of saved baselines that may be replaced; `None` if the file does not exist.
///
/// # Errors
/// If the file is not a saved baseline: it may be a recording.
pub(super) fn read_replaceable_baselines(path: &Path) -> Result<Option<String>> {
    let Ok(found) = path.metadata() else {
        return Ok(None);
    };
    let is_replaceable = found.is_file() || found.is_dir();
    if is_replaceable && let Some(text) = read_json_object(path, &RealClock::new(None))? {
        return Ok(Some(text));
    }
    bail!("{} exists and is not a saved baseline", path_text(path))
}

/// Saves baselines in a file.
pub(super) fn write_baselines(path: &Path, baselines: &SavedBaselines) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(baselines)?;
    text.push(b'\n');
    write_atomically(path, &text).with_context(|| format!("cannot write {}", path_text(path)))
}
