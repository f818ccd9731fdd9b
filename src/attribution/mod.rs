//! Attribution: which cgroup or process does the I/O, and which limit it has reached. Pure: `source` reads the files.
//!
//! [`files`] parses the files of cgroups and processes, [`cgroup_name`] finds the name by which people know a cgroup.

mod cgroup_name;
pub mod files;

pub use self::cgroup_name::cgroup_name;
