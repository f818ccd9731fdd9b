//! Reads the I/O of processes, and finds the tasks that wait for a device.
//!
//! Only `io`, `stat` and `cgroup` of a process are read: `cmdline`, `exe` and `maps` take locks of its memory, for which a
//! reader may wait as long as a task that hangs.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::read_dir;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::small_file::{read_bytes, read_bytes_into, read_line};
use crate::attribution::files::{
    ProcessStat, TaskState, parse_process_cgroup, parse_process_io, parse_process_stat,
};
use crate::capture::proc_files::{parse_blocked, parse_pressure};
use crate::counters::{BlockedTask, BusyProcess, Pressure, ProcessIo};

/// The time between two looks at the I/O of all processes.
const PROCESSES_PERIOD: Duration = Duration::from_secs(5);
/// The most processes whose I/O is read.
const MAX_PROCESSES: usize = 20_000;
/// The most threads that are searched for blocked ones.
const MAX_TASKS: usize = 20_000;
/// The busiest processes that are kept.
const MAX_BUSIEST: usize = 32;
/// The blocked tasks that are kept.
const MAX_BLOCKED: usize = 128;
/// Clock ticks per second in files below /proc (`USER_HZ`), on every architecture but alpha and ia64.
const TICKS_PER_S: u64 = 100;

/// Reads the processes of the system below a root.
pub(super) struct ProcessReader {
    proc: PathBuf,
    /// Processes are in a hierarchy of version 1.
    is_v1: bool,
    look: Option<Look>,
    processes: Option<Arc<ProcessIo>>,
    pressure: Option<Pressure>,
    /// The waiting time of each blocked task of the last scan, in ticks, by thread and start, and the time of that scan.
    delays: (Duration, HashMap<(u32, u64), u64>),
    text: Vec<u8>,
}

/// The bytes of all processes at one time.
struct Look {
    at: Duration,
    /// The time since boot, in ticks; a process that started later is new.
    uptime_ticks: u64,
    bytes: HashMap<u32, (u64, u64)>,
}

impl ProcessReader {
    pub(super) fn new(root: &Path, is_v1: bool) -> Self {
        Self {
            proc: root.join("proc"),
            is_v1,
            look: None,
            processes: None,
            pressure: None,
            delays: Default::default(),
            text: Vec::new(),
        }
    }

    /// Returns the I/O of processes, which is read again after [`PROCESSES_PERIOD`]; `None` in the first call.
    pub(super) fn read_io(&mut self, now: Duration) -> Option<Arc<ProcessIo>> {
        // The second look comes at once, so that a short run has processes too.
        let period = if self.processes.is_none() { Duration::ZERO } else { PROCESSES_PERIOD };
        if self.look.as_ref().is_none_or(|look| now >= look.at + period) {
            self.look_at_all(now);
        }
        self.processes.clone()
    }

    fn look_at_all(&mut self, now: Duration) {
        let older = self.look.take();
        let (newer, mut found) = self.read_bytes_of_all(now);
        if let Some(older) = older {
            found.elapsed = now.saturating_sub(older.at);
            found.busiest = self.busiest(&older, &newer);
            self.processes = Some(Arc::new(found));
        }
        self.look = Some(newer);
    }

    /// Reads the bytes of every process. What is found of them is still without the processes themselves.
    fn read_bytes_of_all(&mut self, now: Duration) -> (Look, ProcessIo) {
        let pids = list_ids(&self.proc);
        let mut found = ProcessIo { is_partial: pids.len() > MAX_PROCESSES, ..ProcessIo::default() };
        let uptime_ticks = self.uptime_ticks();
        let mut bytes = HashMap::with_capacity(pids.len());
        for pid in pids.into_iter().take(MAX_PROCESSES) {
            match read_bytes_into(&self.dir(pid).join("io"), &mut self.text) {
                Ok(()) => bytes.extend(parse_process_io(&self.text).map(|both| (pid, both))),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => found.hidden += 1,
                // It ended.
                Err(_) => {}
            }
        }
        (Look { at: now, uptime_ticks, bytes }, found)
    }

    /// Returns the processes with the most bytes between two looks.
    fn busiest(&self, older: &Look, newer: &Look) -> Vec<BusyProcess> {
        let changed = newer.bytes.iter().filter(|(pid, bytes)| older.bytes.get(*pid) != Some(*bytes));
        let since = |(pid, now): (&u32, &(u64, u64))| {
            let stat = read_stat(&self.dir(*pid))?;
            // The number of a process that ended may belong to another one now. One that is old and was not seen before
            // has counters from an unknown time.
            let is_new = stat.start_ticks >= older.uptime_ticks;
            let before = if is_new { (0, 0) } else { *older.bytes.get(pid)? };
            Some(BusyProcess {
                pid: *pid,
                comm: stat.comm,
                cgroup: None,
                read_bytes: now.0.saturating_sub(before.0),
                write_bytes: now.1.saturating_sub(before.1),
            })
        };
        let total = |process: &BusyProcess| process.read_bytes.saturating_add(process.write_bytes);
        let mut busiest: Vec<BusyProcess> =
            changed.filter_map(since).filter(|process| total(process) > 0).collect();
        busiest.sort_by_key(|process| (Reverse(total(process)), process.pid));
        busiest.truncate(MAX_BUSIEST);
        for process in &mut busiest {
            process.cgroup = self.cgroup(process.pid);
        }
        busiest
    }

    /// Returns the time since boot in ticks; later than any process started where it is not known.
    fn uptime_ticks(&self) -> u64 {
        let line = read_line(&self.proc.join("uptime"));
        let seconds = line.and_then(|line| line.split(' ').next()?.parse::<f64>().ok());
        seconds.map_or(u64::MAX, |seconds| (seconds * TICKS_PER_S as f64) as u64)
    }

    /// Finds the tasks in uninterruptible sleep, if any task has waited for I/O since the last call; otherwise `None`.
    pub(super) fn read_blocked(&mut self, now: Duration) -> Option<Vec<BlockedTask>> {
        let pressure = parse_pressure(&read_bytes(&self.proc.join("pressure/io")).unwrap_or_default());
        let has_waited = pressure != std::mem::replace(&mut self.pressure, pressure);
        let is_blocked = || {
            let stat = read_bytes(&self.proc.join("stat")).unwrap_or_default();
            parse_blocked(&stat).is_some_and(|blocked| blocked > 0)
        };
        if !has_waited && !is_blocked() {
            return None;
        }
        let (before, delays_before) = std::mem::take(&mut self.delays);
        let elapsed_ms = now.saturating_sub(before).as_millis() as u64;
        let is_delay_counted =
            read_line(&self.proc.join("sys/kernel/task_delayacct")).is_some_and(|value| value == "1");
        let mut delays = HashMap::new();
        let mut blocked = Vec::new();
        for (pid, tid, stat) in self.blocked_tasks().take(MAX_BLOCKED) {
            let key = (tid, stat.start_ticks);
            delays.insert(key, stat.delay_ticks);
            let waited = delays_before.get(&key).filter(|_| is_delay_counted && elapsed_ms > 0);
            let delay_permille = waited.map(|before| {
                let waited_ms = stat.delay_ticks.saturating_sub(*before) * 1000 / TICKS_PER_S;
                (waited_ms * 1000 / elapsed_ms).min(1000)
            });
            blocked.push(BlockedTask { pid, tid, comm: stat.comm, cgroup: self.cgroup(pid), delay_permille });
        }
        self.delays = (now, delays);
        Some(blocked)
    }

    /// Searches the threads of all processes for blocked ones.
    fn blocked_tasks(&self) -> impl Iterator<Item = (u32, u32, ProcessStat)> {
        let tasks = list_ids(&self.proc).into_iter().flat_map(|pid| self.threads(pid));
        tasks.take(MAX_TASKS).filter(|(_, _, stat)| stat.state == TaskState::Blocked)
    }

    /// Reads the threads of a process: its number and those of the threads. Most processes have a single one, which is the
    /// process itself.
    fn threads(&self, pid: u32) -> Vec<(u32, u32, ProcessStat)> {
        let Some(stat) = read_stat(&self.dir(pid)) else { return Vec::new() };
        if stat.threads == 1 {
            return vec![(pid, pid, stat)];
        }
        let dir = self.dir(pid).join("task");
        let thread = |tid: u32| Some((pid, tid, read_stat(&dir.join(tid.to_string()))?));
        list_ids(&dir).into_iter().filter_map(thread).collect()
    }

    fn dir(&self, pid: u32) -> PathBuf {
        self.proc.join(pid.to_string())
    }

    fn cgroup(&self, pid: u32) -> Option<Arc<str>> {
        let text = read_bytes(&self.dir(pid).join("cgroup"))?;
        parse_process_cgroup(&text, self.is_v1).map(Arc::from)
    }
}

/// Lists the numbers of the processes, or threads, in a directory, in order.
fn list_ids(dir: &Path) -> Vec<u32> {
    let entries = read_dir(dir).into_iter().flatten().flatten();
    let mut ids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable();
    ids
}

fn read_stat(dir: &Path) -> Option<ProcessStat> {
    parse_process_stat(&read_bytes(&dir.join("stat"))?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A directory of processes.
    struct Proc(tempfile::TempDir);

    impl Proc {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.0.path().join("proc").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn uptime(&self, seconds: u64) {
            self.file("uptime", &format!("{seconds}.00 5.00\n"));
        }

        /// Writes a process that started at a time in seconds since boot, with the bytes that it read.
        fn process(&self, pid: u32, comm: &str, start_s: u64, read_bytes: u64) {
            self.file(&format!("{pid}/io"), &format!("read_bytes: {read_bytes}\nwrite_bytes: 0\n"));
            self.file(&format!("{pid}/stat"), &stat(pid, comm, 'S', start_s, 0, 2));
            self.file(&format!("{pid}/cgroup"), &format!("0::/system.slice/{comm}.service\n"));
        }

        fn thread(&self, pid: u32, tid: u32, comm: &str, state: char, delay_ticks: u64) {
            self.file(&format!("{pid}/task/{tid}/stat"), &stat(tid, comm, state, 1, delay_ticks, 2));
        }

        fn reader(&self) -> ProcessReader {
            ProcessReader::new(self.0.path(), false)
        }
    }

    fn stat(id: u32, comm: &str, state: char, start_s: u64, delay_ticks: u64, threads: u64) -> String {
        let start = start_s * TICKS_PER_S;
        let zeros = |count: usize| "0 ".repeat(count);
        format!("{id} ({comm}) {state} {}{threads} 0 {start} {}{delay_ticks} 0 0\n", zeros(16), zeros(19))
    }

    fn busiest(reader: &mut ProcessReader, at_s: u64) -> Option<Vec<(u32, String, u64)>> {
        let processes = reader.read_io(Duration::from_secs(at_s))?;
        Some(processes.busiest.iter().map(|p| (p.pid, p.comm.clone(), p.read_bytes)).collect())
    }

    #[test]
    fn the_busiest_come_first_and_processes_vanish() {
        let proc = Proc::new();
        proc.uptime(100);
        proc.process(7, "db", 1, 1000);
        proc.process(8, "backup", 1, 500);
        proc.process(9, "idle", 1, 99);
        proc.process(10, "short", 1, 5);
        let mut reader = proc.reader();
        assert_eq!(busiest(&mut reader, 0), None);
        proc.uptime(105);
        proc.process(7, "db", 1, 1010);
        proc.process(8, "backup", 1, 900);
        fs::remove_dir_all(proc.0.path().join("proc/10")).unwrap();
        let expected = vec![(8, "backup".to_owned(), 400), (7, "db".to_owned(), 10)];
        assert_eq!(busiest(&mut reader, 1), Some(expected.clone()));
        proc.process(7, "db", 1, 2010);
        assert_eq!(busiest(&mut reader, 5), Some(expected), "not read again");
        assert_eq!(busiest(&mut reader, 6), Some(vec![(7, "db".to_owned(), 1000)]));
        let processes = reader.read_io(Duration::from_secs(7)).unwrap();
        assert_eq!(processes.busiest[0].cgroup.as_deref(), Some("/system.slice/db.service"));
        assert_eq!(processes.elapsed, Duration::from_secs(5));
    }

    #[test]
    fn all_bytes_of_a_new_process_are_new_even_under_a_used_number() {
        let proc = Proc::new();
        proc.uptime(100);
        proc.process(7, "old", 1, 1000);
        let mut reader = proc.reader();
        busiest(&mut reader, 0);
        proc.uptime(105);
        proc.process(7, "new", 103, 1500);
        proc.process(8, "newer", 104, 20);
        // It was hidden before: since when it has read these bytes is not known.
        proc.process(9, "revealed", 2, 1 << 40);
        let expected = vec![(7, "new".to_owned(), 1500), (8, "newer".to_owned(), 20)];
        assert_eq!(busiest(&mut reader, 5), Some(expected));
    }

    #[test]
    fn blocked_tasks_are_searched_for_only_where_tasks_wait() {
        let proc = Proc::new();
        proc.file("stat", "cpu 1 2\nprocs_blocked 0\n");
        proc.process(7, "db", 1, 0);
        proc.thread(7, 7, "db", 'S', 0);
        proc.thread(7, 12, "db) D (writer", 'D', 10);
        let mut reader = proc.reader();
        assert_eq!(reader.read_blocked(Duration::from_secs(1)), None);
        proc.file("stat", "cpu 1 2\nprocs_blocked 1\n");
        let blocked = reader.read_blocked(Duration::from_secs(2)).unwrap();
        let found: Vec<_> = blocked.iter().map(|task| (task.pid, task.tid, task.comm.as_str())).collect();
        assert_eq!(found, [(7, 12, "db) D (writer")]);
        assert_eq!(blocked[0].cgroup.as_deref(), Some("/system.slice/db.service"));
        proc.file("stat", "cpu 1 2\nprocs_blocked 0\n");
        assert_eq!(reader.read_blocked(Duration::from_secs(3)), None);
        proc.file(
            "pressure/io",
            "some avg10=0 avg60=0 avg300=0 total=9\nfull avg10=0 avg60=0 avg300=0 total=3\n",
        );
        assert_eq!(reader.read_blocked(Duration::from_secs(4)).unwrap().len(), 1, "tasks have waited");
        assert_eq!(reader.read_blocked(Duration::from_secs(5)), None);
    }

    #[test]
    fn a_process_of_one_thread_is_its_only_task() {
        let proc = Proc::new();
        proc.file("stat", "cpu 1 2\nprocs_blocked 1\n");
        proc.file("9/stat", &stat(9, "dd", 'D', 1, 0, 1));
        let blocked = proc.reader().read_blocked(Duration::from_secs(1)).unwrap();
        let found: Vec<_> = blocked.iter().map(|task| (task.pid, task.tid, task.comm.as_str())).collect();
        assert_eq!(found, [(9, 9, "dd")]);
    }

    #[test]
    fn the_delay_is_known_if_the_kernel_counts_it() {
        let proc = Proc::new();
        proc.file("stat", "cpu 1 2\nprocs_blocked 1\n");
        let mut reader = proc.reader();
        let mut delay = |at_s, ticks| {
            proc.process(7, "db", 1, 0);
            proc.thread(7, 7, "db", 'D', ticks);
            reader.read_blocked(Duration::from_secs(at_s)).unwrap()[0].delay_permille
        };
        assert_eq!((delay(1, 0), delay(2, 0)), (None, None));
        proc.file("sys/kernel/task_delayacct", "1\n");
        assert_eq!((delay(3, 0), delay(5, 150), delay(6, 260)), (Some(0), Some(750), Some(1000)));
    }
}
