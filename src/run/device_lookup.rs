//! Lookup of a device by any name that a user may give it.

use crate::counters::Device;
use crate::source::DeviceResolver;

/// Returns the index of the device called `word`: the kernel's name or its `alias`, with or without /dev; on a live
/// system, which has a `resolver`, also another node in /dev. `None` where there is none.
pub(super) fn find_device<'a>(
    word: &str,
    devices: &[Device],
    alias: impl Fn(&Device) -> Option<&'a str>,
    resolver: Option<&DeviceResolver>,
) -> Option<usize> {
    let name = strip_dev_dir(word);
    let is_called = |device: &Device| device.name == name || alias(device) == Some(name);
    let by_node = || {
        let named = resolver?.resolve(word, None, false, devices)?;
        devices.iter().position(|device| named.is(device))
    };
    devices.iter().position(is_called).or_else(by_node)
}

/// Removes a leading `/dev/` or `/dev/mapper/` from the name of a device.
pub(super) fn strip_dev_dir(word: &str) -> &str {
    let name = word.strip_prefix("/dev/").unwrap_or(word);
    name.strip_prefix("mapper/").unwrap_or(name)
}
