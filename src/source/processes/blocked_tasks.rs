//! Finds the tasks that wait for a device.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::patient_reader::PatientReader;
use super::task_files::{Processes, TICKS_PER_S, is_kernel_thread, list_ids, read_stat};
use super::waits::read_wait;
use crate::attribution::files::{ProcessStat, parse_process_stat};
use crate::attribution::waits::{DeviceRef, waited_disk, worker_device};
use crate::capture::proc_files::parse_blocked;
use crate::counters::{BlockedTask, Device};
use crate::source::small_file::{read_bytes, read_bytes_into, read_line};
use crate::topology::partition_parents;

/// The most threads that are searched for blocked ones.
const MAX_TASKS: usize = 20_000;
/// The blocked tasks that are kept.
const MAX_BLOCKED: usize = 128;

/// The time after which blocked tasks are searched for although nothing is wrong, so that it is seen who waits for a device
/// that does nothing: a file system that is frozen, a server that does not answer.
const SEARCH_INTERVAL: Duration = Duration::from_secs(5);
/// More than a file about a task has.
const STAT_BYTES: usize = 4096;
/// The most tasks for which it is read in one scan what they wait for.
const MAX_WAITS: usize = 32;

/// Finds the blocked tasks below a root.
pub(in crate::source) struct BlockedTaskReader {
    processes: Processes,
    waits: PatientReader,
    /// The time at which blocked tasks are searched for next in any case.
    next_search: Duration,
    /// True if the tasks that were found last are looked at again in the next call, which shows whether they go on
    /// waiting. A search costs as much as there are processes.
    looks_again: bool,
    last: Search,
}

/// What was found at one time.
#[derive(Default)]
struct Search {
    at: Duration,
    tasks: HashMap<TaskKey, Known>,
}

/// A thread and its start time.
type TaskKey = (u32, u64);

/// What is known of a blocked task.
struct Known {
    pid: u32,
    dir: PathBuf,
    /// The time for which it has waited for devices.
    delay_ticks: u64,
    /// That of [`Found`].
    run: Option<String>,
    /// The time at which it was first seen in this wait.
    since: Duration,
    /// `None` if that was not read.
    wait: Option<WaitsFor>,
}

#[derive(Clone)]
struct WaitsFor {
    command: Option<Arc<str>>,
    disk: Option<String>,
}

/// A task that a search has found.
struct Found {
    pid: u32,
    tid: u32,
    dir: PathBuf,
    stat: ProcessStat,
    /// What it has run so far: the same as long as it goes on waiting. `None` if the kernel does not count it.
    run: Option<String>,
}

impl Found {
    fn new(pid: u32, tid: u32, dir: PathBuf) -> Option<Self> {
        let stat = read_stat(&dir)?;
        if !stat.is_blocked {
            return None;
        }
        let run = read_line(&dir.join("schedstat"));
        Some(Self {
            pid,
            tid,
            dir,
            stat,
            run,
        })
    }

    fn key(&self) -> TaskKey {
        (self.tid, self.stat.start_ticks)
    }
}

impl Search {
    /// Returns its tasks that are still blocked.
    fn still_blocked(&self) -> Vec<Found> {
        let mut found = Vec::new();
        for ((tid, start_ticks), known) in &self.tasks {
            if let Some(task) = Found::new(known.pid, *tid, known.dir.clone())
                && task.stat.start_ticks == *start_ticks
            {
                found.push(task);
            }
        }
        found.sort_by_key(|task| (task.pid, task.tid));
        found
    }

    /// Returns what is known of a task since it began to wait; `None` if it waits for something else now.
    fn same_wait(&self, task: &Found) -> Option<&Known> {
        let known = self.tasks.get(&task.key())?;
        (task.run.is_some() && task.run == known.run).then_some(known)
    }

    /// Returns the threads and directories of those of which it is to be read what they wait for.
    fn unread(&self, found: &[Found]) -> Vec<(u32, PathBuf)> {
        let mut unread = Vec::new();
        for task in found {
            match self.same_wait(task) {
                Some(known) if known.wait.is_some() => {}
                _ => unread.push((task.tid, task.dir.clone())),
            }
        }
        unread.truncate(MAX_WAITS);
        unread
    }
}

impl BlockedTaskReader {
    /// A reader of the system below `root`, which waits for a command line for `patience`.
    pub(in crate::source) fn new(root: &Path, is_v1: bool, patience: Duration) -> Self {
        Self {
            processes: Processes {
                proc: root.join("proc"),
                is_v1,
            },
            waits: PatientReader::new(patience),
            next_search: Duration::ZERO,
            looks_again: false,
            last: Default::default(),
        }
    }

    /// Finds the tasks in uninterruptible sleep, of which those in the kernel wait for one of `devices`: every few seconds
    /// while a task goes on waiting, and if it `is_due`. Otherwise `None`.
    pub(in crate::source) fn read(
        &mut self,
        now: Duration,
        is_due: bool,
        devices: &[Device],
    ) -> Option<Vec<BlockedTask>> {
        let is_search = is_due || now >= self.next_search;
        if !is_search && !self.looks_again {
            return None;
        }
        let last = std::mem::take(&mut self.last);
        let found = if is_search {
            self.next_search = now + SEARCH_INTERVAL;
            self.blocked_tasks()
        } else {
            last.still_blocked()
        };
        let mut waits = self.waits.read(last.unread(&found), read_wait);
        let delays = read_line(&self.processes.proc.join("sys/kernel/task_delayacct"));
        let elapsed_ms = now.saturating_sub(last.at).as_millis() as u64;
        let has_delays = delays.as_deref() == Some("1") && elapsed_ms > 0;
        let mut tasks = HashMap::new();
        let mut blocked = Vec::new();
        for task in found {
            let delay_ticks = task.stat.delay_ticks;
            let mut delay_permille = None;
            if has_delays && let Some(before) = last.tasks.get(&task.key()) {
                let waited = delay_ticks.saturating_sub(before.delay_ticks);
                delay_permille = Some((waited * 1000 / TICKS_PER_S * 1000 / elapsed_ms).min(1000));
            }
            let mut since = now;
            let mut wait = None;
            if let Some(before) = last.same_wait(&task) {
                since = before.since;
                wait.clone_from(&before.wait);
            }
            if let Some(read) = waits.remove(&task.tid) {
                wait = Some(WaitsFor {
                    command: read.command,
                    disk: waited_disk(&read.files, |device| disk_name(device, devices)),
                });
            }
            let is_kernel = is_kernel_thread(task.pid, &task.stat);
            let disk = match &wait {
                _ if is_kernel => disk_name(&worker_device(&task.stat.comm), devices),
                Some(wait) => wait.disk.clone(),
                None => None,
            };
            tasks.insert(
                task.key(),
                Known {
                    pid: task.pid,
                    dir: task.dir,
                    delay_ticks,
                    run: task.run,
                    since,
                    wait: wait.clone(),
                },
            );
            blocked.push(BlockedTask {
                pid: task.pid,
                tid: task.tid,
                comm: task.stat.comm,
                command: wait.and_then(|wait| wait.command),
                is_kernel,
                waited_ms: now.saturating_sub(since).as_millis() as u64,
                device: disk,
                cgroup: self.processes.cgroup(task.pid),
                delay_permille,
            });
        }
        self.last = Search { at: now, tasks };
        let is_waiting = blocked.iter().any(BlockedTask::goes_on_waiting);
        self.looks_again = is_waiting || is_search && !blocked.is_empty();
        Some(blocked)
    }

    /// Returns whether the kernel counts a task that waits for I/O now.
    pub(in crate::source) fn is_any_blocked(&self) -> bool {
        let stat = read_bytes(&self.processes.proc.join("stat")).unwrap_or_default();
        parse_blocked(&stat).unwrap_or(0) > 0
    }

    /// Searches the threads of all processes for blocked ones. Most processes have a single thread.
    fn blocked_tasks(&self) -> Vec<Found> {
        let mut blocked = Vec::new();
        let mut count = 0;
        let mut text = Vec::with_capacity(STAT_BYTES);
        for pid in list_ids(&self.processes.proc) {
            let dir = self.processes.dir(pid);
            // It ended if this fails.
            let _ = read_bytes_into(&dir.join("stat"), &mut text);
            let Some(stat) = parse_process_stat(&text) else {
                continue;
            };
            if stat.threads == 1 {
                count += 1;
                if stat.is_blocked {
                    blocked.extend(Found::new(pid, pid, dir));
                }
            } else {
                let tasks = dir.join("task");
                for tid in list_ids(&tasks) {
                    count += 1;
                    blocked.extend(Found::new(pid, tid, tasks.join(tid.to_string())));
                }
            }
            if blocked.len() >= MAX_BLOCKED || count >= MAX_TASKS {
                break;
            }
        }
        blocked.truncate(MAX_BLOCKED);
        blocked
    }
}

/// Returns the kernel's name of the disk that a device is, or is a part of; `None` if it is none of `devices`.
fn disk_name(place: &DeviceRef, devices: &[Device]) -> Option<String> {
    let at = devices.iter().position(|device| match place {
        DeviceRef::Number(number) => *number == (device.major, device.minor),
        DeviceRef::Name(name) => *name == device.name,
    })?;
    let disk = partition_parents(devices)[at].unwrap_or(at);
    Some(devices[disk].name.clone())
}
