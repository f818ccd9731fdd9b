//! The options that select a range of time of a capture, which every view of captures shares.

use std::ffi::OsString;

use clap::Args;

use crate::time_range::{TimePoint, TimeRange};

/// The options of the range.
#[derive(Args)]
pub(super) struct RangeArguments {
    /// Show a capture from T on: 16:04, 2026-11-20T16:04, -10m (from its end) or +5m (from its start)
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    begin: Option<TimePoint>,
    /// Show a capture up to T, as for --begin
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    end: Option<TimePoint>,
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
