//! Which device of an earlier reading is which device of a later one: the one of the same name.

use std::collections::HashMap;

use crate::counters::Device;

/// For every device of a later reading, where it is in the earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceMatch {
    /// The same names in the same order: nearly always.
    Identical,
    /// Devices came, went or changed places.
    Mapped(Vec<Option<usize>>),
}

impl DeviceMatch {
    /// Matches the devices of two readings by their names. Of several of one name the first counts.
    pub fn between(older: &[Device], newer: &[Device]) -> Self {
        if older.len() == newer.len() && older.iter().zip(newer).all(|(a, b)| a.name == b.name) {
            return Self::Identical;
        }
        let mut index = HashMap::with_capacity(older.len());
        for (at, device) in older.iter().enumerate() {
            index.entry(device.name.as_str()).or_insert(at);
        }
        Self::Mapped(newer.iter().map(|device| index.get(device.name.as_str()).copied()).collect())
    }

    /// Where the device at `index` of the later reading is in the earlier one; `None` when it is not there.
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
        names.iter().map(|name| Device { name: (*name).into(), ..Device::default() }).collect()
    }

    #[test]
    fn the_same_names_in_the_same_order_need_no_index() {
        let pairs = DeviceMatch::between(&devices(&["sda", "sdb"]), &devices(&["sda", "sdb"]));
        assert_eq!((&pairs, pairs.previous_index(1)), (&DeviceMatch::Identical, Some(1)));
    }

    #[test]
    fn devices_are_found_wherever_they_went() {
        let pairs = DeviceMatch::between(&devices(&["sda", "sdb", "sdb"]), &devices(&["sdc", "sdb", "sda"]));
        assert_eq!(pairs, DeviceMatch::Mapped(vec![None, Some(1), Some(0)]));
    }
}
