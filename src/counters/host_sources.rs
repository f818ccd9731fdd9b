//! The sources of a host that blkstat reads, and whether it may read them.

use super::CgroupHierarchy;

/// The contents of a source, or the operating system's error message if it cannot be read.
pub type Access<T> = Result<T, String>;

/// The sources of a host, as far as this process can read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSources {
    /// The release of the kernel; `None` if it is not known.
    pub kernel: Option<String>,
    /// The number of CPUs, including those that are offline; `None` if it is not known.
    pub cpus: Option<usize>,
    /// `/proc/diskstats`.
    pub diskstats: Access<DiskstatsSource>,
    /// The number of devices in `/sys/block`.
    pub block_devices: Access<usize>,
    /// `/proc/pressure/io`.
    pub io_pressure: Access<()>,
    /// `/proc/pressure/memory`.
    pub memory_pressure: Access<()>,
    /// The cgroups; `None` if no hierarchy that counts I/O is mounted.
    pub cgroups: Option<CgroupSource>,
    /// `/proc/PID/io` of all processes.
    pub process_io: Access<ProcessIoSource>,
    /// True if `kernel.task_delayacct` is on, so that the kernel counts how long each task waits for devices. `None` if
    /// it is not known.
    pub has_task_delays: Option<bool>,
    /// The trace events of block devices in tracefs.
    pub block_events: Access<()>,
    pub privileges: Privileges,
}

/// The lines of `/proc/diskstats`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskstatsSource {
    pub devices: usize,
    /// The numbers of columns that lines have, with device number and name, in ascending order.
    pub columns: Vec<usize>,
}

/// A mounted hierarchy of cgroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CgroupSource {
    pub version: CgroupHierarchy,
    pub mountpoint: String,
    /// The controllers of the hierarchy in version 2, and of all hierarchies in version 1.
    pub controllers: Access<Vec<String>>,
    /// The file with the I/O of the cgroup at the mount point.
    pub io: Access<()>,
}

/// The processes whose I/O is counted in `/proc/PID/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessIoSource {
    /// The number of processes whose file can be read.
    pub readable: usize,
    /// The number of processes whose file cannot be read.
    pub refused: usize,
}

/// The privileges of a process beyond reading files that are open to all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Privileges {
    /// The effective user.
    pub uid: u32,
    /// The effective capabilities among those that give blkstat more to read or lock.
    pub capabilities: Vec<&'static str>,
    /// The bytes of memory that it may lock without `CAP_IPC_LOCK`; `None` for no limit.
    pub memory_lock_bytes: Option<u64>,
}
