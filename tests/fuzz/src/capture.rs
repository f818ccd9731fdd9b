//! Arbitrary bytes as a capture: the reader does not panic or invent samples, and no view prints an absurd number.
#![no_main]

#[allow(dead_code)]
#[path = "../../numbers/invariants.rs"]
mod invariants;
#[allow(dead_code)]
#[path = "../../numbers/program.rs"]
mod program;
#[allow(dead_code)]
#[path = "../../support"]
mod support {
    pub(crate) mod clock;
    pub(crate) mod in_process;
    pub(crate) mod text;
}

use std::io::Read;

use blkstat::capture::Reader;
use blkstat::counters::Sample;
use blkstat::exit::Exit;
use blkstat::topology::partition_parents;
use libfuzzer_sys::fuzz_target;

/// The views; the number of bytes per read selects one, or none.
const VIEWS: [&str; 8] = [
    "--json --all --from",
    "--all --explain --from",
    "iostat -x -o JSON --from",
    "iostat -x -g all -o JSON --from",
    "pt-diskstats --show-inactive --group-by disk",
    "pt-diskstats --show-inactive --group-by sample",
    "analyze --details",
    "report -o -",
];

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
    let Some((options, text)) = bytes.split_first() else {
        return;
    };
    let number = usize::from(options >> 1);
    let mut reader = Reader::new(SmallReads(text, number * 7 + 1));
    if options & 1 == 1 {
        reader.keep_truncated_sample();
    }
    let lines = text.split(|byte| *byte == b'\n').count();
    let (mut previous, mut sample) = (Sample::default(), Sample::default());
    let (mut samples, mut devices, mut warnings) = (0, 0, 0);
    loop {
        match reader.next(&previous, &mut sample) {
            Ok(true) => {}
            Ok(false) => break,
            // The only errors are that there is no device, or that the first one is of Linux 2.4.
            Err(error) => {
                let text = error.to_string();
                let is_known = text.contains("Linux 2.4")
                    || text.starts_with("no line is one of /proc/diskstats");
                return assert!(
                    devices == 0 && is_known && !text.contains(char::is_control),
                    "{text:?}"
                );
            }
        }
        samples += 1;
        devices += sample.devices.len();
        warnings += count_warnings(&mut reader);
        partition_parents(&sample.devices);
        if let Some(header) = reader.header() {
            // Even with cycles in the stacking, depths are bounded.
            let topology = &header.topology;
            assert!(
                topology
                    .nodes()
                    .iter()
                    .all(|node| topology.depth(&node.name) <= topology.nodes().len())
            );
        }
        std::mem::swap(&mut previous, &mut sample);
    }
    warnings += count_warnings(&mut reader);
    // A line may contain several annotations with a warning each; lines before the first TS give one more.
    let limit = 2 * (lines + text.len() / b"#blkstat {".len());
    assert!(
        samples <= limit && devices <= limit && warnings <= limit,
        "{samples}, {devices}, {warnings} of {lines}"
    );
    assert!(
        !reader.next(&previous, &mut sample).unwrap(),
        "a sample after the end"
    );
    // Half of the inputs only pass the reader, which takes far less time.
    if let Some(view) = VIEWS.get(number % (2 * VIEWS.len())) {
        show(view, text);
    }
});

/// Takes, checks and counts the warnings.
fn count_warnings<R: Read>(reader: &mut Reader<R>) -> usize {
    let warnings = reader.take_warnings();
    for warning in &warnings {
        let message = &warning.text;
        assert!(
            warning.line > 0 && message.len() < 1000 && !message.contains(char::is_control),
            "{message:?}"
        );
    }
    warnings.len()
}

/// Prints a view of a capture and checks its numbers. Text must not control a terminal.
fn show(view: &str, text: &[u8]) {
    let (out, err, exit) = program::run(view, &[text]);
    assert!(
        matches!(exit, Exit::Success | Exit::NoData | Exit::Error),
        "{view}: {exit:?}: {err}"
    );
    assert!(
        !out.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')),
        "{view}: {out:?}"
    );
    match view {
        _ if exit != Exit::Success => {}
        _ if view.starts_with("--json") => invariants::lines(&out),
        _ if view.starts_with("iostat") => drop(invariants::iostat(&out)),
        _ if view.starts_with("pt-diskstats") => invariants::pt_diskstats(&out),
        _ => {}
    }
}
