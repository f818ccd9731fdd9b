//! Percona's pt-diskstats, reproduced byte for byte: settings, arithmetic, engine, keys and text.
//!
//! [`PtEngine`] takes samples and appends the lines of the report to a buffer. `cli` parses the options; `run` reads
//! the samples and writes the lines.

mod activity_filter;
mod engine;
mod group_modes;
mod keys;
mod options;
mod per_disk_totals;
mod prompts;
mod rates;
mod reading;
mod settings;
mod text;

pub use engine::PtEngine;
pub use keys::{Key, KeyOutcome};
pub use options::{GroupBy, Options};
pub use prompts::{InvalidAnswer, PAUSED, Prompt};
pub use rates::{DirectionRates, PtDelta, PtRates};
pub use text::format_saved_sample;
