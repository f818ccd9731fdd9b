//! The few single requests of a device that were far slower than the rest.

use super::paragraph::capitalize;
use super::times::Times;
use crate::analysis::{DeviceReport, SlowIntervals};
use crate::report::evidence::slow_intervals_text;

/// Returns a sentence for each direction that had any.
pub(super) fn sentences(report: &DeviceReport, times: &Times<'_>) -> Vec<String> {
    let sentence = |slow: &SlowIntervals| {
        let begin = times.after(slow.worst_begin_s);
        let text = slow_intervals_text(&report.device, slow, report.busy_intervals, &begin);
        capitalize(&format!("{text}."))
    };
    report.slow_requests.iter().map(sentence).collect()
}
