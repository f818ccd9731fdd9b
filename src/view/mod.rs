//! Interactive screens: state and keys are pure, the terminal is in one file.

pub mod pt_diskstats;
