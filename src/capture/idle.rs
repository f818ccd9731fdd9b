//! Lines that come again unchanged, which most lines of a machine with many devices do.

use crate::counters::Device;

/// So many lines are remembered at most; what stands further down is read as ever.
const MOST: usize = 8192;
/// A kernel's line is shorter; longer ones would take memory for nothing.
const LONGEST: usize = 1024;

/// The lines of devices that were idle, by their places in a sample, and what was read of them.
///
/// What a line says depends on nothing but the line, so that one of the same bytes need not be read again.
#[derive(Default)]
pub(super) struct IdleLines {
    places: Vec<IdleLine>,
}

#[derive(Clone, Default)]
struct IdleLine {
    /// Empty where the device works.
    bytes: Vec<u8>,
    device: Device,
}

impl IdleLines {
    /// Whether the line is the one that is remembered of this place: then `device` is what it says.
    pub(super) fn recall(&self, place: usize, line: &[u8], device: &mut Device) -> bool {
        let Some(known) = self.places.get(place).filter(|known| known.bytes == line) else { return false };
        let Device { major, minor, name, counters } = &known.device;
        (device.major, device.minor, device.counters) = (*major, *minor, *counters);
        if device.name != *name {
            device.name.clone_from(name);
        }
        !line.is_empty()
    }

    /// Remembers a line that was read, if the device has done nothing since the sample before; what was there then
    /// only tells which lines are worth it.
    pub(super) fn remember(&mut self, place: usize, line: &[u8], device: &Device, before: Option<&Device>) {
        let is_idle = before.is_some_and(|before| before.counters == device.counters);
        if is_idle && place < MOST && line.len() <= LONGEST {
            if self.places.len() <= place {
                self.places.resize(place + 1, IdleLine::default());
            }
            let known = &mut self.places[place];
            known.bytes.clear();
            known.bytes.extend_from_slice(line);
            known.device.clone_from(device);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::capture::{Reader, parse_diskstats};
    use crate::counters::Sample;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_comes_again_is_read_as_if_it_were_new(
            readings in prop::collection::vec(prop::collection::vec((0u8..3, 0u8..2, 0u8..2), 0..5), 1..12)
        ) {
            let names: [&[u8]; 3] = [b"sda", b"sdb", b"na\xffme"];
            let line = |&(name, minor, reads): &(u8, u8, u8)| {
                let start = format!("   8   {minor} ").into_bytes();
                [&start, names[usize::from(name)], format!(" {reads} 2 3 4 5 6 7 8 0 10 11\n").as_bytes()].concat()
            };
            let texts: Vec<Vec<u8>> = readings.iter().map(|lines| lines.iter().flat_map(line).collect()).collect();
            let capture: Vec<u8> =
                (1..).zip(&texts).flat_map(|(at, text)| [format!("TS {at}\n").as_bytes(), text].concat()).collect();
            let mut reader = Reader::new(capture.as_slice());
            let (mut before, mut sample, mut expected) = Default::default();
            for text in &texts {
                prop_assert!(reader.next(&before, &mut sample).unwrap());
                parse_diskstats(text, &mut expected, |_, _| {});
                prop_assert_eq!(&sample.devices, &expected.devices);
                std::mem::swap::<Sample>(&mut before, &mut sample);
            }
        }
    }
}
