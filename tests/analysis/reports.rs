//! The wording and the numbers of single reports.

use serde_json::Value;

use super::simulator::{Random, Second, analyze, analyze_with, is_near, number, reads, varied};

fn explanation(report: &Value) -> &str {
    report["explanation"].as_str().unwrap()
}

#[test]
fn a_cap_on_reads_alone_is_the_capacity() {
    for seed in 0..20 {
        let mut random = Random(8000 + seed);
        let load: Vec<Second> = [
            (500.0, 0.5),
            (3000.0, 2.0),
            (3000.0, 8.0),
            (3000.0, 32.0),
            (3000.0, 64.0),
        ]
        .iter()
        .flat_map(|level| [*level; 8])
        .map(|(rate, queue): (f64, f64)| {
            let writes = 100.0 + 800.0 * random.unit();
            let rate = rate * (1.0 + 0.0008 * random.normal());
            Second {
                writes: (writes, 0.6, 4.0),
                ..reads(rate, queue)
            }
        })
        .collect();
        let report = analyze(load);
        assert_eq!(
            report["verdict"], "capped",
            "seed {seed}: {}",
            report["explanation"]
        );
        let capacity = &report["capacity"];
        assert!(
            capacity["capped"] == "read" && capacity["proven"] == true,
            "seed {seed}: {capacity}"
        );
        assert!(
            is_near(&capacity["max_iops"], 3000.0, 0.005),
            "seed {seed}: {capacity}"
        );
    }
}

#[test]
fn a_load_above_the_stated_cap_is_reported() {
    let analyze = |second| analyze_with([second; 20], "--cap 3000,125");
    let above = analyze(reads(131_000.0, 9.0));
    let text = "exceeded the stated cap of 3,000 requests/s (131k seen)";
    assert!(explanation(&above).contains(text), "{above}");
    let within = analyze(reads(2000.0, 0.5));
    assert!(!explanation(&within).contains("stated"), "{within}");
}

#[test]
fn the_worst_interval_is_in_the_explanation() {
    let mut random = Random(12);
    let load = (0..100).map(|second| {
        let (rate, ms) = (
            varied(&mut random, 1000.0, 1.0),
            if second == 50 { 6.5 } else { 0.1 },
        );
        reads(rate, ms * rate / 1000.0)
    });
    let report = analyze(load);
    let expected = "read latency 101 µs (1.0x unloaded) or less 95% of the time, worst 6.50 ms (65.0x unloaded)";
    assert!(explanation(&report).contains(expected), "{report}");
}

#[test]
fn requests_whose_time_rounds_to_zero_leave_no_broken_sentence() {
    let report = analyze(vec![
        Second {
            reads: (1.0, 0.0, 4.0),
            ..Second::default()
        };
        5
    ]);
    let await_ms = &report["read"]["await_ms"];
    assert!(
        report["verdict"].is_null() && await_ms["mean"].is_null(),
        "{report}"
    );
    assert!(await_ms["max"].is_null(), "{report}");
    assert!(
        explanation(&report).ends_with("counted hardly any request time"),
        "{report}"
    );
    // Most intervals with a few requests of 0.25 ms count no time.
    let report = analyze(vec![
        Second {
            reads: (1.0, 0.25, 4.0),
            ..Second::default()
        };
        80
    ]);
    assert!(
        (number(&report["read"]["await_ms"]["p50"]) - 0.25).abs() < 0.05,
        "{report}"
    );
}

#[test]
fn one_interval_is_singular() {
    let report = analyze([reads(3000.0, 0.9)]);
    assert_eq!(
        explanation(&report),
        "sda has no verdict: only 1 busy interval, too few"
    );
}
