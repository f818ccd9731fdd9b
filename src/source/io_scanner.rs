//! Scans cgroups and processes in threads of its own, so that sampling never waits for them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, thread};

use super::cgroups::CgroupReader;
use super::processes::{BlockedTaskReader, FILE_PATIENCE, ProcessIoReader};
use super::small_file::read_bytes_into;
use super::trouble::TroubleWatch;
use crate::capture::parse_diskstats;
use crate::clock::{Clock, RealClock, thread_cpu_time};
use crate::counters::{
    CgroupDevice, CgroupHierarchy, Counters, HungRead, IoCounters, IoScan, MissedScan, ProcessIo,
    Sample, ScannedDevice,
};
use crate::topology::whole_devices;
use crate::units::SECTOR_BYTES;

/// The size of the stack of each thread, all of which may be locked in memory.
pub(super) const STACK_BYTES: usize = 256 * 1024;
/// The shortest time by which a scan begins before the sample that uses it.
const MIN_LEAD: Duration = Duration::from_millis(50);
/// The longest.
const MAX_LEAD: Duration = Duration::from_millis(250);

/// The part of a system that is scanned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScanScope {
    #[default]
    Everything,
    /// Cgroups and, in bad seconds, blocked tasks and processes. Blocked tasks are also looked for if any cgroup has a limit.
    Limits,
}

/// Scans the cgroups and processes of a system in the background.
pub struct IoScanner {
    worker: Worker,
}

enum Worker {
    /// Scans at once: a clock that advances only while waiting leaves no time for a thread.
    Immediate(Box<Scan>),
    Thread {
        /// The times at which the next sample is due. The thread ends with this sender.
        due: SyncSender<Duration>,
        latest: Arc<Shared<Latest>>,
    },
}

/// The last finished scan.
#[derive(Clone, Default)]
struct Latest {
    /// `None` before the first.
    scan: Option<Arc<IoScan>>,
    /// Another one was requested since then, and left out.
    is_over_budget: bool,
    /// A sample has it.
    is_taken: bool,
}

/// What a thread has read so far, such as its last finished scan.
#[derive(Default)]
pub(super) struct Shared<T> {
    state: Mutex<T>,
    pub(super) finished: Condvar,
}

impl<T> Shared<T> {
    /// Locks the state. What a thread read before it panicked is still valid.
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while a condition holds, at most for `limit`.
    pub(super) fn wait_while(
        &self,
        limit: Duration,
        is_waiting: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'_, T> {
        let waited = self
            .finished
            .wait_timeout_while(self.lock(), limit, is_waiting);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl IoScanner {
    /// Starts to scan the system below `root`, for samples that `clock` times.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(root: &Path, clock: &dyn Clock, scope: ScanScope) -> io::Result<Self> {
        let cgroups = CgroupReader::new(root);
        let is_v1 = cgroups.version() == Some(CgroupHierarchy::V1);
        let is_manual = clock.is_manual();
        // No time passes on a clock that advances only while waiting.
        let [patience, file_patience] = if is_manual {
            [Duration::MAX; 2]
        } else {
            [PATIENCE, FILE_PATIENCE]
        };
        let scan = Box::new(Scan {
            diskstats: root.join("proc/diskstats"),
            cgroups,
            blocked: BlockedTaskReader::new(root, is_v1, file_patience),
            scope,
            process_reader: Some(ProcessIoReader::new(root, is_v1, file_patience)),
            process_patience: patience,
            processes: None,
            trouble: TroubleWatch::new(root),
            text: Vec::new(),
            sample: Sample::default(),
        });
        if is_manual {
            return Ok(Self {
                worker: Worker::Immediate(scan),
            });
        }
        let (due, requests) = sync_channel(1);
        let latest = Arc::<Shared<Latest>>::default();
        let shared = Arc::clone(&latest);
        let run = move || scan_on_request(*scan, &requests, &shared);
        thread::Builder::new()
            .name("blkstat-scan".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(run)?;
        Ok(Self {
            worker: Worker::Thread { due, latest },
        })
    }

    /// Asks for a scan that finishes when the next sample is due, at this monotonic time. Does nothing while a scan is
    /// still running.
    pub fn request(&self, due: Duration) {
        if let Worker::Thread { due: requests, .. } = &self.worker {
            // If the thread has not taken the last request, it is behind and needs no other.
            let _ = requests.try_send(due);
        }
    }

    /// Waits until the first scan has finished, but not long. With it, the first interval has a scan at each end.
    pub fn wait_for_first(&self) {
        if let Worker::Thread { latest, .. } = &self.worker {
            // Without it, the interval goes without.
            drop(latest.wait_while(MAX_LEAD, |latest| latest.scan.is_none()));
        }
    }

    /// Returns the last finished scan, `None` before the first, and why it is none since the last call; `now` is a monotonic
    /// time.
    pub fn latest(&mut self, now: Duration) -> (Option<Arc<IoScan>>, Option<MissedScan>) {
        match &mut self.worker {
            Worker::Immediate(scan) => (Some(Arc::new(scan.read(&|| now))), None),
            Worker::Thread { latest, .. } => {
                let mut latest = latest.lock();
                let missed = if !std::mem::replace(&mut latest.is_taken, true) {
                    None
                } else if latest.is_over_budget {
                    Some(MissedScan::Budget)
                } else {
                    Some(MissedScan::Late)
                };
                (latest.scan.clone(), missed)
            }
        }
    }
}

/// Scans until the sender of requests is gone.
fn scan_on_request(mut scan: Scan, requests: &Receiver<Duration>, latest: &Shared<Latest>) {
    let clock = RealClock::new(None);
    let mut budget = Budget::default();
    let mut is_first = true;
    let mut skipped = 0;
    let mut due = clock.monotonic();
    let mut took = Duration::ZERO;
    loop {
        let begin = due.saturating_sub((2 * took).clamp(MIN_LEAD, MAX_LEAD));
        match requests.recv_timeout(begin.saturating_sub(clock.monotonic())) {
            Ok(newer) => {
                due = newer;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let begun = clock.monotonic();
        if budget.permits(begun) {
            let cpu_before = thread_cpu_time();
            let mut read = scan.read(&|| clock.monotonic());
            read.skipped = std::mem::take(&mut skipped);
            *latest.lock() = Latest {
                scan: Some(Arc::new(read)),
                ..Latest::default()
            };
            latest.finished.notify_all();
            took = clock.monotonic().saturating_sub(begun);
            // The first scan takes longer than those that follow: it finds every cgroup.
            if !std::mem::replace(&mut is_first, false) {
                budget.charge(thread_cpu_time().saturating_sub(cpu_before));
                if let Some(processes) = &mut scan.processes {
                    budget.charge(std::mem::take(&mut processes.shared.lock().cpu_time));
                }
            }
        } else {
            skipped += 1;
            latest.lock().is_over_budget = true;
        }
        match requests.recv() {
            Ok(newer) => due = newer,
            Err(_) => return,
        }
    }
}

/// Makes scans, and keeps the state that one needs from the last.
struct Scan {
    diskstats: PathBuf,
    cgroups: CgroupReader,
    scope: ScanScope,
    /// For the thread that reads processes; `None` once it has been started.
    process_reader: Option<ProcessIoReader>,
    /// The time for which a scan waits for that thread.
    process_patience: Duration,
    /// `None` until processes are first looked for.
    processes: Option<ProcessThread>,
    blocked: BlockedTaskReader,
    trouble: TroubleWatch,
    text: Vec<u8>,
    sample: Sample,
}

impl Scan {
    /// Scans the system; `clock` returns the monotonic time.
    fn read(&mut self, clock: &dyn Fn() -> Duration) -> IoScan {
        let mut begin = clock();
        let mut devices = self.read_devices();
        let waiting = self.trouble.observe(begin, &self.sample.devices);
        if self.cgroups.prepare(begin, waiting.is_bad) {
            // That took time, and the counters of devices are compared with those of cgroups.
            begin = clock();
            devices = self.read_devices();
        }
        let scan = self.cgroups.read();
        let end = clock();
        let wants_processes = self.scope == ScanScope::Everything || waiting.is_bad;
        if wants_processes {
            if let Some(reader) = self.process_reader.take() {
                // Without a thread, cgroups have to do.
                self.processes = ProcessThread::start(reader, self.process_patience).ok();
            }
            if let Some(processes) = &self.processes {
                processes.request(end, waiting.is_bad);
            }
        }
        let mut is_urgent = wants_processes;
        for cgroup in &scan.cgroups {
            is_urgent |= cgroup.devices.iter().any(CgroupDevice::has_limits);
        }
        let is_due =
            waiting.is_bad || is_urgent && (waiting.has_tasks || self.blocked.is_any_blocked());
        let blocked = self.blocked.read(end, is_due, &self.sample.devices);
        let mut reading = ProcessReading::default();
        if wants_processes && let Some(processes) = &self.processes {
            reading = processes.read(end);
        }
        IoScan {
            at: begin + end.saturating_sub(begin) / 2,
            devices,
            processes: reading.processes,
            are_processes_late: reading.is_late,
            hung_read: reading.hung_read,
            blocked,
            ..scan
        }
    }

    /// Reads the counters of the whole devices at the time of the scan, for comparison with those of cgroups.
    fn read_devices(&mut self) -> Vec<ScannedDevice> {
        self.sample.devices.clear();
        if read_bytes_into(&self.diskstats, &mut self.text).is_ok() {
            parse_diskstats(&self.text, &mut self.sample, |_, _| {});
        }
        let mut scanned = Vec::new();
        for device in whole_devices(&self.sample.devices) {
            let Counters { reads, writes, .. } = device.counters;
            let io = IoCounters {
                read_bytes: reads.sectors.saturating_mul(SECTOR_BYTES),
                write_bytes: writes.sectors.saturating_mul(SECTOR_BYTES),
                reads: reads.ios,
                writes: writes.ios,
            };
            if io != IoCounters::default() {
                scanned.push(ScannedDevice {
                    number: (device.major, device.minor),
                    name: device.name.clone(),
                    io,
                });
            }
        }
        scanned
    }
}

/// The most CPU time that scans may use, as a fraction of the elapsed time.
const MAX_CPU_FRACTION: f64 = 0.05;
/// The CPU time in seconds that scans may use in advance.
const MAX_CREDIT_S: f64 = 0.25;

/// Limits the CPU time of scans to a fraction of the elapsed time, plus a little in advance.
struct Budget {
    /// The CPU time that may be used, in seconds; below zero after a scan that took more.
    credit_s: f64,
    /// The time up to which credit has been given.
    credited_at: Option<Duration>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            credit_s: MAX_CREDIT_S,
            credited_at: None,
        }
    }
}

impl Budget {
    /// Returns whether a scan may begin now.
    fn permits(&mut self, now: Duration) -> bool {
        let passed = now.saturating_sub(self.credited_at.replace(now).unwrap_or(now));
        self.credit_s = (self.credit_s + MAX_CPU_FRACTION * passed.as_secs_f64()).min(MAX_CREDIT_S);
        self.credit_s > 0.0
    }

    fn charge(&mut self, cpu: Duration) {
        self.credit_s -= cpu.as_secs_f64();
    }
}

/// The time for which a scan waits for the processes that it has requested.
const PATIENCE: Duration = Duration::from_millis(100);
/// The time after which a read is reported to hang.
const MIN_HUNG_TIME: Duration = Duration::from_secs(2);

/// What is known of the processes.
#[derive(Default)]
struct ProcessReading {
    processes: Option<Arc<ProcessIo>>,
    is_late: bool,
    hung_read: Option<HungRead>,
}

/// A thread that reads the I/O of processes. It ends when this is dropped, unless its read hangs: a read of /proc/PID/io
/// hangs with a process that hangs while it starts another program, for example because the disk with that program does
/// not answer. Cgroups and blocked tasks must be read even then.
struct ProcessThread {
    requests: SyncSender<ProcessRequest>,
    shared: Arc<Shared<State>>,
    /// The process that the thread reads.
    current: Arc<AtomicU32>,
    /// The time for which a scan waits for it.
    patience: Duration,
}

struct ProcessRequest {
    now: Duration,
    is_bad_second: bool,
}

#[derive(Default)]
struct State {
    /// The time of the request that the thread is working on; `None` if it waits for one.
    begun: Option<Duration>,
    /// A reading that no scan has yet.
    found: Option<Arc<ProcessIo>>,
    cpu_time: Duration,
}

impl ProcessThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// If it cannot be started.
    fn start(mut reader: ProcessIoReader, patience: Duration) -> io::Result<Self> {
        let (requests, received) = sync_channel(1);
        let shared = Arc::<Shared<State>>::default();
        let current = Arc::clone(&reader.current);
        let results = Arc::clone(&shared);
        let run = move || read_on_request(&mut reader, &received, &results);
        thread::Builder::new()
            .name("blkstat-procs".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(run)?;
        Ok(Self {
            requests,
            shared,
            current,
            patience,
        })
    }

    /// Asks for processes; `now` is a monotonic time.
    fn request(&self, now: Duration, is_bad_second: bool) {
        let mut state = self.shared.lock();
        let request = ProcessRequest { now, is_bad_second };
        if state.begun.is_none() && self.requests.try_send(request).is_ok() {
            state.begun = Some(now);
        }
    }

    /// Returns the requested processes if they were read anew, each reading once. One that takes too long is for a later call.
    fn read(&self, now: Duration) -> ProcessReading {
        let elapsed = |state: &State| Some(now.saturating_sub(state.begun?));
        // A read that has already missed its time is not waited for again.
        let mut state = self.shared.wait_while(self.patience, |state| {
            elapsed(state).is_some_and(|elapsed| elapsed < self.patience)
        });
        match elapsed(&state) {
            Some(elapsed) if elapsed >= MIN_HUNG_TIME => ProcessReading {
                processes: None,
                is_late: false,
                hung_read: Some(HungRead {
                    pid: self.current.load(Ordering::Relaxed),
                    elapsed,
                }),
            },
            late => ProcessReading {
                processes: state.found.take(),
                is_late: late.is_some(),
                hung_read: None,
            },
        }
    }
}

/// Reads processes until the sender of requests is gone.
fn read_on_request(
    reader: &mut ProcessIoReader,
    requests: &Receiver<ProcessRequest>,
    shared: &Shared<State>,
) {
    while let Ok(request) = requests.recv() {
        let cpu_before = thread_cpu_time();
        let found = reader.read(request.now, request.is_bad_second);
        let mut state = shared.lock();
        state.cpu_time += thread_cpu_time().saturating_sub(cpu_before);
        if found.is_some() {
            state.found = found;
        }
        state.begun = None;
        shared.finished.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_without_a_scan_of_its_own_says_why() {
        let shared = Arc::<Shared<Latest>>::default();
        let (due, _requests) = sync_channel(1);
        let mut scanner = IoScanner {
            worker: Worker::Thread {
                due,
                latest: Arc::clone(&shared),
            },
        };
        let finish = || {
            *shared.lock() = Latest {
                scan: Some(Arc::default()),
                ..Latest::default()
            };
        };
        let mut missed = || scanner.latest(Duration::ZERO).1;
        assert_eq!(missed(), None, "the first sample");
        assert_eq!(missed(), Some(MissedScan::Late));
        finish();
        assert_eq!([missed(), missed()], [None, Some(MissedScan::Late)]);
        shared.lock().is_over_budget = true;
        assert_eq!(missed(), Some(MissedScan::Budget));
        finish();
        assert_eq!(missed(), None);
    }

    #[test]
    fn scans_use_at_most_a_twentieth_of_the_time_after_the_first_ones() {
        let cpu = Duration::from_millis(100);
        let mut budget = Budget::default();
        let mut is_permitted = |second: u64| {
            let is_permitted = budget.permits(Duration::from_secs(second));
            if is_permitted {
                budget.charge(cpu);
            }
            is_permitted
        };
        let scans: Vec<u64> = (0..1000).filter(|second| is_permitted(*second)).collect();
        assert_eq!(scans[..5], [0, 1, 2, 3, 4]);
        assert!(
            scans[5..].windows(2).all(|two| two[1] - two[0] == 2),
            "every other second: {scans:?}"
        );
    }
}
