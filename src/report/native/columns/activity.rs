//! The kinds of activity without which columns are empty.

use crate::intervals::DeviceActivity;

pub(super) fn always(_: &DeviceActivity) -> bool {
    true
}

pub(super) fn never(_: &DeviceActivity) -> bool {
    false
}

pub(super) fn has_reads(activity: &DeviceActivity) -> bool {
    activity.stats.reads.ios.is_some_and(|ios| ios > 0)
}

pub(super) fn has_writes(activity: &DeviceActivity) -> bool {
    activity.stats.writes.ios.is_some_and(|ios| ios > 0)
}

/// Returns whether discards completed.
pub(in crate::report::native) fn has_discards(activity: &DeviceActivity) -> bool {
    activity.stats.discards.ios.is_some_and(|ios| ios > 0)
}

/// Returns whether flushes completed.
pub(in crate::report::native) fn has_flushes(activity: &DeviceActivity) -> bool {
    activity.stats.flushes_per_s.is_some_and(|rate| rate > 0.0)
}

pub(super) fn has_read_merges(activity: &DeviceActivity) -> bool {
    activity.stats.reads.merge_pct.is_some_and(|share| share > 0.0)
}

pub(super) fn has_write_merges(activity: &DeviceActivity) -> bool {
    activity.stats.writes.merge_pct.is_some_and(|share| share > 0.0)
}

pub(super) fn has_discard_merges(activity: &DeviceActivity) -> bool {
    activity.stats.discards.merge_pct.is_some_and(|share| share > 0.0)
}

pub(super) fn has_in_flight(activity: &DeviceActivity) -> bool {
    activity.stats.in_flight.is_some_and(|in_flight| in_flight > 0)
}

pub(super) fn has_read_saturation(activity: &DeviceActivity) -> bool {
    activity.assessment.read_saturation.is_some()
}

pub(super) fn has_write_saturation(activity: &DeviceActivity) -> bool {
    activity.assessment.write_saturation.is_some()
}
