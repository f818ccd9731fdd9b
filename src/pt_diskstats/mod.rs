//! Percona's pt-diskstats, reproduced byte for byte: settings, arithmetic, engine, keys and text.
//!
//! The engine takes samples and appends the lines of the report to a buffer. [`parse`] reads the options; [`run()`]
//! takes the samples and writes the lines.

mod engine;
mod options;
mod rates;
mod run;
mod text;

pub use options::{Options, parse};
pub use rates::PtRates;
pub use run::run;
