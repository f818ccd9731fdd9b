//! Notices that requests wait, from counters that cost little to read: what explains a bad second has to be read while it
//! lasts. The judge says later, and better, whether the device was in trouble.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use super::small_file::SampledFile;
use crate::capture::proc_files::parse_pressure;
use crate::counters::{Counters, Device, Pressure, growth_u32};
use crate::topology::whole_devices;

/// The mean number of requests in flight from which a second may be bad: with fewer, not even one request is always there.
const BAD_QUEUE: f64 = 1.0;
/// The share of the time in which some task waited for I/O from which a second may be bad, whatever the device did.
const BAD_PRESSURE: f64 = 0.1;
/// The share of the time below which no search would find the task that waited.
const SEEN_PRESSURE: f64 = 0.01;

/// What the counters show of the time since they were read before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waiting {
    /// Requests waited, or tasks did: a bad second may have begun.
    pub(super) is_bad: bool,
    /// Some task has waited for I/O for so long that a search may find it.
    pub(super) has_tasks: bool,
}

pub(super) struct TroubleWatch {
    pressure_file: SampledFile,
    text: Vec<u8>,
    at: Option<Duration>,
    pressure: Option<Pressure>,
    devices: HashMap<String, Counters>,
}

impl TroubleWatch {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            pressure_file: SampledFile::new(root.join("proc/pressure/io")),
            text: Vec::new(),
            at: None,
            pressure: None,
            devices: HashMap::new(),
        }
    }

    /// Compares the counters of all devices, and the time that tasks waited, with those of the last call.
    pub(super) fn observe(&mut self, now: Duration, devices: &[Device]) -> Waiting {
        let elapsed = self.at.replace(now).map(|at| now.saturating_sub(at));
        let elapsed_us = elapsed.unwrap_or_default().as_micros() as f64;
        let waited_us = self.waited_us();
        let (has_queue, has_stall) = self.compare_devices(devices, elapsed_us);
        if elapsed_us == 0.0 {
            return Waiting::default();
        }
        // Where the kernel lost count of requests, they are in flight for ever. Who waits for a real stall shows.
        let tasks_wait = waited_us.map_or(has_stall, |us| us >= BAD_PRESSURE * elapsed_us);
        Waiting {
            is_bad: has_queue || tasks_wait,
            has_tasks: waited_us.is_some_and(|us| us >= SEEN_PRESSURE * elapsed_us),
        }
    }

    /// Returns the microseconds in which some task waited for I/O since the last call; `None` if they are not known.
    fn waited_us(&mut self) -> Option<f64> {
        let mut pressure = None;
        if self.pressure_file.read_into(&mut self.text).is_ok() {
            pressure = parse_pressure(&self.text);
        }
        let before = std::mem::replace(&mut self.pressure, pressure)?;
        Some(pressure?.some_us.saturating_sub(before.some_us) as f64)
    }

    /// Returns whether a device had [`BAD_QUEUE`] since the last call, and whether one has requests and completed none.
    fn compare_devices(&mut self, devices: &[Device], elapsed_us: f64) -> (bool, bool) {
        let (mut has_queue, mut has_stall) = (false, false);
        for device in whole_devices(devices) {
            let now = device.counters;
            let Some(before) = self.devices.get_mut(&device.name) else {
                self.devices.insert(device.name.clone(), now);
                continue;
            };
            let waited_ms = growth_u32(before.weighted_ms, now.weighted_ms);
            has_queue |= waited_ms as f64 * 1000.0 >= BAD_QUEUE * elapsed_us;
            has_stall |= now.in_flight > 0 && now.completed() == before.completed();
            *before = now;
        }
        if self.devices.len() > devices.len() {
            self.devices
                .retain(|name, _| devices.iter().any(|device| device.name == *name));
        }
        (has_queue, has_stall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Watches a disk with these requests in flight, completed ones and their milliseconds, and the pressure.
    fn watch(steps: &[(u64, u64, u64, Option<u64>)]) -> Vec<Waiting> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("proc/pressure")).unwrap();
        let mut watch = TroubleWatch::new(root.path());
        let mut found = Vec::new();
        for (second, (in_flight, ios, ms, some_us)) in (0..).zip(steps) {
            if let Some(us) = some_us {
                let line = format!("avg10=0.00 avg60=0.00 avg300=0.00 total={us}\n");
                let text = format!("some {line}full {line}");
                std::fs::write(root.path().join("proc/pressure/io"), text).unwrap();
            }
            let mut device = Device {
                name: "sda".to_owned(),
                ..Device::default()
            };
            device.counters.reads.ios = *ios;
            device.counters.weighted_ms = *ms;
            device.counters.in_flight = *in_flight;
            found.push(watch.observe(Duration::from_secs(second), &[device]));
        }
        found
    }

    #[test]
    fn a_second_is_bad_with_a_queue_or_with_waiting_tasks() {
        let is_bad = |steps: &[_]| watch(steps).pop().unwrap().is_bad;
        assert!(!is_bad(&[(0, 9, 5000, Some(0))]), "nothing to compare with");
        for (second, expected) in [
            ((0, 9, 990, Some(90_000)), false),
            ((0, 9, 1010, Some(0)), true),
            ((0, 9, 0, Some(110_000)), true),
            // The kernel may have lost count of a request.
            ((1, 0, 0, Some(0)), false),
            ((1, 0, 0, None), true),
            ((1, 9, 0, None), false),
        ] {
            let before = second.3.map(|_| 0);
            assert_eq!(is_bad(&[(0, 0, 0, before), second]), expected, "{second:?}");
        }
    }

    #[test]
    fn a_wait_of_some_milliseconds_is_worth_a_search() {
        for (us, expected) in [(9_000, false), (11_000, true)] {
            let found = watch(&[(0, 0, 0, Some(0)), (0, 0, 0, Some(us))]);
            assert_eq!((found[1].has_tasks, found[1].is_bad), (expected, false));
        }
    }
}
