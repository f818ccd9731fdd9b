//! Divides a capture into segments at the points where time breaks: no interval spans such a point.

use super::warning::CaptureWarningKind;
use crate::units::SampleTime;

/// Numbers the segments of a capture.
#[derive(Debug, Default)]
pub(super) struct SegmentTracker {
    previous: Option<SampleTime>,
    segment: u64,
}

impl SegmentTracker {
    /// Returns the segment of the next sample, taken at `at`, and, if a new segment begins, the reason.
    ///
    /// The wall clock is used only if no monotonic time is known; with a monotonic time, setting the wall clock back
    /// does no harm.
    pub(super) fn assign(&mut self, at: SampleTime) -> (u64, Option<CaptureWarningKind>) {
        let clock_error =
            self.previous.and_then(|last| match (last.monotonic, at.monotonic, last.wall, at.wall) {
                (Some(previous), Some(now), _, _) => {
                    (now <= previous).then_some(CaptureWarningKind::MonotonicClockNotAdvanced)
                }
                (_, _, Some(previous), Some(now)) if now <= previous => {
                    Some(CaptureWarningKind::ClockNotAdvanced { previous, now })
                }
                _ => None,
            });
        self.segment += u64::from(clock_error.is_some());
        self.previous = Some(at);
        (self.segment, clock_error)
    }

    /// Starts a new segment regardless of the time of the next sample.
    pub(super) fn start_segment(&mut self) {
        self.segment += 1;
        self.previous = None;
    }
}
