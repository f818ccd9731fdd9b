//! Successive scans, turned into the use of devices between them.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::cgroup_growth::{
    AheadOfParents, CgroupDelta, Counted, add_new_cgroups, cgroup_deltas, counters_by_path,
};
use super::limit_use::{LimitHistory, LimitKey, LimitUse, limited_amount, limits_set};
use super::programs::{Readings, io_by_name};
use super::{
    Attribution, CgroupUse, DeviceUse, IoRates, Limit, LimitSource, LimitedRate, is_in_cgroup,
};
use crate::counters::{BlockedTask, Cgroup, DeviceNumber, IoCounters, IoLimits, IoScan, Pressure};
use crate::topology::Topology;

/// Compares the first and last scan of the latest step and of the interval around it, and follows limits through all scans.
#[derive(Default)]
pub struct Attributor {
    seen: Seen,
    step: Window,
    interval: Window,
}

/// What all scans so far have shown.
#[derive(Default)]
struct Seen {
    last: Option<Arc<IoScan>>,
    counted_at_last: Counted,
    limits: LimitHistory,
    readings: Readings,
}

impl Attributor {
    /// Takes the next scan; the same scan again changes nothing.
    pub fn observe(&mut self, scan: &Arc<IoScan>) {
        let seen = &mut self.seen;
        match seen.last.take() {
            Some(last) if last.at == scan.at => {
                seen.last = Some(last);
                return;
            }
            Some(last) => {
                let elapsed_s = scan.at.saturating_sub(last.at).as_secs_f64();
                add_new_cgroups(scan, &mut seen.counted_at_last);
                seen.observe_limits(&last, scan, elapsed_s);
            }
            None => {
                self.step.start(scan);
                self.interval.start(scan);
            }
        }
        seen.readings.observe(scan);
        self.step.observe(scan, &seen.limits);
        self.interval.observe(scan, &seen.limits);
        seen.counted_at_last = counters_by_path(scan);
        seen.last = Some(Arc::clone(scan));
    }

    /// Returns the use of devices since the last call, and begins another step.
    pub fn finish_step(&mut self, topology: &Topology) -> Option<Attribution> {
        self.step.finish(&self.seen, topology)
    }

    /// Returns the use of devices since the last call, and begins another interval.
    pub fn finish_interval(&mut self, topology: &Topology) -> Option<Attribution> {
        self.interval.finish(&self.seen, topology)
    }

    /// Forgets all scans: the next one belongs to another host, or to another boot.
    pub fn interrupt(&mut self) {
        *self = Self::default();
    }
}

impl Seen {
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
                self.limits.observe(
                    &cgroup.path,
                    delta.number,
                    &limits,
                    &delta.counted,
                    elapsed_s,
                    has_waited(cgroup, &pressures, newer),
                );
            }
        }
        self.limits.end_interval();
    }
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
    fn finish(&mut self, seen: &Seen, topology: &Topology) -> Option<Attribution> {
        let (begin, last) = (self.begin.clone()?, seen.last.as_ref()?);
        let elapsed_s = last.at.checked_sub(begin.at)?.as_secs_f64();
        if elapsed_s == 0.0 {
            return None;
        }
        let deltas = cgroup_deltas(&self.counted_at_begin, last, &mut self.ahead_at_begin);
        let devices = self.device_uses(&begin, last, deltas, &seen.limits, elapsed_s);
        let mut blocked = std::mem::take(&mut self.blocked);
        blocked.sort_by_key(|task| Reverse(task.waited_ms));
        let mut attribution = Attribution {
            elapsed_s,
            hierarchy: last.hierarchy,
            devices,
            blocked,
            reading: seen.readings.latest.clone(),
            reading_age_s: 0.0,
            hung_read: last.hung_read,
            skipped: std::mem::take(&mut self.skipped),
            problem: last.problem,
        };
        if let Some(reading) = &seen.readings.latest {
            attribution.reading_age_s = last.at.saturating_sub(reading.at).as_secs_f64();
        }
        attribution.find_programs(topology);

        self.begin = Some(Arc::clone(last));
        self.counted_at_begin.clone_from(&seen.counted_at_last);
        self.reached.clear();
        Some(attribution)
    }

    fn device_uses(
        &self,
        older: &IoScan,
        newer: &IoScan,
        deltas: Vec<CgroupDelta>,
        history: &LimitHistory,
        elapsed_s: f64,
    ) -> Vec<DeviceUse> {
        let mut names: HashMap<DeviceNumber, Arc<str>> = HashMap::new();
        for device in &newer.devices {
            names.insert(device.number, Arc::from(device.name.as_str()));
        }
        let mut by_device: HashMap<DeviceNumber, Vec<CgroupUse>> = HashMap::new();
        for delta in deltas {
            if let Some(name) = names.get(&delta.number)
                && let Some(cgroup) = self.cgroup_use(&delta, name, newer, history, elapsed_s)
            {
                by_device.entry(delta.number).or_default().push(cgroup);
            }
        }
        let io_before = io_by_name(older);

        let mut uses = Vec::new();
        for device in &newer.devices {
            let before = io_before.get(device.name.as_str()).copied();
            let grown = device.io.growth_since(&before.unwrap_or_default());
            let total = IoRates::of(&grown, elapsed_s);
            let mut cgroups = by_device.remove(&device.number).unwrap_or_default();
            complete_shares(&mut cgroups, &total);
            // A device may do nothing although someone waits for it.
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

    /// Returns the use of a device by a cgroup, without its share; `None` if it has neither I/O nor limits there.
    fn cgroup_use(
        &self,
        delta: &CgroupDelta,
        device: &Arc<str>,
        scan: &IoScan,
        history: &LimitHistory,
        elapsed_s: f64,
    ) -> Option<CgroupUse> {
        let cgroup = &scan.cgroups[delta.cgroup];
        let values = limits_on(cgroup, delta.number);
        if values == IoLimits::default() && delta.own == IoCounters::default() {
            return None;
        }
        let mut limits = Vec::new();
        for (limited, value) in limits_set(&values) {
            let LimitedRate { direction, unit } = limited;
            let key = LimitKey {
                path: Arc::clone(&cgroup.path),
                number: delta.number,
                limited,
            };
            let is_reached = self.reached.contains(&key);
            limits.push(LimitUse {
                limit: Limit {
                    owner: Some(Arc::clone(&cgroup.path)),
                    device: Arc::clone(device),
                    direction,
                    unit,
                    value: value as f64 / unit.size(),
                    source: LimitSource::Cgroup(scan.hierarchy.unwrap_or_default()),
                },
                rate: limited_amount(&delta.counted, limited) as f64 / unit.size() / elapsed_s,
                is_reached,
                reached_s: if is_reached { elapsed_s } else { 0.0 },
                is_near: history.is_near(&key),
                is_waited_for: history.is_waited_for(&key),
            });
        }
        Some(CgroupUse {
            path: Arc::clone(&cgroup.path),
            rates: IoRates::of(&delta.own, elapsed_s),
            share_pct: None,
            limits,
        })
    }
}

/// Returns the pressure of each cgroup of a scan that has one.
fn pressures_by_path(scan: &IoScan) -> HashMap<&str, Pressure> {
    let mut pressures = HashMap::new();
    for cgroup in &scan.cgroups {
        if let Some(pressure) = cgroup.pressure {
            pressures.insert(&*cgroup.path, pressure);
        }
    }
    pressures
}

/// Returns the limits of a cgroup on a device.
fn limits_on(cgroup: &Cgroup, number: DeviceNumber) -> IoLimits {
    match cgroup.devices.iter().find(|device| device.number == number) {
        Some(device) => device.limits,
        None => IoLimits::default(),
    }
}

/// Returns whether tasks of a cgroup have waited for I/O between two scans: its pressure has risen, or one of its tasks
/// is in uninterruptible sleep.
fn has_waited(cgroup: &Cgroup, older: &HashMap<&str, Pressure>, newer: &IoScan) -> bool {
    if let (Some(now), Some(before)) = (cgroup.pressure, older.get(&*cgroup.path))
        && now.some_us > before.some_us
    {
        return true;
    }
    for task in newer.blocked.iter().flatten() {
        if let Some(path) = &task.cgroup
            && is_in_cgroup(&cgroup.path, path)
        {
            return true;
        }
    }
    false
}

/// Sorts the cgroups of a device by bytes, and sets their shares. Cgroups count bytes on submission, devices on
/// completion, so the sum of the cgroups may be slightly larger.
pub(super) fn complete_shares(cgroups: &mut [CgroupUse], total: &IoRates) {
    let mut sum = 0.0;
    for cgroup in &*cgroups {
        sum += cgroup.rates.bytes_per_s();
    }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::counters::{CgroupDevice, CgroupHierarchy, ScannedDevice};

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
        assert_eq!(attributor.finish_interval(&Topology::default()), None);
        attributor.observe(&Arc::new(newer));
        let device = attributor
            .finish_interval(&Topology::default())
            .unwrap()
            .devices
            .remove(0);
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
            let device = attributor
                .finish_interval(&Topology::default())
                .unwrap()
                .devices
                .remove(0);
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
            assert_eq!(attributor.finish_interval(&Topology::default()), None);
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
                let attribution = attributor.finish_interval(&Topology::default())?;
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
        let attribution = attributor.finish_interval(&Topology::default()).unwrap();
        let db = &attribution.devices[0].cgroups[0];
        assert_eq!((attribution.elapsed_s, db.rates.reads_per_s), (4.0, 40.0));
        assert_eq!((db.limits[0].rate, db.limits[0].is_reached), (40.0, true));
        assert_eq!(attribution.blocked.len(), 1);
        attributor.observe(&limited(5, 160));
        let attribution = attributor.finish_interval(&Topology::default()).unwrap();
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
