//! The options that select a range of time of a capture, shared by all views of captures.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::time_range::{TimePoint, TimeRange};

#[derive(Args)]
pub(super) struct RangeArguments {
    /// Show a capture from T on: 16:04, 2026-11-20T16:04, -10m (from its end) or +5m (from its start)
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    begin: Option<TimePoint>,
    /// Show a capture up to T, as for --begin
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    end: Option<TimePoint>,
}

/// Splits the operand of a comparison into a file and a range of time: `FILE` or `FILE@BEGIN..END`, where each end may
/// be missing. `None` without a range, for example for a file whose name contains an @.
///
/// # Errors
/// A message if an end of the range is not a time.
pub(super) fn file_with_range(
    word: &str,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Option<(PathBuf, TimeRange)>, String> {
    let parts = word.rsplit_once('@').and_then(|(file, range)| Some((file, range.split_once("..")?)));
    let Some((file, (begin, end))) = parts.filter(|_| !Path::new(word).exists()) else { return Ok(None) };
    let point = |text: &str| match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|error| format!("invalid time '{text}' in '{word}': {error}")),
    };
    let range = TimeRange { begin: point(begin)?, end: point(end)?, time_zone: environment("TZ") };
    if range.is_everything() {
        return Err(format!("no time in '{word}'; expected FILE@BEGIN..END"));
    }
    Ok(Some((PathBuf::from(file), range)))
}

impl RangeArguments {
    /// Returns the range of a replay, or of the running system.
    ///
    /// # Errors
    /// A message if a range of the running system is requested.
    pub(super) fn range(
        self,
        is_replay: bool,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<TimeRange, String> {
        let range = TimeRange { begin: self.begin, end: self.end, time_zone: environment("TZ") };
        let option = range.points().map(|(option, _)| option).next();
        match option.filter(|_| !is_replay) {
            Some(option) => {
                Err(format!("{option} needs a capture, such as --from FILE: the running system has no past"))
            }
            None => Ok(range),
        }
    }
}
