//! Baselines that a recording holds.

use std::fs;

use blkstat::exit::Exit;
use serde_json::Value;

use super::host::{HEAVY, Host, saturations, save};

#[test]
fn a_recording_holds_the_baseline_that_was_used() {
    let host = Host::new("sda", "naa.1");
    let (file, recording) = (host.path("saved.json"), host.path("r.txt"));
    save(&file, &[("wwid:naa.1", 0.1), ("wwid:naa.9", 0.1)]);
    for (options, source, expected) in [
        ("", Some("saved"), Some(6.7)),
        ("--baseline-ms 0.4", Some("given"), Some(1.7)),
        ("--no-baseline", None, None),
    ] {
        let words = format!("record {} 1 3 --force {options}", recording.display());
        let (_, err, exit) = host.run_under(&[HEAVY; 3], &words, Some(&file));
        assert_eq!(exit, Exit::Success, "{err}");
        let text = fs::read_to_string(&recording).unwrap();
        let stored = text
            .lines()
            .find_map(|line| line.strip_prefix("#blkstat {\"baselines\":"));
        assert_eq!(stored.is_some(), source.is_some(), "{text}");
        if let Some(source) = source {
            let stored = stored.unwrap();
            assert!(
                stored.contains(&format!("\"source\":\"{source}\"")) && !stored.contains("sdb"),
                "{stored}"
            );
        }
        let replay = |more: &str| {
            // The saved baselines of the host that replays are not read.
            let elsewhere = Host::new("sda", "naa.1");
            let (out, err, _) = elsewhere.run(
                &format!("--json --as-live --from {} {more}", recording.display()),
                None,
                |_| {},
            );
            assert_eq!(err, "");
            saturations(&out)
        };
        // Without a baseline, the load itself is known from its third interval on.
        let of_itself = vec![None, None, Some(1.0)];
        let known = expected.map_or(of_itself.clone(), |times| vec![Some(times); 3]);
        assert_eq!(replay(""), known, "{options}");
        assert_eq!(replay("--no-baseline"), of_itself);
        assert_eq!(replay("--baseline-ms 0.2"), vec![Some(3.3); 3]);
        let (out, _, _) = host.run(
            &format!("analyze --json --from {}", recording.display()),
            None,
            |_| {},
        );
        let report: Value = serde_json::from_str(&out).unwrap();
        let ms = report["devices"][0]["read"]["baseline_await_ms"].as_f64();
        let given_ms = expected.map(|saturation| 0.8 / saturation);
        assert_eq!(
            ms.map(|ms| (ms * 10.0).round()),
            given_ms.or(Some(0.8)).map(|ms| (ms * 10.0).round())
        );
    }
}

#[test]
fn each_part_of_joined_recordings_has_its_own_baseline() {
    let parts = [("naa.1", "0.1"), ("naa.2", "0.4")].map(|(wwid, ms)| {
        let host = Host::new("sda", wwid);
        let recording = host.path("r.txt");
        let words = format!("record {} 1 3 --baseline-ms {ms}", recording.display());
        host.run_under(&[HEAVY; 3], &words, None);
        fs::read_to_string(recording).unwrap()
    });
    let joined = Host::new("sda", "naa.3");
    let recording = joined.path("joined.txt");
    fs::write(&recording, parts.concat()).unwrap();
    let replay = |interval: &str| {
        let words = format!("--json --from {} {interval}", recording.display());
        saturations(&joined.run(&words, None, |_| {}).0)
    };
    let [first, second] = [Some(6.7), Some(1.7)];
    assert_eq!(replay(""), [first, first, first, second, second, second]);
    // The header of the second part has been read when the interval at the end of the first one is shown.
    assert_eq!(replay("2"), [first, first, second, second]);
}

#[test]
fn hostile_baselines_in_a_recording_are_left_out() {
    let host = Host::new("sda", "naa.1");
    let recording = host.path("r.txt");
    host.run_under(
        &[HEAVY; 2],
        &format!("record {} 1 2", recording.display()),
        None,
    );
    let text = fs::read_to_string(&recording).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    let latency = |ms: &str| {
        format!(r#"{{"size_kib":null,"await_ms":{ms},"queue":null,"upper_bound":false}}"#)
    };
    for (baseline, expected) in [
        (
            format!(r#"{{"device":"sda","read":[{}]}}"#, latency("0.1")),
            Some(6.7),
        ),
        (
            format!(
                r#"{{"device":"sda","source":"x","read":[{}]}}"#,
                latency("-1.0")
            ),
            None,
        ),
        (
            format!(
                r#"{{"device":"sda","source":7,"read":[{}]}}"#,
                latency("0.1")
            ),
            None,
        ),
        (
            format!(
                r#"{{"device":"sdb","source":"given","read":[{}]}}"#,
                latency("0.1")
            ),
            None,
        ),
    ] {
        let hostile = format!("{header}\n#blkstat {{\"baselines\":[{baseline}]}}\n{rest}");
        fs::write(&recording, hostile).unwrap();
        let (out, _, _) = host.run(
            &format!("--json --from {}", recording.display()),
            None,
            |_| {},
        );
        assert_eq!(saturations(&out), vec![expected; 2], "{baseline}");
    }
}
