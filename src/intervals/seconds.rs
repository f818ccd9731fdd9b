//! The seconds that incidents are made of, from a step of the judge.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::attribution::{Attribution, LONG_TASK_WAIT_MS, ReachedLimit};
use crate::counters::{FactValue, Health, SYNC_ACTION};
use crate::incidents::{
    DeviceSecond, HeldDevices, HostSecond, LimitStep, Process, Requests, Scan, Task, Use,
    program_name, serves_disks,
};
use crate::judge::{Assessment, DeviceStep, Evidence, Verdict};
use crate::metrics::{Completed, HostStats, Interval};
use crate::topology::DeviceNames;

/// The states of an array in which nothing is being checked or rebuilt.
const NO_SYNC: [&str; 2] = ["idle", "frozen"];

/// What is remembered from one second to the next.
#[derive(Debug, Default)]
pub(super) struct Seconds {
    pub(super) held: HeldDevices,
    /// The time of the latest reading of processes.
    reading_at: Option<Duration>,
}

/// A device in a step, with what is known of it beside the judge's assessment.
pub(super) struct Known<'a> {
    pub(super) place: usize,
    pub(super) names: &'a Arc<DeviceNames>,
    pub(super) step: &'a DeviceStep<'a>,
    pub(super) assessment: &'a Assessment,
    pub(super) health: Option<&'a Health>,
    pub(super) reached_limit: Option<&'a ReachedLimit>,
    pub(super) attribution: Option<&'a Attribution>,
}

impl Seconds {
    /// Returns the limits that were reached, by device.
    pub(super) fn reached_limits(&mut self, step: &LimitStep<'_>) -> HashMap<String, ReachedLimit> {
        self.held.observe(step)
    }

    /// What was read of cgroups and tasks. A reading of processes belongs to the first scan that brings it.
    pub(super) fn scan(&mut self, found: &Attribution) -> Scan {
        let mut scan = Scan::default();
        for device in &found.devices {
            for used in &device.cgroups {
                let rates = &used.rates;
                scan.uses.push(Use {
                    device: Arc::clone(&device.name),
                    cgroup: Some(Arc::clone(&used.path)),
                    seconds: found.elapsed_s,
                    ios_per_s: [rates.reads_per_s, rates.writes_per_s],
                    kib_per_s: kib([rates.read_bytes_per_s, rates.write_bytes_per_s]),
                    limits: used.limits.iter().map(|used| used.limit.clone()).collect(),
                });
            }
            scan.uses.push(Use {
                device: Arc::clone(&device.name),
                cgroup: None,
                seconds: found.elapsed_s,
                ios_per_s: [0.0; 2],
                kib_per_s: kib(device.unattributed_bytes_per_s()),
                limits: Vec::new(),
            });
        }
        for task in found.blocked.iter().filter(|task| !is_own(&task.comm)) {
            scan.tasks.push(Task {
                pid: task.pid,
                cgroup: task.cgroup.clone(),
                program: program_name(&task.comm, task.command.as_deref()).into(),
                device: task.device.as_deref().map(Arc::from),
                is_server: task.is_kernel || serves_disks(&task.comm),
            });
        }
        if let Some(reading) = &found.reading
            && self.reading_at.replace(reading.at) != Some(reading.at)
        {
            let seconds = reading.processes.elapsed.as_secs_f64();
            for process in &reading.processes.busiest {
                let bytes = (process.read_bytes + process.write_bytes) as f64;
                if is_own(&process.comm) || seconds == 0.0 {
                    continue;
                }
                scan.processes.push(Process {
                    cgroup: process.cgroup.clone().unwrap_or_else(|| Arc::from("/")),
                    program: program_name(&process.comm, process.command.as_deref()).into(),
                    seconds,
                    kib_per_s: bytes / 1024.0 / seconds,
                    is_of_ended_children: process.is_of_ended_children,
                    is_server: process.is_kernel || serves_disks(&process.comm),
                });
            }
        }
        scan
    }

    /// Notes a break in time.
    pub(super) fn interrupt(&mut self) {
        *self = Self::default();
    }
}

/// This program reads and records, and is no part of what it watches.
fn is_own(comm: &str) -> bool {
    comm.starts_with("blkstat")
}

fn kib(bytes: [f64; 2]) -> [f64; 2] {
    bytes.map(|bytes| bytes / 1024.0)
}

pub(super) fn host_second(host: &HostStats) -> HostSecond {
    let swapped = [host.swap_in_pages_per_s, host.swap_out_pages_per_s];
    HostSecond {
        cpu_available_pct: host.cpu.map(|cpu| cpu.available()),
        io_pressure_pct: host.pressure_some_pct,
        swapped_pages_per_s: swapped.into_iter().flatten().reduce(|a, b| a + b),
    }
}

impl Known<'_> {
    /// Returns whether the kernel states that its requests are held back, or that it is being rebuilt.
    pub(super) fn has_fact(&self) -> bool {
        self.is_suspended() || self.is_syncing()
    }

    /// Returns whether a task has waited for it for long although nothing is in flight.
    pub(super) fn is_waited_for(&self) -> bool {
        let interval = self.step.interval.as_ref();
        interval.is_some_and(|interval| self.long_wait_s(interval).is_some())
    }

    fn is_suspended(&self) -> bool {
        self.health.is_some_and(Health::is_suspended)
    }

    fn is_syncing(&self) -> bool {
        let action = self.health.and_then(|health| health.value(SYNC_ACTION));
        matches!(action, Some(FactValue::Word(word)) if !NO_SYNC.contains(&&**word))
    }

    /// Its second; `None` without data or a verdict.
    pub(super) fn second(&self) -> Option<DeviceSecond> {
        let interval = self.step.interval.as_ref()?;
        let reads_and_writes = interval.reads_and_writes();
        let wait_s = self.long_wait_s(interval);
        let hung_s = self.assessment.evidence.iter().find_map(|one| match one {
            Evidence::Hung { for_s, .. } => Some(*for_s),
            _ => None,
        });
        let late_s = hung_s.or(wait_s).unwrap_or(0.0) - interval.seconds();
        let limit = self.reached_limit.filter(|reached| reached.holds_device);
        Some(DeviceSecond {
            place: self.place,
            names: Arc::clone(self.names),
            verdict: self.assessment.verdict?,
            limit: limit.map(|reached| reached.limit.clone()),
            capped_at: (self.assessment.plateau())
                .and_then(|plateau| plateau.limit(self.step.name)),
            is_suspended: self.is_suspended(),
            is_syncing: self.is_syncing(),
            is_waited_for: wait_s.is_some(),
            late_s: late_s.max(0.0),
            in_flight: interval.in_flight.unwrap_or(0),
            queue: interval
                .queue()
                .or_else(|| reads_and_writes.queue())
                .unwrap_or(0.0),
            util_pct: interval.util_pct(),
            iops: reads_and_writes.per_s().unwrap_or(0.0),
            kib_per_s: [&interval.reads, &interval.writes]
                .map(|one| one.kib_per_s().unwrap_or(0.0)),
            requests: [
                &interval.reads,
                &interval.writes,
                &interval.flushes,
                &interval.discards,
            ]
            .map(requests),
        })
    }

    /// The longest time for which a task has waited for the device, of which nothing is in flight; `None` if none has for long.
    fn long_wait_s(&self, interval: &Interval) -> Option<f64> {
        if interval.completed() > 0.0 || interval.in_flight != Some(0) {
            return None;
        }
        let mut longest_ms = None;
        for task in self
            .attribution
            .into_iter()
            .flat_map(|found| &found.blocked)
        {
            let is_here = task.device.as_deref() == Some(self.step.name) && !task.is_kernel;
            if is_here && task.waited_ms >= LONG_TASK_WAIT_MS {
                longest_ms = longest_ms.max(Some(task.waited_ms));
            }
        }
        Some(longest_ms? as f64 / 1000.0)
    }
}

/// Returns whether a second of a device says more than that it rests.
pub(super) fn has_work(step: &DeviceStep<'_>, assessment: &Assessment) -> bool {
    let completed = step
        .interval
        .as_ref()
        .is_some_and(|interval| interval.completed() > 0.0);
    assessment.verdict > Some(Verdict::Idle) || completed
}

fn requests(of: &Completed) -> Requests {
    Requests {
        per_s: of.per_s().unwrap_or(0.0),
        await_ms: of.await_ms(),
    }
}
