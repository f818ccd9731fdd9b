//! The devices of a sample, matched by name to those of the sample before.

use std::collections::HashMap;

use crate::counters::Device;

/// For each device of a newer sample, its index in the older one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceMatch {
    /// The same names in the same order, which is nearly always the case.
    Identical,
    /// Devices appeared, disappeared or changed their order.
    Mapped(Vec<Option<usize>>),
}

impl DeviceMatch {
    /// Matches devices by name; the first one of several with the same name.
    pub fn between(older: &[Device], newer: &[Device]) -> Self {
        let old_names = older.iter().map(|device| &device.name);
        if old_names.eq(newer.iter().map(|device| &device.name)) {
            return Self::Identical;
        }
        let mut index = HashMap::with_capacity(older.len());
        for (at, device) in older.iter().enumerate() {
            index.entry(device.name.as_str()).or_insert(at);
        }
        let mut places = Vec::with_capacity(newer.len());
        for device in newer {
            places.push(index.get(device.name.as_str()).copied());
        }
        Self::Mapped(places)
    }

    /// Returns the index in the older sample of the device at `index` of the newer one; `None` if it is new.
    pub fn previous_index(&self, index: usize) -> Option<usize> {
        match self {
            Self::Identical => Some(index),
            Self::Mapped(places) => places.get(index).copied().flatten(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(names: &[&str]) -> Vec<Device> {
        names
            .iter()
            .map(|name| Device {
                name: (*name).into(),
                ..Device::default()
            })
            .collect()
    }

    #[test]
    fn the_same_names_in_the_same_order_are_identical() {
        let pairs = DeviceMatch::between(&devices(&["sda", "sdb"]), &devices(&["sda", "sdb"]));
        assert_eq!(
            (&pairs, pairs.previous_index(1)),
            (&DeviceMatch::Identical, Some(1))
        );
    }

    #[test]
    fn devices_that_moved_are_found_by_name() {
        let pairs = DeviceMatch::between(
            &devices(&["sda", "sdb", "sdb"]),
            &devices(&["sdc", "sdb", "sda"]),
        );
        assert_eq!(pairs, DeviceMatch::Mapped(vec![None, Some(1), Some(0)]));
    }
}
