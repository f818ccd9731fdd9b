//! Finished numbers into bytes: a dialect is a folder or file in here. No files, no clock, no arguments.

pub mod analysis;
pub mod devices;
pub(crate) mod evidence;
pub mod json_csv;
pub(crate) mod layout;
pub mod native;
