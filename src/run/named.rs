//! The device that a word of the user's means.

use crate::counters::Device;
use crate::source::DeviceResolver;

/// The place of the device that `word` means: by the kernel's name, by the name that it is `alias`, or, on a live
/// machine, whose `names` are at hand, by a node in /dev.
pub(super) fn device_named<'a>(
    word: &str,
    devices: &[Device],
    alias: impl Fn(&Device) -> Option<&'a str>,
    names: Option<&DeviceResolver>,
) -> Option<usize> {
    let name = bare(word);
    let is_called = |device: &Device| device.name == name || alias(device) == Some(name);
    let by_node = || {
        let named = names?.resolve(word, None, false, devices)?;
        devices.iter().position(|device| named.is(device))
    };
    devices.iter().position(is_called).or_else(by_node)
}

/// A device's name without the folder that it is in.
pub(super) fn bare(word: &str) -> &str {
    let name = word.strip_prefix("/dev/").unwrap_or(word);
    name.strip_prefix("mapper/").unwrap_or(name)
}
