//! `blkstat analyze --compare`.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::capture;
use crate::support::program::output;
use crate::support::text::one_line;

/// Writes captures into a folder: each of this many seconds, at a rate and a latency.
fn captures(files: &[(&str, usize, f64, f64)]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let dir = tempfile::tempdir().unwrap();
    let write = |(name, seconds, rate, await_ms): &(&str, usize, f64, f64)| {
        let path = dir.path().join(name);
        let intervals: Vec<(f64, f64)> = (0..*seconds)
            .map(|second| (rate + (second % 3) as f64, *await_ms))
            .collect();
        fs::write(&path, capture(&intervals)).unwrap();
        path
    };
    let paths = files.iter().map(write).collect();
    (dir, paths)
}

fn run(words: &str, files: &[PathBuf]) -> (String, String, i32) {
    let names: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    output(
        &format!("analyze --compare {} {words}", names.join(" ")),
        "",
    )
}

#[test]
fn a_slower_device_is_named_with_its_blocks() {
    let (_dir, files) = captures(&[
        ("before.txt", 150, 3300.0, 1.2),
        ("after.txt", 150, 1400.0, 2.9),
    ]);
    let (out, err, code) = run("", &files);
    assert_eq!((err.as_str(), code), ("", 0));
    let text = one_line(&out);
    let line = "read latency at queue 4 and 4 KiB: 1.20 ms -> 2.90 ms (5 blocks: 1.20 ms to 1.20 ms; 5 blocks: 2.90 ms to \
                2.90 ms).";
    assert!(text.contains(line), "{out}");
    assert!(
        text.contains("No difference beyond the spread between blocks read size;"),
        "{out}"
    );
    let (out, _, code) = run("--json", &files);
    let document: Value = serde_json::from_str(&out).unwrap();
    let device = &document["devices"][0];
    assert_eq!((code, device["device"].as_str()), (0, Some("nvme0n1")));
    let find = |name: &str| {
        let mut all = device["quantities"].as_array().unwrap().iter();
        all.find(|one| one["quantity"] == name)
            .unwrap_or_else(|| panic!("{out}"))
    };
    let latency = find("await_ms_at_like_queue");
    assert_eq!(
        (
            latency["queue_class"].as_f64(),
            latency["size_class_kib"].as_f64()
        ),
        (Some(4.0), Some(4.0))
    );
    assert_eq!(
        (&latency["outcome"], &latency["after"]["blocks"]),
        (&"changed".into(), &5.into())
    );
    assert_eq!(find("size_kib")["outcome"], "no_difference");
}

#[test]
fn a_capture_does_not_differ_from_itself() {
    for file in ["sweep-randread.txt", "capped-3000.txt", "mixed.txt"] {
        let path = PathBuf::from("fixtures/captures").join(file);
        let (out, _, code) = run("", &[path.clone(), path]);
        assert!(code == 0 && !out.contains("Changed"), "{out}");
    }
}

#[test]
fn a_range_is_that_of_both_captures() {
    let (_dir, files) = captures(&[
        ("before.txt", 150, 3300.0, 1.2),
        ("after.txt", 250, 1400.0, 2.9),
    ]);
    let (out, _, code) = run("--begin -100s --json", &files);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (
            code,
            &document["before"]["seconds"],
            &document["after"]["seconds"]
        ),
        (0, &100.0.into(), &100.0.into())
    );
}

#[test]
fn two_ranges_of_one_capture_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("at@noon.txt");
    let second = |second: usize| {
        (
            [3300.0, 1400.0][second / 150] + (second % 3) as f64,
            [1.2, 2.9][second / 150],
        )
    };
    fs::write(&file, capture(&(0..300).map(second).collect::<Vec<_>>())).unwrap();
    let ranges =
        ["..+150", "-150s.."].map(|range| PathBuf::from(format!("{}@{range}", file.display())));
    let (out, err, code) = run("", &ranges);
    assert_eq!((err.as_str(), code), ("", 0));
    let text = one_line(&out);
    let line = "read latency at queue 4 and 4 KiB: 1.20 ms -> 2.90 ms (5 blocks: 1.20 ms to 1.20 ms; 5 blocks: 2.90 ms to \
                2.90 ms).";
    assert!(text.contains(line), "{out}");
    let document: Value = serde_json::from_str(&run("--json", &ranges).0).unwrap();
    let (before, after) = (&document["before"], &document["after"]);
    assert_eq!(
        (&before["seconds"], &after["seconds"]),
        (&150.0.into(), &150.0.into())
    );
    assert!(
        before["begin"].is_string() && before["end"] == after["begin"],
        "{document}"
    );
    // The @ of a name begins no range.
    assert_eq!(run("", &[file.clone(), file]).2, 0);
}

#[test]
fn a_range_that_is_not_one_is_refused() {
    let (_dir, files) = captures(&[("one.txt", 40, 3300.0, 1.2)]);
    let name = files[0].display().to_string();
    let cases = [
        ("@3pm..", "", "invalid time '3pm'"),
        ("@..", "", "expected FILE@BEGIN..END"),
        ("@+5..+9", "--begin +3", "already has a range"),
        (
            "@+90..",
            "",
            "--begin +90 is outside the capture, which covers",
        ),
    ];
    for (range, words, message) in cases {
        let (out, err, code) = run(
            words,
            &[PathBuf::from(format!("{name}{range}")), files[0].clone()],
        );
        assert_eq!(
            (out.as_str(), code, err.lines().count()),
            ("", 2, 1),
            "{err}"
        );
        assert!(err.contains(message), "{err}");
    }
}

#[test]
fn a_short_capture_and_devices_of_only_one_are_said() {
    let (_dir, files) = captures(&[
        ("before.txt", 40, 3300.0, 1.2),
        ("after.txt", 40, 1400.0, 2.9),
    ]);
    let (out, _, code) = run("", &files);
    assert!(
        code == 0 && out.contains("spread unknown, no conclusion") && !out.contains("Changed"),
        "{out}"
    );
    let other = PathBuf::from("fixtures/captures/mixed.txt");
    let (out, _, code) = run("", &[files[0].clone(), other]);
    assert!(
        code == 0 && out.contains("No device was active in both"),
        "{out}"
    );
    let text = one_line(&out);
    assert!(
        text.contains("before.txt: nvme0n1.") && text.contains("mixed.txt: "),
        "{out}"
    );
}

#[test]
fn two_captures_are_needed() {
    let (_dir, files) = captures(&[("one.txt", 40, 3300.0, 1.2)]);
    for files in [&files[..], &[]] {
        let (out, err, code) = run("", files);
        assert_eq!((out.as_str(), code), ("", 2));
        assert_eq!(
            err,
            "blkstat: --compare needs two captures: --compare BEFORE AFTER, each FILE or FILE@BEGIN..END\n"
        );
    }
    let three = [files[0].clone(), files[0].clone(), files[0].clone()];
    assert!(
        run("", &three)
            .1
            .contains("third FILE; --compare takes two")
    );
    assert_eq!(run("--fio", &three[..2]).2, 2);
}

#[test]
fn a_device_is_compared_with_one_of_another_name() {
    let (dir, mut files) = captures(&[
        ("guest.txt", 150, 3300.0, 1.2),
        ("host.txt", 150, 1400.0, 2.9),
    ]);
    let renamed = fs::read_to_string(&files[1])
        .unwrap()
        .replace("nvme0n1", "dm-3");
    files[1] = dir.path().join("renamed.txt");
    fs::write(&files[1], renamed).unwrap();
    let (out, _, code) = run("", &files);
    let text = one_line(&out);
    assert!(
        code == 0 && text.contains("--pair BEFORE=AFTER compares devices of different names"),
        "{out}"
    );
    let (out, err, code) = run("--pair nvme0n1=dm-3", &files);
    assert_eq!((err.as_str(), code), ("", 0));
    assert!(
        out.contains("nvme0n1 -> dm-3:") && out.contains("1.20 ms -> 2.90 ms"),
        "{out}"
    );
    assert!(!out.contains("Only"), "{out}");
    let document: Value =
        serde_json::from_str(&run("--json --pair nvme0n1=dm-3", &files).0).unwrap();
    assert_eq!(document["devices"][0]["device_after"], "dm-3");
    assert_eq!(
        (&document["only_before"], &document["only_after"]),
        (&Value::Array(vec![]), &Value::Array(vec![]))
    );
    let (_, err, code) = run("--pair sda=dm-3", &files);
    assert!(
        code == 2 && err.contains("--pair: no device 'sda' in"),
        "{err}"
    );
    let (_, err, code) = run("--pair sda", &files);
    assert!(code == 2 && err.contains("expected BEFORE=AFTER"), "{err}");
}
