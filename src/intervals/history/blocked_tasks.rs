//! The tasks that were seen waiting for devices.

use std::collections::HashMap;
use std::sync::Arc;

use crate::counters::BlockedTask;
use crate::intervals::series::TimeSpan;

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
        tasks.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.tid.cmp(&b.tid)));
        tasks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_that_waited_for_longest_comes_first() {
        let task = |tid, comm: &str| BlockedTask { tid, comm: comm.to_owned(), ..BlockedTask::default() };
        let mut tasks = BlockedTasks::default();
        let span = |start_s: f64| TimeSpan { start_s, end_s: start_s + 1.0 };
        tasks.observe(&[task(1, "a"), task(2, "b")], 1.0, span(0.0));
        tasks.observe(&[task(2, "b"), task(2, "other")], 1.0, span(5.0));
        let longest = tasks.longest_first();
        assert_eq!((longest.len(), longest[0].tid, longest[0].seconds), (3, 2, 2.0));
        assert_eq!(longest[0].seen, TimeSpan { start_s: 0.0, end_s: 6.0 });
    }
}
