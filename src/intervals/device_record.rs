//! The memory of a device from one interval to the next, and after it disappeared.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::device_interval::DeviceActivity;
use super::summary::DeviceSummary;
use crate::analysis::{Assessment, LiveVerdict, Verdict};
use crate::metrics::{IntervalStats, StallTimer, UtilCheck};

/// The number of departed devices that are remembered; bounds the memory for a stream of ever new names.
const MAX_DEPARTED: usize = 1000;

/// The record of a device.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceRecord {
    util_check: UtilCheck,
    stall_timer: StallTimer,
    pub(super) summary: DeviceSummary,
    /// `None` until the device is first active: most devices of a large host never are.
    live_verdict: Option<Box<LiveVerdict>>,
    /// The identity of the device as it was last known; `None` if it never was.
    identity: Option<String>,
}

impl DeviceRecord {
    /// Creates the record of a device that came back: its summary continues.
    pub(super) fn with_summary(summary: DeviceSummary) -> Self {
        Self { summary, ..Self::default() }
    }

    /// Notes a break in time: the next interval does not follow the latest.
    pub(super) fn interrupt(&mut self) {
        self.util_check = UtilCheck::default();
        self.stall_timer = StallTimer::default();
        if let Some(live_verdict) = &mut self.live_verdict {
            live_verdict.interrupt();
        }
    }

    /// Notes that the counters were reset or another device took the name: what was learned of the first is dropped.
    pub(super) fn reset(&mut self) {
        self.interrupt();
        self.live_verdict = None;
    }

    /// Notes the identity of the device, if it is known now.
    pub(super) fn identify(&mut self, identity: Option<&str>) {
        let Some(identity) = identity.filter(|identity| self.identity.as_deref() != Some(identity)) else {
            return;
        };
        if self.identity.replace(identity.to_owned()).is_some() {
            self.reset();
        }
    }

    /// Takes an idle interval, at less cost than with statistics.
    pub(super) fn observe_idle(&mut self, seconds: f64) {
        self.summary.observe_idle(seconds);
        if let Some(live_verdict) = &mut self.live_verdict {
            live_verdict.observe(&IntervalStats { seconds, ..IntervalStats::default() }, 0.0);
        }
    }

    /// Takes the statistics of an interval that ended `at`. `new_live_verdict` makes the live verdict of a device that
    /// becomes active; `None` if no verdict is wanted.
    pub(super) fn observe(
        &mut self,
        stats: IntervalStats,
        max_in_flight: u64,
        at: Option<Timestamp>,
        new_live_verdict: Option<impl FnOnce() -> LiveVerdict>,
    ) -> DeviceActivity {
        let flag = self.util_check.observe(&stats, max_in_flight);
        let stalled_s = self.stall_timer.observe(&stats);
        self.summary.observe(&stats, stalled_s, at);
        let assessment = match (&mut self.live_verdict, new_live_verdict) {
            (_, None) => Assessment::default(),
            (None, Some(_)) if stats.is_idle() => {
                Assessment { verdict: Some(Verdict::Idle), ..Assessment::default() }
            }
            (live_verdict, Some(new)) => {
                live_verdict.get_or_insert_with(|| Box::new(new())).observe(&stats, stalled_s)
            }
        };
        DeviceActivity { stats, flag, stalled_s, assessment }
    }
}

/// Labels and summaries of devices that disappeared, by the kernel's names.
#[derive(Default)]
pub(super) struct DepartedDevices(BTreeMap<String, (String, DeviceSummary)>);

impl DepartedDevices {
    /// Keeps the summary of a device that disappeared. That of an idle device holds only its time, which matters
    /// should the device come back and be active; it makes way for one that was active.
    pub(super) fn insert(&mut self, name: &str, label: &str, summary: DeviceSummary) {
        if self.0.len() >= MAX_DEPARTED && !summary.is_empty() {
            self.0.retain(|_, (_, summary)| !summary.is_empty());
        }
        if self.0.len() < MAX_DEPARTED {
            self.0.insert(name.to_owned(), (label.to_owned(), summary));
        }
    }

    /// Removes a device that came back and returns its summary; `None` if it is not remembered.
    pub(super) fn remove(&mut self, name: &str) -> Option<DeviceSummary> {
        self.0.remove(name).map(|(_, summary)| summary)
    }

    /// Returns name, label and summary of each device, sorted by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str, DeviceSummary)> {
        self.0.iter().map(|(name, (label, summary))| (name.as_str(), label.as_str(), *summary))
    }
}
