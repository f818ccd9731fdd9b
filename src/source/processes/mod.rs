//! Reads the I/O of processes, and finds the tasks that wait for a device.
//!
//! Only `io`, `stat` and `cgroup` of a process are read: `cmdline`, `exe` and `maps` take locks of its memory, for
//! which a reader may have to wait as long as a task hangs.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::read_dir;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::small_file::{read_bytes, read_bytes_into, read_line};
use crate::attribution::files::{
    ProcessStat, parse_process_cgroup, parse_process_io, parse_process_stat,
};
use crate::capture::proc_files::{parse_blocked, parse_pressure};
use crate::counters::{BlockedTask, BusyProcess, Pressure, ProcessIo};

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
pub fn list_ids(dir: &Path) -> Vec<u32> {
    let entries = read_dir(dir).into_iter().flatten().flatten();
    let mut ids: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    ids.sort_unstable();
    ids
}

fn read_stat(dir: &Path) -> Option<ProcessStat> {
    parse_process_stat(&read_bytes(&dir.join("stat"))?)
}

/// The time between two readings of the I/O of all processes.
const PROCESSES_PERIOD: Duration = Duration::from_secs(5);
/// The most processes whose I/O is read.
const MAX_PROCESSES: usize = 20_000;
/// The busiest processes that are kept.
const MAX_BUSIEST: usize = 32;

/// Reads the I/O of the processes below a root.
pub(super) struct ProcessIoReader {
    processes: Processes,
    look: Option<Look>,
    found: Option<Arc<ProcessIo>>,
    /// The process that is being read, for another thread.
    pub(super) current: Arc<AtomicU32>,
    text: Vec<u8>,
}

/// The bytes of all processes at one time.
struct Look {
    at: Duration,
    /// The time since boot, in ticks; a process that started later is new.
    uptime_ticks: u64,
    bytes: HashMap<u32, (u64, u64)>,
}

impl ProcessIoReader {
    pub(super) fn new(root: &Path, is_v1: bool) -> Self {
        Self {
            processes: Processes {
                proc: root.join("proc"),
                is_v1,
            },
            look: None,
            found: None,
            current: Arc::default(),
            text: Vec::new(),
        }
    }

    /// Returns the I/O of processes, which is read again after [`PROCESSES_PERIOD`]; `None` in the first call.
    pub(super) fn read(&mut self, now: Duration) -> Option<Arc<ProcessIo>> {
        // The second reading follows at once, so that a short run has processes, too.
        let period = if self.found.is_none() {
            Duration::ZERO
        } else {
            PROCESSES_PERIOD
        };
        if self
            .look
            .as_ref()
            .is_none_or(|look| now >= look.at + period)
        {
            self.look_at_all(now);
        }
        self.found.clone()
    }

    fn look_at_all(&mut self, now: Duration) {
        let older = self.look.take();
        let (newer, mut found) = self.read_bytes_of_all(now);
        if let Some(older) = older {
            found.elapsed = now.saturating_sub(older.at);
            found.busiest = self.busiest(&older, &newer);
            self.found = Some(Arc::new(found));
        }
        self.look = Some(newer);
    }

    /// Reads the bytes of every process. The list of busy processes in the result is still empty.
    fn read_bytes_of_all(&mut self, now: Duration) -> (Look, ProcessIo) {
        let pids = list_ids(&self.processes.proc);
        let mut found = ProcessIo {
            is_partial: pids.len() > MAX_PROCESSES,
            ..ProcessIo::default()
        };
        let uptime_ticks = self.uptime_ticks();
        let mut bytes = HashMap::with_capacity(pids.len());
        for pid in pids.into_iter().take(MAX_PROCESSES) {
            self.current.store(pid, Ordering::Relaxed);
            match read_bytes_into(&self.processes.dir(pid).join("io"), &mut self.text) {
                Ok(()) => bytes.extend(parse_process_io(&self.text).map(|both| (pid, both))),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => found.hidden += 1,
                // It ended.
                Err(_) => {}
            }
        }
        (
            Look {
                at: now,
                uptime_ticks,
                bytes,
            },
            found,
        )
    }

    /// Returns the processes with the most bytes between two readings.
    fn busiest(&self, older: &Look, newer: &Look) -> Vec<BusyProcess> {
        let changed = newer
            .bytes
            .iter()
            .filter(|(pid, bytes)| older.bytes.get(*pid) != Some(*bytes));
        let since = |(pid, now): (&u32, &(u64, u64))| {
            let stat = read_stat(&self.processes.dir(*pid))?;
            // The number of a process that has ended may belong to another one now. The counters of an old process that
            // was not seen before cover an unknown time.
            let is_new = stat.start_ticks >= older.uptime_ticks;
            let before = if is_new {
                (0, 0)
            } else {
                *older.bytes.get(pid)?
            };
            Some(BusyProcess {
                pid: *pid,
                comm: stat.comm,
                cgroup: None,
                read_bytes: now.0.saturating_sub(before.0),
                write_bytes: now.1.saturating_sub(before.1),
            })
        };
        let total = |process: &BusyProcess| process.read_bytes.saturating_add(process.write_bytes);
        let mut busiest: Vec<BusyProcess> = changed
            .filter_map(since)
            .filter(|process| total(process) > 0)
            .collect();
        busiest.sort_by_key(|process| (Reverse(total(process)), process.pid));
        busiest.truncate(MAX_BUSIEST);
        for process in &mut busiest {
            process.cgroup = self.processes.cgroup(process.pid);
        }
        busiest
    }

    /// Returns the time since boot in ticks; if it is not known, a time later than the start of any process.
    fn uptime_ticks(&self) -> u64 {
        let line = read_line(&self.processes.proc.join("uptime"));
        let seconds = line.and_then(|line| line.split(' ').next()?.parse::<f64>().ok());
        seconds.map_or(u64::MAX, |seconds| (seconds * TICKS_PER_S as f64) as u64)
    }
}

/// The most threads that are searched for blocked ones.
const MAX_TASKS: usize = 20_000;
/// The blocked tasks that are kept.
const MAX_BLOCKED: usize = 128;

/// The time after which blocked tasks are searched for although none seems to wait for I/O. The kernel does not count
/// waiting for a file system that is frozen or a server that does not answer as waiting for I/O.
const SEARCH_INTERVAL: Duration = Duration::from_secs(5);

/// Finds the blocked tasks below a root.
pub(super) struct BlockedTaskReader {
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
    pub(super) fn new(root: &Path, is_v1: bool, is_regular: bool) -> Self {
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
    pub(super) fn read(&mut self, now: Duration) -> Option<Vec<BlockedTask>> {
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
