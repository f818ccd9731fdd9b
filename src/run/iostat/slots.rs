//! What iostat remembers of a device that was away.

use std::collections::{HashMap, HashSet};

use crate::counters::{Counters, Sample};

/// iostat keeps two readings of a device and overwrites them in turn. One that was away and came back is thus
/// compared with what its other slot last held, which may be two readings old, or nothing.
#[derive(Default)]
pub(super) struct Slots {
    /// Which slot the latest sample is in.
    current: usize,
    away: HashMap<String, [Counters; 2]>,
}

impl Slots {
    /// Takes note of the devices that have gone since the sample before. To be called for every sample.
    pub(super) fn step(&mut self, oldest: &Sample, older: &Sample, newer: &Sample, names_changed: bool) {
        self.current ^= 1;
        if !names_changed {
            return;
        }
        let here: HashSet<&str> = newer.devices.iter().map(|device| device.name.as_str()).collect();
        for gone in older.devices.iter().filter(|device| !here.contains(device.name.as_str())) {
            let slots = self.away.entry(gone.name.clone()).or_default();
            if let Some(device) = oldest.device(&gone.name) {
                slots[self.current] = device.counters;
            }
            slots[self.current ^ 1] = gone.counters;
        }
    }

    /// What a device that the earlier sample does not have is compared with.
    pub(super) fn before(&self, name: &str) -> &Counters {
        self.away.get(name).map_or(&Counters::ZERO, |slots| &slots[self.current ^ 1])
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

    /// What each reading of a device is compared with after the readings before it; `None`: it was away.
    fn bases(readings: &[Option<u64>]) -> Vec<Option<u64>> {
        let mut samples = vec![sample(None), sample(None)];
        samples.extend(readings.iter().map(|reads| sample(*reads)));
        let mut slots = Slots::default();
        let mut found = Vec::new();
        for window in samples.windows(3) {
            let [oldest, older, newer] = window else { continue };
            slots.step(oldest, older, newer, older.devices.len() != newer.devices.len());
            let new = !newer.devices.is_empty() && older.devices.is_empty();
            found.push(new.then(|| slots.before("sdb").reads.ios));
        }
        found
    }

    #[test]
    fn a_device_that_comes_is_compared_with_nothing() {
        assert_eq!(bases(&[None, Some(5)]), [None, Some(0)]);
    }

    #[test]
    fn a_device_that_comes_back_is_compared_with_its_other_slot() {
        assert_eq!(bases(&[Some(1), Some(2), None, Some(9)]), [Some(0), None, None, Some(1)]);
        assert_eq!(bases(&[Some(1), Some(2), None, None, Some(9)]), [Some(0), None, None, None, Some(2)]);
        assert_eq!(bases(&[Some(1), None, Some(9)]), [Some(0), None, Some(0)]);
        assert_eq!(bases(&[Some(1), None, None, Some(9), None, Some(10)])[5], Some(1));
    }
}
