//! Recordings of version 0.1.0. `fixtures/recordings-0.1.0` holds one of a synthetic host, plain and compressed, and
//! the JSON that 0.1.0 printed for it: `blkstat --json --all --from recording.txt`. `fixtures/tracefs/recording.txt` has the
//! single requests that versions before the release of 0.2.0 recorded.

use std::path::Path;

use blkstat::clock::RealClock;
use blkstat::counters::Sample;
use blkstat::source::Replay;
use serde_json::Value;

use crate::support::program::output;
use crate::support::text::json_lines;

const FILES: [&str; 2] = [
    "fixtures/recordings-0.1.0/recording.txt",
    "fixtures/recordings-0.1.0/recording.txt.gz",
];

#[test]
fn the_header_and_missed_samples_of_an_old_recording_are_known() {
    for file in FILES {
        let clock = RealClock::new(None);
        let mut replay = Replay::open(Path::new(file), None, &clock).unwrap();
        let (mut previous, mut sample) = (Sample::default(), Sample::default());
        let (mut samples, mut missed_samples) = (0, 0);
        while replay.next(&previous, &mut sample).unwrap() {
            assert!(
                sample.at.monotonic.is_some() && sample.at.uptime.is_some(),
                "{file}"
            );
            samples += 1;
            missed_samples += sample.missed_samples;
            std::mem::swap(&mut previous, &mut sample);
        }
        assert_eq!(
            (samples, missed_samples, replay.take_warnings()),
            (9, 2, vec![]),
            "{file}"
        );
        let header = replay.header().unwrap();
        assert_eq!(
            (header.version.as_str(), header.host.as_deref()),
            ("0.1.0", Some("example"))
        );
        assert_eq!(
            (header.kernel.as_deref(), header.cpus),
            (Some("6.1.0"), Some(4))
        );
        assert_eq!(
            header.boot_id.as_deref(),
            Some("11111111-2222-3333-4444-555555555555")
        );
        assert_eq!(header.interval_ns, Some(100_000_000));
        let dm = header
            .topology
            .nodes()
            .iter()
            .find(|node| node.name == "dm-0")
            .unwrap();
        assert_eq!(
            (dm.alias.as_deref(), &dm.backing_devices),
            (Some("vg-data"), &vec!["sdb".to_owned()])
        );
        assert_eq!(
            (dm.iostats_enabled, &dm.mountpoints),
            (Some(true), &vec!["/data".to_owned()])
        );
    }
}

/// Finds a field by its name in 0.1.0.
fn field<'a>(line: &'a Value, old_name: &str) -> Option<&'a Value> {
    let new_name = if old_name == "missed" {
        "missed_samples"
    } else {
        old_name
    };
    line.get(new_name).or_else(|| line.get(old_name))
}

#[test]
fn an_old_recording_gives_the_numbers_that_its_version_printed() {
    let expected =
        json_lines(&std::fs::read_to_string("fixtures/recordings-0.1.0/numbers.jsonl").unwrap());
    for file in FILES {
        let (out, err, code) = output(&format!("--json --all --from {file}"), "");
        assert_eq!((err.as_str(), code), ("", 0));
        let found = json_lines(&out);
        assert_eq!(found.len(), expected.len(), "{file}");
        for (found, expected) in found.iter().zip(&expected) {
            let numbers = expected
                .as_object()
                .unwrap()
                .iter()
                .filter(|(_, value)| value.is_number());
            // Later versions define the bound differently, and learn what is unloaded more carefully.
            let is_same = |name: &str| name != "util_bound_pct" && !name.ends_with("_saturation");
            // They take the requests in flight of a partition for miscounted where its disk has none.
            let is_miscounted = |name: &str| {
                found["device"] == "sda1"
                    && ["in_flight", "queue", "util_pct", "stalled_s"].contains(&name)
            };
            for (name, value) in numbers.filter(|(name, _)| is_same(name) && !is_miscounted(name)) {
                assert_eq!(field(found, name), Some(value), "{file}: {name} of {found}");
            }
            // Later versions judge more carefully.
            for name in ["time", "device"] {
                assert_eq!(found[name], expected[name], "{file}: {found}");
            }
        }
    }
}

#[test]
fn single_requests_that_earlier_versions_recorded_are_skipped() {
    let recording = std::fs::read_to_string("fixtures/tracefs/recording.txt").unwrap();
    let is_traced = |line: &&str| line.starts_with("#blkstat {\"traced\"");
    let without: String = recording
        .split_inclusive('\n')
        .filter(|line| !is_traced(line))
        .collect();
    assert!(without.len() < recording.len());
    for view in [
        "--json --all --from -",
        "--explain --from -",
        "who --json --from -",
        "analyze --json -",
    ] {
        let (found, expected) = (output(view, &recording), output(view, &without));
        assert_eq!(found, expected, "{view}");
        assert!(
            !found.1.contains("warning") && !found.1.contains("line "),
            "{view}: {}",
            found.1
        );
    }
    let (out, err, code) = output("--json --all --from -", &recording);
    assert!(!out.is_empty() && err.is_empty() && code == 0, "{err}");
}
