//! The verdict on each step of a device.

use crate::analysis::{Assessment, LiveVerdict, Verdict};
use crate::metrics::{HostStats, Interval, StallTimer};

#[derive(Clone, Debug, Default)]
pub(super) struct DeviceJudge {
    /// `None` until the device is active: most devices of a large host never are.
    live_verdict: Option<Box<LiveVerdict>>,
    stall_timer: StallTimer,
}

impl DeviceJudge {
    /// Notes a break in time: the next step does not follow the latest.
    pub(super) fn interrupt(&mut self) {
        if let Some(live_verdict) = &mut self.live_verdict {
            live_verdict.interrupt();
        }
        self.stall_timer = StallTimer::default();
    }

    /// Judges a step, with the host in it. `new_live_verdict` creates the live verdict of a device that becomes active.
    pub(super) fn judge(
        &mut self,
        stats: &Interval,
        host: &HostStats,
        new_live_verdict: impl FnOnce() -> LiveVerdict,
    ) -> Assessment {
        let stalled_s = self.stall_timer.observe(stats);
        if self.live_verdict.is_none() && stats.is_idle() {
            return Assessment { verdict: Some(Verdict::Idle), ..Assessment::default() };
        }
        let live_verdict = self.live_verdict.get_or_insert_with(|| Box::new(new_live_verdict()));
        live_verdict.observe(stats, stalled_s, host)
    }
}
