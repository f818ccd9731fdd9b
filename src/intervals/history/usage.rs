//! The history of the cgroups on a device, and the tasks that were seen waiting for devices.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::attribution::DeviceUse;
use crate::counters::BlockedTask;
use crate::intervals::series::{Series, TimeSpan};

/// The most cgroups on a device that are followed; the bytes of the others are added up.
const MAX_CGROUPS: usize = 24;

/// The bytes of a cgroup on a device.
#[derive(Clone, Debug)]
pub struct CgroupHistory {
    pub path: Arc<str>,
    /// Its bytes read and written in each point.
    pub bytes: Series<f64>,
    pub total_bytes: f64,
    /// True if it was at a limit of its own in any interval.
    pub has_reached_limit: bool,
}

/// The use of a whole device by cgroups.
#[derive(Clone, Debug, Default)]
pub struct UsageHistory {
    /// The kernel's name of the device.
    pub device: Arc<str>,
    cgroups: Vec<CgroupHistory>,
    /// The bytes of cgroups that are not followed, in each point.
    pub others: Series<f64>,
    /// The bytes in each point that belong to no cgroup: see [`DeviceUse::unattributed_bytes_per_s`].
    pub unattributed: Series<f64>,
    /// The seconds in which the cgroups were observed.
    pub seconds: f64,
}

impl UsageHistory {
    /// The cgroups with the most bytes, in descending order; at most 24.
    pub fn cgroups(&self) -> Vec<&CgroupHistory> {
        let mut cgroups: Vec<&CgroupHistory> = self.cgroups.iter().collect();
        cgroups.sort_by(|a, b| {
            b.total_bytes
                .total_cmp(&a.total_bytes)
                .then_with(|| a.path.cmp(&b.path))
        });
        cgroups
    }

    /// Takes the use over `elapsed_s` seconds, which are covered by these points.
    pub(super) fn observe(&mut self, usage: &DeviceUse, elapsed_s: f64, points: Range<usize>) {
        self.device.clone_from(&usage.name);
        self.seconds += elapsed_s;
        for cgroup in &usage.cgroups {
            let bytes = cgroup.rates.bytes_per_s() * elapsed_s;
            let has_reached_limit = cgroup.limits.iter().any(|limit| limit.is_reached);
            if bytes > 0.0 || has_reached_limit {
                let cgroup = self.cgroup(&cgroup.path);
                spread(bytes, points.clone(), &mut cgroup.bytes);
                cgroup.total_bytes += bytes;
                cgroup.has_reached_limit |= has_reached_limit;
            }
        }
        let unattributed: f64 = usage.unattributed_bytes_per_s().iter().sum();
        spread(unattributed * elapsed_s, points, &mut self.unattributed);
        if self.cgroups.len() > 2 * MAX_CGROUPS {
            self.fold_smallest();
        }
    }

    fn cgroup(&mut self, path: &Arc<str>) -> &mut CgroupHistory {
        let at = self
            .cgroups
            .iter()
            .position(|cgroup| cgroup.path == *path)
            .unwrap_or_else(|| {
                let path = Arc::clone(path);
                let bytes = Series::default();
                self.cgroups.push(CgroupHistory {
                    path,
                    bytes,
                    total_bytes: 0.0,
                    has_reached_limit: false,
                });
                self.cgroups.len() - 1
            });
        &mut self.cgroups[at]
    }

    /// Adds the cgroups with the fewest bytes to the others.
    fn fold_smallest(&mut self) {
        self.cgroups
            .sort_by(|a, b| b.total_bytes.total_cmp(&a.total_bytes));
        for cgroup in self.cgroups.drain(MAX_CGROUPS..) {
            for (index, bytes) in cgroup.bytes.values().iter().enumerate() {
                *self.others.at(index) += bytes;
            }
        }
    }

    pub(super) fn merge(&mut self, merged: &[usize]) {
        self.cgroups
            .iter_mut()
            .for_each(|cgroup| cgroup.bytes.merge(merged));
        self.others.merge(merged);
        self.unattributed.merge(merged);
    }
}

/// Adds an equal part of an amount to each of these points.
fn spread(amount: f64, points: Range<usize>, series: &mut Series<f64>) {
    let part = amount / points.len().max(1) as f64;
    points.for_each(|point| *series.at(point) += part);
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
        let mut history = UsageHistory::default();
        for index in 0..200 {
            let read_bytes_per_s = f64::from(index + 1);
            let rates = IoRates {
                read_bytes_per_s,
                ..IoRates::default()
            };
            let path = format!("/job-{index}").into();
            let cgroup = CgroupUse {
                path,
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
            let point = index as usize / 10;
            history.observe(&usage, 2.0, point..point + 2);
        }
        let sum = |sums: &[f64]| sums.iter().sum::<f64>();
        let cgroups = history.cgroups();
        assert!(cgroups.len() <= 2 * MAX_CGROUPS && &*cgroups[0].path == "/job-199");
        let all: f64 = cgroups
            .iter()
            .map(|cgroup| sum(cgroup.bytes.values()))
            .sum::<f64>()
            + sum(history.others.values());
        assert_eq!(
            (all, sum(history.unattributed.values())),
            (2.0 * 20_100.0, 400.0)
        );
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
