//! Reads the baselines that the user names, or that are saved for the host.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::saved::{DeviceMatching, SavedBaselines};
use super::store::{BaselineStore, SavedFile, excerpt};
use crate::baselines::DeviceBaseline;
use crate::clock::Clock;
use crate::judge::{BaselineSource, Settings};
use crate::os_error::os_error_text;
use crate::sanitize::path_text;
use crate::source::{FirstFile, read_first_file, read_json_object};

/// The longest wait for a saved baseline of the host: it may be on the disk that hangs.
const MAX_WAIT: Duration = Duration::from_millis(200);

/// The source of unloaded latencies. If it has none for a device, they are learned from the intervals.
#[derive(Clone, Copy, Debug)]
pub enum BaselineOption<'a> {
    /// Those that a recording holds; for the running system, those in the first of these files that exists and is
    /// readable. They are matched by identity only.
    Saved(&'a [PathBuf]),
    /// Only those learned from the intervals themselves.
    Learned,
    /// A saved baseline.
    File(&'a Path),
    /// Stated by the user, in milliseconds.
    Stated(&'a DeviceBaseline),
}

/// Reads the baselines that the option names: a saved file, or those saved for the host. A problem with the latter is
/// not an error; it is in [`BaselineStore::problem`].
///
/// # Errors
/// When a file that the user named cannot be read, or is not a saved baseline.
pub fn load_baselines(
    common: Settings,
    option: BaselineOption<'_>,
    clock: &dyn Clock,
) -> Result<BaselineStore> {
    let mut store = BaselineStore {
        common,
        ..BaselineStore::default()
    };
    match option {
        BaselineOption::Learned => {}
        BaselineOption::Stated(baseline) => store.common.baseline = Some(baseline.clone()),
        BaselineOption::File(path) => {
            let name = path_text(path);
            let Some(text) = read_json_object(path, clock)? else {
                bail!(
                    "{name} is not a saved baseline; 'blkstat analyze --save-baseline FILE CAPTURE' saves that of a capture"
                );
            };
            let baselines =
                parse(&text).with_context(|| format!("{name} is not a saved baseline"))?;
            store.file = SavedFile {
                name,
                baselines,
                matching: DeviceMatching::IdentityOrName,
                source: BaselineSource::Given,
            };
        }
        BaselineOption::Saved(paths) => {
            store.uses_recorded = true;
            match read_saved(paths) {
                Ok(file) => store.file = file.unwrap_or_default(),
                Err(problem) => store.problem = Some(problem),
            }
        }
    }
    Ok(store)
}

/// Reads the first of the files in which baselines of the host are saved; `None` if there is none.
///
/// # Errors
/// The reason why it is ignored.
fn read_saved(paths: &[PathBuf]) -> Result<Option<SavedFile>, String> {
    match read_first_file(paths, MAX_WAIT) {
        FirstFile::Missing => Ok(None),
        FirstFile::TimedOut => {
            let names: Vec<String> = paths.iter().map(|path| path_text(path)).collect();
            let wait = MAX_WAIT.as_millis();
            Err(format!(
                "saved baselines ignored: {} not read within {wait} ms",
                names.join(" or ")
            ))
        }
        FirstFile::Found(path, text) => {
            let ignored = |reason: String| {
                format!(
                    "{}: {}; saved baselines ignored",
                    path_text(&path),
                    excerpt(&reason)
                )
            };
            let text = text.map_err(|error| ignored(os_error_text(&error)))?;
            let baselines =
                parse(&text).map_err(|error| ignored(format!("not a saved baseline: {error}")))?;
            Ok(Some(SavedFile {
                name: path_text(&path),
                baselines,
                matching: DeviceMatching::Identity,
                source: BaselineSource::Saved,
            }))
        }
    }
}

fn parse(text: &str) -> serde_json::Result<SavedBaselines> {
    let mut baselines: SavedBaselines = serde_json::from_str(text)?;
    baselines.retain_possible();
    Ok(baselines)
}
