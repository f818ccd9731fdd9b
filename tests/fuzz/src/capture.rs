//! Arbitrary bytes as a capture: the reader does not panic or invent samples, and no interval has an absurd number.
#![no_main]

#[path = "../../analysis/invariants.rs"]
mod invariants;

use std::io::Read;

use blkstat::capture::Reader;
use blkstat::counters::Sample;
use blkstat::metrics::DeviceMatch;
use blkstat::topology::partition_parents;
use blkstat::units::Elapsed;
use libfuzzer_sys::fuzz_target;

/// Returns at most this many bytes per read, so that lines span several reads.
struct SmallReads<'a>(&'a [u8], usize);

impl Read for SmallReads<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let length = self.1.min(into.len()).min(self.0.len());
        let (piece, rest) = self.0.split_at(length);
        into[..length].copy_from_slice(piece);
        self.0 = rest;
        Ok(length)
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((options, text)) = bytes.split_first() else { return };
    let mut reader = Reader::new(SmallReads(text, usize::from(options >> 1) * 7 + 1));
    if options & 1 == 1 {
        reader.keep_truncated_sample();
    }
    let lines = text.split(|byte| *byte == b'\n').count();
    let (mut previous, mut sample) = (Sample::default(), Sample::default());
    let (mut samples, mut devices, mut warnings) = (0, 0, 0);
    while reader.next(&previous, &mut sample).unwrap() {
        samples += 1;
        devices += sample.devices.len();
        warnings += count_warnings(&mut reader);
        partition_parents(&sample.devices);
        if let Some(header) = reader.header() {
            // Even with cycles in the stacking, depths are bounded.
            let topology = &header.topology;
            assert!(topology.nodes().iter().all(|node| topology.depth(&node.name) <= topology.nodes().len()));
        }
        check_interval(&previous, &sample);
        std::mem::swap(&mut previous, &mut sample);
    }
    warnings += count_warnings(&mut reader);
    // A line may contain several annotations with a warning each; lines before the first TS give one more.
    let limit = 2 * (lines + text.len() / b"#blkstat {".len());
    assert!(
        samples <= limit && devices <= limit && warnings <= limit,
        "{samples}, {devices}, {warnings} of {lines}"
    );
    assert!(!reader.next(&previous, &mut sample).unwrap(), "a sample after the end");
});

/// Takes, checks and counts the warnings.
fn count_warnings<R: Read>(reader: &mut Reader<R>) -> usize {
    let warnings = reader.take_warnings();
    for warning in &warnings {
        let message = warning.kind.to_string();
        assert!(
            warning.line > 0 && message.len() < 1000 && !message.contains(char::is_control),
            "{message:?}"
        );
    }
    warnings.len()
}

fn check_interval(previous: &Sample, sample: &Sample) {
    if previous.segment != sample.segment {
        return;
    }
    let Elapsed::Forward(interval) = sample.at.since(&previous.at) else { return };
    let matches = DeviceMatch::between(&previous.devices, &sample.devices);
    for (at, device) in sample.devices.iter().enumerate() {
        if let Some(index) = matches.previous_index(at) {
            invariants::device(&previous.devices[index].counters, &device.counters, interval);
        }
    }
    invariants::host(previous, sample, interval);
}
