//! Invariants of what the program prints of any capture, which the property tests and the fuzz targets check.

use serde_json::{Map, Value};

/// Checks the lines of `--json`: every number that is known is finite and not negative, a share of a whole is at most 100%,
/// and there is no mean without completed requests.
#[track_caller]
pub(crate) fn lines(text: &str) {
    for line in text.lines() {
        assert!(!line.contains(char::is_control), "{line:?}");
        let fields: Map<String, Value> = serde_json::from_str(line).unwrap();
        for (name, value) in &fields {
            let parts = [
                "_merge_pct",
                "upper_bound_pct",
                "pressure_some_pct",
                "pressure_full_pct",
            ];
            let is_part = parts.iter().any(|part| name.ends_with(part));
            let most = if is_part { 100.0 } else { f64::MAX };
            assert!(
                value
                    .as_f64()
                    .is_none_or(|number| (0.0..=most).contains(&number)),
                "{name}: {line}"
            );
        }
        let is_short = fields["elapsed_s"]
            .as_f64()
            .is_some_and(|seconds| seconds < 1e6);
        for requests in ["read", "write", "discard"] {
            // A rate is not rounded to zero in so short a time.
            if is_short && fields[&format!("{requests}s_per_s")] == 0.0 {
                let means =
                    ["await_ms", "size_kib"].map(|mean| &fields[&format!("{requests}_{mean}")]);
                assert_eq!(means, [&Value::Null; 2], "{line}");
            }
        }
    }
}

/// Checks the document of `iostat -o JSON`, which has no words for numbers that are not finite. Returns the number of
/// reports.
#[track_caller]
pub(crate) fn iostat(document: &str) -> usize {
    let document: Value = serde_json::from_str(document).unwrap();
    let reports = document["sysstat"]["hosts"][0]["statistics"]
        .as_array()
        .unwrap();
    for report in reports {
        for disk in report["disk"].as_array().into_iter().flatten() {
            for (name, value) in disk.as_object().unwrap() {
                // Even a share of the requests may be huge, as in iostat, if a counter went backwards.
                assert!(
                    value
                        .as_f64()
                        .is_none_or(|number| (0.0..=f64::MAX).contains(&number)),
                    "{name}: {disk}"
                );
            }
        }
        for (name, value) in report["avg-cpu"].as_object().into_iter().flatten() {
            assert!(value.as_f64().unwrap() >= 0.0, "{name}: {report}");
        }
    }
    reports.len()
}

/// Checks the rows of pt-diskstats.
#[track_caller]
pub(crate) fn pt_diskstats(table: &str) {
    let header = table
        .lines()
        .find(|line| line.contains("#ts device"))
        .unwrap_or_default();
    let names: Vec<&str> = header.split_whitespace().skip(2).collect();
    let rows = table
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.contains("#ts device"));
    for row in rows {
        let words: Vec<&str> = row.split_whitespace().collect();
        for (name, word) in names.iter().rev().zip(words.iter().rev()) {
            let number: f64 = word
                .trim_end_matches('%')
                .parse()
                .unwrap_or_else(|_| panic!("{name}: {row}"));
            // pt-diskstats subtracts the service time from the time in the queue, and shows a count of requests in flight
            // beyond 63 bits as the negative one that it stands for.
            let least = if ["qtime", "in_prg"].contains(name) {
                f64::MIN
            } else {
                0.0
            };
            let most = if name.ends_with("mrg") {
                100.0
            } else {
                f64::MAX
            };
            assert!((least..=most).contains(&number), "{name}: {row}");
        }
    }
}
