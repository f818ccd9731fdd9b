//! Devices that appear and disappear within an aggregated interval.

use super::captures::{capture_of, json, lines_of};
use crate::support::program::output;

#[test]
fn devices_that_appear_or_disappear_within_an_aggregated_interval_are_only_named() {
    let always = [0, 100, 200, 300, 400, 500, 600].map(Some);
    let absent = [Some(0), Some(100), None, None, None, Some(500), Some(600)];
    let brief = [None, None, Some(5), Some(6), None, None, None];
    let text = capture_of(&[
        lines_of("sda", &always),
        lines_of("sdb", &absent),
        lines_of("sdc", &brief),
    ]);
    let flags = |words: &str| -> Vec<String> {
        let lines = json(words, &text);
        let is_event = |line: &&serde_json::Value| line["flags"] != serde_json::json!([]);
        let text = |line: &serde_json::Value| {
            assert!(
                line["reads_per_s"].is_null()
                    && line["queue"].is_null()
                    && line["verdict"].is_null()
            );
            format!(
                "{} {}",
                line["device"].as_str().unwrap(),
                line["flags"][0].as_str().unwrap()
            )
        };
        lines.iter().filter(is_event).map(text).collect()
    };
    assert_eq!(flags("6"), ["sdb reappeared", "sdc appeared_briefly"]);
    assert_eq!(
        flags("3"),
        [
            "sdc appeared",
            "sdb disappeared",
            "sdb appeared",
            "sdc disappeared"
        ]
    );
    let (csv, _, _) = output("--csv --from - 6", &text);
    let devices: Vec<_> = csv
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').nth(2))
        .collect();
    assert_eq!(devices, ["sdb", "sdc", "sda"]);
    let events = |words: &str| {
        let (out, _, _) = output(&format!("--from - {words}"), &text);
        out.lines()
            .filter(|line| line.contains("appeared"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        events("6"),
        ["└ sdb disappeared and reappeared", "└ sdc appeared briefly"]
    );
    assert_eq!(events("sda sdc 6"), ["└ sdc appeared briefly"]);
    assert_eq!(
        events("3"),
        [
            "└ sdc appeared",
            "└ sdb disappeared",
            "└ sdb appeared",
            "└ sdc disappeared"
        ]
    );
    // The summary has one entry for a device that reappeared.
    let counts = |second: u64| Some(second * 100).filter(|_| !(8..10).contains(&second));
    let text = capture_of(&[lines_of("sdb", &(0..=18).map(counts).collect::<Vec<_>>())]);
    let (out, _, _) = output("--from - 6 --summary", &text);
    let rates: Vec<&str> = out.lines().filter(|line| line.contains(" r/s  ")).collect();
    assert!(
        rates.len() == 1 && rates[0].split_whitespace().nth(2) == Some("100"),
        "{out}"
    );
}
