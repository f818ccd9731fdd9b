//! pt-diskstats as it is used: readings in, lines out, keys that change what is shown. Pure.

mod keys;
mod player;

pub use keys::{Answer, Effect, Key, PAUSED, Prompt, help, invalid_pattern};
pub use player::{PtEngine, Reading};

use regex_lite::Regex;

use crate::report::pt_diskstats::GroupBy;

/// What is shown, and how; keys change it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How readings are put together into lines.
    pub group_by: GroupBy,
    /// Columns to print.
    pub columns: Regex,
    /// Devices to print; `None` for those that were active.
    pub devices: Option<Regex>,
    /// Devices without activity as well.
    pub show_inactive: bool,
    /// Seconds that a line covers at least, by samples.
    pub sample_time: f64,
}
