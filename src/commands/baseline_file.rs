//! The file with the baselines of this host, which `record` keeps and the live views read.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use crate::baselines::SavedBaselines;
use crate::os_error::os_error_text;
use crate::sanitize::path_text;
use crate::sink::write_atomically;
use crate::source::{read_text_file, read_text_file_within};

/// The longest wait of a view for the file: it may be on the disk that hangs.
const MAX_WAIT: Duration = Duration::from_millis(200);
/// What is wrong with a file that can be read. Those of 0.1.0 were saved by hand, for names of devices.
const NO_BASELINES: &str = "holds no baselines of this version: it is damaged, or of 0.1.0";

/// Reads the baselines for a view; none if there is no such file for this user.
///
/// # Errors
/// The reason why they are ignored.
pub(super) fn read_baselines(path: &Path) -> Result<SavedBaselines, String> {
    let name = path_text(path);
    let text = read_text_file_within(path, MAX_WAIT)
        .map_err(|error| format!("{name}: {}; saved baselines ignored", os_error_text(&error)))?;
    let Some(text) = text else {
        return Ok(SavedBaselines::default());
    };
    SavedBaselines::parse(&text).map_err(|_| {
        format!("{name} {NO_BASELINES}; ignored. Delete it, and the recorder learns them anew")
    })
}

/// Reads the baselines that are to be replaced; none if the file does not exist.
///
/// # Errors
/// If the file is anything else: it may be a recording.
pub(super) fn read_replaceable_baselines(path: &Path) -> Result<SavedBaselines> {
    let Ok(metadata) = path.metadata() else {
        return Ok(SavedBaselines::default());
    };
    let name = path_text(path);
    ensure!(metadata.is_file(), "{name} is no file");
    let text = read_text_file(path)
        .map_err(|error| anyhow!("cannot read {name}: {}", os_error_text(&error)))?;
    SavedBaselines::parse(&text)
        .map_err(|_| anyhow!("{name} {NO_BASELINES}; delete it, or name another file"))
}

/// Saves baselines in a file.
pub(super) fn write_baselines(path: &Path, baselines: &SavedBaselines) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(baselines)?;
    text.push(b'\n');
    write_atomically(path, &text).with_context(|| format!("cannot write {}", path_text(path)))
}
