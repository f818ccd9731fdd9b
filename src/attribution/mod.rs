//! Attribution: which cgroup or process does the I/O, and which limit it has reached. Pure: `source` reads the files.
//!
//! [`files`] parses the files of cgroups and processes; `cgroup_name` finds the name by which people know a cgroup.
//! An [`Attributor`] turns successive scans into an [`Attribution`]: the rates of each cgroup on each device and their
//! shares, and the limits that have been reached.

mod cgroup_name;
pub mod files;
mod limits;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub use self::cgroup_name::cgroup_name;
use self::limits::{LimitHistory, LimitKey};
pub use self::limits::{LimitKind, LimitUse, ReachedLimit};
use crate::counters::{
    BlockedTask, Cgroup, CgroupDevice, CgroupHierarchy, DeviceNumber, HungRead, IoCounters, IoLimits, IoScan,
    Pressure, ProcessIo, ScanProblem, ScannedDevice,
};

/// The use of all devices between two scans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attribution {
    /// The time between the scans in seconds.
    pub elapsed_s: f64,
    /// The hierarchy of the cgroups; `None` without one that counts I/O.
    pub hierarchy: Option<CgroupHierarchy>,
    /// The whole devices with I/O or a limit, in the order of the newer scan.
    pub devices: Vec<DeviceUse>,
    /// The processes, on all devices together; `None` if they are not known yet.
    pub processes: Option<Arc<ProcessIo>>,
    /// The read of a process that hung at the end of the interval; `None` if none did.
    pub hung_read: Option<HungRead>,
    /// The tasks in uninterruptible sleep.
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
    pub name: String,
    /// Its own counters.
    pub total: IoRates,
    /// The cgroups that used it or are limited on it, those with the most bytes first.
    pub cgroups: Vec<CgroupUse>,
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
        [rest(|rates| rates.read_bytes_per_s), rest(|rates| rates.write_bytes_per_s)]
    }

    /// Returns the bytes that no cgroup read or wrote, in percent of the device's bytes; `None` if the device had none.
    pub fn unattributed_pct(&self) -> Option<f64> {
        let attributed: f64 = self.cgroups.iter().filter_map(|cgroup| cgroup.share_pct).sum();
        (self.total.bytes_per_s() > 0.0).then(|| (100.0 - attributed).max(0.0))
    }

    /// Returns the cgroup with the most bytes; `None` if none had any.
    pub fn top_cgroup(&self) -> Option<&CgroupUse> {
        self.cgroups.first().filter(|cgroup| cgroup.rates.bytes_per_s() > 0.0)
    }
}

/// Compares the scans at both ends of an interval, and watches the limits in all scans between them.
#[derive(Default)]
pub struct Attributor {
    /// The scan at the beginning of the interval.
    begin: Option<Arc<IoScan>>,
    /// The counters of the cgroups at that scan; for cgroups found later, at the scan that found them.
    counted_at_begin: Counted,
    ahead_at_begin: AheadOfParents,
    last: Option<Arc<IoScan>>,
    counted_at_last: Counted,
    limits: LimitHistory,
    /// The limits that were reached since the beginning.
    reached: HashSet<LimitKey>,
    /// The tasks that were blocked in any scan since the beginning.
    blocked: Vec<BlockedTask>,
    skipped: u64,
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
            self.begin = Some(Arc::clone(scan));
            self.counted_at_begin = counters_by_path(scan);
        }
        add_new_cgroups(scan, &mut self.counted_at_begin);
        self.counted_at_last = counters_by_path(scan);
        self.skipped = self.skipped.saturating_add(scan.skipped);
        let is_known = |task: &BlockedTask| self.blocked.iter().any(|known| known.tid == task.tid);
        let blocked: Vec<_> = scan.blocked.iter().flatten().filter(|task| !is_known(task)).cloned().collect();
        self.blocked.extend(blocked);
        self.last = Some(Arc::clone(scan));
    }

    /// Returns the use of devices since the last call, and begins another interval. `None` without two scans at
    /// different times; the interval then continues.
    pub fn finish_interval(&mut self) -> Option<Attribution> {
        let (begin, last) = (self.begin.as_ref()?, self.last.as_ref()?);
        let elapsed_s = last.at.checked_sub(begin.at)?.as_secs_f64();
        if elapsed_s == 0.0 {
            return None;
        }
        let deltas = cgroup_deltas(&self.counted_at_begin, last, &mut self.ahead_at_begin);
        let attribution = Attribution {
            elapsed_s,
            hierarchy: last.hierarchy,
            devices: self.device_uses(begin, last, deltas, elapsed_s),
            processes: last.processes.clone(),
            hung_read: last.hung_read,
            blocked: std::mem::take(&mut self.blocked),
            skipped: std::mem::take(&mut self.skipped),
            problem: last.problem,
        };
        self.begin = self.last.clone();
        self.counted_at_begin.clone_from(&self.counted_at_last);
        self.reached.clear();
        Some(attribution)
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
                self.limits.observe((&cgroup.path, delta.number), &limits, observed, is_waiting);
            }
        }
        self.limits.end_interval();
        self.reached.extend(self.limits.reached());
    }

    fn device_uses(
        &self,
        older: &IoScan,
        newer: &IoScan,
        deltas: Vec<CgroupDelta>,
        elapsed_s: f64,
    ) -> Vec<DeviceUse> {
        let mut by_device: HashMap<DeviceNumber, Vec<CgroupUse>> = HashMap::new();
        for delta in deltas {
            let cgroup = &newer.cgroups[delta.cgroup];
            let limits = limits_on(cgroup, delta.number);
            if limits == IoLimits::default() && delta.own == IoCounters::default() {
                continue;
            }
            let limit_use = |(kind, value): (LimitKind, u64)| {
                let key = (Arc::clone(&cgroup.path), delta.number, kind);
                let (is_reached, is_near) = (self.reached.contains(&key), self.limits.is_near(&key));
                let rate = kind.amount(&delta.counted).0 as f64 / elapsed_s;
                LimitUse { kind, value, rate, is_reached, is_near }
            };
            let limits = LimitKind::of(&limits).map(limit_use).collect();
            let rates = IoRates::of(&delta.own, elapsed_s);
            let cgroup_use = CgroupUse { path: Arc::clone(&cgroup.path), rates, share_pct: None, limits };
            by_device.entry(delta.number).or_default().push(cgroup_use);
        }
        let total = |device: &ScannedDevice| {
            let before = older.devices.iter().find(|old| old.name == device.name);
            device.io.growth_since(&before.map(|before| before.io).unwrap_or_default())
        };
        let uses = newer.devices.iter().map(|device| {
            let mut cgroups = by_device.remove(&device.number).unwrap_or_default();
            let total = IoRates::of(&total(device), elapsed_s);
            complete_shares(&mut cgroups, &total);
            DeviceUse { number: device.number, name: device.name.clone(), total, cgroups }
        });
        uses.filter(|device| device.total != IoRates::default() || !device.cgroups.is_empty()).collect()
    }
}

/// Returns the counters of each cgroup of a scan.
fn counters_by_path(scan: &IoScan) -> Counted {
    scan.cgroups.iter().map(|cgroup| (Arc::clone(&cgroup.path), cgroup.devices.clone())).collect()
}

/// Returns the pressure of each cgroup of a scan that has one.
fn pressures_by_path(scan: &IoScan) -> HashMap<&str, Pressure> {
    scan.cgroups.iter().filter_map(|cgroup| Some((&*cgroup.path, cgroup.pressure?))).collect()
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
    let has_pressure = cgroup.pressure.zip(before).is_some_and(|(now, before)| now.some_us > before.some_us);
    let is_inside =
        |task: &BlockedTask| task.cgroup.as_deref().is_some_and(|path| is_in_cgroup(&cgroup.path, path));
    has_pressure || newer.blocked.iter().flatten().any(is_inside)
}

/// Returns whether the cgroup `path` is `outer` or one of its descendants.
pub fn is_in_cgroup(outer: &str, path: &str) -> bool {
    let outer = outer.trim_end_matches('/');
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Sorts the cgroups of a device by bytes, and sets their shares. Cgroups count bytes on submission, devices on
/// completion, so the sum of the cgroups may be slightly larger.
fn complete_shares(cgroups: &mut [CgroupUse], total: &IoRates) {
    let sum: f64 = cgroups.iter().map(|cgroup| cgroup.rates.bytes_per_s()).sum();
    let all = total.bytes_per_s().max(sum);
    for cgroup in cgroups.iter_mut() {
        cgroup.share_pct = (all > 0.0).then(|| 100.0 * cgroup.rates.bytes_per_s() / all);
    }
    cgroups.sort_by(|a, b| {
        b.rates.bytes_per_s().total_cmp(&a.rates.bytes_per_s()).then_with(|| a.path.cmp(&b.path))
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
            deltas.push(CgroupDelta { cgroup: at, number: device.number, counted, own: counted, continues });
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
    for CgroupDelta { cgroup, number, counted, continues, .. } in &*deltas {
        let path = &scan.cgroups[*cgroup].path;
        let mut above = parents(path).filter_map(|path| positions.get(&(path, *number)));
        if let Some(parent) = above.next() {
            let (sum, all_continue) = below.entry(*parent).or_insert((IoCounters::default(), true));
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
    std::iter::successors(parent(path), |path| parent(path))
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent).filter(|parent| !parent.is_empty())
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

#[cfg(test)]
mod attributor_tests {
    use std::time::Duration;

    use super::*;
    use crate::counters::{CgroupDevice, IoCounters};

    fn io(read_bytes: u64) -> IoCounters {
        IoCounters { read_bytes, reads: read_bytes / 4096, ..IoCounters::default() }
    }

    fn cgroup(path: &str, read_bytes: u64) -> Cgroup {
        let device = CgroupDevice { number: (8, 0), io: io(read_bytes), limits: IoLimits::default() };
        Cgroup { path: path.into(), is_new: false, devices: vec![device], pressure: None }
    }

    fn scan(at_s: u64, device_bytes: u64, cgroups: &[(&str, u64)]) -> IoScan {
        IoScan {
            at: Duration::from_secs(at_s),
            devices: vec![ScannedDevice { number: (8, 0), name: "sda".into(), io: io(device_bytes) }],
            hierarchy: Some(CgroupHierarchy::V2),
            cgroups: cgroups.iter().map(|(path, bytes)| cgroup(path, *bytes)).collect(),
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
        let shares = device.cgroups.iter().map(|cgroup| (cgroup.path.to_string(), cgroup.share_pct.unwrap()));
        (shares.collect(), device.unattributed_pct())
    }

    fn named(expected: &[(&str, f64)]) -> Vec<(String, f64)> {
        expected.iter().map(|(path, share)| ((*path).to_owned(), *share)).collect()
    }

    #[test]
    fn the_io_of_children_is_not_that_of_their_parent() {
        let older = scan(0, 0, &[("/s", 0), ("/s/db", 0), ("/s/db/w", 0), ("/t", 0)]);
        let newer = scan(2, 1000, &[("/s", 800), ("/s/db", 700), ("/s/db/w", 100), ("/t", 100)]);
        let expected = named(&[("/s/db", 60.0), ("/s", 10.0), ("/s/db/w", 10.0), ("/t", 10.0)]);
        assert_eq!(shares(older, newer), (expected, Some(10.0)));
    }

    #[test]
    fn a_child_that_was_read_after_its_parent_leaves_it_no_io_of_its_own() {
        let mut attributor = Attributor::default();
        attributor.observe(&Arc::new(scan(0, 0, &[("/s", 0), ("/s/db", 0)])));
        let mut own = Vec::new();
        for (at_s, parent, child) in [(1, 900, 950), (2, 1900, 1950), (3, 3000, 3000), (4, 4100, 4000)] {
            attributor.observe(&Arc::new(scan(at_s, parent, &[("/s", parent), ("/s/db", child)])));
            let device = attributor.finish_interval().unwrap().devices.remove(0);
            let of_parent = device.cgroups.iter().find(|cgroup| &*cgroup.path == "/s");
            own.push(of_parent.map(|cgroup| cgroup.rates.read_bytes_per_s));
        }
        assert_eq!(own, [None, None, None, Some(100.0)]);
    }

    #[test]
    fn in_version_1_each_cgroup_counts_for_itself() {
        let v1 = |scan| IoScan { hierarchy: Some(CgroupHierarchy::V1), ..scan };
        let older = v1(scan(0, 0, &[("/", 0), ("/db", 0), ("/db/w", 0)]));
        let newer = v1(scan(1, 1000, &[("/", 250), ("/db", 500), ("/db/w", 250)]));
        let expected = named(&[("/db", 50.0), ("/", 25.0), ("/db/w", 25.0)]);
        assert_eq!(shares(older, newer), (expected, Some(0.0)));
    }

    #[test]
    fn cgroups_come_and_go_without_huge_numbers() {
        let older = scan(0, 0, &[("/s", 5000), ("/s/gone", 4000)]);
        let mut newer = scan(1, 1000, &[("/s", 6000), ("/s/new", 3000), ("/s/first", 400)]);
        newer.cgroups[1].is_new = true;
        // The time over which the new cgroup read is not known, so its parent gets its bytes.
        assert_eq!(shares(older, newer), (named(&[("/s", 60.0), ("/s/first", 40.0)]), Some(0.0)));
        // A cgroup of the same name was created again, and a device of the same name came back.
        let newer = scan(1, 400, &[("/s", 300)]);
        assert_eq!(shares(scan(0, 9000, &[("/s", 5000)]), newer), (named(&[("/s", 75.0)]), Some(25.0)));
    }

    #[test]
    fn the_sum_of_the_shares_is_at_most_100() {
        let newer = scan(1, 900, &[("/a", 750), ("/b", 250)]);
        let expected = named(&[("/a", 75.0), ("/b", 25.0)]);
        assert_eq!(shares(scan(0, 0, &[("/a", 0), ("/b", 0)]), newer), (expected, Some(0.0)));
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
            let mut scan = scan(at_s, reads * 4096, &[("/db", reads * 4096), ("/db/w", reads * 4096)]);
            scan.cgroups[0].devices[0].limits[0] = Some(50);
            Arc::new(scan)
        };
        let mut attributor = Attributor::default();
        let reached: Vec<Option<bool>> = (0..4)
            .map(|at_s| {
                attributor.observe(&limited(at_s, at_s * 50));
                let attribution = attributor.finish_interval()?;
                let db = attribution.devices[0].cgroups.iter().find(|cgroup| &*cgroup.path == "/db")?;
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
            scan.blocked = (at_s == 2).then(|| vec![BlockedTask { tid: 7, ..BlockedTask::default() }]);
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
        assert!(!attribution.devices[0].cgroups[0].limits[0].is_reached && attribution.blocked.is_empty());
    }

    #[test]
    fn a_waiting_task_is_that_of_every_cgroup_above() {
        let blocked = BlockedTask { cgroup: Some("/a/b".into()), ..BlockedTask::default() };
        let older = scan(0, 0, &[]);
        let newer = IoScan { blocked: Some(vec![blocked]), ..scan(1, 0, &[]) };
        let waits = |path: &str| has_waited(&cgroup(path, 0), &pressures_by_path(&older), &newer);
        assert!(waits("/") && waits("/a") && waits("/a/b"));
        assert!(!waits("/a/b/c") && !waits("/a/bc") && !waits("/b"));
    }
}
