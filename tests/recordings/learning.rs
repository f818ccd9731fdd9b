//! `record --learn-baseline`.

use std::fs;

use blkstat::clock::WaitOutcome;
use blkstat::exit::Exit;
use jiff::Timestamp;
use serde_json::Value;

use super::lab::{Lab, without_open_wait};
use crate::support::clock::ManualClock;
use crate::support::fake_root::FakeRoot;
use crate::support::in_process::in_process;

/// Devices whose reads of 4 KiB take 0.2 ms one at a time, and a disk, sdb, with a queue of 20 whose reads take 20 ms.
fn write_host(host: &FakeRoot, n: u64) {
    let line = |device, ios: u64, ms: u64, queue: u64| {
        let (sectors, busy) = (ios * 8, n * 1000);
        format!("{device} {ios} 0 {sectors} {ms} 0 0 0 0 {queue} {busy} {ms} 0 0 0 0 0 0\n")
    };
    let mut text = line("8 16 sdb", n * 1000, n * 20_000, 20);
    for unloaded in ["7 0 loop0", "8 0 sda", "254 0 vda"] {
        text += &line(unloaded, n * 500, n * 100, 0);
    }
    host.diskstats(&text);
}

fn record(lab: &Lab, host: &FakeRoot, words: &str) -> (String, Exit) {
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |n| {
        write_host(host, n);
        // The thread that learns must keep up, and the clock does not wait for it.
        std::thread::sleep(std::time::Duration::from_millis(3));
        WaitOutcome::Due
    });
    write_host(host, 0);
    let file = lab.path("recording").display().to_string();
    let words = format!("record {file} --force 1 120 {words}");
    let (_, err, exit) = in_process(&words).root(host.path()).run(&clock);
    (without_open_wait(&err), exit)
}

#[test]
fn baselines_of_unloaded_devices_are_learned_and_added_to_the_file() {
    let (lab, host) = (Lab::new(), FakeRoot::in_memory());
    host.disk("sda", "8:0", 100)
        .file("sys/block/sda/device/wwid", "naa.1")
        .disk("sdb", "8:16", 100)
        .disk("vda", "254:0", 100)
        .virtual_device("loop0", "7:0", 100)
        .backed("loop0", "/image");
    let file = lab.path("baseline.json");
    let saved = r#"{"devices": {"sdc": {"read": [{"size_kib": 4.0, "await_ms": 1.0, "queue": 0.5, "upper_bound": false}]}}}"#;
    fs::write(&file, saved).unwrap();
    let option = format!("--learn-baseline {}", file.display());
    let (err, exit) = record(&lab, &host, &option);
    // On a busy machine the last step may take longer than a second.
    assert!(
        (err.is_empty() || err.starts_with("blkstat: waiting for baselines"))
            && exit == Exit::Success,
        "{err}"
    );
    let learned: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let read = |device: &str| learned["devices"][device]["read"][0]["await_ms"].as_f64();
    for unloaded in ["wwid:naa.1", "vda"] {
        assert!(
            read(unloaded).is_some_and(|ms| (ms - 0.2).abs() < 0.01),
            "{learned}"
        );
    }
    let (loaded, other, reused_name) = (read("sdb"), read("sdc"), read("loop0"));
    assert_eq!(
        (loaded, other, reused_name),
        (None, Some(1.0), None),
        "{learned}"
    );
    assert!(!lab.path("baseline.json.new").exists());
}

#[test]
fn a_file_that_is_not_a_saved_baseline_is_not_overwritten() {
    let (lab, host) = (Lab::new(), FakeRoot::in_memory());
    let file = lab.path("notes");
    fs::write(&file, "precious").unwrap();
    let (err, exit) = record(&lab, &host, &format!("--learn-baseline {}", file.display()));
    assert!(
        err.ends_with(
            "notes holds no baselines of this version: it is damaged, or of 0.1.0; delete it, or name another file\n"
        ) && exit == Exit::Error,
        "{err}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    let (err, exit) = record(&lab, &host, "--learn-baseline /no/such/file");
    assert!(
        err.contains("cannot write /no/such/file: No such file") && exit == Exit::Error,
        "{err}"
    );
    assert!(!lab.path("recording").exists());
}
