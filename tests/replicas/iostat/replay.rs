//! Replays captures. The expected output in `fixtures/snapshots/iostat` is blkstat's own.

use crate::support::program::{Program, blkstat, output};
use crate::support::snapshot::assert_snapshot;

/// Returns iostat with these options on a capture.
fn iostat(options: &str, capture: &str) -> Program {
    blkstat(&format!("iostat {options} --from {capture}"))
}

/// Compares both streams and the exit code on a capture with the snapshot.
fn check_snapshot(capture: &str, options: &str) {
    let outcome = iostat(options, &format!("fixtures/captures/{capture}.txt")).run();
    let name = options.replace(['-', '/', ' '], "");
    assert_snapshot(
        &format!("iostat/{capture}.{name}.txt"),
        &outcome.transcript(),
    );
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
    assert_eq!(
        run_without_report(from_input, &format!("TS 10\n{line}")),
        (nothing.into(), 1)
    );
    let (message, code) = run_without_report(
        from_input,
        &format!("TS 10\n{line}TS 11\n8 0 sda 1 2 3 4 5"),
    );
    assert!(
        message.ends_with(nothing) && message.lines().count() == 2,
        "{message}"
    );
    assert_eq!(code, 1);
    let (message, code) = run_without_report(from_input, &format!("TS 11\n{line}TS 10\n{line}"));
    assert!(
        message.ends_with(": no two samples in chronological order; nothing to report\n"),
        "{message}"
    );
    assert_eq!(code, 1);
}

#[test]
fn a_capture_without_cpu_times_has_no_cpu_report() {
    let (message, code) = run_without_report("-c --from fixtures/captures/mixed.txt", "");
    assert!(
        message.ends_with(": no CPU times; nothing to report\n"),
        "{message}"
    );
    assert_eq!(code, 1);
}
