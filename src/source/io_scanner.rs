//! Scans cgroups and processes in a thread of its own, so that sampling never waits for it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::cgroups::CgroupReader;
use super::processes::ProcessReader;
use super::small_file::read_bytes_into;
use crate::capture::parse_diskstats;
use crate::clock::{Clock, RealClock, thread_cpu_time};
use crate::counters::{CgroupHierarchy, IoCounters, IoScan, Sample, ScannedDevice};
use crate::topology::partition_parents;
use crate::units::SECTOR_BYTES;

/// The most CPU time that scans may use, as a fraction of the time that passes.
const MAX_CPU_FRACTION: f64 = 0.05;
/// The CPU time in seconds that scans may use in advance.
const MAX_CREDIT_S: f64 = 0.25;
/// The least and the most time by which a scan begins before the sample that takes it.
const LEAD: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];

/// Scans the cgroups and processes of a system in the background.
pub struct IoScanner {
    worker: Worker,
}

enum Worker {
    /// Scans at once: a clock that advances only by waits leaves no time for a thread.
    Immediate(Box<Scan>),
    Thread {
        /// The times at which the next sample is due. The thread ends with this sender.
        due: SyncSender<Duration>,
        latest: Arc<Mutex<Option<Arc<IoScan>>>>,
    },
}

impl IoScanner {
    /// Starts to scan the system below `root`, for samples that `clock` times.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(root: &Path, clock: &dyn Clock) -> io::Result<Self> {
        let scan = Box::new(Scan::new(root));
        if clock.is_manual() {
            return Ok(Self { worker: Worker::Immediate(scan) });
        }
        let (due, requests) = sync_channel(1);
        let latest = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&latest);
        let run = move || scan_on_request(*scan, &requests, &shared);
        thread::Builder::new().name("blkstat-scan".to_owned()).spawn(run)?;
        Ok(Self { worker: Worker::Thread { due, latest } })
    }

    /// Asks for a scan that is finished when the next sample is due, at this monotonic time. While a scan is still under
    /// way, this does nothing.
    pub fn request(&self, due: Duration) {
        if let Worker::Thread { due: requests, .. } = &self.worker {
            // A thread that has not taken the last request is behind.
            let _ = requests.try_send(due);
        }
    }

    /// Returns the last finished scan; `now` is a monotonic time. `None` before the first.
    pub fn latest(&mut self, now: Duration) -> Option<Arc<IoScan>> {
        match &mut self.worker {
            Worker::Immediate(scan) => Some(Arc::new(scan.read(&|| now))),
            Worker::Thread { latest, .. } => {
                // A thread that panicked leaves its last scan.
                latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
            }
        }
    }
}

/// Scans until no more requests can come.
fn scan_on_request(mut scan: Scan, requests: &Receiver<Duration>, latest: &Mutex<Option<Arc<IoScan>>>) {
    let clock = RealClock::new(None);
    let mut budget = Budget::default();
    let mut is_first = true;
    let mut skipped = 0;
    let mut due = clock.monotonic();
    let mut took = Duration::ZERO;
    loop {
        let begin = due.saturating_sub((2 * took).clamp(LEAD[0], LEAD[1]));
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
            *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(read));
            took = clock.monotonic().saturating_sub(begun);
            // The first scan takes longer than those that follow: it finds every cgroup.
            if !std::mem::replace(&mut is_first, false) {
                budget.charge(thread_cpu_time().saturating_sub(cpu_before));
            }
        } else {
            skipped += 1;
        }
        match requests.recv() {
            Ok(newer) => due = newer,
            Err(_) => return,
        }
    }
}

/// Limits the CPU time of scans: a part of the time that passes, and something in advance.
struct Budget {
    /// The CPU time that may be used, in seconds; below zero after a scan that took more.
    credit_s: f64,
    /// The time up to which credit was given.
    credited_at: Option<Duration>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { credit_s: MAX_CREDIT_S, credited_at: None }
    }
}

impl Budget {
    /// Returns whether a scan may begin now.
    fn permits(&mut self, now: Duration) -> bool {
        let passed = now.saturating_sub(self.credited_at.replace(now).unwrap_or(now));
        self.credit_s = (self.credit_s + MAX_CPU_FRACTION * passed.as_secs_f64()).min(MAX_CREDIT_S);
        self.credit_s > 0.0
    }

    /// Accounts for a scan.
    fn charge(&mut self, cpu: Duration) {
        self.credit_s -= cpu.as_secs_f64();
    }
}

/// One scan after another, with what is kept between them.
struct Scan {
    diskstats: PathBuf,
    cgroups: CgroupReader,
    processes: ProcessReader,
    text: Vec<u8>,
    sample: Sample,
}

impl Scan {
    fn new(root: &Path) -> Self {
        let cgroups = CgroupReader::new(root);
        let is_v1 = cgroups.version() == Some(CgroupHierarchy::V1);
        Self {
            diskstats: root.join("proc/diskstats"),
            cgroups,
            processes: ProcessReader::new(root, is_v1),
            text: Vec::new(),
            sample: Sample::default(),
        }
    }

    /// Scans the system; `now` returns the monotonic time.
    fn read(&mut self, now: &dyn Fn() -> Duration) -> IoScan {
        self.cgroups.prepare(now());
        let begin = now();
        let devices = self.read_devices();
        let found = self.cgroups.read();
        let now = now();
        IoScan {
            at: begin + now.saturating_sub(begin) / 2,
            devices,
            hierarchy: found.hierarchy,
            cgroups: found.cgroups,
            processes: self.processes.read_io(now),
            blocked: self.processes.read_blocked(now),
            skipped: 0,
            problem: found.problem,
        }
    }

    /// Reads the counters of the whole devices at the time of the scan, with which those of cgroups can be compared.
    fn read_devices(&mut self) -> Vec<ScannedDevice> {
        self.sample.devices.clear();
        if read_bytes_into(&self.diskstats, &mut self.text).is_ok() {
            parse_diskstats(&self.text, &mut self.sample, |_, _| {});
        }
        let devices = &self.sample.devices;
        let whole = devices.iter().zip(partition_parents(devices)).filter(|(_, parent)| parent.is_none());
        let scanned = whole.map(|(device, _)| ScannedDevice {
            number: (device.major, device.minor),
            name: device.name.clone(),
            io: IoCounters {
                read_bytes: device.counters.reads.sectors.saturating_mul(SECTOR_BYTES),
                write_bytes: device.counters.writes.sectors.saturating_mul(SECTOR_BYTES),
                reads: device.counters.reads.ios,
                writes: device.counters.writes.ios,
            },
        });
        scanned.filter(|device| device.io != IoCounters::default()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(scans[5..].windows(2).all(|two| two[1] - two[0] == 2), "every other second: {scans:?}");
    }
}
