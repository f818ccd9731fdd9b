//! Real captures.

use serde_json::Value;

use super::program::{lines, output, report_in};
use super::simulator::number;

/// What `analyze` says of a capture, and the live verdicts on a device in it.
fn replay(capture: &str, device: &str) -> (Value, Vec<Value>) {
    let text = std::fs::read_to_string(format!("fixtures/captures/{capture}.txt")).unwrap();
    let document = serde_json::from_str(&output("analyze --json", &[&text])).unwrap();
    (
        document,
        lines(&text, device)
            .iter_mut()
            .map(|line| line["verdict"].take())
            .collect(),
    )
}

#[test]
fn one_client_under_a_cap_on_a_host_without_cpu_time_is_not_ok() {
    // 2,340 reads per second, with other tasks on both CPUs: the rate is irregular because clients wait for the CPU.
    let (document, live) = replay("capped-one-client", "loop0");
    let report = report_in(&document, "loop0");
    assert_ne!(report["verdict"], "ok", "{}", report["explanation"]);
    assert!(!live.contains(&"ok".into()), "{live:?}");
}

#[test]
fn caps_of_reads_and_writes_that_the_kernel_keeps_in_slices_of_time_are_named() {
    // Limits of 777 reads and 345 writes per second, sampled on a host without CPU to spare.
    let (document, live) = replay("capped-770-340", "loop1");
    let report = report_in(&document, "loop1");
    assert_eq!(report["verdict"], "capped", "{}", report["explanation"]);
    let plateaus = report["plateaus"].as_array().unwrap().iter();
    let caps: Vec<_> = plateaus
        .map(|one| {
            (
                &one["direction"],
                number(&one["iops"]).round(),
                &one["certain"],
            )
        })
        .collect();
    let certain = Value::from(true);
    assert_eq!(
        caps,
        [
            (&"read".into(), 770.0, &certain),
            (&"write".into(), 340.0, &certain)
        ]
    );
    assert!(live[..15].contains(&"capped".into()), "{live:?}");
}
