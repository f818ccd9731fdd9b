//! Replays captures on the command line. The expected texts in `fixtures/snapshots` are blkstat's own output, reviewed
//! before it was committed; `BLKSTAT_REFRESH=1` rewrites them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::path::Path;

use assert_cmd::Command;

fn blkstat(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blkstat"));
    command.args(arguments).env("TZ", "UTC").env("LC_ALL", "C").env_remove("S_TIME_FORMAT");
    command
}

/// Runs blkstat on a capture and compares both streams and the exit code with the expected text.
fn golden(capture: &str, arguments: &[&str]) {
    let file = format!("fixtures/captures/{capture}.txt");
    let mut all = arguments.to_vec();
    all.extend(["--from", &file]);
    let output = blkstat(&all).output().unwrap();
    let actual = format!(
        "{}--- standard error, exit {}\n{}",
        String::from_utf8(output.stdout).unwrap(),
        output.status.code().unwrap(),
        String::from_utf8(output.stderr).unwrap()
    );
    let options: String = arguments[1..].join("").replace(['-', '/'], "");
    let path = format!("fixtures/snapshots/{}/{capture}.{options}.txt", arguments[0]);
    if std::env::var_os("BLKSTAT_REFRESH").is_some() {
        std::fs::write(&path, &actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(actual == expected, "{path} differs; blkstat {} printed:\n{actual}", all.join(" "));
}

#[test]
fn devices_that_appear_and_disappear_never_give_an_absurd_number() {
    golden("comings-and-goings", &["iostat", "-dxt"]);
    golden("comings-and-goings", &["iostat", "-d"]);
}

#[test]
fn an_old_kernel_has_partitions_of_seven_columns() {
    golden("old-kernel", &["iostat", "-dx"]);
    golden("old-kernel", &["iostat", "-d", "-p", "ALL"]);
    golden("old-kernel", &["iostat", "-d", "-p", "hda"]);
}

#[test]
fn partitions_are_recognized_by_name() {
    golden("names", &["iostat", "-ds"]);
    golden("names", &["iostat", "-ds", "-p", "ALL"]);
    golden("names", &["iostat", "-d", "nvme0n1p2", "cciss/c0d0"]);
    golden("names", &["iostat", "-xs", "-o", "JSON"]);
}

#[test]
fn invalid_lines_are_skipped_and_at_most_ten_are_reported() {
    golden("faults", &["iostat", "-dxs"]);
}

#[test]
fn captures_of_real_hosts_match_their_snapshots() {
    golden("capped-3000", &["iostat", "-dxs"]);
    golden("mixed", &["iostat", "-dxt"]);
    golden("mixed", &["iostat", "-o", "JSON"]);
    golden("sweep-randread", &["iostat", "-dx"]);
}

#[test]
fn the_rates_of_the_sweep_rise_from_21_000_to_150_000_reads() {
    let output =
        blkstat(&["iostat", "-dx", "--from", "fixtures/captures/sweep-randread.txt"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let vda: Vec<Vec<f64>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("vda"))
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .collect();
    let (first, last) = (&vda[0], vda.last().unwrap());
    assert!((20_000.0..22_500.0).contains(&first[0]) && (0.03..=0.05).contains(&first[4]), "{first:?}");
    assert!((140_000.0..160_000.0).contains(&last[0]) && (1.2..=1.6).contains(&last[4]), "{last:?}");
}

#[test]
fn a_capture_comes_from_a_file_or_standard_input_plain_or_compressed() {
    let file = "fixtures/captures/mixed.txt";
    let text = std::fs::read(file).unwrap();
    let expected = blkstat(&["iostat", "-dx", "--from", file]).output().unwrap().stdout;
    assert!(expected.len() > 1000);

    let folder = tempfile::tempdir().unwrap();
    let gzipped = folder.path().join("mixed.gz");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &text).unwrap();
    let gzip = gzip.finish().unwrap();
    std::fs::write(&gzipped, &gzip).unwrap();

    let from = |path: &Path| blkstat(&["iostat", "-dx", "--from", path.to_str().unwrap()]);
    assert_eq!(from(&gzipped).output().unwrap().stdout, expected);
    for input in [&text, &gzip] {
        assert_eq!(from(Path::new("-")).write_stdin(input.as_slice()).output().unwrap().stdout, expected);
    }
}

#[test]
fn a_truncated_compressed_capture_replays_up_to_its_end() {
    let text = std::fs::read("fixtures/captures/sweep-randread.txt").unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &text).unwrap();
    let gzip = gzip.finish().unwrap();
    let output =
        blkstat(&["iostat", "-dx", "--from", "-"]).write_stdin(&gzip[..gzip.len() / 2]).output().unwrap();
    let complete = blkstat(&["iostat", "-dx", "--from", "-"]).write_stdin(text).output().unwrap();
    assert!(output.stdout.len() > 1000 && complete.stdout.starts_with(&output.stdout));
    assert_eq!(output.status.code(), Some(0));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("last sample is truncated; skipped"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

/// Runs blkstat where it has nothing to report. Returns its message and exit code.
fn run_without_report(arguments: &[&str], input: &str) -> (String, i32) {
    let output = blkstat(arguments).write_stdin(input).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    (String::from_utf8(output.stderr).unwrap(), output.status.code().unwrap())
}

#[test]
fn a_file_without_two_complete_samples_has_nothing_to_report() {
    let line = "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n";
    let nothing = "blkstat: standard input: fewer than two complete samples; nothing to report\n";
    let from_input = ["iostat", "-dx", "--from", "-"];
    assert_eq!(run_without_report(&from_input, ""), (nothing.into(), 1));
    assert_eq!(run_without_report(&from_input, &format!("TS 10\n{line}")), (nothing.into(), 1));
    let (message, code) = run_without_report(&from_input, &format!("TS 10\n{line}TS 11\n8 0 sda 1 2 3 4 5"));
    assert!(message.ends_with(nothing) && message.lines().count() == 2, "{message}");
    assert_eq!(code, 1);
    let (message, code) = run_without_report(&from_input, &format!("TS 11\n{line}TS 10\n{line}"));
    assert!(message.ends_with(": no two samples in chronological order; nothing to report\n"), "{message}");
    assert_eq!(code, 1);
}

#[test]
fn a_file_that_cannot_be_read_is_one_line_and_exit_2() {
    let (message, code) = run_without_report(&["iostat", "--from", "no/such/file"], "");
    assert_eq!(
        (message.as_str(), code),
        ("blkstat: cannot open no/such/file: No such file or directory (os error 2)\n", 2)
    );
    let (message, code) = run_without_report(&["iostat", "--from", "fixtures"], "");
    assert_eq!((message.as_str(), code), ("blkstat: fixtures is a directory, not a capture\n", 2));
}

#[test]
fn a_capture_without_cpu_times_has_no_cpu_report() {
    let (message, code) = run_without_report(&["iostat", "-c", "--from", "fixtures/captures/mixed.txt"], "");
    assert!(message.ends_with(": no CPU times; nothing to report\n"), "{message}");
    assert_eq!(code, 1);
}

#[test]
fn a_closed_pipe_is_a_normal_end() {
    let shell = format!(
        "{} iostat -dx --from fixtures/captures/mixed.txt | head -n 1",
        env!("CARGO_BIN_EXE_blkstat")
    );
    let output = std::process::Command::new("sh").args(["-c", &shell]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
