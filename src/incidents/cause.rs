//! The word and the cause of one second of a device.

use std::sync::Arc;

use super::device::{Device, Row};
use super::second::HostSecond;
use super::second_cause::SecondCause;
use crate::judge::Verdict;
use crate::topology::Topology;

/// Below this share of the time of all CPUs in percent, none was available.
pub(super) const NO_CPU_PCT: f64 = 5.0;
/// With fewer requests at a time, the lack of CPU comes before the device.
pub(super) const FEW_REQUESTS: f64 = 2.0;
/// In use all the time: the share of the time, the requests at a time, and the share in which tasks wait. Of two tasks, of which one
/// waits all the time, it is a half.
const USED_PCT: f64 = 90.0;
const USED_QUEUE: f64 = 0.9;
pub(super) const USED_PRESSURE_PCT: f64 = 45.0;
/// Clearly not all the time: the share of the time before it.
const CALM_UTIL_PCT: f64 = 60.0;
/// The fewest steps before it that show that it is not always so.
const MIN_CALM_STEPS: usize = 10;

/// The facts of a second that the kernel states: the devices that are suspended, and the arrays that are being rebuilt.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) suspended: Vec<Arc<str>>,
    pub(super) syncing: Vec<Arc<str>>,
}

impl Facts {
    /// The first of these devices that lies on a device or below it.
    fn of<'a>(of: &'a [Arc<str>], device: &str, topology: &Topology) -> Option<&'a Arc<str>> {
        of.iter().find(|one| are_stacked(one, device, topology))
    }
}

/// Returns whether one device lies on the other, or is the same.
pub(super) fn are_stacked(one: &str, other: &str, topology: &Topology) -> bool {
    one == other || is_above(one, other, topology) || is_above(other, one, topology)
}

/// Returns whether a device lies on another one, on any layer.
pub(super) fn is_above(upper: &str, lower: &str, topology: &Topology) -> bool {
    !topology.backing_devices(upper).is_empty()
        && topology.devices_below(upper).iter().any(|one| one == lower)
}

/// The word and the cause of the latest second of a device; `None` if nothing is wrong. Facts come before what is inferred.
pub(super) fn cause_of(
    device: &Device,
    row: &Row,
    host: &HostSecond,
    facts: &Facts,
    topology: &Topology,
) -> Option<(Verdict, SecondCause)> {
    let second = &row.second;
    let verdict = second.verdict;
    let name = &second.names.device;
    if verdict == Verdict::Stalled {
        if let Some(suspended) = Facts::of(&facts.suspended, name, topology) {
            return Some((verdict, SecondCause::Suspended(Arc::clone(suspended))));
        }
        // What waits, waits above a device with nothing in flight.
        let is_empty = second.in_flight == 0 && second.queue == 0.0;
        let cause = if is_empty {
            SecondCause::Frozen
        } else {
            SecondCause::Stall
        };
        return Some((verdict, cause));
    }
    if second.is_waited_for && second.limit.is_none() && !verdict.is_trouble() {
        return Some((Verdict::Stalled, SecondCause::Frozen));
    }
    if let Some(limit) = &second.limit {
        return Some((
            Verdict::Throttled,
            SecondCause::Limit(Arc::new(limit.clone())),
        ));
    }
    if !verdict.is_trouble() {
        return is_used_all_the_time(device, row, host)
            .then_some((Verdict::Busy, SecondCause::Used));
    }
    if let Some(array) = Facts::of(&facts.syncing, name, topology) {
        return Some((verdict, SecondCause::Sync(Arc::clone(array))));
    }
    let has_no_cpu = host.cpu_available_pct.is_some_and(|pct| pct < NO_CPU_PCT);
    if verdict == Verdict::Slow && second.queue < FEW_REQUESTS && has_no_cpu {
        return Some((verdict, SecondCause::Cpu));
    }
    let cause = match verdict {
        Verdict::Capped => SecondCause::Capped,
        _ => SecondCause::Queue,
    };
    Some((verdict, cause))
}

/// Returns whether a device is in use all the time while tasks wait, and the calm before shows that this is not its normal state.
fn is_used_all_the_time(device: &Device, row: &Row, host: &HostSecond) -> bool {
    let second = &row.second;
    if second.util_pct < Some(USED_PCT)
        || second.queue < USED_QUEUE
        || host.io_pressure_pct.unwrap_or(0.0) < USED_PRESSURE_PCT
    {
        return false;
    }
    let mut utils = Vec::new();
    for calm in device.before(row.end_s) {
        if !calm.is_used {
            utils.push(calm.second.util_pct.unwrap_or(0.0));
        }
    }
    utils.len() >= MIN_CALM_STEPS && median(&mut utils) <= Some(CALM_UTIL_PCT)
}

/// The median, or the mean of the two in the middle; `None` of no values. It puts the values into another order.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let is_odd = values.len() % 2 == 1;
    let middle = values.len() / 2;
    let (lower, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let highest_below = lower.iter().copied().reduce(f64::max);
    match highest_below {
        Some(below) if !is_odd => Some(f64::midpoint(below, *upper)),
        _ => Some(*upper),
    }
}
