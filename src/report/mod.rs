//! Output formats: each turns finished numbers into text. No files, no clock, no arguments.

pub mod analysis;
pub mod devices;
pub(crate) mod evidence;
pub mod json_csv;
pub(crate) mod layout;
pub mod native;
