//! Reads the I/O of processes, and finds the tasks that wait for a device.
//!
//! Apart from command lines, only files of a process are read that take no locks of its memory: a reader may have to wait
//! for those as long as a task hangs.

mod blocked_tasks;
mod patient_reader;
mod process_io;
mod task_files;
#[cfg(test)]
mod tests;
mod waits;

pub(super) use self::blocked_tasks::BlockedTaskReader;
pub(super) use self::patient_reader::FILE_PATIENCE;
pub(super) use self::process_io::ProcessIoReader;
pub use self::task_files::list_ids;
