//! Percona's pt-diskstats, reproduced byte for byte: settings, arithmetic, engine, keys and text.
//!
//! The engine takes samples and appends the lines of the report to a buffer. [`parse`] reads the options; [`run()`]
//! takes the samples and writes the lines.

mod activity_filter;
mod arguments;
mod engine;
mod group_modes;
mod keyboard;
mod keys;
mod options;
mod per_disk_totals;
mod prompts;
mod rates;
mod reading;
mod run;
mod settings;
mod text;

pub use arguments::parse;
pub use options::Options;
pub use rates::{DirectionRates, PtDelta, PtRates};
pub use run::run;
