//! Output formats: each turns finished numbers into text. No files, no clock, no arguments.

pub mod analysis;
pub mod devices;
pub(crate) mod evidence;
pub(crate) mod fields;
pub mod html;
pub mod json_csv;
pub(crate) mod layout;
pub mod manual;
pub mod native;
pub mod prometheus;
pub(crate) mod scale;
pub mod who;
