//! The line of the total.

use super::captures::{capture_of, json, lines_of};
use crate::support::program::output;

/// The device, the reads per second and the flags of each JSON line.
fn rates(words: &str, text: &str) -> Vec<(String, Option<f64>, Vec<String>)> {
    let line = |line: &serde_json::Value| {
        let flags = line["flags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|flag| flag.as_str().unwrap().to_owned());
        (
            line["device"].as_str().unwrap().to_owned(),
            line["reads_per_s"].as_f64(),
            flags.collect(),
        )
    };
    json(words, text).iter().map(line).collect()
}

/// The reads per second of the total in each interval.
fn total(words: &str, text: &str) -> Vec<Option<f64>> {
    let lines = rates(&format!("--total {words}"), text);
    lines
        .into_iter()
        .filter(|(device, ..)| device == "total")
        .map(|(_, rate, _)| rate)
        .collect()
}

#[test]
fn a_total_is_the_sum_of_its_devices() {
    // The counter of one device wraps at 32 bits.
    let wraps = [(1u64 << 32) - 6, 94, 194].map(|reads| format!("sdb {reads} 0 0 0 0 0 0 0 0 0 0"));
    let text = capture_of(&[lines_of("sda", &[100, 200, 300].map(Some)), wraps.to_vec()]);
    assert_eq!(total("", &text), [Some(200.0), Some(200.0)]);
    // The milliseconds of a sum may exceed 32 bits; means are over all requests.
    let line = |name: &str, reads: u64, ms: u64| {
        format!("{name} {reads} 0 {} {ms} 0 0 0 0 7 0 {ms}", 8 * reads)
    };
    let device = |name: &str, reads| vec![line(name, 0, 0), line(name, reads, 3_000_000_000)];
    let lines = json(
        "--total",
        &capture_of(&[device("sda", 1000), device("sdb", 2000)]),
    );
    let numbers = ["read_await_ms", "queue", "in_flight"].map(|name| lines[2][name].as_f64());
    assert_eq!(numbers, [Some(2e6), Some(6e6), Some(14.0)]);
}

#[test]
fn a_total_with_a_reset_device_has_no_numbers_and_is_flagged() {
    let text = capture_of(&[
        lines_of("sda", &[100, 200, 300].map(Some)),
        lines_of("sdb", &[5000, 7, 107].map(Some)),
    ]);
    let lines: Vec<_> = rates("--total", &text)
        .into_iter()
        .filter(|(device, ..)| device == "total")
        .collect();
    let expected = [
        ("total".to_owned(), None, vec!["reset".to_owned()]),
        ("total".to_owned(), Some(200.0), vec![]),
    ];
    assert_eq!(lines, expected);
    let (out, _, _) = output("--total --from -", &text);
    assert!(
        out.contains("total      counters of a device in the total reset"),
        "{out}"
    );
    assert_eq!(total("sda", &text), [Some(100.0); 2]);
}

#[test]
fn a_total_covers_the_requested_devices() {
    let names = ["sda", "sda1", "sda2", "sdb", "dm-0"];
    let device =
        |(at, name): (usize, &&str)| lines_of(name, &[Some(0), Some(10u64.pow(at as u32))]);
    let text = capture_of(&names.iter().enumerate().map(device).collect::<Vec<_>>());
    for (words, expected) in [
        ("", 1001.0),
        ("sda", 1.0),
        ("--devices-regex sd", 1001.0),
        ("sda1 sda2", 110.0),
        ("sda sda1", 1.0),
        ("sda1 sdb", 1010.0),
        ("dm-0", 10_000.0),
        ("dm-0 sda", 1.0),
    ] {
        assert_eq!(total(words, &text), [Some(expected)], "{words}");
    }
}

#[test]
fn the_report_since_boot_has_a_total_too() {
    let text = capture_of(&[
        lines_of("sda", &[1000, 1100].map(Some)),
        lines_of("sdb", &[3000, 3000].map(Some)),
    ]);
    let end = "#blkstat {\"uptime_cs\":1000,\"complete\":true}\n";
    let (first, second) = text.split_at(text.rfind("TS").unwrap());
    let text = format!("#blkstat {{\"version\":\"0.1.0\"}}\n{first}{end}{second}{end}");
    assert_eq!(total("--since-boot", &text), [Some(400.0), Some(100.0)]);
    let (out, _, _) = output("--since-boot --total --from -", &text);
    let totals = out.lines().filter(|line| line.starts_with("total "));
    let rates: Vec<&str> = totals
        .map(|line| line.split_whitespace().nth(1).unwrap())
        .collect();
    assert_eq!(rates, ["400", "100"], "{out}");
}

#[test]
fn a_total_that_includes_a_device_without_accounting_is_flagged() {
    let device = |name: &str, more: &str| format!(r#"{{"name":"{name}","kind":"disk"{more}}}"#);
    let devices = format!(
        "{},{}",
        device("sda", r#","accounting":false"#),
        device("sdb", "")
    );
    let text = capture_of(&[
        lines_of("sda", &[100, 100].map(Some)),
        lines_of("sdb", &[0, 10].map(Some)),
    ]);
    let end = "#blkstat {\"complete\":true}\n";
    let (first, second) = text.split_at(text.rfind("TS").unwrap());
    let text = format!(
        "#blkstat {{\"version\":\"0.1.0\",\"devices\":[{devices}]}}\n{first}{end}{second}{end}"
    );
    let off = vec!["accounting_off".to_owned()];
    let expected = [
        ("sda".to_owned(), None, off.clone()),
        ("sdb".to_owned(), Some(10.0), vec![]),
        ("total".to_owned(), Some(10.0), off),
    ];
    assert_eq!(rates("--total", &text), expected);
    let (out, _, _) = output("--total --from -", &text);
    assert!(!out.contains("the kernel's util cannot be true"), "{out}");
}
