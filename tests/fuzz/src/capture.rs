//! A capture of any bytes: the reader does not panic, makes no more of it than it is, and no two samples that follow
//! one another give a wild number.
#![no_main]

#[path = "../../promises/mod.rs"]
mod promises;

use std::io::Read;

use blkstat::capture::Reader;
use blkstat::topology::partition_parents;
use blkstat::counters::Sample;
use blkstat::metrics::DeviceMatch;
use blkstat::units::Elapsed;
use libfuzzer_sys::fuzz_target;

/// Hands out so many bytes at a time, so that lines cross the borders of reads.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let length = self.1.min(into.len()).min(self.0.len());
        let (piece, rest) = self.0.split_at(length);
        into[..length].copy_from_slice(piece);
        self.0 = rest;
        Ok(length)
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((how, text)) = bytes.split_first() else { return };
    let mut reader = Reader::new(Pieces(text, usize::from(how >> 1) * 7 + 1));
    if how & 1 == 1 {
        reader.keep_cut_sample();
    }
    let lines = text.split(|byte| *byte == b'\n').count();
    let (mut before, mut sample) = (Sample::default(), Sample::default());
    let (mut samples, mut devices, mut faults) = (0, 0, 0);
    while reader.next(&before, &mut sample).unwrap() {
        samples += 1;
        devices += sample.devices.len();
        faults += said(&mut reader);
        partition_parents(&sample.devices);
        if let Some(recorded) = reader.recorded() {
            // What stands on what may go round in circles.
            let stack = &recorded.stack;
            assert!(stack.nodes().iter().all(|node| stack.depth(&node.name) <= stack.nodes().len()));
        }
        between(&before, &sample);
        std::mem::swap(&mut before, &mut sample);
    }
    faults += said(&mut reader);
    // A line may end a recording and begin another.
    let most = 2 * lines;
    assert!(
        samples <= most && devices <= lines && faults <= most,
        "{samples}, {devices}, {faults} of {lines}"
    );
    assert!(!reader.next(&before, &mut sample).unwrap(), "the end is the end");
});

fn said<R: Read>(reader: &mut Reader<R>) -> usize {
    let faults = reader.take_warnings();
    for fault in &faults {
        let said = fault.kind.to_string();
        assert!(fault.line > 0 && said.len() < 1000 && !said.contains(char::is_control), "{said:?}");
    }
    faults.len()
}

fn between(before: &Sample, sample: &Sample) {
    if before.segment != sample.segment {
        return;
    }
    let Elapsed::Forward(interval) = sample.at.since(&before.at) else { return };
    let pairs = DeviceMatch::between(&before.devices, &sample.devices);
    for (at, device) in sample.devices.iter().enumerate() {
        if let Some(earlier) = pairs.previous_index(at) {
            promises::numbers(&before.devices[earlier].counters, &device.counters, interval);
        }
    }
    promises::machine(before, sample, interval);
}
