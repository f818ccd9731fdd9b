//! Messages and exit codes.

use std::fs;

use blkstat::exit::Exit;

use super::host::output_of;
use crate::support::fake_root::FakeRoot;
use crate::support::program;

fn error(change: impl Fn(&FakeRoot), options: &str) -> (String, Exit) {
    let (_, err, exit) = output_of(change, options, 2);
    (err, exit)
}

#[test]
fn without_cgroups_processes_are_shown_with_the_reason() {
    let without_hierarchy = |host: &FakeRoot| {
        host.file("proc/1/mountinfo", "30 1 8:1 / / rw - ext4 /dev/sda1 rw");
    };
    let (out, err, exit) = output_of(without_hierarchy, "1 2", 2);
    let message =
        "blkstat: no cgroups: neither cgroup2 nor the blkio controller of version 1 is mounted\n";
    assert_eq!((err.as_str(), exit), (message, Exit::Success));
    assert!(out.contains("mysqld"), "{out}");

    let without_controller = |host: &FakeRoot| {
        fs::remove_file(host.path().join("sys/fs/cgroup/system.slice/io.stat")).unwrap();
        fs::remove_dir_all(host.path().join("sys/fs/cgroup/evil\u{1b}[2J, \"quoted\"")).unwrap();
    };
    let (err, exit) = error(without_controller, "1 2");
    assert!(
        err.contains("systemctl set-property UNIT IOAccounting=yes"),
        "{err}"
    );
    assert_eq!(exit, Exit::Success);
}

#[test]
fn a_capture_without_scans_is_no_data() {
    let (out, err, code) = program::output("who --from fixtures/captures/mixed.txt", "");
    assert_eq!((out.as_str(), code), ("", 1));
    let expected = "blkstat: fixtures/captures/mixed.txt: no cgroups or processes in this capture; \
                    'blkstat record' includes them\n";
    assert_eq!(err, expected);
}

#[test]
fn invalid_arguments_are_usage_errors() {
    for (options, expected) in [
        (
            "--sort latency",
            "expected one of: MiB/s, rMiB/s, wMiB/s, iops, r/s, w/s",
        ),
        ("--json --csv", "cannot be used with"),
        ("--top 0", "0 is not in 1.."),
        ("1 sda 2 3", "unexpected '3' after INTERVAL and COUNT"),
    ] {
        let (err, exit) = error(|_| {}, options);
        assert!(
            exit == Exit::Error && err.contains(expected),
            "{options}: {err}"
        );
    }
}
