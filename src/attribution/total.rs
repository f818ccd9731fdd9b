//! The use of devices over many intervals, such as those of a recording: each is known from two scans, and they add up.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::attributor::complete_shares;
use super::{Attribution, CgroupUse, DeviceUse, IoRates, LimitUse, ProcessReading};
use crate::counters::{BlockedTask, BusyProcess, ProcessIo};

/// Adds up the use of devices, also by cgroups and processes that are gone at the end. The rates in it are amounts, until
/// they are divided by the time.
#[derive(Debug, Default)]
pub struct TotalUse {
    elapsed_s: f64,
    skipped: u64,
    devices: BTreeMap<Arc<str>, DeviceUse>,
    /// By device and path.
    cgroups: HashMap<(Arc<str>, Arc<str>), CgroupUse>,
    /// The latest reading of processes, which comes with several intervals.
    last_reading: Option<Duration>,
    reading_age_s: f64,
    /// All readings together, but for their processes.
    read: ProcessIo,
    /// By number and name, and whether the bytes are those of its children that ended.
    processes: HashMap<(u32, String, bool), BusyProcess>,
    /// The tasks that waited for long, each at its longest wait.
    blocked: HashMap<u32, BlockedTask>,
}

impl TotalUse {
    pub fn add(&mut self, interval: &Attribution) {
        self.elapsed_s += interval.elapsed_s;
        self.skipped = self.skipped.saturating_add(interval.skipped);
        self.reading_age_s = interval.reading_age_s;
        for usage in &interval.devices {
            self.add_device(usage, interval.elapsed_s);
        }
        if let Some(reading) = &interval.reading
            && self.last_reading != Some(reading.at)
        {
            self.last_reading = Some(reading.at);
            self.add_processes(&reading.processes);
        }
        for task in &interval.blocked {
            let longest = self.blocked.get(&task.tid).map(|known| known.waited_ms);
            if task.goes_on_waiting() && longest <= Some(task.waited_ms) {
                self.blocked.insert(task.tid, task.clone());
            }
        }
    }

    fn add_device(&mut self, usage: &DeviceUse, elapsed_s: f64) {
        let device = self.devices.entry(Arc::clone(&usage.name)).or_default();
        device.name = Arc::clone(&usage.name);
        device.number = usage.number;
        device.total.add(&usage.total, elapsed_s);
        for cgroup in &usage.cgroups {
            let key = (Arc::clone(&usage.name), Arc::clone(&cgroup.path));
            let total = self.cgroups.entry(key).or_insert_with(|| CgroupUse {
                path: Arc::clone(&cgroup.path),
                rates: IoRates::default(),
                share_pct: None,
                limits: Vec::new(),
            });
            total.rates.add(&cgroup.rates, elapsed_s);
            for used in &cgroup.limits {
                add_limit(&mut total.limits, used, elapsed_s);
            }
        }
    }

    fn add_processes(&mut self, read: &ProcessIo) {
        self.read.elapsed += read.elapsed;
        self.read.is_partial |= read.is_partial;
        for process in &read.busiest {
            let comm = process.comm.clone();
            let key = (process.pid, comm, process.is_of_ended_children);
            let known = self.processes.entry(key).and_modify(|total| {
                total.read_bytes = total.read_bytes.saturating_add(process.read_bytes);
                total.write_bytes = total.write_bytes.saturating_add(process.write_bytes);
            });
            known.or_insert_with(|| process.clone());
        }
    }

    /// Returns the use of devices over all intervals; `None` if there were none.
    pub fn finish(mut self) -> Option<Attribution> {
        let elapsed_s = self.elapsed_s;
        if elapsed_s == 0.0 {
            return None;
        }
        for ((device, _), mut cgroup) in self.cgroups {
            cgroup.rates = cgroup.rates.over(elapsed_s);
            for limit in &mut cgroup.limits {
                limit.rate /= elapsed_s;
            }
            self.devices.entry(device).or_default().cgroups.push(cgroup);
        }
        let mut devices = Vec::from_iter(self.devices.into_values());
        for device in &mut devices {
            device.total = device.total.over(elapsed_s);
            complete_shares(&mut device.cgroups, &device.total);
        }
        let mut busiest = Vec::from_iter(self.processes.into_values());
        busiest.sort_by_key(|of| Reverse(of.read_bytes.saturating_add(of.write_bytes)));
        self.read.busiest = busiest;
        let mut blocked = Vec::from_iter(self.blocked.into_values());
        blocked.sort_by_key(|task| Reverse(task.waited_ms));
        let reading = ProcessReading {
            processes: Arc::new(self.read),
            ..ProcessReading::default()
        };
        Some(Attribution {
            elapsed_s,
            skipped: self.skipped,
            devices,
            reading: self.last_reading.is_some().then(|| Arc::new(reading)),
            reading_age_s: self.reading_age_s,
            blocked,
            ..Attribution::default()
        })
    }
}

/// Adds the use of a limit. Of the values that it had, the latest is kept that was reached, or the latest of all.
fn add_limit(totals: &mut Vec<LimitUse>, used: &LimitUse, elapsed_s: f64) {
    let amount = used.rate * elapsed_s;
    for total in &mut *totals {
        if (total.limit.direction, total.limit.unit) != (used.limit.direction, used.limit.unit) {
            continue;
        }
        total.rate += amount;
        total.reached_s += used.reached_s;
        if used.is_reached || !total.is_reached {
            total.limit = used.limit.clone();
            total.is_reached = used.is_reached;
        }
        return;
    }
    totals.push(LimitUse {
        rate: amount,
        ..used.clone()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{IoDirection, Limit, LimitSource, RateUnit};
    use crate::counters::CgroupHierarchy;

    fn rates(bytes: f64) -> IoRates {
        IoRates {
            read_bytes_per_s: bytes,
            ..IoRates::default()
        }
    }

    fn cgroup(path: &str, bytes: f64, limits: Vec<LimitUse>) -> CgroupUse {
        CgroupUse {
            path: path.into(),
            rates: rates(bytes),
            share_pct: None,
            limits,
        }
    }

    fn limit(value: f64, rate: f64, reached_s: f64) -> LimitUse {
        LimitUse {
            limit: Limit {
                owner: Some("/job".into()),
                device: "sda".into(),
                direction: IoDirection::Reads,
                unit: RateUnit::Requests,
                value,
                source: LimitSource::Cgroup(CgroupHierarchy::V2),
            },
            rate,
            reached_s,
            is_reached: reached_s > 0.0,
            is_near: false,
            is_waited_for: false,
        }
    }

    fn interval(elapsed_s: f64, cgroups: Vec<CgroupUse>) -> Attribution {
        let device = DeviceUse {
            name: "sda".into(),
            total: rates(1000.0),
            cgroups,
            ..DeviceUse::default()
        };
        Attribution {
            elapsed_s,
            devices: vec![device],
            skipped: 1,
            ..Attribution::default()
        }
    }

    #[test]
    fn a_cgroup_that_ended_and_a_limit_that_was_lifted_count() {
        let mut total = TotalUse::default();
        assert!(TotalUse::default().finish().is_none());
        total.add(&interval(
            1.0,
            vec![cgroup("/job", 900.0, vec![limit(50.0, 50.0, 1.0)])],
        ));
        total.add(&interval(
            2.0,
            vec![cgroup("/job", 300.0, vec![limit(80.0, 20.0, 0.0)])],
        ));
        total.add(&interval(1.0, vec![cgroup("/db", 1000.0, Vec::new())]));
        let all = total.finish().unwrap();
        assert_eq!((all.elapsed_s, all.skipped), (4.0, 3));
        let device = all.device("sda").unwrap();
        assert_eq!(device.total.read_bytes_per_s, 1000.0);
        let [job, db] = &device.cgroups[..] else {
            panic!("{device:?}")
        };
        assert_eq!(
            (&*job.path, job.rates.read_bytes_per_s, job.share_pct),
            ("/job", 375.0, Some(37.5))
        );
        assert_eq!((&*db.path, db.share_pct), ("/db", Some(25.0)));
        let used = &job.limits[0];
        assert_eq!(
            (used.limit.value, used.rate, used.reached_s),
            (50.0, 22.5, 1.0)
        );
    }

    #[test]
    fn a_reading_of_processes_counts_once_and_a_task_has_its_longest_wait() {
        let process = |pid, read_bytes| BusyProcess {
            pid,
            comm: "fio".to_owned(),
            read_bytes,
            ..BusyProcess::default()
        };
        let reading = |at, busiest| {
            Some(Arc::new(ProcessReading {
                processes: Arc::new(ProcessIo {
                    elapsed: Duration::from_secs(5),
                    busiest,
                    ..ProcessIo::default()
                }),
                at: Duration::from_secs(at),
                ..ProcessReading::default()
            }))
        };
        let task = |tid, waited_ms| BlockedTask {
            tid,
            waited_ms,
            ..BlockedTask::default()
        };
        let mut total = TotalUse::default();
        for (reading, waited_ms) in [
            (reading(5, vec![process(1, 100)]), 600),
            (reading(5, vec![process(1, 100)]), 1600),
            (reading(10, vec![process(2, 500), process(1, 200)]), 0),
        ] {
            total.add(&Attribution {
                reading,
                blocked: vec![task(7, waited_ms), task(8, 100)],
                ..interval(1.0, Vec::new())
            });
        }
        let all = total.finish().unwrap();
        let processes = all.processes().unwrap();
        assert_eq!(processes.elapsed.as_secs(), 10);
        assert_eq!(processes.busiest, [process(2, 500), process(1, 300)]);
        assert_eq!(all.blocked, [task(7, 1600)]);
    }
}
