//! Reads the I/O of processes, and finds the tasks that wait for a device.
//!
//! Only `io`, `stat` and `cgroup` of a process are read: `cmdline`, `exe` and `maps` take locks of its memory, for
//! which a reader may have to wait as long as a task hangs.

mod blocked;
mod io;
#[cfg(test)]
mod tests;

use std::fs::read_dir;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) use self::blocked::BlockedTaskReader;
pub(super) use self::io::ProcessIoReader;
use super::small_file::read_bytes;
use crate::attribution::files::{ProcessStat, parse_process_cgroup, parse_process_stat};

/// Clock ticks per second in files below /proc (`USER_HZ`), on every architecture except alpha and ia64.
const TICKS_PER_S: u64 = 100;

struct Processes {
    /// The directory with an entry for each process.
    proc: PathBuf,
    /// True if their cgroups are in a hierarchy of version 1.
    is_v1: bool,
}

impl Processes {
    fn dir(&self, pid: u32) -> PathBuf {
        self.proc.join(pid.to_string())
    }

    fn cgroup(&self, pid: u32) -> Option<Arc<str>> {
        let text = read_bytes(&self.dir(pid).join("cgroup"))?;
        parse_process_cgroup(&text, self.is_v1).map(Arc::from)
    }
}

/// Lists the numbers of the processes, or threads, in a directory, in order.
pub(super) fn list_ids(dir: &Path) -> Vec<u32> {
    let entries = read_dir(dir).into_iter().flatten().flatten();
    let mut ids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable();
    ids
}

fn read_stat(dir: &Path) -> Option<ProcessStat> {
    parse_process_stat(&read_bytes(&dir.join("stat"))?)
}
