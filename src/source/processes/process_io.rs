//! Reads the bytes of processes.
//!
//! When a process waits for a child that has ended, the kernel adds all bytes that the child ever read and wrote to those
//! of the process. What the child had when it was last seen was done before: it is taken off again. The rest, done since
//! then by children that nobody sees any more, is told apart from what the process did by the counters of its threads,
//! which don't include it. They cost a file per thread, so they are read only of processes with children that have ended.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::patient_reader::{PatientReader, read_command};
use super::task_files::{Processes, TICKS_PER_S, is_kernel_thread, list_ids, read_stat};
use crate::attribution::files::{ProcessStat, parse_process_io};
use crate::counters::{BusyProcess, ProcessIo};
use crate::source::small_file::{read_bytes_into, read_line};

/// The time between two readings of the I/O of all processes.
const PROCESSES_PERIOD: Duration = Duration::from_secs(5);
/// The same in bad seconds: one, less what a scan may begin earlier than the one before.
const BAD_PERIOD: Duration = Duration::from_millis(750);
/// The time after which a reading is too old to be compared with the next one: nobody has asked for processes meanwhile.
const MAX_PAUSE: Duration = Duration::from_secs(12);
/// The most processes whose I/O is read.
const MAX_PROCESSES: usize = 20_000;
/// The busiest processes that are kept.
const MAX_BUSIEST: usize = 32;
/// The most ancestors of an ended process that are searched for one that still runs.
const MAX_ANCESTORS: usize = 20;

/// Bytes read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bytes {
    read: u64,
    written: u64,
}

impl Bytes {
    fn parse(text: &[u8]) -> Option<Self> {
        let (read, written) = parse_process_io(text)?;
        Some(Self { read, written })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            read: self.read.saturating_add(other.read),
            written: self.written.saturating_add(other.written),
        }
    }

    /// Returns the difference, with zero for negative values.
    fn minus(self, other: Self) -> Self {
        Self {
            read: self.read.saturating_sub(other.read),
            written: self.written.saturating_sub(other.written),
        }
    }
}

/// Reads the I/O of the processes below a root.
pub(in crate::source) struct ProcessIoReader {
    processes: Processes,
    commands: PatientReader,
    look: Option<Look>,
    /// There was a reading, for which it takes two looks.
    has_found: bool,
    /// The process that is being read, for another thread.
    pub(in crate::source) current: Arc<AtomicU32>,
    text: Vec<u8>,
}

/// The bytes of all processes at one time.
struct Look {
    at: Duration,
    /// The time since boot, in ticks; a process that started later is new.
    uptime_ticks: u64,
    /// Those whose bytes can be read.
    processes: HashMap<u32, Counted>,
}

/// The bytes of a process since it started.
struct Counted {
    /// Those of its threads, of threads that have ended, and of children that it has waited for.
    bytes: Bytes,
    /// `None` without bytes.
    task: Option<Task>,
}

impl Counted {
    fn start_ticks(&self) -> Option<u64> {
        Some(self.task.as_ref()?.stat.start_ticks)
    }
}

/// What is read of a process when its bytes have changed.
struct Task {
    stat: ProcessStat,
    /// The bytes of each thread, without children; empty if no child has ended.
    threads: Vec<(u32, Bytes)>,
}

impl ProcessIoReader {
    /// A reader of the system below `root`, which waits for a command line for `patience`.
    pub(in crate::source) fn new(root: &Path, is_v1: bool, patience: Duration) -> Self {
        Self {
            processes: Processes {
                proc: root.join("proc"),
                is_v1,
            },
            commands: PatientReader::new(patience),
            look: None,
            has_found: false,
            current: Arc::default(),
            text: Vec::new(),
        }
    }

    /// Reads the I/O of processes if it is due: after [`PROCESSES_PERIOD`], in bad seconds in each. `None` if it is not, and in
    /// the first call.
    pub(in crate::source) fn read(
        &mut self,
        now: Duration,
        is_bad_second: bool,
    ) -> Option<Arc<ProcessIo>> {
        if let Some(look) = &self.look
            && now.saturating_sub(look.at) > MAX_PAUSE
        {
            self.look = None;
            self.has_found = false;
        }
        let period = if !self.has_found {
            // The second look follows at once, so that a short run has processes, too.
            Duration::ZERO
        } else if is_bad_second {
            BAD_PERIOD
        } else {
            PROCESSES_PERIOD
        };
        match &self.look {
            Some(look) if now < look.at + period => None,
            _ => self.look_at_all(now),
        }
    }

    fn look_at_all(&mut self, now: Duration) -> Option<Arc<ProcessIo>> {
        let mut older = self.look.take();
        let mut found = ProcessIo::default();
        let newer = self.read_all(now, older.as_mut(), &mut found);
        let newer = self.look.insert(newer);
        let older = older?;
        found.elapsed = now.saturating_sub(older.at);
        found.busiest = busiest(&older, newer);
        // A process may change its command line at any time, to say what it does.
        let mut dirs = Vec::new();
        for process in &found.busiest {
            dirs.push((process.pid, self.processes.dir(process.pid)));
        }
        let commands = self.commands.read(dirs, read_command);
        for process in &mut found.busiest {
            process.command = commands.get(&process.pid).cloned().flatten();
            process.cgroup = self.processes.cgroup(process.pid);
        }
        self.has_found = true;
        Some(Arc::new(found))
    }

    /// Reads the bytes of every process, and notes in `found` which are missing.
    fn read_all(
        &mut self,
        now: Duration,
        mut older: Option<&mut Look>,
        found: &mut ProcessIo,
    ) -> Look {
        let mut pids = list_ids(&self.processes.proc);
        found.is_partial = pids.len() > MAX_PROCESSES;
        pids.truncate(MAX_PROCESSES);
        let mut newer = Look {
            at: now,
            uptime_ticks: self.uptime_ticks(),
            processes: HashMap::with_capacity(pids.len()),
        };
        for pid in &pids {
            self.current.store(*pid, Ordering::Relaxed);
            let dir = self.processes.dir(*pid);
            match read_bytes_into(&dir.join("io"), &mut self.text) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    found.hidden += 1;
                    continue;
                }
                // It ended.
                Err(_) => continue,
            }
            let Some(bytes) = Bytes::parse(&self.text) else {
                continue;
            };
            let mut task = None;
            if let Some(older) = &mut older
                && let Some(before) = older.processes.get_mut(pid)
                && before.bytes == bytes
            {
                task = before.task.take();
            }
            // A process whose parent has ended has another one.
            if let Some(known) = &task
                && known.stat.parent != 0
                && pids.binary_search(&known.stat.parent).is_err()
            {
                task = None;
            }
            if task.is_none() && bytes != Bytes::default() {
                task = self.read_task(*pid, &dir);
            }
            newer.processes.insert(*pid, Counted { bytes, task });
        }
        newer
    }

    fn read_task(&mut self, pid: u32, dir: &Path) -> Option<Task> {
        let stat = read_stat(dir)?;
        let mut threads = Vec::new();
        if stat.faults_of_ended > 0 {
            let dir = dir.join("task");
            let ids = if stat.threads == 1 {
                vec![pid]
            } else {
                list_ids(&dir)
            };
            for tid in ids {
                let path = dir.join(tid.to_string()).join("io");
                if read_bytes_into(&path, &mut self.text).is_ok()
                    && let Some(bytes) = Bytes::parse(&self.text)
                {
                    threads.push((tid, bytes));
                }
            }
        }
        Some(Task { stat, threads })
    }

    /// Returns the time since boot in ticks; if it is not known, a time later than the start of any process.
    fn uptime_ticks(&self) -> u64 {
        let line = read_line(&self.processes.proc.join("uptime")).unwrap_or_default();
        let (seconds, _) = line.split_once(' ').unwrap_or((&line, ""));
        match seconds.parse::<f64>() {
            Ok(seconds) => (seconds * TICKS_PER_S as f64) as u64,
            Err(_) => u64::MAX,
        }
    }
}

/// Returns the processes with the most bytes between two readings, without their cgroups and command lines.
fn busiest(older: &Look, newer: &Look) -> Vec<BusyProcess> {
    let inherited = inherited_bytes(older, newer);
    let mut processes = Vec::new();
    for (pid, now) in &newer.processes {
        let Some(task) = &now.task else {
            continue;
        };
        // The number of a process that has ended may belong to another one now. The counters of an old process that was
        // not seen before cover an unknown time.
        let is_new = task.stat.start_ticks >= older.uptime_ticks;
        let before = match older.processes.get(pid) {
            Some(before) if before.bytes == now.bytes => continue,
            _ if is_new => &Counted {
                bytes: Bytes::default(),
                task: None,
            },
            Some(before) => before,
            None => continue,
        };
        let all = now.bytes.minus(before.bytes);
        let own = own_bytes(before, task, all);
        let of_children = all
            .minus(own)
            .minus(inherited.get(pid).copied().unwrap_or_default());
        for (bytes, is_of_ended_children) in [(own, false), (of_children, true)] {
            if bytes != Bytes::default() {
                processes.push(BusyProcess {
                    pid: *pid,
                    comm: task.stat.comm.clone(),
                    cgroup: None,
                    command: None,
                    is_kernel: is_kernel_thread(*pid, &task.stat),
                    is_of_ended_children,
                    read_bytes: bytes.read,
                    write_bytes: bytes.written,
                });
            }
        }
    }
    processes.sort_by_key(|process| {
        let total = process.read_bytes.saturating_add(process.write_bytes);
        (Reverse(total), process.pid, process.is_of_ended_children)
    });
    processes.truncate(MAX_BUSIEST);
    processes
}

/// Returns which of `all` bytes that a process got since `before` its own threads read or wrote.
fn own_bytes(before: &Counted, task: &Task, all: Bytes) -> Bytes {
    let (faults_before, threads_before) = match &before.task {
        Some(task) => (task.stat.faults_of_ended, task.threads.as_slice()),
        None => (0, &[][..]),
    };
    if task.stat.faults_of_ended == faults_before {
        return all;
    }
    let mut now = Bytes::default();
    // Before its first child ended, all bytes were its own.
    let mut then = if threads_before.is_empty() {
        before.bytes
    } else {
        Bytes::default()
    };
    for (tid, bytes) in &task.threads {
        now = now.plus(*bytes);
        if let Some((_, before)) = threads_before
            .iter()
            .find(|(known_tid, _)| known_tid == tid)
        {
            then = then.plus(*before);
        }
    }
    let own = now.minus(then);
    Bytes {
        read: own.read.min(all.read),
        written: own.written.min(all.written),
    }
}

/// Returns the bytes that processes got from children because these ended, although they were done before: by parent.
fn inherited_bytes(older: &Look, newer: &Look) -> HashMap<u32, Bytes> {
    let mut inherited: HashMap<u32, Bytes> = HashMap::new();
    for (pid, ended) in &older.processes {
        if ended.bytes == Bytes::default() {
            continue;
        }
        // What was read of a process whose bytes have not changed is in the newer reading.
        if let Some(now) = newer.processes.get(pid)
            && (now.bytes == ended.bytes || now.start_ticks() == ended.start_ticks())
        {
            continue;
        }
        // A parent that has ended as well has passed it on.
        let mut child = ended;
        for _ in 0..MAX_ANCESTORS {
            let Some(task) = &child.task else {
                break;
            };
            let parent = task.stat.parent;
            if newer.processes.contains_key(&parent) {
                let sum = inherited.entry(parent).or_default();
                *sum = sum.plus(ended.bytes);
                break;
            }
            let Some(next) = older.processes.get(&parent) else {
                break;
            };
            child = next;
        }
    }
    inherited
}
