use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::*;
use crate::latency::traced_io::LatencyBucket;

/// A histogram of requests at these microseconds.
fn histogram(latencies_us: &[u64]) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::default();
    for us in latencies_us {
        let (lower_ns, sum_ns) = (us * 1000, us * 1000 + 50);
        histogram.add(LatencyBucket {
            lower_ns,
            upper_ns: lower_ns + 199,
            count: 1,
            sum_ns,
        });
    }
    histogram
}

/// 99 fast reads and a slow one, and a write that was not matched, on a device with a hostile name.
fn traced() -> TracedInterval {
    let mut reads = vec![100; 90];
    reads.extend([400; 9]);
    reads.push(900_000);
    let device = TracedDevice {
        name: "dm-0".to_owned(),
        label: "sd\u{1b}a".to_owned(),
        number: (8, 0),
        completed: [100, 1, 0],
        latencies: BTreeMap::from([(RequestKind::Read, histogram(&reads))]),
        errors: BTreeMap::new(),
        is_path: false,
    };
    TracedInterval {
        elapsed_s: 1.0,
        devices: vec![device],
        ..TracedInterval::default()
    }
}

fn printed(traced: &TracedInterval, push: impl Fn(&LatencyInterval<'_>, &mut Vec<u8>)) -> String {
    let header = IntervalHeader {
        end: Timestamp::from_second(1_790_000_000).ok(),
        elapsed_s: 1.0,
        ..IntervalHeader::default()
    };
    let mut out = Vec::new();
    push(
        &LatencyInterval {
            header: &header,
            traced,
            devices: traced.devices.iter().collect(),
        },
        &mut out,
    );
    String::from_utf8(out).unwrap()
}

fn table_text(width: usize, traced: &TracedInterval) -> String {
    printed(traced, |interval, out| {
        table(interval, width, &TimeZone::UTC, out)
    })
}

fn heatmap_text(width: usize, traced: &TracedInterval) -> String {
    printed(traced, |interval, out| {
        heatmap_legend(width, out);
        heatmap(interval, width, &TimeZone::UTC, out);
    })
}

fn json_text(traced: &TracedInterval) -> Value {
    serde_json::from_str(&printed(traced, |interval, out| {
        lines(interval, LineFormat::Json, out)
    }))
    .unwrap()
}

#[test]
fn the_table_shows_percentiles_and_bars() {
    let expected = "\
14:13:20 1.0 s
device     requests  count    p50    p95    p99  p99.9    max  matched  10µs     1ms  10ms     1s
sd\\u{1b}a  read        100  100µs  400µs  400µs  900ms  900ms     100%      █  ▁               ▁
           write         0                                          0%

";
    let text = table_text(100, &traced());
    assert_eq!(text, expected, "{text}");
}

#[test]
fn the_heat_map_has_a_line_for_each_kind_of_request() {
    let text = heatmap_text(100, &traced());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(
        lines[2].starts_with("14:13:20 sd\\u{1b}a    read        100 "),
        "{text}"
    );
    assert!(
        lines[2].ends_with("100µs   400µs") && lines[2].contains('█') && lines[2].contains('░'),
        "{text}"
    );
}

#[test]
fn json_and_csv_have_the_same_fields() {
    let json = json_text(&traced());
    let csv = printed(&traced(), |interval, out| {
        csv_header(out);
        lines(interval, LineFormat::Csv, out);
    });
    let (names, values) = csv.trim_end().split_once('\n').unwrap();
    assert_eq!(json.as_object().unwrap().len(), names.split(',').count());
    assert_eq!(names.split(',').count(), values.split(',').count());
    for (name, value) in names.split(',').zip(values.split(',')) {
        let text = match &json[name] {
            Value::Null => String::new(),
            Value::String(text) => text.replace('\u{1b}', "\\u{1b}"),
            other => other.to_string(),
        };
        assert_eq!(text, value, "{name}");
    }
    assert_eq!(
        (&json["read_count"], &json["read_p50_ms"]),
        (&100.into(), &0.10005.into())
    );
    assert_eq!(
        (&json["read_max_ms"], &json["matched_pct"]),
        (&900.00005.into(), &99.009901.into())
    );
    assert_eq!(
        (&json["write_count"], &json["write_p50_ms"]),
        (&0.into(), &Value::Null)
    );
    assert_eq!(json["problem"], Value::Null);
}

#[test]
fn the_manual_says_what_each_field_means() {
    let manual = include_str!("../../manual/json.md");
    let (_, own) = manual.split_once("\n## latency:").unwrap();
    let (own, _) = own.split_once("\n## ").unwrap();
    let mut names = Vec::new();
    csv_header(&mut names);
    for name in String::from_utf8(names).unwrap().trim_end().split(',') {
        assert!(own.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn what_is_missing_is_said_once_and_with_the_remedy() {
    assert!(trace_notes(&traced()).is_empty());
    let paused = TracedInterval {
        problem: Some(TraceProblem::Overhead),
        ..traced()
    };
    assert!(trace_notes(&paused)[0].contains("--max-overhead"));
    let full = TracedInterval {
        dropped: 7,
        ..traced()
    };
    assert!(trace_notes(&full)[0].starts_with("7 requests are missing"));
    let mut unmatched = traced();
    unmatched.devices[0].completed[0] = 1000;
    let text = table_text(100, &unmatched);
    let paused = TracedInterval {
        problem: Some(TraceProblem::Overhead),
        ..TracedInterval::default()
    };
    for traced in [&unmatched, &paused] {
        for text in [table_text(80, traced), heatmap_text(80, traced)] {
            assert!(
                text.contains(")\n") && text.lines().all(|line| line.chars().count() <= 80),
                "{text}"
            );
        }
    }
    assert!(
        text.contains("(only 10% of the requests are matched"),
        "{text}"
    );
    assert!(table_text(100, &TracedInterval::default()).contains("(no requests)"));
}

#[test]
fn lines_fit_into_narrow_terminals() {
    use unicode_width::UnicodeWidthStr;
    let mut traced = traced();
    for name in ["sda", "mpath-of-a-volume-with-a-long-name"] {
        traced.devices[0].label = name.to_owned();
        for width in [70, 80, 100, 120] {
            let text = table_text(width, &traced);
            assert!(
                text.lines().all(|line| line.width() <= width),
                "{width}: {text}"
            );
            let has_bars = text.contains("10µs");
            assert!(has_bars || width == 70 || name.len() > 3, "{width}: {text}");
        }
    }
}

#[test]
fn failed_requests_are_named_with_their_errors() {
    let mut traced = traced();
    traced.devices[0].errors = BTreeMap::from([(-110, 1), (-5, 3)]);
    let text = table_text(100, &traced);
    let note = r"(sd\u{1b}a failed requests: Connection timed out 1, Input/output error 3)";
    assert!(text.lines().any(|line| line == note), "{text}");
    let json = json_text(&traced);
    assert_eq!(json["failed_requests"], 4);
    assert_eq!(
        json["errors"],
        "Connection timed out 1, Input/output error 3"
    );
}
