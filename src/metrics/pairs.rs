//! Which device of an earlier reading is which device of a later one: the one of the same name.

use std::collections::HashMap;

use crate::counters::Device;

/// Finds devices of an earlier reading by their names.
///
/// Two readings of one machine hold the same devices in the same order but for the few that come and go, so
/// the next device is looked for right after the last one found; only a miss costs an index.
pub struct Earlier<'a> {
    devices: &'a [Device],
    next: usize,
    index: Option<HashMap<&'a str, usize>>,
}

impl<'a> Earlier<'a> {
    /// The devices of the earlier reading.
    pub fn new(devices: &'a [Device]) -> Self {
        Self { devices, next: 0, index: None }
    }

    /// The earlier reading of the device of this name; `None` when it was not there.
    pub fn find(&mut self, name: &str) -> Option<&'a Device> {
        let devices = self.devices;
        if let Some(device) = devices.get(self.next).filter(|device| device.name == name) {
            self.next += 1;
            return Some(device);
        }
        let index = self.index.get_or_insert_with(|| {
            // Backwards, so that the first of two devices of one name stays.
            devices.iter().enumerate().rev().map(|(at, device)| (device.name.as_str(), at)).collect()
        });
        let at = *index.get(name)?;
        self.next = at + 1;
        devices.get(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_found_in_any_order() {
        let devices: Vec<_> =
            ["sda", "sdb", "sdc"].map(|name| Device { name: name.into(), ..Device::default() }).into();
        let mut earlier = Earlier::new(&devices);
        for name in ["sda", "sdc", "sdb", "sdc", "sda"] {
            assert_eq!(earlier.find(name).map(|d| d.name.as_str()), Some(name));
        }
        assert_eq!(earlier.find("sdd"), None);
        assert_eq!(earlier.find("sdb").map(|d| d.name.as_str()), Some("sdb"));
    }
}
