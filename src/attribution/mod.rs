//! Attribution: which cgroup or process does the I/O, and which limit it has reached. Pure: `source` reads the files.
//!
//! [`files`] parses the files of cgroups and processes; `cgroup_name` finds the name by which people know a cgroup.
//! An [`Attributor`] turns successive scans into an [`Attribution`]: the rates of each cgroup on each device and their
//! shares, and the limits that have been reached.

mod attributor;
mod cgroup_name;
pub mod files;
mod limits;

pub use self::attributor::{
    Attribution, Attributor, CgroupUse, DeviceUse, IoRates, contains as is_in_cgroup,
};
pub use self::cgroup_name::cgroup_name;
pub use self::limits::{LimitKind, LimitUse, ReachedLimit};
