//! Recordings that end in the middle of a sample.

use std::fs;

use super::lab::{Lab, replay};

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
