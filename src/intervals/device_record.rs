//! The memory of a device from one interval to the next, and after it disappeared.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::device_interval::DeviceActivity;
use super::judged::Judged;
use super::summary::DeviceSummary;
use crate::analysis::{Assessment, Beside, LiveVerdict, PeerHistory, SharedLimit, Verdict};
use crate::metrics::{HostStats, Interval, StallTimer, UtilCheck};

/// The most departed devices that are remembered: bounds the memory if new names keep appearing.
const MAX_DEPARTED: usize = 1000;

/// The verdict on each step of a device.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceJudge {
    /// `None` until the device is active: most devices of a large host never are.
    live_verdict: Option<Box<LiveVerdict>>,
    stall_timer: StallTimer,
    pub(super) peers: PeerHistory,
    /// The seconds since a request completed; `None` if none has since the beginning or a break.
    pub(super) idle_s: Option<f64>,
}

impl DeviceJudge {
    /// Notes a break in time: the next step does not follow the latest.
    pub(super) fn interrupt(&mut self) {
        if let Some(live_verdict) = &mut self.live_verdict {
            live_verdict.interrupt();
        }
        self.stall_timer = StallTimer::default();
        self.peers = PeerHistory::default();
        self.idle_s = None;
    }

    /// Judges a step, with the host in it and the limit that the device shares with others. `new_live_verdict` creates the live verdict of a device that becomes active.
    pub(super) fn judge(
        &mut self,
        stats: &Interval,
        host: &HostStats,
        shared_limit: Option<SharedLimit>,
        new_live_verdict: impl FnOnce() -> LiveVerdict,
    ) -> Assessment {
        let stalled_s = self.stall_timer.observe(stats);
        self.idle_s = match self.idle_s {
            _ if stats.completed() > 0 => Some(0.0),
            idle_s => idle_s.map(|idle_s| idle_s + stats.seconds()),
        };
        if self.live_verdict.is_none() && stats.is_idle() {
            return Assessment { verdict: Some(Verdict::Idle), ..Assessment::default() };
        }
        let live_verdict = self.live_verdict.get_or_insert_with(|| Box::new(new_live_verdict()));
        live_verdict.observe(stats, stalled_s, host, Beside { slow: self.peers.slow(), shared_limit })
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct DeviceRecord {
    util_check: UtilCheck,
    stall_timer: StallTimer,
    pub(super) summary: DeviceSummary,
    pub(super) judge: DeviceJudge,
    /// The interval so far.
    pub(super) judged: Judged,
    /// The last known identity of the device; `None` if it was never known.
    identity: Option<String>,
}

impl DeviceRecord {
    /// Creates the record of a device that came back: its summary continues.
    pub(super) fn with_summary(summary: DeviceSummary) -> Self {
        Self { summary, ..Self::default() }
    }

    /// Notes a break in time: the next interval does not follow the latest.
    pub(super) fn interrupt(&mut self) {
        self.interrupt_statistics();
        self.judge.interrupt();
    }

    /// Notes that another device took the name: drops what was learned about the first.
    pub(super) fn reset(&mut self) {
        self.interrupt_statistics();
        self.judge = DeviceJudge::default();
    }

    /// Notes a reset within an interval; called at the end of the interval.
    pub(super) fn interrupt_statistics(&mut self) {
        self.util_check = UtilCheck::default();
        self.stall_timer = StallTimer::default();
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

    /// Takes an interval that ended `at`, and sets the values that also depend on earlier intervals.
    pub(super) fn observe(&mut self, activity: &mut DeviceActivity, at: Option<Timestamp>) {
        activity.flag = self.util_check.observe(&activity.stats, self.judged.max_in_flight);
        activity.stalled_s = self.stall_timer.observe(&activity.stats);
        self.summary.observe(&activity.stats, activity.stalled_s, at);
    }
}

/// Labels and summaries of devices that disappeared, by the kernel's names.
#[derive(Default)]
pub(super) struct DepartedDevices(BTreeMap<String, (String, DeviceSummary)>);

impl DepartedDevices {
    /// Keeps the summary of a device that disappeared. The summary of an idle device holds only its time, which matters
    /// only if the device comes back and becomes active, so it is dropped first to make room for one that was active.
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
