//! Breaks in captures that do not say when another boot or another host begins.

use jiff::Timestamp;

use crate::counters::{Counters, Device, Sample, wrapping_sub_u32};

/// A gap is as many usual intervals, and longer than an hour.
const MIN_GAP_INTERVALS: f64 = 100.0;
const MIN_GAP_S: f64 = 3600.0;
/// Fewer devices may have been replaced one by one.
const MIN_RESET_DEVICES: usize = 2;

#[derive(Debug, Default)]
pub(super) struct Continuity {
    /// The number of breaks so far.
    pub(super) breaks: u64,
    latest: Option<Timestamp>,
    /// The latest two intervals in seconds.
    latest_s: [f64; 2],
}

impl Continuity {
    /// Takes the next sample. Returns the warning if no interval may span the time since the one before.
    pub(super) fn observe(&mut self, previous: &Sample, sample: &Sample) -> Option<String> {
        let time = sample.at.wall?;
        let interval_s = time.duration_since(self.latest.replace(time)?).as_secs_f64();
        let usual_s = self.latest_s[0].min(self.latest_s[1]);
        let is_gap = usual_s > 0.0 && interval_s > MIN_GAP_S && interval_s > MIN_GAP_INTERVALS * usual_s;
        let reason = if is_gap {
            Some("a gap of more than 100 intervals")
        } else {
            reason_of_devices(previous, sample, interval_s)
        };
        if reason.is_none() && interval_s > 0.0 {
            self.latest_s = [self.latest_s[1], interval_s];
        }
        self.breaks += u64::from(reason.is_some());
        reason.map(|reason| {
            format!("{reason} at {time}: another boot or host begins; no interval spans this point")
        })
    }
}

fn reason_of_devices(previous: &Sample, sample: &Sample, interval_s: f64) -> Option<&'static str> {
    let before = |name: &str| previous.devices.iter().find(|device| device.name == name);
    // The devices are nearly always the same, in the same order.
    let is_at_place = previous.devices.iter().zip(&sample.devices).all(|(one, other)| one.name == other.name);
    let pairs: Vec<_> = if is_at_place {
        previous.devices.iter().zip(&sample.devices).collect()
    } else {
        sample.devices.iter().filter_map(|device| Some((before(&device.name)?, device))).collect()
    };
    if pairs.is_empty() && !previous.devices.is_empty() && !sample.devices.is_empty() {
        return Some("other devices");
    }
    // Devices that were never used are the same on any host.
    let is_used = |device: &Device| device.counters.reads.ios > 0 || device.counters.writes.ios > 0;
    let (mut going_on, mut others, mut has_any_fallen) = (0, 0, false);
    for (before, after) in pairs.into_iter().filter(|(before, after)| is_used(before) || is_used(after)) {
        if can_follow(&before.counters, &after.counters, interval_s) {
            going_on += 1;
        } else {
            others += 1;
            has_any_fallen |= has_fallen(&before.counters, &after.counters);
        }
    }
    // Where a third goes on, devices were replaced.
    let is_other = has_any_fallen && others >= MIN_RESET_DEVICES && others > 2 * going_on;
    is_other.then_some("counters that begin again")
}

fn has_fallen(before: &Counters, after: &Counters) -> bool {
    after.reads.ios < before.reads.ios && after.reads.sectors < before.reads.sectors
        || after.writes.ios < before.writes.ios && after.writes.sectors < before.writes.sectors
}

/// Returns whether the counters can be those of the same device after this time, in which it cannot be busy for much longer.
/// Old kernels count some time twice, and 7-column lines have no times.
fn can_follow(before: &Counters, after: &Counters, interval_s: f64) -> bool {
    let busy_ms = wrapping_sub_u32(before.busy_ms, after.busy_ms);
    !has_fallen(before, after) && busy_ms as f64 <= 10_000.0 * interval_s.max(1.0)
}
