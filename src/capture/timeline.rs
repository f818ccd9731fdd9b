//! Where time breaks in a capture: samples on both sides of a break have no interval between them.

use super::fault::FaultKind;
use crate::units::Moment;

/// Numbers the stretches of time that have no break in them.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    last: Option<Moment>,
    stretch: u64,
}

impl Timeline {
    /// The stretch of the sample that follows, and what breaks time before it, if anything does.
    ///
    /// Only where a monotonic clock is not known is the wall clock asked: setting it back does no harm otherwise.
    pub(super) fn place(&mut self, at: Moment) -> (u64, Option<FaultKind>) {
        let fault = self.last.and_then(|last| match (last.monotonic, at.monotonic, last.wall, at.wall) {
            (Some(before), Some(now), _, _) => (now <= before).then_some(FaultKind::MonotonicBack),
            (_, _, Some(before), Some(now)) if now <= before => Some(FaultKind::ClockBack { before, now }),
            _ => None,
        });
        self.stretch += u64::from(fault.is_some());
        self.last = Some(at);
        (self.stretch, fault)
    }

    /// Begins a new stretch, whatever the clocks of the sample that follows say.
    pub(super) fn break_here(&mut self) {
        self.stretch += 1;
        self.last = None;
    }
}
