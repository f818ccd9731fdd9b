//! Reports as bytes: a folder for each kind. No files, no clock, no arguments.

pub mod analysis;
pub mod devices;
pub(crate) mod evidence;
mod format;
pub mod json_csv;
pub(crate) mod layout;
pub mod native;

pub use format::{Format, IntervalWriter};
