//! Evidence from the single requests of an interval.

use super::device_interval::{DeviceInterval, DeviceState};
use super::traced::TracedInterval;
use crate::analysis::{Evidence, IoDirection, SlowRequests};
use crate::counters::{LatencySpan, RequestKind};

/// The kinds of requests that evidence is about, with their directions. Discards are left out because their latency
/// depends on their size.
const DIRECTIONS: [(RequestKind, IoDirection); 3] = [
    (RequestKind::Read, IoDirection::Reads),
    (RequestKind::Write, IoDirection::Writes),
    (RequestKind::Flush, IoDirection::Flushes),
];

/// Adds the evidence to each device that a few of its single requests were far slower than the rest. It comes last and
/// does not change the verdict. Nothing is added if tracing was paused or failed, because the known requests are then
/// not a fair sample.
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
