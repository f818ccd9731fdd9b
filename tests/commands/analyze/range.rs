//! `blkstat analyze --begin --end`, and events that began before.

use serde_json::Value;

use super::capture;
use crate::support::program::output;

const CAPPED: &str = "fixtures/captures/capped-3000.txt";

fn analyzed(arguments: &str) -> (Value, String) {
    let json = output(&format!("analyze --json {arguments}"), "").0;
    (serde_json::from_str(&json).unwrap(), output(&format!("analyze {arguments}"), "").0)
}

#[test]
fn what_precedes_a_range_shows_its_cap_and_the_onset() {
    // At one queue all the time, the part alone does not show a cap.
    let (document, text) = analyzed(&format!("{CAPPED} --begin +46s --end +51s"));
    let loop0 = document["devices"].as_array().unwrap().iter().find(|one| one["device"] == "loop0").unwrap();
    let plateau = &loop0["plateaus"][0];
    assert_eq!((&loop0["verdict"], &loop0["intervals"]), (&Value::from("capped"), &Value::from(5)), "{text}");
    assert!(
        plateau["intervals"].as_u64() <= Some(5) && plateau["seconds"].as_f64() <= Some(5.1),
        "{plateau}"
    );
    let event = &document["events"][0];
    assert_eq!((&event["verdict"], &event["begin_known"]), (&Value::from("capped"), &Value::from(true)));
    assert!(event["begin_s"].as_f64() < Some(-20.0) && event["duration_s"].as_f64() > Some(25.0), "{event}");
    // The device was in trouble for no longer than the part.
    let trouble: Vec<&str> =
        text.lines().find(|line| line.starts_with("loop0")).unwrap().split(' ').collect();
    assert!(trouble.contains(&"4.0"), "{text}");
}

#[test]
fn trouble_at_the_first_sample_has_no_known_begin() {
    let rows: Vec<(f64, f64)> = [vec![(100.0, 40.0); 12], vec![(100.0, 1.0); 30]].concat();
    let (text, err, code) = output("analyze --baseline-ms 1 -", capture(&rows));
    assert_eq!(code, 0, "{err}");
    assert!(text.contains(" since before "), "{text}");
    assert!(text.contains("s or more"), "{text}");
}

#[test]
fn details_are_not_for_a_comparison() {
    let (_, err, code) = output(&format!("analyze --compare --details {CAPPED} {CAPPED}"), "");
    assert_eq!(code, 2);
    assert!(err.contains("--details"), "{err}");
}
