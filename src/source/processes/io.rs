//! Reads the I/O of processes.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::{Processes, TICKS_PER_S, list_ids, read_stat};
use crate::attribution::files::parse_process_io;
use crate::counters::{BusyProcess, ProcessIo};
use crate::source::small_file::{read_bytes_into, read_line};

/// The time between two readings of the I/O of all processes.
const PROCESSES_PERIOD: Duration = Duration::from_secs(5);
/// The most processes whose I/O is read.
const MAX_PROCESSES: usize = 20_000;
/// The busiest processes that are kept.
const MAX_BUSIEST: usize = 32;

/// Reads the I/O of the processes below a root.
pub(in crate::source) struct ProcessIoReader {
    processes: Processes,
    look: Option<Look>,
    found: Option<Arc<ProcessIo>>,
    /// The process that is being read.
    current: Arc<AtomicU32>,
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
    pub(in crate::source) fn new(root: &Path, is_v1: bool) -> Self {
        Self {
            processes: Processes { proc: root.join("proc"), is_v1 },
            look: None,
            found: None,
            current: Arc::default(),
            text: Vec::new(),
        }
    }

    /// Returns the number of the process that is being read, for another thread.
    pub(in crate::source) fn current(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.current)
    }

    /// Returns the I/O of processes, which is read again after [`PROCESSES_PERIOD`]; `None` in the first call.
    pub(in crate::source) fn read(&mut self, now: Duration) -> Option<Arc<ProcessIo>> {
        // The second reading follows at once, so that a short run has processes, too.
        let period = if self.found.is_none() { Duration::ZERO } else { PROCESSES_PERIOD };
        if self.look.as_ref().is_none_or(|look| now >= look.at + period) {
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
        let mut found = ProcessIo { is_partial: pids.len() > MAX_PROCESSES, ..ProcessIo::default() };
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
        (Look { at: now, uptime_ticks, bytes }, found)
    }

    /// Returns the processes with the most bytes between two readings.
    fn busiest(&self, older: &Look, newer: &Look) -> Vec<BusyProcess> {
        let changed = newer.bytes.iter().filter(|(pid, bytes)| older.bytes.get(*pid) != Some(*bytes));
        let since = |(pid, now): (&u32, &(u64, u64))| {
            let stat = read_stat(&self.processes.dir(*pid))?;
            // The number of a process that has ended may belong to another one now. The counters of an old process that
            // was not seen before cover an unknown time.
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
