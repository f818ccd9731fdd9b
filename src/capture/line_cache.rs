//! Caches the lines of the last sample: on a host with many devices, most lines repeat unchanged, and the others differ
//! only in their digits.

use super::diskstats_line::{LineError, LineShape, parse_line, parse_line_of};
use super::slot;
use crate::counters::{Counters, Device};

/// The most lines that are cached; lines further down in a sample are always parsed.
const MAX_LINES: usize = 8192;
/// The longest line that is cached. The kernel's lines are shorter.
const MAX_CACHED_BYTES: usize = 1024;

/// The lines of idle devices by their index in a sample, and the devices parsed from them; also the shapes of all
/// lines.
///
/// A device depends only on its line, so an identical line need not be parsed again.
#[derive(Default)]
pub(super) struct LineCache {
    lines: Vec<CachedLine>,
}

#[derive(Clone, Default)]
struct CachedLine {
    /// The line; empty if the device was never seen idle.
    bytes: Vec<u8>,
    device: Device,
    shape: LineShape,
}

impl LineCache {
    /// Copies the cached device to `device` if `line` is the cached line at `index`. Returns whether it is.
    pub(super) fn recall(&self, index: usize, line: &[u8], device: &mut Device) -> bool {
        let Some(cached) = self.lines.get(index).filter(|cached| cached.bytes == line) else { return false };
        cached.copy_to(device);
        !line.is_empty()
    }

    /// Parses the line that `text` begins with, as the device at `index`, if it is the cached line or has its layout.
    /// Returns its length with the newline. `previous` are the counters at the same index of the sample before.
    #[inline]
    pub(super) fn parse_again(
        &mut self,
        index: usize,
        text: &[u8],
        devices: &mut Vec<Device>,
        previous: Option<&Counters>,
    ) -> Option<usize> {
        let cached = self.lines.get_mut(index)?;
        let device = slot(devices, index);
        let end = cached.bytes.len();
        if end > 0 && text.get(end) == Some(&b'\n') && text[..end] == *cached.bytes {
            cached.copy_to(device);
            return Some(end + 1);
        }
        let length = cached.shape.parse_again(text, device)?;
        cached.keep_if_idle(&text[..length - 1], device, previous);
        Some(length)
    }

    /// Parses the line at `index` into `device`, reusing its memory, and caches it if the device was idle since
    /// `previous`, the counters at the same index of the sample before.
    ///
    /// # Errors
    /// Those of [`parse_line`].
    pub(super) fn parse(
        &mut self,
        index: usize,
        line: &[u8],
        device: &mut Device,
        previous: Option<&Counters>,
    ) -> Result<(), LineError> {
        if index >= MAX_LINES || line.len() > MAX_CACHED_BYTES {
            return parse_line(line, device);
        }
        if self.lines.len() <= index {
            self.lines.resize(index + 1, CachedLine::default());
        }
        let cached = &mut self.lines[index];
        parse_line_of(&mut cached.shape, line, device, previous)?;
        cached.keep_if_idle(line, device, previous);
        Ok(())
    }
}

impl CachedLine {
    /// Copies the device to another, reusing its memory.
    #[inline]
    fn copy_to(&self, device: &mut Device) {
        let Device { major, minor, name, counters } = &self.device;
        (device.major, device.minor, device.counters) = (*major, *minor, *counters);
        if device.name != *name {
            device.name.clone_from(name);
        }
    }

    /// Caches a line and its device if the device was idle since `previous`.
    #[inline]
    fn keep_if_idle(&mut self, line: &[u8], device: &Device, previous: Option<&Counters>) {
        if previous == Some(&device.counters) {
            self.bytes.clear();
            self.bytes.extend_from_slice(line);
            self.device.clone_from(device);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::capture::{DiskstatsParser, Reader, parse_diskstats};
    use crate::counters::Sample;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn repeated_lines_give_the_same_devices_as_new_ones(
            samples in prop::collection::vec(prop::collection::vec((0u8..3, 0u8..2, 0u8..2), 0..20), 1..12)
        ) {
            let names: [&[u8]; 3] = [b"sda", b"sdb", b"na\xffme"];
            let line = |&(name, minor, reads): &(u8, u8, u8)| {
                let start = format!("   8   {minor} ").into_bytes();
                [&start, names[usize::from(name)], format!(" {reads} 2 3 4 5 6 7 8 0 10 11\n").as_bytes()].concat()
            };
            let texts: Vec<Vec<u8>> = samples.iter().map(|lines| lines.iter().flat_map(line).collect()).collect();
            let capture: Vec<u8> =
                (1..).zip(&texts).flat_map(|(at, text)| [format!("TS {at}\n").as_bytes(), text].concat()).collect();
            let mut reader = Reader::new(capture.as_slice());
            reader.keep_truncated_sample();
            let (mut previous, mut sample, mut expected) = Default::default();
            let (mut parser, mut live) = (DiskstatsParser::default(), [Sample::default(), Sample::default()]);
            for text in &texts {
                parser.parse(text, &mut live[0], |_, _| {});
                prop_assert!(reader.next(&previous, &mut sample).unwrap());
                parse_diskstats(text, &mut expected, |_, _| {});
                prop_assert_eq!(&sample.devices, &expected.devices);
                prop_assert_eq!(&live[0].devices, &expected.devices);
                live.swap(0, 1);
                std::mem::swap::<Sample>(&mut previous, &mut sample);
            }
        }
    }
}
