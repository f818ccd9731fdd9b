//! The requests that devices complete, by the counters of the kernel.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::overhead::REQUEST_WEIGHT;
use super::trace_set::device_filter;
use crate::capture::parse_diskstats;
use crate::counters::{DeviceNumber, Sample};
use crate::source::small_file::read_bytes_into;
use crate::topology::whole_devices;

/// The rate of the requests that whole devices complete.
#[derive(Default)]
pub(super) struct RequestRate {
    /// The whole devices whose requests are traced; all if empty.
    selected: Vec<DeviceNumber>,
    /// The requests of all traced devices, including those that devices pass on to each other.
    pub(super) requests: u64,
    /// The requests of the other devices.
    others: u64,
    /// The requests per second that are traced, plus those of the other devices, weighted by their cost.
    pub(super) per_s: f64,
    at: Option<Duration>,
    /// The counters of each device at the last reading: reads, writes, discards and flushes.
    by_device: BTreeMap<DeviceNumber, [u64; 4]>,
    text: Vec<u8>,
    sample: Sample,
}

impl RequestRate {
    /// The time in seconds over which the rate is averaged.
    const SMOOTHING_S: f64 = 0.5;
    /// The cost of a request of another device, as a fraction of that of one that is traced: the kernel checks the
    /// filters at two tracepoints, which takes no longer than two plain histograms.
    const OTHERS_COST: f64 = 2.0 / REQUEST_WEIGHT;

    /// Takes the whole devices whose requests are traced; all if there are none, or too many to be named in a filter.
    pub(super) fn select(&mut self, devices: &[DeviceNumber]) {
        self.selected.clear();
        if !device_filter(devices).is_empty() {
            self.selected.extend(devices);
        }
    }

    pub(super) fn observe(&mut self, root: &Path, now: Duration) {
        if read_bytes_into(&root.join("proc/diskstats"), &mut self.text).is_err() {
            return;
        }
        parse_diskstats(&self.text, &mut self.sample, |_, _| {});
        let [requests, others] = self.completed_requests();
        if let Some(at) = self.at.replace(now) {
            let seconds = now.saturating_sub(at).as_secs_f64();
            // When a device disappears, the sum decreases by its requests.
            let passed = requests.saturating_sub(self.requests) as f64
                + others.saturating_sub(self.others) as f64 * Self::OTHERS_COST;
            if seconds > 0.0 {
                let share = (seconds / Self::SMOOTHING_S).min(1.0);
                self.per_s += (passed / seconds - self.per_s) * share;
            }
        }
        self.requests = requests;
        self.others = others;
    }

    /// Returns the number of requests that all traced devices have completed, and the number of those of the other
    /// devices.
    fn completed_requests(&self) -> [u64; 2] {
        let mut sums = [0_u64; 2];
        for device in whole_devices(&self.sample.devices) {
            let is_traced =
                self.selected.is_empty() || self.selected.contains(&(device.major, device.minor));
            let sum = &mut sums[usize::from(!is_traced)];
            for count in device.counters.completed() {
                *sum = sum.wrapping_add(count);
            }
        }
        sums
    }

    /// Returns the requests of each device since the last call, up to the last [`Self::observe`]: reads, writes, discards
    /// and flushes.
    pub(super) fn take_completed(&mut self) -> BTreeMap<DeviceNumber, [u64; 4]> {
        let last = std::mem::take(&mut self.by_device);
        let mut growths = BTreeMap::new();
        for device in whole_devices(&self.sample.devices) {
            let number = (device.major, device.minor);
            let now = device.counters.completed();
            self.by_device.insert(number, now);
            let mut before = last.get(&number).copied().unwrap_or_default();
            // A new device, or one whose counters were reset, has completed all of its requests since the last call.
            if (0..4).any(|kind| now[kind] < before[kind]) {
                before = [0; 4];
            }
            let growth = std::array::from_fn(|kind| now[kind] - before[kind]);
            if growth != [0; 4] {
                growths.insert(number, growth);
            }
        }
        growths
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Device;

    #[test]
    fn only_requests_that_are_traced_count_in_full() {
        let device = |minor, name: &str, ios: u64| {
            let mut device = Device {
                major: 8,
                minor,
                name: name.into(),
                ..Device::default()
            };
            device.counters.reads.ios = ios;
            device
        };
        let mut rate = RequestRate::default();
        rate.sample.devices = vec![
            device(0, "sda", 100),
            device(1, "sda1", 90),
            device(16, "sdb", 7),
        ];
        for (selected, sums) in [
            (&[][..], [107, 0]),
            (&[(8, 0)], [100, 7]),
            (&[(8, 16)], [7, 100]),
            (&[(8, 32)], [0, 107]),
            // No filter names so many.
            (&[(8, 0); 65], [107, 0]),
        ] {
            rate.select(selected);
            assert_eq!(rate.completed_requests(), sums, "{selected:?}");
        }
    }
}
