//! The sum over devices. Sums of counters would wrap and reset at other points than the counters.

use super::device_interval::{DeviceActivity, DeviceInterval, DeviceState};
use super::total_role::TotalRole;
use crate::counters::Sample;
use crate::metrics::{DataFlag, Interval};

/// The sum over the devices of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Total {
    /// `None` without a device.
    sum: Option<Interval>,
    had_reset: bool,
    lacks_device: bool,
}

impl Total {
    pub(super) fn add(&mut self, interval: &Interval) {
        // A device alone has no util either.
        let no_device = Interval { in_flight_before: Some(0), in_flight: Some(0), ..Interval::default() };
        self.sum = Some(self.sum.unwrap_or(no_device).beside(interval));
    }

    /// Adds a device without statistics.
    pub(super) fn add_unknown(&mut self, state: &DeviceState) {
        match state {
            DeviceState::AccountingOff(_) => self.lacks_device = true,
            _ => self.had_reset = true,
        }
    }

    /// Returns the line of the total; `None` for the total of no device.
    pub(super) fn finish(&self) -> Option<DeviceInterval> {
        let active = |stats: Interval| {
            let flag = self.lacks_device.then_some(DataFlag::AccountingOff);
            DeviceState::Active(Box::new(DeviceActivity { stats, flag, ..DeviceActivity::default() }))
        };
        let state = if self.had_reset { DeviceState::MemberReset } else { active(self.sum?) };
        Some(DeviceInterval::without_alias("total", state))
    }
}

/// Returns whether a device counts in the total of an interval that ends with the sample `newer`.
pub(super) fn counts_in_total(role: TotalRole, newer: &Sample) -> bool {
    match role {
        TotalRole::Excluded => false,
        TotalRole::Included => true,
        TotalRole::FallbackFor(index) => newer.devices[index].counters.completed() == [0; 4],
    }
}
