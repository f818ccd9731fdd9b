//! Captures that are truncated, damaged, mixed with other lines, or contain hostile names.

use std::io::{Seek, Write};

use blkstat::sink::gzip_bytes;
use serde_json::Value;

use super::support::{capture, device, on_input, sample};
use crate::support::program::{Outcome, blkstat};
use crate::support::text::json_lines;

/// Offsets at which to truncate or damage a file: about `count` throughout, and all near its end.
fn offsets(length: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..length)
        .step_by(length / count + 1)
        .chain(length.saturating_sub(4)..length)
}

fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Runs the JSON view on a faulty capture: its lines are the first of those of the `complete` one, and the exit code
/// and at most two messages report the fault.
fn check(input: &[u8], complete: &str, what: &str) -> Outcome {
    check_outcome(on_input("--json --from -", input), complete, what)
}

fn check_outcome(outcome: Outcome, complete: &str, what: &str) -> Outcome {
    assert!(
        complete.starts_with(&outcome.out),
        "{what}: different output: {}",
        outcome.out
    );
    assert!(
        outcome.out.is_empty() || outcome.out.ends_with('\n'),
        "{what}: incomplete line"
    );
    match outcome.code {
        // Truncated between two samples, a capture is complete.
        0 => assert!(
            !outcome.out.is_empty() && outcome.err.lines().count() <= 1,
            "{what}: {}",
            outcome.err
        ),
        1 => assert!(outcome.out.is_empty() && !outcome.err.is_empty(), "{what}"),
        2 => assert_eq!(outcome.err.lines().count(), 1, "{what}: {}", outcome.err),
        code => panic!("{what}: exit {code}: {}", outcome.err),
    }
    assert!(
        outcome
            .err
            .lines()
            .all(|line| line.starts_with("blkstat: standard input")
                || line.starts_with("blkstat: cannot read")),
        "{what}: {}",
        outcome.err
    );
    outcome
}

#[test]
fn a_capture_truncated_anywhere_gives_its_complete_samples() {
    let text = capture(12);
    let complete = on_input("--json --from -", text.as_bytes()).out;
    for at in offsets(text.len(), 40) {
        let outcome = check(
            &text.as_bytes()[..at],
            &complete,
            &format!("truncated at {at}"),
        );
        assert_ne!(outcome.code, 2, "a truncated file is not an error");
    }
}

#[test]
fn every_view_skips_a_device_that_a_sample_lists_twice() {
    let lines = |at: u64| device(0, "sda", 100 * at) + &device(16, "sdb", 7 * at);
    let again = |at: u64| lines(at) + &device(16, "sdb", 9) + &device(0, "sda", 9);
    let (mut plain, mut doubled) = (String::new(), String::new());
    for at in 0..12 {
        plain += &sample(1_800_000_000 + at, &lines(at));
        doubled += &sample(1_800_000_000 + at, &again(at));
    }
    for view in [
        "--json --from -",
        "--all --from -",
        "analyze -",
        "report -o - -",
        "export --from -",
        "iostat -x --from -",
    ] {
        let (plain, doubled) = (
            on_input(view, plain.as_bytes()),
            on_input(view, doubled.as_bytes()),
        );
        assert_eq!((plain.code, plain.out), (0, doubled.out), "{view}");
        assert!(
            doubled
                .err
                .contains(":4: 'sdb' is listed twice in a sample; second line skipped"),
            "{view}: {}",
            doubled.err
        );
    }
}

#[test]
fn a_compressed_capture_truncated_anywhere_gives_its_complete_samples() {
    let text = capture(200);
    let complete = on_input("--json --from -", text.as_bytes()).out;
    for (kind, packed) in [
        ("gzip", gzip_bytes(text.as_bytes())),
        ("zstd", zstd(text.as_bytes())),
    ] {
        assert_eq!(on_input("--json --from -", &packed).out, complete, "{kind}");
        for at in offsets(packed.len(), 12) {
            let outcome = check(
                &packed[..at],
                &complete,
                &format!("{kind} truncated at {at}"),
            );
            assert_ne!(
                outcome.code, 2,
                "a truncated file is not an error: {outcome:?}"
            );
        }
    }
    // A power failure can leave zeros in place of the rest of a file.
    for file in [gzip_bytes(text.as_bytes()), text.into_bytes()] {
        for at in offsets(file.len(), 12).chain([file.len()]) {
            let mut input = tempfile::tempfile().unwrap();
            input
                .write_all(&[&file[..at], &[0; 90_000]].concat())
                .unwrap();
            input.rewind().unwrap();
            let run = blkstat("--json --from -").stdin(input).run();
            let outcome = check_outcome(run, &complete, &format!("zeros from {at} on"));
            assert!(!outcome.err.contains("\\u{0}"), "{outcome:?}");
        }
    }
}

#[test]
fn concatenated_files_are_read_to_the_end() {
    let text = capture(12);
    let complete = on_input("--json --from -", text.as_bytes()).out;
    let middle = text.find("\nTS").unwrap() + 1;
    for pack in [gzip_bytes, zstd] {
        let parts = [&text[..middle], "", &text[middle..]].map(|part| pack(part.as_bytes()));
        let outcome = on_input("--json --from -", &parts.concat());
        assert_eq!(
            (outcome.out.as_str(), outcome.err.as_str()),
            (complete.as_str(), "")
        );
    }
}

#[test]
fn bytes_after_compressed_data_are_ignored_with_a_warning() {
    let text = capture(12);
    let complete = on_input("--json --from -", text.as_bytes()).out;
    let outcome = on_input(
        "--json --from -",
        &[&gzip_bytes(text.as_bytes())[..], b"garbage\n"].concat(),
    );
    assert_eq!((outcome.out == complete, outcome.code), (true, 0));
    let message = ": compressed data ends here; the bytes after it are ignored\n";
    assert!(
        outcome.err.ends_with(message) && outcome.err.lines().count() == 1,
        "{}",
        outcome.err
    );
    let strict = on_input(
        "--json --strict --from -",
        &[&gzip_bytes(text.as_bytes())[..], b"garbage\n"].concat(),
    );
    assert_eq!(
        (strict.code, strict.err.contains(message.trim_end())),
        (2, true),
        "{}",
        strict.err
    );
}

#[test]
fn damaged_compressed_data_is_reported_without_a_crash() {
    let text = capture(200);
    for (kind, packed) in [
        ("gzip", gzip_bytes(text.as_bytes())),
        ("zstd", zstd(text.as_bytes())),
    ] {
        for at in offsets(packed.len(), 12) {
            let mut damaged = packed.clone();
            damaged[at] ^= 0x55;
            let outcome = on_input("--json --from -", &damaged);
            let is_reported = outcome.code == 0 || outcome.err.starts_with("blkstat: ");
            // A wrong checksum at the end is reported after all samples.
            assert!(
                (0..=2).contains(&outcome.code) && is_reported,
                "{kind} at {at}: {outcome:?}"
            );
            assert!(
                outcome
                    .out
                    .lines()
                    .all(|line| serde_json::from_str::<Value>(line).is_ok()),
                "{kind} at {at}"
            );
        }
    }
}

#[test]
fn invalid_lines_do_not_affect_valid_ones() {
    let invalid = [
        "hello world\n",
        "8 0 sda x 2\n",
        "\u{1b}[31m\n",
        "\0\0\0\n",
        "TSX 5\n",
        "{\"a\":1}\n",
        "99999999999999999999 0 sdz 1\n",
        "\u{ff}\n",
        "8 0\n",
    ];
    let text = capture(30);
    let complete = on_input("--json --from -", text.as_bytes());
    let mut mixed = String::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        mixed += line;
        mixed += invalid[at % invalid.len()];
    }
    let outcome = on_input("--json --from -", mixed.as_bytes());
    assert_eq!((outcome.out == complete.out, outcome.code), (true, 0));
    assert!(
        outcome.err.lines().count() == 11 && outcome.err.contains(" more warnings like these"),
        "{}",
        outcome.err
    );
    assert!(!outcome.err.contains('\u{1b}'));
}

#[test]
fn breaks_in_time_and_a_truncated_end_are_told_after_any_number_of_bad_lines() {
    let bad = "8 1 sdb x\n".repeat(30);
    let sample = |second: u64, n: u64| format!("TS {second}\n8 0 sda {n} 2 3 4 5 6 7 8 0 10 11\n");
    let text = [
        sample(1000, 1),
        bad,
        sample(1001, 9),
        sample(5, 20),
        sample(6, 30),
        "TS 7\n8 0 sda 40".to_owned(),
    ]
    .concat();
    let outcome = on_input("--from -", text.as_bytes());
    let lines: Vec<&str> = outcome.err.lines().collect();
    assert_eq!((lines.len(), outcome.code), (13, 0), "{}", outcome.err);
    assert!(
        lines[10]
            .contains(":35: clock went back to 1970-01-01T00:00:05Z; no interval spans this point"),
        "{}",
        lines[10]
    );
    assert!(
        lines[11].contains(":40: last sample is truncated; skipped"),
        "{}",
        lines[11]
    );
    assert_eq!(
        lines[12],
        "blkstat: standard input: 20 more warnings like these"
    );
}

#[test]
fn hostile_names_give_valid_json_and_never_control_a_terminal() {
    let names = [
        "\u{1b}[2J\u{1b}]0;x\u{7}",
        "a\"b",
        "back\\slash",
        "';DROP",
        "\u{202e}abc",
        "\u{9b}31m",
        "é\u{301}",
        "a\u{c}b",
        "\u{feff}",
        "nul\0l",
        "\u{2028}",
        "a\u{b}b",
    ];
    let lines = |work: u64| {
        names
            .iter()
            .zip(0..)
            .map(|(name, at)| device(at, name, work))
            .collect::<String>()
    };
    let text = sample(1, &lines(1)) + &sample(2, &lines(100)) + &sample(3, &lines(300));
    let json = on_input("--json --all --from -", text.as_bytes());
    let found = json_lines(&json.out);
    for name in names {
        assert_eq!(
            found.iter().filter(|line| line["device"] == name).count(),
            2,
            "{name:?}: {}",
            json.out
        );
    }
    let document = on_input("iostat -x -o JSON --from -", text.as_bytes()).out;
    let value: Value = serde_json::from_str(&document).unwrap();
    let disks = value["sysstat"]["hosts"][0]["statistics"][0]["disk"]
        .as_array()
        .unwrap()
        .clone();
    assert!(
        names
            .iter()
            .all(|name| disks.iter().any(|disk| disk["disk_device"] == *name)),
        "{document}"
    );
    let is_unsafe =
        |c: char| c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{202e}' | '\u{2028}');
    for words in [
        "--all --from -",
        "--json --all --from -",
        "--csv --all --from -",
        "iostat -x --from -",
        "iostat -o JSON --from -",
    ] {
        let outcome = on_input(words, text.as_bytes());
        assert!(
            !outcome.out.contains(is_unsafe) && !outcome.err.contains(is_unsafe),
            "{words}: {:?}",
            outcome.out
        );
    }
}

#[test]
fn a_clock_that_goes_back_starts_a_new_segment_and_is_reported() {
    let line = |work| device(0, "sda", work);
    let text = sample(10, &line(1))
        + &sample(11, &line(101))
        + &sample(5, &line(201))
        + &sample(6, &line(301));
    for words in ["--json --from -", "iostat -d --from -"] {
        let outcome = on_input(words, text.as_bytes());
        assert_eq!(
            (outcome.err.lines().count(), outcome.code),
            (1, 0),
            "{words}: {}",
            outcome.err
        );
        assert!(
            outcome
                .err
                .starts_with("blkstat: standard input:5: clock went back to "),
            "{}",
            outcome.err
        );
    }
    let json = on_input("--json --from -", text.as_bytes()).out;
    let rates: Vec<f64> = json
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["reads_per_s"]
                .as_f64()
                .unwrap()
        })
        .collect();
    assert_eq!(rates, [100.0, 100.0]);
}

#[test]
fn an_invalid_compressed_stream_is_reported() {
    for start in [
        b"\x1f\x8b".as_slice(),
        b"\x1f\x8b\x08rubbish of many bytes",
        b"\x28\xb5\x2f\xfd",
        b"\x28\xb5\x2f\xfdrubbish",
    ] {
        let outcome = on_input("--from -", start);
        assert!(
            outcome.out.is_empty() && (1..=2).contains(&outcome.code),
            "{start:?}: {outcome:?}"
        );
        assert!(
            outcome.err.starts_with("blkstat: ") && outcome.err.lines().count() <= 2,
            "{outcome:?}"
        );
    }
}

#[test]
fn a_capture_that_ends_between_two_lines_never_says_that_devices_disappeared() {
    let sample_of = |second, names: &[&str]| {
        let lines: String = names
            .iter()
            .zip(0..)
            .map(|(name, at)| device(at, name, second * 100))
            .collect();
        sample(second, &lines)
    };
    let complete = sample_of(1, &["sda", "sdb"]) + &sample_of(2, &["sda", "sdb"]);
    for (last, what) in [
        (&[][..], "has no devices"),
        (&["sda"][..], "lacks 1 of 2 devices at its end"),
    ] {
        let text = complete.clone() + &sample_of(3, last);
        for view in [
            "--from -",
            "--json --from -",
            "--csv --from -",
            "analyze -",
            "iostat -d --from -",
        ] {
            let outcome = on_input(view, text.as_bytes());
            assert_eq!(
                outcome.out,
                on_input(view, complete.as_bytes()).out,
                "{view}"
            );
            let message = format!(": last sample {what}, as if truncated; skipped\n");
            assert!(
                outcome.err.ends_with(&message) && outcome.err.lines().count() == 1,
                "{}",
                outcome.err
            );
        }
    }
}

#[test]
fn a_truncated_compressed_capture_without_a_complete_sample_is_named() {
    let packed = gzip_bytes(capture(200).as_bytes());
    for end in [2, 20, 60] {
        let outcome = on_input("--from -", &packed[..end]);
        assert_eq!((outcome.out.as_str(), outcome.code), ("", 1));
        assert!(
            outcome
                .err
                .contains("truncated before the end of its first sample"),
            "{}",
            outcome.err
        );
    }
}
