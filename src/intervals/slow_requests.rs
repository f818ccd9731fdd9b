//! Evidence from the single requests of an interval.

use super::device_interval::{DeviceInterval, DeviceState};
use super::traced::TracedInterval;
use crate::analysis::{Evidence, IoDirection, SlowRequests};
use crate::counters::{LatencySpan, RequestKind};

/// The kinds of requests that evidence is about, with their directions. A discard takes as long as it is large.
const DIRECTIONS: [(RequestKind, IoDirection); 3] = [
    (RequestKind::Read, IoDirection::Reads),
    (RequestKind::Write, IoDirection::Writes),
    (RequestKind::Flush, IoDirection::Flushes),
];

/// Adds to each device that a few of its single requests were far slower than the rest, as the last of its evidence:
/// it changes no verdict. Nothing is said where tracing was paused or failed, since the requests that are known are
/// not a fair sample then.
pub(super) fn note_slow_requests(devices: &mut [DeviceInterval<'_>], traced: &TracedInterval) {
    if traced.problem.is_some() {
        return;
    }
    for device in devices {
        let DeviceState::Active(activity) = &mut device.state else { continue };
        let Some(requests) = traced.devices.iter().find(|requests| requests.name == device.device) else {
            continue;
        };
        let found = DIRECTIONS.into_iter().filter_map(|(kind, direction)| {
            let histogram = requests.histogram(kind, LatencySpan::Device)?;
            SlowRequests::find(direction, histogram, requests.completed_of(kind))
        });
        activity.assessment.evidence.extend(found.map(Evidence::SlowRequests));
    }
}
