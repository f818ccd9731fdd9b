//! The history of one device.

use std::sync::Arc;

use super::DeviceQuantity;
use crate::analysis::Verdict;
use crate::intervals::device_interval::{DeviceActivity, DeviceInterval, DeviceNames, DeviceState};
use crate::intervals::series::{Extent, LatencyCounts, Series, TimeSpan, WorstVerdict};

/// The history of a device: its quantities, its verdicts, and its requests by latency.
#[derive(Clone, Debug, Default)]
pub struct DeviceHistory {
    /// The latest names.
    pub names: Arc<DeviceNames>,
    pub verdicts: Series<WorstVerdict>,
    /// Empty until the device does any I/O: most devices of a large host never do.
    quantities: Vec<Series<Extent>>,
    /// Its reads, writes and flushes by the mean latency of their interval.
    pub latencies: Series<LatencyCounts>,
}

impl DeviceHistory {
    /// Returns whether the device did any I/O, or had requests in flight.
    pub fn is_active(&self) -> bool {
        !self.quantities.is_empty()
    }

    /// The values of a quantity; empty for a device that was idle.
    pub fn values(&self, quantity: DeviceQuantity) -> &[Extent] {
        self.quantities.get(quantity as usize).map_or(&[], Series::values)
    }

    pub(super) fn observe(&mut self, row: &DeviceInterval, index: usize, points: &[TimeSpan]) {
        if self.names != row.names {
            self.names = Arc::clone(&row.names);
        }
        match &row.state {
            DeviceState::Active(activity) => {
                self.verdicts.at(index).observe(activity.assessment.verdict);
                self.observe_activity(activity, index, points);
            }
            DeviceState::AccountingOff(_) => self.verdicts.at(index).observe(Some(Verdict::AccountingOff)),
            DeviceState::Reset | DeviceState::MemberReset | DeviceState::Event(_) => {}
        }
    }

    fn observe_activity(&mut self, activity: &DeviceActivity, index: usize, points: &[TimeSpan]) {
        let stats = &activity.stats;
        if !self.is_active() {
            if stats.is_idle() {
                return;
            }
            self.quantities = vec![Series::default(); DeviceQuantity::COUNT];
            self.fill_idle_points(activity, index, points);
        }
        for (series, quantity) in self.quantities.iter_mut().zip(DeviceQuantity::all()) {
            if let Some((value, weight)) = quantity.observed(activity) {
                series.at(index).observe(value, weight);
            }
        }
        for kind in [stats.reads, stats.writes, stats.flushes] {
            if let Some(await_ms) = kind.await_ms() {
                self.latencies.at(index).observe(await_ms, kind.ios as f64);
            }
        }
    }

    /// Adds zeros for the time in which the device was idle until now.
    fn fill_idle_points(&mut self, first: &DeviceActivity, index: usize, points: &[TimeSpan]) {
        let verdicts = self.verdicts.values().iter().take(index);
        let is_idle = |verdict: &WorstVerdict| matches!(verdict.get(), Some(Some(Verdict::Idle) | None));
        let idle: Vec<bool> = verdicts.map(is_idle).collect();
        for (series, quantity) in self.quantities.iter_mut().zip(DeviceQuantity::all()) {
            // A mean over requests has no value without any.
            let is_rate = quantity.observed(first).is_some_and(|(_, weight)| weight == first.stats.seconds());
            for (point, span) in points.iter().enumerate().take(index) {
                if is_rate && quantity != DeviceQuantity::DoubtfulUtilPct && idle.get(point) == Some(&true) {
                    series.at(point).observe(0.0, span.end_s - span.start_s);
                }
            }
        }
    }

    pub(super) fn merge(&mut self, merged: &[usize]) {
        self.verdicts.merge(merged);
        self.quantities.iter_mut().for_each(|series| series.merge(merged));
        self.latencies.merge(merged);
    }
}
