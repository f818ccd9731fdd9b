//! Intervals that are longer than those of the capture.

use super::captures::{capture_of, json, lines_of};
use crate::support::program::output;
use crate::support::text::json_lines;
use crate::synthetic::reads_line;

#[test]
fn aggregated_intervals_end_at_multiples_and_the_remainder_is_reported() {
    let mut text = String::new();
    for second in 0..=130u64 {
        let jitter = if second % 2 == 0 {
            "000900000"
        } else {
            "000100000"
        };
        text += &format!(
            "TS {}.{jitter}\n8 0 sda {second} 0 0 0 0 0 0 0 0 0 0\n",
            1_795_200_000 + second
        );
    }
    let (out, _, _) = output("--json --from - 50", &text);
    let length =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["elapsed_s"].as_f64();
    let lengths: Vec<f64> = out.lines().filter_map(length).map(f64::round).collect();
    assert_eq!(lengths, [50.0, 50.0, 30.0]);
}

#[test]
fn aggregation_keeps_the_number_of_requests() {
    let ios = |options: &str| -> f64 {
        let (out, _, _) = output(
            &format!("--json --from fixtures/captures/mixed.txt vda {options}"),
            "",
        );
        let sum = |line: &str| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            value["writes_per_s"].as_f64().unwrap() * value["elapsed_s"].as_f64().unwrap()
        };
        out.lines().map(sum).sum()
    };
    let (all, parts) = (ios("1000"), ios(""));
    assert!(
        (all - parts).abs() < 1.0 && (ios("2") - parts).abs() < 1.0 && parts > 10_000.0,
        "{all} {parts}"
    );
}

#[test]
fn a_reset_within_an_aggregated_interval_is_flagged() {
    let counts = [1000, 1100, 1200, 100, 2000, 4000, 4100, 4200, 4300].map(Some);
    let text = capture_of(&[lines_of("sda", &counts)]);
    let lines = json("6", &text);
    let rates: Vec<_> = lines
        .iter()
        .map(|line| (line["reads_per_s"].as_f64(), line["flags"].clone()))
        .collect();
    assert_eq!(
        rates,
        [
            (None, serde_json::json!(["reset"])),
            (Some(100.0), serde_json::json!([]))
        ]
    );
    assert!(lines[0]["read_await_ms"].is_null() && lines[0]["queue"].is_null());
    let (csv, _, _) = output("--csv --from - 6", &text);
    assert!(
        csv.lines()
            .nth(1)
            .is_some_and(|line| line.contains(",sda,,,") && line.contains(",reset,")),
        "{csv}"
    );
    // A counter that ends where it began was reset too.
    let counts = [1000, 0, 500, 1000].map(Some);
    assert_eq!(
        json("3", &capture_of(&[lines_of("loop0", &counts)]))[0]["flags"][0],
        "reset"
    );
}

#[test]
fn milliseconds_may_wrap_more_than_once_in_an_aggregated_interval() {
    let mut text = String::new();
    for hour in 0..=8u64 {
        let (ios, ms) = (hour * 3_600_000, (hour * 1_440_000_000) % (1 << 32));
        let line = reads_line("8 0 sda", ios, ms, 400, hour * 3_600_000);
        text += &format!("TS {}\n{line}", 1_795_200_000 + hour * 3600);
    }
    let line = &json("8h", &text)[0];
    let numbers =
        ["read_await_ms", "read_queue", "queue", "util_pct"].map(|name| line[name].as_f64());
    assert_eq!(numbers, [400.0, 400.0, 400.0, 100.0].map(Some));
}

/// The same capture with its timestamps moved by `seconds`.
fn later(text: &str, seconds: u64) -> String {
    let line = |line: &str| match line.strip_prefix("TS ") {
        Some(time) => format!("TS {}\n", time.parse::<u64>().unwrap() + seconds),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn an_aggregated_interval_ends_early_at_a_break() {
    for second_start in [1, 5] {
        let counts: Vec<Option<u64>> = (0..=5).map(|second| Some(second * 100)).collect();
        let text = capture_of(&[lines_of("sda", &counts)]);
        let more: Vec<Option<u64>> = (6..=9).map(|second| Some(second * 100)).collect();
        let text = text + &later(&capture_of(&[lines_of("sda", &more)]), second_start);
        let (out, err, _) = output("--json --from - 3", &text);
        assert!(err.contains("no interval spans this point"), "{err}");
        let lines = json_lines(&out).into_iter();
        let rates: Vec<_> = lines
            .map(|line| {
                (
                    line["elapsed_s"].as_f64().unwrap(),
                    line["reads_per_s"].as_f64(),
                )
            })
            .collect();
        assert_eq!(
            rates,
            [(3.0, Some(100.0)), (2.0, Some(100.0)), (3.0, Some(100.0))],
            "{second_start}"
        );
    }
}

#[test]
fn intervals_have_the_same_length_after_a_gap() {
    let text: String = (0..24u64)
        .chain(3623..3664)
        .map(|at| {
            format!(
                "TS {}\n8 0 sda {} 0 0 0 0 0 0 0 0 0 0\n",
                1_795_200_000 + at,
                10 * at
            )
        })
        .collect();
    let (out, _, _) = output("--json --from - 10", &text);
    let lengths: Vec<f64> = out
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["elapsed_s"]
                .as_f64()
                .unwrap()
        })
        .collect();
    assert_eq!(lengths[..2], [10.0, 10.0]);
    assert!(
        lengths[3..].iter().all(|length| *length <= 10.0) && lengths.len() >= 6,
        "{lengths:?}"
    );
    assert_eq!(lengths.iter().sum::<f64>(), 3663.0);
}
