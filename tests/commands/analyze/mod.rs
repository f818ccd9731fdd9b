//! `blkstat analyze` on the command line.

mod range;
mod text;

use std::fmt::Write;
use std::fs;
use std::thread;

use serde_json::{Value, json};

use crate::support::fake_root::FakeRoot;
use crate::support::program::output;
use crate::support::text::one_line;
use crate::synthetic::{end_of_sample, header, reads_line, ts_line};

fn report(arguments: &str, input: &str, device: &str) -> Value {
    let (out, err, code) = output(&format!("analyze --json {arguments}"), input);
    assert_eq!(code, 0, "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    let devices = document["devices"].as_array().unwrap();
    devices
        .iter()
        .find(|report| report["device"] == device)
        .unwrap_or_else(|| panic!("{out}"))
        .clone()
}

/// A capture of one device whose intervals have these rates of 4 KiB reads and latencies in milliseconds.
fn capture(intervals: &[(f64, f64)]) -> String {
    let mut text = String::new();
    let (mut ios, mut ms) = (0.0, 0.0);
    for (second, (rate, await_ms)) in (0..).zip([(0.0, 0.0)].iter().chain(intervals)) {
        ios += rate;
        ms += rate * await_ms;
        let in_flight = (rate * await_ms / 1000.0).round() as u64;
        text += &ts_line(second);
        text += &reads_line(
            " 259 0 nvme0n1",
            ios as u64,
            ms as u64,
            in_flight,
            1000 * second,
        );
    }
    text
}

#[test]
fn the_table_of_zaitsev_and_trudeau_has_the_expected_saturations() {
    let table = [
        (7113.0, 0.14),
        (26248.0, 0.15),
        (76846.0, 0.21),
        (127_841.0, 0.50),
        (131_559.0, 1.95),
    ];
    // Each rate varies as that of a busy device does, and not as that of a cap.
    let vary = |(rate, await_ms): (f64, f64)| {
        (0..10).map(move |k| (rate * (1.0 + 0.002 * f64::from(k * 7 % 11 - 5)), await_ms))
    };
    let intervals: Vec<(f64, f64)> = table.into_iter().flat_map(vary).collect();
    let report = report("-", &capture(&intervals), "nvme0n1");
    let levels = report["levels"].as_array().unwrap();
    let saturation: Vec<f64> = levels
        .iter()
        .map(|level| level["saturation"].as_f64().unwrap())
        .collect();
    for (found, (_, await_ms)) in saturation.iter().zip(table) {
        let expected = await_ms / 0.14;
        assert!((found / expected - 1.0).abs() <= 0.02, "{saturation:?}");
    }
    let knee =
        ["knee_low", "knee_high"].map(|end| report["capacity"][end].as_f64().unwrap().round());
    assert_eq!(knee, [16.0, 64.0]);
    assert_eq!(saturation.len(), 5);
    assert_eq!(
        (&report["verdict"], &report["plateaus"]),
        (&"saturated".into(), &serde_json::json!([]))
    );
}

/// Minutes of a healthy device, half a minute of trouble in the middle.
fn trouble_in_the_middle() -> String {
    let healthy = (0..900).map(|second| (100.0 + f64::from(second % 7 * 30), 0.5));
    let trouble = (0..30).map(|second| (900.0 + f64::from(second % 5 * 3), 60.0));
    let intervals: Vec<(f64, f64)> = healthy.clone().chain(trouble).chain(healthy).collect();
    capture(&intervals)
}

#[test]
fn a_device_that_is_ok_most_of_the_time_is_not_cleared_of_its_trouble() {
    let input = trouble_in_the_middle();
    for details in ["", "--details "] {
        let (out, _, code) = output(&format!("analyze {details}-"), &input);
        assert_eq!(code, 0);
        let text = one_line(&out);
        let parts = [
            "nvme0n1 ok 1, saturated 30 s",
            "nvme0n1 is ok: reads take",
            ". 1 incident: saturated, 30 s.",
        ];
        assert!(parts.iter().all(|part| text.contains(part)), "{out}");
        assert!(!text.contains("Not the disk"), "{out}");
    }
    let (out, ..) = output("analyze --json -", &input);
    let document: Value = serde_json::from_str(&out).unwrap();
    let device = &document["devices"][0];
    let incidents = ["verdict", "incidents", "worst_incident_verdict"].map(|name| &device[name]);
    assert_eq!(incidents, [&json!("ok"), &json!(1), &json!("saturated")]);
    assert!(document["not_the_disk"].is_null(), "{out}");
    let (page, ..) = output("report - -o -", &input);
    assert!(
        page.contains("<small>1 incident:</small> <span class=\"tag saturated\">saturated</span>")
            && page.contains(". 1 incident: saturated, 30 s.")
            && !page.contains("Not the disk")
    );
}

#[test]
fn a_disk_that_disappeared_is_named() {
    // The second disk is gone for a while, the third for good.
    let mut input = String::new();
    for second in 0..40 {
        let at = 1_795_197_600 + second;
        writeln!(input, "TS {at}.000000000 2026-11-20 18:00:{second:02}").unwrap();
        let is_there = [true, !(20..25).contains(&second), second < 30];
        for (index, name) in ["sda", "sdb", "sdc"]
            .iter()
            .enumerate()
            .filter(|(index, _)| is_there[*index])
        {
            let ios = second * 50;
            let numbers = format!(
                "{ios} 0 {} {} 0 0 0 0 0 {} {}",
                8 * ios,
                ios / 2,
                ios / 2,
                ios / 2
            );
            for (minor, partition) in ["", "1"].iter().enumerate() {
                writeln!(
                    input,
                    " 8 {} {name}{partition} {numbers}",
                    16 * index + minor
                )
                .unwrap();
            }
        }
        let loop_ios = 5 * second;
        if second < 10 {
            writeln!(input, " 7 0 loop0 {loop_ios} 0 {loop_ios} 0 0 0 0 0 0 0 0").unwrap();
        }
    }
    let (out, ..) = output("analyze -", &input);
    let lines: Vec<&str> = out
        .lines()
        .filter(|line| line.contains("disappeared"))
        .collect();
    let expected = [
        "sdb disappeared at 18:00:20 and was back at 18:00:25.",
        "sdc disappeared at 18:00:30.",
    ];
    assert_eq!(lines, expected, "{out}");
    assert!(!out.contains("Not the disk"), "{out}");
    let (out, ..) = output("analyze - --begin 18:00:22", &input);
    assert!(
        out.contains("sdc disappeared") && !out.contains("sdb disappeared"),
        "{out}"
    );
    let (out, ..) = output("analyze --json -", &input);
    let document: Value = serde_json::from_str(&out).unwrap();
    let expected = serde_json::json!([
        {"device": "sdb", "time": "2026-11-20T18:00:20.000000Z", "back_at": "2026-11-20T18:00:25.000000Z"},
        {"device": "sdc", "time": "2026-11-20T18:00:30.000000Z", "back_at": null},
    ]);
    assert_eq!(document["disappeared"], expected);
    let (page, ..) = output("report - -o -", &input);
    assert!(page.contains("a disk disappeared") && page.contains("sdc disappeared at 18:00:30."));
    assert!(!page.contains("Not the disk"));
}

/// Real volumes with a limit of 4,321 reads/s, 23 MiB/s and 1,500 reads/s, which the kernel enforces in steps of 100 ms. Their
/// clients wait for a CPU at times, so the rates are no steadier than chance: what is known of them besides decides.
#[test]
fn a_limit_that_clients_meet_only_at_times_is_not_called_ok() {
    let cases = [
        // Always at the same queue.
        ("capped-4321-contended", "busy"),
        ("capped-23-mib-contended", "saturated"),
        ("limit-from-midway", "slow"),
    ];
    for (name, verdict) in cases {
        let (out, ..) = output(&format!("analyze --json fixtures/captures/{name}.txt"), "");
        let document: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(document["devices"][0]["verdict"], verdict, "{name}");
        assert!(document["not_the_disk"].is_null(), "{name}");
    }
}

/// A capture of a capped volume as a recording that says on which disk the volume is.
pub(crate) fn capped_volume_on_disk() -> String {
    let devices = json!([{"name": "vda"}, {"name": "loop0", "backing_devices": ["vda"]}]);
    let header = header(&devices);
    let capture = fs::read_to_string("fixtures/captures/capped-3000.txt").unwrap();
    let samples = capture
        .split("TS ")
        .skip(1)
        .zip(0u64..)
        .map(|(sample, second)| format!("TS {sample}{}", end_of_sample(second)));
    std::iter::once(header).chain(samples).collect()
}

#[test]
fn a_volume_is_capped_and_the_disk_below_is_not() {
    let recording = capped_volume_on_disk();
    let loop0 = report("-", &recording, "loop0");
    assert_eq!(loop0["verdict"], "capped");
    let cap = loop0["capacity"]["max_iops"].as_f64().unwrap();
    assert!((cap / 3000.0 - 1.0).abs() <= 0.01, "{cap}");
    // Its load is always that of the cap above, but it is idle most of the time while requests wait there.
    let vda = report("-", &recording, "vda");
    assert_eq!(vda["verdict"], "ok");
    let (text, _, _) = output("analyze -", &recording);
    assert!(
        text.contains("requests are held between loop0 and vda"),
        "{text}"
    );
    let document: Value = serde_json::from_str(&output("analyze --json -", &recording).0).unwrap();
    let link = &document["queue_by_layer"]["links"][0];
    assert_eq!(
        (&link["bottleneck"], &link["above"], &link["below"]),
        (&json!(true), &json!("loop0"), &json!(["vda"]))
    );
    // Another capture does not say how devices are stacked: then the rate of the disk is as steady.
    let (text, _, _) = output("analyze --details fixtures/captures/capped-3000.txt", "");
    assert!(
        !text.contains("by layer") && text.contains("vda is capped"),
        "{text}"
    );
}

/// A capture whose path can be read only once: a named pipe, as a shell makes for `<(zcat FILE)`.
#[test]
fn a_named_pipe_is_kept_to_be_read_twice() {
    let host = FakeRoot::new();
    host.pipe("capture");
    let pipe = host.path().join("capture");
    let text = fs::read("fixtures/captures/mixed.txt").unwrap();
    let writer = {
        let pipe = pipe.clone();
        thread::spawn(move || fs::write(pipe, text).unwrap())
    };
    let (out, err, code) = output(&format!("analyze {}", pipe.display()), "");
    writer.join().unwrap();
    let expected = output("analyze fixtures/captures/mixed.txt", "").0;
    assert_eq!((out, err.as_str(), code), (expected, "", 0));
}

#[test]
fn a_reset_is_counted_and_excluded() {
    let mut text = capture(&[(3000.0, 0.3); 10]);
    let again = capture(&[(3000.0, 0.3); 10]).replace("TS 17951976", "TS 17951977");
    text += &again;
    let report = report("-", &text, "nvme0n1");
    assert_eq!(report["excluded"]["resets"], 1);
    let max = report["read"]["iops"]["max"].as_f64().unwrap();
    assert!((max - 3000.0).abs() < 1.0, "{max}");
}

#[test]
fn a_job_for_fio_names_no_device() {
    let (job, err, code) = output("analyze --fio fixtures/captures/capped-3000.txt loop0", "");
    assert_eq!((err.as_str(), code), ("", 0));
    assert!(
        job.contains("rate_iops=") && job.contains("iodepth=") && !job.contains("/dev/"),
        "{job}"
    );
    let (_, err, code) = output("analyze --fio fixtures/captures/capped-3000.txt", "");
    assert!(code == 2 && err.contains("loop0, vda"), "{err}");
}

#[test]
fn input_that_cannot_be_analyzed_is_one_line_of_error() {
    for (arguments, expected) in [
        ("analyze no/such/file", 2),
        ("analyze fixtures/captures", 2),
        ("analyze fixtures/captures/mixed.txt nosuch", 1),
        ("analyze fixtures/captures/mixed.txt --cap x", 2),
        ("analyze fixtures/captures/mixed.txt LICENSE", 2),
        ("analyze -", 1),
    ] {
        let (out, err, code) = output(arguments, "");
        assert_eq!(
            (out.as_str(), code, err.lines().count()),
            ("", expected, 1),
            "{arguments}: {err}"
        );
    }
}

#[test]
fn a_check_ends_with_3_if_a_device_was_in_trouble() {
    for (capture, status) in [("capped-3000", 3), ("stalls", 3), ("mixed", 0)] {
        let from = format!("analyze --from fixtures/captures/{capture}.txt");
        let (unchecked, _, code) = output(&from, "");
        assert_eq!(code, 0, "{capture}");
        let (out, err, code) = output(&format!("{from} --check"), "");
        assert_eq!((err.as_str(), code), ("", status), "{capture}");
        assert_eq!(out, unchecked, "{capture}");
    }
}
