//! Replays captures. The expected output in `fixtures/snapshots/iostat` is blkstat's own.

use crate::support::program::{BLKSTAT, Outcome, Program, blkstat, output};
use crate::support::snapshot::assert_snapshot;

/// Returns iostat with these options on a capture.
fn iostat(options: &str, capture: &str) -> Program {
    blkstat(&format!("iostat {options} --from {capture}"))
}

/// Compares both streams and the exit code on a capture with the snapshot.
fn check_snapshot(capture: &str, options: &str) {
    let outcome = iostat(options, &format!("fixtures/captures/{capture}.txt")).run();
    let name = options.replace(['-', '/', ' '], "");
    assert_snapshot(&format!("iostat/{capture}.{name}.txt"), &outcome.transcript());
}

#[test]
fn devices_that_appear_and_disappear_never_give_an_absurd_number() {
    check_snapshot("hotplug", "-dxt");
    check_snapshot("hotplug", "-d");
}

#[test]
fn an_old_kernel_has_partitions_of_seven_columns() {
    check_snapshot("old-kernel", "-dx");
    check_snapshot("old-kernel", "-d -p ALL");
    check_snapshot("old-kernel", "-d -p hda");
}

#[test]
fn partitions_are_recognized_by_name() {
    check_snapshot("names", "-ds");
    check_snapshot("names", "-ds -p ALL");
    check_snapshot("names", "-d nvme0n1p2 cciss/c0d0");
    check_snapshot("names", "-xs -o JSON");
}

#[test]
fn invalid_lines_are_skipped_and_at_most_ten_are_reported() {
    check_snapshot("faults", "-dxs");
}

#[test]
fn captures_of_real_hosts_match_their_snapshots() {
    check_snapshot("capped-3000", "-dxs");
    check_snapshot("mixed", "-dxt");
    check_snapshot("mixed", "-o JSON");
    check_snapshot("sweep-randread", "-dx");
}

#[test]
fn the_rates_of_the_sweep_rise_from_21_000_to_150_000_reads() {
    let text = iostat("-dx", "fixtures/captures/sweep-randread.txt").run().out;
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
    let expected = iostat("-dx", file).run().out;
    assert!(expected.len() > 1000);

    let folder = tempfile::tempdir().unwrap();
    let gzipped = folder.path().join("mixed.gz");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &text).unwrap();
    let gzip = gzip.finish().unwrap();
    std::fs::write(&gzipped, &gzip).unwrap();

    assert_eq!(iostat("-dx", gzipped.to_str().unwrap()).run().out, expected);
    for input in [&text, &gzip] {
        assert_eq!(iostat("-dx", "-").input(input).run().out, expected);
    }
}

#[test]
fn a_truncated_compressed_capture_replays_up_to_its_end() {
    let text = std::fs::read("fixtures/captures/sweep-randread.txt").unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &text).unwrap();
    let gzip = gzip.finish().unwrap();
    let Outcome { out, err: message, code } = iostat("-dx", "-").input(&gzip[..gzip.len() / 2]).run();
    let complete = iostat("-dx", "-").input(text).run().out;
    assert!(out.len() > 1000 && complete.starts_with(&out));
    assert_eq!(code, 0);
    assert!(message.contains("last sample is truncated; skipped"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

/// Runs iostat where it has nothing to report. Returns its message and exit code.
fn run_without_report(options: &str, input: &str) -> (String, i32) {
    let (out, err, code) = output(&format!("iostat {options}"), input);
    assert_eq!(out, "");
    (err, code)
}

#[test]
fn a_file_without_two_complete_samples_has_nothing_to_report() {
    let line = "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n";
    let nothing = "blkstat: standard input: fewer than two complete samples; nothing to report\n";
    let from_input = "-dx --from -";
    assert_eq!(run_without_report(from_input, ""), (nothing.into(), 1));
    assert_eq!(run_without_report(from_input, &format!("TS 10\n{line}")), (nothing.into(), 1));
    let (message, code) = run_without_report(from_input, &format!("TS 10\n{line}TS 11\n8 0 sda 1 2 3 4 5"));
    assert!(message.ends_with(nothing) && message.lines().count() == 2, "{message}");
    assert_eq!(code, 1);
    let (message, code) = run_without_report(from_input, &format!("TS 11\n{line}TS 10\n{line}"));
    assert!(message.ends_with(": no two samples in chronological order; nothing to report\n"), "{message}");
    assert_eq!(code, 1);
}

#[test]
fn a_file_that_cannot_be_read_is_one_line_and_exit_2() {
    let (message, code) = run_without_report("--from no/such/file", "");
    assert_eq!(
        (message.as_str(), code),
        ("blkstat: cannot open no/such/file: No such file or directory (os error 2)\n", 2)
    );
    let (message, code) = run_without_report("--from fixtures", "");
    assert_eq!((message.as_str(), code), ("blkstat: fixtures is a directory, not a capture\n", 2));
}

#[test]
fn a_capture_without_cpu_times_has_no_cpu_report() {
    let (message, code) = run_without_report("-c --from fixtures/captures/mixed.txt", "");
    assert!(message.ends_with(": no CPU times; nothing to report\n"), "{message}");
    assert_eq!(code, 1);
}

#[test]
fn a_closed_pipe_is_a_normal_end() {
    let shell = format!(
        "{BLKSTAT} iostat -dx --from fixtures/captures/mixed.txt | head -n 1; echo ${{PIPESTATUS[0]}}"
    );
    let Outcome { out, err, .. } = Program::new(&["bash", "-c", &shell]).run();
    assert_eq!(err, "");
    assert!(out.ends_with("\n0\n"), "{out}");
}
