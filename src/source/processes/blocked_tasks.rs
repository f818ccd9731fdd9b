//! Finds the tasks that wait for a device.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use super::task_files::{Processes, TICKS_PER_S, list_ids, read_stat};
use crate::attribution::files::ProcessStat;
use crate::capture::proc_files::{parse_blocked, parse_pressure};
use crate::counters::{BlockedTask, Pressure};
use crate::source::small_file::{read_bytes, read_line};

/// The most threads that are searched for blocked ones.
const MAX_TASKS: usize = 20_000;
/// The blocked tasks that are kept.
const MAX_BLOCKED: usize = 128;

/// The time after which blocked tasks are searched for although none seems to wait for I/O. The kernel does not count
/// waiting for a file system that is frozen or a server that does not answer as waiting for I/O.
const SEARCH_INTERVAL: Duration = Duration::from_secs(5);

/// Finds the blocked tasks below a root.
pub(in crate::source) struct BlockedTaskReader {
    processes: Processes,
    pressure: Option<Pressure>,
    /// The time at which blocked tasks are searched for next in any case; `None` if only while tasks wait for I/O.
    next_search: Option<Duration>,
    /// The time of the last scan, and the waiting time of each task that was blocked then, in ticks, by thread and
    /// start time.
    delays: (Duration, HashMap<(u32, u64), u64>),
}

impl BlockedTaskReader {
    /// A reader of the system below `root`. With `is_regular`, it searches every few seconds even if no task waits for
    /// I/O.
    pub(in crate::source) fn new(root: &Path, is_v1: bool, is_regular: bool) -> Self {
        let processes = Processes {
            proc: root.join("proc"),
            is_v1,
        };
        let next_search = is_regular.then_some(Duration::ZERO);
        Self {
            processes,
            pressure: None,
            next_search,
            delays: Default::default(),
        }
    }

    /// Finds the tasks in uninterruptible sleep, if any task has waited for I/O since the last call or a search is due;
    /// otherwise `None`.
    pub(in crate::source) fn read(&mut self, now: Duration) -> Option<Vec<BlockedTask>> {
        let pressure = parse_pressure(
            &read_bytes(&self.processes.proc.join("pressure/io")).unwrap_or_default(),
        );
        let has_waited = pressure != std::mem::replace(&mut self.pressure, pressure);
        let is_blocked = || {
            let stat = read_bytes(&self.processes.proc.join("stat")).unwrap_or_default();
            parse_blocked(&stat).is_some_and(|blocked| blocked > 0)
        };
        let is_due = self.next_search.is_some_and(|at| now >= at);
        if !is_due && !has_waited && !is_blocked() {
            return None;
        }
        self.next_search = self.next_search.map(|_| now + SEARCH_INTERVAL);
        let (before, delays_before) = std::mem::take(&mut self.delays);
        let elapsed_ms = now.saturating_sub(before).as_millis() as u64;
        let is_delay_counted = read_line(&self.processes.proc.join("sys/kernel/task_delayacct"))
            .is_some_and(|value| value == "1");
        let mut delays = HashMap::new();
        let mut blocked = Vec::new();
        for (pid, tid, stat) in self.blocked_tasks().take(MAX_BLOCKED) {
            let key = (tid, stat.start_ticks);
            delays.insert(key, stat.delay_ticks);
            let waited = delays_before
                .get(&key)
                .filter(|_| is_delay_counted && elapsed_ms > 0);
            let delay_permille = waited.map(|before| {
                let waited_ms = stat.delay_ticks.saturating_sub(*before) * 1000 / TICKS_PER_S;
                (waited_ms * 1000 / elapsed_ms).min(1000)
            });
            blocked.push(BlockedTask {
                pid,
                tid,
                comm: stat.comm,
                cgroup: self.processes.cgroup(pid),
                delay_permille,
            });
        }
        self.delays = (now, delays);
        Some(blocked)
    }

    /// Searches the threads of all processes for blocked ones.
    fn blocked_tasks(&self) -> impl Iterator<Item = (u32, u32, ProcessStat)> {
        let tasks = list_ids(&self.processes.proc)
            .into_iter()
            .flat_map(|pid| self.threads(pid));
        tasks.take(MAX_TASKS).filter(|(_, _, stat)| stat.is_blocked)
    }

    /// Reads the threads of a process: the numbers of the process and of the thread, and its stat file. Most processes
    /// have a single thread.
    fn threads(&self, pid: u32) -> Vec<(u32, u32, ProcessStat)> {
        let Some(stat) = read_stat(&self.processes.dir(pid)) else {
            return Vec::new();
        };
        if stat.threads == 1 {
            return vec![(pid, pid, stat)];
        }
        let dir = self.processes.dir(pid).join("task");
        let thread = |tid: u32| Some((pid, tid, read_stat(&dir.join(tid.to_string()))?));
        list_ids(&dir).into_iter().filter_map(thread).collect()
    }
}
