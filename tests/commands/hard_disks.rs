//! Hard disks, whose deep queue shows saturation without a baseline.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::support::program::output;

const SENTENCE: &str = "a queue of 16 requests at a hard disk, which serves one at a time";

/// A recording of 20 s of a disk of this model with 16 reads of 4 KiB in flight, at about this rate.
fn recording(model: Option<&str>, rate: u64) -> String {
    let disk =
        json!({"name": "sda", "major": 8, "minor": 0, "kind": "disk", "model": model, "rotational": true});
    let mut text = format!("#blkstat {}\n", json!({"version": "0.2.0", "devices": [disk]}));
    let mut reads = 0;
    for second in 0..=20 {
        let (sectors, ms, busy) = (8 * reads, 16_000 * second, 1000 * second);
        writeln!(text, "TS {}.000000000 2026-11-20 18:00:00", 1_795_197_600 + second).unwrap();
        writeln!(text, "8 0 sda {reads} 0 {sectors} {ms} 0 0 0 0 16 {busy} {ms} 0 0 0 0 0 0").unwrap();
        let end = json!({"monotonic_ns": 1_000_000_000 * second, "complete": true});
        writeln!(text, "#blkstat {end}").unwrap();
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
fn a_deep_queue_saturates_a_hard_disk_that_was_never_seen_unloaded() {
    for (verdict, text) in verdicts(&recording(Some("ST4000NM0035-1V4"), 150)) {
        assert_eq!(verdict, "saturated", "{text}");
        assert!(text.contains(SENTENCE), "{text}");
    }
}

#[test]
fn a_deep_queue_says_nothing_where_more_than_one_may_be_served_at_a_time() {
    for (model, rate) in [(Some("QEMU HARDDISK"), 150), (None, 150), (Some("ST4000NM0035-1V4"), 2000)] {
        for (verdict, text) in verdicts(&recording(model, rate)) {
            assert_eq!(verdict, Value::Null, "{model:?}, {rate}: {text}");
            assert!(!text.contains("hard disk"), "{text}");
        }
    }
}
