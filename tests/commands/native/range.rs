//! `--begin` and `--end`: the part of a capture that is shown.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::program::{blkstat, output};
use crate::support::text::json_lines;
use crate::synthetic::reads_line;
use blkstat::sink::gzip_bytes;

/// 34 samples from 18:28:06 to 18:28:39.
const MIXED: &str = "fixtures/captures/mixed.txt";

/// Writes a capture with a sample at each of these seconds since 1970: 100 reads of 4 KiB and 1 ms more at each.
fn capture(seconds: &[f64]) -> String {
    let mut text = String::new();
    for (n, second) in (1..).zip(seconds) {
        text += &format!(
            "TS {second}\n{}",
            reads_line("8 0 sda", 100 * n, 100 * n, 0, 100 * n)
        );
    }
    text
}

fn file(name: &str, text: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

/// The rows whose time of day is from `first` to `last`.
fn between(rows: &[Value], first: &str, last: &str) -> Vec<Value> {
    let is_between = |row: &&Value| {
        let time = &row["time"].as_str().unwrap()[11..19];
        time >= first && time <= last
    };
    rows.iter().filter(is_between).cloned().collect()
}

fn json(words: &str) -> Vec<Value> {
    let (out, err, code) = output(&format!("--json {words}"), "");
    assert_eq!((err.as_str(), code), ("", 0), "{words}");
    json_lines(&out)
}

/// The message of a run that fails.
fn error(words: &str, input: &str) -> String {
    let (out, err, code) = output(words, input);
    assert_eq!(
        (out.as_str(), err.lines().count(), code),
        ("", 1, 2),
        "{words}: {err}"
    );
    err.strip_prefix("blkstat: ").unwrap().trim_end().to_owned()
}

#[test]
fn a_range_shows_what_the_whole_capture_shows_of_it() {
    for capture in [
        MIXED,
        "fixtures/captures/stalls.txt",
        "fixtures/captures/capped-3000.txt",
    ] {
        let all = json(&format!("--all --from {capture}"));
        let times: Vec<String> = all
            .iter()
            .map(|row| row["time"].as_str().unwrap()[..19].to_owned())
            .collect();
        let (begin, first) = (&times[times.len() / 3], &times[times.len() / 3 + 1..]);
        let first = first.iter().find(|time| *time > begin).unwrap();
        let end = &times[times.len() * 2 / 3];
        let shown = json(&format!(
            "--all --from {capture} --begin {begin} --end {end}"
        ));
        assert!(!shown.is_empty());
        assert_eq!(
            shown,
            between(&all, &first[11..], &end[11..]),
            "{capture} {begin} {end}"
        );
    }
}

#[test]
fn compressed_captures_and_pipes_have_the_same_ranges() {
    let text = std::fs::read(MIXED).unwrap();
    let (_dir, path) = file("mixed.gz", gzip_bytes(&text));
    let gz = path.display();
    for (range, is_known_in_pipe) in [
        ("--begin 18:28:16 --end 18:28:20", true),
        ("--begin +10s --end +14s", true),
        ("--begin -23s --end -19s", false),
        ("--end 18:28:09", true),
        ("--begin 18:28:36", true),
    ] {
        let from_gz = json(&format!("--from {gz} {range}"));
        assert_eq!(from_gz, json(&format!("--from {MIXED} {range}")), "{range}");
        let expected = json(&format!("--as-live --from {MIXED} {range}"));
        assert!(!expected.is_empty());
        let (out, err, code) = output(&format!("--json --from - {range}"), &text);
        if is_known_in_pipe {
            assert_eq!(
                (json_lines(&out), err.as_str(), code),
                (expected.clone(), "", 0),
                "{range}"
            );
        } else {
            let message = "blkstat: --begin -23s is not known while standard input is read from a pipe; save the \
                           capture to a file first\n";
            assert_eq!((out.as_str(), err.as_str(), code), ("", message, 2));
        }
        // Standard input that is a file has an end.
        let opened = std::fs::File::open(MIXED).unwrap();
        let redirected = blkstat(&format!("--json --from - {range}"))
            .stdin(opened)
            .run();
        assert_eq!(
            (json_lines(&redirected.out), redirected.code),
            (expected, 0)
        );
    }
}

#[test]
fn a_time_outside_the_capture_is_an_error_with_its_range() {
    let covers = "covers 2026-11-20T18:28:06+00:00 to 2026-11-20T18:28:39+00:00";
    for range in [
        "--begin 18:28:05",
        "--end 18:28:40",
        "--begin -1h",
        "--begin +34s",
        "--end 2026-11-19",
    ] {
        let message = error(&format!("--from {MIXED} {range}"), "");
        assert!(
            message.starts_with(&format!("{MIXED}: {range} is outside the capture")),
            "{message}"
        );
        assert!(message.ends_with(covers), "{message}");
    }
    // That the capture ends before these is known only at its end.
    for range in ["--end 2026-11-21T00:00Z", "--end +1h"] {
        let (out, err, code) = output(&format!("--json --from {MIXED} {range}"), "");
        assert_eq!(
            (json_lines(&out), code),
            (json(&format!("--from {MIXED}")), 2)
        );
        assert_eq!(
            err,
            format!("blkstat: {MIXED}: {range} is outside the capture, which {covers}\n")
        );
    }
    let message = error(&format!("--from {MIXED} --end 2026-11-19T00:00Z"), "");
    assert!(
        message.ends_with("is outside the capture, which begins at 2026-11-20T18:28:06+00:00"),
        "{message}"
    );
    let (out, err, code) = output(
        "--json --from - --begin 19:00",
        std::fs::read(MIXED).unwrap(),
    );
    assert_eq!((out.as_str(), code), ("", 2));
    assert!(
        err.contains("--begin 19:00 is outside") && err.trim_end().ends_with(covers),
        "{err}"
    );
    let early = error(
        "--from - --begin 2026-11-20T16:04",
        &capture(&[1_795_199_286.0, 1_795_199_287.0]),
    );
    assert_eq!(
        early,
        "standard input: --begin 2026-11-20T16:04 is outside the capture, which begins at 2026-11-20T18:28:06+00:00"
    );
}

#[test]
fn bare_times_are_in_the_zone_that_is_displayed() {
    let expected = json(&format!("--from {MIXED} --begin 18:28:16 --end 18:28:20"));
    let zoned = |words: &str, tz: &str| {
        let outcome = blkstat(&format!("--json --from {MIXED} {words}"))
            .env("TZ", tz)
            .run();
        (outcome.out, outcome.err, outcome.code)
    };
    let (out, err, code) = zoned("--begin 13:28:16 --end 13:28:20", "EST5");
    assert_eq!(
        (json_lines(&out), err.as_str(), code),
        (expected.clone(), "", 0)
    );
    let (_, err, code) = zoned("--begin 18:28:16", "EST5");
    assert!(
        code == 2
            && err.ends_with("covers 2026-11-20T13:28:06-05:00 to 2026-11-20T13:28:39-05:00\n")
    );
    let (_, err, code) = zoned("--begin 18:28:16", "No/Such_Zone");
    assert!(
        code == 2 && err.contains("unknown time zone 'No/Such_Zone' in TZ"),
        "{err}"
    );
    let (out, _, code) = zoned("--begin 2026-11-20T18:28:16Z --end +14s", "No/Such_Zone");
    assert_eq!((json_lines(&out), code), (expected, 0));
}

#[test]
fn a_time_that_occurs_twice_is_the_first_and_a_line_says_which() {
    // Two days at one sample per hour, from midnight.
    let hours: Vec<f64> = (0..48)
        .map(|hour| f64::from(hour) * 3600.0 + 1_795_132_800.0)
        .collect();
    let text = capture(&hours);
    let (_dir, path) = file("days.txt", &text);
    let twice =
        "--begin 16:04 occurs more than once in the capture; taken as 2026-11-20T16:04:00+00:00";
    let from = path.display();
    for (range, count) in [("--begin 16:04", 31), ("--begin 16:04 --end 20:00", 4)] {
        for command in ["--json", "--json --strict", "analyze --json"] {
            let (out, err, code) = output(&format!("{command} --from {from} {range}"), "");
            let expected = format!("blkstat: {from}: {twice}\n");
            assert_eq!((err, code), (expected, 0), "{command} {range}");
            assert!(
                !command.starts_with("--json") || json_lines(&out).len() == count,
                "{command} {range}"
            );
        }
    }
    assert_eq!(
        json(&format!("--from {from} --begin 2026-11-21T16:04")).len(),
        7
    );
    // In a pipe, that a time occurs again is known only then.
    let (out, err, code) = output("--json --from - --begin 16:04", &text);
    assert_eq!(
        (json_lines(&out).len(), err, code),
        (31, format!("blkstat: standard input: {twice}\n"), 0)
    );
    let (out, err, code) = output("--json --from - --begin 16:04 --end 20:00", &text);
    assert_eq!((json_lines(&out).len(), err.as_str(), code), (4, "", 0));
}

#[test]
fn a_range_that_ends_before_it_begins_or_holds_nothing_is_one_line() {
    for (range, words) in [
        (
            "--begin 18:28:20 --end 18:28:16",
            "--end 18:28:16 comes before --begin 18:28:20 in the capture",
        ),
        (
            "--begin -5s --end +5s",
            "--begin -5s is not before --end +5s",
        ),
        (
            "--begin +5s --end +5s",
            "--begin +5s is not before --end +5s",
        ),
    ] {
        assert_eq!(
            error(&format!("--from {MIXED} {range}"), ""),
            format!("{MIXED}: {words}")
        );
    }
    let text = std::fs::read_to_string(MIXED).unwrap();
    // In a pipe, that no such time of day follows is known only at the end.
    let (_, err, code) = output("--from - --begin 18:28:20 --end 18:28:16", &text);
    let message =
        "blkstat: standard input: --end 18:28:16 comes before --begin 18:28:20 in the capture\n";
    assert_eq!((err.as_str(), code), (message, 2));
    let message = error("--from - --begin 2026-11-20T18:28:20 --end +5s", &text);
    assert_eq!(
        message,
        "standard input: --end +5s comes before --begin 2026-11-20T18:28:20 in the capture"
    );
    let (out, err, code) = output(&format!("--from {MIXED} --begin +8.1 --end +8.2"), "");
    assert_eq!((out.as_str(), code), ("", 1));
    assert_eq!(
        err,
        format!("blkstat: {MIXED}: no interval lies between --begin and --end\n")
    );
}

#[test]
fn the_running_system_has_no_range() {
    for words in [
        "--begin 16:04 1 1",
        "--end -10m",
        "analyze --begin -10m 1 2",
        "who --end +5m 1 1",
    ] {
        let message = error(words, "");
        assert!(
            message.contains("needs a capture, such as --from FILE"),
            "{message}"
        );
    }
    let message = error("--from x --begin yesterday", "");
    assert!(
        message.contains("expected 16:04, 16:04:47, 2026-11-20T16:04, -10m"),
        "{message}"
    );
}

#[test]
fn intervals_and_their_number_count_from_the_beginning_of_the_range() {
    let shown = |words: &str| {
        let times = json(&format!("--from {MIXED} vda {words}"));
        times
            .iter()
            .map(|row| row["time"].as_str().unwrap()[17..19].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(shown("--begin 18:28:16 1 2"), ["17", "18"]);
    assert_eq!(shown("--begin 18:28:16 5 2"), ["21", "26"]);
    assert_eq!(
        shown("--begin 18:28:17 --end 18:28:29 5"),
        ["22", "27", "29"]
    );
}

#[test]
fn the_time_before_the_range_is_the_baseline_of_an_analysis() {
    // A minute unloaded, then a minute at 20 times the latency with a queue.
    let mut text = String::new();
    let (mut ios, mut ms) = (0, 0);
    for second in 0..120u64 {
        let (rate, latency) = if second < 60 { (200, 1) } else { (400, 20) };
        ios += rate;
        ms += rate * latency;
        let in_flight = if second < 60 { 0 } else { 8 };
        let line = reads_line("8 0 sda", ios, ms, in_flight, second * 900);
        text += &format!("TS {}\n{line}", 1_795_186_800 + second);
    }
    let (_dir, path) = file("loaded.txt", text);
    let report = |words: &str| -> Value {
        let (out, err, code) = output(&format!("analyze {} --json {words}", path.display()), "");
        assert_eq!((err.as_str(), code), ("", 0));
        serde_json::from_str::<Value>(&out).unwrap()["devices"][0].clone()
    };
    let loaded = report("--begin +60s");
    assert_eq!(loaded["intervals"], 59);
    // With 200 reads in an interval, their mean is known to 7%.
    let known = |value: &Value| (100.0 * value.as_f64().unwrap()).round() / 100.0;
    assert_eq!(known(&loaded["read"]["baseline_await_ms"]), 1.07);
    assert_eq!(known(&loaded["read"]["saturation"]["p50"]), 18.68);
    // The unloaded minute is not a part of the workload.
    assert_eq!(loaded["read"]["iops"]["p50"], 400.0);
    let unloaded = report("--end +59s");
    assert_eq!(
        (&unloaded["intervals"], &unloaded["read"]["iops"]["p50"]),
        (&59.into(), &200.0.into())
    );
}

#[test]
fn interval_and_count_behind_a_file_resample_it_for_pt_diskstats() {
    let text = capture(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let samples: Vec<String> = text
        .split("TS")
        .skip(1)
        .map(|sample| format!("TS{sample}"))
        .collect();
    let (_other, fewer) = file(
        "fewer.txt",
        samples.into_iter().step_by(2).collect::<String>(),
    );
    let (_directory, all) = file("all.txt", text);
    let shown = |words: &str| output(&format!("pt-diskstats --show-inactive {words}"), "");
    let [all, fewer] = [all, fewer].map(|path| path.display().to_string());
    let expected = shown(&fewer);
    assert!(expected.0.lines().count() > 3, "{}", expected.0);
    for words in [
        format!("{all} 2"),
        format!("2 {all}"),
        format!("--from {all} 2s 3"),
    ] {
        assert_eq!(shown(&words), expected, "{words}");
    }
    let (first, ..) = shown(&format!("{all} 2 1"));
    assert!(
        expected.0.starts_with(&first) && first.len() < expected.0.len(),
        "{first}"
    );
}
