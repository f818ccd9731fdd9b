//! Known limits of cloud volumes: facts where firmware or model identify the cloud, possible explanations elsewhere.

use std::fs;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::clock::ManualClock;
use crate::support::fake_root::FakeRoot;
use crate::support::in_process::in_process;
use crate::support::program::output;
use crate::synthetic::{end_of_sample, reads_line, ts_line};

const GIB: u64 = 1 << 30;
const EBS: &str = "Amazon Elastic Block Store";
const AZURE_TAG: &str = "7783-7084-3265-9085-8269-3286-77";

/// The `index`th of numbers between -1 and 1 that look random.
fn noise(index: u64) -> f64 {
    let bits = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((bits >> 40) as f64 / f64::from(1 << 23)) - 1.0
}

/// A sample of a device with these reads, milliseconds, requests in flight and milliseconds in which it was busy.
fn sample(second: u64, device: &str, [reads, ms, in_flight, busy]: [u64; 4]) -> String {
    ts_line(second) + &reads_line(device, reads, ms, in_flight, busy)
}

/// A capture of a disk that a cap holds at this rate of 4 KiB reads, however many of them are in flight.
fn capped(rate: u64) -> String {
    let mut text = String::new();
    let mut ms = 0;
    for second in 0..=48 {
        let in_flight = 4 << (second / 8);
        text += &sample(
            second,
            " 8 0 sda",
            [rate * second, ms, in_flight, 1000 * second],
        );
        ms += 1000 * in_flight;
    }
    text
}

/// A capture of one disk as a recording on this machine of a disk of this size and model.
fn recorded(capture: &str, machine: &Value, gib: u64, model: Option<&str>) -> String {
    let disk = json!({"name": "sda", "major": 8, "minor": 0, "kind": "disk", "size_bytes": gib * GIB, "model": model});
    let mut text = format!(
        "#blkstat {}\n",
        json!({"version": "0.2.0", "machine": machine, "devices": [disk]})
    );
    for (second, sample) in (0..).zip(capture.lines().collect::<Vec<_>>().chunks(2)) {
        text += &format!("{}\n{}", sample.join("\n"), end_of_sample(second));
    }
    text
}

/// Everything that `analyze` and the live evidence say, on one line each.
fn sentences(capture: &str) -> [String; 2] {
    let analyzed = output("analyze --json -", capture).0;
    let document: Value = serde_json::from_str(&analyzed).unwrap();
    let explanation = document["devices"][0]["explanation"]
        .as_str()
        .unwrap()
        .to_owned();
    let lines = output("--json --from -", capture).0;
    [explanation, lines.lines().last().unwrap().to_owned()]
}

#[track_caller]
fn assert_says(capture: &str, expected: Option<&str>) {
    for text in sentences(capture) {
        assert!(text.contains("rate stayed constant"), "{text}");
        match expected {
            Some(expected) => assert!(text.contains(expected), "{text}"),
            None => assert!(!text.contains("the limit of"), "{text}"),
        }
    }
}

#[test]
fn without_a_known_cloud_a_limit_is_a_possible_explanation() {
    for (rate, text) in [
        (
            3000,
            "(if this is AWS, the limit of a gp3 volume with default settings",
        ),
        (5000, "(if this is Azure, the limit of a Premium SSD P30"),
        (16_000, "(if this is Azure, the limit of a Premium SSD P60"),
    ] {
        assert_says(&capped(rate), Some(text));
    }
    // Any volume of those sizes can be adjusted to these rates.
    assert_says(&capped(4000), None);
    assert_says(&capped(100), None);
}

#[test]
fn a_known_cloud_makes_it_a_fact_and_rules_out_the_others() {
    let capture = |machine: Value, gib, model, rate| recorded(&capped(rate), &machine, gib, model);
    let gp3 = "(the limit of an AWS gp3 volume with default settings";
    let aws = json!({"sys_vendor": "Amazon EC2", "product_name": "m5.large"});
    assert_says(&capture(aws.clone(), 2000, None, 3000), Some(gp3));
    assert_says(&capture(json!({}), 2000, Some(EBS), 3000), Some(gp3));
    assert_says(&capture(aws.clone(), 1024, None, 5000), None);
    assert_says(
        &capture(aws, 2000, Some("Amazon EC2 NVMe Instance Storage"), 3000),
        None,
    );
    let azure = json!({"sys_vendor": "Microsoft Corporation", "chassis_asset_tag": AZURE_TAG});
    let p30 = "(the limit of an Azure Premium SSD P30";
    assert_says(&capture(azure.clone(), 1024, None, 5000), Some(p30));
    assert_says(&capture(azure, 1024, None, 3000), None);
    let hyper_v = json!({"sys_vendor": "Microsoft Corporation", "chassis_asset_tag": "None"});
    let google = json!({"sys_vendor": "Google"});
    for other in [hyper_v, google] {
        assert_says(&capture(other.clone(), 1024, None, 3000), None);
        assert_says(&capture(other, 1024, None, 5000), None);
    }
}

#[test]
fn a_paced_client_is_not_limited_to_its_own_pace() {
    let mut text = String::new();
    let mut ms = 0.0;
    for second in 0..=40_u64 {
        // 5,000 requests arrive each second; those that are in flight at its end complete later.
        let in_flight = (15.0 + 9.0 * noise(second)) as u64;
        let ios = 5000 * second + 1_000_000 - in_flight;
        text += &sample(second, " 8 0 sda", [ios, ms as u64, in_flight, ms as u64]);
        ms += 15_000.0;
    }
    for words in ["analyze -", "--json --from -"] {
        let (out, _, _) = output(words, &text);
        assert!(
            !out.contains("P30") && !out.contains("known limit"),
            "{out}"
        );
    }
}

#[test]
fn a_name_is_no_proof_of_a_cap() {
    // The rate stays at 3,000 at any queue, with the scatter of busy servers.
    let mut text = String::new();
    let (mut ios, mut ms) = (0.0, 0.0);
    for second in 0..=48_u64 {
        let queue = f64::from(1 << (second / 8));
        text += &sample(
            second,
            " 8 0 sda",
            [ios as u64, ms as u64, queue as u64, ms as u64],
        );
        ios += 3000.0 * (1.0 + 0.006 * noise(second));
        ms += 1000.0 * queue;
    }
    let aws = recorded(&text, &json!({"sys_vendor": "Amazon EC2"}), 2000, None);
    for capture in [&text, &aws] {
        let document: Value = serde_json::from_str(&output("analyze --json -", capture).0).unwrap();
        assert_eq!(document["devices"][0]["verdict"], "saturated");
    }
}

#[test]
fn a_recording_keeps_model_and_firmware_bounded() {
    let host = FakeRoot::new();
    host.disk("sda", "8:0", 1024)
        .file("sys/block/sda/device/model", format!("{EBS}   "))
        .disk("sdb", "8:16", 1024)
        .file(
            "sys/block/sdb/device/model",
            "\u{1b}[31m".to_owned() + &"x".repeat(100_000),
        )
        .file("sys/class/dmi/id/sys_vendor", "Amazon EC2")
        .file("sys/class/dmi/id/product_name", "y".repeat(100_000))
        .diskstats("8 0 sda 1 0 8 1 0 0 0 0 0 1 1\n8 16 sdb 1 0 8 1 0 0 0 0 0 1 1\n");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording");
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |_| blkstat::clock::WaitOutcome::Due);
    in_process("record")
        .args([file.as_os_str()])
        .args(["1", "1"])
        .root(host.path())
        .run(&clock);
    let text = fs::read_to_string(&file).unwrap();
    let header = text
        .lines()
        .find_map(|line| line.strip_prefix("#blkstat "))
        .unwrap();
    let header: Value = serde_json::from_str(header).unwrap();
    let long = |value: &Value| value.as_str().unwrap().to_owned();
    assert_eq!(header["machine"]["sys_vendor"], "Amazon EC2");
    assert_eq!(long(&header["machine"]["product_name"]), "y".repeat(64));
    assert_eq!(header["machine"]["chassis_asset_tag"], Value::Null);
    let models: Vec<String> = header["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|device| long(&device["model"]))
        .collect();
    assert_eq!(models, [EBS.to_owned(), format!("[31m{}", "x".repeat(60))]);
}
