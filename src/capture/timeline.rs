//! Where time breaks in a capture: samples on both sides of a break have no interval between them.

use super::fault::CaptureWarningKind;
use crate::units::SampleTime;

/// Numbers the segments of time that have no break in them.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    last: Option<SampleTime>,
    segment: u64,
}

impl Timeline {
    /// The segment of the sample that follows, and what breaks time before it, if anything does.
    ///
    /// Only where a monotonic clock is not known is the wall clock asked: setting it back does no harm otherwise.
    pub(super) fn place(&mut self, at: SampleTime) -> (u64, Option<CaptureWarningKind>) {
        let fault = self.last.and_then(|last| match (last.monotonic, at.monotonic, last.wall, at.wall) {
            (Some(before), Some(now), _, _) => (now <= before).then_some(CaptureWarningKind::MonotonicBack),
            (_, _, Some(before), Some(now)) if now <= before => {
                Some(CaptureWarningKind::ClockBack { before, now })
            }
            _ => None,
        });
        self.segment += u64::from(fault.is_some());
        self.last = Some(at);
        (self.segment, fault)
    }

    /// Begins a new segment, whatever the clocks of the sample that follows say.
    pub(super) fn break_here(&mut self) {
        self.segment += 1;
        self.last = None;
    }
}
