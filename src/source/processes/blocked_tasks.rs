//! Finds the tasks that wait for a device.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::command_lines::CommandLines;
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
    commands: CommandLines,
    pressure: Option<Pressure>,
    /// The time at which blocked tasks are searched for next in any case; `None` if only while tasks wait for I/O.
    next_search: Option<Duration>,
    /// The time of the last scan, and what is known of each task that was blocked then, by thread and start time.
    last: (Duration, HashMap<(u32, u64), Known>),
}

/// What is known of a blocked task.
struct Known {
    /// The time for which it has waited for devices.
    delay_ticks: u64,
    command: Option<Arc<str>>,
}

impl BlockedTaskReader {
    /// A reader of the system below `root`. With `is_regular`, it searches every few seconds even if no task waits for
    /// I/O. It waits for command lines for `patience`.
    pub(in crate::source) fn new(
        root: &Path,
        is_v1: bool,
        is_regular: bool,
        patience: Duration,
    ) -> Self {
        let proc = root.join("proc");
        let commands = CommandLines::new(proc.clone(), patience);
        let processes = Processes { proc, is_v1 };
        let next_search = is_regular.then_some(Duration::ZERO);
        Self {
            processes,
            commands,
            pressure: None,
            next_search,
            last: Default::default(),
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
        let (before, known_before) = std::mem::take(&mut self.last);
        let elapsed_ms = now.saturating_sub(before).as_millis() as u64;
        let is_delay_counted = read_line(&self.processes.proc.join("sys/kernel/task_delayacct"))
            .is_some_and(|value| value == "1");
        let found: Vec<(u32, u32, ProcessStat)> = self.blocked_tasks().take(MAX_BLOCKED).collect();
        let is_new =
            |tid: u32, stat: &ProcessStat| !known_before.contains_key(&(tid, stat.start_ticks));
        let new = found.iter().filter(|(_, tid, stat)| is_new(*tid, stat));
        let commands = self.commands.read(new.map(|(pid, ..)| *pid).collect());
        let mut known = HashMap::new();
        let mut blocked = Vec::new();
        for (pid, tid, stat) in found {
            let key = (tid, stat.start_ticks);
            let before = known_before.get(&key);
            let waited = before.filter(|_| is_delay_counted && elapsed_ms > 0);
            let delay_permille = waited.map(|before| {
                let waited = stat.delay_ticks.saturating_sub(before.delay_ticks);
                (waited * 1000 / TICKS_PER_S * 1000 / elapsed_ms).min(1000)
            });
            let command = before
                .and_then(|before| before.command.as_ref())
                .or(commands.get(&pid))
                .cloned();
            blocked.push(BlockedTask {
                pid,
                tid,
                comm: stat.comm,
                command: command.clone(),
                cgroup: self.processes.cgroup(pid),
                delay_permille,
            });
            let delay_ticks = stat.delay_ticks;
            known.insert(
                key,
                Known {
                    delay_ticks,
                    command,
                },
            );
        }
        self.last = (now, known);
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
