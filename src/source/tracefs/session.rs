//! A tracer: the sets of triggers with their renewal and their counts, the CPU time that tracing takes, as measured on this
//! computer, the requests that devices completed, and the pauses while tracing them all would take too much.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, available_parallelism};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::trace_dir::{Owner, TraceDir, remove_instance, remove_leftovers};
use super::trace_set::{Alternation, ERROR_EVENT, EventPair, SetKind, device_filter};
use crate::capture::parse_diskstats;
use crate::clock::{Clock, RealClock, thread_cpu_time};
use crate::counters::{
    DeviceNumber, LatencyHistogram, LatencyKey, RequestKind, Sample, TraceProblem, TracedIo,
};
use crate::source::small_file::{file_name, paths_in, read_bytes_into};
use crate::source::topology::read_devno;
use crate::topology::{nvme_head, partition_parents};

/// The fewest and the most entries of a map in which the kernel keeps the sectors of requests. The kernel allows no
/// more.
const MAP_SIZE: [u32; 2] = [1 << 14, 1 << 17];
/// The entries of the map of errors: one for each device and kind of error.
const ERROR_MAP_SIZE: u32 = 1 << 10;
/// The fraction of a map that may be used before it is renewed: the rest is for a sudden burst.
const MAX_FILL: f64 = 0.5;
/// The seconds that a map should last.
const MAP_SECONDS: f64 = 4.0;
/// The shortest and the longest time between two checks of the rate of requests.
const POLL: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(200)];
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
        let mut rate = RequestRate {
            selected: rate_devices(&devices),
            ..RequestRate::default()
        };
        rate.observe(root, now);
        rate.take_completed();
        let pairs = event_pairs(&dir, root, &devices)?;
        let cost_s = histogram_cost_s(&dir, &owner)? * REQUEST_WEIGHT;
        let cpus = available_parallelism().map_or(1, usize::from);
        let latencies = Alternation::start(&dir, owner, SetKind::Latencies(pairs), MAP_SIZE[0])?;
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
            (false, false) => self.renew_full_set(),
            (false, true) => self.latencies.active.pause(),
            (true, false) => self.renew_latencies(),
        };
        self.note_failure(&outcome);
        if self.guard.is_paused {
            self.counted.problem = Some(TraceProblem::Overhead);
        }
        let seconds = f64::from(MAP_SIZE[0]) / 8.0 / self.rate.per_s.max(1.0);
        Duration::from_secs_f64(seconds.min(1.0)).clamp(POLL[0], POLL[1])
    }

    fn renew_full_set(&mut self) -> Result<()> {
        let requests = self.rate.requests.wrapping_sub(self.requests_at_start) as f64;
        if requests > f64::from(self.latencies.active.size) * MAX_FILL {
            self.renew_latencies()?;
        }
        Ok(())
    }

    fn renew_latencies(&mut self) -> Result<()> {
        let entries = (self.rate.per_s * MAP_SECONDS / MAX_FILL).min(f64::from(MAP_SIZE[1])) as u32;
        let size = entries.next_power_of_two().clamp(MAP_SIZE[0], MAP_SIZE[1]);
        self.requests_at_start = self.rate.requests;
        let pairs = event_pairs(&self.dir, &self.root, &self.devices)?;
        self.latencies
            .renew(SetKind::Latencies(pairs), size, &mut self.counted)
    }

    /// Traces other devices from now on.
    fn select(&mut self, devices: &[DeviceNumber]) {
        self.devices = devices.to_vec();
        self.rate.selected = rate_devices(devices);
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

/// Returns the devices whose requests the kernel counts; none if it counts all, because no filter names so many.
fn rate_devices(devices: &[DeviceNumber]) -> Vec<DeviceNumber> {
    if device_filter(devices).is_empty() {
        return Vec::new();
    }
    devices.to_vec()
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
            found.extend(read_devno(&path));
        }
    }
    found.sort_unstable();
    found
}

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

/// The time for which tracing must be cheap enough before it is resumed.
const RESUME_AFTER: Duration = Duration::from_secs(3);
/// The part of the permitted cost below which tracing is resumed.
const RESUME_FRACTION: f64 = 0.7;

/// The cost of tracing and its limit.
#[derive(Clone, Copy, Debug)]
struct Guard {
    /// The CPU time in seconds that tracing a request takes.
    cost_s: f64,
    cpus: usize,
    /// The most CPU time that tracing may take, as a fraction of that of all CPUs.
    max_fraction: f64,
    is_paused: bool,
    cheap_since: Option<Duration>,
}

impl Guard {
    fn new(cost_s: f64, cpus: usize, max_fraction: f64) -> Self {
        Self {
            cost_s,
            cpus: cpus.max(1),
            max_fraction,
            is_paused: false,
            cheap_since: None,
        }
    }

    /// Decides at a monotonic time whether tracing is paused, based on the requests per second of all devices.
    fn decide(&mut self, now: Duration, requests_per_s: f64) {
        let fraction = requests_per_s * self.cost_s / self.cpus as f64;
        if !self.is_paused {
            // The cost is an estimate: a user who permits all CPU time wants no limit.
            self.is_paused = fraction > self.max_fraction && self.max_fraction < 1.0;
            self.cheap_since = None;
        } else if fraction > self.max_fraction * RESUME_FRACTION {
            self.cheap_since = None;
        } else {
            let since = *self.cheap_since.get_or_insert(now);
            self.is_paused = now.saturating_sub(since) < RESUME_AFTER;
        }
    }
}

/// The histograms that are measured together, by their keys.
const HISTOGRAMS: [&str; 4] = ["ip", "common_pid", "ip,common_pid", "common_pid,ip"];
/// The number of events in an attempt, so few that it is seldom interrupted, and the number of attempts in a
/// measurement.
const EVENTS: u32 = 25;
const TRIES: u32 = 16;
/// The lowest result in seconds: no CPU of today looks up and counts an event faster. On a busy host, the measurement
/// without histograms may take longer than the one with them, and a cost of zero would permit any rate.
const MIN_COST_S: f64 = 50e-9;

/// Returns the CPU time in seconds that a histogram takes to count an event; at least [`MIN_COST_S`].
///
/// # Errors
/// If the kernel refuses it.
fn histogram_cost_s(dir: &TraceDir, owner: &Owner) -> Result<f64> {
    let name = owner.name("c");
    dir.make_instance(&name)?;
    let cost = measure(dir, &name);
    remove_instance(dir, &name)?;
    cost
}

fn measure(dir: &TraceDir, name: &str) -> Result<f64> {
    let [marker, trigger] = ["trace_marker", "events/ftrace/print/trigger"]
        .map(|file| format!("instances/{name}/{file}"));
    let without_s = measure_event_s(dir, &marker)?;
    for keys in HISTOGRAMS {
        dir.write(&trigger, &format!("hist:keys={keys}:size=256"))?;
    }
    let added_s = measure_event_s(dir, &marker)? - without_s;
    Ok((added_s / HISTOGRAMS.len() as f64).max(MIN_COST_S))
}

/// Measures the CPU time of an event in seconds: the best of several attempts, since an interrupt or another program can
/// only add time.
fn measure_event_s(dir: &TraceDir, marker: &str) -> Result<f64> {
    let mut best = f64::MAX;
    for _ in 0..TRIES {
        let begin = thread_cpu_time();
        for _ in 0..EVENTS {
            dir.write(marker, "x")?;
        }
        best = best.min(thread_cpu_time().saturating_sub(begin).as_secs_f64());
    }
    Ok(best / f64::from(EVENTS))
}

/// The completed requests of each device: reads, writes and discards.
type Completed = BTreeMap<DeviceNumber, [u64; 3]>;

/// Returns the completed requests that can be matched, from those of the counters, which also count flushes. The kernel
/// counts a bio that only flushes as a write, and the flush itself in addition; so for each flush, a write that was not
/// traced is left out.
fn without_empty_flushes(
    counters: &BTreeMap<DeviceNumber, [u64; 4]>,
    latencies: &BTreeMap<LatencyKey, LatencyHistogram>,
) -> Completed {
    let mut matchable = Completed::new();
    for (number, [reads, writes, discards, flushes]) in counters {
        let key = LatencyKey {
            number: *number,
            kind: RequestKind::Write,
        };
        let traced = latencies.get(&key).map_or(0, LatencyHistogram::count);
        let empty_flushes = writes.saturating_sub(traced).min(*flushes);
        let counts = [*reads, writes - empty_flushes, *discards];
        if counts != [0; 3] {
            matchable.insert(*number, counts);
        }
    }
    matchable
}

/// Requests that were completed after a device's counters were read but before the histograms were, so that they belong
/// to the next reading of the counters.
#[derive(Default)]
struct Surplus {
    /// By device and kind of request.
    ahead: Completed,
}

impl Surplus {
    /// Counts the traced requests as completed, and makes sure that those not yet in the counters are not counted again
    /// later.
    fn settle(&mut self, counted: &mut TracedIo) {
        let mut traced = Completed::new();
        for (key, histogram) in &counted.latencies {
            let counts = traced.entry(key.number).or_default();
            for (count, kind) in std::iter::zip(counts, RequestKind::ALL) {
                if kind == key.kind {
                    *count += histogram.count();
                }
            }
        }
        let mut numbers = BTreeSet::from_iter(counted.completed.keys().copied());
        numbers.extend(traced.keys());
        for number in numbers {
            let completed = counted.completed.entry(number).or_default();
            let ahead = self.ahead.entry(number).or_default();
            let traced = traced.get(&number).copied().unwrap_or_default();
            for ((completed, ahead), traced) in completed.iter_mut().zip(ahead).zip(traced) {
                let known = (*completed).min(*ahead);
                *completed -= known;
                *ahead = *ahead - known + traced.saturating_sub(*completed);
                *completed = (*completed).max(traced);
            }
        }
        counted.completed.retain(|_, counts| *counts != [0; 3]);
    }
}

/// The CPU time that tracing takes per request, as a multiple of that of a plain histogram for an event: two histograms add an entry each, and one out of several with filters counts the latency. On an
/// emulated computer a request took 24 to 139 µs longer (Linux 6.1 and 6.12, five runs), and a plain histogram 1.06 µs.
/// The median is a little below this. Bios cost nothing more: a device that passes them on makes no requests, and the device
/// below is not traced by the pair for bios.
const REQUEST_WEIGHT: f64 = 60.0;

/// The rate of the requests that whole devices complete.
#[derive(Default)]
struct RequestRate {
    /// The whole devices whose requests are traced; all if empty.
    selected: Vec<DeviceNumber>,
    /// The requests of all traced devices, including those that devices pass on to each other.
    requests: u64,
    /// The requests of the other devices.
    others: u64,
    /// The requests per second that are traced, plus those of the other devices, weighted by their cost.
    per_s: f64,
    at: Option<Duration>,
    /// The counters of each device at the last reading: reads, writes, discards and flushes.
    by_device: BTreeMap<DeviceNumber, [u64; 4]>,
    text: Vec<u8>,
    sample: Sample,
}

impl RequestRate {
    /// The time in seconds over which the rate is averaged.
    const SMOOTHING_S: f64 = 0.5;
    /// The cost of a request of another device, as a fraction of that of one that is traced: the kernel checks the
    /// filters at two tracepoints, which takes no longer than two plain histograms.
    const OTHERS_COST: f64 = 2.0 / REQUEST_WEIGHT;

    fn observe(&mut self, root: &Path, now: Duration) {
        if read_bytes_into(&root.join("proc/diskstats"), &mut self.text).is_err() {
            return;
        }
        parse_diskstats(&self.text, &mut self.sample, |_, _| {});
        let [requests, others] = self.completed_requests();
        if let Some(at) = self.at.replace(now) {
            let seconds = now.saturating_sub(at).as_secs_f64();
            // When a device disappears, the sum decreases by its requests.
            let others = others.saturating_sub(self.others) as f64 * Self::OTHERS_COST;
            let passed = requests.saturating_sub(self.requests) as f64 + others;
            if seconds > 0.0 {
                let share = (seconds / Self::SMOOTHING_S).min(1.0);
                self.per_s += (passed / seconds - self.per_s) * share;
            }
        }
        (self.requests, self.others) = (requests, others);
    }

    /// Returns the number of requests that all traced devices have completed, and the number of those of the other
    /// devices.
    fn completed_requests(&self) -> [u64; 2] {
        let devices = &self.sample.devices;
        let mut sums = [0_u64; 2];
        for (device, parent) in std::iter::zip(devices, partition_parents(devices)) {
            if parent.is_some() {
                continue;
            }
            let is_traced =
                self.selected.is_empty() || self.selected.contains(&(device.major, device.minor));
            let sum = &mut sums[usize::from(!is_traced)];
            for count in device.counters.completed() {
                *sum = sum.wrapping_add(count);
            }
        }
        sums
    }

    /// Returns the requests of each device since the last call, up to the last [`Self::observe`]: reads, writes, discards
    /// and flushes.
    fn take_completed(&mut self) -> BTreeMap<DeviceNumber, [u64; 4]> {
        let devices = &self.sample.devices;
        let last = std::mem::take(&mut self.by_device);
        let mut growths = BTreeMap::new();
        for (device, parent) in std::iter::zip(devices, partition_parents(devices)) {
            if parent.is_some() {
                continue;
            }
            let number = (device.major, device.minor);
            let now = device.counters.completed();
            self.by_device.insert(number, now);
            let mut before = last.get(&number).copied().unwrap_or_default();
            // A new device, or one whose counters were reset, has completed all of its requests since the last call.
            if (0..4).any(|kind| now[kind] < before[kind]) {
                before = [0; 4];
            }
            let growth = std::array::from_fn(|kind| now[kind] - before[kind]);
            if growth != [0; 4] {
                growths.insert(number, growth);
            }
        }
        growths
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::counters::Device;

    #[test]
    fn only_requests_that_are_traced_count_in_full() {
        let device = |minor, name: &str, ios: u64| {
            let mut device = Device {
                major: 8,
                minor,
                name: name.into(),
                ..Device::default()
            };
            device.counters.reads.ios = ios;
            device
        };
        let sums = |selected: Vec<DeviceNumber>| {
            let devices = vec![
                device(0, "sda", 100),
                device(1, "sda1", 90),
                device(16, "sdb", 7),
            ];
            let sample = Sample {
                devices,
                ..Sample::default()
            };
            RequestRate {
                selected,
                sample,
                ..RequestRate::default()
            }
            .completed_requests()
        };
        assert_eq!(sums(Vec::new()), [107, 0]);
        assert_eq!(sums(vec![(8, 0)]), [100, 7]);
        assert_eq!(sums(vec![(8, 16)]), [7, 100]);
        assert_eq!(sums(vec![(8, 32)]), [0, 107]);
        assert_eq!(rate_devices(&[(8, 0)]), [(8, 0)]);
        assert!(rate_devices(&[(8, 0); 65]).is_empty());
    }

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

#[cfg(test)]
mod guard_tests {
    use super::*;

    #[test]
    fn tracing_pauses_above_the_limit_and_resumes_after_a_time_well_below_it() {
        // 10 µs per request on two CPUs: 2% are 4000 requests per second.
        let mut guard = Guard::new(10e-6, 2, 0.02);
        let mut is_paused = |second: f64, rate: f64| {
            guard.decide(Duration::from_secs_f64(second), rate);
            guard.is_paused
        };
        assert_eq!(
            [is_paused(0.0, 3990.0), is_paused(1.0, 4010.0)],
            [false, true]
        );
        // Not low enough, then low for too short a time.
        assert_eq!(
            [
                is_paused(2.0, 3500.0),
                is_paused(3.0, 2000.0),
                is_paused(5.9, 2000.0)
            ],
            [true; 3]
        );
        assert_eq!([is_paused(6.0, 3500.0), is_paused(7.0, 100.0)], [true; 2]);
        assert_eq!([is_paused(10.0, 100.0), is_paused(11.0, 100.0)], [false; 2]);
        let mut without_limit = Guard::new(10e-6, 2, 1.0);
        without_limit.decide(Duration::ZERO, 1e6);
        assert!(!without_limit.is_paused);
    }
}

#[cfg(test)]
mod completed_tests {
    use super::*;
    use crate::counters::LatencyBucket;

    const DISK: DeviceNumber = (8, 0);

    /// Returns the counts of completed writes and of traced latencies of writes.
    fn counted(completed: u64, traced: u64) -> TracedIo {
        let mut histogram = LatencyHistogram::default();
        histogram.add(LatencyBucket {
            lower_ns: 0,
            upper_ns: 9,
            count: traced,
            sum_ns: traced,
        });
        let key = LatencyKey {
            number: DISK,
            kind: RequestKind::Write,
        };
        TracedIo {
            completed: BTreeMap::from([(DISK, [0, completed, 0])]),
            latencies: BTreeMap::from([(key, histogram)]),
            ..TracedIo::default()
        }
    }

    fn writes(counted: &TracedIo) -> Option<u64> {
        counted.completed.get(&DISK).map(|counts| counts[1])
    }

    #[test]
    fn a_bio_that_only_flushes_is_no_write_to_be_matched() {
        let left = |completed: u64, flushes: u64, traced: u64| {
            let counters = BTreeMap::from([(DISK, [0, completed, 0, flushes])]);
            let latencies = counted(0, traced).latencies;
            without_empty_flushes(&counters, &latencies)
                .get(&DISK)
                .map(|counts| counts[1])
        };
        // 150 writes with a flush after each: 300 writes to the kernel.
        assert_eq!(left(300, 150, 150), Some(150));
        // A write that is not matched, and writes that flush themselves.
        assert_eq!([left(22, 10, 11), left(20, 10, 20)], [Some(12), Some(20)]);
        assert_eq!(left(5, 5, 0), None);
    }

    #[test]
    fn a_request_that_was_completed_between_two_readings_counts_once() {
        let mut surplus = Surplus::default();
        let mut settled = |completed: u64, traced: u64| {
            let mut counted = counted(completed, traced);
            surplus.settle(&mut counted);
            writes(&counted)
        };
        // Two requests are in the counters only next time, and one was not traced at all.
        assert_eq!(
            [settled(10, 12), settled(10, 7), settled(0, 0)],
            [Some(12), Some(8), None]
        );
        assert_eq!(
            [settled(0, 5), settled(3, 0), settled(3, 1)],
            [Some(5), None, Some(1)]
        );
    }
}
