//! Attribution: which cgroup or process does the I/O, and which limit it has reached. Pure: `source` reads the files.
//!
//! [`files`] parses the files of cgroups and processes; `cgroup_name` finds the name by which people know a cgroup.
//! An [`Attributor`] turns successive scans into an [`Attribution`]: the rates of each cgroup on each device and their
//! shares, and the limits that have been reached.
//!
//! Limits of cgroups: whether they bind, and which one holds the requests of a device back.
//!
//! That a limit exists is a fact; that it holds requests back can only be inferred from the rate. No file shows it:
//! requests that wait for `io.max` are in no counter, and asynchronous ones raise no pressure.

mod cgroup_name;
pub mod files;
mod limit;
mod programs;
pub mod waits;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub use self::cgroup_name::cgroup_name;
pub use self::limit::{IoDirection, Limit, LimitSource, RateUnit};
use self::programs::Readings;
pub use self::programs::{ProcessReading, Program};
use crate::counters::{
    BlockedTask, Cgroup, CgroupDevice, CgroupHierarchy, DeviceNumber, HungRead, IoCounters,
    IoLimits, IoScan, Pressure, ScanProblem,
};

/// The use of all devices between two scans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attribution {
    /// The time between the scans in seconds.
    pub elapsed_s: f64,
    /// The hierarchy of the cgroups; `None` without one that counts I/O.
    pub hierarchy: Option<CgroupHierarchy>,
    /// The whole devices with I/O or a limit, by name.
    pub devices: Vec<DeviceUse>,
    /// The latest reading of processes, over a few seconds and on all devices together; `None` if they are not known yet.
    pub reading: Option<Arc<ProcessReading>>,
    /// The seconds from the end of that reading to the end of the interval.
    pub reading_age_s: f64,
    /// The read of a process that hung at the end of the interval; `None` if none did.
    pub hung_read: Option<HungRead>,
    /// The tasks in uninterruptible sleep, those that have waited longest first.
    pub blocked: Vec<BlockedTask>,
    /// The number of scans that were left out in between because they would have cost too much.
    pub skipped: u64,
    /// The reason why cgroups are missing; `None` if none are.
    pub problem: Option<ScanProblem>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceUse {
    pub number: DeviceNumber,
    /// The kernel's name.
    pub name: Arc<str>,
    /// Its own counters.
    pub total: IoRates,
    /// The cgroups that used it or are limited on it, those with the most bytes first.
    pub cgroups: Vec<CgroupUse>,
    /// The programs with the most bytes, the busiest first; empty if they are not known.
    pub programs: Vec<Program>,
}

/// The use of a device by a cgroup.
#[derive(Clone, Debug, PartialEq)]
pub struct CgroupUse {
    pub path: Arc<str>,
    /// Its rates, without those of its descendants.
    pub rates: IoRates,
    /// Its share of the device's bytes in percent, without that of its descendants; `None` if there were no bytes.
    pub share_pct: Option<f64>,
    pub limits: Vec<LimitUse>,
}

impl Attribution {
    /// An estimate of its memory in bytes, without the names, which are usually shared.
    pub fn memory(&self) -> usize {
        let cgroups = self.devices.iter().flat_map(|device| &device.cgroups);
        let limits: usize = cgroups.clone().map(|cgroup| cgroup.limits.len()).sum();
        size_of::<Self>()
            + self.devices.len() * size_of::<DeviceUse>()
            + cgroups.count() * size_of::<CgroupUse>()
            + limits * size_of::<LimitUse>()
            + self.blocked.len() * 90
            // A reading belongs to several scans.
            + self.processes().map_or(0, |found| found.busiest.len() * 40)
    }
}

impl DeviceUse {
    /// Returns the bytes per second read and written that belong to no cgroup: those of the kernel itself, those of
    /// processes in the root of version 2, and writes that the kernel cannot charge to a cgroup. Only bytes can be
    /// compared, see [`IoRates`].
    pub fn unattributed_bytes_per_s(&self) -> [f64; 2] {
        let rest = |bytes: fn(&IoRates) -> f64| {
            let attributed: f64 = self.cgroups.iter().map(|cgroup| bytes(&cgroup.rates)).sum();
            (bytes(&self.total) - attributed).max(0.0)
        };
        [
            rest(|rates| rates.read_bytes_per_s),
            rest(|rates| rates.write_bytes_per_s),
        ]
    }

    /// Returns the bytes that no cgroup read or wrote, in percent of the device's bytes; `None` if the device had none.
    pub fn unattributed_pct(&self) -> Option<f64> {
        let attributed: f64 = self
            .cgroups
            .iter()
            .filter_map(|cgroup| cgroup.share_pct)
            .sum();
        (self.total.bytes_per_s() > 0.0).then(|| (100.0 - attributed).max(0.0))
    }

    /// Returns the cgroup with the most bytes; `None` if none had any.
    pub fn top_cgroup(&self) -> Option<&CgroupUse> {
        self.cgroups
            .first()
            .filter(|cgroup| cgroup.rates.bytes_per_s() > 0.0)
    }
}

/// Compares the scans at both ends of a time, and watches the limits in all scans between them: those of the latest step, and
/// those of the interval that it is part of.
#[derive(Default)]
pub struct Attributor {
    last: Option<Arc<IoScan>>,
    counted_at_last: Counted,
    limits: LimitHistory,
    readings: Readings,
    step: Window,
    interval: Window,
}

/// The time since a scan.
#[derive(Default)]
struct Window {
    /// The scan at its beginning.
    begin: Option<Arc<IoScan>>,
    /// The counters of the cgroups at that scan; for cgroups found later, at the scan that found them.
    counted_at_begin: Counted,
    ahead_at_begin: AheadOfParents,
    /// The limits that were reached since the beginning.
    reached: HashSet<LimitKey>,
    /// The tasks that were blocked in any scan since the beginning.
    blocked: Vec<BlockedTask>,
    skipped: u64,
}

impl Window {
    /// Takes the first scan of all.
    fn start(&mut self, scan: &Arc<IoScan>) {
        self.begin = Some(Arc::clone(scan));
        self.counted_at_begin = counters_by_path(scan);
    }

    fn observe(&mut self, scan: &Arc<IoScan>, limits: &LimitHistory) {
        add_new_cgroups(scan, &mut self.counted_at_begin);
        self.reached.extend(limits.reached());
        self.skipped = self.skipped.saturating_add(scan.skipped);
        for task in scan.blocked.iter().flatten() {
            match self.blocked.iter_mut().find(|known| known.tid == task.tid) {
                Some(known) => known.clone_from(task),
                None => self.blocked.push(task.clone()),
            }
        }
    }

    /// Returns the use of devices up to the `last` scan, and begins another time there. `None` without two scans at different
    /// times; the time then goes on.
    fn finish(
        &mut self,
        last: Option<&Arc<IoScan>>,
        counted_at_last: &Counted,
        limits: &LimitHistory,
        reading: Option<&Arc<ProcessReading>>,
    ) -> Option<Attribution> {
        let (begin, last) = (self.begin.clone()?, last?);
        let elapsed_s = last.at.checked_sub(begin.at)?.as_secs_f64();
        if elapsed_s == 0.0 {
            return None;
        }
        let deltas = cgroup_deltas(&self.counted_at_begin, last, &mut self.ahead_at_begin);
        let devices = self.device_uses(&begin, last, deltas, limits, elapsed_s);
        let mut blocked = std::mem::take(&mut self.blocked);
        blocked.sort_by_key(|task| Reverse(task.waited_ms));
        let attribution = Attribution {
            elapsed_s,
            hierarchy: last.hierarchy,
            devices,
            blocked,
            reading: reading.cloned(),
            reading_age_s: reading.map_or(0.0, |reading| {
                last.at.saturating_sub(reading.at).as_secs_f64()
            }),
            hung_read: last.hung_read,
            skipped: std::mem::take(&mut self.skipped),
            problem: last.problem,
        };
        self.begin = Some(Arc::clone(last));
        self.counted_at_begin.clone_from(counted_at_last);
        self.reached.clear();
        Some(attribution)
    }
}

impl Attributor {
    /// Takes the next scan; the same scan again changes nothing.
    pub fn observe(&mut self, scan: &Arc<IoScan>) {
        if self.last.as_ref().is_some_and(|last| last.at == scan.at) {
            return;
        }
        if let Some(last) = self.last.take() {
            let elapsed_s = scan.at.saturating_sub(last.at).as_secs_f64();
            add_new_cgroups(scan, &mut self.counted_at_last);
            self.observe_limits(&last, scan, elapsed_s);
        } else {
            self.step.start(scan);
            self.interval.start(scan);
        }
        self.readings.observe(scan);
        self.step.observe(scan, &self.limits);
        self.interval.observe(scan, &self.limits);
        self.counted_at_last = counters_by_path(scan);
        self.last = Some(Arc::clone(scan));
    }

    /// Returns the use of devices since the last call, and begins another step.
    pub fn finish_step(&mut self) -> Option<Attribution> {
        self.step.finish(
            self.last.as_ref(),
            &self.counted_at_last,
            &self.limits,
            self.readings.latest.as_ref(),
        )
    }

    /// Returns the use of devices since the last call, and begins another interval.
    pub fn finish_interval(&mut self) -> Option<Attribution> {
        self.interval.finish(
            self.last.as_ref(),
            &self.counted_at_last,
            &self.limits,
            self.readings.latest.as_ref(),
        )
    }

    /// Forgets all scans: the next one belongs to another host, or to another boot.
    pub fn interrupt(&mut self) {
        *self = Self::default();
    }

    fn observe_limits(&mut self, older: &IoScan, newer: &IoScan, elapsed_s: f64) {
        if elapsed_s == 0.0 {
            return;
        }
        let pressures = pressures_by_path(older);
        // A limit applies to a cgroup and its descendants together.
        for delta in cgroup_deltas(&self.counted_at_last, newer, &mut AheadOfParents::new()) {
            let cgroup = &newer.cgroups[delta.cgroup];
            let limits = limits_on(cgroup, delta.number);
            if limits != IoLimits::default() {
                let is_waiting = has_waited(cgroup, &pressures, newer);
                let observed = (&delta.counted, elapsed_s);
                self.limits
                    .observe((&cgroup.path, delta.number), &limits, observed, is_waiting);
            }
        }
        self.limits.end_interval();
    }
}

impl Window {
    fn device_uses(
        &self,
        older: &IoScan,
        newer: &IoScan,
        deltas: Vec<CgroupDelta>,
        history: &LimitHistory,
        elapsed_s: f64,
    ) -> Vec<DeviceUse> {
        let names: HashMap<DeviceNumber, Arc<str>> = newer
            .devices
            .iter()
            .map(|device| (device.number, Arc::from(device.name.as_str())))
            .collect();
        let source = LimitSource::Cgroup(newer.hierarchy.unwrap_or_default());
        let mut by_device: HashMap<DeviceNumber, Vec<CgroupUse>> = HashMap::new();
        for delta in deltas {
            let Some(device) = names.get(&delta.number) else {
                continue;
            };
            let cgroup = &newer.cgroups[delta.cgroup];
            let values = limits_on(cgroup, delta.number);
            if values == IoLimits::default() && delta.own == IoCounters::default() {
                continue;
            }
            let mut limits = Vec::new();
            for (kind, value) in limits_set(&values) {
                let (direction, unit) = kind;
                let key = (Arc::clone(&cgroup.path), delta.number, kind);
                limits.push(LimitUse {
                    limit: Limit {
                        owner: Some(Arc::clone(&cgroup.path)),
                        device: Arc::clone(device),
                        direction,
                        unit,
                        value: value as f64 / unit.size(),
                        source,
                    },
                    rate: limited_amount(&delta.counted, kind).0 as f64 / unit.size() / elapsed_s,
                    is_reached: self.reached.contains(&key),
                    is_near: history.is_near(&key),
                    is_waited_for: history.is_waited_for(&key),
                });
            }
            let rates = IoRates::of(&delta.own, elapsed_s);
            let cgroup_use = CgroupUse {
                path: Arc::clone(&cgroup.path),
                rates,
                share_pct: None,
                limits,
            };
            by_device.entry(delta.number).or_default().push(cgroup_use);
        }
        let mut before = HashMap::new();
        for device in &older.devices {
            before.insert(device.name.as_str(), device.io);
        }
        let mut uses = Vec::new();
        for device in &newer.devices {
            let before = before.get(device.name.as_str()).copied();
            let total = IoRates::of(
                &device.io.growth_since(&before.unwrap_or_default()),
                elapsed_s,
            );
            let mut cgroups = by_device.remove(&device.number).unwrap_or_default();
            complete_shares(&mut cgroups, &total);
            // A device that does nothing although someone waits for it.
            let is_waited_for = self
                .blocked
                .iter()
                .any(|task| task.device.as_ref() == Some(&device.name));
            if total != IoRates::default() || !cgroups.is_empty() || is_waited_for {
                uses.push(DeviceUse {
                    number: device.number,
                    name: Arc::clone(&names[&device.number]),
                    total,
                    cgroups,
                    programs: Vec::new(),
                });
            }
        }
        uses.sort_by(|a, b| a.name.cmp(&b.name));
        uses
    }
}

/// Returns the counters of each cgroup of a scan.
fn counters_by_path(scan: &IoScan) -> Counted {
    scan.cgroups
        .iter()
        .map(|cgroup| (Arc::clone(&cgroup.path), cgroup.devices.clone()))
        .collect()
}

/// Returns the pressure of each cgroup of a scan that has one.
fn pressures_by_path(scan: &IoScan) -> HashMap<&str, Pressure> {
    scan.cgroups
        .iter()
        .filter_map(|cgroup| Some((&*cgroup.path, cgroup.pressure?)))
        .collect()
}

/// Returns the limits of a cgroup on a device.
fn limits_on(cgroup: &Cgroup, number: DeviceNumber) -> IoLimits {
    let device = cgroup.devices.iter().find(|device| device.number == number);
    device.map(|device| device.limits).unwrap_or_default()
}

/// Returns whether tasks of a cgroup have waited for I/O between two scans: its pressure has risen, or one of its tasks
/// is in uninterruptible sleep.
fn has_waited(cgroup: &Cgroup, older: &HashMap<&str, Pressure>, newer: &IoScan) -> bool {
    let before = older.get(&*cgroup.path);
    let has_pressure = cgroup
        .pressure
        .zip(before)
        .is_some_and(|(now, before)| now.some_us > before.some_us);
    let is_inside = |task: &BlockedTask| {
        task.cgroup
            .as_deref()
            .is_some_and(|path| is_in_cgroup(&cgroup.path, path))
    };
    has_pressure || newer.blocked.iter().flatten().any(is_inside)
}

/// Returns whether the cgroup `path` is `outer` or one of its descendants.
pub fn is_in_cgroup(outer: &str, path: &str) -> bool {
    let outer = outer.trim_end_matches('/');
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Sorts the cgroups of a device by bytes, and sets their shares. Cgroups count bytes on submission, devices on
/// completion, so the sum of the cgroups may be slightly larger.
fn complete_shares(cgroups: &mut [CgroupUse], total: &IoRates) {
    let sum: f64 = cgroups
        .iter()
        .map(|cgroup| cgroup.rates.bytes_per_s())
        .sum();
    let all = total.bytes_per_s().max(sum);
    for cgroup in cgroups.iter_mut() {
        cgroup.share_pct = (all > 0.0).then(|| 100.0 * cgroup.rates.bytes_per_s() / all);
    }
    cgroups.sort_by(|a, b| {
        b.rates
            .bytes_per_s()
            .total_cmp(&a.rates.bytes_per_s())
            .then_with(|| a.path.cmp(&b.path))
    });
}

/// The growth of the counters of a cgroup on a device.
struct CgroupDelta {
    /// The position of the cgroup in the newer scan.
    cgroup: usize,
    number: DeviceNumber,
    /// The I/O that the kernel counts and limits: in version 2, it includes that of descendants.
    counted: IoCounters,
    /// Its own I/O, without descendants.
    own: IoCounters,
    /// True if its counters were known before and none of them went back.
    continues: bool,
}

/// The amount by which the counters of each cgroup's children were ahead of its own at the last reading: the files are
/// read one after the other, the parent first.
type AheadOfParents = HashMap<(Arc<str>, DeviceNumber), IoCounters>;

/// The counters of each cgroup at one time, by path.
type Counted = HashMap<Arc<str>, Vec<CgroupDevice>>;

/// Adds the cgroups that a scan found to those of an earlier scan, because it is not known over which time their
/// counters grew before.
fn add_new_cgroups(scan: &IoScan, before: &mut Counted) {
    let new = scan.cgroups.iter().filter(|cgroup| cgroup.is_new);
    before.extend(new.map(|cgroup| (Arc::clone(&cgroup.path), cgroup.devices.clone())));
}

/// Returns the growth of each cgroup's counters. The counters of a cgroup that is not in `before` were zero. I/O by
/// which the children were ahead is not attributed to the parent; `ahead` is set to the state of the newer scan.
fn cgroup_deltas(before: &Counted, newer: &IoScan, ahead: &mut AheadOfParents) -> Vec<CgroupDelta> {
    let mut deltas = Vec::new();
    // The index in `deltas` of each cgroup on each device.
    let mut positions: HashMap<(&str, DeviceNumber), usize> = HashMap::new();
    for (at, cgroup) in newer.cgroups.iter().enumerate() {
        let old_devices = before.get(&cgroup.path).map_or(&[][..], Vec::as_slice);
        for device in &cgroup.devices {
            let old = old_devices.iter().find(|old| old.number == device.number);
            let old = old.map(|old| old.io);
            let counted = device.io.growth_since(&old.unwrap_or_default());
            let continues = old.is_some_and(|old| old.plus(&counted) == device.io);
            positions.insert((&cgroup.path, device.number), deltas.len());
            deltas.push(CgroupDelta {
                cgroup: at,
                number: device.number,
                counted,
                own: counted,
                continues,
            });
        }
    }
    if newer.hierarchy == Some(CgroupHierarchy::V2) {
        subtract_children(newer, &positions, ahead, &mut deltas);
    }
    deltas
}

/// Subtracts the growth of each cgroup from that of the nearest cgroup above that has counters.
fn subtract_children(
    scan: &IoScan,
    positions: &HashMap<(&str, DeviceNumber), usize>,
    ahead: &mut AheadOfParents,
    deltas: &mut [CgroupDelta],
) {
    // The growth to subtract from each parent, and `true` if all counters below it were known before.
    let mut below: HashMap<usize, (IoCounters, bool)> = HashMap::new();
    for CgroupDelta {
        cgroup,
        number,
        counted,
        continues,
        ..
    } in &*deltas
    {
        let path = &scan.cgroups[*cgroup].path;
        let mut above = parents(path).filter_map(|path| positions.get(&(path, *number)));
        if let Some(parent) = above.next() {
            let (sum, all_continue) = below
                .entry(*parent)
                .or_insert((IoCounters::default(), true));
            *sum = sum.plus(counted);
            *all_continue &= *continues;
        }
    }
    let mut before = std::mem::take(ahead);
    for (parent, (sum, all_continue)) in below {
        let delta = &mut deltas[parent];
        let key = (Arc::clone(&scan.cgroups[delta.cgroup].path), delta.number);
        let sum = sum.plus(&before.remove(&key).unwrap_or_default());
        delta.own = delta.counted.minus(&sum);
        let still_ahead = sum.minus(&delta.counted);
        if all_continue && delta.continues && still_ahead != IoCounters::default() {
            ahead.insert(key, still_ahead);
        }
    }
}

/// Returns the paths of the cgroups above one, nearest first, without the root.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/')
        .map(|(end, _)| &path[..end])
        .filter(|parent| !parent.is_empty())
}

/// Reads and writes per second. For a device they are requests; for a cgroup they are bios, several of which the kernel
/// may merge into one request. Only bytes can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IoRates {
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    pub read_bytes_per_s: f64,
    pub write_bytes_per_s: f64,
}

impl IoRates {
    /// Returns the rates of counters that grew by `delta` in some seconds.
    fn of(delta: &IoCounters, elapsed_s: f64) -> Self {
        Self {
            reads_per_s: delta.reads as f64 / elapsed_s,
            writes_per_s: delta.writes as f64 / elapsed_s,
            read_bytes_per_s: delta.read_bytes as f64 / elapsed_s,
            write_bytes_per_s: delta.write_bytes as f64 / elapsed_s,
        }
    }

    /// Returns bytes read and written per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.read_bytes_per_s + self.write_bytes_per_s
    }

    /// Returns reads and writes per second.
    pub fn ios_per_s(&self) -> f64 {
        self.reads_per_s + self.writes_per_s
    }
}

/// The fraction of a limit from which it counts as reached.
const MIN_REACHED_FRACTION: f64 = 0.98;
/// The multiple of a limit above which it is not in force, unless tasks wait.
const MAX_REACHED_RATIO: f64 = 1.1;
/// The fraction from which a limit is near: a process that sends one request after the other does other things, too, while
/// no request of it waits.
const NEAR_FRACTION: f64 = 0.8;
/// The intervals over which a limit must have been reached.
const INTERVALS: usize = 3;
/// The number of requests from which a tolerance of one request is small: of the 15 that a limit of 5 permits in three
/// seconds, 14 are 93%. If three intervals permit fewer, all intervals since the limit seems to be reached are checked,
/// too.
const MIN_REQUESTS: f64 = 50.0;
/// The most intervals that are checked.
const MAX_INTERVALS: usize = 10;
/// The kernel grants a tenth of the limit, rounded down, in each tenth of a second: a limit of 777 becomes 770 per
/// second, one of 19 becomes 10 (blk-throttle's slices; measured on Linux 6.18 with limits of 5 to 1234).
const SLICES_PER_S: u64 = 10;

/// What the limits of [`IoLimits`] are on, in their order.
const LIMITED: [(IoDirection, RateUnit); 4] = [
    (IoDirection::Reads, RateUnit::Requests),
    (IoDirection::Writes, RateUnit::Requests),
    (IoDirection::Reads, RateUnit::Kib),
    (IoDirection::Writes, RateUnit::Kib),
];

/// The limits that are set, in requests or bytes per second.
fn limits_set(limits: &IoLimits) -> impl Iterator<Item = ((IoDirection, RateUnit), u64)> + use<> {
    LIMITED
        .into_iter()
        .zip(*limits)
        .filter_map(|(kind, value)| Some((kind, value?)))
}

/// The requests or bytes to which a limit of a cgroup applies, and how much of them a request is on average.
fn limited_amount(io: &IoCounters, (direction, unit): (IoDirection, RateUnit)) -> (u64, f64) {
    let (requests, bytes) = match direction {
        IoDirection::Reads => (io.reads, io.read_bytes),
        _ => (io.writes, io.write_bytes),
    };
    match unit {
        RateUnit::Requests => (requests, 1.0),
        RateUnit::Kib => (bytes, bytes as f64 / requests.max(1) as f64),
    }
}

/// The use of a limit in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitUse {
    pub limit: Limit,
    /// The rate that it applies to, in its unit per second: in version 2, it includes that of descendants.
    pub rate: f64,
    /// The rate has been at the limit for three intervals, or tasks have waited while the limit permits less than one
    /// request in an interval.
    pub is_reached: bool,
    /// The rate over the last three intervals has been near the limit.
    pub is_near: bool,
    /// It has been half of the limit or more, and tasks of the cgroup have waited in each of them.
    pub is_waited_for: bool,
}

/// The use of a limit in one interval.
#[derive(Clone, Copy, Debug)]
struct Observed {
    value: u64,
    elapsed_s: f64,
    amount: u64,
    request: f64,
    is_waiting: bool,
}

impl Observed {
    /// Returns the amount that the limit permits in the interval.
    fn permitted(&self) -> f64 {
        self.value as f64 * self.elapsed_s
    }

    /// Returns whether the limit permits less than one request in the interval.
    fn permits_no_request(&self) -> bool {
        self.permitted() < self.request
    }

    /// Returns the amount of a slice. All of it is granted at the beginning of the slice, which may be in the interval
    /// before or after.
    fn slice(&self) -> f64 {
        self.value as f64 / SLICES_PER_S as f64
    }

    /// Returns whether the amount is what the limit permits in the interval, less at most one request or `missing`.
    fn is_at_limit(&self, missing: f64) -> bool {
        self.reaches(MIN_REACHED_FRACTION, missing)
    }

    /// Returns whether the amount is this fraction of what the limit permits or more, less at most one request or `missing`.
    fn reaches(&self, fraction: f64, missing: f64) -> bool {
        if self.permits_no_request() {
            return self.is_waiting;
        }
        let by_slices = (self.value / SLICES_PER_S * SLICES_PER_S) as f64 * self.elapsed_s;
        let least = if by_slices > 0.0 {
            by_slices
        } else {
            self.permitted()
        };
        let least = fraction * least - missing.max(self.request);
        let most = MAX_REACHED_RATIO * self.permitted() + self.slice().max(self.request);
        let amount = self.amount as f64;
        // Version 1 counts a request that it holds back again and again, twice its limit and more. A task then waits.
        amount >= least && (amount <= most || self.is_waiting)
    }

    /// Returns consecutive intervals as one; `None` if there are none.
    fn sum(intervals: &[Self]) -> Option<Self> {
        let elapsed_s = intervals.iter().map(|observed| observed.elapsed_s).sum();
        let amount = intervals.iter().map(|observed| observed.amount).sum();
        intervals.last().map(|last| Self {
            elapsed_s,
            amount,
            ..*last
        })
    }
}

/// A limit: the cgroup, the device and the kind.
type LimitKey = (Arc<str>, DeviceNumber, (IoDirection, RateUnit));

/// Follows the use of limits over several intervals.
#[derive(Default)]
struct LimitHistory {
    recent: HashMap<LimitKey, Vec<Observed>>,
    /// The uses in the present interval.
    current: HashMap<LimitKey, Vec<Observed>>,
}

impl LimitHistory {
    /// Adds an interval of a cgroup on a device, whose counters grew by `delta`; `is_waiting` if one of its tasks has
    /// waited for I/O.
    fn observe(
        &mut self,
        (path, number): (&Arc<str>, DeviceNumber),
        limits: &IoLimits,
        (delta, elapsed_s): (&IoCounters, f64),
        is_waiting: bool,
    ) {
        for (kind, value) in limits_set(limits) {
            let (amount, request) = limited_amount(delta, kind);
            let key = (Arc::clone(path), number, kind);
            let mut recent = self.recent.remove(&key).unwrap_or_default();
            // A limit that was changed was not reached before.
            recent.retain(|before| before.value == value);
            if recent.len() == MAX_INTERVALS {
                recent.remove(0);
            }
            // Without a request, requests are assumed to be as large as before.
            let request = if amount > 0 {
                request
            } else {
                recent.last().map_or(request, |last| last.request)
            };
            recent.push(Observed {
                value,
                elapsed_s,
                amount,
                request,
                is_waiting,
            });
            self.current.insert(key, recent);
        }
    }

    /// Ends an interval. Cgroups that were not observed in it are forgotten.
    fn end_interval(&mut self) {
        self.recent = std::mem::take(&mut self.current);
    }

    /// Returns the limits that have been reached.
    fn reached(&self) -> impl Iterator<Item = LimitKey> {
        self.recent
            .iter()
            .filter(|(_, recent)| is_reached(recent))
            .map(|(key, _)| key.clone())
    }

    /// Returns whether the rate over the last three intervals is near a limit.
    fn is_near(&self, key: &LimitKey) -> bool {
        let sum = self.latest(key).and_then(Observed::sum);
        sum.is_some_and(|sum| sum.amount > 0 && sum.reaches(NEAR_FRACTION, 0.0))
    }

    /// Returns whether the rate over the last three intervals is half of a limit or more while tasks waited in each.
    fn is_waited_for(&self, key: &LimitKey) -> bool {
        let Some(latest) = self.latest(key) else {
            return false;
        };
        let sum = Observed::sum(latest);
        latest.iter().all(|observed| observed.is_waiting)
            && sum.is_some_and(|sum| sum.reaches(MIN_WAITING_FRACTION, 0.0))
    }

    /// The use of a limit in the last three intervals; `None` if it is not known for that long.
    fn latest(&self, key: &LimitKey) -> Option<&[Observed]> {
        let recent = self.recent.get(key)?;
        let begin = recent.len().checked_sub(INTERVALS)?;
        Some(&recent[begin..])
    }
}

/// The fraction of a limit from which it may hold a cgroup back whose tasks wait: one that sends a request, waits for it, and
/// has other work in between comes no nearer.
const MIN_WAITING_FRACTION: f64 = 0.5;

/// Returns whether a limit has been reached in each of the last three intervals and in these together. If they permit
/// only few requests, it must also have been reached in all intervals since it seems to be reached.
fn is_reached(recent: &[Observed]) -> bool {
    let is_near_limit = |observed: &Observed| observed.is_at_limit(observed.slice());
    let begin = recent
        .iter()
        .rposition(|observed| !is_near_limit(observed))
        .map_or(0, |before| before + 1);
    let run = &recent[begin..];
    let Some(begin_of_last) = run.len().checked_sub(INTERVALS) else {
        return false;
    };
    let last = &run[begin_of_last..];
    // If there was no request, the reason must be that the limit permits none.
    if last.iter().all(|observed| observed.amount == 0) {
        return last.iter().all(Observed::permits_no_request);
    }
    let is_at_limit =
        |observed: &[Observed]| Observed::sum(observed).is_some_and(|sum| sum.is_at_limit(0.0));
    let are_many = |sum: Observed| sum.permitted() >= MIN_REQUESTS * sum.request;
    // The limit may have been reached only during the first interval of the run.
    let all = if begin_of_last > 0 { &run[1..] } else { run };
    is_at_limit(last) && (Observed::sum(last).is_some_and(are_many) || is_at_limit(all))
}

/// The fraction of a device's bytes or requests that cgroups at their limits must have for their limits to hold the
/// device back: with less, most of its requests do not wait for a limit.
const MIN_SHARE: f64 = 0.5;

/// The fraction of a device's requests from which others than the limited cgroups use it, too.
const MIN_OTHERS_SHARE: f64 = 0.1;

/// The fractions of a limit between which a limit that has held a device back goes on to do so, without a rate that is
/// exactly at it in three intervals: the load may be a little uneven, and scans come late.
const STILL_REACHED: [f64; 2] = [0.5, 2.0];
const SMALLEST_REQUEST_KIB: f64 = 4.0;

/// How requests wait at a device, or for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// Nothing was in flight or completed.
    pub is_idle: bool,
    /// Requests wait between the device and those below it.
    pub is_held: bool,
    /// Tasks wait for I/O that no device shows.
    pub are_hidden: bool,
}

/// A limit that a cgroup has reached, as seen from a device that it is on, or that lies above that one.
#[derive(Clone, Debug, PartialEq)]
pub struct ReachedLimit {
    pub limit: Limit,
    /// The share of the device's bytes, in percent, of the cgroup and all others that the limit applies to; `None`
    /// without bytes.
    pub share_pct: Option<f64>,
    /// True if the limits that were reached hold the device back: its requests wait above the device with the limit, or the
    /// cgroups have at least half of its bytes or requests and others don't use it or wait as well.
    pub holds_device: bool,
    /// True if tasks outside of the cgroups at limits wait for long.
    pub others_wait: bool,
}

impl Attribution {
    /// Returns the limit that holds the requests of a device back, or that of the cgroup with most of its bytes among
    /// those at a limit. The limits are on the device itself or on those `below` it. `None` if no cgroup that uses the
    /// device has reached one; if the device is not idle but completes nothing, or its requests are held above those below
    /// (`is_held`), it may be any that is seen on no other device: the kernel charges some writes to another cgroup. Where
    /// they are held, the rate need only be near the limit if all tasks that wait are in the cgroup.
    pub fn reached_limit(
        &self,
        device: &str,
        below: &[String],
        waits: Waits,
    ) -> Option<ReachedLimit> {
        let Waits {
            is_idle,
            is_held,
            are_hidden,
        } = waits;
        let hierarchy = self.hierarchy?;
        let none = DeviceUse::default();
        let usage = self.device(device).unwrap_or(&none);
        let limited = [device].into_iter().chain(below.iter().map(String::as_str));
        let candidates: Vec<&Limit> = limited
            .flat_map(|name| self.reached_on(name, is_held, are_hidden))
            .collect();
        let applies = |limit: &Limit, path: &str| {
            limit.owner.as_deref().is_some_and(|owner| match hierarchy {
                CgroupHierarchy::V1 => owner == path,
                CgroupHierarchy::V2 => is_in_cgroup(owner, path),
            })
        };
        let share =
            |is_limited: &dyn Fn(&str) -> bool, amount: fn(&CgroupUse) -> f64, total: f64| {
                let held: f64 = usage
                    .cgroups
                    .iter()
                    .filter(|cgroup| is_limited(&cgroup.path))
                    .map(amount)
                    .sum();
                let all: f64 = usage.cgroups.iter().map(amount).sum();
                let all = total.max(all);
                (all > 0.0).then(|| held / all)
            };
        let bytes = |is_limited: &dyn Fn(&str) -> bool| {
            share(
                is_limited,
                |cgroup| cgroup.rates.bytes_per_s(),
                usage.total.bytes_per_s(),
            )
        };
        let requests = |is_limited: &dyn Fn(&str) -> bool| {
            share(
                is_limited,
                |cgroup| cgroup.rates.ios_per_s(),
                usage.total.ios_per_s(),
            )
        };
        let share_of = |limit: &Limit| bytes(&|path| applies(limit, path)).unwrap_or_default();
        let first = *candidates.iter().max_by(|a, b| {
            // Among the limits of one cgroup, the one on the device itself.
            share_of(a)
                .total_cmp(&share_of(b))
                .then_with(|| (&*a.device == device).cmp(&(&*b.device == device)))
        })?;
        let is_any = |path: &str| candidates.iter().any(|limit| applies(limit, path));
        let is_much = |share: Option<f64>| share.is_some_and(|share| share >= MIN_SHARE);
        let others = self
            .devices
            .iter()
            .filter(|other| &*other.name != device && other.name != first.device);
        let mut uses = others.flat_map(|other| &other.cgroups);
        let is_elsewhere = uses
            .any(|used| first.owner.as_ref() == Some(&used.path) && used.rates.ios_per_s() > 0.0);
        // Where nothing completes, no cgroup is seen to use the device.
        let is_unused =
            !is_idle && usage.total.ios_per_s() == 0.0 && usage.cgroups.is_empty() && !is_elsewhere;
        let is_held = is_held && &*first.device != device && !is_elsewhere;
        let uses_device =
            is_unused || is_held || usage.cgroups.iter().any(|cgroup| is_any(&cgroup.path));
        let mut waiting = self
            .blocked
            .iter()
            .filter_map(|task| task.cgroup.as_deref())
            .peekable();
        let are_all_waiting_limited = waiting.peek().is_some() && waiting.all(is_any);
        let others_wait = self.blocked.iter().any(|task| {
            let path = task.cgroup.as_deref().unwrap_or("/");
            task.goes_on_waiting() && !task.is_kernel && !is_any(path)
        });
        let has_most = is_much(bytes(&is_any)) || is_much(requests(&is_any));
        let holds_device = is_held
            || has_most && (others_wait || !is_shared(usage, is_any))
            || is_unused && are_all_waiting_limited;
        uses_device.then(|| ReachedLimit {
            limit: first.clone(),
            share_pct: bytes(&|path| applies(first, path)).map(|share| 100.0 * share),
            holds_device,
            others_wait,
        })
    }

    /// Returns a limit on these devices that permits less than a request per second. Requests that wait for it are in no
    /// counter, and asynchronous ones block no task: it is the cause if a device above has requests in flight of which none
    /// completes, while these devices have none.
    pub fn blocking_limit<'a>(
        &'a self,
        limited: impl IntoIterator<Item = &'a String>,
    ) -> Option<&'a Limit> {
        limited
            .into_iter()
            .flat_map(|name| self.limit_uses(name))
            .map(|used| &used.limit)
            .find(|limit| permits_no_request(limit))
    }

    /// Returns whether a limit that has held a device back still does: it is still set, and the rate is near it or, where
    /// it permits less than a request per second, the device is in trouble.
    pub fn still_holds(&self, known: &Limit, is_in_trouble: bool) -> bool {
        let still = STILL_REACHED[0] * known.value..=STILL_REACHED[1] * known.value;
        self.limit_uses(&known.device)
            .filter(|used| used.limit == *known)
            .any(|used| {
                used.is_reached
                    || used.is_near
                    || used.is_waited_for
                    || still.contains(&used.rate)
                    || permits_no_request(known) && is_in_trouble
            })
    }

    /// Returns the use of a device by the kernel's name; `None` if it had no I/O and no limits.
    pub fn device(&self, name: &str) -> Option<&DeviceUse> {
        let place = self
            .devices
            .binary_search_by(|device| (*device.name).cmp(name));
        Some(&self.devices[place.ok()?])
    }

    /// The use of all limits on a device.
    fn limit_uses(&self, name: &str) -> impl Iterator<Item = &LimitUse> {
        self.device(name)
            .into_iter()
            .flat_map(|device| &device.cgroups)
            .flat_map(|cgroup| &cgroup.limits)
    }

    fn reached_on(
        &self,
        name: &str,
        is_held: bool,
        are_hidden: bool,
    ) -> impl Iterator<Item = &Limit> {
        let cgroups = self
            .device(name)
            .into_iter()
            .flat_map(|device| &device.cgroups);
        // Threads of the kernel, which write journals for others, are in the root.
        let has_all_waiting = |path: &str| {
            let paths = self
                .blocked
                .iter()
                .filter_map(|task| task.cgroup.as_deref());
            let mut waiting = paths.filter(|path| *path != "/").peekable();
            waiting.peek().is_some() && waiting.all(|task| is_in_cgroup(path, task))
        };
        cgroups.flat_map(move |cgroup| {
            let suffices_near = (is_held || are_hidden) && has_all_waiting(&cgroup.path);
            let reached = cgroup.limits.iter().filter(move |used| {
                used.is_reached || suffices_near && used.is_near || are_hidden && used.is_waited_for
            });
            reached.map(|used| &used.limit)
        })
    }
}

/// Returns whether cgroups without a limit that was reached use a device, too. Without others, the limit holds back whoever
/// the device is for; with others that don't wait, it does what it is for.
fn is_shared(usage: &DeviceUse, is_limited: impl Fn(&str) -> bool) -> bool {
    let mut others_per_s = 0.0;
    for cgroup in &usage.cgroups {
        if !is_limited(&cgroup.path) {
            // The root has the journals of file systems, which are written for others.
            others_per_s += match &*cgroup.path {
                "/" => cgroup.rates.reads_per_s,
                _ => cgroup.rates.ios_per_s(),
            };
        }
    }
    others_per_s >= MIN_OTHERS_SHARE * usage.total.ios_per_s()
}

fn permits_no_request(limit: &Limit) -> bool {
    limit.unit == RateUnit::Kib && limit.value < SMALLEST_REQUEST_KIB
}

#[cfg(test)]
mod attributor_tests {
    use std::time::Duration;

    use super::*;
    use crate::counters::{CgroupDevice, IoCounters, ScannedDevice};

    fn io(read_bytes: u64) -> IoCounters {
        IoCounters {
            read_bytes,
            reads: read_bytes / 4096,
            ..IoCounters::default()
        }
    }

    fn cgroup(path: &str, read_bytes: u64) -> Cgroup {
        let device = CgroupDevice {
            number: (8, 0),
            io: io(read_bytes),
            limits: IoLimits::default(),
        };
        Cgroup {
            path: path.into(),
            is_new: false,
            devices: vec![device],
            pressure: None,
        }
    }

    fn scan(at_s: u64, device_bytes: u64, cgroups: &[(&str, u64)]) -> IoScan {
        IoScan {
            at: Duration::from_secs(at_s),
            devices: vec![ScannedDevice {
                number: (8, 0),
                name: "sda".into(),
                io: io(device_bytes),
            }],
            hierarchy: Some(CgroupHierarchy::V2),
            cgroups: cgroups
                .iter()
                .map(|(path, bytes)| cgroup(path, *bytes))
                .collect(),
            ..IoScan::default()
        }
    }

    /// Returns the path and the share in percent of each cgroup between two scans, and the unattributed share.
    fn shares(older: IoScan, newer: IoScan) -> (Vec<(String, f64)>, Option<f64>) {
        let mut attributor = Attributor::default();
        attributor.observe(&Arc::new(older));
        assert_eq!(attributor.finish_interval(), None);
        attributor.observe(&Arc::new(newer));
        let device = attributor.finish_interval().unwrap().devices.remove(0);
        let shares = device
            .cgroups
            .iter()
            .map(|cgroup| (cgroup.path.to_string(), cgroup.share_pct.unwrap()));
        (shares.collect(), device.unattributed_pct())
    }

    fn named(expected: &[(&str, f64)]) -> Vec<(String, f64)> {
        expected
            .iter()
            .map(|(path, share)| ((*path).to_owned(), *share))
            .collect()
    }

    #[test]
    fn the_io_of_children_is_not_that_of_their_parent() {
        let older = scan(0, 0, &[("/s", 0), ("/s/db", 0), ("/s/db/w", 0), ("/t", 0)]);
        let newer = scan(
            2,
            1000,
            &[("/s", 800), ("/s/db", 700), ("/s/db/w", 100), ("/t", 100)],
        );
        let expected = named(&[
            ("/s/db", 60.0),
            ("/s", 10.0),
            ("/s/db/w", 10.0),
            ("/t", 10.0),
        ]);
        assert_eq!(shares(older, newer), (expected, Some(10.0)));
    }

    #[test]
    fn a_child_that_was_read_after_its_parent_leaves_it_no_io_of_its_own() {
        let mut attributor = Attributor::default();
        attributor.observe(&Arc::new(scan(0, 0, &[("/s", 0), ("/s/db", 0)])));
        let mut own = Vec::new();
        for (at_s, parent, child) in [
            (1, 900, 950),
            (2, 1900, 1950),
            (3, 3000, 3000),
            (4, 4100, 4000),
        ] {
            attributor.observe(&Arc::new(scan(
                at_s,
                parent,
                &[("/s", parent), ("/s/db", child)],
            )));
            let device = attributor.finish_interval().unwrap().devices.remove(0);
            let of_parent = device.cgroups.iter().find(|cgroup| &*cgroup.path == "/s");
            own.push(of_parent.map(|cgroup| cgroup.rates.read_bytes_per_s));
        }
        assert_eq!(own, [None, None, None, Some(100.0)]);
    }

    #[test]
    fn in_version_1_each_cgroup_counts_for_itself() {
        let v1 = |scan| IoScan {
            hierarchy: Some(CgroupHierarchy::V1),
            ..scan
        };
        let older = v1(scan(0, 0, &[("/", 0), ("/db", 0), ("/db/w", 0)]));
        let newer = v1(scan(1, 1000, &[("/", 250), ("/db", 500), ("/db/w", 250)]));
        let expected = named(&[("/db", 50.0), ("/", 25.0), ("/db/w", 25.0)]);
        assert_eq!(shares(older, newer), (expected, Some(0.0)));
    }

    #[test]
    fn cgroups_come_and_go_without_huge_numbers() {
        let older = scan(0, 0, &[("/s", 5000), ("/s/gone", 4000)]);
        let mut newer = scan(
            1,
            1000,
            &[("/s", 6000), ("/s/new", 3000), ("/s/first", 400)],
        );
        newer.cgroups[1].is_new = true;
        // The time over which the new cgroup read is not known, so its parent gets its bytes.
        assert_eq!(
            shares(older, newer),
            (named(&[("/s", 60.0), ("/s/first", 40.0)]), Some(0.0))
        );
        // A cgroup of the same name was created again, and a device of the same name came back.
        let newer = scan(1, 400, &[("/s", 300)]);
        assert_eq!(
            shares(scan(0, 9000, &[("/s", 5000)]), newer),
            (named(&[("/s", 75.0)]), Some(25.0))
        );
    }

    #[test]
    fn the_sum_of_the_shares_is_at_most_100() {
        let newer = scan(1, 900, &[("/a", 750), ("/b", 250)]);
        let expected = named(&[("/a", 75.0), ("/b", 25.0)]);
        assert_eq!(
            shares(scan(0, 0, &[("/a", 0), ("/b", 0)]), newer),
            (expected, Some(0.0))
        );
    }

    #[test]
    fn a_scan_that_was_taken_before_gives_nothing() {
        let mut attributor = Attributor::default();
        let scan = Arc::new(scan(1, 0, &[]));
        for _ in 0..2 {
            attributor.observe(&scan);
            assert_eq!(attributor.finish_interval(), None);
        }
    }

    #[test]
    fn descendants_wait_at_the_limit_of_their_parent_where_it_applies_to_them() {
        let limited = |at_s, reads: u64| {
            let mut scan = scan(
                at_s,
                reads * 4096,
                &[("/db", reads * 4096), ("/db/w", reads * 4096)],
            );
            scan.cgroups[0].devices[0].limits[0] = Some(50);
            Arc::new(scan)
        };
        let mut attributor = Attributor::default();
        let reached: Vec<Option<bool>> = (0..4)
            .map(|at_s| {
                attributor.observe(&limited(at_s, at_s * 50));
                let attribution = attributor.finish_interval()?;
                let db = attribution.devices[0]
                    .cgroups
                    .iter()
                    .find(|cgroup| &*cgroup.path == "/db")?;
                assert_eq!((db.limits[0].rate, db.rates.reads_per_s), (50.0, 0.0));
                Some(db.limits[0].is_reached)
            })
            .collect();
        assert_eq!(reached, [None, Some(false), Some(false), Some(true)]);
    }

    #[test]
    fn an_interval_of_several_scans_has_the_rates_of_all_and_the_limits_of_any() {
        let limited = |at_s, reads: u64| {
            let mut scan = scan(at_s, reads * 4096, &[("/db", reads * 4096)]);
            scan.cgroups[0].devices[0].limits[0] = Some(50);
            scan.blocked = (at_s == 2).then(|| {
                vec![BlockedTask {
                    tid: 7,
                    ..BlockedTask::default()
                }]
            });
            Arc::new(scan)
        };
        let mut attributor = Attributor::default();
        for (at_s, reads) in [(0, 0), (1, 50), (2, 100), (3, 150), (4, 160)] {
            attributor.observe(&limited(at_s, reads));
        }
        let attribution = attributor.finish_interval().unwrap();
        let db = &attribution.devices[0].cgroups[0];
        assert_eq!((attribution.elapsed_s, db.rates.reads_per_s), (4.0, 40.0));
        assert_eq!((db.limits[0].rate, db.limits[0].is_reached), (40.0, true));
        assert_eq!(attribution.blocked.len(), 1);
        attributor.observe(&limited(5, 160));
        let attribution = attributor.finish_interval().unwrap();
        assert!(
            !attribution.devices[0].cgroups[0].limits[0].is_reached
                && attribution.blocked.is_empty()
        );
    }

    #[test]
    fn a_waiting_task_is_that_of_every_cgroup_above() {
        let blocked = BlockedTask {
            cgroup: Some("/a/b".into()),
            ..BlockedTask::default()
        };
        let older = scan(0, 0, &[]);
        let newer = IoScan {
            blocked: Some(vec![blocked]),
            ..scan(1, 0, &[])
        };
        let waits = |path: &str| has_waited(&cgroup(path, 0), &pressures_by_path(&older), &newer);
        assert!(waits("/") && waits("/a") && waits("/a/b"));
        assert!(!waits("/a/b/c") && !waits("/a/bc") && !waits("/b"));
    }
}

#[cfg(test)]
mod limit_use_tests {
    use super::*;

    /// Returns whether a limit on reads per second counts as reached after intervals of a second with these reads.
    fn reached(limit: u64, reads: &[u64]) -> bool {
        reached_while(false, limit, reads)
    }

    fn reached_while(is_waiting: bool, limit: u64, reads: &[u64]) -> bool {
        let mut history = LimitHistory::default();
        let limits = [Some(limit), None, None, None];
        let path = Arc::from("/a");
        let observe = |reads: &u64| {
            let delta = IoCounters {
                reads: *reads,
                ..IoCounters::default()
            };
            history.observe((&path, (8, 0)), &limits, (&delta, 1.0), is_waiting);
            history.end_interval();
            history.reached().count() == 1
        };
        reads.iter().map(observe).last().unwrap()
    }

    #[test]
    fn a_limit_must_be_reached_in_three_intervals() {
        assert!(!reached(100, &[100, 100]) && reached(100, &[100, 100, 100]));
        assert!(!reached(100, &[100, 90, 100]) && reached(100, &[90, 100, 100, 100]));
        assert!(!reached(100, &[0, 0, 0]) && !reached(100, &[96, 96, 96]));
        assert!(!reached(100, &[200, 200, 200]), "it is not in force");
        // Linux 6.18 counts 128 writes per second of a cgroup of version 1 that may do 60, and its device does 60.
        assert!(reached_while(true, 60, &[128, 128, 128]));
    }

    #[test]
    fn a_process_that_also_does_other_things_than_wait_is_near_a_limit() {
        let near = |limit: u64, reads: &[u64]| {
            let mut history = LimitHistory::default();
            let limits = [Some(limit), None, None, None];
            let key = (
                Arc::from("/a"),
                (8, 0),
                (IoDirection::Reads, RateUnit::Requests),
            );
            for reads in reads {
                let delta = IoCounters {
                    reads: *reads,
                    ..IoCounters::default()
                };
                history.observe((&key.0, key.1), &limits, (&delta, 1.0), false);
                history.end_interval();
            }
            history.is_near(&key)
        };
        // Reads per second on Linux 6.12, and what is too few, or is above the limit.
        assert!(near(5, &[3, 4, 5]) && near(100, &[85, 80, 82]));
        assert!(!near(5, &[4, 5]) && !near(100, &[75, 80, 77]) && !near(100, &[140, 150, 130]));
    }

    #[test]
    fn requests_of_a_slice_may_be_counted_in_the_next_interval() {
        // Reads per second on Linux 6.18, scanned on a busy machine.
        assert!(reached(50, &[50, 55, 45]) && reached(50, &[55, 45, 51]));
        assert!(
            !reached(50, &[50, 43, 57]) && !reached(50, &[45, 45, 50]),
            "more than that"
        );
    }

    /// Returns the number of intervals in which a limit on reads per second counts as reached by reads that are issued
    /// one after another at a steady rate, at a time that shifts by a part of an interval.
    fn reached_by_pace(limit: u64, per_s: f64, interval_s: f64, shift: f64) -> usize {
        let mut history = LimitHistory::default();
        let limits = [Some(limit), None, None, None];
        let path = Arc::from("/a");
        let reads_until =
            |interval: u32| (per_s * interval_s * (f64::from(interval) + shift)) as u64;
        let observe = |interval: &u32| {
            let reads = reads_until(*interval) - reads_until(*interval - 1);
            let delta = IoCounters {
                reads,
                ..IoCounters::default()
            };
            history.observe((&path, (8, 0)), &limits, (&delta, interval_s), false);
            history.end_interval();
            history.reached().count() == 1
        };
        (1..=100).filter(observe).count()
    }

    #[test]
    fn a_steady_load_below_a_limit_does_not_reach_it() {
        for limit in [20, 50, 100, 250, 777, 2000, 40_000] {
            for part in [0.5, 0.8, 0.85, 0.9, 0.95] {
                let granted = (limit / 10 * 10) as f64;
                for shift in [0.0, 0.2, 0.5, 0.9] {
                    assert_eq!(
                        reached_by_pace(limit, part * granted, 1.0, shift),
                        0,
                        "{part} of {limit}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_steady_load_below_a_low_limit_seems_to_reach_it_only_at_first() {
        for (limit, interval_s) in [
            (5, 1.0),
            (6, 1.0),
            (9, 1.0),
            (50, 0.1),
            (60, 0.1),
            (20, 0.2),
        ] {
            for part in [0.5, 0.8, 0.85, 0.9] {
                for shift in [0.0, 0.2, 0.5, 0.9] {
                    let found = reached_by_pace(limit, part * limit as f64, interval_s, shift);
                    assert!(
                        found <= 3,
                        "{part} of {limit} in {interval_s} s: {found} of 100 intervals"
                    );
                }
            }
            assert!(
                reached_by_pace(limit, limit as f64, interval_s, 0.5) >= 98,
                "{limit}"
            );
        }
    }

    #[test]
    fn a_load_that_begins_during_an_interval_reaches_its_limit_after_three_more() {
        assert!(!reached(50, &[0, 44, 50, 50]) && reached(50, &[0, 44, 50, 50, 50]));
        assert!(
            !reached(5, &[0, 2, 5, 5])
                && reached(5, &[0, 2, 5, 5, 5])
                && reached(5, &[0, 4, 5, 5, 5])
        );
        assert!(
            reached(777, &[700, 720, 760, 770, 750]),
            "the last three of many requests count"
        );
    }

    #[test]
    fn slices_may_be_longer_than_intervals() {
        // Reads in tenths of a second: slices of five at times that differ from those of the scans.
        let mut history = LimitHistory::default();
        let limits = [Some(50), None, None, None];
        let path = Arc::from("/a");
        let mut observe = |reads: u64| {
            let delta = IoCounters {
                reads,
                ..IoCounters::default()
            };
            history.observe((&path, (8, 0)), &limits, (&delta, 0.1), false);
            history.end_interval();
            history.reached().count() == 1
        };
        assert_eq!(
            [5, 5, 5, 0, 10, 5, 5].map(&mut observe)[2..],
            [true, false, true, true, true]
        );
        assert_eq!([0, 0, 0].map(&mut observe), [false; 3]);
    }

    #[test]
    fn rates_that_the_kernel_grants_reach_the_limit() {
        // Reads per second that Linux 6.18 granted.
        for (limit, granted) in [
            (5, 5),
            (19, 10),
            (55, 50),
            (99, 90),
            (777, 770),
            (1234, 1230),
        ] {
            assert!(reached(limit, &[granted; 3]), "{limit}");
            let less = granted * 9 / 10 - 1;
            assert!(!reached(limit, &[less; 3]), "{limit}: {less}");
        }
    }

    #[test]
    fn one_request_more_or_less_is_permitted() {
        assert!(reached(50, &[49, 50, 51]) && reached(3, &[2, 4, 3]));
        assert!(
            !reached(3, &[2, 2, 2]),
            "two of three requests, again and again"
        );
    }

    #[test]
    fn with_less_than_a_request_permitted_waiting_tasks_are_the_evidence() {
        let mut history = LimitHistory::default();
        let limits = [None, None, None, Some(1000)];
        let mut observe = |bytes: u64, is_waiting| {
            let delta = IoCounters {
                write_bytes: bytes,
                writes: bytes / 4096,
                ..IoCounters::default()
            };
            history.observe(
                (&Arc::from("/a"), (8, 0)),
                &limits,
                (&delta, 1.0),
                is_waiting,
            );
            history.end_interval();
            history.reached().count() == 1
        };
        assert_eq!(
            [4096, 0, 0].map(|bytes| observe(bytes, true)),
            [false, false, true]
        );
        assert!(!observe(4096, false));
    }

    #[test]
    fn a_changed_limit_was_not_reached_before() {
        let mut history = LimitHistory::default();
        let path = Arc::from("/a");
        let mut observe = |limit| {
            let limits = [Some(limit), None, None, None];
            let delta = IoCounters {
                reads: limit,
                ..IoCounters::default()
            };
            history.observe((&path, (8, 0)), &limits, (&delta, 1.0), false);
            history.end_interval();
            history.reached().count() == 1
        };
        let found = [100, 100, 100, 50, 50, 50].map(&mut observe);
        assert_eq!(found, [false, false, true, false, false, true]);
    }
}

#[cfg(test)]
mod reached_limit_tests {
    use super::*;
    use crate::attribution::IoRates;
    use crate::counters::BlockedTask;

    fn cgroup(path: &str, bytes: f64, limit: Option<f64>) -> CgroupUse {
        let rates = IoRates {
            reads_per_s: bytes / 4096.0,
            read_bytes_per_s: bytes,
            ..IoRates::default()
        };
        let limits = limit.map(|value| LimitUse {
            limit: Limit {
                owner: Some(path.into()),
                device: "".into(),
                direction: IoDirection::Reads,
                unit: RateUnit::Requests,
                value,
                source: LimitSource::Cgroup(CgroupHierarchy::V2),
            },
            rate: value,
            is_reached: true,
            is_near: true,
            is_waited_for: false,
        });
        CgroupUse {
            path: path.into(),
            rates,
            share_pct: None,
            limits: limits.into_iter().collect(),
        }
    }

    fn waits(is_held: bool) -> Waits {
        Waits {
            is_held,
            ..Waits::default()
        }
    }

    fn device(name: &str, mut cgroups: Vec<CgroupUse>) -> DeviceUse {
        for used in cgroups.iter_mut().flat_map(|cgroup| &mut cgroup.limits) {
            used.limit.device = name.into();
        }
        let bytes: f64 = cgroups
            .iter()
            .map(|cgroup| cgroup.rates.read_bytes_per_s)
            .sum();
        let total = IoRates {
            reads_per_s: bytes / 4096.0,
            read_bytes_per_s: bytes,
            ..IoRates::default()
        };
        DeviceUse {
            name: name.into(),
            total,
            cgroups,
            ..DeviceUse::default()
        }
    }

    fn attribution(mut devices: Vec<DeviceUse>) -> Attribution {
        devices.sort_by(|a, b| a.name.cmp(&b.name));
        Attribution {
            hierarchy: Some(CgroupHierarchy::V2),
            devices,
            ..Attribution::default()
        }
    }

    fn held(
        attribution: &Attribution,
        name: &str,
        below: &[&str],
    ) -> Option<(String, Option<f64>, bool)> {
        let below: Vec<String> = below.iter().map(|name| (*name).to_owned()).collect();
        let reached = attribution.reached_limit(name, &below, Waits::default())?;
        Some((
            format!("{} on {}", reached.limit.owner?, reached.limit.device),
            reached.share_pct,
            reached.holds_device,
        ))
    }

    #[test]
    fn a_limit_of_less_than_a_request_blocks_whoever_is_in_flight_above() {
        let mut limited = cgroup("/db", 0.0, Some(100.0));
        let attribution =
            |limited: &CgroupUse| attribution(vec![device("sda", vec![limited.clone()])]);
        let below = ["sda".to_owned()];
        assert_eq!(attribution(&limited).blocking_limit(&below), None);
        let used = &mut limited.limits[0];
        (used.limit.unit, used.limit.value) = (RateUnit::Kib, 0.1);
        (used.is_reached, used.is_near, used.rate) = (false, false, 0.0);
        let found = attribution(&limited);
        let limit = found.blocking_limit(&below).unwrap();
        assert_eq!(limit.owner.as_deref(), Some("/db"));
        assert!(found.still_holds(limit, true) && !found.still_holds(limit, false));
        limited.limits[0].limit.value = 1024.0;
        assert_eq!(attribution(&limited).blocking_limit(&below), None);
    }

    #[test]
    fn cgroups_at_their_limit_hold_a_device_back_if_most_of_it_is_theirs() {
        let of = |db, other| {
            attribution(vec![device(
                "sda",
                vec![cgroup("/db", db, Some(50.0)), cgroup("/other", other, None)],
            )])
        };
        let found = |share, holds| Some(("/db on sda".to_owned(), Some(share), holds));
        assert_eq!(held(&of(95.0, 5.0), "sda", &[]), found(95.0, true));
        assert_eq!(held(&of(40.0, 60.0), "sda", &[]), found(40.0, false));
        assert_eq!(held(&of(40.0, 60.0), "sdb", &[]), None);
        let without = attribution(vec![device("sda", vec![cgroup("/db", 60.0, None)])]);
        assert_eq!(held(&without, "sda", &[]), None);
    }

    #[test]
    fn several_limited_cgroups_hold_it_together() {
        let cgroups = vec![
            cgroup("/a", 48.0, Some(50.0)),
            cgroup("/b", 48.0, Some(50.0)),
            cgroup("/c", 4.0, None),
        ];
        let (name, share, holds) =
            held(&attribution(vec![device("sda", cgroups)]), "sda", &[]).unwrap();
        assert!(
            name.ends_with("on sda") && share == Some(48.0) && holds,
            "{name}"
        );
    }

    #[test]
    fn in_version_2_a_limit_applies_to_descendants() {
        let cgroups = vec![
            cgroup("/db", 0.0, Some(50.0)),
            cgroup("/db/w", 95.0, None),
            cgroup("/x", 5.0, None),
        ];
        let mut found = attribution(vec![device("sda", cgroups)]);
        assert_eq!(
            held(&found, "sda", &[]),
            Some(("/db on sda".to_owned(), Some(95.0), true))
        );
        found.hierarchy = Some(CgroupHierarchy::V1);
        assert_eq!(
            held(&found, "sda", &[]),
            Some(("/db on sda".to_owned(), Some(0.0), false))
        );
    }

    #[test]
    fn a_limit_on_a_device_below_holds_the_volume() {
        let below = device(
            "sda",
            vec![cgroup("/db", 60.0, Some(50.0)), cgroup("/x", 600.0, None)],
        );
        let volume = device("dm-0", vec![cgroup("/db", 60.0, None)]);
        let other = device("dm-1", vec![cgroup("/x", 600.0, None)]);
        let found = attribution(vec![below, volume, other]);
        assert_eq!(
            held(&found, "dm-0", &["sda"]),
            Some(("/db on sda".to_owned(), Some(100.0), true))
        );
        assert_eq!(held(&found, "dm-1", &["sda"]), None);
        assert!(!held(&found, "sda", &[]).unwrap().2);
    }

    #[test]
    fn requests_that_are_held_above_a_reached_limit_wait_for_it() {
        // The journal below, and buffered writes above, are charged to the root.
        let below = device(
            "sda",
            vec![cgroup("/db", 40.0, Some(50.0)), cgroup("/", 60.0, None)],
        );
        let volume = device("dm-0", vec![cgroup("/", 60.0, None)]);
        let mut found = attribution(vec![below, volume]);
        let below = ["sda".to_owned()];
        let holds = |found: &Attribution, is_held| {
            found
                .reached_limit("dm-0", &below, waits(is_held))
                .is_some_and(|reached| reached.holds_device)
        };
        assert_eq!(
            [false, true].map(|is_held| holds(&found, is_held)),
            [false, true]
        );
        found.hierarchy = Some(CgroupHierarchy::V1);
        assert!(holds(&found, true));
        found
            .devices
            .push(device("dm-1", vec![cgroup("/db", 40.0, None)]));
        assert!(
            !holds(&found, true),
            "it is another volume that the cgroup uses"
        );
    }

    #[test]
    fn where_requests_are_held_a_limit_that_is_near_suffices_if_only_its_cgroup_waits() {
        let mut limited = cgroup("/db", 40.0, Some(50.0));
        limited.limits[0].is_reached = false;
        let volume = device("dm-0", vec![cgroup("/", 60.0, None)]);
        let mut found = attribution(vec![device("sda", vec![limited]), volume]);
        let is_found = |found: &Attribution, is_held| {
            found
                .reached_limit("dm-0", &["sda".to_owned()], waits(is_held))
                .is_some()
        };
        let task = |path: &str| BlockedTask {
            cgroup: Some(path.into()),
            ..BlockedTask::default()
        };
        assert!(!is_found(&found, true));
        found.blocked = vec![task("/db/w"), task("/")];
        assert_eq!(
            [false, true].map(|is_held| is_found(&found, is_held)),
            [false, true]
        );
        found.blocked.push(task("/other"));
        assert!(!is_found(&found, true));
        found.blocked.pop();
        found.devices[1].cgroups[0].limits[0].is_near = false;
        assert!(!is_found(&found, true));
    }

    #[test]
    fn a_limit_that_only_its_own_cgroup_feels_does_not_hold_the_device() {
        let cgroups = || {
            vec![
                cgroup("/batch", 80.0, Some(50.0)),
                cgroup("/db", 20.0, None),
            ]
        };
        let task = |path: &str, waited_ms| BlockedTask {
            cgroup: Some(path.into()),
            waited_ms,
            ..BlockedTask::default()
        };
        let holds = |blocked| {
            let found = Attribution {
                blocked,
                ..attribution(vec![device("sda", cgroups())])
            };
            held(&found, "sda", &[]).unwrap().2
        };
        assert!(!holds(Vec::new()));
        assert!(!holds(vec![task("/batch", 9000), task("/db", 0)]));
        assert!(holds(vec![task("/batch", 9000), task("/db", 9000)]));
    }
}
