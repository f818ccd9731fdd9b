//! The names of a device.

use std::sync::Arc;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceNames {
    /// The kernel's name; `total` for a total.
    pub device: String,
    /// The alias or, without one, the kernel's name.
    pub label: String,
    /// The mount points and the file behind a loop device, separated by commas; empty without any.
    pub mountpoints: String,
}

impl DeviceNames {
    /// The names of a device without an alias that is not mounted.
    pub fn without_alias(device: &str) -> Arc<Self> {
        let mountpoints = String::new();
        Arc::new(Self {
            device: device.to_owned(),
            label: device.to_owned(),
            mountpoints,
        })
    }
}
