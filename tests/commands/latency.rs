//! `blkstat latency` where it cannot trace: its messages and exit codes. What it measures is tested on real kernels, in
//! `tests/kernels`.

use std::fs;

use crate::support::fake_root::FakeRoot;
use crate::support::program::{self, BLKSTAT, Program};

const HIST: &str = "sys/kernel/tracing/events/block/block_bio_queue/hist";
const SYNTHETIC: &str = "sys/kernel/tracing/synthetic_events";

/// Runs `blkstat latency` on a host with one disk and these files. Returns its output, its messages and its exit code.
fn latency(files: &[(&str, &str)], options: &str) -> (String, String, i32) {
    let host = FakeRoot::new();
    host.disk("sda", "8:0", 1024)
        .diskstats("8 0 sda 1 0 8 1 0 0 0 0 0 0 0\n");
    for (name, text) in files {
        host.file(name, text);
    }
    fs::create_dir_all(host.path().join("sys/kernel/tracing/instances")).unwrap();
    program::output(
        &format!("latency --root {} {options}", host.path().display()),
        "",
    )
}

#[test]
fn an_instance_that_cannot_be_used_is_removed_again() {
    let host = FakeRoot::new();
    host.disk("sda", "8:0", 1024)
        .diskstats("8 0 sda 1 0 8 1 0 0 0 0 0 0 0\n");
    for event in ["block_rq_issue", "block_rq_complete", "block_bio_complete"] {
        host.file(
            &format!("sys/kernel/tracing/events/block/{event}/format"),
            "",
        );
    }
    for file in [HIST, SYNTHETIC] {
        host.file(file, "");
    }
    let instances = host.path().join("sys/kernel/tracing/instances");
    fs::create_dir_all(&instances).unwrap();
    // A directory of this file system stays empty when it is made, so that nothing can be written to its files.
    let (_, err, code) =
        program::output(&format!("latency --root {} 1 1", host.path().display()), "");
    assert!(code == 2 && err.contains("the kernel refused"), "{err}");
    assert_eq!(fs::read_dir(&instances).unwrap().count(), 0);
}

#[test]
fn cleanup_removes_what_a_killed_run_left() {
    let left = "sys/kernel/tracing/instances/blkstat_0_1_77_l0";
    let files = [(HIST, ""), (SYNTHETIC, "")];
    assert_eq!(
        latency(&files, "--cleanup"),
        ("nothing to remove\n".to_owned(), String::new(), 0)
    );
    let host = FakeRoot::new();
    for (name, text) in files {
        host.file(name, text);
    }
    fs::create_dir_all(host.path().join(left)).unwrap();
    let (out, _, code) = program::output(
        &format!("latency --cleanup --root {}", host.path().display()),
        "",
    );
    assert_eq!((out.as_str(), code), ("removed blkstat_0_1_77_l0\n", 0));
    assert!(!host.path().join(left).exists());
}

#[test]
fn without_privileges_root_is_named_before_what_the_kernel_lacks() {
    let host = FakeRoot::new();
    host.disk("sda", "8:0", 1024)
        .diskstats("8 0 sda 1 0 8 1 0 0 0 0 0 0 0\n")
        .file("proc/filesystems", "nodev\tsysfs");
    let words = ["setpriv", "--bounding-set=-all", BLKSTAT];
    let is_root = rustix::process::geteuid().is_root();
    let run = Program::new(if is_root { &words } else { &words[2..] })
        .args(["latency", "--root"])
        .args([host.path()])
        .run();
    let expected = "blkstat: cannot trace requests without root or CAP_SYS_ADMIN, nor with it: this kernel has no \
                    tracefs (CONFIG_FTRACE); use a distribution's kernel\n";
    assert_eq!((run.err.as_str(), run.code), (expected, 2));
}

#[test]
fn a_device_that_does_not_exist_is_no_data() {
    let (_, err, code) = latency(&[], "sdx 1 1");
    assert!(
        code == 1 && err.starts_with("blkstat: no such device 'sdx'"),
        "{err}"
    );
}

#[test]
fn invalid_arguments_are_usage_errors() {
    for (options, expected) in [
        ("--json --csv", "cannot be used with"),
        ("--heatmap --json", "cannot be used with"),
        (
            "--max-overhead 0",
            "expected a percentage above 0, up to 100",
        ),
        ("--cleanup sda", "cannot be used with"),
        ("1 sda 2 3", "unexpected '3' after INTERVAL and COUNT"),
    ] {
        let (_, err, code) = latency(&[], options);
        assert!(code == 2 && err.contains(expected), "{options}: {err}");
    }
}
