//! Recordings of a synthetic host: their text, their files, and what replays them.

use std::fs;
use std::time::Duration;

use blkstat::capture::RecordFilter;
use blkstat::clock::{Clock, WaitOutcome};
use blkstat::commands::Record;
use blkstat::counters::Sample;
use blkstat::exit::Exit;
use blkstat::source::Live;
use jiff::tz::TimeZone;

use super::lab::{Lab, replay};
use crate::support::clock::ManualClock;

/// The samples of steps `0..=count` as a live view reads them.
fn live(lab: &Lab, count: u64) -> Vec<Sample> {
    let clock = lab.clock(0, |_| WaitOutcome::Due);
    let mut source = Live::new(&lab.root(), &clock).with_host_state();
    let mut sample = Sample::default();
    let mut samples = Vec::new();
    for n in 0..=count {
        source
            .read(&mut sample, |_, _| panic!("an invalid line"))
            .unwrap();
        let time = sample
            .at
            .wall
            .unwrap()
            .to_zoned(TimeZone::UTC)
            .strftime("%H:%M:%S")
            .to_string();
        samples.push(Sample {
            written_time: Some(time),
            ..sample.clone()
        });
        clock.wait_until(Duration::from_millis(250 * (n + 1)));
    }
    samples
}

#[test]
fn a_recording_begins_with_a_header_and_each_sample_has_an_end_mark() {
    let lab = Lab::new();
    lab.record_quietly(lab.options("a.txt", 1), 3);
    let text = lab.text("a.txt");
    let (header, samples) = text.split_once('\n').unwrap();
    let header: serde_json::Value =
        serde_json::from_str(header.strip_prefix("#blkstat ").unwrap()).unwrap();
    assert_eq!(
        (&header["host"], &header["kernel"]),
        (&"box".into(), &"6.1.0".into())
    );
    assert_eq!(
        (&header["boot_id"], &header["version"]),
        (&"boot-1".into(), &env!("CARGO_PKG_VERSION").into())
    );
    assert_eq!(header["devices"][0]["name"], "sda");
    let expected = "\
TS 1795198931.750000007 2026-11-20 18:22:11
   8       0 sda 3 1 24 3 4 5 6 7 0 9 33 12 13 14 15 16 17
   8       1 sda1 3 2 3 4
cpu  3 2 3 4 5 6 7 8 9 10
#blkstat {\"monotonic_ns\":0,\"uptime_cs\":10325,\"blocked\":3,\"pressure_us\":[6,3],\"memory_pressure_us\":[18,12],\"swapped_pages\":[15,9],\"dirty_kib\":3,\"writeback_kib\":7,\"complete\":true}
TS 1795198932.000000007 2026-11-20 18:22:12
   8       0 sda 4 1 32 3 4 5 6 7 0 9 44 12 13 14 15 16 17
   8       1 sda1 4 2 3 4
cpu  4 2 3 4 5 6 7 8 9 10
#blkstat {\"monotonic_ns\":250000000,\"uptime_cs\":10425,\"blocked\":4,\"pressure_us\":[8,4],\"memory_pressure_us\":[24,16],\"swapped_pages\":[20,12],\"dirty_kib\":4,\"writeback_kib\":7,\"complete\":true}
";
    assert_eq!(samples, expected);
}

#[test]
fn a_replayed_recording_equals_what_a_live_view_reads() {
    let lab = Lab::new();
    let expected = live(&lab, 8);
    let has_host =
        |sample: &Sample| sample.host.pressure.is_some() && sample.host.swapped.is_some();
    assert!(expected.iter().all(has_host) && expected[8].devices.len() == 3);
    for name in ["a.txt", "a.txt.gz"] {
        lab.record_quietly(lab.options(name, 8), 0);
        assert_eq!(
            replay(&lab.path(name)),
            (expected.clone(), vec![]),
            "{name}"
        );
    }
    let (out, _, _) = lab.record(lab.options("-", 8), 0);
    assert_eq!(out, lab.text("a.txt"));
    // The second disk appeared in the middle.
    assert_eq!(out.matches("#blkstat {\"version\"").count(), 2);
}

#[test]
fn values_that_the_host_does_not_provide_are_not_recorded() {
    let lab = Lab::new();
    let clock = lab.clock(0, |_| WaitOutcome::Due);
    for name in [
        "stat",
        "uptime",
        "meminfo",
        "vmstat",
        "pressure/io",
        "pressure/memory",
        "sys/kernel/hostname",
        "sys/kernel/random/boot_id",
    ] {
        fs::remove_file(lab.root().join("proc").join(name)).unwrap();
    }
    lab.record_with(lab.options("a.txt", 1), &clock);
    let text = lab.text("a.txt");
    let first = text
        .lines()
        .take_while(|line| !line.contains("complete"))
        .collect::<Vec<_>>();
    assert!(
        !first
            .iter()
            .any(|line| line.starts_with("cpu") || line.contains("\"boot_id\"")),
        "{text}"
    );
    assert!(
        text.contains("\n#blkstat {\"monotonic_ns\":0,\"complete\":true}\n"),
        "{text}"
    );
}

#[test]
fn an_existing_file_is_refused_appended_to_or_overwritten() {
    let lab = Lab::new();
    lab.record_quietly(lab.options("a.txt", 2), 0);
    let before = lab.text("a.txt");
    let (_, err, exit) = lab.record(lab.options("a.txt", 2), 0);
    let path = lab.path("a.txt");
    let refused = "already exists; use --append to append to it or --force to overwrite it";
    assert_eq!(
        (err, exit),
        (
            format!("blkstat: {} {refused}\n", path.display()),
            Exit::Error
        )
    );
    assert_eq!(lab.text("a.txt"), before);
    lab.record_quietly(
        Record {
            append: true,
            ..lab.options("a.txt", 2)
        },
        3,
    );
    assert!(lab.text("a.txt").starts_with(&before));
    assert_eq!(replay(&path).0.len(), 6);
    lab.record_quietly(
        Record {
            force: true,
            ..lab.options("a.txt", 1)
        },
        3,
    );
    assert_eq!(replay(&path).0.len(), 2);
    lab.record_quietly(
        Record {
            append: true,
            ..lab.options("new.txt", 1)
        },
        3,
    );
}

#[test]
fn only_the_named_devices_are_recorded() {
    let lab = Lab::new();
    let plan = Record {
        operands: vec!["sda".into(), "250ms".into(), "6".into()],
        ..lab.options("a.txt", 6)
    };
    lab.record_quietly(plan, 0);
    let text = lab.text("a.txt");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(' ')).collect();
    assert_eq!(lines.len(), 7, "{text}");
    for line in lines {
        assert_eq!(line.split_whitespace().nth(2), Some("sda"), "{line}");
    }
    // Other devices that appear do not repeat the header.
    assert_eq!(text.matches("#blkstat {\"version\"").count(), 1);
    let mut expected = live(&lab, 6);
    expected.iter_mut().for_each(|sample| {
        RecordFilter {
            devices: vec!["sda".into()],
        }
        .apply(sample)
    });
    let reads = |samples: &[Sample]| {
        samples
            .iter()
            .map(|s| s.devices[0].counters.reads)
            .collect::<Vec<_>>()
    };
    assert_eq!(reads(&replay(&lab.path("a.txt")).0), reads(&expected));
}

#[test]
fn two_recordings_cannot_share_a_file() {
    let lab = Lab::new();
    let clock = lab.clock(0, |n| {
        if n == 1 {
            let other = ManualClock::new(jiff::Timestamp::UNIX_EPOCH, |_| WaitOutcome::Due);
            let plan = Record {
                append: true,
                ..lab.options("a.txt", 1)
            };
            let (_, err, exit) = lab.record_with(plan, &other);
            assert!(err.contains("is in use by another recording"), "{err}");
            assert_eq!(exit, Exit::Error);
        }
        WaitOutcome::Due
    });
    lab.record_with(lab.options("a.txt", 3), &clock);
    assert_eq!(replay(&lab.path("a.txt")).0.len(), 4);
}

#[test]
fn a_terminal_shows_the_progress_and_summary_of_a_recording() {
    let lab = Lab::new();
    let err = lab.record_on_terminal(lab.options("a.txt", 40));
    let shown: Vec<&str> = err
        .split('\r')
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .collect();
    // Forty intervals of 250 ms, updated once per second.
    assert_eq!(shown.len(), 10, "{err:?}");
    assert!(
        shown[0].starts_with("5 samples, ") && shown[0].ends_with(", 0:00:01"),
        "{err:?}"
    );
    assert!(
        shown[9].starts_with("recorded 41 samples of 3 devices in "),
        "{err:?}"
    );
    let err = lab.record_on_terminal(lab.options("b.txt", 4));
    assert!(
        err.starts_with("recorded 5 samples of 2 devices in ") && err.lines().count() == 1,
        "{err:?}"
    );
}
