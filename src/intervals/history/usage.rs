//! The history of the cgroups on a device, and the tasks that were seen waiting for devices.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::attribution::{ByProgram, DeviceUse, Program};
use crate::counters::BlockedTask;
use crate::intervals::series::{Fold, TimeSpan};

/// The most cgroups on a device that a point keeps apart; the bytes of the others are added up.
const MAX_CGROUPS: usize = 24;

/// The bytes of the cgroups on a whole device in a point.
#[derive(Clone, Debug, Default)]
pub(super) struct UsedBytes {
    cgroups: HashMap<Arc<str>, CgroupBytes>,
    /// The bytes of the cgroups that are not kept apart.
    others: f64,
    /// The bytes that belong to no cgroup: see [`DeviceUse::unattributed_bytes_per_s`].
    unattributed: f64,
    /// The seconds in which the cgroups were observed.
    seconds: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct CgroupBytes {
    bytes: f64,
    has_reached_limit: bool,
}

impl UsedBytes {
    /// Takes a use that went on for these seconds.
    pub(super) fn observe(&mut self, usage: &DeviceUse, seconds: f64) {
        self.seconds += seconds;
        self.unattributed += usage.unattributed_bytes_per_s().iter().sum::<f64>() * seconds;
        for cgroup in &usage.cgroups {
            let used = CgroupBytes {
                bytes: cgroup.rates.bytes_per_s() * seconds,
                has_reached_limit: cgroup.limits.iter().any(|limit| limit.is_reached),
            };
            if used.bytes > 0.0 || used.has_reached_limit {
                self.add_cgroup(&cgroup.path, used);
            }
        }
        self.drop_smallest();
    }

    fn add_cgroup(&mut self, path: &Arc<str>, used: CgroupBytes) {
        let own = self.cgroups.entry(Arc::clone(path)).or_default();
        own.bytes += used.bytes;
        own.has_reached_limit |= used.has_reached_limit;
    }

    /// Adds the cgroups with the fewest bytes to the others.
    fn drop_smallest(&mut self) {
        if self.cgroups.len() <= 2 * MAX_CGROUPS {
            return;
        }
        let mut cgroups: Vec<(Arc<str>, CgroupBytes)> = self.cgroups.drain().collect();
        cgroups.sort_by(|(_, a), (_, b)| b.bytes.total_cmp(&a.bytes));
        for (_, used) in cgroups.drain(MAX_CGROUPS..) {
            self.others += used.bytes;
        }
        self.cgroups.extend(cgroups);
    }
}

impl Fold for UsedBytes {
    fn add(&mut self, later: Self) {
        self.others += later.others;
        self.unattributed += later.unattributed;
        self.seconds += later.seconds;
        for (path, used) in later.cgroups {
            self.add_cgroup(&path, used);
        }
        self.drop_smallest();
    }
}

/// The bytes of a cgroup on a device.
#[derive(Clone, Debug)]
pub struct CgroupHistory {
    pub path: Arc<str>,
    /// Its bytes read and written in each point.
    pub bytes: Vec<f64>,
    pub total_bytes: f64,
    /// True if it was at a limit of its own in any interval.
    pub has_reached_limit: bool,
}

/// The most programs of a device that are remembered.
const MAX_PROGRAMS: usize = 24;

/// The programs that used a device with the bytes that they read and wrote while they were named on it, those with the most
/// bytes first.
#[derive(Clone, Debug, Default)]
pub(super) struct UsedByPrograms(ByProgram<f64>);

impl UsedByPrograms {
    /// Takes a use that went on for these seconds.
    pub(super) fn observe(&mut self, usage: &DeviceUse, seconds: f64) {
        for program in &usage.programs {
            *self.0.value(program) += program.bytes_per_s * seconds;
        }
        let programs = &mut self.0.0;
        programs.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        programs.truncate(MAX_PROGRAMS);
    }
}

/// The use of a whole device by cgroups and programs.
#[derive(Clone, Debug, Default)]
pub struct UsageHistory {
    /// The kernel's name of the device.
    pub device: String,
    /// Those with the most bytes come first.
    pub cgroups: Vec<CgroupHistory>,
    /// The bytes of other cgroups in each point.
    pub others: Vec<f64>,
    /// The bytes in each point that belong to no cgroup.
    pub unattributed: Vec<f64>,
    /// The seconds in which the cgroups were observed.
    pub seconds: f64,
    /// The programs with their bytes, those with the most first.
    pub programs: Vec<(Program, f64)>,
}

impl UsageHistory {
    /// Puts the points of a device together; `None` if no point has its use.
    pub(super) fn new<'a>(
        device: &str,
        points: impl ExactSizeIterator<Item = Option<&'a UsedBytes>>,
        programs: Option<&UsedByPrograms>,
    ) -> Option<Self> {
        let count = points.len();
        let mut history = Self {
            device: device.to_owned(),
            others: vec![0.0; count],
            unattributed: vec![0.0; count],
            programs: programs.map(|used| used.0.0.clone()).unwrap_or_default(),
            ..Self::default()
        };
        let mut cgroups: BTreeMap<&Arc<str>, CgroupHistory> = BTreeMap::new();
        let mut is_known = false;
        for (index, used) in points.enumerate() {
            let Some(used) = used else {
                continue;
            };
            is_known = true;
            history.seconds += used.seconds;
            history.others[index] = used.others;
            history.unattributed[index] = used.unattributed;
            for (path, used) in &used.cgroups {
                let cgroup = cgroups.entry(path).or_insert_with(|| CgroupHistory {
                    path: Arc::clone(path),
                    bytes: vec![0.0; count],
                    total_bytes: 0.0,
                    has_reached_limit: false,
                });
                cgroup.bytes[index] = used.bytes;
                cgroup.total_bytes += used.bytes;
                cgroup.has_reached_limit |= used.has_reached_limit;
            }
        }
        history.cgroups = cgroups.into_values().collect();
        history
            .cgroups
            .sort_by(|a, b| b.total_bytes.total_cmp(&a.total_bytes));
        is_known.then_some(history)
    }
}

/// The most tasks that are remembered.
const MAX_TASKS: usize = 1000;

/// A task that was seen in uninterruptible sleep (state D), which usually waits for a device.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockedTaskTime {
    pub pid: u32,
    pub tid: u32,
    pub comm: String,
    /// The cgroup of the process; `None` if it ended before that was read.
    pub cgroup: Option<Arc<str>>,
    /// The seconds of the intervals in which it was seen: an upper bound of the time that it waited.
    pub seconds: f64,
    /// The time from the beginning of the first interval in which it was seen to the end of the last.
    pub seen: TimeSpan,
}

/// The tasks that were seen waiting.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockedTasks {
    tasks: HashMap<(u32, String), BlockedTaskTime>,
}

impl BlockedTasks {
    /// Takes the tasks that were waiting in an interval.
    pub(super) fn observe(&mut self, tasks: &[BlockedTask], elapsed_s: f64, span: TimeSpan) {
        for task in tasks {
            let key = (task.tid, task.comm.clone());
            if self.tasks.len() >= MAX_TASKS && !self.tasks.contains_key(&key) {
                continue;
            }
            let entry = self.tasks.entry(key).or_insert_with(|| BlockedTaskTime {
                pid: task.pid,
                tid: task.tid,
                comm: task.comm.clone(),
                cgroup: task.cgroup.clone(),
                seconds: 0.0,
                seen: span,
            });
            entry.seconds += elapsed_s;
            entry.seen.end_s = span.end_s;
        }
    }

    pub(super) fn longest_first(&self) -> Vec<&BlockedTaskTime> {
        let mut tasks: Vec<&BlockedTaskTime> = self.tasks.values().collect();
        tasks.sort_by(|a, b| {
            b.seconds
                .total_cmp(&a.seconds)
                .then_with(|| a.tid.cmp(&b.tid))
        });
        tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{CgroupUse, IoRates};

    #[test]
    fn no_byte_is_lost_however_many_cgroups_there_are() {
        let mut points = vec![UsedBytes::default(); 2];
        for index in 0..200 {
            let read_bytes_per_s = f64::from(index + 1);
            let rates = IoRates {
                read_bytes_per_s,
                ..IoRates::default()
            };
            let cgroup = CgroupUse {
                path: format!("/job-{index}").into(),
                rates,
                share_pct: None,
                limits: Vec::new(),
            };
            let total = IoRates {
                read_bytes_per_s: read_bytes_per_s + 1.0,
                ..IoRates::default()
            };
            let usage = DeviceUse {
                total,
                cgroups: vec![cgroup],
                ..DeviceUse::default()
            };
            points[index as usize / 100].observe(&usage, 2.0);
        }
        let sum = |sums: &[f64]| sums.iter().sum::<f64>();
        let history = UsageHistory::new("sda", points.iter().map(Some), None).unwrap();
        assert!(
            history.cgroups.len() <= 4 * MAX_CGROUPS && &*history.cgroups[0].path == "/job-199"
        );
        let of_cgroups: f64 = history.cgroups.iter().map(|one| one.total_bytes).sum();
        assert_eq!(
            (
                of_cgroups + sum(&history.others),
                sum(&history.unattributed),
                history.seconds
            ),
            (2.0 * 20_100.0, 400.0, 400.0)
        );
        let later = points.pop().unwrap();
        points[0].add(later);
        let joined = UsageHistory::new("sda", points.iter().map(Some), None).unwrap();
        let of_cgroups: f64 = joined.cgroups.iter().map(|one| one.total_bytes).sum();
        assert_eq!(of_cgroups + sum(&joined.others), 2.0 * 20_100.0);
    }

    #[test]
    fn the_task_that_waited_for_longest_comes_first() {
        let task = |tid, comm: &str| BlockedTask {
            tid,
            comm: comm.to_owned(),
            ..BlockedTask::default()
        };
        let mut tasks = BlockedTasks::default();
        let span = |start_s: f64| TimeSpan {
            start_s,
            end_s: start_s + 1.0,
        };
        tasks.observe(&[task(1, "a"), task(2, "b")], 1.0, span(0.0));
        tasks.observe(&[task(2, "b"), task(2, "other")], 1.0, span(5.0));
        let longest = tasks.longest_first();
        assert_eq!(
            (longest.len(), longest[0].tid, longest[0].seconds),
            (3, 2, 2.0)
        );
        assert_eq!(
            longest[0].seen,
            TimeSpan {
                start_s: 0.0,
                end_s: 6.0
            }
        );
    }
}
