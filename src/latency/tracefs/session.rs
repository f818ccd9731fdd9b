//! A tracer: the sets of triggers with their renewal and their counts.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, available_parallelism};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::overhead::{Guard, request_cost_s};
use super::request_rate::RequestRate;
use super::surplus::{Surplus, without_empty_flushes};
use super::trace_dir::{Owner, TraceDir, remove_leftovers};
use super::trace_set::{Alternation, ERROR_EVENT, EventPair, SetKind};
use crate::clock::{Clock, RealClock};
use crate::counters::{DeviceNumber, parse_device_number};
use crate::latency::traced_io::{TraceProblem, TracedIo};
use crate::source::small_file::{file_name, paths_in, read_line};
use crate::topology::nvme_head;

/// The fewest entries of a map in which the kernel keeps the sectors of requests.
const MIN_MAP_SIZE: u32 = 1 << 14;
/// The most that the kernel allows.
const MAX_MAP_SIZE: u32 = 1 << 17;
/// The entries of the map of errors: one for each device and kind of error.
const ERROR_MAP_SIZE: u32 = 1 << 10;
/// The fraction of a map that may be used before it is renewed: the rest is for a sudden burst.
const MAX_FILL: f64 = 0.5;
/// The seconds that a map should last.
const MAP_SECONDS: f64 = 4.0;
/// The shortest time between two checks of the rate of requests.
const MIN_POLL: Duration = Duration::from_millis(20);
/// The longest.
const MAX_POLL: Duration = Duration::from_millis(200);

/// Traces single requests until it is dropped. Dropping it removes everything that it has set up in the kernel.
pub struct Tracer {
    session: Arc<Mutex<Session>>,
    /// The thread ends when this sender is dropped.
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Tracer {
    /// Starts tracing these whole devices (all if there are none) of the system below `root`, for samples that `clock`
    /// times. It pauses while tracing would take more than `max_overhead`, a fraction of the CPU time of all CPUs.
    ///
    /// # Errors
    /// The reason why requests cannot be traced.
    pub fn start(
        root: &Path,
        devices: Vec<DeviceNumber>,
        max_overhead: f64,
        clock: &dyn Clock,
    ) -> Result<Self> {
        let session = Session::start(root, devices, max_overhead, clock.monotonic())?;
        let mut tracer = Self {
            session: Arc::new(Mutex::new(session)),
            stop: None,
            thread: None,
        };
        if !clock.is_manual() {
            let (stop, stopped) = sync_channel(1);
            let shared = Arc::clone(&tracer.session);
            let builder = thread::Builder::new().name("blkstat-trace".to_owned());
            let spawned = builder.spawn(move || {
                let clock = RealClock::new(None);
                let mut wait = Duration::ZERO;
                while matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) {
                    wait = lock(&shared).poll(clock.monotonic());
                }
            });
            tracer.thread = Some(spawned.context("cannot trace requests")?);
            tracer.stop = Some(stop);
        }
        Ok(tracer)
    }

    /// Returns the requests that were completed since the last call; `now` is a monotonic time.
    pub fn read(&self, now: Duration) -> TracedIo {
        lock(&self.session).read(now)
    }

    /// Traces other whole devices from now on. A list that was not empty must not become empty.
    pub fn select(&self, devices: &[DeviceNumber]) {
        lock(&self.session).select(devices);
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, the session is dropped all the same.
            let _ = thread.join();
        }
    }
}

/// Locks a session. One whose thread panicked is still readable.
fn lock(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets of triggers, and their counts since the last reading.
struct Session {
    root: PathBuf,
    dir: TraceDir,
    /// The whole devices whose requests are traced; all if empty.
    devices: Vec<DeviceNumber>,
    latencies: Alternation,
    /// `None` if the kernel cannot trace them.
    errors: Option<Alternation>,
    guard: Guard,
    counted: TracedIo,
    rate: RequestRate,
    /// The requests of all devices at the start of the active set of latencies.
    requests_at_start: u64,
    read_at: Duration,
    surplus: Surplus,
}

impl Session {
    /// Starts tracing; `now` is a monotonic time. Removes what other processes left behind.
    ///
    /// # Errors
    /// The reason why requests cannot be traced.
    fn start(
        root: &Path,
        devices: Vec<DeviceNumber>,
        max_overhead: f64,
        now: Duration,
    ) -> Result<Self> {
        let dir = TraceDir::find(root)?;
        // Leftovers that cannot be removed do not prevent tracing.
        let _ = remove_leftovers(root);
        let owner = Owner::current(root);
        let mut rate = RequestRate::default();
        rate.select(&devices);
        rate.observe(root, now);
        rate.take_completed();
        let pairs = event_pairs(&dir, root, &devices)?;
        let cost_s = request_cost_s(&dir, &owner)?;
        let cpus = available_parallelism().map_or(1, usize::from);
        let latencies = Alternation::start(&dir, owner, SetKind::Latencies(pairs), MIN_MAP_SIZE)?;
        let mut errors = None;
        if dir.has(&format!("events/block/{ERROR_EVENT}")) {
            errors = Alternation::start(&dir, owner, SetKind::Errors, ERROR_MAP_SIZE).ok();
        }
        Ok(Self {
            root: root.to_owned(),
            guard: Guard::new(cost_s, cpus, max_overhead),
            requests_at_start: rate.requests,
            dir,
            devices,
            latencies,
            errors,
            counted: TracedIo::default(),
            rate,
            read_at: now,
            surplus: Surplus::default(),
        })
    }

    /// Renews, pauses or resumes the set of latencies as needed. Returns the time until the next call.
    fn poll(&mut self, now: Duration) -> Duration {
        self.rate.observe(&self.root, now);
        let was_paused = self.guard.is_paused;
        self.guard.decide(now, self.rate.per_s);
        let outcome = match (was_paused, self.guard.is_paused) {
            (true, true) => Ok(()),
            (false, false) => self.renew_if_filled(),
            (false, true) => self.latencies.active.pause(),
            (true, false) => self.renew_latencies(),
        };
        self.note_failure(&outcome);
        if self.guard.is_paused {
            self.counted.problem = Some(TraceProblem::Overhead);
        }
        let seconds = f64::from(MIN_MAP_SIZE) / 8.0 / self.rate.per_s.max(1.0);
        Duration::from_secs_f64(seconds.min(1.0)).clamp(MIN_POLL, MAX_POLL)
    }

    fn renew_if_filled(&mut self) -> Result<()> {
        let requests = self.rate.requests.wrapping_sub(self.requests_at_start) as f64;
        if requests > f64::from(self.latencies.active.size) * MAX_FILL {
            self.renew_latencies()?;
        }
        Ok(())
    }

    fn renew_latencies(&mut self) -> Result<()> {
        let entries =
            (self.rate.per_s * MAP_SECONDS / MAX_FILL).min(f64::from(MAX_MAP_SIZE)) as u32;
        let size = entries
            .next_power_of_two()
            .clamp(MIN_MAP_SIZE, MAX_MAP_SIZE);
        self.requests_at_start = self.rate.requests;
        let pairs = event_pairs(&self.dir, &self.root, &self.devices)?;
        self.latencies
            .renew(SetKind::Latencies(pairs), size, &mut self.counted)
    }

    /// Traces other devices from now on.
    fn select(&mut self, devices: &[DeviceNumber]) {
        self.devices = devices.to_vec();
        self.rate.select(devices);
        if !self.guard.is_paused {
            let renewed = self.renew_latencies();
            self.note_failure(&renewed);
        }
    }

    fn note_failure(&mut self, outcome: &Result<()>) {
        if outcome.is_err() {
            self.counted.problem = Some(TraceProblem::Failed);
        }
    }

    /// Returns the requests counted since the last call; `now` is a monotonic time.
    fn read(&mut self, now: Duration) -> TracedIo {
        if !self.guard.is_paused && self.has_other_bio_devices() {
            let renewed = self.renew_latencies();
            self.note_failure(&renewed);
        }
        // Read before the histograms: `Surplus` corrects for requests that complete in between.
        self.rate.observe(&self.root, now);
        for set in [&mut self.latencies].into_iter().chain(&mut self.errors) {
            if set.collect(&mut self.counted).is_err() {
                self.counted.problem = Some(TraceProblem::Failed);
            }
        }
        let mut counted = std::mem::take(&mut self.counted);
        counted.elapsed = now.saturating_sub(std::mem::replace(&mut self.read_at, now));
        let mut completed = self.rate.take_completed();
        completed.retain(|number, _| self.devices.is_empty() || self.devices.contains(number));
        counted.completed = without_empty_flushes(&completed, &counted.latencies);
        self.surplus.settle(&mut counted);
        if self.guard.is_paused {
            self.counted.problem = Some(TraceProblem::Overhead);
        }
        counted
    }

    /// Returns whether devices that pass bios on have appeared or disappeared since the set was built.
    fn has_other_bio_devices(&self) -> bool {
        let SetKind::Latencies(pairs) = &self.latencies.active.kind else {
            return false;
        };
        let traced = match pairs.iter().find(|pair| pair.is_bio) {
            Some(pair) => pair.devices.as_slice(),
            None => &[],
        };
        selected_bio_devices(&self.root, &self.devices) != traced
    }
}

/// Returns the pairs of tracepoints that these devices need; all devices if there are none.
///
/// # Errors
/// If the kernel lacks some of them.
fn event_pairs(dir: &TraceDir, root: &Path, devices: &[DeviceNumber]) -> Result<Vec<EventPair>> {
    let mut pairs = vec![EventPair {
        is_bio: false,
        devices: devices.to_vec(),
    }];
    let bios = selected_bio_devices(root, devices);
    if !bios.is_empty() {
        pairs.push(EventPair {
            is_bio: true,
            devices: bios,
        });
    }
    for event in pairs.iter().flat_map(EventPair::events) {
        let has_event = dir.has(&format!("events/block/{event}"));
        ensure!(
            has_event,
            "cannot trace requests: this kernel has no tracepoint {event}; report it with 'uname -r'"
        );
    }
    Ok(pairs)
}

fn selected_bio_devices(root: &Path, devices: &[DeviceNumber]) -> Vec<DeviceNumber> {
    let mut found = bio_devices(root);
    found.retain(|number| devices.is_empty() || devices.contains(number));
    found
}

/// Returns the whole devices that pass bios on instead of making requests of them, such as those of device-mapper and
/// md. A device with requests has a directory `mq` in sysfs. An NVMe disk with several paths is not among them: it
/// hands its bios over to a path, where they complete as requests with their own latencies.
fn bio_devices(root: &Path) -> Vec<DeviceNumber> {
    let mut paths = paths_in(&root.join("sys/block"));
    let mut heads = HashSet::new();
    for path in &paths {
        heads.extend(file_name(path).as_deref().and_then(nvme_head));
    }
    paths.retain(|path| !path.join("mq").exists());
    let mut found = Vec::new();
    for path in paths {
        if let Some(name) = file_name(&path)
            && !heads.contains(&name)
        {
            let number = read_line(&path.join("dev"));
            found.extend(number.and_then(|number| parse_device_number(&number)));
        }
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_device_without_hardware_queues_passes_bios_on() {
        let root = tempfile::tempdir().unwrap();
        for (name, dev) in [
            ("dm-1", "253:1"),
            ("dm-0", "253:0"),
            ("nvme0n1", "259:0"),
            ("nvme1n1", "259:1"),
        ] {
            let path = root.path().join("sys/block").join(name);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("dev"), format!("{dev}\n")).unwrap();
        }
        // A path of nvme1n1, which has no number in sysfs.
        for name in ["nvme0n1/mq", "nvme1c0n1/mq"] {
            fs::create_dir_all(root.path().join("sys/block").join(name)).unwrap();
        }
        assert_eq!(bio_devices(root.path()), [(253, 0), (253, 1)]);
    }
}
