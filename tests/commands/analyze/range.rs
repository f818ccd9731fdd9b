//! `blkstat analyze --begin --end`, and events that began before.

use serde_json::Value;

use crate::support::program::{blkstat, output};
use crate::synthetic::reads_line;

const CAPPED: &str = "fixtures/captures/capped-3000.txt";

fn analyzed(arguments: &str) -> (Value, String) {
    let json = output(&format!("analyze --json {arguments}"), "").0;
    (
        serde_json::from_str(&json).unwrap(),
        output(&format!("analyze {arguments}"), "").0,
    )
}

#[test]
fn what_precedes_a_range_shows_its_cap_and_the_onset() {
    // At one queue all the time, the part alone does not show a cap.
    let (document, text) = analyzed(&format!("{CAPPED} --begin +46s --end +51s"));
    let loop0 = document["devices"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["device"] == "loop0")
        .unwrap();
    let plateau = &loop0["plateaus"][0];
    assert_eq!(
        (&loop0["verdict"], &loop0["intervals"]),
        (&Value::from("capped"), &Value::from(5)),
        "{text}"
    );
    assert!(
        plateau["intervals"].as_u64() <= Some(5) && plateau["seconds"].as_f64() <= Some(5.1),
        "{plateau}"
    );
    let event = &document["events"][0];
    assert_eq!(
        (&event["verdict"], &event["begin_known"]),
        (&Value::from("capped"), &Value::from(true))
    );
    assert!(
        event["begin_s"].as_f64() < Some(-20.0) && event["end_s"].as_f64() > Some(4.0),
        "{event}"
    );
    // The device was in trouble for no longer than the part.
    let trouble: Vec<&str> = text
        .lines()
        .find(|line| line.starts_with("loop0  "))
        .unwrap()
        .split(' ')
        .collect();
    assert!(trouble.contains(&"5.0"), "{text}");
}

/// A capture of a disk and its partition that are slow from one minute to another; one sample per minute from this second
/// of 1970 on.
fn slow_disk(start_s: u64, minutes: u64, slow: std::ops::Range<u64>) -> String {
    let (mut text, mut ms) = (String::new(), 0);
    for minute in 0..=minutes {
        ms += if minute == 0 {
            0
        } else {
            12_000 * if slow.contains(&minute) { 30 } else { 1 }
        };
        text += &format!("TS {}.0\n", start_s + 60 * minute);
        for name in ["0 sda", "1 sda1"] {
            text += &reads_line(&format!("8 {name}"), 12_000 * minute, ms, 0, ms);
        }
    }
    text
}

/// The sentence on the only incident, in a time zone.
fn incident_line(zone: &str, words: &str, text: &str) -> String {
    let shown = blkstat(&format!("analyze - {words}"))
        .env("TZ", zone)
        .input(text)
        .run();
    assert_eq!((shown.err.as_str(), shown.code), ("", 0));
    assert!(!shown.out.contains("\nIncidents\n"), "{}", shown.out);
    shown.out.split_once("\n\n").unwrap().0.replace('\n', " ")
}

#[test]
fn an_onset_on_the_day_before_the_range_has_its_date() {
    let text = slow_disk(1_795_219_200 - 60 * 60, 120, 50..80);
    let line = incident_line("UTC", "--begin 2026-11-21", &text);
    assert!(
        line.contains(" 2026-11-20 23:49:00-2026-11-21 00:19:00 ("),
        "{line}"
    );
}

#[test]
fn a_range_that_ends_at_the_first_sample_is_not_called_a_capture_without_samples() {
    for end in ["18:22:11", "+0s"] {
        let shown = blkstat(&format!("analyze {CAPPED} --end {end}"))
            .env("TZ", "UTC")
            .run();
        let expected = format!("blkstat: {CAPPED}: fewer than two complete samples up to --end\n");
        assert_eq!((shown.err, shown.code), (expected, 1));
    }
}
