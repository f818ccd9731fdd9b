//! The sets of triggers of a tracer: their renewal and their counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::time::Duration;

use super::completed::{Surplus, without_empty_flushes};
use super::devices::bio_devices;
use super::event_pair::{EventPair, device_filter};
use super::guard::histogram_cost_s;
use super::guard::{Decision, Guard};
use super::leftovers::Owner;
use super::leftovers::remove_leftovers;
use super::threads::find_processes;
use super::trace_dir::TraceDir;
use super::trace_dir::TraceError;
use super::trace_set::Alternation;
use super::trace_set::SetKind;
use super::tracer::TraceOptions;
use crate::capture::parse_diskstats;
use crate::counters::{Device, DeviceNumber, Sample, TraceProblem, TracedIo};
use crate::source::small_file::read_bytes_into;
use crate::topology::partition_parents;

/// The fewest and the most entries of a map in which the kernel keeps the sectors of requests. The kernel allows no
/// more.
const MAP_SIZE: [u32; 2] = [1 << 14, 1 << 17];
/// The entries of the map of threads.
const USER_MAP_SIZE: u32 = 1 << 12;
/// The fraction of a map that may be used before it is renewed: the rest is for a sudden burst.
const MAX_FILL: f64 = 0.5;
/// The seconds that a map should last.
const MAP_SECONDS: f64 = 4.0;
/// The shortest and the longest time between two checks of the rate of requests.
const POLL: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(200)];
/// The CPU time that the histograms between two tracepoints take per request, as a multiple of that of a plain
/// histogram for an event: two add an entry each, and one out of several with filters counts the latency. On an
/// emulated computer a request took 24 to 139 µs longer (Linux 6.1 and 6.12, five runs), and a plain histogram 1.06 µs.
/// The median is a little below this.
const PAIR_WEIGHT: f64 = 60.0;
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
    pub(super) fn start(root: &Path, options: TraceOptions, now: Duration) -> Result<Self, TraceError> {
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
        Ok(Self {
            root: root.to_owned(),
            guard: Guard::new(cost_s, cpus, options.max_overhead),
            requests_at_start: rate.requests,
            dir,
            options,
            latencies,
            users,
            counted: TracedIo::default(),
            rate,
            read_at: now,
            surplus: Surplus::default(),
        })
    }

    /// Renews, pauses or resumes sets as needed. Returns the time until the next call.
    pub(super) fn poll(&mut self, now: Duration) -> Duration {
        self.rate.observe(&self.root, now);
        let outcome = match self.guard.decide(now, self.rate.per_s) {
            Decision::Keep if self.guard.is_paused() => Ok(()),
            Decision::Keep => self.renew_full_sets(),
            Decision::Pause => {
                let sets = self.latencies.iter().chain(&self.users);
                sets.map(Alternation::pause).fold(Ok(()), Result::and)
            }
            Decision::Resume => self.renew_latencies().and_then(|()| self.renew_users()),
        };
        if self.guard.is_paused() {
            self.counted.problem = Some(TraceProblem::Overhead);
        } else if outcome.is_err() {
            self.counted.problem = Some(TraceProblem::Failed);
        }
        let seconds = f64::from(MAP_SIZE[0]) / 8.0 / self.rate.per_s.max(1.0);
        Duration::from_secs_f64(seconds.min(1.0)).clamp(POLL[0], POLL[1])
    }

    fn renew_full_sets(&mut self) -> Result<(), TraceError> {
        let is_full = |used: f64, set: &Alternation| used > f64::from(set.size()) * MAX_FILL;
        let requests = self.rate.requests.wrapping_sub(self.requests_at_start) as f64;
        if self.latencies.as_ref().is_some_and(|set| is_full(requests, set)) {
            self.renew_latencies()?;
        }
        if self.users.as_ref().is_some_and(|set| is_full(set.entries() as f64, set)) {
            self.renew_users()?;
        }
        Ok(())
    }

    fn renew_latencies(&mut self) -> Result<(), TraceError> {
        let Some(set) = &mut self.latencies else { return Ok(()) };
        let entries = (self.rate.per_s * MAP_SECONDS / MAX_FILL).min(f64::from(MAP_SIZE[1])) as u32;
        let size = entries.next_power_of_two().clamp(MAP_SIZE[0], MAP_SIZE[1]);
        self.requests_at_start = self.rate.requests;
        set.renew(
            Some(SetKind::Latencies(event_pairs(&self.dir, &self.root, &self.options)?)),
            size,
            &mut self.counted,
        )
    }

    fn renew_users(&mut self) -> Result<(), TraceError> {
        let Some(set) = &mut self.users else { return Ok(()) };
        let kind = SetKind::Users(self.options.user_devices.clone());
        set.renew(Some(kind), USER_MAP_SIZE, &mut self.counted)
    }

    /// Traces other devices from now on.
    pub(super) fn select(&mut self, devices: &[DeviceNumber], user_devices: &[DeviceNumber]) {
        self.options.devices = devices.to_vec();
        self.options.user_devices = user_devices.to_vec();
        self.rate.selected = self.options.rate_devices();
        if self.guard.is_paused() {
            return;
        }
        if self.renew_latencies().and_then(|()| self.renew_users()).is_err() {
            self.counted.problem = Some(TraceProblem::Failed);
        }
    }

    /// Returns the requests counted since the last call; `now` is a monotonic time.
    pub(super) fn read(&mut self, now: Duration) -> TracedIo {
        if !self.guard.is_paused() && self.has_other_bio_devices() && self.renew_latencies().is_err() {
            self.counted.problem = Some(TraceProblem::Failed);
        }
        // Read before the histograms: `Surplus` corrects for requests that complete in between.
        self.rate.observe(&self.root, now);
        for set in self.latencies.iter_mut().chain(&mut self.users) {
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
        if self.guard.is_paused() {
            self.counted.problem = Some(TraceProblem::Overhead);
        }
        counted
    }

    /// Returns whether devices that pass bios on have appeared or disappeared since the set was built.
    fn has_other_bio_devices(&self) -> bool {
        let Some(SetKind::Latencies(pairs)) = self.latencies.as_ref().map(Alternation::kind) else {
            return false;
        };
        let traced = pairs.iter().find(|pair| pair.tag == "bio").map_or(&[][..], |pair| &pair.devices);
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
fn event_pairs(dir: &TraceDir, root: &Path, options: &TraceOptions) -> Result<Vec<EventPair>, TraceError> {
    if !options.latencies {
        return Ok(Vec::new());
    }
    let mut pairs = vec![EventPair::requests(options.devices.clone())];
    let bios = selected_bio_devices(root, options);
    if !bios.is_empty() {
        pairs.push(EventPair::bios(bios));
    }
    for event in pairs.iter().flat_map(EventPair::events) {
        if !dir.has(&format!("events/block/{event}")) {
            return Err(TraceError::MissingEvent(event));
        }
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
    let pairs = pairs.iter().filter(|pair| pair.tag != "bio").count();
    pairs as f64 * PAIR_WEIGHT + if has_users { USERS_WEIGHT } else { 0.0 }
}

/// The rate of the requests that whole devices complete.
#[derive(Default)]
struct RequestRate {
    /// The devices and partitions whose requests are traced; all if empty.
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
    const OTHERS_COST: f64 = 2.0 / PAIR_WEIGHT;

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
        let parents = partition_parents(devices);
        let mut is_traced = vec![self.selected.is_empty(); devices.len()];
        for (at, device) in devices.iter().enumerate() {
            if self.selected.contains(&(device.major, device.minor)) {
                is_traced[parents[at].unwrap_or(at)] = true;
            }
        }
        let mut sums = [0_u64; 2];
        for ((device, parent), is_traced) in devices.iter().zip(parents).zip(is_traced) {
            if parent.is_none() {
                let sum = &mut sums[usize::from(!is_traced)];
                *sum = device.counters.completed().into_iter().fold(*sum, u64::wrapping_add);
            }
        }
        sums
    }

    fn whole_devices(&self) -> impl Iterator<Item = &Device> {
        let devices = &self.sample.devices;
        let with_parents = devices.iter().zip(partition_parents(devices));
        with_parents.filter(|(_, parent)| parent.is_none()).map(|(device, _)| device)
    }

    /// Returns the requests of each device since the last call, up to the last [`Self::observe`]: reads, writes, discards
    /// and flushes.
    fn take_completed(&mut self) -> BTreeMap<DeviceNumber, [u64; 4]> {
        let now: BTreeMap<DeviceNumber, [u64; 4]> = self
            .whole_devices()
            .map(|device| ((device.major, device.minor), device.counters.completed()))
            .collect();
        let before = std::mem::replace(&mut self.by_device, now);
        let growth = self.by_device.iter().filter_map(|(number, now)| {
            // A new device, or one whose counters were reset, has completed all of its requests since the last call.
            let before = before.get(number).copied().unwrap_or_default();
            let is_reset = now.iter().zip(before).any(|(now, before)| *now < before);
            let before = if is_reset { [0; 4] } else { before };
            let growth = std::array::from_fn(|kind| now[kind] - before[kind]);
            (growth != [0; 4]).then_some((*number, growth))
        });
        growth.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
