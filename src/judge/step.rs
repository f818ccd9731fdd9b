//! What the judge of a host takes at a time: a step of all devices.

use crate::counters::{BlockedTask, Counters, Sample};
use crate::metrics::{HostStats, Interval};
use crate::topology::Topology;

/// A step of all devices: two samples, one right after the other.
pub struct Step<'a> {
    /// The devices of the newer sample, in the order of the last call of [`super::HostJudge::learn_devices`].
    pub devices: &'a [DeviceStep<'a>],
    /// The newer sample.
    pub sample: &'a Sample,
    pub seconds: f64,
    pub host: &'a HostStats,
    pub topology: &'a Topology,
    /// The tasks in uninterruptible sleep, as far as they were read.
    pub tasks: &'a [BlockedTask],
}

/// A device in a step.
#[derive(Clone, Debug)]
pub struct DeviceStep<'a> {
    pub name: &'a str,
    /// What happened in the step; `None` if there is no data: the device appeared in it, or its counters were reset.
    pub interval: Option<Interval>,
    /// Its counters at the beginning of the step.
    pub before: &'a Counters,
    /// The kernel does not count its requests.
    pub is_accounting_off: bool,
}
