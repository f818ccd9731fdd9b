//! The sets of triggers of a tracer: their renewal and their counts.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, available_parallelism};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::guard::{Guard, PAIR_WEIGHT, RequestRate, Surplus, histogram_cost_s, without_empty_flushes};
use super::trace_dir::{Owner, TraceDir, remove_leftovers};
use super::trace_set::{Alternation, ERROR_EVENT, EventPair, SetKind, device_filter};
use crate::attribution::files::parse_process_cgroup;
use crate::clock::{Clock, RealClock};
use crate::counters::{DeviceNumber, TraceProblem, TracedIo, TracedUser, TracedUsers};
use crate::source::small_file::{file_name, paths_in, read_bytes, read_text};
use crate::source::topology::read_devno;
use crate::topology::nvme_head;

/// The fewest and the most entries of a map in which the kernel keeps the sectors of requests. The kernel allows no
/// more.
const MAP_SIZE: [u32; 2] = [1 << 14, 1 << 17];
/// The entries of the map of threads.
const USER_MAP_SIZE: u32 = 1 << 12;
/// The entries of the map of errors: one for each device and kind of error.
const ERROR_MAP_SIZE: u32 = 1 << 10;
/// The fraction of a map that may be used before it is renewed: the rest is for a sudden burst.
const MAX_FILL: f64 = 0.5;
/// The seconds that a map should last.
const MAP_SECONDS: f64 = 4.0;
/// The shortest and the longest time between two checks of the rate of requests.
const POLL: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(200)];
/// The CPU time of the histogram of threads, in the same unit: a request took 11 and 24 µs longer with it in the runs
/// in which that exceeded the noise.
const USERS_WEIGHT: f64 = 20.0;

/// Sets of triggers, and their counts since the last reading.
pub(super) struct Session {
    root: PathBuf,
    dir: TraceDir,
    options: TraceOptions,
    latencies: Option<Alternation>,
    users: Option<Alternation>,
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
    pub(super) fn start(root: &Path, options: TraceOptions, now: Duration) -> Result<Self> {
        let dir = TraceDir::find(root)?;
        // Leftovers that cannot be removed do not prevent tracing.
        let _ = remove_leftovers(root);
        let owner = Owner::current(root);
        let mut rate = RequestRate { selected: options.rate_devices(), ..RequestRate::default() };
        rate.observe(root, now);
        rate.take_completed();
        let start = |kind, size| Alternation::start(&dir, owner, kind, size);
        let pairs = event_pairs(&dir, root, &options)?;
        let cost_s = histogram_cost_s(&dir, &owner)? * weight(&pairs, options.users);
        let cpus = available_parallelism().map_or(1, usize::from);
        let latencies =
            (!pairs.is_empty()).then(|| start(SetKind::Latencies(pairs), MAP_SIZE[0])).transpose()?;
        let users = SetKind::Users(options.user_devices.clone());
        let users = options.users.then(|| start(users, USER_MAP_SIZE)).transpose()?;
        let has_errors = dir.has(&format!("events/block/{ERROR_EVENT}"));
        let errors = has_errors.then(|| start(SetKind::Errors, ERROR_MAP_SIZE).ok()).flatten();
        Ok(Self {
            root: root.to_owned(),
            guard: Guard::new(cost_s, cpus, options.max_overhead),
            requests_at_start: rate.requests,
            dir,
            options,
            latencies,
            users,
            errors,
            counted: TracedIo::default(),
            rate,
            read_at: now,
            surplus: Surplus::default(),
        })
    }

    /// Renews, pauses or resumes sets as needed. Returns the time until the next call.
    pub(super) fn poll(&mut self, now: Duration) -> Duration {
        self.rate.observe(&self.root, now);
        let was_paused = self.guard.is_paused;
        self.guard.decide(now, self.rate.per_s);
        let outcome = match (was_paused, self.guard.is_paused) {
            (true, true) => Ok(()),
            (false, false) => self.renew_full_sets(),
            (false, true) => {
                let sets = self.latencies.iter().chain(&self.users);
                sets.map(|set| set.active.pause()).fold(Ok(()), Result::and)
            }
            (true, false) => self.renew_latencies().and_then(|()| self.renew_users()),
        };
        self.note_failure(&outcome);
        if self.guard.is_paused {
            self.counted.problem = Some(TraceProblem::Overhead);
        }
        let seconds = f64::from(MAP_SIZE[0]) / 8.0 / self.rate.per_s.max(1.0);
        Duration::from_secs_f64(seconds.min(1.0)).clamp(POLL[0], POLL[1])
    }

    fn renew_full_sets(&mut self) -> Result<()> {
        let is_full = |used: f64, set: &Alternation| used > f64::from(set.active.size) * MAX_FILL;
        let requests = self.rate.requests.wrapping_sub(self.requests_at_start) as f64;
        if self.latencies.as_ref().is_some_and(|set| is_full(requests, set)) {
            self.renew_latencies()?;
        }
        if self.users.as_ref().is_some_and(|set| is_full(set.active.entries as f64, set)) {
            self.renew_users()?;
        }
        Ok(())
    }

    fn renew_latencies(&mut self) -> Result<()> {
        let Some(set) = &mut self.latencies else { return Ok(()) };
        let entries = (self.rate.per_s * MAP_SECONDS / MAX_FILL).min(f64::from(MAP_SIZE[1])) as u32;
        let size = entries.next_power_of_two().clamp(MAP_SIZE[0], MAP_SIZE[1]);
        self.requests_at_start = self.rate.requests;
        let pairs = event_pairs(&self.dir, &self.root, &self.options)?;
        set.renew(SetKind::Latencies(pairs), size, &mut self.counted)
    }

    fn renew_users(&mut self) -> Result<()> {
        let Some(set) = &mut self.users else { return Ok(()) };
        let kind = SetKind::Users(self.options.user_devices.clone());
        set.renew(kind, USER_MAP_SIZE, &mut self.counted)
    }

    /// Traces other devices from now on.
    pub(super) fn select(&mut self, devices: &[DeviceNumber], user_devices: &[DeviceNumber]) {
        self.options.devices = devices.to_vec();
        self.options.user_devices = user_devices.to_vec();
        self.rate.selected = self.options.rate_devices();
        if !self.guard.is_paused {
            let renewed = self.renew_latencies().and_then(|()| self.renew_users());
            self.note_failure(&renewed);
        }
    }

    fn note_failure(&mut self, outcome: &Result<()>) {
        if outcome.is_err() {
            self.counted.problem = Some(TraceProblem::Failed);
        }
    }

    /// Returns the requests counted since the last call; `now` is a monotonic time.
    pub(super) fn read(&mut self, now: Duration) -> TracedIo {
        if !self.guard.is_paused && self.has_other_bio_devices() {
            let renewed = self.renew_latencies();
            self.note_failure(&renewed);
        }
        // Read before the histograms: `Surplus` corrects for requests that complete in between.
        self.rate.observe(&self.root, now);
        for set in self.latencies.iter_mut().chain(&mut self.users).chain(&mut self.errors) {
            if set.collect(&mut self.counted).is_err() {
                self.counted.problem = Some(TraceProblem::Failed);
            }
        }
        let mut counted = std::mem::take(&mut self.counted);
        counted.elapsed = now.saturating_sub(std::mem::replace(&mut self.read_at, now));
        let mut completed = self.rate.take_completed();
        let TraceOptions { latencies, devices, .. } = &self.options;
        completed.retain(|number, _| *latencies && (devices.is_empty() || devices.contains(number)));
        counted.completed = without_empty_flushes(&completed, &counted.latencies);
        self.surplus.settle(&mut counted);
        counted.users = counted.users.filter(|_| self.options.users);
        if let Some(users) = &mut counted.users {
            find_processes(&self.root, users);
        }
        if self.guard.is_paused {
            self.counted.problem = Some(TraceProblem::Overhead);
        }
        counted
    }

    /// Returns whether devices that pass bios on have appeared or disappeared since the set was built.
    fn has_other_bio_devices(&self) -> bool {
        let Some(SetKind::Latencies(pairs)) = self.latencies.as_ref().map(|set| &set.active.kind) else {
            return false;
        };
        let traced = pairs.iter().find(|pair| pair.is_bio).map_or(&[][..], |pair| &pair.devices);
        selected_bio_devices(&self.root, &self.options) != traced
    }
}

impl TraceOptions {
    /// Returns the devices and partitions whose requests the kernel counts; none if it counts all.
    fn rate_devices(&self) -> Vec<DeviceNumber> {
        let is_of_all = |devices: &Vec<DeviceNumber>| device_filter(devices).is_empty();
        if self.latencies && is_of_all(&self.devices) || self.users && is_of_all(&self.user_devices) {
            return Vec::new();
        }
        let latencies = self.devices.iter().filter(|_| self.latencies);
        latencies.chain(self.user_devices.iter().filter(|_| self.users)).copied().collect()
    }
}

/// Returns the pairs of tracepoints that are needed; none if no latencies are.
///
/// # Errors
/// If the kernel lacks some of them.
fn event_pairs(dir: &TraceDir, root: &Path, options: &TraceOptions) -> Result<Vec<EventPair>> {
    if !options.latencies {
        return Ok(Vec::new());
    }
    let mut pairs = vec![EventPair { is_bio: false, devices: options.devices.clone() }];
    let bios = selected_bio_devices(root, options);
    if !bios.is_empty() {
        pairs.push(EventPair { is_bio: true, devices: bios });
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

fn selected_bio_devices(root: &Path, options: &TraceOptions) -> Vec<DeviceNumber> {
    let mut found = bio_devices(root);
    found.retain(|number| options.devices.is_empty() || options.devices.contains(number));
    found
}

/// Returns what a request costs, in plain histograms.
fn weight(pairs: &[EventPair], has_users: bool) -> f64 {
    // Bios do not count: a device that passes them on makes no requests, and the device below is not traced by the pair
    // for bios.
    let pairs = pairs.iter().filter(|pair| !pair.is_bio).count();
    pairs as f64 * PAIR_WEIGHT + if has_users { USERS_WEIGHT } else { 0.0 }
}

/// Returns the whole devices that pass bios on instead of making requests of them, such as those of device-mapper and
/// md. A device with requests has a directory `mq` in sysfs. An NVMe disk with several paths is not among them: it
/// hands its bios over to a path, where they complete as requests with their own latencies.
pub(super) fn bio_devices(root: &Path) -> Vec<DeviceNumber> {
    let names: Vec<String> =
        paths_in(&root.join("sys/block")).iter().filter_map(|path| file_name(path)).collect();
    let heads: HashSet<String> = names.iter().filter_map(|name| nvme_head(name)).collect();
    let mut found: Vec<DeviceNumber> = names
        .iter()
        .filter(|name| !heads.contains(*name))
        .map(|name| root.join("sys/block").join(name))
        .filter(|path| !path.join("mq").exists())
        .filter_map(|path| read_devno(&path))
        .collect();
    found.sort_unstable();
    found
}

/// Finds the process and the cgroup of each thread that is still running.
fn find_processes(root: &Path, users: &mut TracedUsers) {
    let mut found = HashMap::new();
    for user in users.0.values_mut() {
        // A process that was started by a shell had the shell's name before.
        let process =
            found.entry((user.tid, Arc::clone(&user.comm))).or_insert_with(|| process_of(root, user));
        (user.pid, user.cgroup) = process.clone().unwrap_or_default();
    }
}

/// Returns the process and the cgroup of a thread; `None` if it has ended, or another thread has its number.
fn process_of(root: &Path, user: &TracedUser) -> Option<(Option<u32>, Option<Arc<str>>)> {
    let folder = root.join(format!("proc/{}", user.tid));
    let status = read_text(&folder.join("status"))?;
    let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    // The kernel appends the current work to the name of a worker thread.
    value("Name:").filter(|name| name.starts_with(user.comm.trim()))?;
    let pid = value("Tgid:").and_then(|pid| pid.parse().ok());
    let text = read_bytes(&folder.join("cgroup")).unwrap_or_default();
    let cgroup = parse_process_cgroup(&text, false).or_else(|| parse_process_cgroup(&text, true));
    Some((pid, cgroup.map(Arc::from)))
}

/// Selects the requests and latencies that are traced.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOptions {
    pub latencies: bool,
    /// The threads that submit I/O.
    pub users: bool,
    /// The whole devices whose latencies are traced; all if empty.
    pub devices: Vec<DeviceNumber>,
    /// The devices and partitions on which the threads are traced; all if empty.
    pub user_devices: Vec<DeviceNumber>,
    /// The most CPU time that tracing may take, as a fraction of that of all CPUs. Above it, tracing pauses.
    pub max_overhead: f64,
}

/// Traces single requests until it is dropped. Dropping it removes everything that it has set up in the kernel.
pub struct Tracer {
    session: Arc<Mutex<Session>>,
    /// The thread ends when this sender is dropped.
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Tracer {
    /// Starts tracing the system below `root`, for samples that `clock` times.
    ///
    /// # Errors
    /// The reason why requests cannot be traced.
    pub fn start(root: &Path, options: TraceOptions, clock: &dyn Clock) -> Result<Self> {
        let session = Session::start(root, options, clock.monotonic())?;
        let mut tracer = Self { session: Arc::new(Mutex::new(session)), stop: None, thread: None };
        if !clock.is_manual() {
            let (stop, stopped) = sync_channel(1);
            let shared = Arc::clone(&tracer.session);
            let run = move || {
                let clock = RealClock::new(None);
                let mut wait = Duration::ZERO;
                while matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) {
                    wait = lock(&shared).poll(clock.monotonic());
                }
            };
            let spawned = thread::Builder::new().name("blkstat-trace".to_owned()).spawn(run);
            tracer.thread = Some(spawned.context("cannot trace requests")?);
            tracer.stop = Some(stop);
        }
        Ok(tracer)
    }

    /// Returns the requests that were completed since the last call; `now` is a monotonic time.
    pub fn read(&self, now: Duration) -> TracedIo {
        lock(&self.session).read(now)
    }

    /// Traces other devices from now on: the latencies of the whole devices `devices`, and threads on the devices and
    /// partitions `user_devices`. A list that was not empty must not become empty.
    pub fn select(&self, devices: &[DeviceNumber], user_devices: &[DeviceNumber]) {
        lock(&self.session).select(devices, user_devices);
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::counters::{Device, RequestKind, Sample};

    fn options(devices: &[DeviceNumber], user_devices: &[DeviceNumber]) -> TraceOptions {
        let (devices, user_devices) = (devices.to_vec(), user_devices.to_vec());
        TraceOptions { latencies: true, users: true, devices, user_devices, max_overhead: 0.02 }
    }

    #[test]
    fn only_requests_that_are_traced_count_in_full() {
        let device = |minor, name: &str, ios: u64| {
            let mut device = Device { major: 8, minor, name: name.into(), ..Device::default() };
            device.counters.reads.ios = ios;
            device
        };
        let sums = |selected: Vec<DeviceNumber>| {
            let devices = vec![device(0, "sda", 100), device(1, "sda1", 90), device(16, "sdb", 7)];
            let sample = Sample { devices, ..Sample::default() };
            RequestRate { selected, sample, ..RequestRate::default() }.completed_requests()
        };
        assert_eq!(sums(Vec::new()), [107, 0]);
        assert_eq!((sums(vec![(8, 0), (8, 1)]), sums(vec![(8, 1)])), ([100, 7], [100, 7]));
        assert_eq!((sums(vec![(8, 16)]), sums(vec![(8, 32)])), ([7, 100], [0, 107]));
        // If one of the triggers counts all devices, all of them count.
        let disk = [(8, 0)];
        assert_eq!(options(&disk, &[(8, 0), (8, 1)]).rate_devices(), [(8, 0), (8, 0), (8, 1)]);
        assert!(
            options(&disk, &[]).rate_devices().is_empty() && options(&[], &disk).rate_devices().is_empty()
        );
        assert!(options(&[(8, 0); 65], &disk).rate_devices().is_empty());
        assert_eq!(TraceOptions { latencies: false, ..options(&[], &disk) }.rate_devices(), disk);
        assert_eq!(TraceOptions { users: false, ..options(&disk, &[]) }.rate_devices(), disk);
    }

    #[test]
    fn a_device_without_hardware_queues_passes_bios_on() {
        let root = tempfile::tempdir().unwrap();
        for (name, dev) in [("dm-1", "253:1"), ("dm-0", "253:0"), ("nvme0n1", "259:0"), ("nvme1n1", "259:1")]
        {
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

    #[test]
    fn a_thread_has_the_process_and_the_cgroup_of_its_files() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("proc/12");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("status"), "Name:\tkworker/u4:1-flush-8:0\nTgid:\t10\n").unwrap();
        std::fs::write(folder.join("cgroup"), "0::/db.service\n").unwrap();
        let user = |comm: &str, tid| TracedUser {
            number: (8, 0),
            tid,
            comm: comm.into(),
            pid: None,
            cgroup: None,
            kind: RequestKind::Write,
            count: 1,
            sectors: 8,
        };
        // The process did I/O under the name of the shell that started it, too.
        let mut users = TracedUsers::of([user("bash", 12), user("kworker/u4:1", 12), user("sh", 14)]);
        find_processes(root.path(), &mut users);
        let found: Vec<_> = users.0.values().collect();
        assert_eq!((found[1].pid, found[1].cgroup.as_deref()), (Some(10), Some("/db.service")));
        assert_eq!((found[0].pid, found[2].pid), (None, None));
    }
}
