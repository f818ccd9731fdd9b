//! Arbitrary bytes as what another program wrote: the reader does not panic, and a log that is cut has the samples of the
//! whole one, but for those of the last report.
#![no_main]

use blkstat::capture::Reader;
use blkstat::counters::Sample;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((cut, log)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let (whole, is_log) = read(log);
    let lines = log.split(|byte| *byte == b'\n').count();
    // A report tells when it began, and when it ended.
    assert!(
        whole.len() <= 2 * lines,
        "{} samples of {lines} lines",
        whole.len()
    );
    let cut = usize::from(u16::from_le_bytes(*cut)).min(log.len());
    if !is_log || cut == log.len() {
        return;
    }
    let (mut first, is_log) = read(&log[..cut]);
    if !is_log {
        return;
    }
    // What follows may show that the last report, which tells when it began and when it ended, is damaged.
    first.truncate(first.len().saturating_sub(2));
    assert!(
        whole.starts_with(&first),
        "cut at {cut}: {first:?}, of {whole:?}"
    );
});

/// Returns the samples, and whether they are those of a log.
fn read(log: &[u8]) -> (Vec<Sample>, bool) {
    let mut reader = Reader::new(log);
    let (mut previous, mut sample) = (Sample::default(), Sample::default());
    let mut samples = Vec::new();
    let outcome = loop {
        match reader.next(&previous, &mut sample) {
            Ok(true) => {}
            outcome => break outcome,
        }
        for warning in reader.take_warnings() {
            let message = &warning.text;
            assert!(
                message.len() < 1000 && !message.contains(char::is_control),
                "{message:?}"
            );
        }
        samples.push(sample.clone());
        std::mem::swap(&mut previous, &mut sample);
    };
    assert!(
        outcome.is_err() || !reader.next(&previous, &mut sample).unwrap(),
        "a sample after the end"
    );
    (samples, reader.state().is_log)
}
