//! The length of a live interval.

use super::options::Options;
use crate::counters::Sample;
use crate::units::{Elapsed, SampleTime, Span};

/// Returns the time between two live samples. As in iostat, an interval of whole seconds is measured by the uptime; for
/// fractions of a second the hundredths of the uptime are too coarse, so the monotonic clock is used.
pub(super) fn live_interval(options: &Options, older: &Sample, newer: &Sample) -> Span {
    let is_by_uptime = options.interval.is_none_or(|interval| interval.subsec_nanos() == 0);
    if is_boot(older) || is_by_uptime {
        let older = SampleTime { uptime: older.at.uptime.or(Some(0)), ..SampleTime::default() };
        return newer.at.uptime_since(&older);
    }
    match newer.at.since(&older.at) {
        Elapsed::Forward(interval) => interval,
        // Does not occur: the monotonic clock advances between two samples.
        Elapsed::Unknown => Span::HUNDREDTH,
    }
}

/// Returns whether this is the empty sample that represents the boot, when every counter was zero.
pub(super) fn is_boot(sample: &Sample) -> bool {
    sample.at == SampleTime::default()
}
