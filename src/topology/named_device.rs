//! A device that was requested by name.

use crate::counters::Device;

/// A device that was requested by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDevice {
    /// The name that reports show.
    pub shown: String,
    /// Identifies the device among those of a sample.
    pub key: DeviceKey,
    /// The name that determines its position among others, if it differs from the name shown.
    pub sorts_as: Option<String>,
    /// True if its partitions were requested as well.
    pub partitions: bool,
}

/// Identifies a device among those of a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceKey {
    /// The name in /proc/diskstats.
    Name(String),
    /// The major and minor number, for a device that was given as another node in /dev.
    Number(u32, u32),
}

impl NamedDevice {
    /// Creates the device of this name in /proc/diskstats.
    pub fn plain(name: &str) -> Self {
        Self {
            shown: name.to_owned(),
            key: DeviceKey::Name(name.to_owned()),
            sorts_as: None,
            partitions: false,
        }
    }

    /// Returns the name to show if it may differ from the kernel's; otherwise `None`.
    pub fn alias(&self) -> Option<String> {
        matches!(self.key, DeviceKey::Number(..)).then(|| self.shown.clone())
    }

    /// Returns whether `device` is the requested one.
    pub fn is(&self, device: &Device) -> bool {
        match &self.key {
            DeviceKey::Name(name) => *name == device.name,
            DeviceKey::Number(major, minor) => (*major, *minor) == (device.major, device.minor),
        }
    }
}
