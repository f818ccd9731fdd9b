//! Arbitrary bytes as what another program wrote: the reader does not panic, and the rates of a log are numbers that it has.
#![no_main]

use blkstat::capture::Reader;
use blkstat::counters::Sample;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((cut, log)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let cut = usize::from(u16::from_le_bytes(*cut)).min(log.len());
    for log in [log, &log[..cut]] {
        let (samples, is_log) = read(log);
        let lines = log.split(|byte| *byte == b'\n').count();
        // A report tells when it began, and when it ended.
        assert!(
            samples.len() <= 2 * lines,
            "{} samples of {lines} lines",
            samples.len()
        );
        // Numbers of JSON may be written in other ways, and a part of a number may belong to an escape sequence.
        if is_log && !log.iter().any(|byte| b"{\x1b".contains(byte)) {
            assert_printed(log, &samples);
        }
    }
});

/// Panics if a rate is none of the numbers in the log.
fn assert_printed(log: &[u8], samples: &[Sample]) {
    let text = String::from_utf8_lossy(log).replace(',', ".");
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    let mut printed: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
    printed.push(0.0);
    let devices = samples.iter().flat_map(|sample| &sample.devices);
    for logged in devices.filter_map(|device| device.logged.as_ref()) {
        let values = logged
            .kinds()
            .into_iter()
            .flat_map(|rates| [rates.ios, rates.await_ms]);
        for value in values.chain([logged.queue, logged.util_pct]).flatten() {
            // A letter stands for a power of 1024.
            let is_printed = (0..4).any(|power| printed.contains(&(value / 1024_f64.powi(power))));
            assert!(is_printed, "{value} in {logged:?}");
        }
    }
}

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
