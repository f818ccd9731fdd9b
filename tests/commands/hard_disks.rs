//! Hard disks, whose class shows saturation without a baseline.

use serde_json::{Value, json};

use crate::support::program::output;
use crate::synthetic::{end_of_sample, header, reads_line, ts_line};

/// A recording of 20 s of a disk of this model with 16 reads of 4 KiB in flight, at about this rate.
fn recording(model: Option<&str>, rate: u64) -> String {
    let disk = json!({"name": "sda", "major": 8, "minor": 0, "kind": "disk", "model": model, "rotational": true});
    let mut text = header(&json!([disk]));
    let mut reads = 0;
    for second in 0..=20 {
        text += &ts_line(second);
        text += &reads_line("8 0 sda", reads, 16_000 * second, 16, 1000 * second);
        text += &end_of_sample(second);
        // It differs by up to a tenth, as that of no cap does.
        reads += rate + rate * (second * 7 % 11) / 100;
    }
    text
}

/// The verdict of `analyze` and the last live one, each with its explanation or evidence.
fn verdicts(recording: &str) -> [(Value, String); 2] {
    let analyzed: Value = serde_json::from_str(&output("analyze --json -", recording).0).unwrap();
    let live = output("--json --from -", recording).0;
    let live: Value = serde_json::from_str(live.lines().last().unwrap()).unwrap();
    let device = &analyzed["devices"][0];
    [
        (device["verdict"].clone(), device["explanation"].to_string()),
        (live["verdict"].clone(), live["evidence"].to_string()),
    ]
}

#[test]
fn requests_that_take_far_longer_than_any_hard_disk_needs_wait() {
    for (model, sentence) in [
        (Some("ST4000NM0035-1V4"), "what any hard disk needs"),
        (Some("QEMU HARDDISK"), "what any disk needs"),
        (None, "what any disk needs"),
    ] {
        for (verdict, text) in verdicts(&recording(model, 150)) {
            assert_eq!(verdict, "saturated", "{text}");
            assert!(text.contains(sentence), "{text}");
        }
    }
}

#[test]
fn requests_that_take_no_longer_than_a_hard_disk_may_need_show_nothing() {
    for (model, rate) in [
        (Some("QEMU HARDDISK"), 700),
        (None, 700),
        (Some("ST4000NM0035-1V4"), 2000),
    ] {
        for (verdict, text) in verdicts(&recording(model, rate)) {
            assert_eq!(verdict, "busy", "{model:?}, {rate}: {text}");
            assert!(!text.contains("needs"), "{text}");
        }
    }
}
