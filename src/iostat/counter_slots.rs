//! The counters that iostat remembers of an absent device.

use std::collections::{HashMap, HashSet};

use crate::counters::{Counters, Sample};

/// iostat keeps two readings of each device and overwrites them in turn. A device that was absent and returns is
/// therefore compared with the last content of its other slot, which may be two readings old, or zero.
#[derive(Default)]
pub(super) struct CounterSlots {
    /// The slot of the latest sample: 0 or 1.
    current: usize,
    absent: HashMap<String, [Counters; 2]>,
}

impl CounterSlots {
    /// Advances to `newer` and stores the devices that have disappeared since `older`. Must be called for every
    /// sample.
    pub(super) fn advance(&mut self, oldest: &Sample, older: &Sample, newer: &Sample, names_changed: bool) {
        self.current ^= 1;
        if !names_changed {
            return;
        }
        let present: HashSet<&str> = newer.devices.iter().map(|device| device.name.as_str()).collect();
        for device in older.devices.iter().filter(|device| !present.contains(device.name.as_str())) {
            let slots = self.absent.entry(device.name.clone()).or_default();
            if let Some(earlier) = oldest.device(&device.name) {
                slots[self.current] = earlier.counters;
            }
            slots[self.current ^ 1] = device.counters;
        }
    }

    /// Returns the counters that a device which was absent in the previous sample is compared with.
    pub(super) fn previous_counters(&self, name: &str) -> &Counters {
        self.absent.get(name).map_or(&Counters::ZERO, |slots| &slots[self.current ^ 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{Device, Requests};

    fn sample(reads: Option<u64>) -> Sample {
        let counters =
            |ios| Counters { reads: Requests { ios, ..Requests::default() }, ..Counters::default() };
        let device =
            reads.map(|ios| Device { name: "sdb".into(), counters: counters(ios), ..Device::default() });
        Sample { devices: device.into_iter().collect(), ..Sample::default() }
    }

    /// Returns what each reading is compared with if the device was absent before; a reading of `None` is an absent
    /// device.
    fn bases(readings: &[Option<u64>]) -> Vec<Option<u64>> {
        let mut samples = vec![sample(None), sample(None)];
        samples.extend(readings.iter().map(|reads| sample(*reads)));
        let mut slots = CounterSlots::default();
        let mut bases = Vec::new();
        for window in samples.windows(3) {
            let [oldest, older, newer] = window else { continue };
            slots.advance(oldest, older, newer, older.devices.len() != newer.devices.len());
            let is_new = !newer.devices.is_empty() && older.devices.is_empty();
            bases.push(is_new.then(|| slots.previous_counters("sdb").reads.ios));
        }
        bases
    }

    #[test]
    fn a_new_device_is_compared_with_zero() {
        assert_eq!(bases(&[None, Some(5)]), [None, Some(0)]);
    }

    #[test]
    fn a_device_that_returns_is_compared_with_its_other_slot() {
        assert_eq!(bases(&[Some(1), Some(2), None, Some(9)]), [Some(0), None, None, Some(1)]);
        assert_eq!(bases(&[Some(1), Some(2), None, None, Some(9)]), [Some(0), None, None, None, Some(2)]);
        assert_eq!(bases(&[Some(1), None, Some(9)]), [Some(0), None, Some(0)]);
        assert_eq!(bases(&[Some(1), None, None, Some(9), None, Some(10)])[5], Some(1));
    }
}
