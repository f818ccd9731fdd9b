//! Arbitrary bytes as a diskstats line: the parser does not panic, and a parsed device that is formatted as a line
//! parses to the same device.
#![no_main]

use blkstat::capture::Reader;
use blkstat::counters::{Columns, Device, Sample};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &[u8]| {
    // Only lines that begin as those of the kernel.
    let is_of_kernel = line
        .first()
        .is_some_and(|byte| *byte == b' ' || byte.is_ascii_digit());
    if !is_of_kernel || line.contains(&b'\n') || line.contains(&b'#') {
        return;
    }
    let (samples, warnings) = read(&[line]);
    for message in &warnings {
        assert!(
            message.len() < 1000 && !message.contains(char::is_control),
            "{message:?}"
        );
    }
    let Some(devices) = samples.first() else {
        return assert!(!warnings.is_empty());
    };
    assert!(
        devices.len() <= 1 && (devices.is_empty() || warnings.is_empty()),
        "{devices:?} {warnings:?}"
    );
    if let [device] = &devices[..] {
        // The parser must overwrite every value of the lines before.
        let earlier = format!(
            "8 0 {}x 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
            device.name
        );
        let (samples, _) = read(&[line, earlier.as_bytes(), format_line(device).as_bytes()]);
        assert_eq!(samples[2], *devices);
    }
});

/// Reads samples of one line each. Returns the devices of each sample, and the warnings: if no line is valid, the error.
fn read(lines: &[&[u8]]) -> (Vec<Vec<Device>>, Vec<String>) {
    let mut text = Vec::new();
    for (at, line) in (1..).zip(lines) {
        text.extend_from_slice(format!("TS {at}\n").as_bytes());
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    let mut reader = Reader::new(&text[..]);
    let (mut previous, mut sample) = (Sample::default(), Sample::default());
    let mut samples = Vec::new();
    let outcome = loop {
        match reader.next(&previous, &mut sample) {
            Ok(true) => samples.push(sample.devices.clone()),
            outcome => break outcome,
        }
        std::mem::swap(&mut previous, &mut sample);
    };
    let mut messages: Vec<_> = reader
        .take_warnings()
        .iter()
        .map(|warning| warning.text.clone())
        .collect();
    messages.extend(outcome.err().map(|error| error.to_string()));
    (samples, messages)
}

fn format_line(device: &Device) -> String {
    let counters = &device.counters;
    let (reads, writes, discards) = (&counters.reads, &counters.writes, &counters.discards);
    let mut numbers = match counters.columns {
        Columns::Partition => vec![reads.ios, reads.sectors, writes.ios, writes.sectors],
        _ => {
            let requests = [reads, writes]
                .map(|r| [r.ios, r.merges, r.sectors, r.ms])
                .concat();
            [
                requests,
                vec![counters.in_flight, counters.busy_ms, counters.weighted_ms],
            ]
            .concat()
        }
    };
    if counters.columns >= Columns::Discards {
        numbers.extend([discards.ios, discards.merges, discards.sectors, discards.ms]);
    }
    if counters.columns >= Columns::Flushes {
        numbers.extend([counters.flushes, counters.flush_ms]);
    }
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!(
        "{:4} {:7} {} {}",
        device.major,
        device.minor,
        device.name,
        numbers.join(" ")
    )
}
