//! sysstat's iostat, reproduced byte for byte: device selection, arithmetic, engine and text.
//!
//! The reporter takes pairs of samples and appends reports to a buffer. `parse` reads the options; [`run()`]
//! takes the samples and writes the reports.

mod options;
mod rates;
mod rows;
mod run;
mod selection;
mod text;

pub use options::{Options, parse};
pub use run::run;
