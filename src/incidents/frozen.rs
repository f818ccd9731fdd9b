//! Frozen file systems: a task waits in every scan for five seconds, the kernel counts hardly any wait for I/O, and the device that
//! its cgroup used is idle. So it is with a server that does not answer.

use std::sync::Arc;

use super::cause::is_above;
use super::limits::Evidence;
use super::second::{HostSecond, Scan, Task};
use crate::judge::{PATIENCE_S, Verdict};

/// The longest time between two scans in which a task waits.
const MAX_GAP_S: f64 = 2.5;
/// Below this share of the time, the kernel counts hardly any wait for I/O.
const MAX_PRESSURE_PCT: f64 = 20.0;
/// The cgroup used the device in so many scans of the seconds before.
const MIN_USES: usize = 3;
const USED_WITHIN_S: f64 = 15.0;

/// A task that waits for a device that is idle.
#[derive(Clone, Debug)]
struct Wait {
    pid: u32,
    device: Arc<str>,
    first_s: f64,
    latest_s: f64,
    /// The seconds of it that were not told yet.
    seconds_s: Vec<f64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Frozen {
    waits: Vec<Wait>,
}

/// Seconds in which a device was frozen.
pub(super) struct FrozenSeconds {
    pub(super) device: Arc<str>,
    pub(super) seconds_s: Vec<f64>,
}

impl Frozen {
    /// Takes a second. Returns the devices that are frozen, with the seconds that are known to be so since this second.
    pub(super) fn observe(
        &mut self,
        found: &Evidence<'_>,
        host: &HostSecond,
    ) -> Vec<FrozenSeconds> {
        let now_s = found.now_s;
        self.waits.retain(|one| now_s - one.latest_s <= MAX_GAP_S);
        let Some((_, scan)) = found.scans.last().filter(|(at_s, _)| *at_s == now_s) else {
            return Vec::new();
        };
        if host.io_pressure_pct.unwrap_or(0.0) >= MAX_PRESSURE_PCT {
            return Vec::new();
        }
        for task in &scan.tasks {
            let is_of_root = task.cgroup.as_deref().is_none_or(|path| path == "/");
            if !task.is_server && !is_of_root {
                self.note(task, found);
            }
        }
        let mut frozen = Vec::new();
        for wait in &mut self.waits {
            if wait.latest_s == now_s && now_s - wait.first_s >= PATIENCE_S {
                frozen.push(FrozenSeconds {
                    device: Arc::clone(&wait.device),
                    seconds_s: std::mem::take(&mut wait.seconds_s),
                });
            }
        }
        frozen
    }

    /// Notes that a task waits now, for each idle device that its cgroup used before.
    fn note(&mut self, task: &Task, found: &Evidence<'_>) {
        for device in found.devices {
            let name = &*device.names.device;
            let is_idle = device
                .row(found.now_s)
                .is_some_and(|row| row.second.verdict == Verdict::Idle);
            if !is_idle {
                continue;
            }
            let known = self
                .waits
                .iter_mut()
                .find(|one| one.pid == task.pid && *one.device == *name);
            if let Some(wait) = known {
                if wait.latest_s < found.now_s {
                    wait.latest_s = found.now_s;
                    wait.seconds_s.push(found.now_s);
                }
                continue;
            }
            if has_used(task, name, found) && !is_below_used(name, found) {
                self.waits.push(Wait {
                    pid: task.pid,
                    device: Arc::from(name),
                    first_s: found.now_s,
                    latest_s: found.now_s,
                    seconds_s: vec![found.now_s],
                });
            }
        }
    }
}

/// Returns whether the cgroup of a task used a device just before.
fn has_used(task: &Task, device: &str, found: &Evidence<'_>) -> bool {
    let mut count = 0;
    for (at_s, scan) in found.scans {
        if *at_s >= found.now_s - USED_WITHIN_S && *at_s < found.now_s {
            let mut uses = scan.uses.iter();
            count += usize::from(uses.any(|one| {
                *one.device == *device
                    && one.cgroup == task.cgroup
                    && one.kib_per_s.iter().sum::<f64>() > 0.0
            }));
        }
    }
    count >= MIN_USES
}

/// Returns whether cgroups are seen to use a device that lies on this one: the topmost is the frozen one.
fn is_below_used(device: &str, found: &Evidence<'_>) -> bool {
    let uses = |scan: &Scan| -> bool {
        let mut uses = scan.uses.iter();
        uses.any(|one| is_above(&one.device, device, found.topology))
    };
    found.scans.iter().any(|(_, scan)| uses(scan))
}
