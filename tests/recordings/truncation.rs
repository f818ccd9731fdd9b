//! Recordings that end in the middle of a sample.

use std::fs;

use blkstat::commands::Record;
use blkstat::counters::Sample;

use super::lab::{Lab, replay};

/// The reads of the first device in each sample.
fn reads(samples: &[Sample]) -> Vec<u64> {
    samples.iter().map(|sample| sample.devices[0].counters.reads.ios).collect()
}

#[test]
fn a_compressed_recording_truncated_at_any_byte_has_all_flushed_samples() {
    let lab = Lab::new();
    lab.record_quietly(lab.plan("a.txt.gz", 6), 0);
    let complete = fs::read(lab.path("a.txt.gz")).unwrap();
    let expected = replay(&lab.path("a.txt.gz")).0;
    let mut counts = Vec::new();
    for cut in 2..=complete.len() {
        fs::write(lab.path("cut.gz"), &complete[..cut]).unwrap();
        let (samples, _) = replay(&lab.path("cut.gz"));
        assert_eq!(samples, expected[..samples.len()], "cut at {cut}");
        counts.push(samples.len());
    }
    assert!(counts.is_sorted() && counts.last() == Some(&7));
    // No sample needs the last ten bytes: an empty block and the trailer.
    assert_eq!(counts[counts.len() - 11], 7);
}

#[test]
fn appending_to_a_truncated_file_loses_only_the_truncated_sample() {
    let lab = Lab::new();
    for name in ["a.txt", "a.txt.gz"] {
        lab.record_quietly(lab.plan(name, 3), 0);
        let complete = fs::read(lab.path(name)).unwrap();
        let first = replay(&lab.path(name)).0;
        // The last sample byte by byte, and the others here and there.
        for cut in (0..complete.len()).filter(|cut| cut % 23 == 0 || complete.len() - cut < 60) {
            fs::write(lab.path(name), &complete[..cut]).unwrap();
            let kept = if cut < 2 { 0 } else { replay(&lab.path(name)).0.len() };
            lab.record_quietly(Record { append: true, ..lab.plan(name, 1) }, 9);
            let (samples, warnings) = replay(&lab.path(name));
            let all = reads(&samples);
            let (before, after) = all.split_at(all.len() - 2);
            assert_eq!(after, [9, 10], "{name} cut at {cut}: {warnings:?}");
            assert_eq!(before, &reads(&first)[..before.len()], "{name} cut at {cut}: {warnings:?}");
            // A compressed sample may lack only its newline, which is then added.
            assert!(before.len() == kept || before.len() == kept + 1, "{name} cut at {cut}: {warnings:?}");
        }
    }
}

#[test]
fn zeros_that_a_power_failure_left_cost_no_complete_sample() {
    let lab = Lab::new();
    for name in ["a.txt", "a.txt.gz"] {
        lab.record_quietly(lab.plan(name, 6), 0);
        let complete = fs::read(lab.path(name)).unwrap();
        let expected = replay(&lab.path(name)).0;
        for cut in (2..=complete.len()).filter(|cut| cut % 37 == 0 || *cut == complete.len()) {
            fs::write(lab.path(name), &complete[..cut]).unwrap();
            let (before, without) = replay(&lab.path(name));
            let kept = before.len();
            fs::write(lab.path(name), [&complete[..cut], &[0; 5000]].concat()).unwrap();
            let (samples, warnings) = replay(&lab.path(name));
            assert_eq!(samples, expected[..kept], "{name} cut at {cut}: {warnings:?}");
            // The zeros at the end of a complete gzip file are taken for lost ones, too.
            assert!(warnings == without || cut == complete.len(), "{name} cut at {cut}: {warnings:?}");
            lab.record_quietly(Record { append: true, ..lab.plan(name, 1) }, 9);
            let has_zeros = fs::read(lab.path(name)).unwrap().windows(20).any(|bytes| bytes == [0; 20]);
            assert!(!has_zeros || cut < 4, "{name} cut at {cut}");
            let (samples, warnings) = replay(&lab.path(name));
            let reads: Vec<u64> = samples.iter().map(|sample| sample.devices[0].counters.reads.ios).collect();
            assert!(reads.ends_with(&[9, 10]), "{name} cut at {cut}: {warnings:?}");
            assert_eq!(samples[..kept], expected[..kept], "{name} cut at {cut}: {warnings:?}");
        }
    }
}
