//! The files of a process or thread that are read again and again.

use std::fs::read_dir;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::attribution::files::{ProcessStat, parse_process_cgroup, parse_process_stat};
use crate::source::small_file::read_bytes;

/// Clock ticks per second in files below /proc (`USER_HZ`), on every architecture except alpha and ia64.
pub(super) const TICKS_PER_S: u64 = 100;

pub(super) struct Processes {
    /// The directory with an entry for each process.
    pub(super) proc: PathBuf,
    /// True if their cgroups are in a hierarchy of version 1.
    pub(super) is_v1: bool,
}

impl Processes {
    pub(super) fn dir(&self, pid: u32) -> PathBuf {
        self.proc.join(pid.to_string())
    }

    pub(super) fn cgroup(&self, pid: u32) -> Option<Arc<str>> {
        let text = read_bytes(&self.dir(pid).join("cgroup"))?;
        parse_process_cgroup(&text, self.is_v1).map(Arc::from)
    }
}

/// Lists the numbers of the processes, or threads, in a directory, in order.
pub fn list_ids(dir: &Path) -> Vec<u32> {
    let mut ids = Vec::new();
    for entry in read_dir(dir).into_iter().flatten().flatten() {
        ids.extend(entry.file_name().to_string_lossy().parse::<u32>());
    }
    ids.sort_unstable();
    ids
}

pub(super) fn read_stat(dir: &Path) -> Option<ProcessStat> {
    parse_process_stat(&read_bytes(&dir.join("stat"))?)
}

/// The process that starts the threads of the kernel.
const KTHREADD: u32 = 2;

pub(super) fn is_kernel_thread(pid: u32, stat: &ProcessStat) -> bool {
    pid == KTHREADD || stat.parent == KTHREADD
}
