//! Turns scans into the use of each device by each cgroup.

use std::collections::HashMap;
use std::sync::Arc;

use super::deltas::{CgroupDelta, cgroup_deltas, growth};
use super::io_rates::IoRates;
use super::limit_use::{LimitHistory, LimitUse};
use crate::counters::{
    BlockedTask, Cgroup, CgroupHierarchy, DeviceNumber, IoLimits, IoScan, ProcessIo, ScanProblem,
    ScannedDevice,
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
    /// The processes, on all devices together; `None` where they are not known yet.
    pub processes: Option<Arc<ProcessIo>>,
    /// The tasks in uninterruptible sleep.
    pub blocked: Vec<BlockedTask>,
    /// Scans that were left out in between, because they would have cost too much.
    pub skipped: u64,
    /// The reason for which cgroups are missing; `None` if none are.
    pub problem: Option<ScanProblem>,
}

/// The use of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceUse {
    /// Its number.
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
    /// The path of the cgroup.
    pub path: Arc<str>,
    /// Its rates, without those of its descendants.
    pub rates: IoRates,
    /// Its part of the device's bytes in percent, without that of its descendants; `None` if there were no bytes.
    pub share_pct: Option<f64>,
    /// Its limits on the device.
    pub limits: Vec<LimitUse>,
}

impl DeviceUse {
    /// Returns the bytes per second that no cgroup did: those of the kernel itself, of processes in the root of version 2,
    /// and writes that the kernel cannot charge to a cgroup. Only bytes can be compared, see [`IoRates`].
    pub fn unattributed_bytes_per_s(&self) -> f64 {
        let attributed: f64 = self.cgroups.iter().map(|cgroup| cgroup.rates.bytes_per_s()).sum();
        (self.total.bytes_per_s() - attributed).max(0.0)
    }

    /// Returns [`Self::unattributed_bytes_per_s`] in percent of the device's bytes; `None` if there were none.
    pub fn unattributed_pct(&self) -> Option<f64> {
        let attributed: f64 = self.cgroups.iter().filter_map(|cgroup| cgroup.share_pct).sum();
        (self.total.bytes_per_s() > 0.0).then(|| (100.0 - attributed).max(0.0))
    }

    /// Returns the cgroup with the most bytes; `None` if none had any.
    pub fn top_cgroup(&self) -> Option<&CgroupUse> {
        self.cgroups.first().filter(|cgroup| cgroup.rates.bytes_per_s() > 0.0)
    }
}

/// Compares each scan with the one before.
#[derive(Clone, Debug, Default)]
pub struct Attributor {
    last: Option<Arc<IoScan>>,
    limits: LimitHistory,
}

impl Attributor {
    /// Takes the next scan. `None` for the first, for one that was taken before, and for one whose clock did not advance.
    pub fn push(&mut self, scan: &Arc<IoScan>) -> Option<Attribution> {
        let older = self.last.replace(Arc::clone(scan))?;
        let elapsed_s = scan.at.checked_sub(older.at)?.as_secs_f64();
        if elapsed_s == 0.0 {
            return None;
        }
        let devices = self.device_uses(&older, scan, elapsed_s);
        Some(Attribution {
            elapsed_s,
            hierarchy: scan.hierarchy,
            devices,
            processes: scan.processes.clone(),
            blocked: scan.blocked.clone().unwrap_or_default(),
            skipped: scan.skipped,
            problem: scan.problem,
        })
    }

    /// Forgets the last scan: the next one belongs to another host, or to another boot.
    pub fn interrupt(&mut self) {
        *self = Self::default();
    }

    fn device_uses(&mut self, older: &IoScan, newer: &IoScan, elapsed_s: f64) -> Vec<DeviceUse> {
        let mut by_device: HashMap<DeviceNumber, Vec<CgroupUse>> = HashMap::new();
        for delta in cgroup_deltas(older, newer) {
            if let Some(cgroup_use) = self.cgroup_use(&delta, older, newer, elapsed_s) {
                by_device.entry(delta.number).or_default().push(cgroup_use);
            }
        }
        self.limits.end_interval();
        let total = |device: &ScannedDevice| {
            let before = older.devices.iter().find(|old| old.name == device.name);
            growth(&device.io, &before.map(|before| before.io).unwrap_or_default())
        };
        let uses = newer.devices.iter().map(|device| {
            let mut cgroups = by_device.remove(&device.number).unwrap_or_default();
            let total = IoRates::of(&total(device), elapsed_s);
            complete_shares(&mut cgroups, &total);
            DeviceUse { number: device.number, name: device.name.clone(), total, cgroups }
        });
        uses.filter(|device| device.total != IoRates::default() || !device.cgroups.is_empty()).collect()
    }

    /// Returns the use of a device by a cgroup; `None` without I/O and limits.
    fn cgroup_use(
        &mut self,
        delta: &CgroupDelta,
        older: &IoScan,
        newer: &IoScan,
        elapsed_s: f64,
    ) -> Option<CgroupUse> {
        let cgroup = &newer.cgroups[delta.cgroup];
        let limits = cgroup.devices.iter().find(|device| device.number == delta.number)?.limits;
        if limits == IoLimits::default() && delta.own == Default::default() {
            return None;
        }
        let has_waited = || has_waited(cgroup, older, newer);
        let is_waiting = !limits.is_empty() && has_waited();
        let limits = self.limits.observe(
            (&cgroup.path, delta.number),
            &limits,
            (&delta.counted, elapsed_s),
            is_waiting,
        );
        let rates = IoRates::of(&delta.own, elapsed_s);
        Some(CgroupUse { path: Arc::clone(&cgroup.path), rates, share_pct: None, limits })
    }
}

/// Returns whether tasks of a cgroup have waited for I/O between two scans: its pressure has risen, or a task of it is in
/// uninterruptible sleep.
fn has_waited(cgroup: &Cgroup, older: &IoScan, newer: &IoScan) -> bool {
    let before = older.cgroups.iter().find(|old| old.path == cgroup.path).and_then(|old| old.pressure);
    let has_pressure = cgroup.pressure.zip(before).is_some_and(|(now, before)| now.some_us > before.some_us);
    let is_inside =
        |task: &BlockedTask| task.cgroup.as_deref().is_some_and(|path| contains(&cgroup.path, path));
    has_pressure || newer.blocked.iter().flatten().any(is_inside)
}

/// Returns whether the cgroup `path` is `outer` or one of its descendants.
fn contains(outer: &str, path: &str) -> bool {
    let outer = outer.trim_end_matches('/');
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Sorts the cgroups of a device by bytes, and sets their shares. Cgroups count bytes when they are submitted, devices when
/// they are completed, so that the sum of the cgroups may be a little larger.
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

#[cfg(test)]
mod tests {
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

    /// Returns the path and the share in percent of each cgroup between two scans, and what is unattributed.
    fn shares(older: IoScan, newer: IoScan) -> (Vec<(String, f64)>, Option<f64>) {
        let mut attributor = Attributor::default();
        assert_eq!(attributor.push(&Arc::new(older)), None);
        let device = attributor.push(&Arc::new(newer)).unwrap().devices.remove(0);
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
        // Of the cgroup that is new, it is not known since when it read; its parent has its bytes.
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
        assert_eq!((attributor.push(&scan), attributor.push(&scan)), (None, None));
    }

    #[test]
    fn descendants_wait_at_the_limit_of_their_parent_where_it_applies_to_them() {
        let limited = |at_s, reads: u64| {
            let mut scan = scan(at_s, reads * 4096, &[("/db", reads * 4096), ("/db/w", reads * 4096)]);
            scan.cgroups[0].devices[0].limits.read_iops = Some(50);
            Arc::new(scan)
        };
        let mut attributor = Attributor::default();
        let reached: Vec<Option<bool>> = (0..4)
            .map(|at_s| {
                let attribution = attributor.push(&limited(at_s, at_s * 50))?;
                let db = attribution.devices[0].cgroups.iter().find(|cgroup| &*cgroup.path == "/db")?;
                assert_eq!((db.limits[0].rate, db.rates.reads_per_s), (50.0, 0.0));
                Some(db.limits[0].is_reached)
            })
            .collect();
        assert_eq!(reached, [None, Some(false), Some(false), Some(true)]);
    }

    #[test]
    fn a_waiting_task_is_that_of_every_cgroup_above() {
        let blocked = BlockedTask { cgroup: Some("/a/b".into()), ..BlockedTask::default() };
        let older = scan(0, 0, &[]);
        let newer = IoScan { blocked: Some(vec![blocked]), ..scan(1, 0, &[]) };
        let waits = |path: &str| has_waited(&cgroup(path, 0), &older, &newer);
        assert!(waits("/") && waits("/a") && waits("/a/b"));
        assert!(!waits("/a/b/c") && !waits("/a/bc") && !waits("/b"));
    }
}
