//! Real captures.

use serde_json::Value;

use super::program::{lines, output, report_in};
use super::simulator::{is_near, number};

/// What `analyze` says of a capture, and the live verdicts on a device in it.
fn replay(capture: &str, device: &str) -> (Value, Vec<Value>) {
    let text = std::fs::read_to_string(format!("fixtures/captures/{capture}.txt")).unwrap();
    let document = serde_json::from_str(&output("analyze --json", &[&text])).unwrap();
    (document, lines(&text, device).iter_mut().map(|line| line["verdict"].take()).collect())
}

#[test]
fn a_loop_device_under_a_cap_is_capped_and_the_disk_below_is_not_saturated() {
    let (document, live) = replay("capped-3000", "loop0");
    let upper = report_in(&document, "loop0");
    assert_eq!(upper["verdict"], "capped", "{}", upper["explanation"]);
    let capacity = &upper["capacity"];
    assert!(is_near(&capacity["max_iops"], 3000.0, 0.01));
    assert!(capacity["max_known"] == true && capacity["proven"] == true, "{capacity}");
    assert_eq!(upper["plateaus"].as_array().unwrap().len(), 1);
    assert!(is_near(&upper["plateaus"][0]["iops"], 3000.0, 0.001));
    // All of the last intervals but those in which the load changed.
    assert!(live.iter().rev().take(20).filter(|verdict| **verdict == "capped").count() >= 17);
    let (document, live) = replay("capped-3000", "vda");
    let is_limited = |verdict: &Value| verdict == "saturated" || verdict == "capped";
    let lower = report_in(&document, "vda");
    assert!(!is_limited(&lower["verdict"]), "{}", lower["explanation"]);
    assert!(!live.iter().any(is_limited), "{live:?}");
    assert!(document["queue_by_layer"].is_null(), "the capture does not say how they are stacked");
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
fn a_disk_under_rising_concurrency_has_its_knee_and_its_maximum() {
    let (document, live) = replay("sweep-randread", "vda");
    let report = report_in(&document, "vda");
    let capacity = &report["capacity"];
    assert_eq!(capacity["max_known"], true, "{capacity}");
    let knee = ["knee_low", "knee_high"].map(|end| number(&capacity[end]));
    assert!((16.0..24.0).contains(&knee[0]) && (32.0..48.0).contains(&knee[1]), "{knee:?}");
    assert!(is_near(&capacity["max_iops"], 150_000.0, 0.1));
    assert!((number(&report["read"]["baseline_await_ms"]) - 0.035).abs() < 0.003);
    assert_eq!(report["verdict"], "saturated");
    assert!(!live.contains(&"capped".into()));
}

#[test]
fn caps_of_reads_and_writes_that_the_kernel_keeps_in_slices_of_time_are_named() {
    // Limits of 777 reads and 345 writes per second, sampled on a host without CPU to spare.
    let (document, live) = replay("capped-770-340", "loop1");
    let report = report_in(&document, "loop1");
    assert_eq!(report["verdict"], "capped", "{}", report["explanation"]);
    let plateaus = report["plateaus"].as_array().unwrap().iter();
    let caps: Vec<_> =
        plateaus.map(|one| (&one["direction"], number(&one["iops"]).round(), &one["certain"])).collect();
    let certain = Value::from(true);
    assert_eq!(caps, [(&"read".into(), 770.0, &certain), (&"write".into(), 340.0, &certain)]);
    assert!(live[..15].contains(&"capped".into()), "{live:?}");
}

#[test]
fn a_mixed_load_is_not_capped_and_has_all_fields() {
    let (document, _) = replay("mixed", "");
    for report in document["devices"].as_array().unwrap() {
        let (_, live) = replay("mixed", report["device"].as_str().unwrap());
        assert!(report["verdict"] != "capped" && !live.contains(&"capped".into()));
        assert!(
            report["read"]["await_ms"].get("p95").is_some() && report["capacity"]["max_known"].is_boolean()
        );
    }
}
