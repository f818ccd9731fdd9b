//! Finished numbers into bytes: a dialect is a folder or file in here. No files, no clock, no arguments.

pub mod analysis;
mod cells;
pub mod devices;
mod fixed;
pub mod iostat;
pub mod native;
pub mod pt_diskstats;
mod wrap;
