//! The sum over devices.

use super::device_interval::{DeviceActivity, DeviceInterval, DeviceState};
use super::sample_pair::DevicePair;
use super::total_role::TotalRole;
use crate::counters::Sample;
use crate::metrics::{CounterDelta, DataFlag, IntervalStats};
use crate::units::Span;

/// A sum of counter differences. Sums of counters would wrap and reset at other points than the counters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Total {
    delta: Option<CounterDelta>,
    in_flight_before: Option<u64>,
    in_flight: Option<u64>,
    had_reset: bool,
    lacks_device: bool,
}

impl Total {
    /// The total of no device.
    pub(super) const EMPTY: Self = Self {
        delta: None,
        in_flight_before: Some(0),
        in_flight: Some(0),
        had_reset: false,
        lacks_device: false,
    };

    /// Adds a device.
    pub(super) fn add(&mut self, delta: &CounterDelta, device: &DevicePair<'_>) {
        let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b));
        let (before, after) = device.in_flight();
        self.delta = Some(self.delta.map_or(*delta, |sum| sum.combine_devices(delta)));
        self.in_flight_before = sum(self.in_flight_before, before);
        self.in_flight = sum(self.in_flight, after);
    }

    /// Adds a device without statistics.
    pub(super) fn add_unknown(&mut self, state: &DeviceState) {
        match state {
            DeviceState::AccountingOff(_) => self.lacks_device = true,
            _ => self.had_reset = true,
        }
    }

    /// Returns the line of the total; `None` for the total of no device.
    pub(super) fn finish(&self, interval: Span) -> Option<DeviceInterval<'static>> {
        let state = if self.had_reset { DeviceState::MemberReset } else { self.activity(interval)? };
        Some(DeviceInterval { device: "total", label: "total", mountpoints: "", state })
    }

    fn activity(&self, interval: Span) -> Option<DeviceState> {
        let stats = IntervalStats::from_delta(&self.delta?, self.in_flight_before, self.in_flight, interval);
        // The busy times of several devices can add up to more than the interval.
        let stats = IntervalStats { util_pct: None, util_upper_bound_pct: None, ..stats };
        let flag = self.lacks_device.then_some(DataFlag::AccountingOff);
        Some(DeviceState::Active(Box::new(DeviceActivity { stats, flag, ..DeviceActivity::default() })))
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
