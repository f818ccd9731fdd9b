//! Finished numbers into bytes: a dialect is a folder or file in here. No files, no clock, no arguments.

pub mod iostat;
