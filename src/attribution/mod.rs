//! Attribution: which cgroup or process does the I/O, and which limit it has reached. Pure: `source` reads the files.
//!
//! [`files`] parses the files of cgroups and processes.

pub mod files;
