//! Analyses of captures as text, JSON and fio jobs.

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::capped_volume_on_disk;
use crate::support::program::output;
use crate::support::snapshot::assert_snapshot;

/// Returns the text of an analysis of a capture, with these options.
fn analyze(capture: &str, width: usize, options: &str) -> String {
    let command = format!("analyze fixtures/captures/{capture}.txt --width {width} {options}");
    let (out, err, code) = output(&command, "");
    assert_eq!(code, 0, "{err}");
    out
}

/// Captures whose layout and JSON are checked.
const CAPTURES: [&str; 7] = [
    "hotplug",
    "faults",
    "hostile",
    "names",
    "old-kernel",
    "stalls",
    "mixed",
];

/// Returns whether all lines fit but for those of incidents, each of which is one line.
fn fits(text: &str, width: usize) -> bool {
    let mut is_incident = false;
    text.lines().all(|line| {
        is_incident = line == "Incidents" || is_incident && !line.is_empty();
        is_incident || line.width() <= width
    })
}

#[test]
fn overviews_match_their_snapshots() {
    for name in [
        "capped-3000",
        "sweep-randread",
        "mixed",
        "stalls",
        "hotplug",
        "faults",
    ] {
        let overview = analyze(name, 100, "");
        assert!(fits(&overview, 100), "{overview}");
        assert_snapshot(&format!("analyze/{name}.overview.txt"), &overview);
    }
}

#[test]
fn texts_match_their_snapshots() {
    for name in ["capped-3000", "sweep-randread", "mixed"] {
        for width in [80, 100] {
            let text = analyze(name, width, "--details");
            assert!(
                fits(&text, width) && text.lines().all(|line| !line.ends_with(' ')),
                "{text}"
            );
            assert_snapshot(&format!("analyze/{name}.{width}.txt"), &text);
        }
    }
}

#[test]
fn every_capture_fits_a_narrow_terminal() {
    for name in CAPTURES {
        for width in [60, 72] {
            let text = analyze(name, width, "--details");
            assert!(!text.is_empty() && fits(&text, width), "{name}: {text}");
            assert!(
                !text.contains(|c: char| c.is_control() && c != '\n'),
                "{name}: {text:?}"
            );
        }
    }
}

#[test]
fn json_has_the_documented_fields() {
    let (out, ..) = output("analyze --json -", capped_volume_on_disk());
    let value: Value = serde_json::from_str(&out).unwrap();
    let device = value["devices"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["device"] == "loop0")
        .unwrap();
    assert_eq!(device["verdict"], "capped");
    assert!(device["explanation"].is_string() && device["intervals"].is_u64());
    assert!(device["busy_intervals"].is_u64());
    for direction in ["read", "write"] {
        for quantity in [
            "iops",
            "await_ms",
            "queue",
            "size_kib",
            "mib_per_s",
            "saturation",
        ] {
            for field in ["mean", "p50", "p95", "p99", "max"] {
                assert!(
                    device[direction][quantity].get(field).is_some(),
                    "{direction} {quantity} {field}"
                );
            }
        }
        for field in ["baseline_await_ms", "busy"] {
            assert!(
                device[direction].get(field).is_some(),
                "{direction} {field}"
            );
        }
    }
    for field in [
        "queue",
        "intervals",
        "iops",
        "mib_per_s",
        "await_ms",
        "saturation",
    ] {
        assert!(device["levels"][0].get(field).is_some(), "{field}");
    }
    for field in ["resets", "gaps", "absent", "untimed"] {
        assert!(device["excluded"][field].is_u64(), "{field}");
    }
    let capacity = &device["capacity"];
    assert_eq!(
        (&capacity["proven"], &capacity["max_known"]),
        (&true.into(), &true.into())
    );
    assert_eq!(capacity["capped"], "read");
    for field in [
        "max_iops",
        "max_mib_per_s",
        "offered_rate",
        "knee_low",
        "knee_high",
    ] {
        assert!(capacity.get(field).is_some(), "{field}");
    }
    let plateau = &device["plateaus"][0];
    assert_eq!(
        (&plateau["direction"], &plateau["unit"]),
        (&"read".into(), &"requests".into())
    );
    assert_eq!(plateau.get("matches_limit"), Some(&Value::Null));
    assert_eq!(plateau["begin"], "2026-11-20T18:22:29.000256Z");
    assert!(plateau["seconds"].is_f64() && plateau["intervals"].is_u64());
    assert!(device["other_causes"].is_array());
    assert!(plateau["queue_from"].is_f64() && plateau["queue_to"].is_f64());
    let queues = &value["queue_by_layer"];
    assert_eq!(queues["layers"][0]["device"], "loop0");
    let link = &queues["links"][0];
    assert_eq!(
        (&link["above"], &link["bottleneck"]),
        (&"loop0".into(), &true.into())
    );
    assert!(link["queued_between"].is_f64() && link["explanation"].is_string());
    assert!(value["host"].get("cpu_available_pct").is_some());
    assert!(value["not_the_disk"].is_null(), "a device is capped");
    assert_eq!(value["host_findings"], serde_json::json!([]));
}
