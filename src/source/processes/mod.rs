//! Reads the I/O of processes, and finds the tasks that wait for a device.
//!
//! Only `io`, `stat` and `cgroup` of a process are read: `cmdline`, `exe` and `maps` take locks of its memory, for
//! which a reader may have to wait as long as a task hangs.

mod blocked_tasks;
mod process_io;
mod task_files;
#[cfg(test)]
mod tests;

pub(super) use self::blocked_tasks::BlockedTaskReader;
pub(super) use self::process_io::ProcessIoReader;
pub use self::task_files::list_ids;
